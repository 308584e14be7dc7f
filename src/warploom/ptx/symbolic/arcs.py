"""Arcs: runs of consecutive integers that hold a word's value modulo 2^width.

A word w lies in the arc (low, high) when some integer congruent to w lies between low and high, both included. Unlike a signed
or an unsigned interval, an arc may be shifted by any constant without losing anything.
"""

from __future__ import annotations

from typing import TypeAlias

Arc: TypeAlias = tuple[int, int]


def full(width: int) -> Arc:
    return 0, (1 << width) - 1


def is_full(arc: Arc, width: int) -> bool:
    return arc[1] - arc[0] >= (1 << width) - 1


def widened(low: int, high: int, width: int) -> Arc:
    """The arc from low to high, or the full one when it goes all the way round."""
    return (low, high) if high - low < (1 << width) - 1 else full(width)


def unsigned(arc: Arc, width: int) -> Arc:
    """Least and greatest value, read as unsigned."""
    size = 1 << width
    low = arc[0] % size
    high = low + arc[1] - arc[0]
    return (low, high) if high < size else (0, size - 1)


def signed_bounds(arc: Arc, width: int) -> Arc:
    """Least and greatest value, read as signed."""
    half = 1 << (width - 1)
    low = (arc[0] + half) % (2 * half) - half
    high = low + arc[1] - arc[0]
    return (low, high) if high < half else (-half, half - 1)


def intersection(first: Arc, second: Arc, width: int) -> Arc:
    """An arc that holds what both hold; where that is two runs, or nothing (the point is unreachable), the shorter argument."""
    size = 1 << width
    if second[1] - second[0] > first[1] - first[0]:
        first, second = second, first
    if is_full(first, width):
        return second
    low = second[0] + -(-(first[0] - second[1]) // size) * size
    pieces: list[Arc] = []
    while low <= first[1]:
        high = low + second[1] - second[0]
        pieces.append((max(low, first[0]), min(high, first[1])))
        low += size
    return pieces[0] if len(pieces) == 1 else second


def union(first: Arc, second: Arc, width: int) -> Arc:
    """A short arc that holds what either holds."""
    size = 1 << width
    best = full(width)
    for near, far in ((first, second), (second, first)):
        shift = -((far[0] - near[0]) // size) * size
        low, high = near[0], max(near[1], far[1] + shift)
        if high - low < best[1] - best[0]:
            best = low, high
    return best
