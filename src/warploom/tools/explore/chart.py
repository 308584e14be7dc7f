"""A small picture of a search: the times that were measured, the best so far, and the bound, over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warploom.solve import Event

_WIDTH, _HEIGHT = 860, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 12, 28
_MOST_POINTS = 1500


def chart(events: Sequence[Event]) -> str:
    """SVG of one search's events (`explore` first), empty where nothing was measured. Times go up in powers of ten."""
    began = events[0].time if events else 0.0
    bound = _number(events[0], "bound_ms") if events else None
    tried: list[tuple[float, float]] = []
    best: list[tuple[float, float]] = []
    for event in events:
        time_ms = _number(event, "time_ms")
        if time_ms is None or time_ms <= 0:
            continue
        at = event.time - began
        if event.kind == "measured":
            tried.append((at, time_ms))
        if event.kind in ("measured", "better") and (not best or time_ms < best[-1][1]):
            best.append((at, time_ms))
    if not best:
        return ""
    end = max(events[-1].time - began, 1e-3)
    low = min(best[-1][1], bound or best[-1][1]) / 1.2
    high = max(t for _, t in best + tried) * 1.2

    def x(at: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * at / end

    def y(ms: float) -> float:
        share = math.log(max(ms, low) / low) / math.log(high / low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="best time and bound over time">',
        *(
            f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g} ms</text>'
            for v in _ticks(low, high)
        ),
        *(f'<circle class="tried" cx="{x(a):.1f}" cy="{y(t):.1f}" r="1.6"/>' for a, t in _thinned(tried)),
    ]
    path = f"M{x(best[0][0]):.1f} {y(best[0][1]):.1f}"
    path += "".join(f"H{x(a):.1f}V{y(t):.1f}" for a, t in best[1:]) + f"H{x(end):.1f}"
    parts.append(f'<path class="best" d="{path}"/>')
    last = f"{best[-1][1]:.4g} ms"
    parts.append(f'<text x="{x(end):.1f}" y="{y(best[-1][1]) - 5:.1f}" text-anchor="end">best {last}</text>')
    if bound:
        parts.append(f'<path class="floor" d="M{_LEFT} {y(bound):.1f}H{x(end):.1f}"/>')
        parts.append(f'<text x="{_LEFT + 6}" y="{y(bound) - 5:.1f}">bound of the space, {bound:.4g} ms</text>')
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 8}">0 s</text>')
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 8}" text-anchor="end">{end:.0f} s</text></svg>')
    return "".join(parts)


def _number(event: Event, name: str) -> float | None:
    value = event.fields.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ticks(low: float, high: float) -> list[float]:
    """Round values of 1, 2 and 5 times a power of ten, few enough to read."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1.0,) if last - first > 3 else (1.0, 2.0, 5.0)
    values = [round(step * 10.0**n, 12) for n in range(first, last + 1) for step in steps]
    return [v for v in values if low <= v <= high]


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    return points[:: max(1, -(-len(points) // _MOST_POINTS))]
