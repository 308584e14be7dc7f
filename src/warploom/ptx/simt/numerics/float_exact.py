"""Correctly rounded double-precision operations: error-free transformations, and integers where those do not reach.

Source: IEEE 754-2019, section 4.3; Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved
algorithms using rounding to odd", IEEE TC 57(4), 2008, section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np

from warploom.ptx.simt.numerics.float_formats import odd_sum
from warploom.ptx.simt.numerics.scalars import Flags, Reals, Rounding

_SPLIT = 134217729.0  # 2^27 + 1, Veltkamp's constant
_LEAST = -1074


def fma_f64(a: Reals, b: Reals, c: Reals, rounding: Rounding) -> Reals:
    """a * b + c rounded once, any exponents."""
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a * b
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    # A finite product may overflow; it must not turn an infinite c into NaN.
    special = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, product + c)
    if rounding != "rn":
        return _by_integers(special, finite, rounding, _sum_of_product, a, b, c)
    high, low = _two_product(a, b, product)
    first, first_error = _two_sum(c, low)
    second, second_error = _two_sum(high, first)
    result = second + odd_sum(first_error, second_error)
    result = np.where(finite & (result != 0), result, special)
    size, addend = np.abs(product), np.abs(c)
    safe = (size < 1e300) & (addend < 1e300) & (np.abs(a) < 1e290) & (np.abs(b) < 1e290)
    safe &= ((size > 1e-270) | (a == 0) | (b == 0)) & ((addend > 1e-270) | (c == 0))
    hard = finite & ~safe
    return _by_integers(result, hard, rounding, _sum_of_product, a, b, c) if np.any(hard) else result


def add_f64(a: Reals, b: Reals, rounding: Rounding) -> Reals:
    """a + b rounded once."""
    total = a + b
    if rounding == "rn":
        return total
    finite = np.isfinite(a) & np.isfinite(b)
    return _by_integers(total, finite, rounding, _sum_of_product, a, np.ones_like(a), b)


def mul_f64(a: Reals, b: Reals, rounding: Rounding) -> Reals:
    """a * b rounded once."""
    product = a * b
    if rounding == "rn":
        return product
    nonzero = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    return _by_integers(product, nonzero, rounding, _sum_of_product, a, b, np.zeros_like(a))


def div_f64(a: Reals, b: Reals, rounding: Rounding) -> Reals:
    """a / b rounded once."""
    quotient = a / b
    if rounding == "rn":
        return quotient
    ordinary = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    return _by_integers(quotient, ordinary, rounding, _quotient, a, b)


def sqrt_f64(a: Reals, rounding: Rounding) -> Reals:
    """The square root rounded once; of -0 it is -0, of other negative values NaN."""
    root = np.sqrt(a)
    if rounding == "rn":
        return root
    return _by_integers(root, np.isfinite(a) & (a > 0), rounding, _root, a)


def round_scaled(numerator: int, exponent: int, sticky: bool, rounding: Rounding) -> float:
    """The double nearest to numerator * 2^exponent in the given direction.

    `sticky`, for directed roundings only, says that the true magnitude is above it by less than one unit of the
    numerator, which then has at least 55 bits. Zero is not served: its sign is the caller's.
    """
    negative, size = numerator < 0, abs(numerator)
    unit = max(size.bit_length() + exponent - 53, _LEAST)
    drop = unit - exponent
    if drop <= 0:
        kept, inexact, above, tie = size << -drop, sticky, False, False
    else:
        kept, rest, half = size >> drop, size & ((1 << drop) - 1), 1 << (drop - 1)
        inexact = sticky or rest != 0
        above, tie = rest > half, rest == half
    match rounding:
        case "rn":
            kept += above or (tie and kept & 1 == 1)
        case "rm":
            kept += inexact and negative
        case "rp":
            kept += inexact and not negative
        case _:
            pass
    if kept.bit_length() + unit > 1024:
        away = rounding == "rn" or (rounding == "rm" and negative) or (rounding == "rp" and not negative)
        value = float("inf") if away else float.fromhex("0x1.fffffffffffffp+1023")
    else:
        value = float(np.ldexp(float(kept), unit))
    return -value if negative else value


def _two_sum(x: Reals, y: Reals) -> tuple[Reals, Reals]:
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _two_product(a: Reals, b: Reals, product: Reals) -> tuple[Reals, Reals]:
    scaled_a, scaled_b = a * _SPLIT, b * _SPLIT
    a_high, b_high = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _scaled(value: float) -> tuple[int, int]:
    numerator, denominator = value.as_integer_ratio()
    return numerator, 1 - denominator.bit_length()


def _sum_of_product(rounding: Rounding, a: float, b: float, c: float) -> float:
    a_part, a_exponent = _scaled(a)
    b_part, b_exponent = _scaled(b)
    c_part, c_exponent = _scaled(c)
    exponent = min(a_exponent + b_exponent, c_exponent)
    total = (a_part * b_part << (a_exponent + b_exponent - exponent)) + (c_part << (c_exponent - exponent))
    if total:
        return round_scaled(total, exponent, False, rounding)
    product_negative = (np.signbit(a) != np.signbit(b)).item()
    c_negative = np.signbit(c).item()
    either = product_negative or c_negative if rounding == "rm" else product_negative and c_negative
    return -0.0 if either else 0.0


def _quotient(rounding: Rounding, a: float, b: float) -> float:
    a_part, a_exponent = _scaled(a)
    b_part, b_exponent = _scaled(b)
    shift = max(0, 56 + abs(b_part).bit_length() - abs(a_part).bit_length())
    quotient, rest = divmod(abs(a_part) << shift, abs(b_part))
    sign = -1 if (a_part < 0) != (b_part < 0) else 1
    return round_scaled(sign * quotient, a_exponent - b_exponent - shift, rest != 0, rounding)


def _root(rounding: Rounding, a: float) -> float:
    part, exponent = _scaled(a)
    shift = max(0, 112 - part.bit_length())
    shift += (exponent - shift) & 1
    part <<= shift
    root = isqrt(part)
    return round_scaled(root, (exponent - shift) // 2, root * root != part, rounding)


def _by_integers(otherwise: Reals, where: Flags, rounding: Rounding, operation: Callable[..., float], *operands: Reals) -> Reals:
    """`otherwise` with the lanes of `where` replaced by the exact operation, lane by lane."""
    shape = np.broadcast_shapes(np.shape(otherwise), *(np.shape(operand) for operand in operands))
    result = np.array(np.broadcast_to(otherwise, shape))
    flat = result.reshape(-1)
    columns = [np.broadcast_to(operand, shape).reshape(-1) for operand in operands]
    for lane in np.flatnonzero(np.broadcast_to(where, shape)):
        flat[lane] = operation(rounding, *(column[lane].item() for column in columns))
    return flat.reshape(shape)
