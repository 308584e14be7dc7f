"""One search for all open decisions: choices with finite domains, propagation, bounds, strategies, budgets, statistics.

A *model* knows its decisions and what one decision forces on the others; the driver knows nothing but that. It walks the
decisions depth first, smallest domain first, lets the model propagate, and prunes with the model's lower bound on cost
(branch and bound). Holes of a sketch, tile sizes and operator cases are all choices to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from warploom.core.limits import why

S = TypeVar("S")
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
Cost = tuple[int, ...]
"""Compared lexicographically; smaller is better."""
Goal = Literal["first", "best", "all"]


@dataclass(frozen=True, slots=True)
class Alternative(Generic[S]):
    """One way to decide a choice, not yet propagated."""

    bound: Cost
    """Lower bound on the cost of every answer behind it, known before propagation."""
    expand: Callable[[], S | None]
    """The propagated candidate; None when propagation refutes it."""
    value: Hashable = None
    """The decided value; it is the same wherever the same is decided for this choice. None: the model does not say."""


class Model(Protocol[S, A_co]):
    """A problem over candidates of type S with answers of type A_co. Candidates are never changed in place."""

    def root(self) -> S | None:
        """The candidate before any decision, propagated; None when already refuted."""
        ...

    def open_choices(self, candidate: S) -> Sequence[tuple[int, int]]:
        """(choice, size of its domain) for every choice with more than one alternative; empty = fully decided."""
        ...

    def alternatives(self, candidate: S, choice: int) -> Iterator[Alternative[S]]:
        """Alternatives in ascending order of bound; they cover the choice's domain and exclude each other."""
        ...

    def bound(self, candidate: S) -> Cost:
        """A lower bound on the cost of every answer that completes the candidate."""
        ...

    def answer(self, candidate: S) -> tuple[Cost, A_co] | None:
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


def ordered(first: Sequence[int]) -> Strategy:
    """These choices first, in this order, then the others in theirs."""
    place = {choice: n for n, choice in enumerate(first)}
    return lambda choices: min((place.get(c, len(place)), c) for c, _ in choices)[1]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits at which a search gives up; None = never. Nodes (`Statistics.tried`) and evaluations are deterministic, seconds
    are not."""

    nodes: int | None = None
    cpu_s: float | None = None
    wall_s: float | None = None
    evaluations: int | None = None
    """Answers evaluated; only strategies that evaluate (`Incumbent`) count them."""


UNLIMITED = Budget()
BUDGET_SPENT = "budget: "
"""The beginning of the reason of every search that a budget ended; then comes what is spent."""
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
    dead_ends: int = 0
    """Candidates of which propagation refuted every alternative."""
    evaluated: int = 0
    """Different answers whose cost was asked for."""
    duplicates: int = 0
    """Answers that had been evaluated before."""

    @property
    def tried(self) -> int:
        """Candidates looked at and alternatives refuted: what a budget of nodes counts."""
        return self.nodes + self.refuted


@dataclass(frozen=True, slots=True)
class Outcome(Generic[A]):
    """`complete`: the whole space was covered, so no answers means that there is none and the best is the optimum."""

    answers: tuple[tuple[Cost, A], ...]
    """Goal best: the best only; all: every one, cheapest first."""
    complete: bool
    reason: str
    """Reason why the search stopped early: `good enough`, `budget: nodes`, `budget: CPU seconds`, `budget: wall seconds`,
    `budget: evaluations`, `interrupted`; empty when complete or, with goal first, when there is an answer."""
    statistics: Statistics = field(default_factory=Statistics)
    bound: Cost | None = None
    """A lower bound on the cost of every answer, as far as the search has proved it; None: it does not tell."""


class StopSearchError(Exception):
    """Ends a search early with its message as the reason; a model may raise it, too."""


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
    run = _Search(model, goal, below, good_enough, strategy, budget, statistics or Statistics(), progress)
    reason = run.reason()
    answers = tuple(sorted(run.answers, key=lambda a: a[0]))
    return Outcome(answers, reason is None, reason or "", run.statistics)


class _Search(Generic[S, A]):
    def __init__(
        self,
        model: Model[S, A],
        goal: Goal,
        below: Cost | None,
        good_enough: Cost | None,
        strategy: Strategy,
        budget: Budget,
        statistics: Statistics,
        progress: Callable[[Statistics], None] | None,
    ) -> None:
        self.model = model
        self.goal = goal
        self.best = below
        """Cost below which answers count; None: any does."""
        self.good_enough = good_enough
        self.strategy = strategy
        self.budget = budget
        self.statistics = statistics
        self.progress = progress
        self.answers: list[tuple[Cost, A]] = []
        self.started = time.process_time()
        self.started_wall = time.monotonic()
        self.improved_at = 0

    def reason(self) -> str | None:
        """Reason why the search, run here, stopped before the space was covered; None: it was covered."""
        try:
            root = self.model.root()
            if root is None:
                self.statistics.refuted += 1
            else:
                self._visit(root)
        except StopSearchError as stop:
            return str(stop)
        except KeyboardInterrupt as stop:
            return why(stop)
        return None

    def _visit(self, candidate: S) -> None:
        self.statistics.nodes += 1
        self._spend()
        if self._is_beaten(self.model.bound(candidate)):
            self.statistics.bounded += 1
            return
        choices = self.model.open_choices(candidate)
        if not choices:
            self._answer(self.model.answer(candidate))
            return
        for alternative in self.model.alternatives(candidate, self.strategy(choices)):
            if self._is_beaten(alternative.bound):
                self.statistics.bounded += 1
                return  # the others are no better
            child = alternative.expand()
            if child is None:
                self.statistics.refuted += 1
                self._spend()
            else:
                self._visit(child)

    def _is_beaten(self, bound: Cost) -> bool:
        return self.goal != "all" and self.best is not None and bound >= self.best

    def _answer(self, answer: tuple[Cost, A] | None) -> None:
        if answer is None:
            self.statistics.rejected += 1
            return
        if self._is_beaten(answer[0]):
            return
        self.statistics.answers += 1
        self.improved_at = self.statistics.tried
        if self.goal != "all":
            self.best = answer[0]
            self.answers.clear()
        self.answers.append(answer)
        if self.goal == "first":
            raise StopSearchError("")

    def _spend(self) -> None:
        """Raises StopSearchError when the candidate just tried was one too many."""
        tried = self.statistics.tried
        if self.budget.nodes is not None and tried > self.budget.nodes:
            raise StopSearchError(f"{BUDGET_SPENT}nodes")
        is_enough = self.good_enough is not None and bool(self.answers) and self.answers[0][0] < self.good_enough
        if is_enough and tried > self.improved_at + PATIENCE:
            raise StopSearchError("good enough")
        if tried % 16 == 0:
            if self.budget.cpu_s is not None and time.process_time() - self.started > self.budget.cpu_s:
                raise StopSearchError(f"{BUDGET_SPENT}CPU seconds")
            if self.budget.wall_s is not None and time.monotonic() - self.started_wall > self.budget.wall_s:
                raise StopSearchError(f"{BUDGET_SPENT}wall seconds")
            if self.progress is not None:
                self.progress(self.statistics)
