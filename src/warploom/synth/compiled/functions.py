"""Results of each arithmetic instruction on register values (PTX ISA 9.7.1 to 9.7.9)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from warploom.core import BY_NAME, DType
from warploom.ptx import TYPE_BITS
from warploom.ptx.syntax import Instruction, Integer
from warploom.synth.compiled.arithmetic import FLUSHED, Arithmetic, NotFollowedError, register_kind
from warploom.synth.compiled.bit_fields import BitFields
from warploom.synth.compiled.data import Value
from warploom.synth.compiled.exact_quotients import ExactQuotients
from warploom.synth.compiled.quotients import quotient
from warploom.synth.compiled.threads import Launch

_KNOWN = frozenset({
    "rn", "rna", "rz", "rm", "rp", "rzi", "rni", "rmi", "rpi", "ftz", "approx", "full", "sat", "lo", "hi", "wide", "wrap",
    "clamp", "l", "r", "to", "shiftamt",
})  # fmt: skip
_OTHER_NUMBERS = frozenset({"ftz", "rz", "rm", "rp"})
"""Modifiers of float instructions whose result is not the nearest float."""
_OPAQUE = frozenset({"sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "abs"})


class Functions:
    """Chooses the operation by opcode, modifiers and type."""

    def __init__(self, launch: Launch, arithmetic: Arithmetic) -> None:
        self.launch = launch
        self.arithmetic = arithmetic
        self.bit_fields = BitFields(launch.data, arithmetic)
        self.quotients = ExactQuotients(arithmetic)

    def of(self, instruction: Instruction, type_name: str) -> tuple[Callable[..., Value], tuple[str, ...]]:
        """The function that an instruction of that type computes, and the types of its sources. NotFollowedError when it is
        not known here."""
        opcode, modifiers = instruction.opcode, instruction.modifiers
        unknown = [m for m in modifiers if m not in _KNOWN and m not in TYPE_BITS and opcode != "prmt"]
        if opcode in ("min", "max") and type_name == "f32":
            unknown = [m for m in unknown if m != "NaN"]
        is_mixed = opcode != "cvt" and sum(m in TYPE_BITS for m in modifiers) > 1  # a sum in f32 of an f16
        if unknown or is_mixed or not type_name:
            raise NotFollowedError(instruction.name)
        if not _OTHER_NUMBERS.isdisjoint(modifiers):
            self.quotients.is_off = True
        if opcode in ("min", "max") and instruction.operands[3:]:
            raise NotFollowedError(f"{instruction.name} of three")
        arithmetic = self.arithmetic
        same = (type_name,) * 3
        if opcode == "cvt":
            return self._conversion(instruction)
        kind = register_kind(type_name)
        if opcode in ("shl", "shr"):
            return arithmetic.shift(opcode, kind), (type_name, "u32")
        if opcode == "selp":
            return arithmetic.select(kind), (type_name, type_name, "pred")
        if (function := self.bit_fields.function(instruction, kind)) is not None:
            return function
        if kind.is_float:
            return self._real(instruction, kind), same
        if "sat" in modifiers or "clamp" in modifiers:
            raise NotFollowedError(instruction.name)
        match opcode:
            case "mul" | "mad" if "wide" in modifiers:
                wide = kind.bits * 2
                function = arithmetic.wide_product(kind)
                return self._with_sum(opcode, function, BY_NAME[f"u{wide}"]), (type_name, type_name, f"u{wide}")
            case "mul" | "mad" if "hi" in modifiers:
                return self._with_sum(opcode, arithmetic.high_product(kind), kind), same
            case "mul" | "mad":
                return self._with_sum(opcode, arithmetic.signless("mul", kind), kind), same
            case "add" | "sub" | "and" | "or" | "xor":
                return arithmetic.signless(opcode, kind), same
            case "min" | "max":
                return arithmetic.extreme(opcode, kind), same
            case "not":
                return arithmetic.invert(kind), same
            case "neg":
                return arithmetic.negate(kind), same
            case "div" | "rem":
                return quotient(arithmetic, kind, is_remainder=opcode == "rem"), same
            case "abs":
                return arithmetic.magnitude(kind), same
            case "lop3":
                table = instruction.operands[4]
                if not isinstance(table, Integer):
                    raise NotFollowedError("lop3 without a constant table")
                return arithmetic.lookup(table.value & 255, kind), same
            case _:
                raise NotFollowedError(instruction.name)

    def _with_sum(self, opcode: str, product: Callable[[Value, Value], Value], kind: DType) -> Callable[..., Value]:
        if opcode == "mul":
            return product
        add = self.arithmetic.signless("add", kind)

        def run(a: Value, b: Value, c: Value) -> Value:
            return add(product(a, b), c)

        return run

    def _real(self, instruction: Instruction, kind: DType) -> Callable[..., Value]:
        opcode, modifiers = instruction.opcode, instruction.modifiers
        real = self.arithmetic.real
        notes = self.launch.data.notes
        if "approx" in modifiers or "full" in modifiers:
            notes.add(f"{_approximate(instruction)} taken as exact")
        if "ftz" in modifiers:
            notes.add(FLUSHED)
        if directed := {"rz", "rm", "rp"}.intersection(modifiers):
            notes.add(f"rounding .{min(directed)} taken as exact")
        match opcode:
            case "add" | "sub" | "mul" | "div":
                function = real({"add": "+", "sub": "-", "mul": "*", "div": "/"}[opcode], kind)
            case "fma" | "mad":
                function = real("fma", kind)
            case "min" | "max":
                function = self.arithmetic.extreme(opcode, kind, keeps_nan="NaN" in modifiers)
            case "neg":
                function = self.arithmetic.negate(kind)
            case "rcp":
                function = partial(real("/", kind), self.launch.data.encoded(1.0, kind))
            case _ if opcode in _OPAQUE:
                function = real(opcode, kind)
            case _:
                raise NotFollowedError(instruction.name)
        if "NaN" in modifiers:  # no step of an exact division, whose last one forgets a NaN
            return function
        if "sat" not in modifiers:
            return self.quotients.watched(opcode, kind, function)
        low, high = real("max", kind), real("min", kind)
        one = self.launch.data.encoded(1.0, kind)

        def clamped(*values: Value) -> Value:
            return high(low(function(*values), 0), one)

        return clamped

    def _conversion(self, instruction: Instruction) -> tuple[Callable[[Value], Value], tuple[str, ...]]:
        types = [m for m in instruction.modifiers if m in TYPE_BITS]
        if len(types) != 2 or "sat" in instruction.modifiers:
            raise NotFollowedError(instruction.name)
        if "ftz" in instruction.modifiers:
            self.launch.data.notes.add(FLUSHED)
        rounding = next(
            (m for m in instruction.modifiers if m in ("rn", "rna", "rz", "rm", "rp", "rzi", "rni", "rmi", "rpi")), None
        )
        convert = self.arithmetic.convert(register_kind(types[0]), register_kind(types[1]), rounding)
        return convert, (types[1],)


def _approximate(instruction: Instruction) -> str:
    """Name of the instruction without the type: `ex2.approx.ftz`."""
    return ".".join([instruction.opcode, *(m for m in instruction.modifiers if m not in TYPE_BITS)])
