"""Order between the accesses of different threads: barriers, and fences with strong reads (PTX ISA 8.8, without its finer
points).

In one block a barrier orders the threads that take part; `bar.arrive` orders only what came before it. Between any two threads, a
release orders what came before it (a fence; `.release`; what a barrier brought to the thread counts, too) before what follows an
acquire that came later (a strong read, then a fence or a barrier; `.acquire`), each in a scope that holds both threads. Which
value the strong read found is not asked.

A barrier of a cluster has two halves: what a thread did before it arrived is ordered before what others do after they waited.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.threads import Threads

_THREAD = np.uint64(32)
MAX_TIME = (1 << 18) - 2
BLOCK, CLUSTER, WIDE = 0, 1, 2
"""Scopes, each inside of the next: threads of one block, of one cluster, all."""
_FIRST = 1
_PHASES = 4
"""Phases of a cluster's barrier whose arrivals are remembered: a thread may be one ahead of another."""
_KEPT = 4
"""Releases that are remembered: what an older one published is taken as unordered."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """Threads of one block that arrived at a barrier and went on."""

    threads: Threads
    time: int
    seen: NDArray[np.int32]
    """By thread of the block: the time before which its accesses are ordered before the arrival of one of them."""


class Waiting(Protocol):
    """See `marks.WaitingReads`."""

    def settle(self, clock: Clock) -> None: ...
    def forget(self) -> None: ...


class Clock:
    """Times at which the threads of a batch last synchronised with each other."""

    def __init__(
        self, padded: int, first_block: int, blocks: int, block_of: Threads, fences: NDArray[np.int64], cluster: int = 1
    ) -> None:
        """padded: threads of a block with those that fill its last warp; fences: of all blocks of the launch; cluster: blocks of
        each cluster, which follow each other."""
        total = blocks * padded
        self.now = _FIRST
        self.padded = padded
        self.first_block = first_block
        self.blocks = blocks
        self.block_of = block_of
        self.fences = fences
        self.cluster = cluster
        self.cluster_arrived: NDArray[np.int32] | None = None
        """[phase, thread]: the time before which a thread's accesses are ordered before the arrival in that phase (modulo 4)."""
        self.cluster_phase: Threads = np.zeros(total if cluster > 1 else 0, np.int64)
        """By thread: phases of its cluster's barrier that it has waited for."""
        self.barrier: Threads = np.zeros(blocks, np.int64)
        """By block: later accesses are ordered after those before this time."""
        self.warp: Threads = np.zeros(total >> 5, np.int64)
        self.seen: NDArray[np.int32] | None = None
        """[thread, thread of its block]: the time before which the second one's accesses are ordered before what the first one
        does now, where only some threads met."""
        self.published: NDArray[np.int32] | None = None
        """[block, thread of it]: the time before which the thread's accesses are ordered before a release of the block."""
        self.has_read = False
        self.oldest = 0
        """The earliest of `barrier`."""
        self.newest = 0
        """The latest of `barrier`."""
        self.has_met_in_warps = False
        self.waiting: Waiting | None = None
        """Reads that are judged by the order of threads as it is now."""
        first = first_block * padded
        self.me: NDArray[np.uint64] = (np.arange(total, dtype=np.uint64) + np.uint64(first + 1)) << _THREAD

    # Made when they are first needed, which most kernels never do.

    @cached_property
    def released(self) -> Threads:
        """The last releases, by scope and thread."""
        return np.zeros((_KEPT, 3, len(self.block_of)), np.int64)

    @cached_property
    def by_warp(self) -> Threads:
        """Last releases by scope and warp: the time up to which a barrier had published everything of the warp, and that of the
        release."""
        return np.zeros((_KEPT, 3, 2, len(self.block_of) >> 5), np.int64)

    @cached_property
    def by_block(self) -> Threads:
        """The same by scope and block."""
        return np.zeros((_KEPT, 3, 2, self.blocks), np.int64)

    @cached_property
    def read(self) -> Threads:
        """By scope and thread: time of its last strong read."""
        return np.zeros((3, len(self.block_of)), np.int64)

    @cached_property
    def acquired(self) -> Threads:
        """By scope and thread: time of the last strong read that a fence, a barrier or the read itself took as acquired."""
        return np.zeros((3, len(self.block_of)), np.int64)

    @property
    def has_met_nothing(self) -> bool:
        """Whether no barrier, fence or strong read has been met in this batch: nothing is ordered then."""
        return self.now == _FIRST and not self.has_read

    @property
    def has_barriers_alone(self) -> bool:
        """Whether nothing but barriers of whole blocks orders threads of one block."""
        return self.seen is None and not self.has_read and not self.has_met_in_warps and self.cluster == 1

    def settle(self) -> None:
        if self.waiting is not None:
            self.waiting.settle(self)

    def tick(self) -> int:
        self.settle()
        self.now = min(self.now + 1, MAX_TIME)
        return self.now

    # barriers

    def block_barrier(self, complete: NDArray[np.bool_] | None) -> None:
        """A barrier of all threads of these blocks (None: all)."""
        if complete is None and self.waiting is not None:
            self.waiting.forget()
        now = self.tick()
        if self.has_read:
            latest = self.read.reshape(3, self.blocks, -1).max(axis=2, keepdims=True)
            acquired = self.acquired.reshape(3, self.blocks, -1)
            latest = np.maximum(latest, acquired.max(axis=2, keepdims=True))
            chosen = slice(None) if complete is None else complete
            acquired[:, chosen] = latest[:, chosen]
        if complete is None:
            self.barrier[:] = now
            self.oldest = self.newest = now
        else:
            self.barrier[complete] = now
            self.oldest, self.newest = int(self.barrier.min()), int(self.barrier.max())

    def warp_barrier(self, warps: Threads) -> None:
        """All threads of these warps that have not left."""
        now = self.tick()
        self.has_met_in_warps = True
        if self.has_read:
            acquired = self.acquired.reshape(3, -1, 32)
            latest = np.maximum(self.read.reshape(3, -1, 32)[:, warps], acquired[:, warps]).max(axis=2, keepdims=True)
            acquired[:, warps] = latest
        if self.seen is not None:
            for warp in np.unique(warps).tolist():
                self.meet(np.arange(int(warp) * 32, int(warp) * 32 + 32, dtype=np.int64))
        self.warp[warps] = now

    def meet(self, threads: Threads, arrivals: list[Arrival] | None = None) -> None:
        """Some threads of one block: what they and the arrivals did before is ordered before what these threads do now."""
        now = self.tick()
        seen = self._seen()
        row = seen[threads].max(axis=0)
        for arrival in arrivals or ():
            row = np.maximum(row, arrival.seen)
            places = arrival.threads % self.padded
            row[places] = np.maximum(row[places], arrival.time)
        row[threads % self.padded] = now
        seen[threads] = row
        latest = np.maximum(self.read[:, threads], self.acquired[:, threads]).max(axis=1, keepdims=True)
        self.acquired[:, threads] = latest

    def arrive(self, threads: Threads) -> Arrival:
        """Records the arrival of threads of one block."""
        row = self._seen()[threads].max(axis=0)
        return Arrival(threads, self.tick(), row)

    def _seen(self) -> NDArray[np.int32]:
        if self.seen is None:
            self.seen = np.zeros((len(self.block_of), self.padded), np.int32)
        return self.seen

    # fences and strong reads

    def release(self, threads: Threads, *, scope: int) -> None:
        """Publishes what these threads did, and what they know that others did."""
        now = self.tick()
        blocks, warps = self.block_of[threads], threads >> 5
        for inner in self._within(scope):
            _push(self.released[:, inner], threads, now)
            _push(self.by_warp[:, inner, 0], warps, np.maximum(self.warp[warps], self.barrier[blocks]))
            _push(self.by_warp[:, inner, 1], warps, now)
            _push(self.by_block[:, inner, 0], blocks, self.barrier[blocks])
            _push(self.by_block[:, inner, 1], blocks, now)
        if self.seen is not None:
            self._publish(threads, np.full(len(threads), now))
        if scope == WIDE:
            self.fences[blocks + self.first_block] = now

    def release_until(self, warps: Threads, times: Threads, *, scope: int) -> None:
        """Publishes what each of these warps did before its time."""
        self.settle()
        known = np.maximum(self.warp[warps], self.barrier[self.block_of[warps << 5]])
        for inner in self._within(scope):
            _push(self.by_warp[:, inner, 0], warps, np.maximum(known, times))
            _push(self.by_warp[:, inner, 1], warps, self.now)
        if self.seen is not None:
            self._publish((warps[:, None] * 32 + np.arange(32)).reshape(-1), np.repeat(times, 32))

    def acquire(self, threads: Threads, *, scope: int) -> None:
        """A fence after strong reads."""
        self.settle()
        for inner in self._within(scope):
            self.acquired[inner, threads] = np.maximum(self.acquired[inner, threads], self.read[inner, threads])

    def strong_read(self, threads: Threads, *, scope: int, acquires: bool) -> None:
        self.settle()
        self.has_read = True
        for inner in self._within(scope):
            self.read[inner, threads] = self.now
            if acquires:
                self.acquired[inner, threads] = self.now
        if acquires and self.seen is not None and self.published is not None:
            self.seen[threads] = np.maximum(self.seen[threads], self.published[self.block_of[threads]])

    def _publish(self, threads: Threads, times: Threads) -> None:
        """For acquires that follow: what these threads did before their times, and what barriers of some threads brought them."""
        assert self.seen is not None
        if self.published is None:
            self.published = np.zeros((self.blocks, self.padded), np.int32)
        for block in np.unique(self.block_of[threads]).tolist():
            inside = self.block_of[threads] == block
            mine, row = threads[inside], self.published[block]
            np.maximum(row, self.seen[mine].max(axis=0), out=row)
            np.maximum.at(row, mine % self.padded, times[inside].astype(np.int32))

    def _within(self, scope: int) -> Iterable[int]:
        """The scopes that a scope holds; without clusters that of the cluster is the block's, and nobody asks for it."""
        return range(scope + 1) if self.cluster > 1 else (BLOCK, WIDE) if scope == WIDE else (BLOCK,)

    # barriers of clusters

    def cluster_arrive(self, threads: Threads, phase: Threads, *, releases: bool) -> None:
        """Threads arrive in the phase of that number (each thread's count of arrivals before). A relaxed arrival publishes what
        the thread's last fence has."""
        if self.cluster_arrived is None:
            self.cluster_arrived = np.zeros((_PHASES, len(self.block_of)), np.int32)
        until = self.tick() if releases else self.released[0, CLUSTER, threads]
        self.cluster_arrived[(phase + 1) % _PHASES, threads] = until

    def cluster_wait(self, threads: Threads) -> None:
        """Threads have waited for the phase after the last one that they waited for."""
        self.tick()
        self.cluster_phase[threads] += 1

    # what is ordered

    def is_ordered(self, earlier: Threads, time: Threads, later: Threads) -> NDArray[np.bool_]:
        """Whether what threads did at a time is ordered before what others do now; `earlier` may lie in other batches."""
        block, mine = earlier // self.padded, self.block_of[later]
        same_block = block == mine
        same_warp = earlier >> 5 == later >> 5
        ordered = same_block & (time < self.barrier[mine])
        ordered |= same_warp & (time < self.warp[later >> 5])
        if self.seen is not None:
            ordered |= same_block & (time < self.seen[later, earlier % self.padded])
        same_cluster = same_block
        if self.cluster > 1:
            same_cluster = block // self.cluster == mine // self.cluster
            if self.cluster_arrived is not None:
                before = self.cluster_arrived[self.cluster_phase[later] % _PHASES, np.where(same_cluster, earlier, 0)]
                ordered |= same_cluster & (time < before)
        if not self.has_read or ordered.all():
            return ordered
        is_here = (block >= 0) & (block < self.blocks)
        there = np.where(is_here, earlier, 0)
        scope = np.where(same_block, BLOCK, np.where(same_cluster, CLUSTER, WIDE))
        acquired = self.acquired[scope, later]
        published = np.zeros(len(time), np.bool_)
        for kept in range(_KEPT):
            for before, at in (
                (self.released[kept, scope, there],) * 2,
                self.by_warp[kept, scope, :, there >> 5].T,
                self.by_block[kept, scope, :, there // self.padded].T,
            ):
                published |= is_here & (time < before) & (acquired >= at)
        published |= ~is_here & (time < self.fences[block + self.first_block]) & (acquired >= 1)
        return ordered | published


def _push(kept: Threads, places: Threads, value: Threads | int) -> None:
    """The newest first."""
    distinct, first = np.unique(places, return_index=True)
    kept[1:, distinct] = kept[:-1, distinct]
    kept[0, distinct] = value if isinstance(value, int) else value[first]
