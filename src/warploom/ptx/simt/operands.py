"""Operands as slots: registers, constants, special registers and addresses all become an index into a group's registers."""

from __future__ import annotations

import struct

import numpy as np

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.ptx.routine import SPECIAL_REGISTERS, TYPE_BITS
from warploom.ptx.simt.code import Code, Group, Launched, RunningBlocks, Step
from warploom.ptx.simt.threads import Registers, Value
from warploom.ptx.syntax import Float, Instruction, Integer, Name, Negation, Operand, Sum, Vector, operand_text

DTYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.bool_), 8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32), 64: np.dtype(np.uint64),
}  # fmt: skip
CARRY = "CC.CF"


def value_of(registers: Registers, slot: int) -> Value:
    """A register's value; the flow analysis made sure that there is one."""
    value = registers[slot]
    assert value is not None
    return value


def dtype_of(type_name: str) -> np.dtype[np.generic] | None:
    """NumPy's type for a register of this type; None for types that have no NumPy word (b128)."""
    return DTYPES.get(TYPE_BITS.get(type_name, 0))


class Site:
    """One instruction while it is decoded: gives its operands slots and collects the steps that must run before it."""

    def __init__(self, launch: Launched, code: Code, index: int) -> None:
        self.launch = launch
        self.code = code
        self.index = index
        self.instruction: Instruction = code.routine.instructions[index]
        self.before: list[Step] = []

    # Errors

    def unsupported(self, what: str, fix: str = "") -> UnsupportedError:
        message = f"expected an instruction that the interpreter knows, got {what}"
        return UnsupportedError(Diagnostic("PTX_UNSUPPORTED", message, self.code.routine.span(self.index), fix=fix))

    def wrong(self, expected: str, got: str) -> UserError:
        message = f"expected {expected} in {self.instruction.name}, got {got}"
        return UserError(Diagnostic("PTX_OPERAND", message, self.code.routine.span(self.index)))

    def located(self, error: UnsupportedError) -> UnsupportedError:
        """An error of the arithmetic with this instruction's place."""
        message = error.diagnostics[0].message
        return UnsupportedError(
            Diagnostic("PTX_UNSUPPORTED", f"{message} ({self.instruction.name})", self.code.routine.span(self.index))
        )

    # Slots

    def constant(self, value: Value | np.generic) -> int:
        """A slot that always holds the value."""
        name = f"={value.dtype}:{value!r}"
        slot = self.code.slots.get(name)
        if slot is None:
            slot = self._slot(name, value.dtype)
            self.code.template[slot] = value  # type: ignore[call-overload]
        return slot

    def _slot(self, name: str, dtype: np.dtype[np.generic] | None) -> int:
        slot = len(self.code.template)
        self.code.slots[name] = slot
        self.code.dtypes.append(dtype)
        self.code.template.append(None)
        return slot

    def extra(self, name: str, dtype: np.dtype[np.generic]) -> int:
        """A slot of the interpreter's own, dead between segments."""
        slot = self.code.slots.get(name)
        return self._slot(name, dtype) if slot is None else slot

    def register(self, operand: Operand, type_name: str = "") -> int:
        """The slot of a register that is written, of the type's width if one is given; `_` is a slot that nobody reads."""
        if isinstance(operand, Name):
            if operand.text == "_":
                return self.extra("_", DTYPES[32])
            slot = self.code.slots.get(operand.text)
            if slot is not None:
                if self.code.dtypes[slot] is None:
                    raise self.unsupported(f"a register of type .{self.declared(operand.text)}")
                if type_name and dtype_of(type_name) not in (None, self.code.dtypes[slot]):
                    raise self.wrong(f"a destination of type .{type_name}", f".{self.declared(operand.text)}")
                return slot
        raise self.wrong("a register", operand_text(operand))

    def declared(self, register: str) -> str:
        """The type of a register, or of the vector register that it is a component of."""
        registers = self.code.routine.registers
        return registers.get(register) or registers[register.rpartition(".")[0]]

    def dtype(self, slot: int) -> np.dtype[np.generic]:
        found = self.code.dtypes[slot]
        assert found is not None
        return found

    def source(self, operand: Operand, type_name: str) -> int:
        """The slot of an operand that is read as the type; immediates are converted to it."""
        match operand:
            case Integer(value):
                return self.constant(self.immediate(value, type_name))
            case Float(bits, width):
                return self.constant(self.immediate_float(bits, width, type_name))
            case Name("_"):
                raise self.wrong("a register or a constant", "_")
            case Name(text) if text in self.code.slots:
                slot = self.code.slots[text]
                if self.code.dtypes[slot] is None:
                    raise self.unsupported(f"a register of type .{self.declared(text)}")
                if (type_name == "pred") != (self.code.dtypes[slot] == np.bool_):
                    wanted = "a predicate" if type_name == "pred" else "a register of bits"
                    raise self.wrong(wanted, f"{text} (.{self.declared(text)})")
                return slot
            case Name("WARP_SZ"):
                return self.constant(self.immediate(32, type_name))
            case Name(text) if text in SPECIAL_REGISTERS:
                return self.special(text, type_name)
            case Name(text) if text in self.code.frame_offsets:
                return self.frame_address(text, 0, type_name)
            case Name(text):
                return self.constant(self.immediate(self.launch.address_of(text, self.code, self.index), type_name))
            case Sum(Name(text), offset) if text in self.code.frame_offsets:
                return self.frame_address(text, offset, type_name)
            case Sum(Name(text), offset) if text not in self.code.slots:
                return self.constant(self.immediate(self.launch.address_of(text, self.code, self.index) + offset, type_name))
            case Negation(inner):
                return self.negated(inner)
            case _:
                raise self.unsupported(f"the operand {operand_text(operand)} in {self.instruction.name}")

    def sized(self, operand: Operand, type_name: str) -> int:
        """Like `source`, but a register must have the type's width."""
        slot = self.source(operand, type_name)
        wanted = dtype_of(type_name)
        if wanted is not None and self.dtype(slot) != wanted:
            given, needed = self.dtype(slot).itemsize, wanted.itemsize
            if given > needed and isinstance(operand, Name):
                return self._narrowed(slot, wanted)
            raise self.wrong(f"an operand of {8 * needed} bits", f"one of {8 * given}")
        return slot

    def _narrowed(self, slot: int, wanted: np.dtype[np.generic]) -> int:
        target = self.extra(f"narrow{slot}:{wanted}", wanted)

        def narrow(group: Group, running: RunningBlocks) -> None:
            registers = group.registers
            registers[target] = value_of(registers, slot).astype(wanted)

        self.before.append(narrow)
        return target

    def negated(self, operand: Operand) -> int:
        slot = self.source(operand, "pred")
        target = self.extra(f"!{slot}", DTYPES[1])

        def negate(group: Group, running: RunningBlocks) -> None:
            group.registers[target] = np.logical_not(value_of(group.registers, slot))

        self.before.append(negate)
        return target

    def special(self, name: str, type_name: str) -> int:
        wanted = dtype_of(type_name) or DTYPES[32]
        slot = self.extra(f"{name}:{wanted}", wanted)

        def fill(group: Group, running: RunningBlocks) -> None:
            value = running.special(name, group)
            group.registers[slot] = value if value.dtype == wanted else value.astype(wanted)

        self.before.append(fill)
        return slot

    def frame_address(self, name: str, offset: int, type_name: str) -> int:
        """Address of a variable in the stack frame: the same for all threads of a group."""
        wanted = dtype_of(type_name) or DTYPES[64]
        slot = self.extra(f"&{name}+{offset}:{wanted}", wanted)
        inside = self.code.frame_offsets[name] + offset

        def fill(group: Group, running: RunningBlocks) -> None:
            group.registers[slot] = np.array(group.context.frame_base + inside, wanted)

        self.before.append(fill)
        return slot

    def immediate(self, value: int, type_name: str) -> Value | np.generic:
        if type_name == "pred":
            return np.bool_(value != 0)
        dtype = dtype_of(type_name)
        if dtype is None:
            raise self.unsupported(f"an immediate of type .{type_name}")
        bits = value & ((1 << 8 * dtype.itemsize) - 1)
        return np.array(bits, dtype)[()]

    def immediate_float(self, bits: int, width: int, type_name: str) -> Value | np.generic:
        size = TYPE_BITS.get(type_name, 0)
        if size == width:
            return self.immediate(bits, type_name)
        if (width, size) == (64, 32):
            value = struct.unpack("<d", struct.pack("<Q", bits))[0]
            with np.errstate(all="ignore"):
                return np.float64(value).astype(np.float32).view(np.uint32)
        if (width, size) == (32, 64):
            return np.uint32(bits).view(np.float32).astype(np.float64).view(np.uint64)
        raise self.wrong(f"an immediate of type .{type_name}", f"one of {width} bits")

    def elements(self, operand: Operand) -> tuple[Operand, ...]:
        """The parts of a vector operand; a register vector's components."""
        if isinstance(operand, Vector):
            return operand.elements
        if isinstance(operand, Name) and operand.text in self.code.routine.register_vectors:
            count = self.code.routine.register_vectors[operand.text]
            return tuple(Name(f"{operand.text}.{c}") for c in "xyzw"[:count])
        return (operand,)
