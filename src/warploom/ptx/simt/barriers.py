"""Barriers of a block (PTX ISA 9.7.13.1) and who waits where, also when nobody can go on any more.

Numbers follow hardware from sm_70 on: a barrier without a count waits for all threads of the block that have not exited.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.core import Span
from warploom.ptx.simt.clusters import BARRIER as CLUSTER_BARRIER
from warploom.ptx.simt.clusters import decode_cluster_barrier
from warploom.ptx.simt.code import Code, End, Group, RunningBlocks, Wait
from warploom.ptx.simt.findings import FaultError, Finding
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.order_of_threads import Arrival
from warploom.ptx.simt.threads import Value

BARRIERS = 16
"""Barriers of a block."""


class Barriers:
    """All barriers of all blocks of a batch."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.waits: dict[int, list[Wait]] = {}
        """Waits by barrier number."""
        self.arrived: dict[int, NDArray[np.int64]] = {}
        """Number of threads that have executed `bar.arrive`: for each barrier number an array by block."""
        self.arrivals: dict[int, dict[int, list[Arrival]]] = {}
        """Arrivals by `bar.arrive`, by barrier number and block."""
        self.expected: dict[int, tuple[int, Code, int]] = {}
        """Counts given with `bar.arrive`, and the instruction."""

    def release(self, running: RunningBlocks) -> bool:
        """Lets all threads go on whose barrier is complete; whether there were any."""
        any_released = False
        for number in list(self.waits):
            any_released |= running.clusters.release(running) if number == CLUSTER_BARRIER else self._release(number, running)
        return any_released

    def _release(self, number: int, running: RunningBlocks) -> bool:
        waits = self.waits[number]
        alive = np.add.reduce(running.alive.reshape(self.blocks, -1), axis=1, dtype=np.int64)
        present = np.zeros(self.blocks, np.int64)
        wanted = alive.copy()
        if number in self.expected and self.expected[number][0]:
            wanted[self.arrived[number] > 0] = self.expected[number][0]
        for wait in waits:
            blocks = running.block_of[wait.group.threads]
            present += np.bincount(blocks, minlength=self.blocks)
            if wait.count:
                wanted[blocks] = wait.count
        waiting = present > 0
        if number in self.arrived:
            present = present + self.arrived[number]
        complete = waiting & (present >= wanted)
        if not complete.any():
            return False
        self._check_counts(number, waits, complete, running)
        if number in self.arrived:
            self.arrived[number][complete] = 0
        self._order(number, complete, (present, wanted, alive), running)
        self._check_alignment(number, waits, complete, running)
        self._finish(waits, complete, running)
        left: list[Wait] = []
        for wait in waits:
            flags = complete[running.block_of[wait.group.threads]]
            if flags.all():
                running.push(wait.group, wait.following)
                continue
            if flags.any():
                running.push(wait.group.part(np.flatnonzero(flags)), wait.following)
                wait.group = wait.group.part(np.flatnonzero(~flags))
            left.append(wait)
        self.waits[number] = left
        if not left:
            del self.waits[number]
        return True

    def _order(
        self, number: int, complete: NDArray[np.bool_], counts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        running: RunningBlocks,
    ) -> None:  # fmt: skip
        """Orders the threads that met, block by block where they are not all of it. counts: present, wanted, alive."""
        present, wanted, alive = counts
        if not running.is_watching:
            return
        arrivals = self.arrivals.get(number, {})
        waiting = np.zeros(self.blocks, np.int64)
        needed = alive.copy()
        for wait in self.waits[number]:
            blocks = running.block_of[wait.group.threads]
            waiting += np.bincount(blocks, minlength=self.blocks)
            if wait.count:  # who has ended takes no part in a counted barrier
                needed[blocks] = running.block_threads
        everyone = complete & (waiting == needed) & (present == waiting) & (present <= wanted)
        if everyone.any():
            running.clock.block_barrier(everyone)
        for block in np.flatnonzero(complete & ~everyone).tolist():
            threads = np.concatenate([w.group.threads[running.block_of[w.group.threads] == block] for w in self.waits[number]])
            found = arrivals.pop(block, [])
            if present[block] > wanted[block]:
                self._report_too_many(number, int(present[block]), int(wanted[block]), int(threads[0]), running)
                continue
            running.clock.meet(threads, found)

    def _report_too_many(self, number: int, present: int, wanted: int, thread: int, running: RunningBlocks) -> None:
        wait = self.waits[number][0]
        place, inside = running.coordinates(thread)
        message = f"{present} threads at barrier {number}, which takes {wanted}: which of them go on together is open"
        span = wait.code.routine.span(wait.instruction)
        running.launch.findings.add(Finding("barrier_divergence", message, span, place, inside))

    def _check_counts(self, number: int, waits: list[Wait], complete: NDArray[np.bool_], running: RunningBlocks) -> None:
        """All threads that take part in a barrier give it one count; without one it is that of the block."""
        if not running.launch.checks:
            return
        given: dict[int, tuple[int, Code, int]] = {}
        if number in self.expected and (complete & (self.arrived[number] > 0)).any():
            given[-1] = self.expected[number]
        for n, wait in enumerate(waits):
            if complete[running.block_of[wait.group.threads]].any():
                given[n] = (wait.count or running.block_threads, wait.code, wait.instruction)
        (count, code, instruction), *others = given.values()
        for other, other_code, at in others:
            if other != count:
                message = f"barrier {number} is for {count} threads here and for {other} where others come to it"
                elsewhere = (("the other count", other_code.routine.span(at)),)
                thread = int(waits[0].group.threads[0])
                place, inside = running.coordinates(thread)
                span = code.routine.span(instruction)
                running.launch.findings.add(Finding("barrier_divergence", message, span, place, inside, others=elsewhere))
                break

    def _finish(self, waits: list[Wait], complete: NDArray[np.bool_], running: RunningBlocks) -> None:
        """The results of bar.red, over all threads of a block."""
        reducing = [wait for wait in waits if wait.reduce is not None]
        if not reducing:
            return
        true = np.zeros(self.blocks, np.int64)
        total = np.zeros(self.blocks, np.int64)
        for wait in reducing:
            assert wait.reduce is not None
            blocks = running.block_of[wait.group.threads]
            flags = np.broadcast_to(value_of(wait.group.registers, wait.reduce[1]), wait.group.size)
            true += np.bincount(blocks, weights=flags, minlength=self.blocks).astype(np.int64)
            total += np.bincount(blocks, minlength=self.blocks)
        results: dict[str, Value] = {"popc": true.astype(np.uint32), "and": true == total, "or": true > 0}
        for wait in reducing:
            assert wait.reduce is not None
            operation, _, target = wait.reduce
            blocks = running.block_of[wait.group.threads]
            wait.group.registers[target] = results[operation][blocks]

    def _check_alignment(self, number: int, waits: list[Wait], complete: NDArray[np.bool_], running: RunningBlocks) -> None:
        """Lanes of one warp that came to different aligned barrier instructions (PTX ISA: undefined)."""
        aligned = [w for w in waits if w.is_aligned]
        if not running.launch.checks or len({(id(w.code), w.instruction) for w in aligned}) < 2:
            return
        first: dict[int, Wait] = {}
        for wait in aligned:
            threads = wait.group.threads[complete[running.block_of[wait.group.threads]]]
            for warp in np.unique(threads >> 5):
                other = first.setdefault(int(warp), wait)
                if (other.code, other.instruction) != (wait.code, wait.instruction):
                    thread = int(threads[threads >> 5 == warp][0])
                    block, inside = running.coordinates(thread)
                    message = f"lanes of one warp wait for barrier {number} at different instructions"
                    span = wait.code.routine.span(wait.instruction)
                    others = (("the other barrier", other.code.routine.span(other.instruction)),)
                    running.launch.findings.add(Finding("barrier_divergence", message, span, block, inside, others=others))
                    break


def decode_barrier(site: Site, following: int) -> End:
    """bar and barrier with .sync, .arrive or .red, and those of clusters."""
    if "cluster" in site.instruction.modifiers:
        return decode_cluster_barrier(site, following)
    modifiers = [m for m in site.instruction.modifiers if m != "cta"]
    is_aligned = site.instruction.opcode == "bar" or "aligned" in modifiers
    modifiers = [m for m in modifiers if m != "aligned"]
    operands = list(site.instruction.operands)
    match modifiers:
        case ["sync"] | ["arrive"]:
            reduce = None
        case ["red", "popc", "u32"] | ["red", "and" | "or", "pred"]:
            target = site.register(operands.pop(0), "u32" if modifiers[1] == "popc" else "pred")
            reduce = (modifiers[1], site.source(operands.pop(), "pred"), target)
        case _:
            raise site.unsupported(site.instruction.name)
    is_arrival = modifiers == ["arrive"]
    number_slot = site.source(operands[0], "u32")
    count_slot = site.source(operands[1], "u32") if len(operands) == 2 else -1
    code, instruction = site.code, site.index

    def arrive(group: Group, running: RunningBlocks) -> int:
        numbers = value_of(group.registers, number_slot)
        if numbers.ndim:
            distinct = np.unique(numbers)
            if len(distinct) > 1:
                for number in distinct:
                    part = group.part(np.flatnonzero(numbers == number))
                    one(part, int(number), running)
                return -1
            numbers = distinct[0]
        return one(group, int(numbers), running)

    def one(group: Group, number: int, running: RunningBlocks) -> int:
        barriers = running.barriers
        if number >= BARRIERS:
            raise running.fault("bad_call", f"barrier {number} of {BARRIERS}", code, instruction, int(group.threads[0]))
        count = 0
        if count_slot >= 0:
            counts = value_of(group.registers, count_slot)
            count = int(counts if counts.ndim == 0 else counts[0])
        if is_arrival:
            blocks = running.block_of[group.threads]
            known = barriers.arrived.setdefault(number, np.zeros(running.blocks, np.int64))
            known += np.bincount(blocks, minlength=running.blocks)
            barriers.expected[number] = count, code, instruction
            if running.is_watching:
                known_arrivals = barriers.arrivals.setdefault(number, {})
                for block in np.unique(blocks).tolist():
                    known_arrivals.setdefault(block, []).append(running.clock.arrive(group.threads[blocks == block]))
            running.push(group, following)
            return -1
        if (
            reduce is None and number not in barriers.waits and number not in barriers.arrived
            and group.size == running.alive_count and count in (0, running.block_threads)
            and running.alive_count == running.blocks * running.block_threads
        ):  # fmt: skip
            running.clock.block_barrier(None)
            return following
        wait = Wait(group, following, count, code, instruction, is_aligned, reduce)
        barriers.waits.setdefault(number, []).append(wait)
        return -1

    return arrive


def release_warp_barriers(running: RunningBlocks) -> bool:
    """Threads of a warp that wait at different `bar.warp.sync` instructions meet there; whether there were any."""
    waits = [
        (key, group, index) for key, (group, index) in running.warp_waits.items()
        if _opcode(group, index) in ("bar", "barrier")
    ]  # fmt: skip
    flags = np.zeros(running.total, np.bool_)
    for _, group, _ in waits:
        flags[group.threads] = True
    released = False
    for key, group, index in waits:
        warps = group.layout.warps
        here = running.lane_masks(warps, flags)
        alive = running.lane_masks(warps, running.alive)
        members_of = group.context.code.segments[index].members
        assert members_of is not None
        members = members_of(group, running)
        ready = (members & (alive & ~here)[group.layout.positions >> 5]) == 0
        if ready.any():
            released = True
            del running.warp_waits[key]
            running.push_through(group.part(np.flatnonzero(ready)), index)
            rest = np.flatnonzero(~ready)
            if len(rest):
                running.warp_waits[key] = (group.part(rest), index)
    return released


def _opcode(group: Group, index: int) -> str:
    code = group.context.code
    return code.routine.instructions[code.segments[index].start].opcode


def deadlock(running: RunningBlocks) -> FaultError:
    """The fault when all threads that are left wait, with what they wait for."""
    places: list[tuple[str, Span, Group]] = []
    for number, waits in running.barriers.waits.items():
        for wait in waits:
            name = wait.code.routine.instructions[wait.instruction].name
            text = f"{wait.group.size} threads wait at {name}{f' {number}' if number >= 0 else ''}"
            places.append((text, wait.code.routine.span(wait.instruction), wait.group))
    for group, index in running.warp_waits.values():
        code = group.context.code
        start = code.segments[index].start
        name = code.routine.instructions[start].name
        text = f"{group.size} threads wait at {name} for lanes that never come"
        places.append((text, code.routine.span(start), group))
    text, span, group = places[0]
    block, inside = running.coordinates(int(group.threads[0]))
    others = tuple((other, at) for other, at, _ in places[1:])
    return FaultError(Finding("deadlock", text, span, block, inside, count=sum(g.size for _, _, g in places), others=others))
