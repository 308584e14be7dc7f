"""Parts of the engine for dataflow programs, each asked by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from warploom.solve import ClauseSession
from warploom.synth.dataflow.composed import ComposedSet
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
