"""Tensor memory of blocks: 128 lanes of 512 columns of 32 bits, allocated by columns (PTX ISA 9.7.16.1).

An address has the lane in its upper half and the column in its lower one. A warp of a warpgroup reaches a quarter of the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.core import Span
from warploom.ptx.simt.code import Code, Group, RunningBlocks
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Integer

LANES, COLUMNS = 128, 512
LEAST = 32
"""Columns of the smallest allocation; others are powers of two."""


@dataclass(frozen=True, slots=True)
class Flight:
    """A product that nobody has waited for."""

    number: int
    thread: int
    block: int
    cells: NDArray[np.bool_]
    """[lane, column]: what it writes, or of `reads` what it reads."""
    span: Span
    reads: bool = False


@dataclass(frozen=True, slots=True)
class Allocation:
    first: int
    count: int
    code: Code
    instruction: int
    thread: int


class TensorMemory:
    """The tensor memory of all blocks of a batch."""

    def __init__(self) -> None:
        self._cells: dict[int, NDArray[np.uint32]] = {}
        self.allocations: dict[int, list[Allocation]] = {}
        self.flights: list[Flight] = []
        self._commits: list[tuple[int, int, int, int]] = []
        """Thread, number of its last product, place and parity of the mbarrier that tells of it."""
        self._started = 0
        self.touched: dict[tuple[int, int], tuple[int, int, Span]] = {}
        """By block and warp: a thread that loaded or stored last, when, and by which instruction."""

    def cells(self, block: int) -> NDArray[np.uint32]:
        """[lane, column]."""
        if block not in self._cells:
            self._cells[block] = np.zeros((LANES, COLUMNS), np.uint32)
        return self._cells[block]

    def allocate(self, block: int, count: int, code: Code, instruction: int, thread: int) -> int | None:
        """The first column; None where no room is left."""
        taken = self.allocations.setdefault(block, [])
        for first in range(0, COLUMNS - count + 1, LEAST):
            if all(first + count <= one.first or one.first + one.count <= first for one in taken):
                taken.append(Allocation(first, count, code, instruction, thread))
                return first
        return None

    def free(self, block: int, first: int, count: int) -> bool:
        """Whether there was such an allocation."""
        taken = self.allocations.get(block, [])
        for one in taken:
            if (one.first, one.count) == (first, count):
                taken.remove(one)
                return True
        return False

    def holds(self, block: int, first: int, count: int) -> bool:
        """Whether the columns are allocated."""
        columns = np.zeros(COLUMNS + 1, np.bool_)
        for one in self.allocations.get(block, []):
            columns[one.first : one.first + one.count] = True
        return first >= 0 and first + count <= COLUMNS and bool(columns[first : first + count].all())

    def started(self, thread: int, block: int, lanes: NDArray[np.int64], columns: tuple[int, int], span: Span) -> int:
        """The number of a product (or copy) into these lanes, from the first of two columns up to the second."""
        self._started += 1
        self.flights.append(Flight(self._started, thread, block, _marked(lanes, columns), span))
        return self._started

    def reading(
        self, number: int, thread: int, block: int, lanes: NDArray[np.int64], columns: tuple[int, int], span: Span
    ) -> None:
        """The product of that number reads these cells."""
        self.flights.append(Flight(number, thread, block, _marked(lanes, columns), span, reads=True))

    def committed(self, thread: int, place: int, parity: int) -> None:
        """The mbarrier at `place` tells, in its phase of this parity, when all products of the thread so far are there."""
        last = max((f.number for f in self.flights if f.thread == thread), default=0)
        if last:
            self._commits.append((thread, last, place, parity))

    def arrived(self, place: int, parity: int) -> dict[int, int]:
        """A wait for that phase has passed: by thread, the last product that is there, as all earlier ones are."""
        until: dict[int, int] = {}
        for thread, number, *phase in self._commits:
            if phase == [place, parity]:
                until[thread] = max(number, until.get(thread, 0))
        if not until:
            return until
        self._commits = [c for c in self._commits if c[1] > until.get(c[0], 0)]
        self.flights = [f for f in self.flights if f.number > until.get(f.thread, 0)]
        return until

    def under_way(self, block: int, lanes: NDArray[np.int64], columns: NDArray[np.int64], *, stores: bool) -> Flight | None:
        """A product into these cells that may not be there yet; for one who stores there also a product that still reads them."""
        for flight in self.flights:
            if flight.block == block and (stores or not flight.reads) and flight.cells[lanes, columns].any():
                return flight
        return None

    def check_freed(self, running: RunningBlocks) -> None:
        """Fault where blocks ended without freeing what they allocated."""
        for taken in self.allocations.values():
            for one in taken:
                message = f"{one.count} columns of tensor memory that nobody frees before the block ends"
                raise running.fault("bad_call", message, one.code, one.instruction, one.thread)


def check_columns(site: Site, block: int, column: int, count: int, thread: int, running: RunningBlocks) -> None:
    """Fault for columns that the block has not allocated."""
    if not running.tensor_memory.holds(block, column, count):
        message = f"columns {column} to {column + count - 1} of tensor memory, which the block has not all allocated"
        raise running.fault("out_of_bounds", message, site.code, site.index, thread)


def tensor_address(site: Site, address: Address) -> Callable[[Group], Value]:
    """The address of each thread, u32."""
    slot = site.sized(address.base, "b32") if not isinstance(address.base, Integer) else -1
    offset = np.uint32((address.offset + (address.base.value if isinstance(address.base, Integer) else 0)) & 0xFFFFFFFF)
    constant: Value = np.array(offset, np.uint32)
    return lambda group: constant if slot < 0 else value_of(group.registers, slot) + constant


def _marked(lanes: NDArray[np.int64], columns: tuple[int, int]) -> NDArray[np.bool_]:
    cells = np.zeros((LANES, COLUMNS), np.bool_)
    cells[lanes, columns[0] : columns[1]] = True
    return cells


def fragment(shape: str, number: int, split: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """[32, registers]: lane (from the first that is named) and column of each register of each thread; None for another shape.

    split: of 16x32bx2, the columns between its halves.
    """
    thread, one = np.arange(32)[:, None], np.arange(number)[None, :]
    match shape:
        case "32x32b":
            return np.broadcast_arrays(thread, one)[0], np.broadcast_arrays(thread, one)[1]
        case "16x64b":
            rows, columns = 8 * (thread % 2) + thread // 4, thread // 2 % 2 + 2 * one
        case "16x128b":
            one = np.arange(2 * number)[None, :]
            rows, columns = thread // 4 + 8 * (one % 2), thread % 4 + 4 * (one // 2)
        case "16x256b":
            one = np.arange(4 * number)[None, :]
            rows, columns = thread // 4 + 8 * (one // 2 % 2), 2 * (thread % 4) + one % 2 + 8 * (one // 4)
        case "16x32bx2":
            rows, columns = thread % 16, one + split * (thread // 16)
        case _:
            return None
    rows, columns = np.broadcast_arrays(rows, columns)
    return rows, columns
