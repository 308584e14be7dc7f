"""Last accesses of each word: finds races and reads of shared memory that nobody wrote.

Every watched region has two shadows with one mark per granule (4 bytes; 1 byte once something narrower was accessed): the last
write and the last read (`warploom.ptx.simt.marks`). Time is counted per batch and grows with every barrier and fence.

Two accesses of different threads race when one writes, not both are strong (volatile, ordered or atomic) in a scope that holds
both threads, and nothing orders them (`warploom.ptx.simt.order_of_threads`). Equal values that lanes of one warp store by one
instruction are not reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.code import Access, Group, Piece, RunningBlocks
from warploom.ptx.simt.findings import BETWEEN_BLOCKS, Kind
from warploom.ptx.simt.marks import (
    MANY,
    NARROW,
    SITE_SHIFT,
    SITES,
    STRONG,
    THREAD,
    TIME,
    ZERO,
    Marks,
    Read,
    are_own,
    concurrent,
    new_marks,
)
from warploom.ptx.simt.order_of_threads import CLUSTER, MAX_TIME, Clock
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.threads import Threads, Value


@dataclass(frozen=True, slots=True, eq=False)
class _Met:
    """Conflicting pairs: positions in the piece, the other's mark, the granule."""

    positions: NDArray[np.int64]
    marks: Marks
    granules: NDArray[np.int64]


def note_read(access: Access, pieces: list[Piece], group: Group, running: RunningBlocks) -> None:
    """Reports races with earlier writes and unwritten shared words, then marks the words as read."""
    for chosen, region, index in pieces:
        if not region.is_watched:
            continue
        if access.is_cached and region.marks.keys().isdisjoint(("write", "discarded")):
            continue
        threads = group.threads if chosen is None else group.threads[chosen]
        me = running.clock.me[threads] if len(threads) != running.total else running.clock.me
        for granules in _granules(access, region, index, running.clock):
            _read(access, region, granules, threads, me, running)
        if access.is_strong:
            running.clock.strong_read(threads, scope=access.scope, acquires=access.acquires)


def _read(
    access: Access, region: Region, granules: NDArray[np.int64], threads: Threads, me: Marks, running: RunningBlocks
) -> None:
    _check_kept(access, region, granules, threads, running)
    writes = region.marks.get("write")
    is_shared = region is running.shared
    if writes is None and is_shared:
        writes = region.marks["write"] = new_marks(region)
    if writes is not None:
        last = writes.take(granules)
        if is_shared:
            if not last.all():
                _report_unwritten(access, last, granules, region, threads, running)
            pending = region.marks.get("pending")
            if pending is not None and running.copies.flights and pending[granules].any():
                _report_pending(access, pending[granules], granules, region, threads, running)
        met = _conflicts(access, region, last, granules, threads, me, running, is_write=False)
        if met is not None:
            _report(access, "write", region, met, threads, running)
    if access.is_cached:
        return
    reads = region.marks.get("read")
    if reads is None:
        reads = region.marks["read"] = new_marks(region)
    if granules.ndim == 0:
        granules = np.broadcast_to(granules, len(threads))
    read = Read(granules, threads, me, access.mark | np.uint64(running.clock.now))
    if running.waiting is not None and is_shared and not access.is_strong:
        running.waiting.add(read, running.clock)
        return
    if is_shared:
        running.clock.settle()
    read.mark(region, running.clock, in_block=is_shared and running.launch.cluster_blocks == 1)


def note_write(access: Access, pieces: list[Piece], values: list[Value] | None, group: Group, running: RunningBlocks) -> None:
    """Reports races of a store of `values` by element (None: an atomic) with earlier accesses, and marks the words. Called
    before the store."""
    for chosen, region, index in pieces:
        if not region.is_watched:
            continue
        threads = group.threads if chosen is None else group.threads[chosen]
        me = running.clock.me[threads] if len(threads) != running.total else running.clock.me
        rows = _granules(access, region, index, running.clock)
        per_element = len(rows) // access.elements
        for number, granules in enumerate(rows):
            value = None if values is None else values[number // per_element]
            if value is not None and chosen is not None and value.ndim:
                value = value[chosen]
            _write(access, region, granules, value, threads, me, running)
        if access.is_atomic:
            running.clock.strong_read(threads, scope=access.scope, acquires=access.acquires)


def _write(
    access: Access, region: Region, granules: NDArray[np.int64], value: Value | None, threads: Threads, me: Marks,
    running: RunningBlocks,
) -> None:  # fmt: skip
    if value is None:
        _check_kept(access, region, granules, threads, running)
    if region is running.shared:
        running.clock.settle()
        if running.readers.flights:
            running.readers.check_write(access, granules, threads, running)
        if (generic := region.marks.get("generic")) is not None:
            generic[granules] = not access.is_asynchronous
    if (gone := region.marks.get("discarded")) is not None:
        gone[granules] = ZERO
    writes = region.marks.get("write")
    if writes is None:
        writes = region.marks["write"] = new_marks(region)
    for name in ("write", "read"):
        marks = region.marks.get(name)
        if marks is None:
            continue
        met = _conflicts(access, region, marks.take(granules), granules, threads, me, running, is_write=True)
        if met is not None:
            _report(access, name, region, met, threads, running)
    mine = me | (access.mark | np.uint64(running.clock.now))
    if granules.ndim == 0:
        granules = np.broadcast_to(granules, len(threads))
    writes[granules] = mine
    if (access.is_strong and not access.is_narrow) or (value is None and not access.is_strong):
        return
    lost = writes.take(granules) != mine
    if lost.any():
        positions = np.flatnonzero(lost)
        winner = (writes[granules[positions]] >> THREAD).astype(np.int64) - 1 - running.first_block * running.padded_threads
        if access.is_strong or value is None:
            reach = running.padded_threads * (running.launch.cluster_blocks if access.scope == CLUSTER else 1)
            found = positions[winner // reach != threads[positions] // reach]
            if len(found):
                _report(access, "write", region, _Met(found, writes[granules[found]], granules[found]), threads, running)
            return
        place = np.searchsorted(threads, winner)
        whole = np.broadcast_to(value, len(threads))
        bits = _bits(whole, access.width)
        differ = bits[positions] != bits[place]
        if is_let := not running.launch.equal_stores_race and region is running.shared:
            differ |= running.block_of[threads[positions]] != running.block_of[winner]
        else:
            differ |= threads[positions] >> 5 != winner >> 5
        if running.launch.counter is not None and not is_let:
            running.launch.counter.equal_stores(access, int(np.count_nonzero(~differ)))
        if differ.any():
            found = positions[differ]
            _report(access, "write", region, _Met(found, writes[granules[found]], granules[found]), threads, running)


def note_discard(access: Access, pieces: list[Piece], running: RunningBlocks) -> None:
    """Marks bytes that nobody may read before the next store. Called after their `note_write`."""
    for _, region, index in pieces:
        if "discarded" not in region.marks:
            region.marks["discarded"] = new_marks(region)
        for granules in _granules(access, region, index, running.clock):
            region.marks["discarded"][granules] = np.uint64(1)


def _check_kept(access: Access, region: Region, granules: NDArray[np.int64], threads: Threads, running: RunningBlocks) -> None:
    """Reports reads of what a `discard` left undefined."""
    gone = region.marks.get("discarded")
    if gone is None or not gone[granules].any():
        return
    bad = np.flatnonzero(np.broadcast_to(gone[granules] != ZERO, len(threads)))
    position = int(bad[0])
    address = int(np.broadcast_to(granules, len(threads))[position]) * region.granule
    message = f"a read of {region.name} at byte {address}, whose content was discarded and not stored anew"
    running.report(
        "discarded", message, access.code, access.instruction, int(threads[position]), address=region.base + address,
        count=len(bad),
    )  # fmt: skip


def _granules(access: Access, region: Region, index: NDArray[np.int64], clock: Clock) -> list[NDArray[np.int64]]:
    """Granule positions of every granule of every element."""
    width = access.width
    if width < region.granule:
        clock.settle()
        for name, marks in region.marks.items():
            region.marks[name] = np.repeat(marks, region.granule)
        region.granule = 1
    per_element = width // region.granule
    if per_element == 1:
        return [index + element if element else index for element in range(access.elements)]
    first = index * per_element
    return [first + offset for offset in range(per_element * access.elements)]


def granules_of(access: Access, region: Region, index: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """All granules of elements that begin at these places."""
    return np.concatenate(_granules(access, region, index, clock))


def _bits(value: Value, width: int) -> Value:
    """The stored bytes as integers, so that a NaN equals itself and zeros have their sign."""
    words = value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "f" else value
    return words.astype(f"u{width}")


def _conflicts(
    access: Access, region: Region, marks: Marks, granules: NDArray[np.int64], threads: Threads, me: Marks,
    running: RunningBlocks, *, is_write: bool,
) -> _Met | None:  # fmt: skip
    """Marks of other threads that are not ordered before."""
    in_block = region is running.shared and running.launch.cluster_blocks == 1
    if in_block and running.clock.oldest and not bool(((marks & TIME) >= np.uint64(running.clock.oldest)).any()):
        return None
    if not marks.any() or are_own(marks, me):
        return None
    candidates = (marks ^ me) >> THREAD != ZERO
    if is_write:
        candidates |= (marks & MANY) != ZERO
    candidates &= marks != ZERO
    if access.is_strong:
        candidates &= ((marks & STRONG) == ZERO) | _is_out_of_scope(access, marks, threads, running)
    if not candidates.any():
        return None
    positions = np.flatnonzero(np.broadcast_to(candidates, len(threads)))
    found = np.broadcast_to(marks, len(threads))[positions]
    real = concurrent(found, threads[positions], running.clock, in_block=in_block)
    if running.clock.now >= MAX_TIME or not real.any():
        return None
    return _Met(positions[real], found[real], np.broadcast_to(granules, len(threads))[positions[real]])


def _is_out_of_scope(access: Access, marks: Marks, threads: Threads, running: RunningBlocks) -> NDArray[np.bool_]:
    """Whether a strong access of another block lies outside the scope of one of the two."""
    thread = (marks >> THREAD).astype(np.int64) - 1 - running.first_block * running.padded_threads
    is_other = thread // running.padded_threads != running.block_of[threads]
    out = is_other & (access.is_narrow | ((marks & NARROW) != ZERO))
    cluster = running.launch.cluster_blocks
    if cluster > 1 and out.any():  # a scope of the cluster holds its blocks
        same = thread // running.padded_threads // cluster == running.block_of[threads] // cluster
        sites = ((marks >> SITE_SHIFT) & np.uint64(SITES - 1)).astype(np.int64)
        reaching = [n for n, a in enumerate(running.launch.accesses[:SITES]) if a is not None and a.scope >= CLUSTER]
        out &= ~(same & np.isin(sites, reaching) & (access.scope >= CLUSTER))
    return out


def _report(access: Access, other: str, region: Region, met: _Met, threads: Threads, running: RunningBlocks) -> None:
    position, mark = int(met.positions[0]), int(met.marks[0])
    thread = int(threads[position])
    address = int(met.granules[0]) * region.granule
    is_shared = region is running.shared
    kind: Kind = "shared_race" if is_shared else "global_race"
    linear = (mark >> 32) - 1
    block, inside = running.launch.coordinates(linear)
    own_block = running.coordinates(thread)[0]
    here = address % running.launch.shared_stride if is_shared else address
    verb = "read" if access.kind == "ld" else "atomic update" if access.is_atomic else "write"
    who = f"thread {','.join(map(str, inside))}"
    if mark >> 19 & 1:
        who += " and others"
    if own_block != block:
        who += f" of block {','.join(map(str, block))}"
    order = "no barrier lies between" if own_block == block else BETWEEN_BLOCKS
    if own_block != block and is_shared:
        order = "no barrier of the cluster lies between"
    message = f"{verb} of {region.name} at byte {here} races with a {other} by {who}: {order}"
    site = running.launch.accesses[(mark >> 21) & (SITES - 1)]
    others = () if site is None else ((f"the {other}", site.code.routine.span(site.instruction)),)
    running.report(
        kind, message, access.code, access.instruction, thread, address=here if is_shared else region.base + address,
        count=len(met.positions), others=others,
    )  # fmt: skip


def _report_unwritten(
    access: Access, marks: Marks, granules: NDArray[np.int64], region: Region, threads: Threads, running: RunningBlocks
) -> None:
    bad = np.flatnonzero(np.broadcast_to(marks == ZERO, len(threads)))
    position = int(bad[0])
    address = int(np.broadcast_to(granules, len(threads))[position]) * region.granule % running.launch.shared_stride
    message = f"a read of shared memory at byte {address}, which nobody has written"
    running.report(
        "uninitialised_shared", message, access.code, access.instruction, int(threads[position]), address=address, count=len(bad)
    )


def _report_pending(
    access: Access, marks: Marks, granules: NDArray[np.int64], region: Region, threads: Threads, running: RunningBlocks
) -> None:
    bad = np.flatnonzero(np.broadcast_to(marks != ZERO, len(threads)))
    position = int(bad[0])
    granule = int(np.broadcast_to(granules, len(threads))[position])
    address = granule * region.granule % running.launch.shared_stride
    message = f"a read of shared memory at byte {address}, where an asynchronous copy is still going on"
    copy = running.copies.writing(granule * region.granule // 4)
    others = () if copy is None else (("the copy", copy),)
    running.report(
        "early_copy_read", message, access.code, access.instruction, int(threads[position]), address=address, count=len(bad),
        others=others,
    )  # fmt: skip


def enlist(access: Access, known: list[Access | None]) -> None:
    """Gives the access its number in marks; 0 when there are too many."""
    number = len(known) if len(known) < SITES else 0
    known.append(access)
    scope = NARROW if access.is_narrow else ZERO
    access.mark = (np.uint64(number) << SITE_SHIFT) | scope | (STRONG if access.is_strong else ZERO)
