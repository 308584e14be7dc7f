"""Meaning of a kernel's data operations: the machine's arithmetic, or a prime field's for checking identities."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, DType, UnsupportedError, WarploomError, to_numpy

Data: TypeAlias = NDArray[Any]
"""Values of many threads; the component axis of vectors comes last."""
Where: TypeAlias = NDArray[np.bool_] | None
"""The elements that count, broadcast against the data (not its component axis); None = all."""


class Arithmetic(Protocol):
    """Data arithmetic of the interpreter; every method takes and gives values of the storage type."""

    def storage(self, dtype: DType) -> np.dtype[Any]:
        """NumPy's type for one component."""
        ...

    def accept(self, data: Data, dtype: DType) -> Data:
        """A user's array as values of `dtype`; ValueError if its type does not fit."""
        ...

    def constant(self, value: int | float, dtype: DType) -> Data:
        """A number as a value (0-dimensional)."""
        ...

    def from_index(self, numbers: Data, dtype: DType) -> Data:
        """Integers as values."""
        ...

    def cast(self, data: Data, source: DType, target: DType) -> Data: ...

    def compare(self, op: str, lhs: Data, rhs: Data) -> Data:
        """1 where the comparison of two values of one type holds, else 0."""
        ...

    def apply(self, op: str, operands: list[Data], dtype: DType, where: Where) -> tuple[Data, Where]:
        """A built-in operation, and where it divided by zero (None: nowhere); there the result is 0."""
        ...


class RedrawError(WarploomError):
    """A random point of a field made a divisor zero: draw another and run again."""


class MachineArithmetic:
    """C's and CUDA's arithmetic per type: wrap-around integers, division towards zero, IEEE floats rounded to nearest even.

    Shifts by at least the width give 0 (or the sign), as PTX's do; min and max of floats ignore a NaN operand; conversions from
    float to integer saturate and turn NaN into 0. bf16 values are held in float32 and rounded after each operation.
    """

    def storage(self, dtype: DType) -> np.dtype[Any]:
        return to_numpy(dtype)

    def accept(self, data: Data, dtype: DType) -> Data:
        if data.dtype != to_numpy(dtype):
            raise ValueError(f"elements of type {to_numpy(dtype)}")
        return _round_bf16(data) if dtype.name == "bf16" else data.copy()

    def constant(self, value: int | float, dtype: DType) -> Data:
        if dtype.is_float or not isinstance(value, float):
            numbers = np.array(value, np.float64) if isinstance(value, float) else np.array(value)
            return self._from_float(numbers, dtype) if isinstance(value, float) else self.from_index(numbers, dtype)
        return self._to_integer(np.array(value), dtype)

    def from_index(self, numbers: Data, dtype: DType) -> Data:
        if dtype.is_float:
            if dtype.name == "bf16" and numbers.dtype != object:
                numbers = _sticky(numbers)
            return self._from_float(numbers.astype(np.float64), dtype) if dtype.bits == 16 else numbers.astype(to_numpy(dtype))
        if numbers.dtype == object:
            wrapped = numbers & ((1 << dtype.bits) - 1)
            return wrapped.astype(np.uint64).astype(to_numpy(dtype))
        return numbers.astype(to_numpy(dtype))

    def _from_float(self, numbers: Data, dtype: DType) -> Data:
        return _round_bf16(numbers) if dtype.name == "bf16" else numbers.astype(to_numpy(dtype))

    def _to_integer(self, data: Data, target: DType) -> Data:
        limits = np.iinfo(to_numpy(target))
        wide = np.trunc(np.nan_to_num(data.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        inside = (wide >= float(limits.min)) & (wide < float(limits.max) + (1.0 if target.bits < 64 else 0.0))
        numbers = np.where(inside, wide, 0.0).astype(to_numpy(target))
        return np.where(inside, numbers, np.where(wide < 0, limits.min, limits.max).astype(to_numpy(target)))

    def cast(self, data: Data, source: DType, target: DType) -> Data:
        if target.is_float:
            return self._from_float(data, target) if source.is_float else self.from_index(data, target)
        return self._to_integer(data, target) if source.is_float else data.astype(to_numpy(target))

    def compare(self, op: str, lhs: Data, rhs: Data) -> Data:
        ufunc = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
        return np.asarray(ufunc[op](lhs, rhs)).astype(np.uint32)

    def apply(self, op: str, operands: list[Data], dtype: DType, where: Where) -> tuple[Data, Where]:
        bad: Where = None
        if op in ("/", "//", "%") and not dtype.is_float:
            result, bad = _divide(op, operands[0], operands[1], where)
        elif op in ("neg", "~"):
            result = np.negative(operands[0]) if op == "neg" else np.invert(operands[0])
        elif op == "popc":
            result = np.bitwise_count(operands[0]).astype(operands[0].dtype)
        else:
            ufunc = {
                "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "&": np.bitwise_and, "|": np.bitwise_or,
                "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift, "min": np.fmin, "max": np.fmax,
            }[op]  # fmt: skip
            result = ufunc(operands[0], operands[1])
        return (_round_bf16(result) if dtype.name == "bf16" else result), bad


def _divide(op: str, lhs: Data, rhs: Data, where: Where) -> tuple[Data, Where]:
    """C's integer division, towards zero; Python's `//` downwards, and the `%` that belongs to it."""
    zero: NDArray[np.bool_] = np.equal(rhs, 0)
    divisor = np.where(zero, np.ones_like(rhs), rhs)
    floor: Data = np.floor_divide(lhs, divisor)
    if op == "/":
        inexact = (floor * divisor != lhs) & ((lhs < 0) != (divisor < 0))
        found = np.add(floor, inexact.astype(lhs.dtype))
    else:
        found = floor if op == "//" else lhs - floor * divisor
    result: Data = np.where(zero, np.zeros_like(floor), found)
    if not zero.any():
        return result, None
    bad = np.broadcast_to(zero, result.shape)
    return result, bad if where is None else bad & where


def _sticky(numbers: Data) -> Data:
    """Integers with the bits below a float64's precision folded into the lowest kept one, so that rounding once more is right."""
    low = numbers & 0x7FF
    large = np.abs(numbers.astype(np.float64)) >= 2.0**53
    return np.where(large & (low != 0), (numbers - low) | 0x800, numbers)


def _round_bf16(data: Data) -> Data:
    """Rounded to 8 bits of precision, to nearest even, as float32."""
    single = np.asarray(data, np.float32)
    bits = single.view(np.uint32).copy()
    if data.dtype == np.float64:
        # Round to odd first: two roundings to nearest would differ from one at ties.
        even = (bits & 1 == 0) & np.isfinite(single)
        away = np.abs(data) > np.abs(single.astype(np.float64))
        inexact = data != single.astype(np.float64)
        bits = np.where(even & inexact, np.where(away, bits + 1, bits - 1), bits).astype(np.uint32)
    rounded = bits + (0x7FFF + ((bits >> 16) & 1))
    rounded = np.where(np.isnan(single), bits | 0x400000, rounded) & np.uint32(0xFFFF0000)
    return rounded.astype(np.uint32).view(np.float32)


_MERSENNE_61 = 2**61 - 1


class FieldArithmetic:
    """Every data type is the field of `p` elements: for checking ring and field identities at random points.

    `+ - * / neg` only (UnsupportedError otherwise); casts keep the element; a float constant is the exact dyadic fraction it is.
    RedrawError when a divisor happens to be 0. For p = 2**61 - 1 two different polynomials of degree d agree at a random point
    with probability at most d / p.
    """

    def __init__(self, rng: np.random.Generator, p: int = _MERSENNE_61) -> None:
        self.p = p
        self.rng = rng
        self._fast = p == _MERSENNE_61
        self._type: np.dtype[Any] = np.dtype(np.uint64 if self._fast else object)

    def random(self, shape: tuple[int, ...]) -> Data:
        """Uniformly random elements of the field."""
        if self._fast:
            return self.rng.integers(0, self.p, shape, np.uint64)
        words = self.rng.integers(0, 2**32, (*shape, self.p.bit_length() // 32 + 3), np.uint64).astype(object)
        total = words[..., 0] * 1
        for k in range(1, words.shape[-1]):
            total = total * 2**32 + words[..., k]
        return np.asarray(total % self.p, object)

    def storage(self, dtype: DType) -> np.dtype[Any]:
        return self._type

    def accept(self, data: Data, dtype: DType) -> Data:
        if data.dtype.kind not in "uiO" or (data.size and (int(data.min()) < 0 or int(data.max()) >= self.p)):
            raise ValueError(f"integers from 0 to {self.p} (not included)")
        return data.astype(self._type)

    def constant(self, value: int | float, dtype: DType) -> Data:
        exact = Fraction(value)
        return np.array(exact.numerator * pow(exact.denominator, -1, self.p) % self.p, self._type)

    def from_index(self, numbers: Data, dtype: DType) -> Data:
        return np.asarray(numbers.astype(object) % self.p).astype(self._type)

    def cast(self, data: Data, source: DType, target: DType) -> Data:
        return data

    def compare(self, op: str, lhs: Data, rhs: Data) -> Data:
        message = f"expected + - * / or neg where a kernel is checked over a field, got a comparison by {op!r}"
        raise UnsupportedError(Diagnostic("FIELD_OPERATION", message, fix="check it over machine integers instead"))

    def apply(self, op: str, operands: list[Data], dtype: DType, where: Where) -> tuple[Data, Where]:
        p = self._type.type(self.p) if self._fast else self.p
        lhs, rhs = operands[0], operands[-1]
        match op:
            case "+":
                return (lhs + rhs) % p, None
            case "-":
                return (lhs + (p - rhs)) % p, None
            case "neg":
                return (p - lhs) % p, None
            case "*":
                return self._product(lhs, rhs), None
            case "/":
                zero = rhs == 0
                if (zero if where is None else zero & where).any():
                    raise RedrawError(f"a random element of GF({self.p}) made a divisor zero")
                inverses = [pow(int(v) or 1, -1, self.p) for v in rhs.ravel()]
                return self._product(lhs, np.array(inverses, self._type).reshape(rhs.shape)), None
            case _:
                message = f"expected + - * / or neg where a kernel is checked over a field, got {op!r}"
                raise UnsupportedError(Diagnostic("FIELD_OPERATION", message, fix="check it over machine integers instead"))

    def _product(self, lhs: Data, rhs: Data) -> Data:
        if not self._fast:
            return lhs * rhs % self.p
        # 2**61 = 1 in the field; halves of 30 and 31 bits keep every partial sum below 2**64.
        half, mask = np.uint64(31), np.uint64(2**31 - 1)
        a1, a0, b1, b0 = lhs >> half, lhs & mask, rhs >> half, rhs & mask
        middle = a1 * b0 + a0 * b1
        total = a1 * b1 * np.uint64(2) + (middle >> np.uint64(30)) + ((middle & np.uint64(2**30 - 1)) << half) + a0 * b0
        return ((total & np.uint64(_MERSENNE_61)) + (total >> np.uint64(61))) % np.uint64(_MERSENNE_61)
