"""Explanation of a bound: its parts as a tree with amounts and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.schedule.bound.facts import BLOCKS, CONCURRENT, THREADS, WAVES
from warploom.schedule.bound.problem import BY_MACHINE, LEVELS, NO_LIMIT, RESOURCES, Problem, TargetFigures
from warploom.schedule.bound.total import DRAM, LATENCY, LOOPS, Scratch

_NAMES = {
    "issue": "instructions to issue",
    "alu": "arithmetic",
    "sync": "barriers",
    "memory": "memory accesses",
    "stores": "stores",
    "l1_lines": "lines into the first cache",
    "l2_lines_read": "lines read from the second cache",
    "l2_lines_stored": "lines stored to the second cache",
}
_SHOWN = 0.1
"""Parts below this share of the bound are left out."""
_MOST_PARTS = 4
_MOST_CONTRIBUTIONS = 3


@dataclass(frozen=True, slots=True)
class Explanation:
    """A part of a bound; `parts` are the largest first."""

    what: str
    time_ms: float
    parts: tuple[Explanation, ...] = ()

    @property
    def text(self) -> str:
        """One line per part, indented."""
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> list[str]:
        lines = [f"{'  ' * depth}{time_text(self.time_ms)}  {self.what}"]
        for part in self.parts:
            lines += part._lines(depth + 1)
        return lines


def time_text(time_ms: float) -> str:
    """Three digits, in the unit that fits."""
    if time_ms >= 1.0 or time_ms <= 0.0:
        return f"{time_ms:.3g} ms"
    return f"{time_ms * 1e3:.3g} µs" if time_ms >= 1e-3 else f"{time_ms * 1e6:.3g} ns"


def explanation(
    time_ms: float,
    problem: Problem,
    figures: TargetFigures,
    scratch: Scratch,
    names: Sequence[str],
    loops: Sequence[str],
    *,
    has_blocks: bool = True,
) -> Explanation:
    """Explanation of the evaluation that `scratch` holds. `names` of the instructions, `loops` of the dims. Without blocks of
    threads (CPU) there are shares that threads take."""
    parts = [part for level in range(3) for part in _resources(level, figures, scratch, names)]
    moved = scratch.others[DRAM] * figures.bandwidth
    parts.append(
        Explanation(f"memory traffic: {moved:.4g} bytes at {figures.bandwidth:.4g} per ns", float(scratch.others[DRAM]) / 1e6)
    )
    parts.append(Explanation("iterations of sequential loops, one after another", float(scratch.others[LOOPS]) / 1e6))
    parts.append(_latency(problem, scratch, loops))
    parts.append(Explanation("launch", figures.launch / 1e6))
    kept = _largest(parts, _SHOWN * time_ms)
    grid = scratch.grid
    if has_blocks:
        shape = f"at least {grid[BLOCKS]:.6g} blocks of {grid[THREADS]:.6g} threads, at most {grid[CONCURRENT]:.6g} at once: "
        shape += f"{grid[WAVES]:.6g} waves"
    else:
        shape = f"at least {grid[BLOCKS]:.6g} shares, at most {grid[CONCURRENT]:.6g} threads: {grid[WAVES]:.6g} shares each"
    binding = kept[0].what.partition(":")[0] if kept else "nothing"
    return Explanation(f"bound by {binding} ({shape})", time_ms, tuple(kept))


def _largest(parts: list[Explanation], least_ms: float) -> list[Explanation]:
    """For each kind of part, the level that takes longest; the longest kind first."""
    found: dict[str, Explanation] = {}
    for part in sorted(parts, key=lambda p: -p.time_ms):
        if part.time_ms > least_ms:
            found.setdefault(part.what.partition(" of ")[0], part)
    return list(found.values())[:_MOST_PARTS]


def _resources(level: int, figures: TargetFigures, scratch: Scratch, names: Sequence[str]) -> list[Explanation]:
    found: list[Explanation] = []
    for resource, name in enumerate(RESOURCES):
        rate, time = float(figures.rates[level, resource]), float(scratch.totals[level, resource])
        if rate >= NO_LIMIT or time <= 0.0:
            continue
        parts = [Explanation(names[i], float(scratch.usage[i, level, resource]) / rate / 1e6) for i in range(len(names))]
        parts.append(Explanation("loop control", float(scratch.loops[level, resource]) / rate / 1e6))
        shown = sorted((p for p in parts if p.time_ms > _SHOWN * time / 1e6), key=lambda p: -p.time_ms)
        where = {BY_MACHINE: "machine"}.get(level, f"one {LEVELS[level]}")
        what = f"{_NAMES[name]} of the {where}: {time * rate:.4g} at {rate:.4g} per ns"
        found.append(Explanation(what, time / 1e6, tuple(shown[:_MOST_CONTRIBUTIONS])))
    return found


def _latency(problem: Problem, scratch: Scratch, loops: Sequence[str]) -> Explanation:
    waves = float(scratch.grid[WAVES])
    last = next((n for n in range(len(scratch.times)) if scratch.times[n] * waves == scratch.others[LATENCY]), 0)
    parts = [
        Explanation(f"loop {loops[int(scratch.found[n])]}", float(scratch.times[n]) * waves / 1e6)
        for n in range(min(last, len(problem.dim_statement)))
        if scratch.times[n] > 0.0
    ]
    parts.sort(key=lambda p: -p.time_ms)
    return Explanation(
        "latency of what waits for its result", float(scratch.others[LATENCY]) / 1e6, tuple(parts[:_MOST_CONTRIBUTIONS])
    )
