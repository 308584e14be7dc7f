"""A group: threads of one batch that stand at the same program point with the same call stack and run together.

A group owns its registers: slot -> one value per thread, in the order of `threads`, or a zero-dimensional value that all of them
share. Groups split where threads part and merge where they meet again; registers that are dead there are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from warploom.ptx.simt.code import Context

Value: TypeAlias = NDArray[Any]
"""Raw bits (unsigned) or a predicate (bool): shape [threads of the group], or no dimension when uniform."""
Registers: TypeAlias = "list[Value | None]"
"""Values by slot; None where nothing was written or the value is dead."""
Threads: TypeAlias = NDArray[np.int64]


class Group:
    """Threads that run together; `frames` holds the registers of callers, outermost first."""

    __slots__ = ("_layout", "_warps", "context", "frames", "has_passed", "registers", "size", "threads")

    def __init__(self, threads: Threads, context: Context, registers: Registers, frames: tuple[Registers, ...] = ()) -> None:
        self.context = context
        self.threads = threads
        """Indices in the batch, ascending; thread t is lane t % 32 of warp t // 32."""
        self.size = len(threads)
        self.registers = registers
        self.frames = frames
        self._warps = -1
        self._layout: WarpLayout | None = None
        self.has_passed = False
        """Whether the gate before the next segment let it through already."""

    @property
    def warps(self) -> int:
        """Number of warps that have a thread here."""
        if self._warps < 0:
            warp = self.threads >> 5
            self._warps = 1 + int(np.count_nonzero(warp[1:] != warp[:-1])) if self.size else 0
        return self._warps

    @property
    def layout(self) -> WarpLayout:
        """The threads as rows of 32 lanes."""
        if self._layout is None:
            self._layout = WarpLayout(self.threads)
        return self._layout

    def part(self, chosen: NDArray[np.int64], live: Iterable[int] | None = None) -> Group:
        """The threads at positions `chosen` (ascending), with the registers `live` (None: all that have a value)."""
        registers = _chosen(self.registers, chosen, self.context.code.template, live)
        frames = tuple(_chosen(frame, chosen, frame, None) for frame in self.frames)
        return Group(self.threads[chosen], self.context, registers, frames)


class WarpLayout:
    """Threads of a group as [warps, 32]: one row per warp that has a thread in the group."""

    __slots__ = ("active", "count", "is_dense", "positions", "warps")

    def __init__(self, threads: Threads) -> None:
        warp = threads >> 5
        self.is_dense: bool = len(threads) % 32 == 0 and bool((warp[::32] == warp[31::32]).all()) if len(threads) else False
        """Whether all 32 lanes of every warp are here."""
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


def _chosen(registers: Registers, chosen: NDArray[np.int64], constants: Registers, live: Iterable[int] | None) -> Registers:
    if live is None:
        return [v if v is None or v.ndim == 0 else v[chosen] for v in registers]
    taken = list(constants)
    for slot in live:
        value = registers[slot]
        taken[slot] = value if value is None or value.ndim == 0 else value[chosen]
    return taken


def merged(groups: list[Group], live: Iterable[int] | None = None) -> Group:
    """One group of the threads of all; where only some have written a register, it is zero for the others."""
    if len(groups) == 1:
        return groups[0]
    threads = np.concatenate([g.threads for g in groups])
    order = np.argsort(threads, kind="stable")
    sizes = [g.size for g in groups]
    registers = _joined([g.registers for g in groups], sizes, order, groups[0].context.code.template, live)
    frames = tuple(
        _joined([g.frames[depth] for g in groups], sizes, order, groups[0].frames[depth], None)
        for depth in range(len(groups[0].frames))
    )  # fmt: skip
    return Group(threads[order], groups[0].context, registers, frames)


def _joined(
    all_registers: list[Registers], sizes: list[int], order: Threads, constants: Registers, live: Iterable[int] | None
) -> Registers:
    joined = list(constants)
    for slot in range(min(map(len, all_registers))) if live is None else live:
        values = [registers[slot] for registers in all_registers]
        joined[slot] = _joined_value(values, sizes, order)
    return joined


def _joined_value(values: list[Value | None], sizes: list[int], order: Threads) -> Value | None:
    first = values[0]
    if all(v is first for v in values):
        if first is None or first.ndim == 0:
            return first
    elif all(v is not None and v.ndim == 0 and v == first for v in values):
        return first
    known = next(v for v in values if v is not None)
    parts = [
        np.full(size, 0 if v is None else v, known.dtype) if v is None or v.ndim == 0 else v
        for v, size in zip(values, sizes, strict=True)
    ]
    return np.concatenate(parts)[order]
