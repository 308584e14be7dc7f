"""Tile sizes to choose from: the paper's divisors, and lists per machine that need not divide.

Source: Beaugnon et al., section 5.2 (factors that divide, cut by a maximum per level).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from warploom.machines import MatrixInstruction

Levels: TypeAlias = tuple[tuple[int, ...], ...]
"""Sizes that each tile level may take, ascending, outer to inner."""

MOST_DIVISORS = 16
"""Most divisors of a size that are kept, the smallest."""

MOST_SIZES = 64
"""Values that one choice of a size may have."""

SHORT = 8
"""Axes up to this size get no tiles from the default policies: the whole of one can be unrolled."""

SHORT_ROW = 256
"""Rows below that may be shared out by fewer threads than a warp has."""
LONG_ROW = 1 << 14
"""Rows from that on may be shared out by all threads that a block can have, so that their registers hold it."""


@dataclass(frozen=True, slots=True)
class AxisUse:
    """Use of an axis by a kernel: all that a policy needs to propose tiles."""

    kernel: str
    name: str
    size: int
    is_reduced: bool
    """Some instruction reduces over it."""
    is_stored: bool
    """A store runs over it."""
    is_contiguous: bool
    """Neighbours along it are neighbours in memory, in some load or store."""
    is_streamed: bool = False
    """And in all loads and stores that move along it: vectors along it need no gathers."""
    is_shared: bool = True
    """Some load does not depend on it: what it reads is used again along the axis."""
    matrix: MatrixInstruction | None = None
    """The instruction by which whole warps may make a sum of products that runs over it."""
    is_stored_in_line: bool = False
    """Neighbours along it are neighbours in memory where results are stored."""
    is_close: bool = False
    """And neighbours, or not far apart, in all loads that move along it."""


TilePolicy: TypeAlias = Callable[[AxisUse], Levels]
TileTable: TypeAlias = Mapping[str, Sequence[Sequence[int]]]
"""By the name of an axis, or `kernel.axis` for one kernel of a program. Axes left out have no tiles."""
Tiles: TypeAlias = TileTable | TilePolicy


def divisors(size: int, most: int = MOST_DIVISORS) -> tuple[int, ...]:
    """The `most` smallest divisors of `size` above 1, ascending."""
    lower = [d for d in range(1, math.isqrt(size) + 1) if size % d == 0]
    upper = [size // d for d in reversed(lower) if d * d != size]
    return tuple(d for d in lower + upper if d > 1)[:most]


def tilings(size: int, levels: int, maxima: Sequence[int], *, divisors_only: bool = True, least: int = 2) -> Levels:
    """Tile sizes of `levels` levels of an axis of `size` iterations, none above its level's maximum.

    The paper's are the smallest divisors from 2 on. Otherwise powers of two, and three times them, from `least` on; the first
    that exceeds the size is kept, so that one tile can hold the whole axis. A level without any size is left out.
    """
    if len(maxima) != levels:
        raise ValueError(f"expected {levels} maxima, got {len(maxima)}")
    if divisors_only:
        found = [tuple(d for d in divisors(size) if least <= d <= most) for most in maxima]
    else:
        found = [rounded(size, range(least, most + 1)) for most in maxima]
    return tuple(level for level in found if level)


def rounded(size: int, wanted: Sequence[int]) -> tuple[int, ...]:
    """The numbers of `wanted` that are powers of two or three times one, up to the first power of two that covers `size`."""
    enough = 1 << max(0, (size - 1).bit_length())
    return tuple(n for n in sorted(wanted) if n <= enough and (_is_power(n) or (n % 3 == 0 and _is_power(n // 3))))


def _is_power(n: int) -> bool:
    return n & (n - 1) == 0


def paper_tiles(maxima: Mapping[str, Sequence[int]]) -> TilePolicy:
    """The paper's: for each named axis the divisors of its size, one maximum per level."""

    def policy(use: AxisUse) -> Levels:
        return tilings(use.size, len(maxima.get(use.name, ())), maxima.get(use.name, ()))

    return policy


def no_tiles(use: AxisUse) -> Levels:
    """Every axis is one loop."""
    del use
    return ()


def cuda_tiles(use: AxisUse) -> Levels:
    """Stored axes: threads of a block, then registers of a thread; where loads share lines and are used again along the axis,
    registers apart, threads, then a vector. Reduced ones: a slice to stage, then an unrolled part."""
    if use.size <= SHORT:
        return ()
    if use.is_stored and use.is_reduced and (use.size < SHORT_ROW or not use.is_contiguous):
        return _fitting(use.size, (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 4))
    if use.is_stored and use.is_reduced:
        return _fitting(use.size, (32, 64, 128, 256, 512, 1024), (1, 2, 4))
    if use.is_reduced and use.is_streamed and use.size >= LONG_ROW:
        return _fitting(use.size, (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), (1, 2, 4))
    if use.is_stored and use.is_contiguous and use.is_shared:
        return _fitting(use.size, (1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 4))
    if use.is_stored:
        return _fitting(use.size, (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 4, 8, 16))
    return _fitting(use.size, (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 4))


def matrix_tiles(matrices: Collection[str]) -> TilePolicy:
    """Like `cuda_tiles`; sums of products of factors of these types in the shape of `machines.matrices`: along the rows of a
    result eight threads, along its columns four of two results each, outside them registers of a thread and warps; summed are
    pieces of 16 bytes."""

    def policy(use: AxisUse) -> Levels:
        on = use.matrix
        if on is None or on.factor not in matrices or use.size < max(16, on.deep if use.is_reduced else 0):
            return cuda_tiles(use)
        if not use.is_stored:
            return _fitting(use.size, (2, 4, 8), (on.piece,))
        if use.is_stored_in_line:
            return _fitting(use.size, (1, 2, 4, 8), (2, 4, 8, 16), (8,))
        return _fitting(use.size, (1, 2, 4), (1, 2, 4, 8), (4,), (2,))

    return policy


def cpu_tiles(use: AxisUse) -> Levels:
    """A tile for the caches where loads are shared along the axis, one of registers, and the lanes of a vector where vectors need
    no gathers; none has to divide."""
    if use.size <= SHORT:
        return ()
    if use.is_streamed and use.is_shared and use.is_stored:
        return _fitting(use.size, (1, 4, 8, 16, 32, 64), (1, 2, 3, 4, 6, 8, 12, 16, 24), _lanes_or_rows(use.size))
    if use.is_shared and use.is_stored_in_line and not use.is_reduced:
        return _fitting(use.size, (1, 4, 8, 16, 32, 64), (1, 2, 3, 4), _lanes_or_rows(use.size))
    if use.is_streamed:
        return _fitting(use.size, (1, 2, 4, 8, 16, 32) if use.is_reduced else (1, 2, 4, 8), (4, 8, 16))
    if use.is_reduced:
        return _fitting(use.size, (1, 2, 4, 8, 16, 32, 64, 128, 256, 512))
    if use.is_close and not use.is_shared:
        return _fitting(use.size, (1, 2, 4, 8), (4, 8, 16))
    if use.is_shared:
        return _fitting(use.size, (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 6, 8, 12, 14, 16))
    return _fitting(use.size, (1, 2, 4, 8))


def _lanes_or_rows(size: int) -> tuple[int, ...]:
    """Sizes of vectors; where 8 leaves a remainder, also what leaves none in registers, if vectors lie along another axis."""
    return tuple(sorted({4, 8, 16, *(n for n in (5, 6, 7) if size % n == 0 and size % 8)}))


def _fitting(size: int, *levels: tuple[int, ...]) -> Levels:
    """The levels without sizes above that of the axis; a level that would only hold 1 is left out."""
    found: list[tuple[int, ...]] = []
    for level in levels:
        kept = tuple(n for n in level if n <= size)
        if kept and kept != (1,):
            found.append(kept)
    return tuple(found)
