"""On a GPU: scheduled kernels beside PyTorch (cuBLAS, cuDNN) and a device copy of as many bytes, f32 without tensor cores.

`python benchmarks/gpu/schedule.py [--json] [--check] [--dry-run] [CASE | FILE.jsonl ...]`. A CASE is one of the nests below,
written by hand. A FILE has one line per program, as `explore --json` ends with: {"kernel": NAME, "sizes": {...}, "target": ARCH,
"decisions": {...}}. --check compares results with NumPy first. Times are medians and quartiles of repeated launches by device
events; the time of a program is the sum over its kernels. --dry-run needs no GPU: the kernels are compiled.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from forms import DRY_ARCH
from times import Figures, figures, torch_figures, total

from warploom.core import UserError
from warploom.gpu import Compiled, compile_cuda, device_arch, device_available, time_kernel
from warploom.kernels.tensors import TensorKernel, tensor_kernel
from warploom.schedule.backbone import cuda_tiles
from warploom.schedule.cuda import CudaKernel, Options, compile_kernel, cuda_kernel, facts_of, run, time, with_outputs
from warploom.schedule.nest import Nest
from warploom.schedule.targets import target as target_named

ROOT = Path(__file__).parents[2]
REPEATS = 40
WARM_UP = 10

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One program: what to run it on, what it is compared with, how much it does."""

    case: str
    peer: str
    """Key of `PEERS`."""
    nests: tuple[Nest, ...]
    arrays: Arrays
    scalars: Mapping[str, float]
    expected: Arrays
    flops: int
    moved_bytes: int
    """Compulsory."""


def hand_written() -> dict[str, Callable[[], Entry]]:
    """The nests of the tests, at the sizes of the paper."""
    sys.path.insert(0, str(ROOT))
    nests = import_module("tests.schedule.cuda.nests")

    def matmul(
        m: int, n: int, k: int, tile: tuple[int, int, int], registers: tuple[int, int], **more: Any
    ) -> Callable[[], Entry]:
        def make() -> Entry:
            case = nests.matmul(m, n, k, tile, registers, **more)
            name = f"matmul {m}x{n}x{k} {tile} {more}"
            return entry(name, "matmul", case, 2 * m * n * k)

        return make

    def entry(name: str, peer: str, case: Any, flops: int) -> Entry:
        moved = sum(array.nbytes for array in case.arrays.values())
        return Entry(name, peer, (case.nest,), case.arrays, case.scalars, case.expected, flops, moved)

    n = 1 << 26
    return {
        "matmul": matmul(1024, 1024, 1024, (128, 128, 16), (8, 8)),
        "matmul-registers": matmul(1024, 1024, 1024, (128, 128, 16), (8, 8), stages=2),
        "matmul-copies": matmul(1024, 1024, 1024, (128, 128, 16), (8, 8), stages=2, is_async=True),
        "matmul-small-tiles": matmul(1024, 1024, 1024, (64, 64, 16), (8, 8), stages=3, is_async=True),
        "matmul-256-256-32": matmul(256, 256, 32, (32, 32, 16), (4, 4)),
        "axpy": lambda: entry("axpy 2^26", "axpy", nests.axpy(n, threads=256), 2 * n),
        "transpose": lambda: entry("transpose 4096", "transpose", nests.transpose(4096), 0),
        "softmax": lambda: entry("softmax 8192x1024", "softmax", nests.softmax(8192, 1024, 256), 0),
        "row-sum": lambda: entry("row sum 8192x4096", "row_sum", nests.row_sum(8192, 4096, 128, 1, 4), 8192 * 4096),
    }


def explored(path: Path, arch: str) -> Iterator[Entry]:
    """Programs as `explore --json` reports them; for the architecture where a line names no target."""
    choices = import_module("warploom.schedule.choices")
    for line in path.read_text().splitlines():
        record = json.loads(line)
        kernel: TensorKernel = tensor_kernel(record["kernel"])
        sizes = kernel.sizes_with(record.get("sizes"))
        stages = kernel.program(sizes, cuda_tiles).stages
        target = target_named(record.get("target", arch))
        found: list[Nest] = []
        for stage in stages:
            space = choices.kernel_space(stage, target)
            found.append(space.lower(space.replay(decisions_of(stage.name, record["decisions"], is_only=len(stages) == 1))))
        arrays = kernel.arrays(sizes)
        expected = kernel.reference(arrays)
        case = f"{kernel.name} {' '.join(f'{k}={v}' for k, v in sizes.items())}"
        yield Entry(
            case, kernel.name, tuple(found), arrays, kernel.parameters, expected, kernel.flops(sizes), kernel.bytes(sizes)
        )


def decisions_of(stage: str, decisions: Mapping[str, str], *, is_only: bool) -> dict[str, str]:
    """The decisions of one kernel of a program; with several kernels each name begins with its kernel's and a slash."""
    if is_only:
        return dict(decisions)
    return {name.removeprefix(f"{stage}/"): value for name, value in decisions.items() if name.startswith(f"{stage}/")}


def _softmax(torch: Any, d: Arrays) -> object:
    return torch.softmax(d["x" if "x" in d else "X"], dim=1)


PEERS: dict[str, Callable[[Any, Arrays], object]] = {
    "matmul": lambda torch, d: torch.matmul(d["A"], d["B"]),
    "matmul_tn": lambda torch, d: torch.matmul(d["A"].T, d["B"]),
    "matmul_nt": lambda torch, d: torch.matmul(d["A"], d["B"].T),
    "matmul_tt": lambda torch, d: torch.matmul(d["A"].T, d["B"].T),
    "matmul_strided": lambda torch, d: torch.matmul(d["A"][:, ::32], d["B"]),
    "matmul_batched": lambda torch, d: torch.bmm(d["A"], d["B"]),
    "matvec": lambda torch, d: torch.mv(d["A"], d["x"]),
    "matvec_t": lambda torch, d: torch.mv(d["A"].T, d["x"]),
    "gesummv": lambda torch, d: 1.5 * torch.mv(d["A"], d["x"]) + 1.2 * torch.mv(d["B"], d["x"]),
    "atax": lambda torch, d: torch.mv(d["A"].T, torch.mv(d["A"], d["x"])),
    "axpy": lambda torch, d: torch.add(d["y"], d["x"], alpha=1.5),
    "dot": lambda torch, d: torch.dot(d["x"], d["y"]),
    "transpose": lambda torch, d: d["A"].T.contiguous(),
    "conv2d": lambda torch, d: torch.nn.functional.conv2d(d["X"][None], d["W"]),
    "softmax": _softmax,
    "row_sum": lambda torch, d: d["x"].sum(dim=1),
}
"""The same on PyTorch, by the name of the kernel; inputs as device tensors by name."""

COPY = """extern "C" __global__ void copy(const float4* from, float4* to, int count)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) to[i] = from[i];
}
"""


def compiled_copy(arch: str) -> Compiled:
    return compile_cuda(COPY, arch)


def copy_ms(moved_bytes: int, arch: str) -> Figures:
    """A kernel that reads half of the bytes and writes as many."""
    count = max(1, moved_bytes // 32)
    arrays = [np.zeros(4 * count, np.float32), np.zeros(4 * count, np.float32)]
    compiled = compiled_copy(arch)
    return figures(time_kernel(compiled, "copy", (-(-count // 256), 1, 1), (256, 1, 1), arrays, [count], repeats=REPEATS))


def compiled_nests(entry: Entry, arch: str) -> list[tuple[CudaKernel, Compiled]]:
    """The kernels, and their machine code. UserError: those of `compile_cuda`."""
    kernels = [cuda_kernel(nest, Options(arch=arch)) for nest in entry.nests]
    return [(kernel, compile_kernel(kernel)) for kernel in kernels]


def ours(entry: Entry, arch: str, *, check: bool) -> dict[str, Any]:
    """Milliseconds, summed over the kernels, and what the compiler says of each."""
    both = compiled_nests(entry, arch)
    kernels = [kernel for kernel, _ in both]
    arrays: dict[str, Any] = {n: np.array(a) for n, a in with_outputs(kernels, dict(entry.arrays)).items()}
    found: dict[str, Any] = {}
    if check:
        for kernel, code in both:
            run(kernel, code, arrays, entry.scalars)
        found["max_error"] = max(error(arrays[n].reshape(-1), np.asarray(e).reshape(-1)) for n, e in entry.expected.items())
    times = [figures(time(kernel, code, arrays, entry.scalars, repeats=REPEATS, warm_up=WARM_UP)) for kernel, code in both]
    facts = [facts_of(kernel, code) for kernel, code in both]
    registers = [f.registers for f in facts]
    return found | {"kernel_ms": total(times), "registers": registers, "shared_bytes": [f.shared_bytes for f in facts]}


def error(got: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest value."""
    return float(np.abs(got.astype(np.float64) - wanted).max() / max(1e-30, np.abs(wanted).max()))


def torch_ms(entry: Entry) -> Figures | None:
    """The same computation on PyTorch in full f32; None without PyTorch or a peer."""
    call = PEERS.get(entry.peer)
    if call is None or find_spec("torch") is None:
        return None
    torch = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = {name: torch.from_numpy(np.array(array)).cuda() for name, array in entry.arrays.items()}
    return torch_figures(lambda: call(torch, device), REPEATS, WARM_UP)


def line_of(entry: Entry, arch: str, *, check: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"case": entry.case, "arch": arch} | ours(entry, arch, check=check)
    line |= {"torch_ms": torch_ms(entry), "copy_ms": copy_ms(entry.moved_bytes, arch), "moved_bytes": entry.moved_bytes}
    if entry.flops:
        line["gflops"] = entry.flops / line["kernel_ms"]["median_ms"] / 1e6
    if line["torch_ms"] is not None:
        line["torch_over_kernel"] = line["torch_ms"]["median_ms"] / line["kernel_ms"]["median_ms"]
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in line.items()}


def dry_run(entry: Entry) -> dict[str, Any]:
    """Registers of the kernels and of the copy."""
    found = [code.registers for _, code in compiled_nests(entry, DRY_ARCH)]
    return {"case": entry.case, "registers": found, "copy": compiled_copy(DRY_ARCH).registers}


def entries(words: Sequence[str], arch: str) -> Iterator[Entry]:
    """Raises SystemExit for a word that is neither a case nor a file."""
    cases = hand_written()
    for word in words or tuple(cases):
        if word in cases:
            yield cases[word]()
        elif Path(word).is_file():
            yield from explored(Path(word), arch)
        else:
            raise SystemExit(f"expected a case ({', '.join(cases)}) or a file of lines, got {word}")


def main(arguments: list[str]) -> int:
    as_json, check, is_dry = "--json" in arguments, "--check" in arguments, "--dry-run" in arguments
    words = [a for a in arguments if not a.startswith("--")]
    if not is_dry and not device_available():
        print("no CUDA device here: nothing to time (--dry-run compiles the kernels without one)", file=sys.stderr)
        return 3
    arch = DRY_ARCH if is_dry else device_arch()
    if not is_dry and find_spec("torch") is None:
        print("torch is not installed: left out", file=sys.stderr)
    try:
        for entry in entries(words, arch):
            line = dry_run(entry) if is_dry else line_of(entry, arch, check=check)
            print(json.dumps(line) if as_json else line, flush=True)
    except UserError as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
