"""Wavefronts and best maps the slow way: lane by lane, word by word, and all maps of tiny tiles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

Lanes = list[list[tuple[int, int]]]
"""By lane the (row, column) that it takes; empty where it takes no part."""


def wavefronts(lanes: Lanes, place: Callable[[int, int], int], bits: int, banks: int = 32) -> int:
    """Wavefronts of one request. Lanes of 64 bits go by half warps, those of 128 bits by quarters, twice as many where pairs
    agree."""
    width = max(len(lane) for lane in lanes) * bits
    size = 32 * 32 // max(32, width)
    for pairs in ([(i, i + 1) for i in range(0, 32, 2)], [(i, i + 2) for i in range(32) if i % 4 < 2]):
        if width > 32 and all(lanes[a] == lanes[b] or not lanes[a] or not lanes[b] for a, b in pairs):
            size = 32 * 64 // width
    count = 0
    for start in range(0, len(lanes), size):
        words_of: dict[int, set[int]] = {}
        for lane in lanes[start : start + size]:
            for row, column in lane:
                first = place(row, column) * bits
                for bit in range(first, first + bits, min(bits, 32)):
                    words_of.setdefault(bit // 32 % banks, set()).add(bit // 32)
        count += max((len(words) for words in words_of.values()), default=0)
    return count


def kernels(bits: int, dimension: int) -> Iterable[frozenset[int]]:
    """All subspaces of F2^bits of that dimension, by trying all bases."""
    found: set[frozenset[int]] = set()
    for basis in itertools.combinations(range(1, 1 << bits), dimension):
        sums = {0}
        for vector in basis:
            sums |= {vector ^ s for s in sums}
        if len(sums) == 1 << dimension and (space := frozenset(sums)) not in found:
            found.add(space)
            yield space


def has_linear_map(groups: Sequence[Sequence[int]], bits: int, group_bits: int) -> bool:
    """Whether some linear map of addresses to 2^group_bits banks puts no two addresses of a group into one bank."""
    differences = {x ^ y for group in groups for x in group for y in group if x != y}
    return any(not differences & space for space in kernels(bits, bits - group_bits))
