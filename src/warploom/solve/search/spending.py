"""Budget, statistics and outcome of a search; the same for all orders."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from warploom.solve.model import Cost

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits at which a search gives up; None = never. Nodes (`Statistics.tried`) and evaluations are deterministic, seconds
    are not."""

    nodes: int | None = None
    cpu_s: float | None = None
    wall_s: float | None = None
    evaluations: int | None = None
    """Answers evaluated; only strategies that evaluate (`Incumbent`) count them."""
    more: Callable[[], float] | None = None
    """Asked where the wall seconds are spent, in the middle of the search: how many more there are; 0 ends it. What it does
    meanwhile is no part of them."""


UNLIMITED = Budget()
BUDGET_SPENT = "budget: "
"""The beginning of the reason of every search that a budget ended; then comes what is spent."""


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


class Meter:
    """Measures how much of a budget is left; the clocks start when the meter is made."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._cpu_s, self._wall_s = time.process_time(), time.monotonic()
        self._end_s = budget.wall_s
        """Wall seconds after the start at which the budget is spent; None: never."""

    @property
    def wall_s(self) -> float:
        return time.monotonic() - self._wall_s

    def spend(self, tried: int) -> None:
        """StopSearchError where the candidate just tried was one too many; looks at the clocks now and then."""
        if self.budget.nodes is not None and tried > self.budget.nodes:
            raise StopSearchError(f"{BUDGET_SPENT}nodes")
        if tried % _LOOK == 0:
            self.spend_seconds()

    def spend_seconds(self) -> None:
        if self.budget.cpu_s is not None and time.process_time() - self._cpu_s > self.budget.cpu_s:
            raise StopSearchError(f"{BUDGET_SPENT}CPU seconds")
        if self._end_s is not None and self.wall_s > self._end_s:
            more_s = 0.0 if self.budget.more is None else self.budget.more()
            if more_s <= 0:
                raise StopSearchError(f"{BUDGET_SPENT}wall seconds")
            self._end_s = self.wall_s + more_s


_LOOK = 8
"""Candidates from one look at the clocks to the next."""
