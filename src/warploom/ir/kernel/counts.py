"""Cost of an execution: events counted per warp request, as the hardware would issue them (`machines.banks`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Span


@dataclass(slots=True)
class Counts:
    """Totals over the grid, except `executed`."""

    accumulates: int = 0
    """Accumulates executed by all threads whose guard held."""
    executed: int = 0
    """Accumulates executed by the thread that executed most."""
    global_load_sectors: int = 0
    """32-byte sectors touched per warp request, summed; arrays start at multiples of 256 bytes, row-major."""
    global_store_sectors: int = 0
    shared_wavefronts: int = 0
    """Per warp request: most distinct 4-byte words in one of 32 banks; 8-byte elements go by half warps, 16-byte by quarters."""
    shuffles: int = 0
    """Warp-level instructions: one per 4 bytes of the value and warp with an active lane."""
    syncs: int = 0
    """Barriers, once per block that passes."""
    arithmetic: int = 0
    """Data operations of all threads, accumulates included, index arithmetic not."""
    float_operations: int = 0
    """Operations on floats that warps issue, a product that is summed one with its sum. This and what follows is counted where
    waits are noted."""
    integer_operations: int = 0
    """The same on integers."""
    selects: int = 0
    """Choices of warps between two values, or among registers by their lanes: as few as a tree of choices takes."""
    global_requests: int = 0
    """Accesses of warps to global memory, a vector one of them."""
    repeated_sectors: int = 0
    """Sectors loaded, among those counted above, that a warp of the same block has loaded before: the nearest cache has them."""

    @property
    def global_sectors(self) -> int:
        return self.global_load_sectors + self.global_store_sectors


AccessUnit: TypeAlias = Literal["sectors", "wavefronts", "registers"]
"""Sectors of global memory, wavefronts of shared memory, and the different registers that the lanes of a warp take from."""


@dataclass(slots=True)
class AccessCounts:
    """One place in a kernel that reads or stores an array, over the grid."""

    array: str
    what: str
    """`load` or `store`."""
    span: Span
    unit: AccessUnit
    units: int = 0
    least: int = 0
    """Units that the same elements need wherever they lie."""


def by_warps(values: NDArray[Any], warp_size: int, fill: Any) -> NDArray[Any]:
    """[rows, threads] -> [rows * warps, warp_size]; `fill` where the last warp has no threads."""
    rows, threads = values.shape
    missing = -threads % warp_size
    if missing:
        values = np.concatenate([values, np.full((rows, missing), fill, values.dtype)], axis=1)
    return values.reshape(-1, warp_size)
