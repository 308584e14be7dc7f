"""How the kernels of a program share its budget: more for those where more time is left to win."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from warploom.core.limits import INTERRUPTION
from warploom.schedule.search.explore import Exploration, Options
from warploom.schedule.search.kernel_model import milliseconds
from warploom.solve import BUDGET_SPENT
from warploom.solve.space import Candidate

Search: TypeAlias = Callable[[int, Options, bool], Exploration[Candidate]]
"""Explores the kernel of that number; True: for a first look, which another search of it follows."""

_LOOK_SHARE, _LOOKED = 0.15, 4
"""Share of the budget for a first look at all kernels, and how many implementations of each are measured in it."""
_LOOK_LEAST_S = 8.0
"""With a smaller budget there is none."""
_LEAST_SHARE = 0.06
"""Share of the budget that each kernel has in the end, whatever its time."""
_NEGLIGIBLE = 0.03
"""Kernels that may win no more than this share of the program's time are not searched further."""
_HEADROOM = 0.1
"""Share of a kernel's time that may still be won, at least, however near its bound it is."""


@dataclass(slots=True)
class Turns:
    """The searches of a program's kernels, one after the other. Where kernels are measured and their searches begin alike
    (`is_known`), a first look says how long each one takes: those with the most time above their bounds come last and have the
    most seconds, with what the others left. Else each has half of its share in equal parts, half by its bound."""

    bounds: Sequence[int]
    """Bounds of whole spaces, in picoseconds."""
    options: Options
    """Budgets of all kernels together, but for the seconds."""
    budget_s: float | None
    is_known: bool
    began: float
    """`time.monotonic()` when the budget began."""
    found: dict[int, Exploration[Candidate]] = field(default_factory=dict[int, Exploration[Candidate]])

    @property
    def explored(self) -> list[Exploration[Candidate]]:
        """The searches that were begun, in the program's order."""
        return [self.found[n] for n in sorted(self.found)]

    def run(self, search: Search) -> None:
        """An interruption of a search ends them all."""
        order = list(range(len(self.bounds)))
        weights = [max(float(bound), 1.0) for bound in self.bounds]
        is_looked = self.is_known and self._is_by_time and self.budget_s is not None and self.budget_s >= _LOOK_LEAST_S
        if is_looked:
            for n in order:
                if self._ended(n, search(n, self._look(), True)):
                    return
            weights = self._gains()
            order = sorted((n for n in order if self._is_worth_more(n, weights[n])), key=lambda n: weights[n])
        for position, n in enumerate(order):
            left = [weights[k] for k in order[position:]]
            share = _share_of_gain(left) if is_looked else _share(left)
            if self._ended(n, search(n, self._limits(share), False)):
                return

    @property
    def _is_by_time(self) -> bool:
        return self.options.nodes is None and self.options.evaluations is None

    def _ended(self, n: int, explored: Exploration[Candidate]) -> bool:
        self.found[n] = _joined(self.found[n], explored) if n in self.found else explored
        return explored.reason == INTERRUPTION

    def _look(self) -> Options:
        assert self.budget_s is not None
        seconds = _LOOK_SHARE * self.budget_s / len(self.bounds)
        return replace(self.options, budget_s=seconds, evaluations=_LOOKED, finalists=0, more=None)

    def _limits(self, share: float) -> Options:
        left_s = None if self.budget_s is None else max(0.0, self.budget_s - (time.monotonic() - self.began)) * share
        nodes, evaluated = sum(e.nodes for e in self.explored), sum(e.evaluated for e in self.explored)
        return replace(
            self.options,
            budget_s=left_s,
            nodes=_part(self.options.nodes, nodes, share),
            evaluations=_part(self.options.evaluations, evaluated, share),
            more=self.options.more if len(self.bounds) == 1 else None,
        )

    def _is_worth_more(self, n: int, gain: float) -> bool:
        """After the first look. Those that are left as they are say that the time ended their search."""
        times = [e.time_ms or 0.0 for e in self.explored]
        if not self.found[n].complete and (self.found[n].time_ms is None or gain > _NEGLIGIBLE * sum(times)):
            return True
        if not self.found[n].complete:
            self.found[n] = replace(self.found[n], reason=f"{BUDGET_SPENT}wall seconds")
        return False

    def _gains(self) -> list[float]:
        """Time that a longer search may win, at most; of a kernel that has none yet, as much as of the others together."""
        gains = [_gain(self.found[n], bound) for n, bound in enumerate(self.bounds)]
        known = sum(g for g in gains if g is not None) or 1.0
        return [known if g is None else g for g in gains]


def _gain(explored: Exploration[Candidate], bound: int) -> float | None:
    time_ms = explored.time_ms
    return None if time_ms is None else max(time_ms - milliseconds((bound,)), _HEADROOM * time_ms)


def _share_of_gain(gains: Sequence[float]) -> float:
    """Share of the rest of the seconds for the first of the kernels left, which has the least to win."""
    return max(gains[0] / sum(gains), min(_LEAST_SHARE, 1 / len(gains))) if sum(gains) > 0 else 1 / len(gains)


def _share(weights: Sequence[float]) -> float:
    """Share of the rest of the budget for the first of the kernels left: half in equal parts, half by their bounds."""
    return 0.5 / len(weights) + 0.5 * weights[0] / sum(weights)


def _part(budget: int | None, spent: int, share: float) -> int | None:
    return None if budget is None else max(1, int((budget - spent) * share))


def _joined(look: Exploration[Candidate], explored: Exploration[Candidate]) -> Exploration[Candidate]:
    """The search that went on after the look; with the counts of both, but for what the second found measured."""
    if explored.best is None and look.best is not None:
        explored = replace(look, complete=explored.complete, reason=explored.reason)
    return replace(
        explored,
        nodes=look.nodes + explored.nodes,
        refuted=look.refuted + explored.refuted,
        pruned=look.pruned + explored.pruned,
        dead_ends=look.dead_ends + explored.dead_ends,
        wall_s=look.wall_s + explored.wall_s,
    )
