"""Registers on the way to an address, and whether the sizes of a launch let a signed 32-bit one of them wrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from warploom.ptx.routine import Routine
from warploom.ptx.syntax import Address, Instruction, Integer, Name, Operand

ACCESSES = frozenset(("ld", "ldu", "st", "atom", "red", "cp"))
CARRIES = frozenset(("mov", "selp", "cvta"))
_SIGNED = frozenset(("div.s32", "rem.s32", "shr.s32", "mul.hi.s32", "min.s32", "max.s32", "abs.s32"))
"""Instructions that read a signed number: of one that has wrapped they make another wrong one."""
_UNSIGNED = frozenset(("mul.hi.u32", "mul.wide.u32", "rem.u32", "div.u32"))
"""Instructions that take bits of a number: what they read may be a hash, which wraps by intent."""
_SUMS: Mapping[str, int] = {
    "add": 2, "sub": 2, "mul": 2, "mad": 3, "shl": 2, "neg": 1, "mul24": 2, "mad24": 3, "dp4a": 3, "dp2a": 4,
}  # fmt: skip
"""Opcodes and how many operands they read."""
WORDS, LONGS = frozenset(("s32", "u32", "b32")), frozenset(("s64", "u64", "b64"))


def is_sum(instruction: Instruction, words: frozenset[str]) -> bool:
    """Whether it adds, multiplies or shifts words of this width, and keeps the width."""
    modifiers = instruction.modifiers
    is_low = instruction.opcode not in ("mul", "mad", "mul24", "mad24") or modifiers[:1] == ("lo",)
    return instruction.opcode in _SUMS and is_low and modifiers[-1:] != () and modifiers[-1] in words and "cc" not in modifiers


def is_extension(instruction: Instruction) -> bool:
    name = instruction.name
    return name in ("cvt.s64.s32", "mul.wide.s32", "mad.wide.s32")


def names_in(operands: Sequence[Operand]) -> list[str]:
    return [operand.text for operand in operands if isinstance(operand, Name)]


def hands_on(instruction: Instruction) -> bool:
    """Whether its result is wrong if a signed number that it reads has wrapped."""
    return instruction.name in _SIGNED


@dataclass(frozen=True, slots=True)
class Indices:
    """Registers that lead to an address."""

    words: frozenset[str]
    """Signed indices of 32 bits, and what they are summed of."""
    longs: frozenset[str]
    """Registers of 64 bits, in which an index may be."""


def indices(routine: Routine) -> Indices:
    """Registers that hold an index on its way to an address; those of which an unsigned instruction takes bits are left out."""
    words, longs = set[str](), set[str]()
    hashes = {name for i in routine.instructions if i.name in _UNSIGNED for name in names_in(i.operands[1:])}
    for instruction in routine.instructions:
        if instruction.opcode in ACCESSES:
            longs.update(o.base.text for o in instruction.operands if isinstance(o, Address) and isinstance(o.base, Name))
    before = -1
    while before != len(words) + len(longs):
        before = len(words) + len(longs)
        for instruction in routine.instructions:
            target, *sources = instruction.operands[:5] or (None,)
            if not isinstance(target, Name):
                continue
            carries = instruction.opcode in CARRIES
            if target.text in longs:
                if is_extension(instruction):
                    words.update(names_in(sources[:2]))
                    longs.update(names_in(sources[2:]))
                elif carries or is_sum(instruction, LONGS):
                    longs.update(names_in(sources))
            if target.text in words and (carries or is_sum(instruction, WORDS) or hands_on(instruction)):
                words.update(names_in(sources))
    return Indices(frozenset(words - hashes), frozenset(longs))


Span = tuple[int, int]
_MOST_OF_BYTES = 2 * 65535 * 255
"""No four products of bytes (dp4a), nor two of words and bytes (dp2a), are greater."""
_WORD: Span = -(1 << 31), (1 << 31) - 1


def may_wrap(
    routine: Routine, found: Indices, grid: Sequence[int], block: Sequence[int], numbers: Mapping[str, int]
) -> bool:  # fmt: skip
    """Whether an index is made of a sum or product that the sizes of the launch let wrap.

    numbers: values of the parameters that are whole numbers. Data are taken for 0, and a register of a loop for what it is in the
    first round, so that an index that only they make great is not seen.
    """
    if not found.words:
        return False
    extents = {"tid": block, "ntid": block, "ctaid": grid, "nctaid": grid}
    defined: dict[str, list[Instruction]] = {}
    for instruction in routine.instructions:
        if instruction.operands and isinstance(instruction.operands[0], Name):
            defined.setdefault(instruction.operands[0].text, []).append(instruction)
    known: dict[str, Span] = {}
    done: set[str] = set()
    wraps = False

    def read(instruction: Instruction) -> Sequence[Operand]:
        """The operands that its result is made of, as far as it is followed."""
        sources = instruction.operands[1:]
        if instruction.opcode == "mov":
            return sources[:1]
        if instruction.opcode == "selp":
            return sources[:2]
        return sources if is_sum(instruction, WORDS) else ()

    def of(operand: Operand) -> Span:
        match operand:
            case Integer(value):
                return value, value
            case Name(text) if text.startswith("%") and text[1:].partition(".")[0] in extents:
                root, _, axis = text[1:].partition(".")
                size = extents[root]["xyz".index(axis)] if axis in ("x", "y", "z") else 1
                return (size, size) if root.startswith("n") else (0, size - 1)
            case Name(text):
                return known.get(text, (0, 0))
            case _:
                return 0, 0

    def result(instruction: Instruction, name: str) -> Span:
        nonlocal wraps
        sources = instruction.operands[1:]
        if instruction.name.startswith("ld.param") and isinstance(sources[0], Address) and isinstance(sources[0].base, Name):
            value = 0 if sources[0].offset else numbers.get(sources[0].base.text, 0)
            return value, value
        arguments = [of(operand) for operand in read(instruction)]
        if instruction.opcode in ("mov", "selp"):
            return reduce(_joined, arguments)
        if not arguments:
            return 0, 0
        low, high = _ranged(instruction.opcode, arguments)
        if low < _WORD[0] or high > _WORD[1]:
            wraps |= name in found.words
            return _WORD
        return low, high

    left = sorted(found.words, reverse=True)
    while left:  # a stack: chains of unrolled code are longer than Python calls may be deep
        name = left[-1]
        if name not in known:
            known[name] = 0, 0  # where it is asked for again, in a loop
            left += [n for i in defined.get(name, []) for n in names_in(read(i)) if n in defined and n not in known]
        else:
            left.pop()
            if name not in done:
                done.add(name)
                known[name] = reduce(_joined, [result(i, name) for i in defined.get(name, [])], (0, 0))
    return wraps


def _joined(x: Span, y: Span) -> Span:
    return min(x[0], y[0]), max(x[1], y[1])


def _ranged(opcode: str, of: Sequence[Span]) -> Span:
    match opcode, of:
        case "add", [x, y]:
            return x[0] + y[0], x[1] + y[1]
        case "sub", [x, y]:
            return x[0] - y[1], x[1] - y[0]
        case "neg", [x]:
            return -x[1], -x[0]
        case "shl", [x, y]:
            return _ranged("mul", [x, (1 << max(0, min(y[0], 32)), 1 << max(0, min(y[1], 32)))])
        case "mul", [x, y]:
            corners = [p * q for p in x for q in y]
            return min(corners), max(corners)
        case "mul24", [x, y]:
            return _ranged("mul", [x, y])
        case "mad" | "mad24", [x, y, z]:
            return _ranged("add", [_ranged("mul", [x, y]), z])
        case "dp4a" | "dp2a", [_, _, x]:
            return x[0] - _MOST_OF_BYTES, x[1] + _MOST_OF_BYTES
        case _:
            return 0, 0
