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
from warploom.solve import BUDGET_SPENT, TEMPERATURES, drawn

DESCENTS = 64
TRIED = 4
"""Implementations of which the most promising is measured; the others where that turns out to be none."""
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
        for implementation, nodes in islice(_descents(model, seed), TRIED):
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
    """Different implementations, each with the nodes it took since the one before."""
    seen: set[str] = set()
    nodes = 0
    for n in range(DESCENTS):
        chance = random.Random(f"{seed}/{n}")
        step: Step[C] | None = model.root()
        while step is not None and (choices := model.open_choices(step)):
            expanded = [a.expand() for a in model.alternatives(step, choices[0][0])]
            children = [c for c in expanded if c is not None]
            nodes += len(children)
            step = drawn(children, model.estimate, chance, TEMPERATURES[n % len(TEMPERATURES)]) if children else None
        answer = None if step is None else model.answer(step)
        if answer is not None and answer[1].key not in seen:
            seen.add(answer[1].key)
            yield answer[1], nodes
            nodes = 0
