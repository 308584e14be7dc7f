"""One implementation, whatever the budget: for searches that ended before they had any."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from warploom.core.limits import INTERRUPTION
from warploom.schedule.search.evaluate import Evaluator, Memory, Record, Timed, Unfit
from warploom.schedule.search.explore import Exploration
from warploom.schedule.search.kernel_model import C, Implementation, KernelModel, Step
from warploom.solve import BUDGET_SPENT, TEMPERATURES, Dive, Hints, Incumbent

DESCENTS = 64
TRIED = 4
"""Implementations of which the most promising is measured; the others where that turns out to be none."""
_WORK = 20_000
"""Open decisions of those together, at most: of a space with more of them the first one is taken."""
_MOST, _MOST_MORE = 2_000, 400
"""Candidates after which no descent begins: while there is no implementation, and once there is one."""
_FROM_ROOT = 4
"""One descent in so many begins at the root."""
_ROUNDS = 3
"""Rounds of timing: the budget is spent."""


def with_first(
    found: Exploration[C], model: KernelModel[C], evaluator: Evaluator | None, memory: Memory, seed: int = 0
) -> Exploration[C]:
    """The same exploration where it has an implementation or its budget was not what ended it; else with the most promising
    of `TRIED` ones that can be measured. An interruption leaves it without."""
    if found.best is not None or found.complete or not found.reason.startswith(BUDGET_SPENT):
        return found
    try:
        made: list[Implementation[C]] = []
        tried = max(1, min(TRIED, _WORK // max(1, model.remaining(model.root()))))
        for implementation, nodes in islice(_descents(model, seed), tried):
            found = replace(found, nodes=found.nodes + nodes)
            made.append(implementation)
        for implementation in sorted(made, key=model.appraise):
            if evaluator is None:
                return _of(found, implementation, None)
            with evaluator.open():
                (measurement,) = evaluator.retime([implementation.nest], _ROUNDS)
            measurement = implementation.judged(measurement)
            memory.add(implementation.key, Record(measurement, implementation.decisions, implementation.bound_ms))
            match measurement:
                case Timed(time_ms):
                    return replace(_of(found, implementation, time_ms), timed=measurement, evaluated=found.evaluated + 1)
                case Unfit():
                    found = replace(found, evaluated=found.evaluated + 1, unfit=found.unfit + 1)
    except KeyboardInterrupt:
        return replace(found, reason=INTERRUPTION)
    return found


def _of(found: Exploration[C], implementation: Implementation[C], time_ms: float | None) -> Exploration[C]:
    return replace(
        found, best=implementation, decisions=implementation.decisions, time_ms=time_ms, bound_ms=implementation.bound_ms
    )


def _descents(model: KernelModel[C], seed: int) -> Iterator[tuple[Implementation[C], int]]:
    """Different implementations, each with the nodes it took since the one before: dives that begin as fast kernels mostly do,
    at first with all of that, and go back where a decision leads nowhere. They end by the number of candidates tried."""
    hints: Hints[Step[C], Implementation[C]] = Hints(key=lambda i: i.key, estimate=model.estimate, decide=model.decide)
    incumbent = Incumbent(model, hints=hints)
    root = incumbent.root()
    chance = random.Random(seed)
    statistics, told, found = incumbent.statistics, 0, 0
    for n in range(DESCENTS):
        if root is None or statistics.tried > (_MOST_MORE if found else _MOST):
            return
        start = root
        if n % _FROM_ROOT != _FROM_ROOT - 1:
            start = incumbent.jump(root, model.begin(root.candidate, chance)) or root
        child = Dive(incumbent, start, chance, TEMPERATURES[n % len(TEMPERATURES)]).following()
        leaf = None if child is None else incumbent.leaf(child)
        if leaf is not None:
            found += 1
            yield leaf.answer, statistics.nodes - told
            told = statistics.nodes
