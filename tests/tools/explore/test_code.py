"""The files of `explore --code` say how their kernels are called: a program written from the comment alone gets the results."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.cpu.test_shared_sums import columns

from warploom.core import f32
from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Operator, Program, Region, Role, cpu_tiles, cuda_tiles
from warploom.schedule.cpu import find_compiler
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.search import Options, explore, strategy_named
from warploom.schedule.targets import target
from warploom.tools.explore.code import code_of
from warploom.tools.explore.options import Function, KernelOptions
from warploom.tools.explore.target import explored

SIZES = {"gesummv": {"n": 20}, "atax": {"m": 24, "n": 20}}


FILE = '''"""Types that C and CUDA C++ write differently."""
from __future__ import annotations
from warploom import i64, u8
from warploom.schedule.frontend import out, tensor

@tensor
def doubled(A: i64["n"], B: u8["n"], y: out[i64["n"]], z: out[u8["n"]]):
    y[i] = A[i] * 2
    z[i] = B[i] * 2
'''


def code(name: str, machine: str) -> str:
    return code_at(tensor_kernel(name), SIZES[name], machine)


def code_at(kernel: Function, sizes: dict[str, int], machine: str) -> str:
    program = kernel.program(sizes, cpu_tiles if machine == "cpu" else cuda_tiles)
    found = explore(program, target(machine), options=Options(strategy=strategy_named("refine"), nodes=40))
    nests = [stage.best.nest for stage in found.stages if stage.best is not None]
    return code_of(program, nests, sizes, KernelOptions(target=target(machine)))


def main_of(comment: str) -> str:
    """Calls every kernel in two parts; fills inputs with n % 7 - 3, scalars with 2, 3, ...; prints the other arrays."""
    lines = ["#include <stdint.h>", "#include <stddef.h>", "#include <stdio.h>", "#include <stdlib.h>"]
    body: list[str] = []
    arrays: dict[str, int] = {}
    outputs: list[str] = []
    for part in re.split(r"\n \*\n", comment):
        if (entry := re.search(r"void (\w+)\(void", part)) is None:
            continue
        name = entry[1]
        calls = [(name, *re.findall(r"cover \[0, (\d+)\)", part)[:1])]
        calls += [(second, units) for second, units in re.findall(r"done, (\w+) with the same arguments[^[]*\[0, (\d+)\)", part)]
        given: list[str] = []
        for scalar, array, shape, role in re.findall(r"arrays\[\d+\]\s+(?:const )?(\w+) (\w+)((?:\[\d+\])*)  (.+)", part):
            size = int(np.prod([int(n) for n in re.findall(r"\d+", shape)]))
            if array not in arrays:
                arrays[array] = size
                lines.append(f"static {scalar} {array}[{size}];")
                if role == "input":
                    body.append(f"for (int n = 0; n < {size}; ++n) {array}[n] = n % 7 - 3;")
            if role == "output":
                outputs.append(array)
            given.append(array)
        room = re.findall(r"  (\d+) bytes aligned to (\d+), of all threads", part)
        given += [f"aligned_alloc({a}, {-(-int(n) // int(a)) * int(a)})" for n, a in room]
        scalars = [str(n + 2) for n in range(len(re.findall(r"parameters\[\d+\]", part)))]
        scratch = re.search(r"scratch\s+(\d+) bytes aligned to (\d+)", part)
        memory = "NULL"
        if scratch is not None:
            amount = -(-int(scratch[1]) // int(scratch[2])) * int(scratch[2])
            memory = f"aligned_alloc({scratch[2]}, {amount})"
        passed = f"(const double[]){{{', '.join(scalars)}}}" if scalars else "NULL"
        body.append(f"void *given_{name}[] = {{{', '.join(f'(void *){g}' for g in given)}}};")
        for called, units in calls:
            lines.append(f"void {called}(void *const *, const double *, ptrdiff_t, ptrdiff_t, char *);")
            middle = int(units) // 2
            for begin, end in ((middle, int(units)), (0, middle)):
                body.append(f"{called}(given_{name}, {passed}, {begin}, {end}, {memory});")
    body += [f'for (int n = 0; n < {arrays[a]}; ++n) printf("%.9g\\n", (double){a}[n]);' for a in outputs]
    return "\n".join([*lines, "int main(void) {", *body, "return 0; }", ""])


def printed_by(text: str, folder: Path) -> np.ndarray:
    comment = text[: text.index("*/")]
    assert all(len(line) < 200 for line in comment.splitlines())
    (folder / "kernel.c").write_text(text)
    (folder / "main.c").write_text(main_of(comment))
    command = re.search(r"Compiled with: (.*) \(link with -lm\)", comment)
    assert command is not None
    program = folder / "program"
    subprocess.run([*shlex.split(command[1]), "-o", program, "kernel.c", "main.c", "-lm"], cwd=folder, check=True, timeout=60)
    printed = subprocess.run([program], capture_output=True, text=True, check=True, timeout=20).stdout
    return np.array([float(word) for word in printed.split()])


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("name", list(SIZES))
def test_c_is_called_as_its_comment_says(name: str, tmp_path: Path) -> None:
    results = printed_by(code(name, "cpu"), tmp_path)
    kernel = tensor_kernel(name)
    inputs = {n: (np.arange(a.size) % 7 - 3.0).astype(a.dtype).reshape(a.shape) for n, a in kernel.arrays(SIZES[name]).items()}
    scalars = {p.name: n + 2.0 for n, p in enumerate(kernel.function.parameters)}
    expected = np.concatenate([a.ravel() for a in kernel.reference(inputs, scalars).values()])
    np.testing.assert_allclose(results, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_sums_that_threads_share_have_a_second_part(tmp_path: Path) -> None:
    regions = [Region(n, f32, (s,), (1,), r) for n, s, r in (("x", 90, Role.INPUT), ("y", 15, Role.OUTPUT))]
    stages = tensor_kernel("axpy").program({"n": 8}).stages
    nest = columns(Operator.ADD, 6, (3, 5), 2, 3)
    program = Program("columns", stages, tuple(regions))
    results = printed_by(code_of(program, [nest], {}, KernelOptions(target=target("cpu"))), tmp_path)
    np.testing.assert_allclose(results, (np.arange(90) % 7 - 3.0).reshape(6, 15).sum(0))


def type_and_name(argument: str) -> tuple[str, ...]:
    """The words of a CUDA kernel's argument: `const float* __restrict__ A`."""
    found = re.fullmatch(r"(?:const )?([\w ]+?)\*?(?: __restrict__)? (\w+)", argument)
    assert found is not None
    return found.groups()


@pytest.mark.parametrize("name", list(SIZES))
def test_cuda_says_its_launch(name: str) -> None:
    check_cuda_comment(code(name, "sm_80"))


def test_types_are_those_of_the_language(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    function = explored(f"{path}:doubled")
    assert isinstance(function, TensorFunction)
    cuda = code_at(function, {"n": 24}, "sm_80")
    check_cuda_comment(cuda)
    assert "const long long A[24]  input" in cuda and "const int64_t A[24]  input" in code_at(function, {"n": 24}, "cpu")


def check_cuda_comment(text: str) -> None:
    comment = text[: text.index("*/")]
    launches = re.findall(r"// grid ([\d x]+), block ([\d x]+)", text)
    assert [tuple(map(int, re.findall(r"\d+", g))) for g in re.findall(r"grid +\((.*)\)", comment)] == [
        tuple(map(int, grid.split(" x "))) for grid, _ in launches
    ]
    signatures = re.findall(r"^(\w+)\((.*)\)$", text, re.MULTILINE)
    for kernel, arguments in signatures:
        part = comment[comment.index(f" {kernel}:") :].split("\n *\n")[0]
        listed = re.findall(r"^ \*     (?:const )?([\w ]+) (\w+)(?:\[|  )", part.partition("in order:")[2], re.MULTILINE)
        assert listed == [type_and_name(argument) for argument in arguments.split(", ")]
    if toolchain_available():
        compile_to_ptx(text, "sm_80", options=("--fmad=false",))


def test_kernels_of_one_file_share_helpers() -> None:
    text = code("atax", "cpu")
    functions = re.findall(r"^static inline .* (\w+)\(", text, re.MULTILINE)
    assert len(functions) == len(set(functions))
    assert re.findall(r"^void (warploom_kernel\w*)\(", text, re.MULTILINE) == ["warploom_kernel_1", "warploom_kernel_2"]
