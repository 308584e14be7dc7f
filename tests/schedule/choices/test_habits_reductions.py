"""Kernels that only read and reduce begin with vectors and threads along what they read."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest
from tests.schedule.choices.test_habits import first

from warploom.core import f16, f32
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, cuda_tiles
from warploom.schedule.choices import kernel_space
from warploom.schedule.choices.features import Features
from warploom.schedule.choices.habits import habits
from warploom.schedule.choices.habits_reductions import WAYS, Reductions
from warploom.schedule.choices.objects import objects_of
from warploom.schedule.cost.time import STREAMED, modelled
from warploom.schedule.frontend import PartedFunction, TensorFunction, out, tensor
from warploom.schedule.nest import Combine, Kind, Load, Nest, hardware_sizes, statements, verify
from warploom.schedule.targets import Target, target

SM_90 = target("sm_90")


@tensor
def columns(x: f32["k", "m"], y: out[f32["m"]]):
    y[c] = sum(x[i, c], over=i)


@tensor
def halves(x: f16["k"], y: out[f32[1]]):
    y[one] = sum(f32(x[i]), over=i)


@tensor
def planes(x: f32["k", "m"], y: out[f32[1]]):
    y[one] = sum(x[i, j], over=(i, j))


@tensor
def used_again(x: f32["m", "k"], w: f32["k"], y: out[f32["m"]]):
    y[r] = sum(x[r, i] * w[i], over=i)


def first_stage(function: TensorFunction, **sizes: int) -> Backbone:
    return PartedFunction(function, 64, "k").program({"k": 1 << 18} | sizes, cuda_tiles).stages[0]


def decided(stage: Backbone, threads: int = 256) -> tuple[dict[str, str], dict[str, str]]:
    """Sizes of levels and kinds of loops, by name."""
    objects = objects_of(stage, Features.full())
    found = list(Reductions(objects, threads).habits())
    extents = [f"{stage.axes[e.axis].name}{e.level}" for e in stage.extents]
    loop = {x.statement: x for x in objects.loops}
    owner = {s: o.name for o in objects.operations for s in o.loops}
    sizes = {extents[arguments[0]]: value for choice, arguments, value in found if choice == "size"}
    kinds = {
        f"{owner[arguments[0]]}.{extents[loop[arguments[0]].extent]}": value
        for choice, arguments, value in found
        if choice == "dim_kind"
    }
    return sizes, kinds


def test_vectors_along_a_sum() -> None:
    stage = first_stage(planes, m=4)
    sizes, kinds = decided(first_stage(halves))
    assert (sizes["i1"], sizes["i2"], sizes["part1"], sizes["part2"]) == ("256", "4", "1", "1")
    assert (kinds["load_x.i0"], kinds["load_x.i1"], kinds["load_x.i2"]) == ("LOOP", "THREAD", "VECTOR")
    assert (kinds["sum.i2"], kinds["sum.part0"], kinds["load_x.part0"]) == ("UNROLL", "BLOCK", "BLOCK")
    sizes, kinds = decided(stage)
    assert sizes["i1"] == "256" and kinds["load_x.i1"] == "THREAD" and kinds["load_x.j0"] == "LOOP"


def test_neighbours_that_are_results() -> None:
    sizes, kinds = decided(first_stage(columns, m=64))
    assert (sizes["c1"], sizes["i1"]) == ("16", "16")
    assert kinds["load_x.c1"] == kinds["load_x.i1"] == "THREAD" and kinds["store_y_parts.c1"] == "THREAD"
    sizes, _ = decided(first_stage(columns, m=4096))
    assert (sizes["c1"], sizes["i1"]) == ("32", "8")


def test_kernels_with_other_habits_or_none() -> None:
    softmax, norm = (tensor_kernel(name).program(None, cuda_tiles).stages[0] for name in ("softmax", "axpy"))
    for stage in (softmax, norm, used_again.program({"m": 64, "k": 1 << 12}, cuda_tiles).stages[0]):
        assert not list(Reductions(objects_of(stage, Features.full()), 256).habits())
    short = first_stage(halves, k=1 << 12)
    assert not list(Reductions(objects_of(short, Features.full()), 128).habits())
    in_parts = first_stage(used_again, m=4)
    assert list(Reductions(objects_of(in_parts, Features.full()), 256).habits())
    stage = first_stage(halves)
    assert len(habits(objects_of(stage, Features.full()), target("sm_90"))) == len(WAYS)


def begun(stage: Backbone, on: Target = SM_90) -> Nest:
    space = kernel_space(stage, on)
    return first(space, space.usually(space.root(), lambda _: False))


@pytest.mark.parametrize(
    ("function", "threads"),
    [
        (halves, (256,)),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((columns, (16, 16)), (planes, (16, 16)))),
    ],
)
def test_the_kernels_that_a_search_begins_with(function: TensorFunction, threads: tuple[int, ...]) -> None:
    nest = begun(first_stage(function, **({"m": 64} if "m" in function.sizes else {})))
    assert verify(nest) == () and hardware_sizes(nest, Kind.THREAD) == threads
    loads = [around[-1] for s, around in statements(nest.body) if isinstance(s, Load) and around[-1].kind is Kind.VECTOR]
    assert [loop.size for loop in loads] == [4]


def test_parts_and_what_is_behind_them_are_added_by_the_same_threads() -> None:
    (*_, stage) = PartedFunction(halves, 973, "k", 3651).program({"k": 973 * 1024 + 3651}, cuda_tiles).stages
    nest = begun(stage)
    sums = [statement for statement, _ in statements(nest.body) if isinstance(statement, Combine)]
    assert len(sums) == 2 and all(statement.threads for statement in sums)


@pytest.mark.parametrize(("name", "arrays"), [("dot", 2), pytest.param("sum", 1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("arch", "share"),
    [
        ("sm_80", 0.96),
        *(
            pytest.param(arch, share, marks=pytest.mark.slow)
            for arch, share in (("sm_86", 0.98), ("sm_89", 0.98), ("sm_90", 0.86), ("sm_100", 0.84), ("sm_120", 0.97))
        ),
    ],
)
def test_parts_of_a_long_vector_reach_the_bandwidth_of_memory(name: str, arrays: int, arch: str, share: float) -> None:
    """2^26 numbers in 1024 parts by the model, before any search, as far as kernels that only stream do."""
    on, elements = target(arch), 1 << 26
    first_one, second = PartedFunction(tensor_kernel(name).function, 1024, "n").program({"n": elements}, cuda_tiles).stages
    times = [modelled(begun(stage, on), on).time_ms for stage in (first_one, second)]
    least_ms = 4 * arrays * elements / (STREAMED * on.rates.bandwidth_bytes_per_ns) / 1e6
    assert least_ms / sum(times) > share
