"""Global memory: arrays of the user and variables of the module, each at its own base, far apart enough to tell overruns."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNSIGNED: dict[int, np.dtype[np.unsignedinteger[Any]]] = {
    1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64),
}  # fmt: skip
"""Types by width in bytes."""
ALIGNMENT = 256
"""Alignment of every base, in bytes."""
GUARD = 1 << 20
"""At least so many bytes that belong to nobody lie after each region."""


class Views:
    """One buffer as words of 1, 2, 4 and 8 bytes."""

    __slots__ = ("by_width", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        storage = np.zeros((size + 15) // 16 * 2, np.uint64)
        self.by_width: dict[int, NDArray[Any]] = {width: storage.view(dtype) for width, dtype in UNSIGNED.items()}

    @property
    def bytes(self) -> NDArray[np.uint8]:
        return self.by_width[1]


@dataclass(slots=True, eq=False)
class Region:
    """One array or variable: addresses [base, base + size)."""

    name: str
    base: int
    size: int
    views: Views
    is_writable: bool = True
    is_const: bool = False
    is_watched: bool = True
    """True if races are looked for."""
    granule: int = 4
    """Bytes per mark."""
    marks: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    """Shadows of the race checks, made when first needed."""

    def granules(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """[..., marks each]: places of the marks that are kept of these words of 4 bytes."""
        each = 4 // self.granule
        return words[..., None] * each + np.arange(each)


class Regions:
    """All regions of one launch by address."""

    def __init__(self, start: int) -> None:
        self._next = start
        self.all: list[Region] = []
        self._bases: list[int] = []

    def add(
        self, name: str, size: int, *, is_writable: bool = True, is_const: bool = False, views: Views | None = None
    ) -> Region:
        """A new zeroed region of `size` bytes (or over `views`) after the last one."""
        region = Region(name, self._next, size, views or Views(size), is_writable, is_const, is_watched=is_writable)
        self.all.append(region)
        self._bases.append(region.base)
        self._next += (size + GUARD + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        return region

    def at(self, address: int) -> Region | None:
        """The region that holds the address."""
        position = bisect_right(self._bases, address) - 1
        if position < 0:
            return None
        region = self.all[position]
        return region if address < region.base + region.size else None

    def nearest(self, address: int) -> tuple[Region, int] | None:
        """The closest region and the distance in bytes: negative before its start, else from its end on."""
        best: tuple[Region, int] | None = None
        for region in self.all:
            distance = address - region.base
            if distance >= 0:
                distance = max(address - (region.base + region.size), 0)
            if best is None or abs(distance) < abs(best[1]):
                best = (region, distance)
        return best
