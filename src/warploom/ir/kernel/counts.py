"""Cost of an execution: events counted per warp request, as the hardware would issue them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SECTOR_BYTES = 32
BANKS = 32
WORD_BYTES = 4


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

    @property
    def global_sectors(self) -> int:
        return self.global_load_sectors + self.global_store_sectors


def by_warps(values: NDArray[Any], warp_size: int, fill: Any) -> NDArray[Any]:
    """[rows, threads] -> [rows * warps, warp_size]; `fill` where the last warp has no threads."""
    rows, threads = values.shape
    missing = -threads % warp_size
    if missing:
        values = np.concatenate([values, np.full((rows, missing), fill, values.dtype)], axis=1)
    return values.reshape(-1, warp_size)


def count_sectors(addresses: NDArray[np.int64], active: NDArray[np.bool_]) -> int:
    """Distinct sectors per row; byte addresses [requests, lanes] of elements at most a sector large and aligned to their size."""
    sectors = np.where(active, addresses // SECTOR_BYTES, -1)
    if (np.diff(sectors, axis=1) < 0).any():
        sectors = np.sort(sectors, axis=1)
    changes = np.count_nonzero(np.diff(sectors, axis=1))
    return int(changes + sectors.shape[0] - np.count_nonzero((sectors < 0).any(axis=1)))


def count_wavefronts(addresses: NDArray[np.int64], active: NDArray[np.bool_], size_bytes: int) -> int:
    """Shared-memory wavefronts of the requests; addresses in bytes [requests, lanes], of elements of `size_bytes`."""
    if size_bytes > 16:  # issued as requests of 16 bytes
        return sum(count_wavefronts(addresses + part, active, 16) for part in range(0, size_bytes, 16))
    words_each = max(1, size_bytes // WORD_BYTES)
    lanes = addresses.shape[1]
    groups = words_each if lanes % words_each == 0 else 1
    first = (addresses // WORD_BYTES).reshape(-1, lanes // groups)
    here = active.reshape(-1, lanes // groups)
    words = np.where(here[..., None], first[..., None] + np.arange(words_each), -1).reshape(first.shape[0], -1)
    words = np.sort(words, axis=1)
    is_new = words >= 0
    is_new[:, 1:] &= words[:, 1:] != words[:, :-1]
    rows, columns = np.nonzero(is_new)
    in_bank = np.bincount(rows * BANKS + words[rows, columns] % BANKS, minlength=words.shape[0] * BANKS)
    return int(in_bank.reshape(-1, BANKS).max(axis=1).sum()) if words.size else 0
