"""The table of `everything.py` as a picture: how many times as fast as the fastest of the others ours is, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, ROW, TOP = 900, 320, 90, 18, 40
STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True)
class Row:
    """Our time of a case beside the fastest of the others: median, lower and upper quartile, in milliseconds."""

    case: str
    ours: tuple[float, float, float]
    name: str
    """The other one."""
    other: tuple[float, float, float]

    @property
    def ratio(self) -> tuple[float, float, float]:
        """The other's time over ours; the least and the largest that the quartiles allow."""
        (ours, low, high), (other, least, most) = self.ours, self.other
        return other / ours, least / high, most / low


def picture(rows: Sequence[Row], title: str) -> str:
    """SVG, ratios on a scale of powers of ten; nothing else is loaded."""
    ratios = [row.ratio for row in rows]
    low = min([0.5, *(least for _, least, _ in ratios)]) / 1.1
    high = max([2.0, *(most for _, _, most in ratios)]) * 1.1

    def x(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(ratio / low) / math.log(high / low)

    bottom = TOP + ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="#fff"/><text x="8" y="18" font-size="14">{escape(title)}</text>',
    ]
    for step in (step for step in STEPS if low <= step <= high):
        colour = "#57606a" if step == 1 else "#d0d7de"
        parts.append(f'<path d="M{x(step):.1f} {TOP - 8}V{bottom}" stroke="{colour}"/>')
        parts.append(f'<text x="{x(step):.1f}" y="{bottom + 16}" text-anchor="middle">{step:g}</text>')
    for number, (row, (ratio, least, most)) in enumerate(zip(rows, ratios, strict=True)):
        y, colour = TOP + ROW * number + 8, "#0969da" if ratio >= 1 else "#cf222e"
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(f"{row.case} ({row.name})")}</text>')
        parts.append(f'<path d="M{x(least):.1f} {y}H{x(most):.1f}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<circle cx="{x(ratio):.1f}" cy="{y}" r="3.5" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4}">{ratio:.2f}</text>')
    return "\n".join([*parts, "</svg>\n"])
