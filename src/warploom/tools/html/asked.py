"""Picture of one request of a warp: its lanes by the banks or the sectors that they ask."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.machines import WARP_LANES

_CELL, _LEFT, _TOP = 14, 30, 18


def asked_picture(cells: Iterable[tuple[int, int, int]], columns: int, name: str, worst: int | None = None) -> str:
    """SVG with a row for each lane and a column for each bank (sector), its `name`; `cells` are lane, column and word.

    Equal words have one colour; the column `worst` has a frame. Its classes are those of `asked.css`.
    """
    asked = {(lane, column): word for lane, column, word in cells}
    words = {word: n for n, word in enumerate(sorted(set(asked.values())))}
    width, height = _LEFT + columns * _CELL + 2, _TOP + WARP_LANES * _CELL + 2
    parts = [f'<text x="{_LEFT + (n + 0.5) * _CELL}" y="{_TOP / 2}">{n}</text>' for n in range(columns)]
    for lane in range(WARP_LANES):
        y = _TOP + lane * _CELL
        parts.append(f'<text x="{_LEFT / 2}" y="{y + _CELL / 2}">{lane}</text>')
        for column in range(columns):
            word = asked.get((lane, column))
            x, look = _LEFT + column * _CELL, 'class="empty"'
            told = ""
            if word is not None:
                look = f'class="asked" fill="hsl({words[word] * 360 // len(words)} 70% 62%)"'
                told = f"<title>lane {lane}, {name} {column}, word {word}</title>"
            parts.append(f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" {look}>{told}</rect>')
    if worst is not None:
        x = _LEFT + worst * _CELL
        parts.append(f'<rect class="worst" x="{x}" y="{_TOP}" width="{_CELL}" height="{WARP_LANES * _CELL}"/>')
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg class="banks" {size} role="img" aria-label="lanes by {name}s">{"".join(parts)}</svg>'
