"""Floating-point formats: bits to exact doubles and back with one correct rounding.

`encode` rounds a double that is exact, or that carries a rounding to odd of the exact value (`odd_sum`): such a double
rounds to any format of at most 51 significant bits as the exact value would (Boldo and Melquiond, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warploom.ptx.simt.numerics.scalars import UNSIGNED, Bits, Flags, Reals, Rounding, unsupported


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary format of sign, exponent and stored mantissa, in a register of `register_bits` bits.

    padding: zero bits below the mantissa (13 for tf32, which has f32's place).
    largest: bits of the largest finite value; nan: the NaN that arithmetic delivers, without padding applied.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    register_bits: int
    largest: int
    nan: int
    has_infinity: bool = True
    padding: int = 0

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def sign(self) -> int:
        return 1 << (self.register_bits - 1)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << (self.mantissa_bits + self.padding)

    @property
    def smallest_normal(self) -> int:
        """Bits of the least normal magnitude; magnitudes below it are subnormal or zero."""
        return 1 << (self.mantissa_bits + self.padding)


FORMATS: dict[str, FloatFormat] = {
    row.name: row
    for row in (
        FloatFormat("f16", 5, 10, 16, 0x7BFF, 0x7FFF),
        FloatFormat("bf16", 8, 7, 16, 0x7F7F, 0x7FFF),
        FloatFormat("tf32", 8, 10, 32, 0x7F7FE000, 0x7FFFFFFF, padding=13),
        FloatFormat("f32", 8, 23, 32, 0x7F7FFFFF, 0x7FFFFFFF),
        FloatFormat("f64", 11, 52, 64, 0x7FEFFFFFFFFFFFFF, 0xFFF8000000000000),
        FloatFormat("e4m3", 4, 3, 8, 0x7E, 0x7F, has_infinity=False),
        FloatFormat("e5m2", 5, 2, 8, 0x7B, 0x7F),
    )
}


def _all_values(exponent_bits: int, mantissa_bits: int) -> Reals:
    """Values of all bit patterns of sign, exponent and mantissa; all exponents are ordinary."""
    bits = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    mantissa, exponent = bits % (1 << mantissa_bits), (bits >> mantissa_bits) % (1 << exponent_bits)
    bias = (1 << (exponent_bits - 1)) - 1
    whole = np.where(exponent > 0, mantissa + (1 << mantissa_bits), mantissa)
    value = np.ldexp(whole.astype(np.float64), np.maximum(exponent, 1) - bias - mantissa_bits)
    return np.where(bits >> (exponent_bits + mantissa_bits), -value, value)


_VALUES: dict[str, Reals] = {
    "e2m1": _all_values(2, 1), "e2m3": _all_values(2, 3), "e3m2": _all_values(3, 2),
    "ue8m0": np.append(np.ldexp(1.0, np.arange(-127, 128)), np.nan),
}  # fmt: skip
"""Formats that are looked up by their bits, which lie lowest in a byte."""


def float_format(name: str) -> FloatFormat:
    """The format of a scalar float type; `UnsupportedError` for any other name."""
    found = FORMATS.get(name)
    if found is None:
        raise unsupported(f"floating-point type .{name}")
    return found


def decode(name: str, bits: Bits) -> Reals:
    """The exact values as doubles; NaN stays NaN (payloads are lost)."""
    match name:
        case "f64":
            return bits.view(np.float64)
        case "f32":
            return bits.view(np.float32).astype(np.float64)
        case "tf32":
            return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
        case "f16":
            return bits.view(np.float16).astype(np.float64)
        case "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        case "e5m2":
            return (bits.astype(np.uint16) << np.uint16(8)).view(np.float16).astype(np.float64)
        case "e4m3":
            # The same fields in f16's place: exponent bias 15 instead of 7; the top exponent is ordinary but for NaN.
            wide = ((bits & np.uint8(0x80)).astype(np.uint16) << np.uint16(8)) | (
                (bits & np.uint8(0x7F)).astype(np.uint16) << np.uint16(7)
            )
            value = wide.view(np.float16).astype(np.float64) * 256.0
            return np.where((bits & np.uint8(0x7F)) == 0x7F, np.nan, value)
        case "ue4m3":
            return decode("e4m3", bits & np.uint8(0x7F))
        case _:
            known = _VALUES.get(name)
            if known is None:
                raise unsupported(f"floating-point type .{name}")
            return known[bits & bits.dtype.type(len(known) - 1)]


def encode(name: str, value: Reals, rounding: Rounding = "rn", *, satfinite: bool = False) -> Bits:
    """Doubles (exact, or rounded to odd) rounded once to the format.

    rn, rna (ties away from zero), rz, rm, rp. Overflow follows IEEE 754: infinity or the largest finite value, by the
    rounding and the sign; with `satfinite` always the largest finite value, from infinities too. NaN becomes the
    format's `nan`. A format without infinity delivers NaN there unless `satfinite`.
    """
    if name in _VALUES:
        return _encode_small(name, value, rounding, satfinite)
    row = float_format(name)
    if name == "f64":
        return _patch_nan(row, value.view(np.uint64), np.isnan(value))
    if rounding == "rn" and not satfinite and name in ("f32", "f16"):
        kind = np.float32 if name == "f32" else np.float16
        bits = value.astype(kind).view(UNSIGNED[row.register_bits])
        return _patch_nan(row, bits, np.isnan(value))
    if rounding == "rn" and not satfinite and name == "bf16":
        return _patch_nan(row, _upper_half(_odd_single(value)), np.isnan(value))
    word = UNSIGNED[row.register_bits]
    raw = value.view(np.uint64)
    negative = (raw >> np.uint64(63)) == 1
    magnitude = raw & np.uint64(0x7FFFFFFFFFFFFFFF)
    significand = (magnitude & np.uint64(0xFFFFFFFFFFFFF)) | (
        np.minimum(magnitude >> np.uint64(52), np.uint64(1)) << np.uint64(52)
    )
    exponent = (magnitude >> np.uint64(52)).view(np.int64) - 1023 + row.bias
    drop = np.minimum(52 - row.mantissa_bits + np.maximum(1 - exponent, 0), 54).astype(np.uint64)
    kept = significand >> drop
    rest = significand & ((np.uint64(1) << drop) - np.uint64(1))
    kept = kept + _increment(rounding, negative, kept, rest, np.uint64(1) << (drop - np.uint64(1)))
    pattern = (np.maximum(exponent, 1) - 1).astype(np.uint64) << np.uint64(row.mantissa_bits)
    pattern = (pattern + kept) << np.uint64(row.padding)
    is_infinite = np.isinf(value)
    beyond = (pattern > np.uint64(row.largest)) | is_infinite
    pattern = np.where(beyond, _overflow(row, rounding, satfinite, negative, is_infinite), pattern)
    bits = pattern.astype(word) | (negative.astype(word) << word.type(row.register_bits - 1))
    return _patch_nan(row, bits, np.isnan(value) | (pattern == row.nan if not row.has_infinity else False))


def _encode_small(name: str, value: Reals, rounding: Rounding, satfinite: bool) -> Bits:
    """The nearest value of a format without infinities and NaN, whose largest value NaN becomes; PTX rounds so alone."""
    if name == "ue8m0" or rounding != "rn" or not satfinite:
        raise unsupported(f"cvt.{rounding} to .{name}")
    known = _VALUES[name]
    positive = known[: len(known) // 2]
    middles, magnitude = (positive[:-1] + positive[1:]) / 2, np.abs(value)
    place = np.searchsorted(middles, np.where(np.isnan(value), np.inf, magnitude))
    is_even_above = (place < len(middles)) & (magnitude == middles[np.minimum(place, len(middles) - 1)]) & (place % 2 == 1)
    bits = (place + is_even_above).astype(np.uint8)
    return bits | (np.signbit(value) & ~np.isnan(value)).astype(np.uint8) * np.uint8(len(positive))


def bf16_of_f32(bits: Bits) -> Bits:
    """f32 rounded to nearest even bf16, NaN canonical: `encode("bf16", decode("f32", bits))`, faster."""
    return _patch_nan(FORMATS["bf16"], _upper_half(bits), np.isnan(bits.view(np.float32)))


def odd_sum(x: Reals, y: Reals) -> Reals:
    """x + y rounded to odd: the exact sum if it is a double, else the neighbour with the odd last bit.

    Needs sums clear of the double's overflow and underflow, as those of narrower formats and their products are.
    """
    total = x + y
    back = total - x
    error = (x - (total - back)) + (y - back)
    return _make_odd(total, error)


def _make_odd(total: Reals, error: Reals) -> Reals:
    """`total` is the nearest double of total + error: the double of that exact value rounded to odd."""
    bits = total.view(np.uint64)
    inexact = (error != 0) & (error == error) & ((bits & np.uint64(1)) == 0)
    step = np.where((error < 0) == (total < 0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF))
    return np.where(inexact, bits + step, bits).view(np.float64)


def _odd_single(value: Reals) -> Bits:
    """Bits of the f32 that is the double rounded to odd (largest finite for what overflows)."""
    single = value.astype(np.float32)
    bits, back = single.view(np.uint32), single.astype(np.float64)
    inexact = (back != value) & ((bits & np.uint32(1)) == 0)
    return np.where(inexact, bits + np.where(np.abs(back) > np.abs(value), np.uint32(0xFFFFFFFF), np.uint32(1)), bits)


def _upper_half(bits: Bits) -> Bits:
    """f32 bits cut to their upper 16, nearest even; a carry out of the mantissa makes the next exponent or infinity."""
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    return ((bits + (odd + np.uint32(0x7FFF))) >> np.uint32(16)).astype(np.uint16)


def flush(name: str, bits: Bits) -> Bits:
    """Subnormal values as zeros of their sign (the ftz modifier)."""
    row = float_format(name)
    word = bits.dtype.type
    small = (bits & word(row.sign - 1)) < word(row.smallest_normal)
    return np.where(small, bits & word(row.sign), bits) if small.any() else bits


def is_nan(name: str, bits: Bits) -> Flags:
    """Flags of the bits that are a NaN of the format."""
    match name:
        case "f32":
            return np.isnan(bits.view(np.float32))
        case "f64":
            return np.isnan(bits.view(np.float64))
        case _:
            row = float_format(name)
            top = row.infinity if row.has_infinity else row.largest
            return (bits & bits.dtype.type(row.sign - 1)) > bits.dtype.type(top)


def _patch_nan(row: FloatFormat, bits: Bits, where: Flags) -> Bits:
    if not np.any(where):
        return bits
    return np.where(where, UNSIGNED[row.register_bits].type(row.nan), bits)


def _increment(rounding: Rounding, negative: Flags, kept: Bits, rest: Bits, half: Bits) -> Bits:
    match rounding:
        case "rn":
            up = (rest > half) | ((rest == half) & ((kept & np.uint64(1)) == 1))
        case "rna":
            up = rest >= half
        case "rz":
            return np.zeros((), np.uint64)
        case "rm":
            up = negative & (rest != 0)
        case "rp":
            up = ~negative & (rest != 0)
        case _:
            raise unsupported(f"rounding .{rounding}")
    return up.astype(np.uint64)


def _overflow(row: FloatFormat, rounding: Rounding, satfinite: bool, negative: Flags, is_infinite: Flags) -> Bits:
    largest = np.uint64(row.largest)
    if satfinite:
        return np.full((), largest)
    infinity = np.uint64(row.infinity if row.has_infinity else row.nan)
    match rounding:
        case "rn" | "rna":
            return np.full((), infinity)
        case "rm":
            return np.where(negative | is_infinite, infinity, largest)
        case "rp":
            return np.where(~negative | is_infinite, infinity, largest)
        case _:
            return np.where(is_infinite, infinity, largest)
