"""Clusters of blocks: addresses in the shared memory of another block, and the barrier of all (PTX ISA 4.2, 9.7.9.23, 9.7.13.3).

Blocks of a cluster follow each other in the order in which blocks run, so they are always in one batch. That a block which has
ended has no shared memory any more is looked at where another one accesses it; that it ends too early for an access that came
before by chance is found as a race is: nothing orders the access before the exit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.code import Access, End, Group, Positions, RunningBlocks, Step, Wait
from warploom.ptx.simt.findings import Finding
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.threads import Threads, Value
from warploom.ptx.simt.windows import CLUSTER_GENERIC, CLUSTER_SHARED, SHARED_WINDOW, SHARED_WINDOW_BYTES

MAX_CLUSTER = 16
"""Blocks of a cluster; more than 8 are not portable."""
BARRIER = -1
"""The number under which those wait who wait for the barrier of a cluster."""
_BITS = 24
assert 1 << _BITS == SHARED_WINDOW_BYTES
_OFFSET = np.uint64(SHARED_WINDOW_BYTES - 1)


class ClusterBarriers:
    """The barrier of every cluster of a batch."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._counts: NDArray[np.int64] | None = None
        """[arrivals, waits] by thread."""
        self.touched: dict[int, tuple[int, int, Access]] = {}
        """By block of the batch: a thread of another block that has accessed its shared memory last, when, and the access."""

    def _counted(self, what: int) -> Threads:
        if self._counts is None:
            self._counts = np.zeros((2, self._threads), np.int64)
        return self._counts[what]

    @property
    def arrivals(self) -> Threads:
        """By thread: how often it has arrived."""
        return self._counted(0)

    @property
    def waited(self) -> Threads:
        """By thread: how often it has come to a wait."""
        return self._counted(1)

    def ready(self, group: Group, running: RunningBlocks) -> NDArray[np.bool_]:
        """Whether all threads of the cluster that have not left have arrived, for each thread that waits."""
        size = running.launch.cluster_blocks * running.padded_threads
        least = np.where(running.alive, self.arrivals, np.iinfo(np.int64).max).reshape(-1, size).min(axis=1)
        return least[group.threads // size] >= self.waited[group.threads]

    def release(self, running: RunningBlocks) -> bool:
        """Lets go on who waits and need not any more; whether there were any."""
        waits = running.barriers.waits.pop(BARRIER, [])
        left: list[Wait] = []
        for wait in waits:
            ready = self.ready(wait.group, running)
            if ready.any():
                chosen = wait.group if ready.all() else wait.group.part(np.flatnonzero(ready))
                running.clock.cluster_wait(chosen.threads)
                running.push(chosen, wait.following)
            if not ready.all():
                if ready.any():
                    wait.group = wait.group.part(np.flatnonzero(~ready))
                left.append(wait)
        if left:
            running.barriers.waits[BARRIER] = left
        return sum(w.group.size for w in left) < sum(w.group.size for w in waits) or len(left) < len(waits)


def decode_cluster_barrier(site: Site, following: int) -> End:
    """barrier.cluster.arrive and .wait."""
    match [m for m in site.instruction.modifiers if m not in ("cluster", "aligned")]:
        case ["arrive", *rest] if set(rest) <= {"release", "relaxed"}:
            return _arrive(site, following, releases="relaxed" not in rest)
        case ["wait", *rest] if set(rest) <= {"acquire"}:
            return _wait(site, following)
        case _:
            raise site.unsupported(site.instruction.name)


def _arrive(site: Site, following: int, *, releases: bool) -> End:
    code, index = site.code, site.index

    def arrive(group: Group, running: RunningBlocks) -> int:
        barriers = running.clusters
        threads = group.threads
        twice = barriers.arrivals[threads] > barriers.waited[threads]
        if twice.any():
            thread = int(threads[np.argmax(twice)])
            message = "a second arrival at the barrier of the cluster without a wait between"
            raise running.fault("bad_call", message, code, index, thread)
        if running.is_watching and running.launch.cluster_blocks > 1:
            running.clock.cluster_arrive(threads, barriers.arrivals[threads], releases=releases)
        elif running.is_watching and releases:
            running.fence(group)
        barriers.arrivals[threads] += 1
        return following

    return arrive


def _wait(site: Site, following: int) -> End:
    code, index = site.code, site.index

    def wait(group: Group, running: RunningBlocks) -> int:
        barriers = running.clusters
        threads = group.threads
        never = barriers.waited[threads] >= barriers.arrivals[threads]
        if never.any():
            message = "a wait for the barrier of the cluster without an arrival before"
            raise running.fault("bad_call", message, code, index, int(threads[np.argmax(never)]))
        barriers.waited[threads] += 1
        waiting = Wait(group, following, 0, code, index, is_aligned=False)
        running.barriers.waits.setdefault(BARRIER, []).append(waiting)
        return -1

    return wait


def reached(
    access: Access, group: Group, running: RunningBlocks, address: Value, chosen: Positions | None
) -> tuple[Value, Threads]:
    """Offset in shared memory and the block of the batch, for addresses in the window of the cluster or below it. Fault for a
    block that the cluster does not have, or that has ended."""
    far = address >= np.uint64(CLUSTER_SHARED)
    threads = group.threads if chosen is None else group.threads[chosen]
    own = running.block_of[threads]
    cluster = running.launch.cluster_blocks
    ranks = ((address - np.uint64(CLUSTER_SHARED)) >> np.uint64(_BITS)).astype(np.int64)
    blocks = np.where(far, own // cluster * cluster + ranks, own)
    is_bad = np.broadcast_to(far & (ranks >= cluster), len(threads))
    if is_bad.any():
        position = int(np.argmax(is_bad))
        rank = int(np.broadcast_to(ranks, len(threads))[position])
        message = f"an access to shared memory of the block of rank {rank} in a cluster of {cluster}"
        raise running.fault("out_of_bounds", message, access.code, access.instruction, int(threads[position]))
    blocks = np.broadcast_to(blocks, len(threads))
    remote = np.flatnonzero(blocks != own)
    if len(remote):
        _note(access, blocks[remote], threads[remote], running)
    return np.where(far, address & _OFFSET, address), blocks


def _note(access: Access, blocks: Threads, threads: Threads, running: RunningBlocks) -> None:
    """Fault for blocks that have ended; else remembers the access until they end."""
    lives: NDArray[np.bool_] = np.logical_or.reduce(running.alive.reshape(running.blocks, -1), axis=1)[blocks]
    if not lives.all():
        position = int(np.argmin(lives))
        message = f"{_WHO} which has ended: no barrier of the cluster keeps it"
        raise running.fault("out_of_bounds", message, access.code, access.instruction, int(threads[position]))
    if running.is_watching:
        distinct, first = np.unique(blocks, return_index=True)
        for block, position in zip(distinct.tolist(), first.tolist(), strict=True):
            running.clusters.touched[block] = int(threads[position]), running.clock.now, access


_WHO = "an access to shared memory of another block of the cluster,"


def check_exit(group: Group, running: RunningBlocks) -> None:
    """Reports accesses to the shared memory of blocks that end here which nothing orders before the end."""
    touched = running.clusters.touched
    if not touched:
        return
    for block in np.unique(running.block_of[group.threads]).tolist():
        if block not in touched:
            continue
        thread, time, access = touched[block]
        last = group.threads[running.block_of[group.threads] == block]
        if running.clock.is_ordered(np.full(len(last), thread), np.full(len(last), time), last).any():
            del touched[block]
            continue
        if running.alive.reshape(running.blocks, -1)[block].any():
            continue
        del touched[block]
        place, inside = running.coordinates(thread)
        ended, _ = running.coordinates(int(last[0]))
        message = f"{_WHO} {','.join(map(str, ended))}, which may have ended before: no barrier of the cluster lies between"
        span = access.code.routine.span(access.instruction)
        running.launch.findings.add(Finding("shared_race", message, span, place, inside))


def _mapa(site: Site) -> Step:
    """mapa: the address of the same place in another block's shared memory."""
    modifiers = site.instruction.modifiers
    is_window = "shared::cluster" in modifiers
    type_name = modifiers[-1] if modifiers else ""
    if type_name not in ("u32", "u64") or len(modifiers) != 1 + is_window:
        raise site.unsupported(site.instruction.name)
    target = site.register(site.instruction.operands[0], type_name)
    source = site.sized(site.instruction.operands[1], type_name)
    rank = site.sized(site.instruction.operands[2], "b32")
    start = CLUSTER_SHARED if is_window else CLUSTER_GENERIC
    code, index = site.code, site.index

    def find(group: Group, running: RunningBlocks) -> None:
        ranks = value_of(group.registers, rank)
        address = value_of(group.registers, source).astype(np.uint64)
        bad = np.broadcast_to(ranks >= running.launch.cluster_blocks, group.size)
        if bad.any():
            position = int(np.argmax(bad))
            number = int(np.broadcast_to(ranks, group.size)[position])
            message = f"the block of rank {number} in a cluster of {running.launch.cluster_blocks}"
            raise running.fault("bad_call", message, code, index, int(group.threads[position]))
        whole = np.uint64(start) + (ranks.astype(np.uint64) << np.uint64(_BITS)) + (address & _OFFSET)
        group.registers[target] = whole.astype(value_of(group.registers, source).dtype)

    return find


def _getctarank(site: Site) -> Step:
    """getctarank: the rank of the block in whose shared memory an address lies."""
    modifiers = site.instruction.modifiers
    is_window = "shared::cluster" in modifiers
    type_name = modifiers[-1] if modifiers else ""
    if type_name not in ("u32", "u64") or len(modifiers) != 1 + is_window:
        raise site.unsupported(site.instruction.name)
    target = site.register(site.instruction.operands[0], "b32")
    source = site.sized(site.instruction.operands[1], type_name)
    start = np.uint64(CLUSTER_SHARED if is_window else CLUSTER_GENERIC)

    def find(group: Group, running: RunningBlocks) -> None:
        address = value_of(group.registers, source).astype(np.uint64)
        own = running.block_of[group.threads] % running.launch.cluster_blocks
        ranks = (address - start) >> np.uint64(_BITS)
        group.registers[target] = np.where(address >= start, ranks, own.astype(np.uint64)).astype(np.uint32)

    return find


def in_generic_window(address: Value) -> NDArray[np.bool_]:
    """Whether generic addresses lie in shared memory of the own block, or of a block that `mapa` named."""
    size = np.uint64(SHARED_WINDOW_BYTES)
    own = (address - np.uint64(SHARED_WINDOW)) < size
    return own | ((address - np.uint64(CLUSTER_GENERIC)) < size * np.uint64(MAX_CLUSTER))


DECODERS: dict[str, Callable[[Site], Step]] = {"mapa": _mapa, "getctarank": _getctarank}
