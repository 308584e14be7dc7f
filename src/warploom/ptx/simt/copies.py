"""cp.async and its groups (PTX ISA 9.7.10.25): the copy happens at once, but who reads it before its wait is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from warploom.core import Span
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.bulk_copies import decode_bulk, decode_reduction
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.mbarriers import decode_copy_arrival
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.proxies import MARKS as GENERIC
from warploom.ptx.simt.races import note_read, note_write
from warploom.ptx.simt.spaces import resolve
from warploom.ptx.simt.tensor_copies import decode_tensor
from warploom.ptx.simt.threads import Threads, Value
from warploom.ptx.syntax import Address, Integer, Name, Negation, operand_text


@dataclass(slots=True, eq=False)
class _Flight:
    """Copies of one instruction that nobody has waited for: parallel arrays."""

    threads: Threads
    number: NDArray[np.int64]
    """Number of the thread's group to which each copy belongs."""
    words: NDArray[np.int64]
    """[copies, words each] of 4 bytes in shared memory, whose marks may become finer before the wait."""
    span: Span
    """The instruction."""
    object: int = -1
    """For a bulk copy, the place of the mbarrier that counts its bytes; -1: the copy belongs to a group of its thread."""
    parity: int = 0
    """Parity of the phase that counts the bytes of a bulk copy."""


class Copies:
    """Copies in flight in one batch."""

    def __init__(self, threads: int) -> None:
        self.flights: list[_Flight] = []
        self.size = threads
        self._committed: Threads | None = None

    @property
    def committed(self) -> Threads:
        """Groups that each thread has committed."""
        if self._committed is None:
            self._committed = np.zeros(self.size, np.int64)
        return self._committed

    def launched(self, threads: Threads, words: NDArray[np.int64], count: int, span: Span, running: RunningBlocks) -> None:
        """`count` 4-byte words of shared memory from `words` on are being written."""
        self._add(_Flight(threads, self.committed[threads], words[:, None] + np.arange(count), span), running)

    def sent(
        self, threads: Threads, words: NDArray[np.int64], count: int, span: Span, place: int, parity: int, running: RunningBlocks
    ) -> None:
        """The same of a bulk copy that the mbarrier at `place` counts, in its phase of this parity."""
        self._add(_Flight(threads, self.committed[threads], words[:, None] + np.arange(count), span, place, parity), running)

    def _add(self, flight: _Flight, running: RunningBlocks) -> None:
        region = running.shared
        pending = region.marks.get("pending")
        if pending is None:
            pending = region.marks["pending"] = np.zeros(region.views.bytes.size // region.granule + 1, np.uint64)
        pending[region.granules(flight.words)] = 1
        self.flights.append(flight)

    def arrived(self, place: int, parity: int, running: RunningBlocks) -> None:
        """A wait for the phase of this parity of the mbarrier at `place` has passed: its bulk copies are there."""
        kept: list[_Flight] = []
        for flight in self.flights:
            if (flight.object, flight.parity) == (place, parity):
                running.shared.marks["pending"][running.shared.granules(flight.words)] = 0
            else:
                kept.append(flight)
        self.flights = kept

    def writing(self, word: int) -> Span | None:
        """The instruction of a copy to this place that is going on."""
        return next((flight.span for flight in self.flights if (flight.words == word).any()), None)

    def wait(self, threads: Threads, left: int, running: RunningBlocks) -> None:
        """All but the newest `left` committed groups of these threads are complete; -1: everything."""
        if not self.flights:
            return
        limit = np.full(self.size, -1, np.int64)
        limit[threads] = np.iinfo(np.int64).max if left < 0 else self.committed[threads] - left
        pending, writes = running.shared.marks["pending"], running.shared.marks["write"]
        generic = running.shared.marks.get(GENERIC)
        now = running.clock.tick()
        kept: list[_Flight] = []
        for flight in self.flights:
            done = (flight.number < limit[flight.threads]) & (flight.object < 0)
            if done.any():
                granules = running.shared.granules(flight.words[done])
                pending[granules] = 0
                writes[granules] = (writes[granules] & np.uint64(0xFFFFFFFFFFFC0000)) | np.uint64(now)
                if generic is not None:
                    generic[granules] = 1  # a fence of proxies before the wait came too early for these
            if not done.all():
                rest = ~done
                kept.append(replace(flight, threads=flight.threads[rest], number=flight.number[rest], words=flight.words[rest]))
        self.flights = kept


def _cp(site: Site) -> Step:
    modifiers = site.instruction.modifiers
    if "tensor" in modifiers:
        return decode_tensor(site)
    if modifiers[0] == "reduce":
        return decode_reduction(site)
    match modifiers[1:]:  # the first one is `async`: no row has one of these forms without it
        case ("commit_group",):
            return _commit(site)
        case ("wait_group",):
            operand = site.instruction.operands[0]
            if not isinstance(operand, Integer):
                raise site.wrong("an integer constant", operand_text(operand))
            return _wait(operand.value)
        case ("wait_all",):
            return _wait(-1)
        case ("mbarrier", "arrive", *rest) if {m.partition("::")[0] for m in rest} <= {"noinc", "shared", "b64"}:
            return decode_copy_arrival(site)
        case ("bulk", *_):
            return decode_bulk(site)
        case ("ca" | "cg", *rest):
            plain = [m.partition("::")[0] for m in rest]
            if plain[:2] == ["shared", "global"] and set(plain[2:]) <= {"L2"}:
                return _copy(site)
        case _:
            pass
    raise site.unsupported(site.instruction.name)


def _commit(site: Site) -> Step:
    def commit(group: Group, running: RunningBlocks) -> None:
        running.copies.committed[group.threads] += 1

    return commit


def _wait(left: int) -> Step:
    def wait(group: Group, running: RunningBlocks) -> None:
        running.copies.wait(group.threads, left, running)

    return wait


def _copy(site: Site) -> Step:
    operands = site.instruction.operands
    to, from_ = operands[0], operands[1]
    if not isinstance(to, Address) or not isinstance(from_, Address) or not isinstance(operands[2], Integer):
        raise site.unsupported(site.instruction.name)
    size = operands[2].value
    if size not in (4, 8, 16):
        raise site.wrong("4, 8 or 16 bytes", str(size))
    limited, ignored = -1, -1
    if len(operands) > 3 and "L2::cache_hint" not in site.instruction.modifiers[-1:]:
        last = operands[3]
        if isinstance(last, Negation) or (isinstance(last, Name) and site.code.routine.registers.get(last.text) == "pred"):
            ignored = site.source(last, "pred")
        else:
            limited = site.source(last, "u32")
    target = access_of(site, to, "st", 4, size // 4, "shared", is_strong=False)
    source = access_of(site, from_, "ld", 4, size // 4, "global", is_strong=False)
    source_bytes = access_of(site, from_, "ld", 1, 1, "global", is_strong=False)
    span = site.code.routine.span(site.index)

    def copy(group: Group, running: RunningBlocks) -> None:
        ((_, shared, index),) = resolve(target, group, running)
        places = np.broadcast_to(index, group.size)
        if running.is_watching:
            note_write(target, [(None, shared, places)], None, group, running)
        if running.launch.counter is not None:
            running.launch.counter.access(target, [(None, shared, places)], group, running)
        amount: Value = np.full(group.size, size, np.int64)
        if limited >= 0:
            amount[:] = value_of(group.registers, limited)
        elif ignored >= 0:
            amount[:] = np.where(value_of(group.registers, ignored), 0, size)
        words = shared.views.by_width[4]
        for given in np.unique(amount).tolist():
            chosen = np.flatnonzero(amount == given)
            part = group if len(chosen) == group.size else group.part(chosen)
            if given % 4:
                _copy_bytes(source_bytes, part, running, shared.views.by_width[1], places[chosen] * 4, int(given), size)
                continue
            _copy_words(source, part, running, words, places[chosen], int(given) // 4, size // 4)
        if running.is_watching:
            running.copies.launched(group.threads, places, size // 4, span, running)

    return copy


def _copy_words(
    access: Access, group: Group, running: RunningBlocks, words: Value, places: NDArray[np.int64], given: int, count: int
) -> None:
    if given:
        pieces = resolve(access, group, running)
        if running.is_watching:
            note_read(access, pieces, group, running)
        if running.launch.counter is not None:
            running.launch.counter.access(access, pieces, group, running)
        for chosen, region, index in pieces:
            at = places if chosen is None else places[chosen]
            for word in range(given):
                words[at + word] = region.views.by_width[4][index + word]
    for word in range(given, count):
        words[places + word] = 0


def _copy_bytes(
    access: Access, group: Group, running: RunningBlocks, memory: Value, places: NDArray[np.int64], given: int, count: int
) -> None:
    pieces = resolve(access, group, running)
    for chosen, region, index in pieces:
        at = places if chosen is None else places[chosen]
        for byte in range(given):
            memory[at + byte] = region.views.bytes[index + byte]
    for byte in range(given, count):
        memory[places + byte] = 0


DECODERS: dict[str, Callable[[Site], Step]] = {"cp": _cp}
