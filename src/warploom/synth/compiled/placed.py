"""Addresses: numbers that depend on where variables lie in memory, of which only sums, differences and low bits are known.

    placed := number under one placement, and how often each variable's address is in it

Where variables lie is not known before the launch: what depends on more than their alignment and their bounds is not followed.
A number that moves with the block (`moving.py`) is kept in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from warploom.core import BY_NAME, DType
from warploom.operations import COMPARISONS
from warploom.synth.compiled.moving import Moving, PlacementError, number_of

_GUARANTEED = 256
"""Bytes to a multiple of which cudaMalloc allocates (CUDA C++ Programming Guide, Device Memory Accesses)."""
UNSIGNED = {bits: BY_NAME[f"u{bits}"] for bits in (8, 16, 32, 64)}
_BEFORE, _AFTER = 1 << 12, 1 << 39
"""Bytes before and behind an array in global memory whose addresses do not wrap around."""
Of = tuple[tuple[str, int], ...]
_JOINED: Of = (("bits of several numbers", 1),)
"""Stands for a number that is no sum: no operation but a mask is followed."""


class Placed(int):
    """A number that is computed from addresses."""

    of: Of
    """Variable and how often its address is added; sorted, never empty."""
    parts: tuple[int, ...] = ()
    """Numbers of which it is the bitwise or, where that is no sum; then `of` is `_JOINED`."""


@dataclass(slots=True)
class Variable:
    """Facts about the place of a variable."""

    size_bytes: int
    align: int
    """Bytes to a multiple of which it begins, whoever allocates it."""
    is_small: bool
    """True if the addresses fit 31 bits, as shared and local ones do in their own space."""
    is_allocated: bool
    """True if the host allocates the memory."""
    base: int


def is_about_places(part: str) -> bool:
    """Whether a part of a domain says where variables begin, and nothing of laws."""
    return part.endswith(" bytes") and " begin" in part


def placed(number: int, of: Of) -> Placed:
    made = Placed(number)
    made.of = of
    return made


def shifted(value: int, by: int) -> int:
    """The number plus `by`; an address stays one."""
    return placed(value + by, value.of) if isinstance(value, Placed) else value + by


@dataclass(slots=True)
class Places:
    """Arithmetic on addresses in one placement of the variables."""

    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    needed: dict[str, int] = field(default_factory=dict[str, int])
    """Variables of the host that must begin at multiples of so many bytes, beyond what their type asks for."""
    ordered: set[str] = field(default_factory=set[str])
    """Variables whose order in memory was looked at."""
    units: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """By name of an address over a power of two, as matrix descriptors have them: the variable and that power."""
    moving: Moving = field(default_factory=Moving)
    """Positions that stand for many: of blocks that run alike."""

    def address(self, name: str, variable: Variable) -> Placed:
        self.variables[name] = variable
        return placed(variable.base, ((name, 1),))

    def need(self, name: str, align: int) -> None:
        """The variable begins at a multiple of `align`, and the domain says so. PlacementError where nobody promises it."""
        known = self.variables[name]
        if align <= known.align:
            return
        if not known.is_allocated or align > _GUARANTEED:
            raise PlacementError(f"whether {name} begins at a multiple of {align} bytes")
        self.needed[name] = max(align, self.needed.get(name, 0))

    def notes(self) -> list[str]:
        """Notes for the domain."""
        by_size: dict[int, list[str]] = {}
        for name, align in self.needed.items():
            by_size.setdefault(align, []).append(name)
        return [
            f"{' and '.join(names)} {'begin at multiples' if names[1:] else 'begins at a multiple'} of {align} bytes"
            for align, names in sorted(by_size.items())
        ]

    # ------------------------------------------------------------ arithmetic modulo a power of two

    def linear(self, weights: tuple[int, ...], values: tuple[int, ...], constant: int, bits: int) -> int:
        """The sum of weights times values, and a constant."""
        of: dict[str, int] = {}
        total = constant
        for weight, value in zip(weights, values, strict=True):
            total += weight * int(value)
            if _of(value) == _JOINED:
                raise PlacementError("bits of several numbers")
            for name, count in _of(value):
                of[name] = of.get(name, 0) + weight * count
        mask = (1 << bits) - 1
        left = tuple(sorted((name, count & mask) for name, count in of.items() if count & mask))
        return placed(total & mask, left) if left else total & mask

    def low_bits(self, value: int, count: int) -> int:
        """The lowest `count` bits, where the variables' alignment tells them."""
        for name, times in _of(value):
            if name not in self.variables and name not in self.moving.last:
                raise PlacementError(name)
            if name in self.moving.last:
                if times % (1 << count):
                    raise PlacementError("low bits of the position of a block")
                continue
            self.need(name, (1 << count) // (times & -times) if times & -times < 1 << count else 1)
        return int(value) & ((1 << count) - 1)

    def bitwise(self, op: str, a: int, b: int, bits: int) -> int:
        """and, or, xor with a known number that touches low bits only, or leaves them out."""
        value, known = (a, b) if a.__class__ is Placed else (b, a)
        if known.__class__ is Placed:
            if op == "or":
                return _joined(value, known)
            raise PlacementError("bits of two addresses")
        mask = (1 << bits) - 1
        if op == "and" and isinstance(value, Placed) and value.parts:
            return _either([self.bitwise("and", part, known, bits) if _of(part) else part & known for part in value.parts])
        if op == "or" and self._moves(value) and (value.parts if isinstance(value, Placed) else ()):
            return _joined(value, known)
        if op == "and" and self._moves(value) and (above := self._above(value, known, bits)) is not None:
            return above
        if op == "xor" and known == mask:
            return self.linear((-1,), (value,), -1, bits)
        if op == "and" and known.bit_length() > bits // 2 and (known ^ mask).bit_length() < bits // 2:
            low = self.low_bits(value, (known ^ mask).bit_length())
            return self.linear((1,), (value,), (low & known) - low, bits)
        if op == "or" and self._moves(value) and not self._is_multiple(value, known.bit_length()):
            return _joined(value, known)
        if known.bit_length() > bits // 2:
            raise PlacementError("bits of an address")
        low = self.low_bits(value, known.bit_length())
        if op == "and":
            return low & known
        return self.linear((1,), (value,), (low | known if op == "or" else low ^ known) - low, bits)

    def _is_multiple(self, value: int, bits: int) -> bool:
        return all(slope % (1 << bits) == 0 for _, slope in _of(value))

    def _above(self, value: int, known: int, bits: int) -> int | None:
        """The high bits of a number that moves, where they are the same in the whole box: SplitError where they are not.
        None: `known` is no mask of high bits, or the number moves in high bits only."""
        low = known ^ ((1 << bits) - 1)
        if low & (low + 1) or self._is_multiple(value, low.bit_length()):
            return None
        number, slopes = self.moving.exactly(int(value), _of(value), UNSIGNED[bits])
        self.moving.stays_between(number, slopes, number & known, (number & known) + low)
        return number & known

    def widened(self, value: int, source: DType, target_bits: int) -> int:
        """A conversion between words: of low bits, of an address that fits, or of a number that moves and does not wrap."""
        if target_bits <= source.bits:
            return self.linear((1,), (value,), 0, target_bits)
        if self._moves(value):
            return self._exactly(value, source, 1, target_bits)
        name = self._only(value)
        if name is None or not self.variables[name].is_small or not self._is_near(name, value):
            raise PlacementError("a wider word of an address")
        return value

    def function(self, opcode: str, modifiers: Sequence[str], kind: DType, plain: Callable[..., object]) -> Callable[..., int]:
        """The function that an instruction computes of known numbers, some of which are addresses; plain: where none is."""
        bits = kind.bits * (2 if "wide" in modifiers else 1)
        is_sum = opcode == "add" and not kind.is_float

        def run(*numbers: int) -> int:
            if is_sum and (quick := _sum_with_known(*numbers, bits=bits)) is not None:
                return quick
            if kind.is_float:
                raise PlacementError("the bits of an address as a number")
            match opcode, list(numbers):
                case (("add" | "sub"), [a, b]):
                    return self.linear((1, 1 if opcode == "add" else -1), (a, b), 0, bits)
                case "neg", [a]:
                    return self.linear((-1,), (a,), 0, bits)
                case "not", [a]:
                    return self.linear((-1,), (a,), -1, bits)
                case "mad", [a, b, c] if not _of(a) and not _of(b):
                    return self.linear((1, 1), (_known(plain(a, b, 0)), c), 0, bits)
                case (("mul" | "mad"), [a, b, *more]) if "wide" in modifiers and self._moves(a, b) and not (_of(a) and _of(b)):
                    value, times = (a, b) if _of(a) else (b, a)
                    product = self._exactly(value, kind, number_of(int(times), kind), bits)
                    return self.linear((1, *(1 for _ in more)), (product, *more), 0, bits)
                case "shr", [a, by] if self._moves(a) and not _of(by):
                    return self._shifted_right(a, min(int(by), bits), kind)
                case "shr", [a, by] if not _of(by) and (quotient := self._in_units(a, 1 << min(int(by), bits))) is not None:
                    return quotient
                case (("min" | "max"), [a, b]) if self._moves(a, b):
                    return a if self.compare("<=" if opcode == "min" else ">=", a, b, kind) else b
                case (("mul" | "mad"), [a, b, *more]) if "lo" in modifiers and not (_of(a) and _of(b)):
                    value, times = (a, b) if _of(a) else (b, a)
                    return self.linear((int(times), *(1 for _ in more)), (value, *more), 0, bits)
                case "shl", [a, by] if not _of(by):
                    return self.linear((1 << min(by, bits),), (a,), 0, bits)
                case "bfi", [a, b, low, count] if not any(map(_of, (b, low, count))) and low + count == bits and count:
                    return self.linear((1 << low,), (a,), b & ((1 << low) - 1), bits)  # all bits from `low` on
                case (("and" | "or" | "xor"), [a, b]):
                    return self.bitwise(opcode, a, b, bits)
                case _:
                    raise PlacementError(f"the result of {opcode}")

        return run

    def _in_units(self, value: int, size: int) -> int | None:
        """An address in a small variable over a power of two to a multiple of which it begins; None for other numbers."""
        name = self._only(value)
        known = self.variables.get(name or "")
        if name is None or known is None or not known.is_small or known.align % size or not self._is_near(name, value):
            return None
        own = f"{name} / {size}"
        self.units[own] = name, size
        self.variables[own] = Variable(known.size_bytes // size, known.align // size, True, False, known.base // size)
        return placed(int(value) // size, ((own, 1),))

    def _moves(self, *values: int) -> bool:
        return any(self.moving.is_part_of(_of(v)) or (isinstance(v, Placed) and v.parts) for v in values)

    def _exactly(self, value: int, kind: DType, times: int, bits: int) -> int:
        """A number that moves, times a known one, in wider words."""
        number, slopes = self.moving.exactly(int(value), _of(value), kind)
        return self.linear((times,), (placed(number, tuple(sorted(slopes.items()))),), 0, bits)

    def _shifted_right(self, value: int, by: int, kind: DType) -> int:
        number, slopes = self.moving.exactly(int(value), _of(value), kind)
        half = (1 << by) >> 1
        low = {name: (slope + half & (1 << by) - 1) - half for name, slope in slopes.items()}
        least, most = self.moving.range(number & (1 << by) - 1, low)
        if least < 0 or most >> by:  # what the lowest bits add to the quotient is not the same in the whole box
            raise PlacementError("high bits of the position of a block")
        left = tuple(sorted((name, slope - low[name] >> by) for name, slope in slopes.items()))
        return self.linear((1,), (placed(number >> by, left),), 0, kind.bits)

    # ------------------------------------------------------------ comparisons

    def compare(self, op: str, a: int, b: int, kind: DType) -> bool:
        """`<`, `==` and the like of numbers that move, or of addresses that are not negative."""
        if self._moves(a, b):
            return self.moving.compare(op, (int(a), _of(a)), (int(b), _of(b)), kind)
        return self._compare_addresses(op, a, b, kind.bits)

    def _compare_addresses(self, op: str, a: int, b: int, bits: int) -> bool:
        difference = self.linear((1, -1), (a, b), 0, bits)
        if difference.__class__ is not Placed:
            if op in ("==", "!="):
                return (difference == 0) == (op == "==")
            self._check_inside(a)
            self._check_inside(b)
            return COMPARISONS[op].holds(int(a), int(b))
        if b.__class__ is not Placed:
            self._check_inside(a)
            if int(b):
                raise PlacementError("an address beside a number")
            return COMPARISONS[op].holds(1, 0)
        if a.__class__ is not Placed:
            return self._compare_addresses(COMPARISONS[op].mirrored, b, a, bits)
        return self._compare_variables(op, a, b)

    def _compare_variables(self, op: str, a: int, b: int) -> bool:
        """Compares the addresses of two variables: the answer holds wherever the one lies beside the other in this order."""
        first, second = self._check_inside(a), self._check_inside(b)
        x, y = self.variables[first], self.variables[second]
        if op not in ("==", "!=") or not (self._is_inside(first, a) and self._is_inside(second, b)):
            self.ordered |= {first, second}
        if x.base > y.base:
            return self._compare_variables(COMPARISONS[op].mirrored, b, a)
        gap = x.size_bytes + (int(b) - y.base) - (int(a) - x.base)
        if gap > 0:
            return COMPARISONS[op].holds(0, 1)
        if gap == 0 and op in ("<=", ">"):
            return op == "<="
        raise PlacementError("whether the end of a variable is the beginning of another")

    def _only(self, value: int) -> str | None:
        """The variable that a value is an address in."""
        match _of(value):
            case ((name, 1),):
                return name
            case _:
                return None

    def _check_inside(self, value: int) -> str:
        name = self._only(value)
        if name is None or not self._is_near(name, value):
            raise PlacementError("addresses outside of variables")
        return name

    def _is_inside(self, name: str, value: int) -> bool:
        return 0 <= int(value) - self.variables[name].base < self.variables[name].size_bytes

    def _is_near(self, name: str, value: int) -> bool:
        """Whether no address in the variable or a little before or after it wraps around."""
        variable = self.variables[name]
        offset = int(value) - variable.base
        return 0 <= offset <= variable.size_bytes if variable.is_small else -_BEFORE <= offset < _AFTER


def _sum_with_known(*numbers: int, bits: int) -> Placed | None:
    """`Places.linear` of one address, or number that moves, and a number."""
    a, b = numbers if numbers[0].__class__ is Placed else reversed(numbers)
    if not isinstance(a, Placed) or b.__class__ is Placed or a.of == _JOINED or any(count >> bits for _, count in a.of):
        return None
    return placed(int(a) + int(b) & ((1 << bits) - 1), a.of)


def _known(value: object) -> int:
    assert isinstance(value, int)
    return value


def _or(values: Sequence[int]) -> int:
    total = 0
    for value in values:
        total |= value
    return total


def _joined(*values: int) -> Placed:
    parts = tuple(p for v in values for p in (v.parts if isinstance(v, Placed) and v.parts else (v,)))
    made = placed(_or([int(p) for p in parts]), _JOINED)
    made.parts = parts
    return made


def _either(values: Sequence[int]) -> int:
    return _joined(*values) if any(map(_of, values)) else _or(values)


def _of(value: int) -> Of:
    return value.of if isinstance(value, Placed) else ()
