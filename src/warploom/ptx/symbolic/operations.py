"""Results of instructions without memory, as terms (PTX ISA 9.7.1 to 9.7.9).

Integer, logic, comparison, move and conversion instructions are exact; floating-point ones are functions named as the instruction
is written, so that equal operations on equal operands are equal terms. `PURE` lists the opcodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from warploom.ptx.routine import TYPE_BITS
from warploom.ptx.symbolic import bitwise
from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.comparisons import absolute, chosen, equal, less, less_or_equal
from warploom.ptx.symbolic.term import Term
from warploom.ptx.syntax import Instruction

SIGNED = frozenset({"s8", "s16", "s32", "s64"})
INTEGERS = SIGNED | {"u8", "u16", "u32", "u64", "b8", "b16", "b32", "b64"}


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction with its source operands read at the widths its types ask for."""

    algebra: Algebra
    instruction: Instruction
    types: tuple[str, ...]
    """Type modifiers in order; the first is the result's."""
    sources: tuple[Term, ...]
    carry: Term
    """The condition code before the instruction, width 1."""

    @property
    def modifiers(self) -> tuple[str, ...]:
        return self.instruction.modifiers

    @property
    def is_signed(self) -> bool:
        return self.types[0] in SIGNED

    @property
    def is_integer(self) -> bool:
        return all(t in INTEGERS for t in self.types)

    @property
    def width(self) -> int:
        return TYPE_BITS[self.types[0]]

    def const(self, value: int) -> Term:
        return self.algebra.const(value, self.width)

    def function(self, width: int) -> Term:
        """An uninterpreted function of the sources, named as the instruction is written."""
        return self.algebra.table.function(self.instruction.name, width, *self.sources)


def types_of(instruction: Instruction) -> tuple[str, ...]:
    """Type modifiers in order; none: ()."""
    return tuple(m for m in instruction.modifiers if m in TYPE_BITS)


def source_widths(instruction: Instruction, types: tuple[str, ...], count: int) -> tuple[int, ...]:
    """Bits of the sources; () when the types do not tell."""
    if not types:
        return ()
    first = TYPE_BITS[types[0]]
    last = TYPE_BITS[types[-1]]
    match instruction.opcode:
        case "shl" | "shr":
            return first, 32
        case "shf" | "bfe":
            return (first, 32, 32) if instruction.opcode == "bfe" else (32, 32, 32)
        case "bfi":
            return first, first, 32, 32
        case "mad" if "wide" in instruction.modifiers:
            return first, first, 2 * first
        case "selp":
            return first, first, 1
        case "slct":
            return first, first, last
        case "setp" | "set":
            return last, last, 1
        case "cvt" | "popc" | "clz" | "bfind":
            return (last,) * count
        case _:
            return (first,) * count


def _add(step: Step) -> Term:
    x, y = step.sources
    return step.algebra.add(x, y, -1 if step.instruction.opcode == "sub" else 1)


def _mul(step: Step) -> Term:
    x, y = step.sources[:2]
    algebra = step.algebra
    if "wide" in step.modifiers:
        extend = algebra.sext if step.is_signed else algebra.zext
        return algebra.mul(extend(x, 2 * x.width), extend(y, 2 * y.width))
    if "hi" in step.modifiers:
        return bitwise.multiply_high(algebra, x, y, is_signed=step.is_signed)
    return algebra.mul(x, y)


def _mad(step: Step) -> Term:
    return step.algebra.add(_mul(step), step.sources[2])


def _carrying(step: Step) -> tuple[Term, Term]:
    """Result and condition code of `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc` (PTX ISA 9.7.2)."""
    algebra, opcode = step.algebra, step.instruction.opcode
    if opcode in ("mad", "madc"):
        x, y = _mul(step), step.sources[2]
    else:
        x, y = step.sources
    width = x.width
    takes = opcode in ("addc", "subc", "madc")
    factor = -1 if opcode.startswith("sub") else 1
    wide = algebra.add(algebra.zext(x, width + 8), algebra.zext(y, width + 8), factor)
    if takes:
        wide = algebra.add(wide, algebra.zext(step.carry, width + 8), factor)
    return algebra.trunc(wide, width), algebra.trunc(algebra.high(wide, width), 1)


def _min_max(step: Step) -> Term:
    name = ("s" if step.is_signed else "u") + step.instruction.opcode
    return chosen(step.algebra, name, *step.sources)


def _sad(step: Step) -> Term:
    x, y, z = step.sources
    algebra = step.algebra
    smaller = less(algebra, x, y, is_signed=step.is_signed)
    return algebra.add(z, algebra.select(smaller, algebra.sub(y, x), algebra.sub(x, y)))


def _rem(step: Step) -> Term:
    if step.algebra.facts.unsigned(step.sources[1])[0] == 0:
        return step.function(step.width)  # by zero it may be anything, not only x - 0 q
    return bitwise.remainder(step.algebra, *step.sources, is_signed=step.is_signed)


def _bit_field_extract(step: Step) -> Term:
    found = bitwise.bit_field(step.algebra, *step.sources, is_signed=step.is_signed)
    return step.function(step.width) if found is None else found


def _bit_field_insert(step: Step) -> Term:
    found = bitwise.bit_insert(step.algebra, *step.sources)
    return step.function(step.width) if found is None else found


def _shift_left(step: Step) -> Term:
    return bitwise.shift_left(step.algebra, *step.sources)


def _shift_right(step: Step) -> Term:
    return bitwise.shift_right(step.algebra, *step.sources, is_signed=step.is_signed)


def _funnel(step: Step) -> Term:
    """`shf` by a constant: bits of the 64-bit word whose lower half is the first source."""
    low, high, amount = step.sources
    if amount.value is None:
        return step.function(32)
    algebra = step.algebra
    count = min(amount.value, 32) if "clamp" in step.modifiers else amount.value & 31
    both = algebra.add(algebra.zext(low, 64), algebra.scaled(algebra.zext(high, 64), 1 << 32))
    if "l" in step.modifiers:
        return algebra.high(algebra.scaled(both, 1 << count), 32)
    return algebra.trunc(algebra.high(both, count), 32)


_LOOKUPS: dict[int, Callable[[Algebra, Term, Term, Term], Term]] = {
    0x80: lambda g, a, b, c: bitwise.bit_and(g, bitwise.bit_and(g, a, b), c),
    0xFE: lambda g, a, b, c: bitwise.bit_or(g, bitwise.bit_or(g, a, b), c),
    0x96: lambda g, a, b, c: bitwise.bit_xor(g, bitwise.bit_xor(g, a, b), c),
    0xF8: lambda g, a, b, c: bitwise.bit_or(g, a, bitwise.bit_and(g, b, c)),
    0xEA: lambda g, a, b, c: bitwise.bit_or(g, bitwise.bit_and(g, a, b), c),
    0xEC: lambda g, a, b, c: bitwise.bit_or(g, bitwise.bit_and(g, a, c), b),
    0xE0: lambda g, a, b, c: bitwise.bit_and(g, a, bitwise.bit_or(g, b, c)),
    0xC8: lambda g, a, b, c: bitwise.bit_and(g, bitwise.bit_or(g, a, c), b),
    0xA8: lambda g, a, b, c: bitwise.bit_and(g, bitwise.bit_or(g, a, b), c),
    0x78: lambda g, a, b, c: bitwise.bit_xor(g, a, bitwise.bit_and(g, b, c)),
    0x6A: lambda g, a, b, c: bitwise.bit_xor(g, bitwise.bit_and(g, a, b), c),
    0xCA: lambda g, a, b, c: bitwise.bit_or(g, bitwise.bit_and(g, a, b), bitwise.bit_and(g, bitwise.bit_not(g, a), c)),
}
"""Truth tables of `lop3` with a, b, c as 0xF0, 0xCC, 0xAA."""


def _lop3(step: Step) -> Term:
    a, b, c, table = step.sources[:4]
    build = _LOOKUPS.get(-1 if table.value is None or "BoolOp" in step.modifiers else table.value & 0xFF)
    return step.function(32) if build is None else build(step.algebra, a, b, c)


def _prmt(step: Step) -> Term:
    """`prmt` in its default mode with a constant selector that replicates no sign."""
    a, b, selector = step.sources
    if selector.value is None or selector.value & 0x8888 or step.modifiers != ("b32",):
        return step.function(32)
    algebra = step.algebra
    result = algebra.const(0, 32)
    for n in range(4):
        pick = selector.value >> (4 * n) & 7
        word = a if pick < 4 else b
        start = 8 * (pick & 3)
        byte = algebra.high(algebra.trunc(word, start + 8), start)
        result = algebra.add(result, algebra.zext(byte, 32), 1 << (8 * n))
    return result


def _logic(step: Step) -> Term:
    match step.instruction.opcode:
        case "and":
            return bitwise.bit_and(step.algebra, *step.sources)
        case "or":
            return bitwise.bit_or(step.algebra, *step.sources)
        case "xor":
            return bitwise.bit_xor(step.algebra, *step.sources)
        case "not":
            return step.algebra.invert(step.sources[0])
        case _:  # cnot: 1 if zero, else 0
            return step.algebra.zext(equal(step.algebra, step.sources[0], step.const(0)), step.width)


def _selp(step: Step) -> Term:
    x, y, condition = step.sources
    return step.algebra.select(condition, x, y)


def _slct(step: Step) -> Term:
    x, y, chooser = step.sources
    if step.types[-1] != "s32":
        return step.function(step.width)
    negative = less(step.algebra, chooser, step.algebra.const(0, 32), is_signed=True)
    return step.algebra.select(negative, y, x)


_COMPARISONS = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
})  # fmt: skip


def compared(step: Step) -> tuple[Term, Term]:
    """Both results of `setp`: (a compared with b) combined with c, and the same with the comparison negated; of packed pairs the
    second is that of the upper halves."""
    algebra = step.algebra
    x, y = step.sources[:2]
    of = step.types[-1]
    comparison = next((m for m in step.modifiers if m in _COMPARISONS), "")
    if of not in INTEGERS or not comparison:
        name = ".".join((comparison, *(m for m in step.modifiers if m == "ftz"), of))
        holds = algebra.table.function(name, 1, x, y)
        if of.endswith("x2"):
            return _combined(step, holds), _combined(step, algebra.table.function(f"{name}.upper", 1, x, y))
    else:
        is_signed = of in SIGNED
        match comparison:
            case "eq":
                holds = equal(algebra, x, y)
            case "ne":
                holds = algebra.negation(equal(algebra, x, y))
            case "lt" | "lo":
                holds = less(algebra, x, y, is_signed=is_signed)
            case "le" | "ls":
                holds = less_or_equal(algebra, x, y, is_signed=is_signed)
            case "gt" | "hi":
                holds = less(algebra, y, x, is_signed=is_signed)
            case _:
                holds = less_or_equal(algebra, y, x, is_signed=is_signed)
    return _combined(step, holds), _combined(step, algebra.negation(holds))


def _combined(step: Step, holds: Term) -> Term:
    """The comparison combined with the predicate c, if there is one."""
    if len(step.sources) < 3:
        return holds
    algebra, other = step.algebra, step.sources[2]
    if "and" in step.modifiers:
        return algebra.conjunction(holds, other)
    return algebra.disjunction(holds, other) if "or" in step.modifiers else algebra.add(holds, other)


def _set(step: Step) -> Term:
    holds = compared(step)[0]
    if step.types[0] == "f32":
        return step.algebra.select(holds, step.const(0x3F800000), step.const(0))
    if step.types[0] not in INTEGERS:
        return step.function(step.width)
    return step.algebra.select(holds, step.const(-1), step.const(0))


def _cvt(step: Step) -> Term:
    (x,) = step.sources
    to, of = step.types
    width = TYPE_BITS[to]
    if width <= x.width:
        return step.algebra.trunc(x, width)
    return step.algebra.sext(x, width) if of in SIGNED else step.algebra.zext(x, width)


_INTEGER_OPERATIONS: dict[str, Callable[[Step], Term]] = {
    "add": _add, "sub": _add, "mul": _mul, "mad": _mad, "min": _min_max, "max": _min_max, "sad": _sad,
    "div": lambda s: bitwise.divide(s.algebra, *s.sources, is_signed=s.is_signed),
    "rem": _rem,
    "abs": lambda s: absolute(s.algebra, *s.sources), "neg": lambda s: s.algebra.neg(*s.sources),
    "bfe": _bit_field_extract, "bfi": _bit_field_insert, "cvt": _cvt,
}  # fmt: skip
"""Exact on integer types without `.sat`, `.relu` and the like; functions otherwise."""

_WORD_OPERATIONS: dict[str, Callable[[Step], Term]] = {
    "shl": _shift_left, "shr": _shift_right, "shf": _funnel, "lop3": _lop3, "prmt": _prmt, "and": _logic, "or": _logic,
    "xor": _logic, "not": _logic, "cnot": _logic, "selp": _selp, "slct": _slct, "set": _set,
}  # fmt: skip
"""Exact on any type."""

_FUNCTIONS = frozenset({
    "add", "sub", "mul", "mad", "fma", "div", "rem", "abs", "neg", "min", "max", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2",
    "ex2", "tanh", "copysign", "testp", "cvt", "popc", "clz", "brev", "bfind", "fns", "szext", "bmsk", "dp4a", "dp2a", "mul24",
    "mad24",
    "isspacep", "bfe", "bfi", "sad",
    "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset", "vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2",
    "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
})  # fmt: skip
"""Functions of their sources alone where not exact."""

_INEXACT_MODIFIERS = frozenset({"sat", "relu", "xorsign", "pack", "satfinite", "rs"})
CARRYING = frozenset({"addc", "subc", "madc"})
_WITH_CARRY = CARRYING | {"add", "sub", "mad"}
PURE = frozenset({*_INTEGER_OPERATIONS, *_WORD_OPERATIONS, *_FUNCTIONS, *CARRYING, "setp"})
"""Opcodes whose one destination (`setp`: two) comes first and depends on nothing but the sources and the condition code."""

Model: TypeAlias = Literal["exact", "uninterpreted"]
_EXACT = frozenset({*_INTEGER_OPERATIONS, *_WORD_OPERATIONS, *CARRYING, "setp", "mov", "cvta"})
MODELLED: Mapping[str, Model] = MappingProxyType(
    {o: "exact" if o in _EXACT else "uninterpreted" for o in sorted(_EXACT | _FUNCTIONS | {"ld", "ldu"})}
)
"""Model of the results, by opcode; those of all others are opaque: values of which nothing is known.

exact: bit-vector terms, on integers, bits and predicates, without `.sat` and the like; `shf`, `prmt` and `lop3` by constant
amounts, selectors and the usual tables, `bfe` and `bfi` of constant fields, `rem` by what cannot be 0; otherwise uninterpreted.
uninterpreted: a function of the operands, of `ld` and `ldu` one of the address and the state of memory.
"""


def is_carrying(instruction: Instruction) -> bool:
    """Whether it writes the condition code, or reads it."""
    return instruction.opcode in CARRYING or "cc" in instruction.modifiers


_SOURCES: dict[str, range] = {
    "mad": range(3, 4), "madc": range(3, 4), "sad": range(3, 4), "bfe": range(3, 4), "bfi": range(4, 5), "shf": range(3, 4),
    "lop3": range(4, 6), "prmt": range(3, 4), "selp": range(3, 4), "slct": range(3, 4), "setp": range(2, 4), "set": range(2, 4),
    "neg": range(1, 2), "abs": range(1, 2), "not": range(1, 2), "cnot": range(1, 2), "cvt": range(1, 2),
}  # fmt: skip
"""Number of sources that the exact operations take; 2 unless listed."""


_TYPES: dict[str, range] = {"cvt": range(2, 3), "slct": range(2, 3), "set": range(2, 3)}
"""Number of types that the exact operations name; at least 1 unless listed."""


def extended(algebra: Algebra, value: Term, width: int, of: str) -> Term:
    """A result of type `of` in a register of `width` bits: sign-extended if the type is signed, else zero-extended; cut where the
    register is narrower. Source: PTX ISA 9.4.1, relaxed type-checking rules for destination operands."""
    if width <= value.width:
        return algebra.trunc(value, width)
    return algebra.sext(value, width) if of in SIGNED else algebra.zext(value, width)


def is_well_formed(step: Step) -> bool:
    """Whether the instruction has the operands and types that its operation asks for."""
    opcode = step.instruction.opcode
    exact = opcode in _WORD_OPERATIONS or opcode in _INTEGER_OPERATIONS or opcode == "setp" or is_carrying(step.instruction)
    if not exact:
        return True
    if is_carrying(step.instruction):
        return (
            opcode in _WITH_CARRY
            and step.is_integer
            and bool(step.types)
            and len(step.sources) in _SOURCES.get(opcode, range(2, 3))
        )
    if len(step.sources) not in _SOURCES.get(opcode, range(2, 3)):
        return opcode in _FUNCTIONS and not step.is_integer
    return len(step.types) in _TYPES.get(opcode, range(1, 9))


def results(step: Step, width: int) -> tuple[Term, ...]:
    """Values of the destinations of a pure instruction, for `setp` both; with `.cc` the condition code follows.

    `width`: bits of the first destination's register, where the types do not tell.
    """
    opcode = step.instruction.opcode
    if opcode == "setp":
        return compared(step)
    exact = not _INEXACT_MODIFIERS.intersection(step.modifiers)
    if is_carrying(step.instruction):
        return _carrying(step)
    build = _WORD_OPERATIONS.get(opcode)
    if build is None and exact and step.types and step.is_integer:
        build = _INTEGER_OPERATIONS.get(opcode)
    if build is not None:
        return (build(step),)
    return (step.function(width),)
