"""Shared memory that asynchronous copies and products read: each read lasts from its issue to the wait that covers it.

The interpreter reads when the instruction is issued; a store into what is still being read is a race whoever stores, the
issuing thread too, and whatever barriers lie between. A wait that covers the read ends it (PTX ISA 9.7.9.25.3, 9.7.15.7,
9.7.16.6):
  bulk copies to global memory   cp.async.bulk.wait_group(.read) of the thread
  copies between blocks          a wait for the phase of their mbarrier
  wgmma                          wgmma.wait_group of the warp
  tcgen05.mma                    a wait for the phase of the mbarrier that a tcgen05.commit named
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.code import Access, RunningBlocks
from warploom.ptx.simt.findings import STILL_READ
from warploom.ptx.simt.threads import Threads

Reader: TypeAlias = Literal["bulk", "wgmma", "mbarrier", "tcgen05"]
"""The kind of wait that ends a read."""
_LESS_TIME = np.uint64(0xFFFFFFFFFFFC0000)
_THREAD = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    kind: Reader
    thread: int
    """The issuing thread; the first lane of the warp for wgmma."""
    number: int
    """The group of the thread (bulk, wgmma), or the product (tcgen05)."""
    words: NDArray[np.int64]
    """Distinct words of 4 bytes in the shared memory of the batch."""
    access: Access
    phase: tuple[int, int]
    """Place of the mbarrier and parity of its phase."""


class Readers:
    """Reads of shared memory that nobody has waited for, in one batch."""

    def __init__(self, threads: int) -> None:
        self.flights: list[_Reading] = []
        self._threads = threads

    @cached_property
    def _committed(self) -> dict[str, Threads]:
        return {kind: np.zeros(self._threads, np.int64) for kind in ("bulk", "wgmma")}

    def started(
        self, kind: Reader, thread: int, words: NDArray[np.int64], access: Access, running: RunningBlocks, *, number: int = -1,
        phase: tuple[int, int] = (-1, 0),
    ) -> None:  # fmt: skip
        """`number`: of a product in tensor memory; groups of threads are counted here."""
        if kind in self._committed:
            number = int(self._committed[kind][thread])
        region = running.shared
        reading = region.marks.get("reading")
        if reading is None:
            reading = region.marks["reading"] = np.zeros(region.views.bytes.size // region.granule + 1, np.uint64)
        reading[region.granules(words)] += np.uint64(1)
        self.flights.append(_Reading(kind, thread, number, words, access, phase))

    def committed(self, kind: Reader, threads: Threads) -> None:
        """These threads begin a new group."""
        self._committed[kind][threads] += 1

    def waited(self, kind: Reader, threads: Threads, left: int, running: RunningBlocks) -> None:
        """All but the newest `left` groups of these threads have been read."""
        if not self.flights:
            return
        limit = np.zeros(len(running.block_of), np.int64)
        limit[threads] = self._committed[kind][threads] - left
        done = self._take(lambda f: f.kind == kind and f.number < limit[f.thread], running)
        if kind == "bulk" and done:
            self._read_until_now(done, running)

    def finished(self, thread: int, number: int, running: RunningBlocks) -> None:
        """The products of a thread up to this number are in tensor memory."""
        self._take(lambda f: f.kind == "tcgen05" and f.thread == thread and f.number <= number, running)

    def arrived(self, place: int, parity: int, running: RunningBlocks) -> None:
        """A wait for that phase of the mbarrier at `place` has passed."""
        self._take(lambda f: f.kind == "mbarrier" and f.phase == (place, parity), running)

    def _take(self, is_done: Callable[[_Reading], bool], running: RunningBlocks) -> list[_Reading]:
        done = [flight for flight in self.flights if is_done(flight)]
        if done:
            self.flights = [flight for flight in self.flights if not is_done(flight)]
            reading = running.shared.marks["reading"]
            for flight in done:
                reading[running.shared.granules(flight.words)] -= np.uint64(1)
        return done

    def _read_until_now(self, done: list[_Reading], running: RunningBlocks) -> None:
        """Who stores there next must be ordered after the wait, not only after the issue."""
        region = running.shared
        reads, now = region.marks["read"], np.uint64(running.clock.tick())
        for flight in done:
            granules = region.granules(flight.words).reshape(-1)
            mine = granules[reads[granules] >> _THREAD == running.clock.me[flight.thread] >> _THREAD]
            reads[mine] = (reads[mine] & _LESS_TIME) | now

    def check_write(self, access: Access, granules: NDArray[np.int64], threads: Threads, running: RunningBlocks) -> None:
        """Reports a store into what is being read."""
        region = running.shared
        reading = region.marks.get("reading")
        if reading is None or not reading[granules].any():
            return
        hit = np.broadcast_to(reading[granules] != 0, len(threads))
        positions = np.flatnonzero(hit)
        first = int(positions[0])
        granule = int(np.broadcast_to(granules, len(threads))[first])
        word, address = granule * region.granule // 4, granule * region.granule % running.launch.shared_stride
        flight = next(f for f in self.flights if (f.words == word).any())
        code = flight.access.code
        name = code.routine.instructions[flight.access.instruction].name
        message = f"write of shared memory at byte {address}, {STILL_READ} by {name}: no wait for its end has passed"
        running.report(
            "shared_race", message, access.code, access.instruction, int(threads[first]), address=address, count=len(positions),
            others=(("the read", code.routine.span(flight.access.instruction)),),
        )  # fmt: skip
