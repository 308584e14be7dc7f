"""One search for all open decisions: choices with finite domains, propagation, bounds, strategies, budgets, statistics.

A *model* knows its decisions and what one decision forces on the others; the driver knows nothing but that. It walks the
decisions depth first, smallest domain first, lets the model propagate, and prunes with the model's lower bound on cost
(branch and bound). Holes of a sketch, tile sizes and operator cases are all choices to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

S = TypeVar("S")
A = TypeVar("A")
Cost = tuple[int, ...]
"""Compared lexicographically; smaller is better."""
Goal = Literal["first", "best", "all"]


@dataclass(frozen=True, slots=True)
class Alternative(Generic[S]):
    """One way to decide a choice, not yet propagated."""

    bound: Cost
    """Known before propagation: at most the cost of every answer behind it."""
    expand: Callable[[], S | None]
    """The propagated candidate; None when propagation refutes it."""


class Model(Protocol[S, A]):
    """A problem over candidates of type S with answers of type A. Candidates are never changed in place."""

    def root(self) -> S | None:
        """The candidate before any decision, propagated; None when already refuted."""
        ...

    def open_choices(self, candidate: S) -> Sequence[tuple[int, int]]:
        """(choice, size of its domain) for every choice with more than one alternative; empty = fully decided."""
        ...

    def alternatives(self, candidate: S, choice: int) -> Iterator[Alternative[S]]:
        """In ascending order of bound; they cover the choice's domain and exclude each other."""
        ...

    def bound(self, candidate: S) -> Cost:
        """At most the cost of every answer that completes the candidate."""
        ...

    def answer(self, candidate: S) -> tuple[Cost, A] | None:
        """The answer of a fully decided candidate; None if it turns out to be none."""
        ...


Strategy = Callable[[Sequence[tuple[int, int]]], int]
"""Picks the choice to branch on among (choice, domain size)."""


def smallest_domain(choices: Sequence[tuple[int, int]]) -> int:
    """The choice with the fewest alternatives; the first of them on a tie."""
    return min(choices, key=lambda c: c[1])[0]


def declared_order(choices: Sequence[tuple[int, int]]) -> int:
    """The open choice with the smallest number."""
    return min(choices)[0]


@dataclass(frozen=True, slots=True)
class Budget:
    """When to give up; None = never. Nodes are deterministic, CPU seconds are not."""

    nodes: int | None = None
    cpu_s: float | None = None


UNLIMITED = Budget()
PATIENCE = 250
"""Candidates tried for a cheaper answer once one meets the first objective's bound."""


@dataclass(slots=True)
class Statistics:
    nodes: int = 0
    """Candidates looked at."""
    refuted: int = 0
    """Alternatives that propagation refuted."""
    bounded: int = 0
    """Candidates cut by the cost bound."""
    answers: int = 0
    rejected: int = 0
    """Fully decided candidates that were no answer."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[A]):
    """`complete`: the whole space was covered, so no answers means that there is none and the best is the optimum."""

    answers: tuple[tuple[Cost, A], ...]
    """Goal best: the best only; all: every one, cheapest first."""
    complete: bool
    reason: str
    """Why the search stopped early: `good enough`, `budget: nodes`, `budget: CPU seconds`, `interrupted`; empty when complete."""
    statistics: Statistics = field(default_factory=Statistics)


class _StopSearchError(Exception):
    pass


def search(
    model: Model[S, A],
    *,
    goal: Goal = "best",
    below: Cost | None = None,
    good_enough: Cost | None = None,
    strategy: Strategy = smallest_domain,
    budget: Budget = UNLIMITED,
    statistics: Statistics | None = None,
    progress: Callable[[Statistics], None] | None = None,
) -> Outcome[A]:
    """Depth-first branch and bound over `model`; with `below`, only answers cheaper than it count.

    Once an answer is below `good_enough`, only `PATIENCE` further candidates are tried for a better one (reason `good enough`).
    Interrupting it (KeyboardInterrupt) ends the search with the best so far and the reason `interrupted`.
    """
    stats = statistics if statistics is not None else Statistics()
    answers: list[tuple[Cost, A]] = []
    started = time.process_time()
    best = below

    improved_at = 0

    def spent() -> int:
        return stats.nodes + stats.refuted

    def visit(candidate: S) -> None:
        nonlocal best, improved_at
        stats.nodes += 1
        if budget.nodes is not None and stats.nodes > budget.nodes:
            raise _StopSearchError("budget: nodes")
        if stats.nodes % 16 == 0:
            if budget.cpu_s is not None and time.process_time() - started > budget.cpu_s:
                raise _StopSearchError("budget: CPU seconds")
            if progress is not None:
                progress(stats)
        if goal != "all" and best is not None and model.bound(candidate) >= best:
            stats.bounded += 1
            return
        choices = model.open_choices(candidate)
        if not choices:
            answer = model.answer(candidate)
            if answer is None:
                stats.rejected += 1
            elif goal == "all" or best is None or answer[0] < best:
                stats.answers += 1
                improved_at = spent()
                if goal != "all":
                    best = answer[0]
                    answers.clear()
                answers.append(answer)
                if goal == "first":
                    raise _StopSearchError("")
            return
        for alternative in model.alternatives(candidate, strategy(choices)):
            if goal != "all" and best is not None and alternative.bound >= best:
                stats.bounded += 1
                return
            if good_enough is not None and answers and answers[0][0] < good_enough and spent() > improved_at + PATIENCE:
                raise _StopSearchError("good enough")
            child = alternative.expand()
            if child is None:
                stats.refuted += 1
            else:
                visit(child)

    reason = ""
    complete = True
    try:
        root = model.root()
        if root is not None:
            visit(root)
        else:
            stats.refuted += 1
    except _StopSearchError as stop:
        reason, complete = str(stop), False
    except KeyboardInterrupt:
        reason, complete = "interrupted", False
    return Outcome(tuple(sorted(answers, key=lambda a: a[0])), complete, reason, stats)
