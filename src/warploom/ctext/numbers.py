"""Numbers as literals of C and CUDA C++, exact in their type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from warploom.core import DType, bf16, bf16_words
from warploom.ctext.expressions import ADDITIVE, PRIMARY, UNARY, Text, call


@dataclass(frozen=True, slots=True)
class _Format:
    """A binary floating-point format."""

    precision: int
    """Bits of a significand, the leading one included."""
    least: int
    """Exponent of the smallest positive number."""
    end: int
    """Exponent of the power of two from which everything is infinite."""


_FORMATS = {"f16": _Format(11, -24, 16), "bf16": _Format(8, -133, 128), "f32": _Format(24, -149, 128)}


def decimal(value: int) -> Text:
    """`value` without a suffix: an `int` where it is one, else C takes the next type that holds it."""
    if value == -(1 << 63):
        return Text("-9223372036854775807 - 1", ADDITIVE, value)
    return Text(str(value), PRIMARY if value >= 0 else UNARY, value)


def integer(value: int, bits: int = 32, *, is_signed: bool = True) -> Text:
    """`value` as a constant of that type (fewer than 32 bits: an `int`), wrapped to it. C has no literal for the least number."""
    value &= (1 << bits) - 1
    if is_signed and value >> (bits - 1):
        value -= 1 << bits
        if value == -(1 << (bits - 1)) and bits >= 32:
            return Text("-2147483647 - 1" if bits == 32 else "-9223372036854775807LL - 1", ADDITIVE, value)
    suffix = {(True, 64): "LL", (False, 64): "ULL", (False, 32): "u"}.get((is_signed, bits), "")
    return Text(f"{value}{suffix}", PRIMARY if value >= 0 else UNARY, value)


def literal(dtype: DType, value: float | Fraction) -> Text:
    """`value` as a constant of a scalar type in CUDA C++; integers wrap to the type, floats round once."""
    match dtype.name:
        case "f32" | "tf32":
            return _float32(rounded(value, "f32"), "__int_as_float(0x{:08x})")
        case "f64":
            return _float64(float(value), "__longlong_as_double(0x{:016x}LL)")
        case "f16" | "bf16":
            function = "__float2half" if dtype.name == "f16" else "__float2bfloat16"
            return call(function, _float32(_through_float32(value, dtype.name), "__int_as_float(0x{:08x})"))
        case "e4m3" | "e5m2":
            return call(f"__nv_fp8_{dtype.name}", _float32(rounded(value, "f32"), "__int_as_float(0x{:08x})"))
        case _:
            return integer(int(value), dtype.bits, is_signed=dtype.kind == "int")


def c_literal(dtype: DType, value: float | Fraction) -> Text:
    """`value` as a constant of a scalar type in C with `math.h`; of bf16 its word."""
    if not dtype.is_float:
        return literal(dtype, value)
    if dtype == bf16:
        return Text(f"0x{int(bf16_words(np.asarray([rounded(value, dtype.name)]))[0]):04x}")
    number = float(value) if dtype.bits == 64 else rounded(value, dtype.name)
    if math.isnan(number):
        return Text("NAN")
    if math.isinf(number):
        return Text("INFINITY") if number > 0 else Text("-INFINITY", UNARY)
    if dtype.bits == 64:
        return _float64(number, "")
    return _float32(_through_float32(value, dtype.name) if dtype.bits < 32 else number, "")


def exact_double(value: float) -> Text:
    """`value` in C with `math.h`, a finite one in hexadecimal."""
    if math.isnan(value):
        return Text("NAN")
    text = "INFINITY" if math.isinf(value) else abs(value).hex()
    return Text(f"-{text}", UNARY) if math.copysign(1.0, value) < 0 else Text(text)


def rounded(value: float | Fraction, name: str) -> float:
    """The nearest number of the format, the even one of two that are as near."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    form, exact = _FORMATS[name], Fraction(value)
    if not exact:
        return math.copysign(0.0, value)
    exponent = abs(exact).numerator.bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - form.precision + 1, form.least)
    nearest = round(exact / unit) * unit
    if abs(nearest) >= 1 << form.end:
        return math.copysign(math.inf, value)
    return math.copysign(float(nearest), value)


def _through_float32(value: float | Fraction, name: str) -> float:
    """A float32 that a narrower format rounds to what it rounds `value` to."""
    single = rounded(value, "f32")
    nearest = rounded(value, name)
    return single if math.isnan(single) or rounded(single, name) == nearest else nearest


def _float32(value: float, by_bits: str) -> Text:
    """A float32 with as few digits as tell it from the others."""
    if not math.isfinite(value):
        return Text(by_bits.format(int(np.float32(value).view(np.uint32))))
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return _signed(f"{np.format_float_positional(np.float32(value), trim='0')}f")
    return _signed(f"{np.float32(value)!s}f")


def _float64(value: float, by_bits: str) -> Text:
    if not math.isfinite(value):
        return Text(by_bits.format(int(np.float64(value).view(np.uint64))))
    return _signed(repr(value))


def _signed(number: str) -> Text:
    return Text(number, UNARY if number[0] == "-" else PRIMARY)
