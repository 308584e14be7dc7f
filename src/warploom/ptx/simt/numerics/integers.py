"""Integer arithmetic: add to dp4a. Operands and results are raw bits of the type; everything wraps unless `sat`.

Source: PTX ISA 9.0, section 9.7.1 (integer instructions).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.numerics.scalars import SIGNED, UNSIGNED, Bits, Flags, join, scalar_type, signed, split, unsupported

Product = Literal["lo", "hi", "wide"]


def integer_add(type_name: str, a: Bits, b: Bits, *, sat: bool = False) -> Bits:
    """a + b. Types: s/u 16, 32, 64 and 16x2; `sat` (s32) clamps to [-2^31, 2^31 - 1]."""
    if type_name.endswith("x2"):
        return join(split(a, 2) + split(b, 2))
    return _saturate_s32(_wide(a) + _wide(b)) if sat else a + b


def integer_sub(type_name: str, a: Bits, b: Bits, *, sat: bool = False) -> Bits:
    """a - b; types as in `integer_add`."""
    if type_name.endswith("x2"):
        return join(split(a, 2) - split(b, 2))
    return _saturate_s32(_wide(a) - _wide(b)) if sat else a - b


def integer_mul(type_name: str, half: Product, a: Bits, b: Bits) -> Bits:
    """The low half, the high half or (16 and 32 bits) the whole product in a register of twice the width."""
    row = scalar_type(type_name)
    if half == "lo":
        return a * b
    if row.bits == 64:
        return _high64(a, b, row.is_signed)
    table = SIGNED if row.is_signed else UNSIGNED
    wide = table[2 * row.bits]
    product = (a.view(table[row.bits]).astype(wide) * b.view(table[row.bits]).astype(wide)).view(UNSIGNED[2 * row.bits])
    if half == "wide":
        return product
    return (product >> UNSIGNED[2 * row.bits].type(row.bits)).astype(UNSIGNED[row.bits])


def integer_mad(type_name: str, half: Product, a: Bits, b: Bits, c: Bits, *, sat: bool = False) -> Bits:
    """`integer_mul` plus c; c has the result's width (twice the type's for wide); `sat` is mad.hi.sat.s32."""
    product = integer_mul(type_name, half, a, b)
    return integer_add("s32", product, c, sat=True) if sat else product + c


def integer_mul24(type_name: str, half: Literal["lo", "hi"], a: Bits, b: Bits) -> Bits:
    """The 48-bit product of the low 24 bits (sign-extended for s32): its low or its high 32 bits (bits 47..16)."""
    if type_name == "s32":
        left = ((signed(a) << 8) >> 8).astype(np.int64)
        right = ((signed(b) << 8) >> 8).astype(np.int64)
        product = (left * right).view(np.uint64)
    else:
        mask = np.uint32(0xFFFFFF)
        product = (a & mask).astype(np.uint64) * (b & mask).astype(np.uint64)
    return (product >> np.uint64(16) if half == "hi" else product).astype(np.uint32)


def integer_mad24(type_name: str, half: Literal["lo", "hi"], a: Bits, b: Bits, c: Bits, *, sat: bool = False) -> Bits:
    """`integer_mul24` plus c; `sat` is mad24.hi.sat.s32."""
    return integer_add("s32", integer_mul24(type_name, half, a, b), c, sat=sat)


def integer_sad(type_name: str, a: Bits, b: Bits, c: Bits) -> Bits:
    """c + |a - b|, the difference taken in the type's order (so exact), the sum wrapping."""
    left, right = _typed(type_name, a), _typed(type_name, b)
    return c + np.where(left < right, b - a, a - b)


def integer_div(type_name: str, a: Bits, b: Bits) -> Bits:
    """The quotient cut towards zero; by zero all ones (PTX leaves it open; hardware gives all ones); MIN / -1 is MIN."""
    quotient, _ = _divide(type_name, a, b)
    return np.where(b == 0, _ones(b), quotient)


def integer_rem(type_name: str, a: Bits, b: Bits) -> Bits:
    """The remainder with the dividend's sign; by zero all ones (PTX leaves it open); MIN rem -1 is 0."""
    _, remainder = _divide(type_name, a, b)
    return np.where(b == 0, _ones(b), remainder)


def integer_abs(type_name: str, a: Bits) -> Bits:
    """|a| of s16, s32, s64; MIN stays MIN."""
    del type_name
    return np.where(signed(a) < 0, np.negative(a), a)


def integer_neg(type_name: str, a: Bits) -> Bits:
    """-a of s16, s32, s64; MIN stays MIN."""
    del type_name
    return np.negative(a)


def integer_min(type_name: str, a: Bits, b: Bits, *, relu: bool = False) -> Bits:
    """The smaller value; types s/u 16, 32, 64, 16x2; `relu` (s32, s16x2) raises negative results to zero."""
    return _extreme(type_name, a, b, relu, np.minimum)


def integer_max(type_name: str, a: Bits, b: Bits, *, relu: bool = False) -> Bits:
    """The larger value; as `integer_min`."""
    return _extreme(type_name, a, b, relu, np.maximum)


def dp4a(a_type: str, b_type: str, a: Bits, b: Bits, c: Bits) -> Bits:
    """c + the sum of the four byte products; each type is u32 or s32 and gives the signedness of its bytes."""
    products = _wide(_bytes(a_type, a)) * _wide(_bytes(b_type, b))
    return c + products.sum(axis=-1).astype(np.uint32)


def dp2a(half: Literal["lo", "hi"], a_type: str, b_type: str, a: Bits, b: Bits, c: Bits) -> Bits:
    """c + the sum of a's two 16-bit values times the two low (lo) or high (hi) bytes of b."""
    words = split(a, 2)
    left = signed(words) if a_type == "s32" else words
    right = _bytes(b_type, b)[..., slice(0, 2) if half == "lo" else slice(2, 4)]
    return c + (left.astype(np.int64) * right.astype(np.int64)).sum(axis=-1).astype(np.uint32)


def add_carry(type_name: str, a: Bits, b: Bits, carry: Flags | bool = False) -> tuple[Bits, Flags]:
    """a + b + carry and the carry out: add.cc, and addc with CC.CF as `carry`. Types s/u 32 and 64."""
    _check_carry(type_name)
    partial = a + b
    total = partial + np.asarray(carry).astype(a.dtype)
    return total, (partial < a) | (total < partial)


def sub_borrow(type_name: str, a: Bits, b: Bits, borrow: Flags | bool = False) -> tuple[Bits, Flags]:
    """a - (b + borrow) and the borrow out: sub.cc, and subc with CC.CF as `borrow` (CC.CF holds the borrow itself)."""
    _check_carry(type_name)
    amount = np.asarray(borrow).astype(a.dtype)
    partial = a - b
    return partial - amount, (a < b) | (partial < amount)


def mad_carry(
    type_name: str, half: Literal["lo", "hi"], a: Bits, b: Bits, c: Bits, carry: Flags | bool = False
) -> tuple[Bits, Flags]:
    """`integer_mul` + c + carry and the carry out of that addition: mad.cc, and madc with CC.CF as `carry`."""
    return add_carry(type_name, integer_mul(type_name, half, a, b), c, carry)


def _check_carry(type_name: str) -> None:
    if type_name not in ("s32", "u32", "s64", "u64"):
        raise unsupported(f"extended-precision arithmetic on .{type_name}")


def _typed(type_name: str, bits: Bits) -> NDArray[Any]:
    return signed(bits) if type_name[0] == "s" else bits


def _wide(bits: NDArray[Any]) -> NDArray[np.int64]:
    """Values of up to 32 bits as int64; unsigned 32-bit bits are read as s32."""
    return (bits.view(np.int32) if bits.dtype == np.uint32 else bits).astype(np.int64)


def _bytes(type_name: str, bits: Bits) -> NDArray[Any]:
    parts = split(bits, 4)
    return signed(parts) if type_name == "s32" else parts


def _saturate_s32(value: NDArray[np.int64]) -> Bits:
    return np.clip(value, -(2**31), 2**31 - 1).astype(np.int32).view(np.uint32)


def _ones(bits: Bits) -> Bits:
    return np.invert(np.zeros((), bits.dtype))


def _high64(a: Bits, b: Bits, is_signed: bool) -> Bits:
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high, b_low, b_high = a & mask, a >> shift, b & mask, b >> shift
    cross = a_high * b_low + ((a_low * b_low) >> shift)
    other = a_low * b_high + (cross & mask)
    high = a_high * b_high + (cross >> shift) + (other >> shift)
    if not is_signed:
        return high
    zero = np.uint64(0)
    return high - np.where(signed(a) < 0, b, zero) - np.where(signed(b) < 0, a, zero)


def _divide(type_name: str, a: Bits, b: Bits) -> tuple[Bits, Bits]:
    one = b.dtype.type(1)
    if type_name[0] == "u":
        divisor = np.where(b == 0, one, b)
        quotient = a // divisor
        return quotient, a - quotient * divisor
    a_negative, b_negative = signed(a) < 0, signed(b) < 0
    magnitude = np.where(b_negative, np.negative(b), b)
    quotient = np.where(a_negative, np.negative(a), a) // np.where(b == 0, one, magnitude)
    quotient = np.where(a_negative ^ b_negative, np.negative(quotient), quotient)
    return quotient, a - quotient * b


def _extreme(type_name: str, a: Bits, b: Bits, relu: bool, pick: np.ufunc) -> Bits:
    if type_name.endswith("x2"):
        return join(_extreme(type_name[:-2], split(a, 2), split(b, 2), relu, pick))
    result = pick(_typed(type_name, a), _typed(type_name, b))
    if relu:
        result = np.maximum(result, result.dtype.type(0))
    return result.view(a.dtype)
