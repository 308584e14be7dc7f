"""Kernels of a program judged together: what one leaves in the caches the next one finds, if it begins there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol

from warploom.core import UserError
from warploom.schedule.nest import Nest
from warploom.schedule.search.evaluate import Measurement, Timed
from warploom.schedule.search.explore import Exploration
from warploom.schedule.search.explore import replay as replayed
from warploom.schedule.search.kernel_model import Implementation, KernelModel
from warploom.solve.space import Candidate

MOST_VARIANTS = 8
MOST_S = 10.0
"""Most seconds for timing all of them."""
TOGETHER_SHARE = 0.1
"""Share of the budget of a program of several kernels that is kept for that."""
_ROUNDS = 12
"""Rounds in which each is run, about."""
NEAR = 0.02
"""Kernels are turned for a larger gain than this share only."""
_DIRECTIONS = {"FORWARD": "BACKWARD", "BACKWARD": "FORWARD"}


class Programs(Protocol):
    """Times whole programs on one device."""

    def retime(self, variants: Sequence[Sequence[Nest]]) -> Sequence[Measurement]:
        """Times each variant, a nest for each stage, interleaved."""
        ...


def together(
    found: Sequence[Exploration[Candidate]],
    models: Sequence[KernelModel[Candidate]],
    fixed: Sequence[Collection[str]],
    programs: Programs,
    left_s: float | None = None,
) -> tuple[list[Exploration[Candidate]], Timed | None]:
    """The stages, each with an implementation, in the directions in which the program is fastest; the time of the program, or
    None where it could not be timed. `fixed`: names of decisions that stay, by stage. `left_s`: wall seconds for it."""
    once_s = sum(e.time_ms or 0.0 for e in found) * 1e-3
    most_s = MOST_S if left_s is None else min(MOST_S, left_s)
    affordable = min(MOST_VARIANTS, int(most_s / max(1e-9, _ROUNDS * once_s)))
    if not affordable:
        return list(found), None
    variants: list[list[Implementation[Candidate]]] = [[e.best for e in found if e.best is not None]]
    for n in range(1, len(variants[0])):
        turned = _turned(models[n], variants[0][n], fixed[n])
        if turned is not None and 2 * len(variants) <= affordable:
            variants += [[*variant[:n], turned, *variant[n + 1 :]] for variant in variants]
    times = programs.retime([[i.nest for i in variant] for variant in variants])
    timed = [(m, variant) for m, variant in zip(times, variants, strict=True) if isinstance(m, Timed)]
    if not timed:
        return list(found), None
    least = min(m.time_ms for m, _ in timed)
    chosen, best = next((m, variant) for m, variant in timed if m.time_ms <= least * (1 + NEAR))
    pairs = zip(found, best, strict=True)
    return [replace(e, best=i, decisions=i.decisions, bound_ms=i.bound_ms) for e, i in pairs], chosen


def _turned(
    model: KernelModel[Candidate], implementation: Implementation[Candidate], fixed: Collection[str]
) -> Implementation[Candidate] | None:
    """The same the other way round; None where that is no choice."""
    decisions = dict(implementation.decisions)
    names = [name for name in decisions if name.startswith("direction(") and name not in fixed]
    if not names:
        return None
    decisions |= {name: _DIRECTIONS[decisions[name]] for name in names}
    try:
        return replayed(model, decisions)
    except UserError:
        return None
