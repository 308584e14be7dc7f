"""Marks of accesses: who touched a granule of memory last, by which instruction, and when (`warploom.ptx.simt.races`).

A mark is `(thread + 1) << 32 | site << 21 | narrow << 20 | many << 19 | strong << 18 | time`; `many` says that further threads
read since, `narrow` that the scope of a strong access is its own block or cluster.

Reads of shared memory wait with their marks: what was read before a barrier of all blocks of a batch is ordered before all that
follows, so that their marks say nothing any more. They are made where a store comes first, or anything else that orders threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.order_of_threads import Clock
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.threads import Threads

Marks = NDArray[np.uint64]

TIME = np.uint64((1 << 18) - 1)
STRONG = np.uint64(1 << 18)
MANY = np.uint64(1 << 19)
NARROW = np.uint64(1 << 20)
SITE_SHIFT = np.uint64(21)
SITES = 1 << 11
THREAD = np.uint64(32)
ZERO = np.uint64(0)
MOST_WAITING = 64
"""Reads of the threads of a batch that wait: each has some 100 KB."""


def new_marks(region: Region) -> Marks:
    return np.zeros((region.views.bytes.size + region.granule - 1) // region.granule, np.uint64)


def are_own(marks: Marks, me: Marks) -> bool:
    """Whether each mark is the thread's own and says of no other thread that it has read the granule."""
    different = int(np.bitwise_or.reduce(marks ^ me, axis=None))
    return not different >> int(THREAD) and not different & int(MANY)


def concurrent(marks: Marks, threads: Threads, clock: Clock, *, in_block: bool) -> NDArray[np.bool_]:
    """Whether nothing orders the marked accesses before the threads' present ones. in_block: those of a thread's block only."""
    if clock.has_met_nothing:
        return np.ones(np.broadcast_shapes(marks.shape, threads.shape), np.bool_)
    if in_block and clock.has_barriers_alone:
        is_even = clock.oldest == clock.newest
        return (marks & TIME) >= (np.uint64(clock.oldest) if is_even else clock.barrier[clock.block_of[threads]].view(np.uint64))
    time = (marks & TIME).astype(np.int64)
    thread = (marks >> THREAD).astype(np.int64) - 1 - clock.first_block * clock.padded
    return ~clock.is_ordered(thread, time, threads)


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """One granule of each thread that an instruction reads."""

    granules: NDArray[np.int64]
    threads: Threads
    me: Marks
    """The threads' part of a mark."""
    rest: np.uint64
    """The other part: instruction, scope, time."""

    def mark(self, region: Region, clock: Clock, *, in_block: bool) -> None:
        """Marks the granules as read, from what the clock says now."""
        reads, granules, me = region.marks["read"], self.granules, self.me
        mine = me | self.rest
        old = reads.take(granules)
        if old.any() and not are_own(old, me):
            others = (old != ZERO) & ((old ^ me) >> THREAD != ZERO)
            if others.any():
                others &= concurrent(old, self.threads, clock, in_block=in_block)
                mine = np.where(others, mine | MANY, mine)
            many = (old & MANY) & ~mine
            if many.any():  # own rereads do not hide who else has read the word
                is_own = old >> THREAD == me >> THREAD
                mine = np.where(is_own & concurrent(old, self.threads, clock, in_block=in_block), mine | many, mine)
        reads[granules] = mine
        lost = reads.take(granules) != mine  # a thread comes once, so that another's mark is there
        if lost.any():
            reads[granules[lost]] |= MANY


@dataclass(slots=True, eq=False)
class WaitingReads:
    """Reads of a batch's shared memory whose marks wait; each only of its own block."""

    region: Region
    _reads: list[Read] = field(default_factory=list[Read])

    def add(self, read: Read, clock: Clock) -> None:
        self._reads.append(read)
        if len(self._reads) >= MOST_WAITING:
            self.settle(clock)

    def settle(self, clock: Clock) -> None:
        """Makes the marks, before anything that could make others of them."""
        if self._reads:
            reads, self._reads = self._reads, []
            for read in reads:
                read.mark(self.region, clock, in_block=True)

    def forget(self) -> None:
        """All threads have met."""
        self._reads.clear()
