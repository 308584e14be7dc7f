"""Times of compiled nests: as many runs as the noise asks for, fewer where the nest is surely slow.

A run is taken as slow by the CPU time of its busiest thread too: other processes on the machine lengthen the wall time only.
Short kernels are repeated within a sample, and many samples are taken while the threads stay awake; their CPU time is the
caller's, its waiting for the others included.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

_MOST_SAMPLES = 1000
_CALM = 0.01
_CONFIRMED = 0.05
_CONFIRMATIONS = 3
"""So many samples come near the least CPU time, or it may be chance."""
_TURN_S = 2e-3
"""Samples of short kernels are taken in turns of that length."""
_MOST_IN_TURN = 20
_COLD_MS = 5.0
COLD_RUNS = 3
"""The first run of a kernel that takes less is repeated so often where it would be taken as slow."""
_LEAST_MS = 1e-9
"""Times above 0 have logarithms."""


class Runnable(Protocol):
    """A kernel with its arguments."""

    def run_timed(self, threads: int = 1, repeats: int = 1, samples: int = 1) -> tuple[tuple[float, float], ...]:
        """For each sample the elapsed seconds of all repeats, and CPU seconds of the busiest thread; for several repeats those
        of the caller, which waits for the others within them."""
        ...


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort of a measurement: how long it may take."""

    min_s: float = 0.05
    """Least seconds of all samples together, unless the nest is surely slow or the noise is already small."""
    max_s: float = 2.0
    least_samples: int = 5
    sample_s: float = 1e-4
    """Short kernels are run several times per sample to last this long."""
    slow: float = 1.25
    """A nest is surely slow when its best wall and its best CPU time both exceed this times the best time given."""


DEFAULT_EFFORT = Effort()


@dataclass(frozen=True, slots=True)
class Timing:
    median_ms: float
    """Median time of all samples."""
    best_ms: float
    busy_ms: float
    """Least CPU time of the busiest thread, of repeated runs that of the caller and its waiting: what other processes hardly
    disturb."""
    samples: int
    repeats: int
    """Runs per sample."""
    is_early: bool
    """Stopped because it is surely slower than the best time given."""
    spread: float = 0.0
    """Distance between the quartiles of the samples, over the median."""


def time_call(call: Runnable, threads: int = 1, effort: Effort = DEFAULT_EFFORT, best_ms: float | None = None) -> Timing:
    """One run to warm up (caches, pages, threads), then samples; with `best_ms`, no more than needed to see that it is slower.

    Stops early after the warm-up run if that took four times the best, later by `Effort.slow`. The pages and caches of a short
    kernel may take many times its own time: it has further runs to show that.
    """
    warm_s, warm_busy_s = call.run_timed(threads)[0]
    limit_ms = best_ms * effort.slow if best_ms else float("inf")
    if 4 * limit_ms < warm_s * 1e3 < _COLD_MS:
        warm_s, warm_busy_s = map(min, zip(*(call.run_timed(threads)[0] for _ in range(COLD_RUNS)), strict=True))
    if min(warm_s, warm_busy_s) * 1e3 > 4 * limit_ms:
        return Timing(warm_s * 1e3, warm_s * 1e3, warm_busy_s * 1e3, 1, 1, is_early=True)
    repeats, turn = _plan(call, threads, warm_busy_s, effort)
    walls: list[float] = []
    busies: list[float] = []
    is_early = False
    while not is_early and not _is_enough(walls, busies, repeats, effort):
        for wall, busy in call.run_timed(threads, repeats, turn):
            walls.append(wall * 1e3 / repeats)
            busies.append(busy * 1e3 / repeats)
        is_early = len(walls) >= 3 and min(walls) > limit_ms and min(busies) > limit_ms
    return Timing(statistics.median(walls), min(walls), min(busies), len(walls), repeats, is_early, spread_of(walls))


def retime(
    calls: Sequence[Runnable], threads: int = 1, *, rounds: int = 11, effort: Effort = DEFAULT_EFFORT
) -> tuple[Timing, ...]:
    """Several kernels in turns, every other round in reverse order, so that a change of the machine meets all alike. The
    least CPU time of each turn counts, against those of the others in its round: short kernels have many samples in one turn, and
    other work slows whole rounds."""
    plans = [_plan(call, threads, call.run_timed(threads)[0][1], effort) for call in calls]
    walls: list[list[float]] = [[] for _ in calls]
    busies: list[list[float]] = [[] for _ in calls]
    for n in range(rounds):
        for k in range(len(calls))[:: 1 if n % 2 == 0 else -1]:
            repeats, turn = plans[k]
            samples = calls[k].run_timed(threads, repeats, turn)
            walls[k] += [wall * 1e3 / repeats for wall, _ in samples]
            busies[k].append(min(busy for _, busy in samples) * 1e3 / repeats)
    busies = _levelled(busies)
    return tuple(
        Timing(statistics.median(w), min(w), statistics.median(b), len(w), repeats, is_early=False, spread=spread_of(w))
        for w, b, (repeats, _) in zip(walls, busies, plans, strict=True)
    )


def _levelled(busies: Sequence[Sequence[float]]) -> list[list[float]]:
    """The times of each kernel by round, as they would be if all rounds were as fast as the middle one."""
    paces = [math.exp(statistics.fmean(math.log(max(b, _LEAST_MS)) for b in turns)) for turns in zip(*busies, strict=True)]
    middle = statistics.median(paces) if paces else 0.0
    return [[b * middle / pace for b, pace in zip(turns, paces, strict=True)] for turns in busies]


def spread_of(times: Sequence[float]) -> float:
    """Between the quartiles, over the median; 0 of one time."""
    if len(times) < 2:
        return 0.0
    first, middle, third = statistics.quantiles(times, n=4, method="inclusive")
    return (third - first) / middle if middle else 0.0


def _plan(call: Runnable, threads: int, warm_busy_s: float, effort: Effort) -> tuple[int, int]:
    """(runs per sample, samples per turn), by CPU time. The first run of a kernel is no measure of a short one."""
    once = warm_busy_s
    if once < 10 * effort.sample_s:
        once = min(busy for _, busy in call.run_timed(threads, 3, 3)) / 3
    repeats = max(1, min(100_000, round(effort.sample_s / max(once, 1e-9))))
    return repeats, max(1, min(_MOST_IN_TURN, int(_TURN_S / max(once * repeats, 1e-9))))


def _is_enough(walls: Sequence[float], busies: Sequence[float], repeats: int, effort: Effort) -> bool:
    """Enough samples, and either time is up or the better half of them lies within a hundredth."""
    spent_s = sum(walls) * repeats * 1e-3
    if len(walls) < effort.least_samples or spent_s >= effort.max_s or len(walls) >= _MOST_SAMPLES:
        return spent_s >= effort.max_s or len(walls) >= _MOST_SAMPLES
    ordered = sorted(walls)
    if len(walls) >= 2 * effort.least_samples and ordered[len(walls) // 2] <= ordered[0] * (1 + _CALM):
        return True
    near = sum(busy <= min(busies) * (1 + _CONFIRMED) for busy in busies)
    return spent_s >= effort.min_s and near >= _CONFIRMATIONS
