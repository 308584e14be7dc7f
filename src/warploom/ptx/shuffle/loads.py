"""Finds the loads that may be replaced by a shuffle, or feed one (PTX ISA 9.7.9.8, 9.7.9.9, chapter 8)."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ptx.instructions import is_strong, space
from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.syntax import Address, Guard, Instruction, Name, Operand, Vector

_HARMLESS = frozenset({"global", "shared", "shared::cta", "nc", "weak", "ca", "cg", "cs", "v2", "v4", "v8"})
_HINTS = ("L1::", "L2::")
"""Eviction priorities and prefetch sizes: they change no value. `L2::cache_hint` has an operand of its own."""


@dataclass(frozen=True, slots=True)
class Load:
    """A weak load that a shuffle may replace or start from."""

    index: int
    """Index of the instruction in its routine."""
    space: str
    """global or shared."""
    type: str
    element_bytes: int
    registers: tuple[str, ...]
    """One per element of the vector; `_` where the element is dropped."""
    register_bits: tuple[int, ...]
    address: Address
    qualifiers: frozenset[str]
    """Modifiers other than the type and the vector's length: equal between a load and the source of its value."""
    guard: Guard | None

    @property
    def form(self) -> tuple[str, int, frozenset[str]]:
        """The properties that two loads must share if one may supply the other: how a value is extended, its size, the
        qualifiers."""
        is_extended = any(bits > 8 * self.element_bytes for bits in self.register_bits)
        return "s" if is_extended and self.type[0] == "s" else "b", self.element_bytes, self.qualifiers

    @property
    def address_register(self) -> str | None:
        return self.address.base.text if isinstance(self.address.base, Name) else None


def is_counted(instruction: Instruction, *, shared: bool) -> bool:
    """Whether a report lists the instruction among the loads: those of global memory and, on request, of shared memory."""
    if instruction.opcode not in ("ld", "ldu"):
        return False
    return space(instruction) == "global" or (shared and space(instruction) == "shared")


def classify(routine: Routine, index: int) -> Load | str:
    """The load at `index`, or why it is left alone."""
    instruction = routine.instructions[index]
    modifiers = instruction.modifiers
    if instruction.opcode == "ldu":
        return "ldu has an order of its own"
    if is_strong(instruction):
        strong = next(m for m in modifiers if m in ("volatile", "relaxed", "acquire", "mmio"))
        return f"a {strong} load is never replaced"
    kind = modifiers[-1] if modifiers else ""
    bits = TYPE_BITS.get(kind, 0)
    if bits not in (8, 16, 32, 64):
        return f"loads of type .{kind} are not covered"
    for modifier in modifiers[:-1]:
        if modifier == "L2::cache_hint" or not (modifier in _HARMLESS or modifier.startswith(_HINTS)):
            return f"the qualifier .{modifier} is not covered"
    if len(instruction.operands) != 2:
        return "a load with a cache policy is not covered"
    registers = _registers(instruction.operands[0])
    address = instruction.operands[1]
    if registers is None or not isinstance(address, Address) or address.rest:
        return "its operands have a form that is not covered"
    widths: list[int] = []
    for register in registers:
        if register in routine.register_vectors:
            return "a vector register as the destination is not covered"
        declared = routine.registers.get(register, "") if register != "_" else "b32"
        width = TYPE_BITS.get(declared, 0)
        if width not in (16, 32, 64):
            return f"a destination of type .{declared or 'unknown'} is not covered"
        widths.append(width)
    qualifiers = frozenset(m for m in modifiers[:-1] if m not in ("v2", "v4", "v8", "weak"))
    where = space(instruction)
    return Load(index, where, kind, bits // 8, registers, tuple(widths), address, qualifiers, instruction.guard)


def _registers(operand: Operand) -> tuple[str, ...] | None:
    match operand:
        case Name(text):
            return (text,)
        case Vector(elements) if all(isinstance(e, Name) for e in elements):
            return tuple(e.text for e in elements if isinstance(e, Name))
        case _:
            return None
