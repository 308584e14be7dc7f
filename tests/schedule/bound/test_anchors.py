"""Figures that can be worked out on paper, on the machine of the paper."""

import pytest
from tests.schedule.bound.hand_views import LONG, LONG_TILES, SQUARE, SQUARE_TILES, Case

from warploom.schedule.bound.facts import WAVES
from warploom.schedule.bound.problem import BLOCK, LOOP, THREAD, UNROLL, VECTOR

PAPER_AXPY_MS = 7.05


def axpy() -> Case:
    return Case("axpy", LONG, LONG_TILES, "k4000")


def matmul() -> Case:
    return Case("matmul", SQUARE, SQUARE_TILES, "k4000")


def decide(case: Case, sizes: dict[tuple[str, int], int], kinds: dict[tuple[str, int], int]) -> None:
    for (axis, level), size in sizes.items():
        case.size(axis, level, size)
    for instruction in range(len(case.backbone.instructions)):
        case.kinds(instruction, kinds)


def test_the_root_of_axpy_is_bound_by_three_streams_from_memory() -> None:
    found = axpy().bound()
    assert 5.97 <= found <= PAPER_AXPY_MS
    assert found == pytest.approx((3 * 4 * 2**26 - 384 * 1024) / 134.784e6)


def test_the_root_of_matmul_is_bound_by_its_fused_multiplications() -> None:
    assert matmul().bound() == pytest.approx(2**30 / 622.5 / 1e6, rel=1e-3)


def test_a_good_axpy_stays_below_what_the_paper_measured() -> None:
    case = axpy()
    decide(case, {("n", 0): 2**16, ("n", 1): 256, ("n", 2): 4}, {("n", 0): BLOCK, ("n", 1): THREAD, ("n", 2): VECTOR})
    assert 5.97 <= case.bound() <= PAPER_AXPY_MS


@pytest.mark.parametrize(
    ("kinds", "sizes"),
    [
        pytest.param({("n", 1): LOOP, ("n", 2): LOOP}, {("n", 1): 256, ("n", 2): 4}, id="one thread per block"),
        pytest.param({("n", 2): UNROLL}, {("n", 2): 4}, id="uncoalesced copies"),
        pytest.param({("n", 1): UNROLL, ("n", 2): THREAD}, {("n", 1): 256, ("n", 2): 4}, id="four threads"),
    ],
)
def test_hopeless_kinds_of_one_load_show_above_the_papers_time(
    kinds: dict[tuple[str, int], int], sizes: dict[tuple[str, int], int]
) -> None:
    case = axpy()
    for (axis, level), size in sizes.items():
        case.size(axis, level, size)
    case.kinds(0, kinds)
    assert case.bound() > PAPER_AXPY_MS


def test_a_block_more_than_fits_at_once_takes_another_wave() -> None:
    found: list[float] = []
    for blocks in (64, 128):
        case = Case("axpy", {"n": blocks * 1024}, {"n": ((1024,),)}, "k4000")
        decide(case, {}, {("n", 0): BLOCK, ("n", 1): THREAD})
        case.bound()
        found.append(float(case.scratch.grid[WAVES]))
    assert found == [8.0, 16.0]


def test_lanes_that_share_nothing_take_a_line_each() -> None:
    near, far = axpy(), axpy()
    decide(near, {("n", 1): 256, ("n", 2): 4}, {("n", 0): BLOCK, ("n", 1): THREAD, ("n", 2): VECTOR})
    decide(far, {("n", 1): 256, ("n", 2): 4}, {("n", 0): THREAD, ("n", 1): BLOCK, ("n", 2): BLOCK})
    assert far.bound() > 7.9 * 5.16 > near.bound()


def test_registers_limit_the_blocks_at_once() -> None:
    case = matmul()
    load = case.instruction(case.backbone.instructions[0].name)
    total = next(n for n, i in enumerate(case.backbone.instructions) if i.carry)
    sizes = {("m", 1): 16, ("n", 1): 16, ("m", 2): 4, ("n", 2): 4}
    for (axis, level), size in sizes.items():
        case.size(axis, level, size)
    case.bound()
    few = case.scratch.grid[6 - 1]
    case.kinds(total, {("m", 1): UNROLL, ("n", 1): UNROLL, ("m", 2): THREAD, ("n", 2): THREAD, ("k", 0): LOOP})
    case.kinds(load, {("m", 2): THREAD})
    case.bound()
    assert case.scratch.grid[4] == 256.0
    assert case.scratch.grid[6 - 1] < few
