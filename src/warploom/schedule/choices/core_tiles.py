"""Tiles of results that the vector registers of a core hold while a sum runs."""

from __future__ import annotations

from warploom.schedule.targets import Target

_ROWS, _VECTORS = (2, 4, 6, 8, 12, 14, 16), (1, 2, 3, 4)
_TIGHT = 16


def fitting_tiles(target: Target, left: int, most: int) -> list[tuple[int, int]]:
    """Rows and vectors, at most so many totals, with the vectors and one number of a step; so many registers are left over."""
    room = target.registers - left
    return [(r, v) for r in _ROWS for v in _VECTORS if r * v <= most and r * v + v + 1 <= room]


def is_tight(target: Target) -> bool:
    """Tiles leave no registers for a second step of a sum, whose loads a compiler may begin before the first one ends: then it
    puts totals into memory. Where there are more (AVX-512), products also take a number for all lanes from memory."""
    return target.registers <= _TIGHT
