"""Reads and writes operands of an instruction for some threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from warploom.core import f32, f64
from warploom.ptx import TYPE_BITS
from warploom.ptx.syntax import Address, Float, Instruction, Integer, Name, Negation, Operand, Pair, Sum, Vector
from warploom.synth.compiled.data import Data, Indexed, Undefined, Value
from warploom.synth.compiled.placed import Placed, placed, shifted
from warploom.synth.compiled.placed import Variable as PlacedVariable
from warploom.synth.compiled.schedule import truth
from warploom.synth.compiled.threads import Block, Lanes, Launch

WARP_NUMBER = "%warpid by the thread's number"
"""A note for the domain: hardware may number warps as it likes (PTX ISA, %warpid)."""
Reader: TypeAlias = Callable[[Block, Lanes], list[Value]]
Writer: TypeAlias = Callable[[Block, Lanes, list[Value]], None]


@dataclass(frozen=True, slots=True)
class Operands:
    """Operand access for one routine of a launch."""

    launch: Launch

    def reader(self, operand: Operand, type_name: str, index: int) -> Reader:
        """Values of a source operand of that PTX type (`b32`, `f32`, `pred`)."""
        bits = TYPE_BITS.get(type_name, 64)
        match operand:
            case Integer(value):
                known = value & ((1 << bits) - 1) if type_name != "pred" else int(value != 0)
                return lambda _, lanes: [known] * len(lanes)
            case Float(code, width):
                known = _float_bits(code, width, type_name)
                return lambda _, lanes: [known] * len(lanes)
            case Name(text):
                return self._named(text, bits, index)
            case Negation(Name(text)):
                inner = self._named(text, 1, index)

                def negated(block: Block, lanes: Lanes) -> list[Value]:
                    values = inner(block, lanes)
                    return [
                        v if isinstance(v, Undefined) else not truth(block, v, index, t)
                        for t, v in zip(lanes, values, strict=True)
                    ]

                return negated
            case Sum(Name(text), offset):
                inner = self._named(text, bits, index)
                return lambda block, lanes: [shifted(v, offset) if isinstance(v, int) else v for v in inner(block, lanes)]
            case _:
                raise self.launch.unsupported(f"expected a register or a number, got an operand like {operand}", index)

    def _named(self, text: str, bits: int, index: int) -> Reader:
        routine = self.launch.routine
        base, dot, component = text.rpartition(".")
        if text in routine.registers and text not in routine.register_vectors:
            own = TYPE_BITS[routine.registers[text]]
            if (own == 1) != (bits == 1):
                wanted = "a predicate" if bits == 1 else "a register that holds numbers"
                raise self.launch.unsupported(f"expected {wanted}, got {text} of type .{routine.registers[text]}", index)
            if own < bits:
                raise self.launch.unsupported(f"expected a register of {bits} bits, got {text}, which has {own}", index)
            if own == bits:
                return lambda block, lanes: block.read(text, lanes)
            data = self.launch.data
            return lambda block, lanes: [data.extract(v, 0, bits, own) for v in block.read(text, lanes)]
        if dot and base in routine.register_vectors:
            return lambda block, lanes: block.read(f"{base}.{component}", lanes)
        if text == "WARP_SZ":
            return lambda _, lanes: [32] * len(lanes)
        if self._has_address(text):
            return self._address_of(text)
        if text.startswith("%"):

            def special(block: Block, lanes: Lanes) -> list[Value]:
                if text == "%warpid":
                    self.launch.notes.add(WARP_NUMBER)
                if text not in block.registers:
                    raise self.launch.unsupported(f"expected a special register that this runner knows, got {text}", index)
                return block.read(text, lanes)

            return special
        raise self.launch.unsupported(f"expected a register or a variable in memory, got {text}", index)

    def _has_address(self, text: str) -> bool:
        launch = self.launch
        own = launch.routine.variables.get(text)
        is_shared = any(v.name == text for v in launch.module_shared)
        return text in launch.module_variables or is_shared or (own is not None and own.space in ("shared", "local"))

    def _address_of(self, text: str) -> Reader:
        region = self.launch.module_variables.get(text)
        if region is not None:
            known = PlacedVariable(region.size_bytes, region.align, is_small=False, is_allocated=False, base=region.base)
            address = self.launch.places.address(region.name, known)
            return lambda _, lanes: [address] * len(lanes)
        return lambda block, lanes: [block.names[text]] * len(lanes)

    def writer(self, operand: Operand, index: int) -> Writer:
        match operand:
            case Name("_"):
                return lambda block, lanes, values: None
            case Name(text):
                return lambda block, lanes, values: block.write(text, lanes, values)
            case _:
                raise self.launch.unsupported(f"expected a register to write, got an operand like {operand}", index)

    def pieces(self, operand: Operand) -> tuple[Operand, ...]:
        """The elements of a vector operand, or the operand alone."""
        return operand.elements if isinstance(operand, Vector) else (operand,)

    @staticmethod
    def pair(operand: Operand) -> tuple[Operand, Operand | None]:
        """`d|p` as its two parts."""
        return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)

    def address(self, operand: Operand, index: int, *, of_data: bool = False) -> Reader:
        """Addresses of `[base + offset]`: known numbers; of_data: also those of which a part depends on data."""
        if not isinstance(operand, Address) or operand.rest:
            raise self.launch.unsupported("expected an address [register + offset]", index)
        offset = operand.offset
        is_wide = not (isinstance(operand.base, Name) and TYPE_BITS.get(
            self.launch.routine.registers.get(operand.base.text, "b64"), 64) == 32)  # fmt: skip
        inner = self.reader(operand.base, "u64" if is_wide else "u32", index)
        mask = (1 << 64) - 1 if is_wide else (1 << 32) - 1

        def run(block: Block, lanes: Lanes) -> list[Value]:
            found: list[Value] = []
            for t, value in zip(lanes, inner(block, lanes), strict=True):
                if of_data and is_wide and isinstance(value, Indexed):
                    found.append(Indexed(placed(value.base + offset, value.base.of), value.offset))
                    continue
                if not isinstance(value, int):
                    raise self._bad_address(block, value, t, index)
                if (address := (value + offset) & mask) == value:
                    found.append(value)
                    continue
                found.append(placed(address, value.of) if isinstance(value, Placed) else address)
            return found

        return run

    def _bad_address(self, block: Block, value: Value, thread: int, index: int) -> Exception:
        if isinstance(value, Undefined):
            message = f"expected a defined address, got one from the undefined value of {value.reason}"
            return block.fault("undefined value", message, index, thread=thread, what="access")
        source = value.offset if isinstance(value, Indexed) else value
        return self.launch.unsupported(
            f"expected an address that does not depend on data, got one computed from {source}", index,
            "addresses depend on data: such kernels are run on numbers (`warploom ptx run`), not proved",
        )  # fmt: skip


def width_of(instruction: Instruction, default: str) -> str:
    """The type of an instruction: its last modifier that is one."""
    return next((m for m in reversed(instruction.modifiers) if m in TYPE_BITS), default)


def _float_bits(code: int, width: int, type_name: str) -> int:
    bits = TYPE_BITS.get(type_name, 64)
    if width == bits:
        return code
    if width == 64 and bits == 32:
        return Data.encoded(float(Data.decoded(code, f64)), f32)
    return code & ((1 << bits) - 1)
