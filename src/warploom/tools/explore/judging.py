"""Check and proof of what a search for a GPU finds, as parts of its budget.

The search is stopped once before its time is over. What it has found by then is checked and proved, and how long that took says
how much of the budget is kept for doing so again: the search goes on in the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from warploom.schedule.search import Exploration, Implementation
from warploom.solve.space import Candidate
from warploom.tools.explore.budget import WallBudget
from warploom.tools.explore.check import Checked

Stages: TypeAlias = tuple[Exploration[Candidate], ...]
Check: TypeAlias = Callable[[int, Sequence[Implementation[Candidate]]], Checked]
"""Checks and proves the implementations of the program of so many parts, within the budget."""

_LONGER = 1.25
"""Times as long as the last check and proof that the next ones are given."""
_PATIENCE = 0.25
"""Share of what is left for which a search goes on that has found nothing yet."""
_WORTH = 0.05
"""Least share of the budget for which a search goes on."""
_NEAR = 1.02
"""Times the time of kernels that were proved from which on others are preferred that were not."""


@dataclass(frozen=True, slots=True)
class _Judged:
    parts: int
    stages: Stages
    results: Checked


class Judging:
    """Knows what was checked, and how long the last check and proof took."""

    def __init__(self, budget: WallBudget, check: Check) -> None:
        self._budget, self._check = budget, check
        self._judged: list[_Judged] = []
        self._took_s = 0.0

    def more(self, parts: int, stages: Stages) -> float:
        """Wall seconds for which a search that has found these goes on. KeyboardInterrupt where the check or the proof was
        interrupted, so that the search ends as well."""
        if any(stage.best is None for stage in stages):
            return self._worth(_PATIENCE * self._budget.left_s)
        results = self.results(parts, stages)
        if results.is_interrupted:
            raise KeyboardInterrupt
        if results.is_refuted:
            return 0.0
        return self._worth(self._budget.left_s - _LONGER * self._took_s)

    def _worth(self, seconds: float) -> float:
        return seconds if seconds >= _WORTH * self._budget.limit_s else 0.0

    def results(self, parts: int, stages: Stages) -> Checked:
        """The check and the proof of these; known ones are not made again."""
        if (known := self._known(parts, stages)) is not None:
            return known
        began = time.monotonic()
        results = self._check(parts, [stage.best for stage in stages if stage.best is not None])
        self._took_s = time.monotonic() - began
        self._judged.append(_Judged(parts, stages, results))
        return results

    def _known(self, parts: int, stages: Stages) -> Checked | None:
        keys = _keys(stages)
        return next((j.results for j in self._judged if (j.parts, _keys(j.stages)) == (parts, keys)), None)

    def final(self, parts: int, stages: Stages, unchecked: Checked | None = None) -> tuple[Stages, Checked]:
        """The result of a search that has ended with these stages, and what is known of it: of kernels that are nearly as fast
        those of which more is known. unchecked: what is said where nothing is known yet, in place of a check."""
        results = self._known(parts, stages) or unchecked or self.results(parts, stages)
        near = [j for j in self._judged if j.parts == parts and _ms(j.stages) <= _NEAR * _ms(stages)]
        before = max(near, key=lambda j: _rank(j.results), default=None)
        if before is None or results.is_refuted or _rank(results) >= _rank(before.results):
            return stages, results
        pairs = zip(stages, before.stages, strict=True)
        kept = (
            replace(now, best=b.best, decisions=b.decisions, time_ms=b.time_ms, bound_ms=b.bound_ms, timed=b.timed)
            for now, b in pairs
        )
        return tuple(kept), before.results


def _keys(stages: Stages) -> list[str | None]:
    return [None if stage.best is None else stage.best.key for stage in stages]


def _ms(stages: Stages) -> float:
    return sum(stage.time_ms or 0.0 for stage in stages)


def _rank(results: Checked) -> tuple[bool, bool]:
    """How much is known of results; more of it is greater."""
    is_proved = results.proof is not None and results.proof.verdict == "proved"
    return results.verdict == "tested" or (results.has_no_size and is_proved), is_proved
