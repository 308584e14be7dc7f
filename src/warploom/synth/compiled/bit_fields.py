"""Instructions that move bits: bfe, bfi, prmt, funnel shifts, bit counts (PTX ISA 9.7.1, 9.7.8, 9.7.9.7)."""

from __future__ import annotations

from collections.abc import Callable

from warploom.core import DType, u32
from warploom.ptx.syntax import Instruction
from warploom.synth.compiled.arithmetic import Arithmetic, NotFollowedError, signed, undefined_in
from warploom.synth.compiled.data import Data, NoBitsError, Undefined, Value


class BitFields:
    """Functions on register values; positions, lengths and selectors must be known."""

    def __init__(self, data: Data, arithmetic: Arithmetic) -> None:
        self.data = data
        self.arithmetic = arithmetic

    def function(self, instruction: Instruction, kind: DType) -> tuple[Callable[..., Value], tuple[str, ...]] | None:
        """The function that such an instruction computes, and its sources' types; None for other opcodes."""
        word = f"b{kind.bits}"
        match instruction.opcode:
            case "bfe":
                return self._extract(kind), (word, "u32", "u32")
            case "bfi":
                return self._insert(kind), (word, word, "u32", "u32")
            case "prmt":
                if len(instruction.modifiers) > 1:
                    raise NotFollowedError(instruction.name)
                return self._permute, ("b32", "b32", "b32")
            case "shf":
                return self._funnel("l" in instruction.modifiers, "wrap" in instruction.modifiers), ("b32", "b32", "u32")
            case "popc" | "clz" | "brev":
                return self._counted(instruction.opcode, kind), (word,)
            case "bfind" if kind.kind == "uint":
                return self._highest("shiftamt" in instruction.modifiers, kind), (word,)
            case _:
                return None

    def _extract(self, kind: DType) -> Callable[[Value, Value, Value], Value]:
        bits = kind.bits

        def run(a: Value, position: Value, length: Value) -> Value:
            if (bad := undefined_in(a, position, length)) is not None:
                return bad
            low, count = _number(position) & 255, _number(length) & 255
            if isinstance(a, int):
                number = a >> low if low < bits else 0
                count = min(count, max(bits - low, 0)) if kind.kind == "uint" else count
                if kind.kind == "uint":
                    return number & ((1 << count) - 1)
                if count == 0:
                    return 0
                top = min(low + count - 1, bits - 1)
                wide = signed(a, bits) >> min(low, bits)
                field = wide & ((1 << max(top - low + 1, 0)) - 1) if top >= low else 0
                sign = a >> top & 1
                return (field | (-1 << max(top - low + 1, 0) if sign else 0)) & ((1 << bits) - 1)
            if count == 0 or low >= bits:
                return 0 if kind.kind == "uint" else _refuse("bfe.s of data past its bits")
            count = min(count, bits - low)
            if kind.kind == "int":
                shifted = self.arithmetic.shift("shl", kind)(a, bits - low - count)
                return self.arithmetic.shift("shr", kind)(shifted, bits - count)
            try:
                return self.data.join([(self.data.extract(a, low, count, bits), count), (0, bits - count)])
            except NoBitsError:
                shifted = self.arithmetic.shift("shr", kind)(a, low)
                return self.arithmetic.signless("and", kind)(shifted, (1 << count) - 1)

        return run

    def _insert(self, kind: DType) -> Callable[[Value, Value, Value, Value], Value]:
        bits, data = kind.bits, self.data

        def run(a: Value, b: Value, position: Value, length: Value) -> Value:
            if (bad := undefined_in(a, b, position, length)) is not None:
                return bad
            low = _number(position) & 255
            count = min(_number(length) & 255, max(bits - low, 0))
            if count == 0:
                return b
            try:
                top = low + count
                parts: list[tuple[Value, int]] = [(data.extract(a, 0, count, bits), count)]
                if low:
                    parts.insert(0, (data.extract(b, 0, low, bits), low))
                if top < bits:
                    parts.append((data.extract(b, top, bits - top, bits), bits - top))
                return data.join(parts)
            except NoBitsError:
                mask = (1 << count) - 1 << low
                both, either = self.arithmetic.signless("and", kind), self.arithmetic.signless("or", kind)
                moved = self.arithmetic.shift("shl", kind)(a, low)
                return either(both(moved, mask), both(b, mask ^ ((1 << bits) - 1)))

        return run

    def _permute(self, a: Value, b: Value, selector: Value) -> Value:
        if (bad := undefined_in(selector)) is not None:
            return bad
        data, chosen = self.data, _number(selector)
        parts: list[tuple[Value, int]] = []
        for k in range(4):
            nibble = chosen >> 4 * k & 15
            source = a if nibble & 7 < 4 else b
            part = data.extract(source, 8 * (nibble & 3), 8, 32)
            if nibble & 8:
                if not isinstance(part, int):
                    return part if isinstance(part, Undefined) else _refuse("prmt that copies the sign of data")
                part = 255 if part >> 7 else 0
            parts.append((part, 8))
        return data.join(parts)

    def _funnel(self, is_left: bool, wraps: bool) -> Callable[[Value, Value, Value], Value]:
        data = self.data

        def run(a: Value, b: Value, amount: Value) -> Value:
            if (bad := undefined_in(amount)) is not None:
                return bad
            by = _number(amount)
            by = by & 31 if wraps else min(by, 32)
            low = 32 - by if is_left else by
            if low == 32:
                return b
            if low == 0:
                return a
            try:
                return data.join([(data.extract(a, low, 32 - low, 32), 32 - low), (data.extract(b, 0, low, 32), low)])
            except NoBitsError:
                upper = self.arithmetic.shift("shl", u32)(b, 32 - low)
                return self.arithmetic.signless("or", u32)(self.arithmetic.shift("shr", u32)(a, low), upper)

        return run

    @staticmethod
    def _counted(opcode: str, kind: DType) -> Callable[[Value], Value]:
        bits = kind.bits

        def run(a: Value) -> Value:
            if (bad := undefined_in(a)) is not None:
                return bad
            number = _number(a)
            if opcode == "popc":
                return number.bit_count()
            return bits - number.bit_length() if opcode == "clz" else int(f"{number:0{bits}b}"[::-1], 2)

        return run

    @staticmethod
    def _highest(is_distance: bool, kind: DType) -> Callable[[Value], Value]:
        """The place of the highest bit that is set, or the distance of that bit from the top; -1 where none is set."""

        def run(a: Value) -> Value:
            if (bad := undefined_in(a)) is not None:
                return bad
            number = _number(a)
            if not number:
                return 0xFFFFFFFF
            return kind.bits - number.bit_length() if is_distance else number.bit_length() - 1

        return run


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise NotFollowedError("bit positions or counts that depend on data")
    return value


def _refuse(what: str) -> Value:
    raise NotFollowedError(what)
