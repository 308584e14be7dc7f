"""What the searches count and give up on, each step asked by itself."""

from __future__ import annotations

import random
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from warploom.solve.search.incumbent import Incumbent
from warploom.solve.search.mcts import _Mcts  # pyright: ignore[reportPrivateUsage]


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


@pytest.mark.parametrize(("patience", "found"), [(2, None), (9, "exhausted")])
def test_a_rollout_gives_up_after_so_many_dead_ends(patience: int, found: str | None) -> None:
    dead: list[Any] = [SimpleNamespace(name=n, bound=(1.0,)) for n in range(5)]
    at: Any = SimpleNamespace(
        _incumbent=SimpleNamespace(in_any_order=lambda child, *_: iter(dead if child.name == "root" else [])),
        _options=SimpleNamespace(patience=patience, leans=(0.0,)), _random=random.Random(0), _best={}, _rollouts=0,
        _taken=lambda level: next(level.made, None),
    )  # fmt: skip
    root: Any = SimpleNamespace(name="root")
    assert _Mcts._descend(at, root) == found
