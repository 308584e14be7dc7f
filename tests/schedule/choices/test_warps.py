"""Warps that lie along both axes of a product, and threads of a warp along two levels: by `--set`, right, and counted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.cutlass_tiles import decisions
from tests.schedule.choices.matrices import FUNCTIONS, first
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.choices.test_lower_spread import copying
from tests.schedule.nest.interpreter import interpret
from tests.schedule.nest.interpreter.thread import thread_index

from warploom.core import UserError, f32
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Operator, Role, evaluate, matrix_tiles, random_inputs, widened
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features, KernelSpace, LoweringError, kernel_space
from warploom.schedule.choices.lower_spread import spread
from warploom.schedule.choices.warps import with_shaped_warps
from warploom.schedule.cost.work import work_of
from warploom.schedule.cuda import Options, cuda_kernel, ptx_of, with_outputs
from warploom.schedule.cuda import interpret as run_ptx
from warploom.schedule.frontend import out, tensor
from warploom.schedule.nest import (
    Builder,
    Combine,
    Digit,
    Guard,
    Kind,
    Nest,
    Space,
    Store,
    hardware_sizes,
    identity,
    launch_digits,
    loops,
    products_of,
    text,
    threads_of,
    verify,
    with_barriers,
)
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)
# pyright: reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false

with_toolchain = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
SHAPES = {"4x8": (4, 8), "8x4": (8, 4)}
ACROSS = {
    "dim_kind(load_X.m1)": "THREAD", "dim_kind(load_X.n1)": "THREAD", "dim_kind(load_X.m0)": "BLOCK",
    "dim_kind(load_X.n0)": "BLOCK",
    "thread_mapping(load_X.n1, load_X.m1)": "MAPPED_OUT",
}  # fmt: skip
THREADS = {
    "dim_kind(mad.m1)": "THREAD", "dim_kind(mad.n2)": "THREAD", "dim_kind(mad.m2)": "UNROLL", "dim_kind(mad.n3)": "UNROLL",
    "dim_kind(mad.k0)": "LOOP", "dim_kind(mad.k1)": "LOOP", "dim_kind(mad.k2)": "UNROLL",
}  # fmt: skip


@tensor
def turned(X: f32["m", "n"], Y: out[f32["n", "m"]]):
    Y[n, m] = X[m, n]


@cache
def simt_space() -> KernelSpace:
    stage = tensor_kernel("matmul").program({"m": 128, "n": 128, "k": 16}, matrix_tiles(())).stages[0]
    return kernel_space(stage, target("sm_80"))


@cache
def simt(warps: str) -> tuple[Candidate, Nest]:
    """A product of f32 with 64 by 64 results of a block: 8 by 8 threads."""
    space = simt_space()
    candidate = space.root()
    for name, value in (decisions("matmul", "64x64x8") | {"warps(matmul)": warps}).items():
        candidate = space.set_by_name(candidate, name, value)
    found = first(space, space.usually(candidate, lambda _: False))
    return found, space.lower(found)


def stage_of_grid(name: str, tiles: Mapping[str, tuple[tuple[int, ...], ...]]) -> Backbone:
    return widened(FUNCTIONS[name].program({"m": 64, "n": 64, "k": 64}, tiles).stages[0])


@cache
def grid(name: str = "by rows", arch: str = "sm_80") -> tuple[KernelSpace, Candidate, Nest]:
    """A block of 32 by 32 results, two by two warps of 16 by 16."""
    k1 = 16 if name == "bytes" else 8
    tiles = {"m": ((2,), (2,), (4,), (2,)), "n": ((2,), (2,), (8,)), "k": ((32 // k1,), (k1,))}
    stage = stage_of_grid(name, tiles)
    space = kernel_space(stage, target(arch))
    candidate = space.set_by_name(space.root(), f"warps({stage.name})", "GRID")
    for temporary in space.temporaries:
        candidate = space.set_by_name(candidate, f"spread(tmp_{temporary.name})", "YES")
    found = first(space, space.usually(candidate, lambda _: False, 1))
    return space, found, space.lower(found)


def counted(nest: Nest, stage: Backbone) -> tuple[int, int]:
    """Requests and wavefronts of loads from shared memory that the PTX interpreter counts for a block; the result is right."""
    kernel = cuda_kernel(nest, Options(arch="sm_80"))
    arrays = with_outputs([kernel], random_inputs(stage.regions, 3))
    outcome = run_ptx(kernel, arrays, counts=True)
    assert not outcome.findings and outcome.counts is not None
    np.testing.assert_allclose(outcome.arrays["C"].reshape(-1), evaluate(stage, arrays)["C"].reshape(-1), rtol=2e-3, atol=2e-3)
    return outcome.counts.shared_load_requests // kernel.blocks, outcome.counts.shared_load_wavefronts // kernel.blocks


def modelled_loads(nest: Nest) -> float:
    """The same by the model: requests without sectors are of shared memory."""
    return sum(r.times * r.lines for r in work_of(nest).requests if not r.sectors and not r.is_store)


# ---------------------------------------------------------------- threads of a warp along two levels


@pytest.mark.parametrize("warps", ["4x8", "8x4"])
def test_threads_lie_as_the_interpreter_says(warps: str) -> None:
    _, nest = simt(warps)
    assert verify(nest) == () and nest.lanes == SHAPES[warps]
    assert f"warps of {SHAPES[warps][0]} x {SHAPES[warps][1]}" in text(nest)
    threads, shape = threads_of(nest), hardware_sizes(nest, Kind.THREAD)
    whole = next(x for x in loops(nest.body) if x.digit is not None)
    enumerated = replace(whole, digit=Digit(1, is_last=True))
    for number in range(0, threads.count, 3):
        position = tuple(int(at[number]) for at in threads.at)
        assert thread_index(enumerated, position, shape, nest.lanes) == number
    down, across = SHAPES[warps]
    assert {(int(y), int(x)) for x, y in zip(*(at[:32] for at in threads.at), strict=True)} == {
        (y, x) for y in range(down) for x in range(across)
    }


def test_a_nest_with_shaped_warps_is_another_one() -> None:
    assert len({identity(simt(warps)[1]) for warps in ("PLAIN", "4x8", "8x4")}) == 3


def test_digits_of_a_thread_are_those_of_its_number() -> None:
    """Elements that threads enumerate, whatever their order in a warp, the interpreter's adversarial threads copy once."""
    nest = copying(16, 16, 16, 16)
    shared = spread(nest, next(n for n, buffer in enumerate(nest.buffers) if buffer.space is Space.SHARED), is_async=False)
    arrays = {"X": np.arange(512.0)}
    wanted = interpret(with_barriers(shared), arrays)["Y"]
    for lanes in ((4, 8), (2, 16)):
        np.testing.assert_array_equal(interpret(with_barriers(replace(shared, lanes=lanes)), arrays)["Y"], wanted)


@with_toolchain
def test_shaped_warps_load_with_fewer_wavefronts() -> None:
    stage, (_, plain), (_, shaped) = simt_space().backbone, simt("PLAIN"), simt("4x8")
    assert counted(plain, stage) == (128, 384) and modelled_loads(plain) == 384
    assert counted(shaped, stage) == (128, 256) and modelled_loads(shaped) == 256
    assert cuda_kernel(shaped, Options(arch="sm_80")).block == (2, 8, 4)


@pytest.mark.parametrize(
    ("fixed", "rule"),
    [
        ({"size(m1)": "4", "warps(matmul)": "8x4"}, "threads above each other"),
        ({"size(n2)": "8", "warps(matmul)": "2x16"}, "threads beside each other"),
        ({"dim_kind(mad.k1)": "THREAD", "warps(matmul)": "4x8"}, "no totals over threads"),
        ({"warps(matmul)": "GRID"}, "kernels whose warps may be a grid"),
    ],
)
def test_shapes_that_the_loops_do_not_have_are_refused(fixed: dict[str, str], rule: str) -> None:
    tiles = {"m": ((4, 8), (8,)), "n": ((2,), (8, 16), (4,)), "k": ((2,), (4,))}
    stage = tensor_kernel("matmul").program({"m": 64, "n": 128, "k": 16}, tiles).stages[0]
    space = kernel_space(stage, target("sm_80"))
    kinds = {name: kind for name, kind in THREADS.items() if name not in fixed}
    with pytest.raises(UserError, match=rule):
        space.replay(kinds | {"thread_mapping(mad.m1, mad.n2)": "MAPPED_OUT"} | fixed)


def test_threads_that_no_warp_divides_have_no_shape() -> None:
    nest = copying(8, 12, 12, 4)
    with pytest.raises(LoweringError, match="multiples of 4 x 8, got 4 x 12"):
        with_shaped_warps(nest, "4x8")
    assert "warps of 4 x 8 threads do not make up 4 x 12" in verify(replace(nest, lanes=(4, 8)))
    assert with_shaped_warps(nest, "PLAIN") is nest


def test_no_total_is_made_over_threads_of_shaped_warps() -> None:
    assert not verify(summing())
    assert "a total over threads is made where warps lie along two dimensions" in verify(replace(summing(), lanes=(4, 8)))


def summing() -> Nest:
    """Totals of rows of 8 elements, by 4 by 8 threads."""
    b = Builder("summing")
    source, sums = b.buffer("X", 32), b.buffer("Y", 4, Role.OUTPUT)
    v, s = b.value("v"), b.value("s")
    with b.loop("r", Kind.THREAD, 4, hardware=1) as r, b.loop("c", Kind.THREAD, 8) as c:
        b.load(b.ref(v), source, r * 8 + c)
    ((column, _),) = c.affine.terms
    b.add(Combine(b.ref(s), Operator.ADD, b.ref(v), (), (column,)))
    with b.loop("r", Kind.THREAD, 4, hardware=1) as r:
        b.add(Store(b.memory(sums, r * 1), b.ref(s), (Guard(c.affine, 1),)))
    return b.nest()


def test_a_launch_counts_what_z_cannot_along_x() -> None:
    many = replace(copying(32, 32, 32, 32), lanes=(8, 4))
    assert launch_digits(many) == (((1, 2), (0, 4), (1, 4), (0, 8), (1, 4)), (), ())
    few = replace(copying(16, 16, 16, 16), lanes=(4, 8))
    assert launch_digits(few) == (((1, 2),), ((0, 8),), ((1, 2), (0, 2), (1, 4)))
    assert launch_digits(replace(few, lanes=None)) == (((0, 16),), ((1, 16),), ())


def test_the_paper_has_plain_warps() -> None:
    stage = tensor_kernel("matmul").program({"m": 64, "n": 64, "k": 16}).stages[0]
    assert "warps" not in kernel_space(stage, target("sm_80"), Features.paper()).instance.space.choices


def test_searches_leave_open_what_habits_want() -> None:
    on = target("sm_80")
    usual = simt_space().usual
    assert usual == {"warps(matmul)": "PLAIN|4x8", "spread(tmp_load_A)": "NO|YES", "spread(tmp_load_B)": "NO|YES"}
    stage = tensor_kernel("linear_relu_f16").program(dict.fromkeys("mnk", 256), matrix_tiles(on.matrices)).stages[0]
    usual = kernel_space(widened(stage, on.matrices), on).usual
    assert usual[f"warps({stage.name})"] == "PLAIN|GRID" and usual["spread(tmp_load_X)"] == "NO|YES"
    assert usual["spread(tmp_load_bias)"] == "NO"
    stage = turned.program({"m": 64, "n": 64}).stages[0]
    assert kernel_space(stage, on).usual["warps(turned)"] == "PLAIN"


def test_the_bound_holds_whatever_lies_in_a_warp() -> None:
    """Threads of a warp that lie along two levels touch fewer lines than the same in order, where the inner level lies across."""
    stage = turned.program({"m": 64, "n": 64}, {"m": ((16, 32),), "n": ((16, 32),)}).stages[0]
    on = target("sm_80")
    space = kernel_space(stage, on)
    bound, in_order = Bound(space), Bound(space)
    in_order.positions = in_order.positions._replace(warps=-1)
    start = space.set_by_name(space.root(), "warps(turned)", "4x8")
    decided = start
    for name, value in ACROSS.items():
        decided = space.set_by_name(decided, name, value)
    found = 0
    for seed in range(8):
        candidate = descend(space, random.Random(seed), decided)
        if candidate is not None:
            made = bound.modelled(candidate, space.lower(candidate))
            assert made.time_ms >= bound.of(candidate) >= bound.of(start) >= bound.of(space.root())
            assert all(made.least[unit] <= ns * (1 + 1e-9) for unit, ns in made.parts if unit in made.least)
            found += in_order.work(candidate) != bound.work(candidate)
    assert found


# ---------------------------------------------------------------- warps along both axes of a product


def test_warps_of_a_grid_lie_along_both_axes() -> None:
    space, candidate, nest = grid()
    assert verify(nest) == () and hardware_sizes(nest, Kind.THREAD) == (4, 8, 2, 2)
    (part,) = products_of(nest)
    assert len(part.row_points) == 2 and len(part.column_points) == 4
    names = {x.hardware: x.name for x in loops(nest.body) if x.kind is Kind.THREAD and x.hardware is not None}
    assert names == {0: "m3", 1: "n3", 2: "n1", 3: "m1"}
    with pytest.raises(UserError, match="levels of a grid are in order"):
        space.replay({"thread_mapping(mad.m1, mad.n1)": "MAPPED_IN", f"warps({space.backbone.name})": "GRID"})
    with pytest.raises(UserError, match="thread levels"):
        space.replay(dict.fromkeys((f"dim_kind(mad.{loop})" for loop in ("m1", "m3", "n1", "n3")), "THREAD")
                     | {f"warps({space.backbone.name})": "PLAIN"})  # fmt: skip
    assert Bound(space).modelled(candidate, nest).time_ms >= Bound(space).of(candidate)


@with_toolchain
@pytest.mark.parametrize("name", ["by rows", pytest.param("bytes", marks=pytest.mark.slow)])
def test_products_of_a_grid_are_right_and_load_as_modelled(name: str) -> None:
    space, _, nest = grid(name)
    kernel = cuda_kernel(nest, Options(arch="sm_80"))
    assert kernel.block == (4, 8, 4) and "mma.sync" in ptx_of(kernel)
    assert "threadIdx.z % 2" in kernel.text and "threadIdx.z / 2" in kernel.text
    assert counted(nest, space.backbone)[1] == modelled_loads(nest)


def test_groups_of_warps_do_not_lie_along_both_axes() -> None:
    """`wgmma` takes warps that lie along the rows."""
    _, _, nest = grid("by columns", "sm_90")
    assert all(part.group is None for part in products_of(nest))
