"""Kernels of GPUs with all sizes known at run time: one text, tested at whole and ragged tiles; planted mistakes are found."""

# ruff: noqa: F821  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportAttributeAccessIssue=false

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import pytest
from tests.tools.explore.test_check import implementation_of
from tests.tools.explore.test_run_time import HAS_CUDA, code_of, with_one_more, without_guards

from warploom import exp, f32, out, tensor
from warploom.core import UnsupportedError
from warploom.core.linear import Linear
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Program, RunTimeSize, at_sizes, cuda_tiles
from warploom.schedule.calls import all_open, pack_cuda, spread_nest, unpack_cuda
from warploom.schedule.choices import KernelSpace
from warploom.schedule.cpu import c_source, plain_nest
from warploom.schedule.cuda import Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.nest import Kind, Load, Loop, Memory, Nest, Node, Rows, Store, Trips, at_run_time, text, verify
from warploom.schedule.targets import target
from warploom.tools.explore.check import Checked, _interpreted  # pyright: ignore[reportPrivateUsage]
from warploom.tools.explore.options import KernelOptions, program_of
from warploom.tools.explore.proof import prove_kernels

SIZES = {"m": 64, "n": 64, "k": 64}
STAGED = {"mem_space(tmp_load_A)": "SHARED", "mem_space(tmp_load_B)": "SHARED"}


@cache
def made(*multiples: int) -> tuple[Program, Nest]:
    """The product with all sizes open, A and B staged in shared memory."""
    kernel = tensor_kernel("matmul")
    opened = dict(zip(SIZES, multiples, strict=True))
    program = kernel.at_run_time(kernel.program(SIZES, cuda_tiles), opened, has_strides=True)
    return program, implementation_of(program.stages[0], "sm_90", 0, STAGED).nest


def checked(program: Program, nest: Nest) -> Checked:
    return _interpreted(tensor_kernel("matmul"), {}, program, [nest], target("sm_90"), 0)


def changed(node: Node, memory: Callable[[Memory], Memory], loop: Callable[[Loop], Loop] = lambda loop: loop) -> Node:
    match node:
        case Loop(body=body):
            return loop(replace(node, body=tuple(changed(n, memory, loop) for n in body)))
        case Load() | Store():
            return replace(node, memory=memory(node.memory))
        case _:
            return node


@dataclass(frozen=True, slots=True)
class RoundedDown(Trips):
    def at(self, value: int) -> int:
        return value // self.per


def rounded_down(node: Node) -> Node:
    def loop(found: Loop) -> Loop:
        if found.trips is None or found.kind is not Kind.BLOCK:
            return found
        return replace(found, trips=RoundedDown(found.trips.size, found.trips.per))

    return changed(node, lambda memory: memory, loop)


def not_zeroed(node: Node) -> Node:
    """Loads beyond an edge give a number other than 0."""
    return changed(node, lambda memory: replace(memory, fill=3.0) if memory.guards else memory)


def with_another_stride(node: Node) -> Node:
    """Rows of A lie as far apart as there are rows."""
    by = {"k": RunTimeSize("m"), "n": RunTimeSize("n")}
    return changed(node, lambda m: replace(m, rows=tuple(replace(r, sizes=tuple(by[s.name] for s in r.sizes)) for r in m.rows)))


def of_one_stride(node: Node) -> Node:
    """Rows lie as far apart as they did where the kernel was searched."""
    return changed(node, lambda memory: replace(memory, rows=()))


@HAS_CUDA
def test_one_text_for_all_sizes_of_a_product() -> None:
    program, nest = made(1, 1, 1)
    assert verify(nest) == () and "+ k*(" in text(nest)
    found = checked(program, nest)
    assert found.verdict == "tested" and len(found.values) == 12
    assert not all(len({values[name] for name in SIZES}) == 1 for values in found.values if all(values.values()))
    source = cuda_kernel(nest).text
    assert "int m, int n, int k)" in source and "static_cast<long long>(k) * " in source
    assert "float2" not in source and "float4" not in source  # rows may begin anywhere


@HAS_CUDA
@pytest.mark.parametrize(
    "change",
    [with_one_more, without_guards, rounded_down, not_zeroed, with_another_stride, of_one_stride],
    ids=lambda c: c.__name__,
)
def test_planted_mistakes_are_refuted(change: Callable[[Node], Node]) -> None:
    program, nest = made(1, 1, 1)
    found = checked(program, replace(nest, body=tuple(map(change, nest.body))))
    assert found.verdict == "refuted", found.reason


@HAS_CUDA
@pytest.mark.slow
def test_multiples_allow_vectors() -> None:
    program, nest = made(1, 4, 4)
    assert "float2" in cuda_kernel(nest).text or "float4" in cuda_kernel(nest).text
    assert checked(program, nest).verdict == "tested"


@HAS_CUDA
def test_no_proof_for_every_size_follows_such_strides() -> None:
    program, nest = made(1, 1, 1)
    found = prove_kernels(program.stages, [cuda_kernel(nest)], SIZES, 1, [None], every=True)
    assert (found.verdict, found.reason) == ("unchecked", "matmul: strides that are known at run time are not followed")


def test_places_of_rows() -> None:
    """Array of rows of 2 n k elements: what divides the offset, and how far apart lanes are."""
    n, k = RunTimeSize("n", 4), RunTimeSize("k", 3)
    rows = Rows(Linear(((0, 2), (1, 1))), (n, k), 2, 2 * 8 * 6)
    memory = Memory(0, Linear(((0, 192), (1, 96), (2, 1), (3, 8)), 16), rows=(rows,))
    assert memory.known == Linear(((2, 1), (3, 8)), 16)
    assert [memory.lanes_apart(loop) for loop in (0, 1, 2, 3, 4)] == [None, None, 1, 8, 0]
    assert memory.divisor_beside(2) == 8 and memory.divisor_beside(3) == 1 and rows.divisor == 24
    assert memory.mapped(lambda affine: affine.renamed(lambda loop: loop + 1)).rows[0].index == Linear(((1, 2), (2, 1)))


@tensor
def deep(X: f32["a", "4", "b", "c"], Y: out[f32["c", "a", "b"]]):
    Y[l, i, k] = sum(X[i, j, k, l], over=j)


@tensor
def square(A: f32["n", "n"], C: out[f32["n", "n"]]):
    C[i, j] = A[j, i]


@HAS_CUDA
@pytest.mark.parametrize("function", [deep, square], ids=lambda f: f.name)
def test_strides_of_several_sizes(function: TensorFunction) -> None:
    sizes = dict.fromkeys(function.sizes, 6)
    opened, program = all_open(function, function.program(sizes), has_strides=True)
    assert opened == dict.fromkeys(function.sizes, 1)
    nest = spread_nest(plain_nest(program.stages[0]))
    assert _interpreted(function, {}, program, [nest], target("sm_90"), 0).verdict == "tested"
    one = {name: n for n, name in enumerate(function.sizes, 2)}
    other = at_run_time(nest, one)
    regions = {region.name: region for region in at_sizes(program, one).arguments}
    assert [b.elements for b in other.buffers] == [regions[b.name].elements for b in other.buffers]
    assert at_run_time(other, sizes) == nest
    kernel = cuda_kernel(nest, Options(arch="sm_90"))
    assert unpack_cuda(program, pack_cuda([kernel])) == [replace(kernel, options=Options(arch="sm_90"))]
    assert unpack_cuda(function.program(sizes), pack_cuda([kernel])) is None
    with pytest.raises(UnsupportedError, match="CPU_STRIDE"):
        c_source(plain_nest(program.stages[0]))


@tensor
def halves(A: f32["m", "2 * n"], C: out[f32["m", "n"]]):
    C[i, j] = A[i, j]


@tensor
def numbered(A: f32["m", "n"], C: out[f32["m", "n"]]):
    C[i, j] = A[i, j] * (n / 2)


@tensor
def shifted(A: f32["m", "n"], B: f32["8", "n"], C: out[f32["m", "n"]]):
    C[i, j] = A[i, j] + B[2, 3]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (halves, "or a sum of it and a number, as sizes of arrays only: axis 1 of 'A' has 2*n elements"),
        (numbered, "or a sum of it and a number, as a number, got another one"),
        (shifted, "expected 'B' at the indices that run over n, which is known at run time"),
    ],
    ids=lambda f: getattr(f, "name", ""),
)
def test_sizes_in_the_way_beside_strides(function: TensorFunction, message: str) -> None:
    program = function.program({"m": 16, "n": 16})
    assert code_of(lambda: function.at_run_time(program, {"n": 1}, has_strides=True)) == "RUN_TIME_SIZE"
    with pytest.raises(Exception, match=message.replace("(", r"\(").replace("*", r"\*")):
        function.at_run_time(program, {"n": 1}, has_strides=True)


@tensor
def scored(A: f32["m", "4"], B: f32["n", "4"], Y: out[f32["m"]]):
    s[i, j] = sum(A[i, k] * B[j, k], over=k)
    top[i] = max(s[i, j], over=j)
    Y[i] = sum(exp(s[i, j] - top[i]), over=j)


@tensor
def shared(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    top[i] = max(X[i, j], over=j)
    total[i] = sum(exp(X[i, j] - top[i]), over=j)
    Y[i, j] = exp(X[i, j] - top[i]) / total[i]


def options_of(function: TensorFunction) -> KernelOptions:
    return KernelOptions(target=target("sm_90"), sizes={}, run_time=dict.fromkeys(function.sizes, 1), threads=1)


def test_values_that_would_have_to_be_kept_are_told_at_their_place() -> None:
    assert code_of(lambda: program_of(scored, options_of(scored))) == "RUN_TIME_SIZE"
    with pytest.raises(Exception, match=r"expected values along j, whose length is known at run time, that can be made again"):
        program_of(scored, options_of(scored))


def test_equal_expressions_on_both_sides_of_a_sum() -> None:
    (stage,) = program_of(shared, options_of(shared)).stages
    space = KernelSpace(stage, target("sm_90"))
    assert space.instance.root() is not None
