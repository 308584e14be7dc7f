"""Depth-first branch and bound, the choice with the fewest alternatives first: little memory, and a proof where it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from warploom.solve.model import Cost, Goal, Model, Strategy, smallest_domain
from warploom.solve.search.incumbent import PATIENCE, Child, Incumbent, Progress
from warploom.solve.search.spending import UNLIMITED, Budget, Outcome, Statistics

S = TypeVar("S")
A = TypeVar("A")


def search(
    model: Model[S, A],
    *,
    goal: Goal = "best",
    below: Cost | None = None,
    good_enough: Cost | None = None,
    patience: int = PATIENCE,
    strategy: Strategy = smallest_domain,
    budget: Budget = UNLIMITED,
    statistics: Statistics | None = None,
    progress: Callable[[Statistics], None] | None = None,
) -> Outcome[A]:
    """Depth-first branch and bound over `model`; with `below`, only answers cheaper than it count.

    Once an answer is below `good_enough`, only `patience` further candidates are tried for a better one (reason `good enough`).
    Interrupting it (KeyboardInterrupt) ends the search with the best so far and the reason `interrupted`.
    """

    def tell(told: Progress) -> None:
        if progress is not None:
            progress(told.statistics)

    return depth_first(
        Incumbent(
            model,
            goal=goal,
            below=below,
            good_enough=good_enough,
            patience=patience,
            strategy=strategy,
            budget=budget,
            statistics=statistics,
            progress=tell,
        )
    )


def depth_first(incumbent: Incumbent[S, A]) -> Outcome[A]:
    """Complete unless a budget, an interruption or its goal ends it."""

    def visit(child: Child[S]) -> None:
        children = incumbent.expand(child)
        if children is None:
            leaf = incumbent.leaf(child)
            if leaf is not None:
                incumbent.evaluate([leaf])
            return
        for below in children:
            visit(below)

    def cover() -> Cost | None:
        root = incumbent.root()
        if root is not None:
            visit(root)
        return incumbent.cut

    return incumbent.outcome(cover)
