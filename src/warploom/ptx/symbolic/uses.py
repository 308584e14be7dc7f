"""Registers that instructions read and write, and those that are live where blocks begin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warploom.ptx.flow import FlowGraph
from warploom.ptx.routine import Routine
from warploom.ptx.symbolic.operations import PURE, is_carrying
from warploom.ptx.syntax import Address, Group, Instruction, Name, Negation, Operand, Pair, Subscript, Sum, Vector

CARRY = "%cc"
"""The condition code of `add.cc` and its kin, treated as a register."""

_ELEMENT = re.compile(r"\.(?:[xyzw]|[rgba]|b[0-3]|h[01])\Z")

_FIRST_WRITTEN = PURE | {
    "mov", "ld", "ldu", "cvta", "atom", "shfl", "vote", "match", "redux", "activemask", "elect", "tex", "tld4", "txq", "suld",
    "suq",     "ldmatrix", "mma", "wmma", "createpolicy", "mapa", "getctarank", "movmatrix", "isspacep", "alloca", "stacksave",
    "istypep",
}  # fmt: skip
_NONE_WRITTEN = frozenset({
    "st", "red", "bra", "brx", "ret", "exit", "trap", "brkpt", "nanosleep", "membar", "fence", "prefetch", "prefetchu", "bar",
    "barrier", "stmatrix", "discard", "applypriority", "sust", "sured", "pmevent", "setmaxnreg", "cp", "stackrestore",
    "griddepcontrol",
})  # fmt: skip


def registers_in(operand: Operand, routine: Routine) -> Iterator[str]:
    """Registers that an operand names, vector registers whole."""
    match operand:
        case Name(text):
            if text in routine.registers:
                yield text
            elif (base := _ELEMENT.sub("", text)) in routine.registers:
                yield base
        case Address(base, _, rest):
            yield from registers_in(base, routine)
            for part in rest:
                yield from registers_in(part, routine)
        case Vector(elements) | Group(elements):
            for element in elements:
                yield from registers_in(element, routine)
        case Pair(first, second):
            yield from registers_in(first, routine)
            yield from registers_in(second, routine)
        case Negation(inner):
            yield from registers_in(inner, routine)
        case Sum(base):
            yield from registers_in(base, routine)
        case Subscript(base, index):
            yield from registers_in(base, routine)
            yield from registers_in(index, routine)
        case _:
            pass


def destinations(instruction: Instruction) -> range:
    """Positions of the operands that are written; of an unknown instruction, all operands (its addresses are only read)."""
    operands = instruction.operands
    opcode = instruction.opcode
    none, first = range(0), range(min(1, len(operands)))
    if opcode in _NONE_WRITTEN:
        return first if opcode in ("bar", "barrier") and "red" in instruction.modifiers else none
    if opcode in _FIRST_WRITTEN:
        return none if opcode == "wmma" and "store" in instruction.modifiers else first
    if opcode == "call":
        return first if len(operands) > 1 and isinstance(operands[0], Group) else none
    if opcode == "mbarrier":  # a state or a predicate comes before the address
        return none if not operands or isinstance(operands[0], Address) else first
    return range(len(operands))


def written(instruction: Instruction, routine: Routine) -> tuple[str, ...]:
    """Registers written, the condition code among them."""
    found: list[str] = []
    for position in destinations(instruction):
        operand = instruction.operands[position]
        if not isinstance(operand, Address):
            found += registers_in(operand, routine)
    if "cc" in instruction.modifiers:
        found.append(CARRY)
    return tuple(found)


def read(instruction: Instruction, routine: Routine) -> tuple[str, ...]:
    """Registers read; those that a guarded or partial write keeps count as read."""
    targets = destinations(instruction)
    known = instruction.opcode in _FIRST_WRITTEN | _NONE_WRITTEN | {"call", "mbarrier"}
    found: list[str] = []
    for position, operand in enumerate(instruction.operands):
        partly = isinstance(operand, Name) and operand.text not in routine.registers  # an element of a vector register
        if position not in targets or not known or partly:
            found += registers_in(operand, routine)
    if instruction.guard is not None:
        found += [*registers_in(Name(instruction.guard.name), routine), *written(instruction, routine)]
    if is_carrying(instruction):
        found.append(CARRY)
    return tuple(found)


def live_at_entry(routine: Routine, graph: FlowGraph) -> tuple[frozenset[str], ...]:
    """Registers that may be read before they are written, for every block."""
    number: dict[str, int] = {}
    exposed: list[int] = []
    killed: list[int] = []
    for block in graph.blocks:
        before, over = 0, 0
        for instruction in routine.instructions[block.start : block.end]:
            for register in read(instruction, routine):
                bit = 1 << number.setdefault(register, len(number))
                if not over & bit:
                    before |= bit
            for register in written(instruction, routine):
                over |= 1 << number.setdefault(register, len(number))
        exposed.append(before)
        killed.append(over)
    live = exposed[:]
    changed = True
    while changed:
        changed = False
        for block in reversed(graph.order):
            after = 0
            for successor in graph.blocks[block].successors:
                after |= live[successor]
            now = exposed[block] | (after & ~killed[block])
            if now != live[block]:
                live[block] = now
                changed = True
    names = list(number)
    return tuple(frozenset(names[n] for n in _bits(word)) for word in live)


def _bits(word: int) -> Iterator[int]:
    while word:
        low = word & -word
        yield low.bit_length() - 1
        word ^= low
