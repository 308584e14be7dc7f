"""Sums of addresses, or of numbers that move with the block, and data: places of elements that index arrays say.

    base + offset := an address or number that moves, and a word of data, in the register's width

Sums and multiples are taken modulo that width. Anything else is asked of the numbers that both are: where the data are in their
ranges, in every block of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import gcd
from typing import NoReturn

from warploom.core import DType, integer_range
from warploom.core.intervals import Bound, Interval
from warploom.core.linear import Linear
from warploom.ptx import TYPE_BITS
from warploom.ptx.syntax import Instruction
from warploom.synth.compiled.arithmetic import Arithmetic, register_kind, undefined_in
from warploom.synth.compiled.data import ADDRESSES, SIGNED, UNSIGNED, Indexed, Joined, Undefined, Value
from warploom.synth.compiled.moving import PlacementError, Slopes, negated, number_of
from warploom.synth.compiled.placed import Placed, placed
from warploom.synth.compiled.renaming import LIMITED
from warploom.synth.compiled.threads import GathersSeen, Launch
from warploom.terms import Term, apply, atom


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that a value is in every block, for data in their ranges."""

    base: int
    slopes: Slopes
    data: Linear[Term]

    def scaled(self, times: int) -> _Number:
        return _Number(self.base * times, {n: s * times for n, s in self.slopes.items()}, self.data.scaled(times))


@dataclass(frozen=True, slots=True)
class IndexedWords:
    launch: Launch
    arithmetic: Arithmetic
    _known: dict[tuple[Term, int], tuple[Linear[Term], Interval]] = field(
        default_factory=dict[tuple[Term, int], tuple[Linear[Term], Interval]]
    )
    """By word of data and its width: the sum that it is modulo that, and the numbers that this may be."""

    def computed(self, instruction: Instruction, kind: DType, plain: Callable[..., Value], values: tuple[Value, ...]) -> Value:
        """The result of an instruction with such an operand; plain: its function where none is. PlacementError,
        NotGatheredError; SplitError where blocks of the box differ."""
        if (bad := next((b for v in values if (b := self._undefined(v)) is not None), None)) is not None:
            return bad
        if kind.is_float:
            _refuse()
        opcode, is_wide = instruction.opcode, "wide" in instruction.modifiers
        wide = register_kind(f"u{2 * kind.bits}") if is_wide else kind
        match opcode, values:
            case (("add" | "sub"), (a, b)):
                return self._sum(opcode, a, b, wide)
            case "mad", (a, b, c):
                return self._sum("add", self._factors(instruction, a, b, kind, plain), c, wide)
            case "mul", (a, b) if is_wide or "lo" in instruction.modifiers:
                return self._product(a, b, kind, wide)
            case "shl", (a, int(by)) if by.__class__ is int and by < kind.bits:
                return self._product(a, 1 << by, kind, wide)
            case "or", (a, b):
                return self._either(a, b, kind)
            case (("min" | "max"), (a, b)):
                return self._limited(opcode, a, b, kind)
            case "cvt", (a,):
                target, source = (register_kind(m) for m in instruction.modifiers if m in TYPE_BITS)
                return self._converted(a, target, source)
            case _:
                raise PlacementError("data and addresses together")

    def _factors(self, instruction: Instruction, a: Value, b: Value, kind: DType, plain: Callable[..., Value]) -> Value:
        """The product of a multiplication that also adds."""
        if ADDRESSES.isdisjoint(map(type, (a, b))):
            return plain(a, b, 0)
        if isinstance(a, int) and isinstance(b, int):
            return self.launch.places.function("mul", instruction.modifiers, kind, plain)(a, b)
        wide = register_kind(f"u{2 * kind.bits}") if "wide" in instruction.modifiers else kind
        return self._product(a, b, kind, wide)

    def _undefined(self, value: Value) -> Undefined | None:
        return undefined_in(value.offset if isinstance(value, Indexed) else value)

    # ------------------------------------------------------------ modulo the width

    def _sum(self, opcode: str, a: Value, b: Value, kind: DType) -> Value:
        values = (a, b)
        bases = [v.base if isinstance(v, Indexed) else v if isinstance(v, int) else 0 for v in values]
        offsets = [v.offset if isinstance(v, Indexed) else 0 if isinstance(v, int) else v for v in values]
        base = self.launch.places.linear((1, 1 if opcode == "add" else -1), (bases[0], bases[1]), 0, kind.bits)
        return self._joined(base, self.arithmetic.signless(opcode, kind)(*offsets), kind)

    def _product(self, a: Value, b: Value, kind: DType, wide: DType) -> Value:
        value, times = (a, b) if isinstance(a, Indexed) else (b, a)
        if not isinstance(value, Indexed) or not isinstance(times, int) or isinstance(times, Placed):
            _refuse()
        if wide.bits > kind.bits:
            return self._value(self._number(value, kind).scaled(number_of(times, kind)), wide)
        base = self.launch.places.linear((times,), (value.base,), 0, kind.bits)
        return self._joined(base, self.arithmetic.signless("mul", kind)(value.offset, times), kind)

    def _joined(self, base: int, offset: Value, kind: DType) -> Value:
        if not isinstance(base, Placed):
            return self.arithmetic.signless("add", kind)(offset, base)
        if isinstance(offset, Term | Joined):
            return Indexed(base, offset)
        return self.launch.places.linear((1, 1), (base, offset), 0, kind.bits) if isinstance(offset, int) else offset

    # ------------------------------------------------------------ as numbers

    def _either(self, a: Value, b: Value, kind: DType) -> Value:
        """The bitwise or of words that share no bit: their sum."""
        x, y = (self._bits_of(self._number(value, SIGNED[kind.bits]), kind.bits) for value in (a, b))
        if x & y:
            raise PlacementError("the bits of data and the position of a block together")
        return self._sum("add", a, b, kind)

    def _bits_of(self, number: _Number, width: int) -> int:
        """The bits that may be set in the word: part by part where no two share one, else from what divides all that varies."""
        base, moving = number.base + number.data.constant, self.launch.places.moving
        low = gcd(1 << width, *number.slopes.values())
        parts = [base % low, _bits_from(low, moving.range(base - base % low, number.slopes), width)]
        for word, times in number.data.terms:
            held = self._gathers.range_of(word).scaled(times)
            parts.append(_bits_from(times & -times, (held.low, held.high), width))
        used = 0
        for part in parts:
            used |= part
        if sum(part.bit_count() for part in parts) == used.bit_count():
            return used
        low = gcd(low, *(times for _, times in number.data.terms))
        least, most = moving.range(base - base % low, number.slopes)
        varying = self._bounds(number.data.shifted(-number.data.constant))
        return base % low | _bits_from(low, (least + varying.low, most + varying.high), width)

    def _limited(self, opcode: str, a: Value, b: Value, kind: DType) -> Value:
        x, y = self._number(a, kind), self._number(b, kind)
        moving = self.launch.places.moving
        apart = {n: x.slopes.get(n, 0) - y.slopes.get(n, 0) for n in {**x.slopes, **y.slopes}}
        bounds = self._bounds(x.data.plus(y.data, -1))
        if moving.is_never_negative(x.base - y.base + int(bounds.low), apart):
            return a if opcode == "max" else b
        if moving.is_never_negative(y.base - x.base - int(bounds.high), negated(apart)):
            return b if opcode == "max" else a
        ends = [Interval(*moving.range(n.base, n.slopes)).plus(self._bounds(n.data)) for n in (x, y)]
        found = self.launch.data.made(atom(LIMITED, (self.launch.next_symbol(),)), kind)
        self._gathers.ranges[found] = ends[0].least(ends[1]) if opcode == "min" else ends[0].greatest(ends[1])
        return found

    def _converted(self, value: Value, target: DType, source: DType) -> Value:
        if not isinstance(value, Indexed) or target.is_float or source.is_float or target.bits < source.bits:
            _refuse()
        return self._value(self._number(value, source), target)

    def _number(self, value: Value, kind: DType) -> _Number:
        """PlacementError where a value of integer type `kind` is not seen to be one number of it, without wrapping."""
        offset = value.offset if isinstance(value, Indexed) else 0 if isinstance(value, int) else value
        word = value.base if isinstance(value, Indexed) else value if isinstance(value, int) else 0
        data: Linear[Term] = Linear()
        bounds = Interval(0, 0)
        if not isinstance(offset, int):
            data, bounds = self._data(self.launch.data.as_int(offset, UNSIGNED[kind.bits]), kind.bits)
        slopes = self.launch.places.moving.slopes(word.of if isinstance(word, Placed) else (), kind.bits)
        own = integer_range(kind)
        for read_as in (SIGNED[kind.bits], UNSIGNED[kind.bits]):
            base = number_of(int(word), read_as)
            least, most = self.launch.places.moving.range(base, slopes)
            if own[0] <= least + bounds.low and most + bounds.high <= own[1]:
                return _Number(base, slopes, data)
        raise PlacementError("data and the position of a block together, where that may wrap")

    def _data(self, term: Term, bits: int) -> tuple[Linear[Term], Interval]:
        key = (term, bits)
        if key not in self._known:
            found = self._gathers.modulo(term, self.launch.data.kinds, bits)
            self._known[key] = found, self._bounds(found)
        return self._known[key]

    def _value(self, number: _Number, kind: DType) -> Value:
        """The word of type `kind` that holds the number, or its low bits."""
        made, add = self.launch.data.made, self.arithmetic.signless("add", kind)
        offset: Value = 0
        for word, times in number.data.terms:
            if word not in self.launch.data.kinds:
                _refuse()
            wide = self.launch.data.converted(word, kind)
            offset = add(offset, wide if times == 1 else made(apply("*", wide, times), kind))
        mask = (1 << kind.bits) - 1
        of = tuple(sorted((name, slope & mask) for name, slope in number.slopes.items() if slope))
        start = (number.base + number.data.constant) & mask
        return self._joined(placed(start, of) if of else start, offset, kind)

    def _bounds(self, data: Linear[Term]) -> Interval:
        return data.bounds(self._gathers.range_of) if data.terms else Interval(data.constant, data.constant)

    @property
    def _gathers(self) -> GathersSeen:
        if self.launch.gathers is None:
            _refuse()
        return self.launch.gathers


def _bits_from(low: int, ends: tuple[Bound, Bound], width: int) -> int:
    """The bits that multiples of a power of two between these ends may have, in two's complement."""
    least, most = ends
    return ((1 << (int(most).bit_length() if least >= 0 else width)) - 1) & -low & ((1 << width) - 1)


def _refuse() -> NoReturn:
    raise PlacementError("data and addresses together")
