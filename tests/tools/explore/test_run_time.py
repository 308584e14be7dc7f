"""Sizes known at run time: how they are asked for, where they are refused, and that one text serves all values."""

# ruff: noqa: F821  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest
from tests.tools.explore.test_check import implementation_of

import warploom as wl
from warploom import f32, out, tensor
from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Program, cpu_tiles, cuda_tiles
from warploom.schedule.cpu import c_source
from warploom.schedule.cuda import cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.nest import Guard, Kind, Load, Loop, Nest, Node, Store, at_run_time, loops
from warploom.schedule.targets import cpu, target
from warploom.tools.explore.budget import OutOfTimeError
from warploom.tools.explore.check import Checked, at_several, check_cpu, check_cuda
from warploom.tools.explore.data import Array, Data, data_for
from warploom.tools.explore.run_time import asked_sizes, run_time_fields, searched_at, tried

HAS_CUDA = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


def code_of(work: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        work()
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("text", "value", "multiple"), [("7", 7, None), ("?", None, 1), ("?:64", None, 64), ("?@50", 50, 1), ("?:8@64", 64, 8)]
)
def test_forms(text: str, value: int | None, multiple: int | None) -> None:
    asked = asked_sizes([("m", text)])
    assert asked.values.get("m") == value and asked.run_time.get("m") == multiple


@pytest.mark.parametrize(
    "text", ["", "0", "x", "?:", "?:0", "?@0", "?64", "??", "?:8@63", "?@8:8", "-1", "?:-4", "9" * 40, "?:9999999999"]
)
def test_refused_forms(text: str) -> None:
    assert code_of(lambda: asked_sizes([("m", text)])) == "SIZES"


def test_one_size_has_one_form() -> None:
    assert code_of(lambda: asked_sizes([("m", "?"), ("m", "?:2")])) == "SIZES"
    assert searched_at({"m": 1000}, {"m": 64, "n": 3}) == {"m": 1024, "n": 1026}


@tensor
def squared(X: f32["n"], y: out[f32["n"]]):
    y[i] = X[i] + (n * n)


@tensor
def twice(X: f32["2 * n"], y: out[f32["n"]]):
    y[i] = X[i + 1]


@tensor
def inner(X: f32["k", "n"], y: out[f32["n"]]):
    y[i] += X[k, i]


@pytest.mark.parametrize("function", [squared, twice, inner], ids=lambda f: f.name)
def test_sizes_in_the_way(function: TensorFunction) -> None:
    """A number or an array of another length than a size and a number, and a stride: each would need the value itself."""
    program = function.program(dict.fromkeys(function.sizes, 64))
    assert code_of(lambda: function.at_run_time(program, {"n": 1})) == "RUN_TIME_SIZE"


def test_sizes_to_search_with() -> None:
    axpy = tensor_kernel("axpy")
    one, few = axpy.program({"n": 1}), axpy.program({"n": 8}, {"n": ((8,),)})
    assert code_of(lambda: axpy.at_run_time(one, {"n": 1})) == "RUN_TIME_SIZE"
    assert code_of(lambda: axpy.at_run_time(few, {"n": 1})) == "RUN_TIME_SIZE"
    assert code_of(lambda: axpy.at_run_time(few, {"q": 1})) == "SIZES"


def program_of(name: str, sizes: Mapping[str, int], run_time: Mapping[str, int], machine: str) -> Program:
    kernel = tensor_kernel(name)
    return kernel.at_run_time(kernel.program(sizes, cpu_tiles if machine == "cpu" else cuda_tiles), run_time)


def without_guards(node: Node) -> Node:
    match node:
        case Loop(body=body):
            return replace(node, body=tuple(map(without_guards, body)))
        case Load(memory=memory) | Store(memory=memory):
            return replace(node, memory=replace(memory, guards=()))
        case _:
            return node


def with_one_more(node: Node) -> Node:
    """Guards that hold one place too far."""

    def moved(guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
        return tuple(replace(g, index=g.index.shifted(-1)) for g in guards)

    match node:
        case Loop(body=body):
            return replace(node, body=tuple(map(with_one_more, body)))
        case Load(memory=memory) | Store(memory=memory):
            return replace(node, memory=replace(memory, guards=moved(memory.guards)))
        case _:
            return node


def with_value(node: Node) -> Node:
    """Guards of the value for which the kernel was searched."""
    match node:
        case Loop(body=body):
            return replace(node, body=tuple(map(with_value, body)))
        case Load(memory=memory) | Store(memory=memory):
            guards = tuple(replace(g, run_time=None) for g in memory.guards)
            return replace(node, memory=replace(memory, guards=guards))
        case _:
            return node


@HAS_CUDA
@pytest.mark.parametrize("change", [None, without_guards, with_one_more, with_value])
def test_a_kernel_is_tested_at_several_sizes(change: Callable[[Node], Node] | None) -> None:
    """A missing guard, one that is off by one, and one of a fixed bound are found."""
    program = program_of("axpy", {"n": 300}, {"n": 1}, "sm_90")
    found = implementation_of(program.stages[0], "sm_90", 1)
    nest = found.nest if change is None else replace(found.nest, body=tuple(map(change, found.nest.body)))
    checked = checked_at_sizes("axpy", program, nest)
    assert checked.verdict == ("tested" if change is None else "refuted"), checked.reason
    if change is None:
        tile = next(loop.trips.per for loop in loops(nest.body) if loop.trips is not None)
        assert [v["n"] for v in checked.values] == [0, 1, tile - 1, tile, tile + 1, 2 * tile + 1]


def checked_at_sizes(name: str, program: Program, nest: Nest) -> Checked:
    from warploom.tools.explore.check import _interpreted  # pyright: ignore[reportPrivateUsage]

    return _interpreted(tensor_kernel(name), {}, program, [nest], target("sm_90"), 0)


@pytest.mark.parametrize(("runs", "verdict"), [(0, None), (1, None), (2, "tested"), (4, "tested")])
def test_values_stay_that_were_compared_in_time(runs: int, verdict: str | None) -> None:
    """From a whole tile and a ragged one on."""
    program = program_of("axpy", {"n": 300}, {"n": 1}, "sm_90")
    nest = implementation_of(program.stages[0], "sm_90", 1).nest
    done: list[int] = []

    def run(at: Program, nests: Sequence[Nest], data: Data) -> Mapping[str, Array]:
        if len(done) == runs:
            raise OutOfTimeError
        done.append(1)
        return dict(data.outputs)

    def all_values() -> Checked:
        return at_several(tensor_kernel("axpy"), program, [nest], 0, lambda others: "", run)

    if verdict is None:
        with pytest.raises(OutOfTimeError):
            all_values()
        return
    found = all_values()
    tile = next(loop.trips.per for loop in loops(nest.body) if loop.trips is not None)
    assert (found.verdict, [v["n"] for v in found.values]) == (verdict, ([] if runs == 2 else [0, 1]) + [tile - 1, tile + 1])


@HAS_CUDA
def test_a_class_of_multiples_has_no_guard() -> None:
    """Rows in tiles that divide all their numbers; the other sizes stay in the text."""
    sizes, run_time = {"m": 64, "n": 20, "k": 9}, {"m": 8}
    program = program_of("matmul", sizes, run_time, "sm_90")
    found = implementation_of(program.stages[0], "sm_90", 0, {"size(m1)": "4", "size(m2)": "2", "size(n1)": "4", "size(n2)": "1"})
    text = cuda_kernel(found.nest).text
    assert "< m" not in text and "int m)" in text
    checked = check_cuda(tensor_kernel("matmul"), sizes, program, [found], target("sm_90"), 0)
    assert checked.verdict == "tested" and [v["m"] for v in checked.values] == [0, 8, 16, 24]
    assert checked.sizes is not None and "m" not in checked.sizes
    told = run_time_fields(run_time, [found.nest], checked.values, has_grid=True)["run_time"]
    most = 65535 * 8 if "blockIdx.y;  // m0" in text else 1 << 30
    assert told == {"m": {"multiple_of": 8, "up_to": most, "tested": [0, 8, 16, 24]}}


@pytest.mark.parametrize(("name", "sizes", "run_time"), [
    ("matvec", {"m": 50, "n": 20}, {"m": 1}), ("matvec_t", {"m": 50, "n": 20}, {"m": 1}),
    ("softmax", {"rows": 40, "columns": 9}, {"rows": 2}),
])  # fmt: skip
def test_c_of_run_time_sizes(name: str, sizes: Mapping[str, int], run_time: Mapping[str, int]) -> None:
    program = program_of(name, sizes, run_time, "cpu")
    nest = implementation_of(program.stages[0], cpu(32), 0).nest
    data = data_for(program, tensor_kernel(name), 0)
    checked = check_cpu(program, [nest], data, 1, tensor_kernel(name))
    assert checked.verdict == "tested" and checked.values[0] == dict.fromkeys(run_time, 0)
    others = [at_run_time(nest, v) for v in tried([nest])]
    assert {c_source(other).text for other in others} == {c_source(nest).text}
    assert all(loop.kind in (Kind.LOOP, Kind.BLOCK) for loop in loops(nest.body) if loop.trips is not None)


def test_sizes_are_tried_together() -> None:
    program = program_of("outer", {"m": 64, "n": 64}, {"m": 1}, "cpu")
    nest = implementation_of(program.stages[0], cpu(32), 0).nest
    assert {frozenset(v) for v in tried([nest])} == {frozenset({"m"})}
    assert [*product(tried([replace(nest, body=())]), [0])] == [({}, 0)]


@tensor
def beside(X: f32["256"], Y: f32["n"], y: out[f32["n"]]):
    y[i] = X[2 * i] + Y[i]


@tensor
def padded_beside(X: f32["256"], Y: f32["n"], y: out[f32["n"]]):
    y[i] = pad(X, 0)[i - 1] + Y[i]


@pytest.mark.parametrize("function", [beside, padded_beside], ids=lambda f: f.name)
def test_an_array_that_is_long_enough_for_one_size_only(function: TensorFunction) -> None:
    program = function.program({"n": 64})
    assert code_of(lambda: function.at_run_time(program, {"n": 1})) == "RUN_TIME_SIZE"


@pytest.mark.parametrize(
    ("kernel", "size", "code"),
    [("axpy", "?:0", "SIZES"), ("axpy", "64", "SIZES"), ("axpy", 0, "SIZES"), ("conv1d-3", "?", "OPTION")],
)
def test_what_python_may_ask_for(kernel: str, size: str | int, code: str) -> None:
    assert code_of(lambda: wl.explore(kernel, sizes={"n": size})) == code
