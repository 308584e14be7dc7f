"""Values of threads: arrays with one element for each thread of a group, and the same as rows of 32 lanes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = NDArray[Any]
"""Raw bits (unsigned) or a predicate (bool): shape [threads of the group], or no dimension when uniform."""
Registers: TypeAlias = "list[Value | None]"
"""Values by slot; None where nothing was written or the value is dead."""
Threads: TypeAlias = NDArray[np.int64]


class WarpLayout:
    """Threads of a group as [warps, 32]: one row per warp that has a thread in the group."""

    __slots__ = ("active", "count", "is_dense", "positions", "warps")

    def __init__(self, threads: Threads) -> None:
        warp = threads >> 5
        self.is_dense: bool = len(threads) % 32 == 0 and bool((warp[::32] == warp[31::32]).all()) if len(threads) else False
        """True if all 32 lanes of every warp are here."""
        if self.is_dense:
            self.warps: Threads = warp[::32]
            """Index of each row's warp in the batch."""
            self.count = len(self.warps)
            self.positions: Threads = np.arange(len(threads), dtype=np.int64)
            """Row * 32 + lane of every thread."""
            self.active: NDArray[np.bool_] = np.ones((self.count, 32), np.bool_)
            return
        starts = np.empty(len(threads), np.bool_)
        starts[:1] = True
        np.not_equal(warp[1:], warp[:-1], out=starts[1:])
        self.warps = warp[starts]
        self.count = len(self.warps)
        self.positions = (np.cumsum(starts) - 1) * 32 + (threads & 31)
        self.active = np.zeros((self.count, 32), np.bool_)
        self.active.reshape(-1)[self.positions] = True

    def rows(self, value: Value) -> Value:
        """A register as [warps, 32]; zero at lanes that are not here; no dimension stays none."""
        if value.ndim == 0:
            return value
        if self.is_dense:
            return value.reshape(self.count, 32)
        whole = np.zeros(self.count * 32, value.dtype)
        whole[self.positions] = value
        return whole.reshape(self.count, 32)

    def full_rows(self, value: Value) -> Value:
        """Like `rows`, uniform values repeated."""
        return np.full((self.count, 32), value, value.dtype) if value.ndim == 0 else self.rows(value)

    def lanes(self, rows: Value) -> Value:
        """[warps, 32] back to a register; [warps] to one value for all lanes of a warp."""
        if rows.ndim == 1:
            return rows[self.positions >> 5]
        return np.ascontiguousarray(rows).reshape(-1) if self.is_dense else rows.reshape(-1)[self.positions]
