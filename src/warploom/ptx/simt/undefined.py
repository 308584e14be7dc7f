"""Registers that a shuffle left undefined, in lanes whose source lane takes no part (PTX ISA 9.7.9.6), or a load of local memory
that the thread has not written (`own_memory`).

A mistake only where an executing lane uses the value, so it is found there: `mov` and `selp` carry it on, any other read is a
use, and whatever writes the register in such a lane ends it. Code that shuffles first and then loads what no lane could give
is right. The predicate of `d|p` tells where the source lane lies, not what it does: it is always defined.

Marks: a u32 per thread, 0 where the register is defined, else the index + 1 of the shuffle or load and, in the low five bits, the
lane that a shuffle reads. A register without any has no mark, or one without dimensions.
"""

from __future__ import annotations

import numpy as np

from warploom.ptx.simt.analysis import COPIES, effects, slots_of
from warploom.ptx.simt.code import Code, Group, RunningBlocks, Step
from warploom.ptx.simt.operands import CARRY, Site, value_of
from warploom.ptx.simt.threads import Registers, Value
from warploom.ptx.syntax import Address, Name, Operand

DEFINED = np.zeros((), np.uint32)
_LANE_BITS = 5


def marks_of(index: int, undefined: Value, lanes: Value) -> Value:
    """Marks of the shuffle at `index`: which threads got nothing, and from which lane."""
    first = np.uint32((index + 1) << _LANE_BITS)
    return np.where(undefined, first | lanes.astype(np.uint32), DEFINED)


def undefined_steps(site: Site) -> list[Step]:
    """Steps before an instruction: its uses of undefined values are reported, its destinations are defined from here on.

    Shuffles mark their own destination.
    """
    marks = site.code.undefined
    if not marks:
        return []
    instruction = site.instruction
    effect = effects(site.code, instruction, site.code.slots[CARRY])
    read = effect.reads & ~_copied(site) if instruction.opcode == "st" else effect.reads
    reads = [slot for slot in slots_of(read) if slot in marks]
    writes = [marks[slot] for slot in slots_of(effect.writes) if slot in marks]
    guard = Guard(site)
    if reads and writes and instruction.opcode in COPIES:
        carried = _carry(site, guard)
        if carried is not None:
            return [carried]
    steps: list[Step] = []
    if reads:
        steps.append(_use(site, guard, reads))
    if writes and instruction.opcode != "shfl":
        steps.append(end(guard, writes))
    return steps


def _copied(site: Site) -> int:
    """The registers that a store copies into local memory, as a bit set: they stay undefined there, which is no use."""
    address, source = site.instruction.operands[:2]
    if "local" not in site.instruction.modifiers or not site.code.routine.is_entry:
        return 0
    base = address.base if isinstance(address, Address) else None
    names = {part.text for part in site.elements(source) if isinstance(part, Name)} - {
        base.text if isinstance(base, Name) else ""
    }
    return sum(1 << site.code.slots[name] for name in names if name in site.code.slots)


class Guard:
    """The threads that execute the instruction."""

    __slots__ = ("negated", "slot")

    def __init__(self, site: Site) -> None:
        guard = site.instruction.guard
        self.slot = -1 if guard is None else site.code.slots[guard.name]
        self.negated = guard is not None and guard.negated

    def lanes(self, registers: Registers) -> Value | None:
        """None: all of them."""
        if self.slot < 0:
            return None
        flags = value_of(registers, self.slot)
        return np.logical_not(flags) if self.negated else flags


def has_none(marks: Value | None) -> bool:
    return marks is None or marks.ndim == 0


def put(registers: Registers, slot: int, new: Value, lanes: Value | None) -> None:
    """Sets the marks of the threads that execute."""
    old = registers[slot]
    if new.ndim == 0 and (old is None or old.ndim == 0):
        return
    if lanes is not None:
        new = np.where(lanes, new, DEFINED if old is None else old)
    registers[slot] = new if new.ndim and new.any() else DEFINED


def end(guard: Guard, slots: list[int]) -> Step:
    def ended(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        for slot in slots:
            if not has_none(registers[slot]):
                put(registers, slot, DEFINED, guard.lanes(registers))

    return ended


def _use(site: Site, guard: Guard, slots: list[int]) -> Step:
    code, index = site.code, site.index
    names = {slot: name for name, slot in code.slots.items()}
    chosen = [(code.undefined[slot], names[slot]) for slot in slots]

    def use(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        for slot, name in chosen:
            marks = registers[slot]
            if marks is None or marks.ndim == 0:
                continue
            lanes = guard.lanes(registers)
            used = marks != 0 if lanes is None else (marks != 0) & lanes
            positions = np.flatnonzero(used)
            if not len(positions):
                continue
            _report(code, index, name, int(marks[positions[0]]), int(group.threads[positions[0]]), len(positions), running)
            put(registers, slot, DEFINED, used)

    return use


def _report(code: Code, index: int, name: str, mark: int, thread: int, count: int, running: RunningBlocks) -> None:
    instructions = code.routine.instructions
    source, lane = (mark >> _LANE_BITS) - 1, mark & ((1 << _LANE_BITS) - 1)
    span = code.routine.span(source)
    if instructions[source].opcode != "shfl":
        message = (
            f"{instructions[index].name} uses {name}, which {instructions[source].name} in line {span.line} "
            "reads from local memory that the thread has not written"
        )
        running.report("uninitialised_local", message, code, index, thread, count=count, others=(("the load", span),))
        return
    message = (
        f"{instructions[index].name} uses {name}, which is undefined: {instructions[source].name} in line {span.line} "
        f"reads lane {lane}, which does not take part"
    )
    running.report("shuffle_inactive", message, code, index, thread, count=count, others=(("the shuffle", span),))


def _carry(site: Site, guard: Guard) -> Step | None:
    """The step that carries marks through a `mov` or `selp`; None for a form that counts as a use."""
    match site.instruction.opcode, site.instruction.operands:
        case "selp", (target, first, second, Name(predicate)) if predicate in site.code.slots:
            return _choose(site, guard, target, (first, second), site.code.slots[predicate])
        case "mov", (target, source):
            return _copy(site, guard, target, source)
        case _:
            return None


def _marks(site: Site, operand: Operand) -> int:
    """The slot of an operand's marks; -1 for what is never undefined."""
    slot = site.code.slots.get(operand.text, -1) if isinstance(operand, Name) else -1
    return site.code.undefined.get(slot, -1)


def _copy(site: Site, guard: Guard, target: Operand, source: Operand) -> Step:
    """Packed words are undefined where a part is, and parts where the word is."""
    into = [_marks(site, part) for part in site.elements(target)]
    from_ = [_marks(site, part) for part in site.elements(source)]
    pairs = [(t, (s,)) for t, s in zip(into, from_, strict=True)] if len(into) == len(from_) else [(t, from_) for t in into]
    chosen = [(t, [s for s in sources if s >= 0]) for t, sources in pairs if t >= 0]

    def copy(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        news: list[Value] = []
        for _, sources in chosen:
            new = DEFINED
            for slot in sources:
                marks = registers[slot]
                if marks is not None and marks.ndim:
                    new = np.maximum(new, marks)
            news.append(new)
        for (slot, _), new in zip(chosen, news, strict=True):
            if new.ndim or not has_none(registers[slot]):
                put(registers, slot, new, guard.lanes(registers))

    return copy


def _choose(site: Site, guard: Guard, target: Operand, sources: tuple[Operand, Operand], predicate: int) -> Step:
    into = _marks(site, target)
    first, second = (_marks(site, source) for source in sources)

    def choose(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        one = registers[first] if first >= 0 else None
        other = registers[second] if second >= 0 else None
        if has_none(one) and has_none(other):
            if not has_none(registers[into]):
                put(registers, into, DEFINED, guard.lanes(registers))
            return
        new = np.where(value_of(registers, predicate), DEFINED if one is None else one, DEFINED if other is None else other)
        put(registers, into, new, guard.lanes(registers))

    return choose
