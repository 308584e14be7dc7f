"""Floating-point add, sub, mul, fma, min, max and sign operations on raw bits, correctly rounded.

Types: f16, bf16, f32, f64 and the packed f16x2, bf16x2, f32x2. `ftz` treats subnormal inputs as zeros of their sign
and flushes results that are subnormal after rounding; `sat` clamps to [+0, 1] with NaN giving +0. NaN results are the
canonical 0x7fffffff (f32) and 0x7fff (f16, bf16); f64 keeps the first NaN operand's payload, quieted, and otherwise
delivers 0xfff8000000000000. `rounding` is one of rn, rz, rm, rp.

Source: PTX ISA 9.0, sections 9.7.3 to 9.7.5; IEEE 754-2019.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.numerics.float_exact import add_f64, fma_f64, mul_f64
from warploom.ptx.simt.numerics.float_formats import decode, encode, float_format, flush, is_nan, odd_sum
from warploom.ptx.simt.numerics.scalars import Bits, Flags, Reals, Rounding, join, scalar_type, split, unsupported

_QUIET = np.uint64(0x0008000000000000)
TestProperty = Literal["finite", "infinite", "number", "notanumber", "normal", "subnormal"]


def float_add(type_name: str, a: Bits, b: Bits, *, rounding: Rounding = "rn", ftz: bool = False, sat: bool = False) -> Bits:
    """a + b."""
    if "x" in type_name:
        return _packed(float_add, type_name, a, b, rounding=rounding, ftz=ftz, sat=sat)
    if ftz:
        a, b = flush(type_name, a), flush(type_name, b)
    if type_name == "f32" and rounding == "rn":
        result = canonical_f32(a.view(np.float32) + b.view(np.float32))
    elif type_name == "f64":
        result = _nan_f64(add_f64(a.view(np.float64), b.view(np.float64), rounding), a, b)
    else:
        x, y = decode(type_name, a), decode(type_name, b)
        result = encode(type_name, _signed_zero(odd_sum(x, y), x, y, rounding), rounding)
    return _finish(type_name, result, ftz, sat)


def float_sub(type_name: str, a: Bits, b: Bits, *, rounding: Rounding = "rn", ftz: bool = False, sat: bool = False) -> Bits:
    """a - b."""
    if "x" in type_name:
        return _packed(float_sub, type_name, a, b, rounding=rounding, ftz=ftz, sat=sat)
    if type_name == "f32" and rounding == "rn" and not ftz:
        return _finish(type_name, canonical_f32(a.view(np.float32) - b.view(np.float32)), ftz, sat)
    negated = np.where(is_nan(type_name, b), b, float_neg(type_name, b)) if type_name == "f64" else float_neg(type_name, b)
    return float_add(type_name, a, negated, rounding=rounding, ftz=ftz, sat=sat)


def float_mul(type_name: str, a: Bits, b: Bits, *, rounding: Rounding = "rn", ftz: bool = False, sat: bool = False) -> Bits:
    """a * b."""
    if "x" in type_name:
        return _packed(float_mul, type_name, a, b, rounding=rounding, ftz=ftz, sat=sat)
    if ftz:
        a, b = flush(type_name, a), flush(type_name, b)
    if type_name == "f32" and rounding == "rn":
        result = canonical_f32(a.view(np.float32) * b.view(np.float32))
    elif type_name == "f64":
        result = _nan_f64(mul_f64(a.view(np.float64), b.view(np.float64), rounding), a, b)
    else:
        result = encode(type_name, decode(type_name, a) * decode(type_name, b), rounding)
    return _finish(type_name, result, ftz, sat)


def float_fma(
    type_name: str,
    a: Bits,
    b: Bits,
    c: Bits,
    *,
    rounding: Rounding = "rn",
    ftz: bool = False,
    sat: bool = False,
    relu: bool = False,
) -> Bits:
    """a * b + c with one rounding; also mad.rnd of f32 and f64. `relu` (f16, bf16, x2) turns negatives into +0."""
    if "x" in type_name:
        return _packed(float_fma, type_name, a, b, c, rounding=rounding, ftz=ftz, sat=sat, relu=relu)
    if ftz:
        a, b, c = flush(type_name, a), flush(type_name, b), flush(type_name, c)
    if type_name == "f64":
        result = _nan_f64(fma_f64(a.view(np.float64), b.view(np.float64), c.view(np.float64), rounding), a, b, c)
    else:
        # Products of two significands of up to 24 bits are exact doubles, subnormal ones included.
        product, addend = decode(type_name, a) * decode(type_name, b), decode(type_name, c)
        result = _fma_narrow(type_name, product, addend, rounding)
    result = _finish(type_name, result, ftz, sat)
    return relu_of(type_name, result) if relu else result


def float_min(type_name: str, a: Bits, b: Bits, *, ftz: bool = False, nan: bool = False, xorsign_abs: bool = False) -> Bits:
    """The smaller number, -0 below +0; a NaN operand loses to a number unless `nan`, when it wins.

    `xorsign_abs`: of the magnitudes, with the sign a's XOR b's. A NaN result is canonical.
    """
    return _extreme(type_name, a, b, ftz, nan, xorsign_abs, np.minimum)


def float_max(type_name: str, a: Bits, b: Bits, *, ftz: bool = False, nan: bool = False, xorsign_abs: bool = False) -> Bits:
    """The larger number; as `float_min`."""
    return _extreme(type_name, a, b, ftz, nan, xorsign_abs, np.maximum)


def float_abs(type_name: str, a: Bits, *, ftz: bool = False) -> Bits:
    """Clears the sign bit, of a NaN too."""
    if "x" in type_name:
        return _packed(float_abs, type_name, a, ftz=ftz)
    row = float_format(type_name)
    return (flush(type_name, a) if ftz else a) & a.dtype.type(row.sign - 1)


def float_neg(type_name: str, a: Bits, *, ftz: bool = False) -> Bits:
    """Flips the sign bit, of a NaN too."""
    if "x" in type_name:
        return _packed(float_neg, type_name, a, ftz=ftz)
    return (flush(type_name, a) if ftz else a) ^ a.dtype.type(float_format(type_name).sign)


def copysign(type_name: str, a: Bits, b: Bits) -> Bits:
    """b with the sign bit of a (in that order, as PTX has it); f32 and f64."""
    sign = a.dtype.type(float_format(type_name).sign)
    return (b & ~sign) | (a & sign)


def testp(property_name: TestProperty, type_name: str, a: Bits) -> Flags:
    """The property as a predicate; zero is normal, as PTX has it; f32 and f64."""
    row = float_format(type_name)
    word = a.dtype.type
    magnitude = a & word(row.sign - 1)
    match property_name:
        case "finite":
            return magnitude < word(row.infinity)
        case "infinite":
            return magnitude == word(row.infinity)
        case "number":
            return magnitude <= word(row.infinity)
        case "notanumber":
            return magnitude > word(row.infinity)
        case "normal":
            return ((magnitude >= word(row.smallest_normal)) & (magnitude < word(row.infinity))) | (magnitude == 0)
        case "subnormal":
            return (magnitude < word(row.smallest_normal)) & (magnitude != 0)


def saturate(type_name: str, a: Bits) -> Bits:
    """The sat modifier: clamped to [+0, 1], NaN to +0."""
    word = a.dtype.type
    row = float_format(type_name)
    one = word(row.bias << (row.mantissa_bits + row.padding))
    # As unsigned numbers, negative values and (after the NaN test) nothing else are above the sign bit.
    clamped = np.where(a >= word(row.sign), word(0), np.minimum(a, one))
    return np.where(is_nan(type_name, a), word(0), clamped)


def relu_of(type_name: str, a: Bits) -> Bits:
    """The relu modifier: negative values and -0 become +0, NaN the canonical NaN."""
    row = float_format(type_name)
    word = a.dtype.type
    return np.where(is_nan(type_name, a), word(row.nan), np.where(a >= word(row.sign), word(0), a))


def _packed(operation: Callable[..., Bits], type_name: str, *operands: Bits, **options: object) -> Bits:
    row = scalar_type(type_name)
    return join(operation(row.element.name, *(split(operand, row.lanes) for operand in operands), **options))


def canonical_f32(value: NDArray[np.float32]) -> Bits:
    """The bits, every NaN as 0x7fffffff."""
    bits = value.view(np.uint32)
    nan = np.isnan(value)
    return np.where(nan, np.uint32(0x7FFFFFFF), bits) if nan.any() else bits


def _nan_f64(value: Reals, *operands: Bits) -> Bits:
    bits = value.view(np.uint64)
    nan = np.isnan(value)
    if not nan.any():
        return bits
    payload: Bits = np.full((), 0xFFF8000000000000, np.uint64)
    for operand in reversed(operands):
        payload = np.where(np.isnan(operand.view(np.float64)), operand | _QUIET, payload)
    return np.where(nan, payload, bits)


def _signed_zero(total: Reals, x: Reals, y: Reals, rounding: Rounding) -> Reals:
    """Under rm an exact zero sum is -0 unless both terms are +0; the other directions agree with the double's sum."""
    if rounding != "rm":
        return total
    return np.where((total == 0) & (np.signbit(x) | np.signbit(y)), -0.0, total)


def _fma_narrow(type_name: str, product: Reals, addend: Reals, rounding: Rounding) -> Bits:
    if type_name == "f32" and rounding == "rn":
        total = product + addend
        # Rounding twice differs from once only if the first lands on a midpoint of f32; those of subnormals lie elsewhere.
        midpoint = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
        small = (np.abs(total) < 2.0**-125) & (total != 0)
        bits = canonical_f32(total.astype(np.float32))
        hard = midpoint | small
        if not hard.any():
            return bits
        bits = np.array(bits)
        product, addend = np.broadcast_to(product, total.shape), np.broadcast_to(addend, total.shape)
        bits[hard] = encode("f32", odd_sum(product[hard], addend[hard]))
        return bits
    return encode(type_name, _signed_zero(odd_sum(product, addend), product, addend, rounding), rounding)


def _finish(type_name: str, bits: Bits, ftz: bool, sat: bool) -> Bits:
    if ftz:
        bits = flush(type_name, bits)
    return saturate(type_name, bits) if sat else bits


def _extreme(type_name: str, a: Bits, b: Bits, ftz: bool, nan: bool, xorsign_abs: bool, pick: np.ufunc) -> Bits:
    if "x" in type_name:
        row = scalar_type(type_name)
        return join(_extreme(row.element.name, split(a, 2), split(b, 2), ftz, nan, xorsign_abs, pick))
    row = float_format(type_name)
    if row.name not in ("f16", "bf16", "f32", "f64"):
        raise unsupported(f"min or max of .{type_name}")
    if ftz:
        a, b = flush(type_name, a), flush(type_name, b)
    word = a.dtype.type
    if row.name in ("f32", "f64") and not xorsign_abs:
        x, y = (a.view(np.float32), b.view(np.float32)) if row.name == "f32" else (a.view(np.float64), b.view(np.float64))
        quick = pick(x, y)
        if not np.isnan(quick).any():
            # Equal operands differ at most in a zero's sign.
            return np.where(x == y, a | b if pick is np.minimum else a & b, quick.view(a.dtype))
    sign = word(row.sign)
    flipped = (a ^ b) & sign
    if xorsign_abs:
        a, b = a & ~sign, b & ~sign
    chosen = _from_ordered(pick(_ordered(a, row.sign), _ordered(b, row.sign)), row.sign)
    a_nan, b_nan = is_nan(type_name, a), is_nan(type_name, b)
    if xorsign_abs:
        chosen = chosen | flipped
    if np.any(a_nan) or np.any(b_nan):
        other = np.where(a_nan, b, a) | flipped if xorsign_abs else np.where(a_nan, b, a)
        chosen = np.where(a_nan | b_nan, other, chosen)
        chosen = np.where((a_nan | b_nan) if nan else (a_nan & b_nan), word(row.nan), chosen)
    return chosen


def _ordered(bits: Bits, sign: int) -> Bits:
    """Float bits as unsigned numbers in the order of their values, -0 just below +0; `_from_ordered` is the way back."""
    word = bits.dtype.type
    return np.where(bits >= word(sign), ~bits, bits | word(sign))


def _from_ordered(keys: Bits, sign: int) -> Bits:
    word = keys.dtype.type
    return np.where(keys >= word(sign), keys ^ word(sign), ~keys)
