"""Arrays and variables of the read-back's C machine: bounds, undefined elements, races and uses of what is still being copied are
reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warploom.gpu.cvalues import NUMPY, Data, Trouble, Value, component_type, convert

Mask = NDArray[np.bool_]


def blank(kind: str, rows: int, columns: int) -> Data:
    """Zeros of shape [rows, columns], components last for a vector."""
    shape = (rows, columns) if kind in NUMPY else (rows, columns, int(kind[-1]))
    return np.zeros(shape, NUMPY[component_type(kind)])


@dataclass(slots=True)
class Memory:
    """`rows` copies of `elements` values: one row for global memory, one per block for shared, one per thread for registers."""

    name: str
    space: Literal["global", "shared", "local"]
    type: str
    extents: tuple[int, ...]
    data: Data
    row: NDArray[np.int64]
    """Row that each thread uses."""
    defined: Mask
    alignment: int = 0
    """Bytes at a multiple of which a shared array is declared to begin; 0: those of its type."""
    copier: NDArray[np.int64] = field(init=False)
    """Thread whose asynchronous copy writes each element; -1: none does."""
    copy_group: NDArray[np.int64] = field(init=False)
    """Number of that thread's group which the copy is in."""
    writer: NDArray[np.int64] = field(init=False)
    write_epoch: NDArray[np.int64] = field(init=False)
    reader: NDArray[np.int64] = field(init=False)
    read_epoch: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        shape = self.defined.shape
        self.copier, self.copy_group = np.full(shape, -1, np.int64), np.zeros(shape, np.int64)
        self.writer, self.reader = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
        self.write_epoch, self.read_epoch = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)

    def _place(self, index: Data, active: Mask, trouble: Trouble) -> tuple[Mask, NDArray[np.int64]]:
        elements = self.defined.shape[1]
        flat = index.astype(np.int64)
        outside = active & ((flat < 0) | (flat >= elements))
        if outside.any():
            where = int(flat[np.argmax(outside)])
            trouble("OUT_OF_BOUNDS", f"{self.name}[{where}] of {elements} elements", outside)
        return active & ~outside, np.where(active & ~outside, flat, 0)

    def read(self, index: Data, active: Mask, epoch: int, trouble: Trouble) -> Value:
        inside, flat = self._place(index, active, trouble)
        undefined = inside & ~self.defined[self.row, flat] if self.defined.size else inside
        if undefined.any():
            trouble("UNDEFINED_READ", f"{self.name}[{int(flat[np.argmax(undefined)])}] has no value yet", undefined)
        if self.space == "shared":
            self._note_read(flat, inside, epoch, trouble)
        if not self.defined.size:
            return Value(self.type, blank(self.type, len(active), 1)[:, 0])
        return Value(self.type, self.data[self.row, flat])

    def write(self, index: Data, value: Value, active: Mask, epoch: int, trouble: Trouble) -> tuple[Mask, NDArray[np.int64]]:
        """The threads that wrote, and their elements, as `_place` says."""
        inside, flat = self._place(index, active, trouble)
        if self.space != "local":
            self._note_write(flat, inside, epoch, trouble)
        rows, places = self.row[inside], flat[inside]
        self.data[rows, places] = convert(value, self.type).data[inside]
        self.defined[rows, places] = True
        return inside, flat

    def begin_copy(
        self, index: Data, value: Value, active: Mask, groups: NDArray[np.int64], epoch: int, trouble: Trouble
    ) -> None:
        """Stores as `write` does; until its thread has waited for its group nobody may use the element."""
        inside, flat = self.write(index, value, active, epoch, trouble)
        rows, places, threads = self.row[inside], flat[inside], np.flatnonzero(inside)
        self.copier[rows, places], self.copy_group[rows, places] = threads, groups[threads]

    def end_copies(self, below: NDArray[np.int64], epoch: int) -> None:
        """Threads have waited for their groups numbered below that: each of their copies is a store here."""
        ended = (self.copier >= 0) & (self.copy_group < below[self.copier])
        self.writer[ended], self.write_epoch[ended] = self.copier[ended], epoch
        self.copier[ended] = -1

    def _check_copies(self, flat: NDArray[np.int64], inside: Mask, trouble: Trouble) -> None:
        bad = inside & (self.copier[self.row, flat] >= 0) if self.copier.size else np.zeros_like(inside)
        if bad.any():
            where = f"{self.name}[{int(flat[np.argmax(bad)])}]"
            trouble("COPY_PENDING", f"{where} is used while a copy to it goes on", bad)

    def _note_write(self, flat: NDArray[np.int64], inside: Mask, epoch: int, trouble: Trouble) -> None:
        self._check_copies(flat, inside, trouble)
        rows, places, threads = self.row[inside], flat[inside], np.flatnonzero(inside)
        clash = (self.write_epoch[rows, places] == epoch) & (self.writer[rows, places] != threads)
        clash |= (self.read_epoch[rows, places] == epoch) & (self.reader[rows, places] != threads)
        self.writer[rows, places], self.write_epoch[rows, places] = threads, epoch
        clash |= self.writer[rows, places] != threads
        if clash.any():
            bad = np.zeros_like(inside)
            bad[threads[clash]] = True
            trouble("RACE", f"{self.name}[{int(places[np.argmax(clash)])}] is used by another thread since the last barrier", bad)

    def _note_read(self, flat: NDArray[np.int64], inside: Mask, epoch: int, trouble: Trouble) -> None:
        self._check_copies(flat, inside, trouble)
        rows, places, threads = self.row[inside], flat[inside], np.flatnonzero(inside)
        clash = (self.write_epoch[rows, places] == epoch) & (self.writer[rows, places] != threads)
        fresh = self.read_epoch[rows, places] != epoch
        before = np.where(fresh, threads, self.reader[rows, places])
        self.reader[rows, places], self.read_epoch[rows, places] = before, epoch
        shared = self.reader[rows, places] != threads
        self.reader[rows[shared], places[shared]] = -2
        if clash.any():
            bad = np.zeros_like(inside)
            bad[threads[clash]] = True
            trouble("RACE", f"{self.name}[{int(places[np.argmax(clash)])}] was written since the last barrier", bad)
