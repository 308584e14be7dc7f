"""Counts and limits of the searches, each step asked by itself."""

from __future__ import annotations

import random
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from warploom.solve.search.dives import Dive
from warploom.solve.search.incumbent import Incumbent


def test_children_that_are_beaten_are_counted_once() -> None:
    """One by the bound of its alternative, one by that of its candidate."""
    at: Any = SimpleNamespace(
        statistics=SimpleNamespace(bounded=0, dead_ends=0, nodes=0), is_beaten=lambda bound: bound > 5, next_choice=lambda _: 0,
        model=SimpleNamespace(
            alternatives=lambda *_: [SimpleNamespace(bound=bound) for bound in (1, 2, 9)], open_choices=lambda _: [(0, 3)]
        ),
        _expanded=lambda _, __, position, ___: SimpleNamespace(bound=(3, 7)[position]), _strategy=lambda _: 0,
    )  # fmt: skip
    at.expand = partial(Incumbent.expand, at)
    at._children = partial(Incumbent._children, at)  # pyright: ignore[reportPrivateUsage]
    parent: Any = SimpleNamespace(candidate=None, bound=0)
    at._children = partial(Incumbent._children, at)
    found = [*(Incumbent.expand(at, parent) or ())]
    assert [c.bound for c in found] == [3]
    assert (at.statistics.bounded, at.statistics.dead_ends) == (2, 0)


@pytest.mark.parametrize("decided", [True, False])
def test_several_decisions_at_once_are_one_node(decided: bool) -> None:
    spent: list[int] = []
    at: Any = SimpleNamespace(
        hints=SimpleNamespace(decide=lambda *_: "candidate" if decided else None), _spend=lambda: spent.append(1),
        statistics=SimpleNamespace(nodes=0, refuted=0), model=SimpleNamespace(bound=lambda _: 4),
    )  # fmt: skip
    parent: Any = SimpleNamespace(candidate="root", above=None, bound=3)
    found = Incumbent.jump(at, parent, ((0, "a"), (1, "b")))
    assert (found is not None) == decided and (found is None or found.bound == 4)
    assert (at.statistics.nodes, at.statistics.refuted, len(spent)) == (int(decided), int(not decided), 1)


def dive(patience: int) -> tuple[object, bool, int]:
    """In a tree of two levels without answers."""
    statistics = SimpleNamespace(tried=0)

    def children(child: Any) -> list[Any]:
        statistics.tried += 5
        return [SimpleNamespace(name=f"{child.name}{n}", bound=(1.0,)) for n in range(5)] if len(child.name) < 2 else []

    incumbent: Any = SimpleNamespace(
        statistics=statistics, children=children, is_beaten=lambda _: False, guess=lambda child: child.bound[0]
    )
    root: Any = SimpleNamespace(name="r", bound=(1.0,))
    found: Any = Dive(incumbent, root, random.Random(0), 0.0)
    return found.following(patience), found.is_whole, statistics.tried


def test_a_dive_gives_up_after_so_many_candidates() -> None:
    assert dive(100) == (None, True, 30)
    assert dive(5) == (None, False, 15)


def test_a_dive_goes_back_where_the_guess_jumps() -> None:
    """`a` looks as good as `b` until its children are made."""
    guesses = {"r": 1.0, "ra": 1.0, "rb": 1.01, "raa": 9.0, "rab": 9.0, "rba": 1.02, "rbb": 9.0}
    at: Any = SimpleNamespace(
        statistics=SimpleNamespace(tried=0), is_beaten=lambda _: False, guess=lambda child: guesses[child.name],
        children=lambda c: None if len(c.name) > 2 else [SimpleNamespace(name=c.name + x, bound=(0,)) for x in "ab"],
    )  # fmt: skip
    root: Any = SimpleNamespace(name="r", bound=(0,))
    made: Any = Dive(at, root, random.Random(0), 0.0)
    assert made.following().name == "rba"
    assert {made.following().name for _ in range(3)} == {"raa", "rab", "rbb"} and made.is_whole
