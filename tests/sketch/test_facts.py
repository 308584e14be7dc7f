"""Facts about the values of an index before the run: nothing is claimed that is not listed."""

from __future__ import annotations

import pytest

from warploom.ir import Builtin, Compare, Hole, HoleUse, IndexBinary, IndexConst, IndexExpr, IndexVar, SizeVar
from warploom.sketch import ranges
from warploom.sketch.ranges import Facts

ONE, THREAD, BLOCK = IndexConst(1), Builtin("thread_id", 0), Builtin("block_id", 0)
HOLES = {
    "part": Hole("part", "part", ("t",), n=3),
    "choose": Hole("choose", "choose", ("a", "b"), n=2),
}


def facts(grid: IndexExpr = ONE) -> Facts:
    return Facts((32, 1, 1), (grid, ONE, ONE), HOLES, {}, {"k": (2, 5)})


@pytest.mark.parametrize(
    ("expr", "bounds"),
    [
        (IndexBinary("+", THREAD, IndexVar("k")), (2, 36)),
        (HoleUse("part", (THREAD,)), (0, 2)),
        (HoleUse("choose", (THREAD, ONE)), None),
        (HoleUse("gone", (THREAD,)), None),
        (IndexVar("set somewhere"), None),
        (SizeVar("n"), None),
        (IndexBinary("//", ONE, THREAD), None),
        (IndexBinary("<<", ONE, IndexBinary("-", THREAD, ONE)), None),
        (IndexBinary("<<", ONE, IndexBinary("+", THREAD, ONE)), None),
    ],
)
def test_bounds(expr: IndexExpr, bounds: tuple[int, int] | None) -> None:
    assert facts().hull(expr) == bounds


def test_blocks_of_a_grid_over_sizes() -> None:
    assert facts(IndexConst(4)).hull(BLOCK) == (0, 3)
    assert facts(SizeVar("n")).hull(BLOCK) is None


def test_more_points_than_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    both = IndexBinary("+", THREAD, IndexVar("k"))
    monkeypatch.setattr(ranges, "LIMIT", 128)
    assert facts().hull(both) == (2, 36)
    monkeypatch.setattr(ranges, "LIMIT", 127)
    assert facts().hull(both) is None


def test_threads_that_surely_part() -> None:
    assert facts().diverges(Compare("<", THREAD, IndexConst(3))) is True
    assert facts().diverges(Compare("<", IndexVar("k"), IndexConst(3))) is False
    assert facts().diverges(Compare("<", THREAD, HoleUse("part", (THREAD,)))) is False
    assert facts().diverges(Compare("<", THREAD, SizeVar("n"))) is False
    assert facts().decide(Compare("<", THREAD, IndexConst(32))) is True
    assert facts().decide(Compare("<", THREAD, IndexConst(31))) is None
