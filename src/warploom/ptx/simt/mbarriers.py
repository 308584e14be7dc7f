"""mbarrier objects in shared memory (PTX ISA 9.7.13.15): threads arrive one after another, tests never block.

The 64-bit object, opaque to programs: bits 0 to 19 pending arrivals, 20 to 39 expected arrivals, 40 to 60 pending bytes of
asynchronous copies, bit 63 the parity of the current phase. A state is the object before the arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.order_of_threads import CLUSTER, WIDE
from warploom.ptx.simt.races import note_write
from warploom.ptx.simt.spaces import resolve
from warploom.ptx.simt.spins import is_spin
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Name, Operand, operand_text

_COUNT = (1 << 20) - 1
_BYTES = (1 << 21) - 1
_PARITY = 1 << 63
_SCOPES = frozenset(("release", "acquire", "relaxed", "cta", "cluster", "b64", "noComplete", "parity"))


class _Object:
    """The fields of one mbarrier."""

    def __init__(self, word: int) -> None:
        self.pending = word & _COUNT
        self.expected = word >> 20 & _COUNT
        self.bytes = word >> 40 & _BYTES
        self.parity = word >> 63

    def settle(self) -> None:
        """Ends the phase when nothing is missing."""
        if self.pending == 0 and self.bytes == 0:
            self.pending = self.expected
            self.parity ^= 1

    @property
    def word(self) -> int:
        return self.pending | self.expected << 20 | self.bytes << 40 | self.parity << 63


def _places(site: Site, operand: Operand, *, sets: bool = False) -> Callable[[Group, RunningBlocks], tuple[Value, list[int]]]:
    """Words of shared memory and the position of each thread's object. sets: it is written, which barriers must order before uses
    by other threads."""
    if not isinstance(operand, Address):
        raise site.wrong("an address in brackets", operand_text(operand))
    spaces = {m.partition("::")[0] for m in site.instruction.modifiers}
    span = site.code.routine.span(site.index)
    space = "shared" if "shared" in spaces else ""
    access = access_of(site, operand, "st" if sets else "atom", 8, 1, space, is_strong=not sets)
    access.scope = WIDE

    def find(group: Group, running: RunningBlocks) -> tuple[Value, list[int]]:
        pieces = resolve(access, group, running)
        if len(pieces) != 1 or pieces[0][1] is not running.shared:
            raise site.unsupported(f"{site.instruction.name} outside of shared memory")
        if running.is_watching:
            note_write(access, pieces, [np.zeros((), np.uint64)] if sets else None, group, running)
        index = np.broadcast_to(pieces[0][2], group.size)
        if running.is_watching:
            if sets:
                now = running.clock.now
                for place, thread in zip(index.tolist(), group.threads.tolist(), strict=True):
                    running.initialised[place] = thread, now, span
            elif running.initialised:
                _check_initialised(access, index, group, running)
        return running.shared.views.by_width[8], index.tolist()

    return find


def _check_initialised(access: Access, places: NDArray[np.int64], group: Group, running: RunningBlocks) -> None:
    """Reports uses of mbarriers that nothing orders after their `mbarrier.init` by another thread."""
    for place in np.unique(places).tolist():
        if place not in running.initialised:
            continue
        thread, time, span = running.initialised[place]
        if time < running.clock.barrier[running.block_of[thread]]:
            del running.initialised[place]
            if running.launch.cluster_blocks == 1:
                continue
        users = group.threads[(places == place) & (group.threads != thread)]
        late = ~running.clock.is_ordered(np.full(len(users), thread), np.full(len(users), time), users)
        if late.any():
            address = place * 8 % running.launch.shared_stride
            _, inside = running.coordinates(thread)
            who = ",".join(map(str, inside))
            message = f"use of the mbarrier at byte {address} races with its init by thread {who}: no barrier lies between"
            user = int(users[np.argmax(late)])
            running.report(
                "shared_race", message, access.code, access.instruction, user, address=address, count=int(late.sum()),
                others=(("the write", span),),
            )  # fmt: skip


def _numbers(site: Site, operand: Operand | None, default: int) -> Callable[[Group], list[int]]:
    if operand is None:
        return lambda group: [default] * group.size
    slot = site.sized(operand, "b32")
    return lambda group: np.broadcast_to(value_of(group.registers, slot), group.size).tolist()


def decode(site: Site) -> Step:
    """mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait, pending_count."""
    name, *modifiers = site.instruction.modifiers or ("",)
    left = {m for m in modifiers if m.partition("::")[0] != "shared"} - _SCOPES
    operands = site.instruction.operands
    match name:
        case "init" | "inval" if not left:
            return _set(site, name == "init")
        case "expect_tx" | "complete_tx" if not left:
            return _transfer(site, name == "expect_tx")
        case "arrive" | "arrive_drop" if left <= {"expect_tx"}:
            return _arrive(site, is_drop=name == "arrive_drop", expects="expect_tx" in left)
        case "test_wait" | "try_wait" if not left:
            return _test(site)
        case "pending_count" if not left:
            target, source = site.register(operands[0], "b32"), site.sized(operands[1], "b64")

            def count(group: Group, running: RunningBlocks) -> None:
                group.registers[target] = (value_of(group.registers, source) & np.uint64(_COUNT)).astype(np.uint32)

            return count
        case _:
            raise site.unsupported(site.instruction.name)


def _set(site: Site, is_init: bool) -> Step:
    places = _places(site, site.instruction.operands[0], sets=True)
    counts = _numbers(site, site.instruction.operands[1] if is_init else None, 0)

    def put(group: Group, running: RunningBlocks) -> None:
        words, index = places(group, running)
        for place, count in zip(index, counts(group), strict=True):
            words[place] = count | count << 20

    return put


def _transfer(site: Site, expects: bool) -> Step:
    places = _places(site, site.instruction.operands[0])
    amounts = _numbers(site, site.instruction.operands[1], 0)

    def transfer(group: Group, running: RunningBlocks) -> None:
        words, index = places(group, running)
        for place, amount in zip(index, amounts(group), strict=True):
            found = _Object(int(words[place]))
            found.bytes = (found.bytes + (amount if expects else -amount)) & _BYTES
            if not expects:
                found.settle()
            words[place] = found.word

    return transfer


def _arrive(site: Site, *, is_drop: bool, expects: bool) -> Step:
    operands = list(site.instruction.operands)
    target = -1
    if not isinstance(operands[0], Address):
        sink = operands.pop(0)
        target = -1 if sink == Name("_") else site.register(sink, "b64")
    places = _places(site, operands[0])
    extra = operands[1] if len(operands) > 1 else None
    counts = _numbers(site, None if expects else extra, 1)
    amounts = _numbers(site, extra if expects else None, 0)
    code, instruction = site.code, site.index

    def arrive(group: Group, running: RunningBlocks) -> None:
        words, index = places(group, running)
        states = np.zeros(group.size, np.uint64)
        rows = zip(index, counts(group), amounts(group), strict=True)
        for position, (place, count, amount) in enumerate(rows):
            found = _Object(int(words[place]))
            states[position] = found.word
            if count > found.pending:
                message = f"{count} arrivals at an mbarrier that waits for {found.pending}"
                raise running.fault("bad_call", message, code, instruction, int(group.threads[position]))
            found.bytes = (found.bytes + amount) & _BYTES
            found.pending -= count
            found.expected -= count if is_drop else 0
            found.settle()
            words[place] = found.word
        if target >= 0:
            group.registers[target] = states
        running.clock.release(group.threads, scope=CLUSTER)
        beside, times = running.products.waited_beside(group.threads, running.padded_threads)
        if len(beside):  # products are ones of the warpgroup: one of its threads may tell that they have read their matrices
            running.clock.release_until(beside, times, scope=CLUSTER)

    return arrive


def _test(site: Site) -> Step:
    operands = site.instruction.operands
    target = site.register(operands[0], "pred")
    places = _places(site, operands[1])
    is_parity = "parity" in site.instruction.modifiers
    source = site.sized(operands[2], "b32" if is_parity else "b64")
    spins = is_spin(site.code.routine, site.index, site.instruction)
    span = site.code.routine.span(site.index)

    def test(group: Group, running: RunningBlocks) -> None:
        words, index = places(group, running)
        parities = (words[index] >> np.uint64(63)).astype(np.bool_)
        given = value_of(group.registers, source)
        seen = (given & given.dtype.type(1)) != 0 if is_parity else (given >> np.uint64(63)) != 0
        passed = parities != seen
        group.registers[target] = passed
        if running.is_watching:
            running.clock.strong_read(group.threads[passed], scope=CLUSTER, acquires=True)
            if running.copies.flights or running.tensor_memory.flights or running.readers.flights:
                waited, which = np.broadcast_to(seen, group.size), np.flatnonzero(np.broadcast_to(passed, group.size))
                for place, parity in {(index[n], int(waited[n])) for n in which.tolist()}:
                    running.copies.arrived(place, parity, running)
                    running.readers.arrived(place, parity, running)
                    for thread, number in running.tensor_memory.arrived(place, parity).items():
                        running.readers.finished(thread, number, running)
        running.polls += 1
        if spins:
            running.spins.tested(group.threads, index, seen, passed, span, running)

    return test


def decode_copy_arrival(site: Site) -> Step:
    """cp.async.mbarrier.arrive: the copies are done already, so the thread arrives at once."""
    places = _places(site, site.instruction.operands[0])
    is_counted = "noinc" in site.instruction.modifiers

    def arrive(group: Group, running: RunningBlocks) -> None:
        running.copies.wait(group.threads, -1, running)
        words, index = places(group, running)
        if is_counted:
            for place in index:
                found = _Object(int(words[place]))
                found.pending -= 1
                found.settle()
                words[place] = found.word
        running.clock.release(group.threads, scope=CLUSTER)

    return arrive


Completion: TypeAlias = "Callable[[Group, int, RunningBlocks, list[int] | None], list[tuple[int, int]]]"
"""For one thread whose copy has brought so many bytes: tells its mbarrier (those at the same place of these blocks of the batch,
if some are given), and gives each object's place and the parity of its phase."""


def decode_completion(site: Site, operand: Operand, *, arrives: bool = False) -> Completion:
    """`arrives`: instead of bytes it brings one arrival, and the size is 0."""
    places = _places(site, operand)
    code, instruction = site.code, site.index

    def complete(one: Group, size: int, running: RunningBlocks, blocks: list[int] | None) -> list[tuple[int, int]]:
        words, (place,) = places(one, running)
        apart = running.launch.shared_stride // 8
        told: list[tuple[int, int]] = []
        for where in [place] if blocks is None else [place % apart + block * apart for block in blocks]:
            found = _Object(int(words[where]))
            told.append((where, found.parity))
            if arrives and not found.pending:
                message = "an arrival at an mbarrier that waits for 0"
                raise running.fault("bad_call", message, code, instruction, int(one.threads[0]))
            found.pending -= arrives
            found.bytes = (found.bytes - size) & _BYTES
            found.settle()
            words[where] = found.word
        running.clock.release(one.threads, scope=CLUSTER)
        return told

    return complete


DECODERS: dict[str, Callable[[Site], Step]] = {"mbarrier": decode}
