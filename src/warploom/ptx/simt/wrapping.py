"""Signed 32-bit indices that wrap: a sum or product that does not fit its 32 bits is extended, and used in an address.

Overflow of signed numbers is undefined in C, and of the index of an array hardly ever meant. PTX has one `add` for both kinds
of numbers; which is meant shows where an index is made wide: `cvt.s64.s32` and `mul.wide.s32` read it as signed. Looked at are
the sums and products that lead there (`indices`); a number of which unsigned instructions take bits (`rem.u32`, `mul.hi.u32`) may
be a hash, and counts as a number of its own.

Marks: an i64 per thread, 0 where the register holds what it would without a limit of 32 bits. Else the upper half is by how many
2^32 it is less, so that a sum that wraps there and back again is right in the end, and the lower half is the index + 1 of the
instruction that wrapped. The launch is run with marks only where it left its arrays, or where its sizes show that an index may
wrap (`may_wrap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.code import Group, RunningBlocks, Step
from warploom.ptx.simt.indices import ACCESSES, CARRIES, LONGS, WORDS, hands_on, is_extension, is_sum
from warploom.ptx.simt.numerics import bind
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.threads import Registers, Value
from warploom.ptx.simt.undefined import Guard, end, has_none, put
from warploom.ptx.syntax import Address, Name, Operand

NONE = np.zeros((), np.int64)
_BYTES, _HALVES = frozenset(("dp4a", "dp2a")), frozenset(("mul24", "mad24"))
_HALF = 32
_ORIGIN = (1 << _HALF) - 1
_MOST = 1 << 61
"""Numbers without a limit are cut here, so that they can be multiplied on."""


def wrapping_steps(site: Site) -> list[Step]:
    """Steps before an instruction: the marks of what it writes, and a finding where an address has one."""
    marks = site.code.wrapping
    if not marks:
        return []
    instruction, guard = site.instruction, Guard(site)
    if instruction.opcode in ACCESSES:
        bases = [o.base.text for o in instruction.operands if isinstance(o, Address) and isinstance(o.base, Name)]
        found = [site.code.slots[name] for name in bases if site.code.slots.get(name) in marks]
        told = [_tell(site, guard, [marks[slot] for slot in found])] if found else []
    else:
        told = []
    target, *sources = instruction.operands[:5] or (None,)
    slot = marks.get(site.code.slots.get(target.text, -1), -1) if isinstance(target, Name) else -1
    if slot < 0 or instruction.opcode == "st":
        return told
    if is_sum(instruction, WORDS):
        return [_summed(site, guard, slot, sources)]
    if instruction.opcode in CARRIES or is_extension(instruction) or hands_on(instruction) or is_sum(instruction, LONGS):
        chosen = sources.pop() if instruction.opcode == "selp" else None
        shadows = [marks.get(site.code.slots.get(o.text, -1), -1) if isinstance(o, Name) else -1 for o in sources]
        return [_carried(guard, slot, shadows, None if chosen is None else site.source(chosen, "pred"))]
    return [*told, end(guard, [slot])]


def _tell(site: Site, guard: Guard, slots: Sequence[int]) -> Step:
    code, index = site.code, site.index

    def tell(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        for slot in slots:
            marks = registers[slot]
            if marks is None or has_none(marks):
                continue
            lanes = guard.lanes(registers)
            positions = np.flatnonzero(marks != 0 if lanes is None else (marks != 0) & lanes)
            if len(positions):
                origin = (int(marks[positions[0]]) & _ORIGIN) - 1
                instruction, span = code.routine.instructions[origin], code.routine.span(origin)
                message = (
                    f"the address is made of {instruction.name} in line {span.line}, "
                    "whose result does not fit a signed number of 32 bits and wraps"
                )
                thread = int(group.threads[positions[0]])
                others = (("the sum or product", span),)
                running.report("index_overflow", message, code, index, thread, count=len(positions), others=others)

    return tell


def _carried(guard: Guard, target: int, sources: Sequence[int], choice: int | None) -> Step:
    """The mark of the first source that has one, or of the one that a predicate chooses."""

    def carry(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        found = [_of(registers, slot) for slot in sources]
        if not any(marks.ndim for marks in found):
            new: Value = NONE
        elif choice is not None:
            new = np.where(value_of(registers, choice), *found)
        else:
            new = reduce(lambda x, y: np.where(x != 0, x, y), found)
        if new.ndim or not has_none(registers[target]):
            put(registers, target, new, guard.lanes(registers))

    return carry


def _exact(opcode: str, of: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    match opcode, of:
        case "add", [a, b]:
            return a + b
        case "sub", [a, b]:
            return a - b
        case "mul", [a, b]:
            return _product(a, b)
        case "mul24", [a, b]:
            return _product(a, b)
        case "mad" | "mad24", [a, b, c]:
            return _product(a, b) + c
        case "dp4a" | "dp2a", [inner, c]:
            return inner + c
        case "shl", [a, b]:
            return _product(a, np.int64(1) << np.clip(b, 0, 32))
        case _:
            return -of[0]


def _product(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cut where it does not fit."""
    about = a.astype(np.float64) * b
    return np.where(np.abs(about) < _MOST, a * b, (np.sign(about) * _MOST).astype(np.int64))


def _is_beyond(number: NDArray[np.int64], type_name: str) -> NDArray[np.bool_]:
    """Whether the lower 24 bits of the number are not all of it."""
    return (number < -(1 << 23)) | (number >= 1 << 23) if type_name == "s32" else (number & _ORIGIN) >= 1 << 24


def _of_bytes(site: Site, operands: Sequence[Value]) -> NDArray[np.int64]:
    """The sum of products without the last operand, which is small."""
    operation = bind(site.instruction.opcode, site.instruction.modifiers, len(operands))
    inner: Value = operation.evaluate(*operands[:2], np.zeros((), np.uint32))
    return inner.view(np.int32).astype(np.int64)


def _summed(site: Site, guard: Guard, target: int, sources: Sequence[Operand]) -> Step:
    type_name = site.instruction.modifiers[-1]
    slots = [site.source(operand, type_name) for operand in sources]
    marks = [site.code.wrapping.get(slot, -1) for slot in slots]
    opcode, here = site.instruction.opcode, np.int64(site.index + 1)

    def sum_up(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        numbers: list[NDArray[np.int64]] = []
        origin: Value = NONE
        for slot, shadow in zip(slots, marks, strict=True):
            number = value_of(registers, slot).view(np.int32).astype(np.int64)
            known = _of(registers, shadow)
            if known.ndim:
                number = number + (known >> _HALF << _HALF)
                origin = np.where(origin != 0, origin, known & _ORIGIN)
            numbers.append(number)
        if opcode in _BYTES:  # the first two operands are no numbers
            numbers = [_of_bytes(site, [value_of(registers, slot) for slot in slots]), numbers[-1]]
            origin = _of(registers, marks[-1]) & _ORIGIN
        whole = np.clip(_exact(opcode, numbers), -_MOST, _MOST)
        rounds = (whole + (1 << (_HALF - 1))) >> _HALF
        if opcode in _HALVES:  # of numbers beyond 24 bits something else is multiplied
            beyond = reduce(np.logical_or, [_is_beyond(number, type_name) for number in numbers[:2]])
            rounds = np.where(beyond & (rounds == 0), 1, rounds)
        new: Value = NONE
        if rounds.any():
            new = np.where(rounds != 0, rounds << _HALF | np.where(origin != 0, origin, here), NONE)
            new = np.broadcast_to(new, group.size).copy()
        if new.ndim or not has_none(registers[target]):
            put(registers, target, new, guard.lanes(registers))

    return sum_up


def _of(registers: Registers, slot: int) -> Value:
    found = registers[slot] if slot >= 0 else None
    return NONE if found is None else found
