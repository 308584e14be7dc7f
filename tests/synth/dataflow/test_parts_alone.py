"""Parts of the engine for dataflow programs, each asked by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.solve import ClauseSession
from warploom.synth.dataflow import ahead, composed
from warploom.synth.dataflow.composed import ComposedSet, same_rows
from warploom.synth.dataflow.program_model import ProgramModel
from warploom.synth.dataflow.readers import Reader
from warploom.synth.dataflow.smt import _HoleFlags  # pyright: ignore[reportPrivateUsage]


class Listed:
    """Two functions of three points."""

    points, size_bound = 3, 2

    def __init__(self) -> None:
        self.tables = np.array([[0, 1, 2], [0, 2, 1]])

    def __len__(self) -> int:
        return len(self.tables)

    def matching(self, _: object) -> Listed:
        return self


def test_the_budget_is_asked_at_every_point_of_a_hole() -> None:
    asked: list[int] = []
    hole: Any = SimpleNamespace(members=Listed(), allowed=np.ones((3, 3), np.bool_))
    flags = _HoleFlags(ClauseSession(), 0, hole, lambda: asked.append(1))
    assert len(asked) == 3 and [sorted(row) for row in flags.values] == [[0], [1, 2], [1, 2]]


def test_pairs_are_asked_for_whole_tables_only() -> None:
    """Of a table at some of the points nothing is refused."""

    class Pairs(ComposedSet):
        def __init__(self) -> None:
            pass

        @property
        def points(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
            return 3

        def takes(self, tables: Any) -> Any:
            return np.zeros(len(tables), np.bool_)

    for points, taken in ((2, [True, True]), (3, [False, False])):
        reader: Any = SimpleNamespace(functions=None, hole=0, points=np.arange(points), model=SimpleNamespace(sets=[Pairs()]))
        assert Reader._has(reader, np.zeros((2, points), np.int64)).tolist() == taken  # pyright: ignore[reportPrivateUsage]


def test_rows_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
    plain = same_rows(tables).tolist()
    monkeypatch.setattr(composed, "row_hashes", lambda rows: np.zeros(len(rows), np.uint64))
    for group in (plain, same_rows(tables).tolist()):
        assert group[0] == group[2] and len({*group}) == 3


@pytest.mark.parametrize(("readers", "left"), [(1, 100), (2, 7), (3, 100)])
def test_only_two_readers_are_glanced_at(readers: int, left: int) -> None:
    reader = SimpleNamespace(place=np.zeros(4, np.int64))
    at: Any = SimpleNamespace(readers=[reader] * readers, _glanced=lambda *_: np.arange(7), _followed=lambda members, _: members)
    anything: Any = None
    assert len(ahead.Ahead._follow(at, np.arange(100), anything, anything)) == left  # pyright: ignore[reportPrivateUsage]


def test_the_smallest_hole_is_decided_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is small; else one that can be looked ahead of, and a hole that the goal does not depend on never."""
    model: Any = object.__new__(ProgramModel)
    model.live, model.only_moves = frozenset({0, 1, 2}), True
    model.options = SimpleNamespace(propagation="full")
    anything: Any = None
    monkeypatch.setattr(ProgramModel, "_ahead", lambda _, __, hole: hole if hole == 2 else None)
    for sizes, chosen in (([(0, 9), (1, 4), (2, 7), (3, 2)], (1, 4)), ([(0, 10**6), (1, 10**7), (2, 10**8)], (2, 10**8))):
        monkeypatch.setattr(ProgramModel.__mro__[1], "open_choices", lambda *_, sizes=sizes: sizes)
        assert model.open_choices(anything) == [chosen]
