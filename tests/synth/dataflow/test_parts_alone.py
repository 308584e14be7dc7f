"""Parts of the engine for dataflow programs, each asked by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.ir.dataflow import parse_program
from warploom.solve import ClauseSession
from warploom.synth.dataflow import ahead, composed, solve_program
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
    """No table at only some of the points is refused."""

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
        assert Reader._has(reader, np.zeros((2, points), np.int16)).tolist() == taken  # pyright: ignore[reportPrivateUsage]


def test_rows_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
    plain = same_rows(tables).tolist()
    monkeypatch.setattr(composed, "row_hashes", lambda rows: np.zeros(len(rows), np.uint64))
    for group in (plain, same_rows(tables).tolist()):
        assert group[0] == group[2] and len({*group}) == 3


@pytest.mark.parametrize(("readers", "left"), [(1, 100), (2, 7), (3, 100)])
def test_only_two_readers_are_glanced_at(readers: int, left: int) -> None:
    reader = SimpleNamespace(size=4)
    at: Any = SimpleNamespace(readers=[reader] * readers, _glanced=lambda *_: np.arange(7), _followed=lambda members, _: members)
    anything: Any = None
    assert len(ahead.Ahead._follow(at, np.arange(100), anything, anything)) == left  # pyright: ignore[reportPrivateUsage]


def test_places_look_for_their_rows_as_rows_look_for_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up from each place shows the same as all options of all rows, also where values are still open."""
    seen = {"refuted": 0, "kept": 0, "open": 0}
    by_place = Reader._by_taker  # pyright: ignore[reportPrivateUsage]

    def both(reader: Reader, values: Any) -> Any:
        found = by_place(reader, values)
        rng = np.random.default_rng(len(values))
        opened = np.where(rng.random(values.shape) < 0.1, reader.universe, values)
        moved = rng.permuted(values, axis=1)
        for held, answer in ((values, found), *((v, by_place(reader, v)) for v in (opened, moved))):
            refuted, option, only, is_only = reader._by_option(held)  # pyright: ignore[reportPrivateUsage]
            assert np.array_equal(answer[0], refuted) and np.array_equal(answer[3], is_only)
            assert np.array_equal(answer[1][is_only], option[is_only]) and np.array_equal(answer[2][is_only], only[is_only])
            seen["refuted"] += int(refuted.sum())
            seen["kept"] += int((~refuted).sum())
        seen["open"] += int((opened == reader.universe).any())
        return found

    monkeypatch.setattr(Reader, "_by_taker", both)
    shape = "[8, 4]"
    lines = [f"x: [32] = range(0, 32)\nloaded: {shape} = load_rep(x)\ns0: {shape} = ?row{{space=3}}(loaded)"]
    lines += [f"s{n + 1}: {shape} = ?{kind}{{space=3}}(s{n})" for n, kind in enumerate(("col", "row"))]
    program = parse_program("\n".join([*lines, f"goal: {shape} trove"]) + "\n", "t")
    result = solve_program(program, goal="all")
    assert result.complete and all(seen.values())
    monkeypatch.setattr(Reader, "_takers", lambda _: None)
    assert solve_program(program, goal="all").solutions.count == result.solutions.count > 0


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
