"""set, setp: comparisons of every type, combined with a predicate.

Source: PTX ISA 9.0, sections 9.3 (operators; a comparison with NaN is False unless its name ends in u or is nan),
9.7.6 and 9.7.7 (half precision).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.numerics.float_formats import flush
from warploom.ptx.simt.numerics.logic import Combine, combine
from warploom.ptx.simt.numerics.scalars import (
    UNSIGNED,
    Bits,
    Flags,
    ScalarType,
    join,
    scalar_type,
    signed,
    split,
    truth,
    unsupported,
)

COMPARISONS = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
)
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compare(operator: str, type_name: str, a: Bits, b: Bits, *, ftz: bool = False) -> Flags:
    """a operator b per value; for x2 types [..., 2], low half first. Operators: `COMPARISONS`."""
    row = scalar_type(type_name)
    if row.lanes > 1:
        return compare(operator, row.element.name, split(a, row.lanes), split(b, row.lanes), ftz=ftz)
    if operator not in COMPARISONS:
        raise unsupported(f"comparison .{operator}")
    if row.is_float:
        return _compare_floats(operator, _reals(row, a, ftz), _reals(row, b, ftz))
    if operator in _UNSIGNED_NAMES or not row.is_signed:
        return _ordered(_UNSIGNED_NAMES.get(operator, operator), a, b)
    return _ordered(operator, signed(a), signed(b))


def setp(
    operator: str,
    type_name: str,
    a: Bits,
    b: Bits,
    *,
    combine_with: Combine | None = None,
    c: Flags | None = None,
    ftz: bool = False,
) -> tuple[Flags, Flags]:
    """The two destination predicates p and q of setp.

    Scalar types: p = (a op b) BoolOp c, q = not (a op b) BoolOp c. Types f16x2 and bf16x2: p from the low halves and q
    from the high ones. `c` comes with its negation already applied.
    """
    result = compare(operator, type_name, a, b, ftz=ftz)
    if scalar_type(type_name).lanes == 2:
        p, q = result[..., 0], result[..., 1]
    else:
        p, q = result, ~result
    if combine_with is None or c is None:
        return p, q
    return combine(combine_with, p, c), combine(combine_with, q, c)


def set_value(
    operator: str,
    result_type: str,
    type_name: str,
    a: Bits,
    b: Bits,
    *,
    combine_with: Combine | None = None,
    c: Flags | None = None,
    ftz: bool = False,
) -> Bits:
    """The destination of set: all ones (integer result types) or 1.0 (float ones) where True, else zero.

    For x2 operands the result is packed: 1.0 per half, or 0xffff per half for u32 and s32.
    """
    flags = compare(operator, type_name, a, b, ftz=ftz)
    packed = scalar_type(type_name).lanes == 2
    if combine_with is not None and c is not None:
        flags = combine(combine_with, flags, c[..., None] if packed else c)
    row = scalar_type(result_type)
    if packed:
        if row.is_float:
            return join(np.where(flags, np.uint16(_one(row.element)), np.uint16(0)))
        return join(truth(flags, 16))
    if row.is_float:
        word = UNSIGNED[row.bits].type
        return np.where(flags, word(_one(row)), word(0))
    return truth(flags, row.bits)


def _one(row: ScalarType) -> int:
    ones = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}
    if row.name not in ones:
        raise unsupported(f"set with a result of .{row.name}")
    return ones[row.name]


def _reals(row: ScalarType, bits: Bits, ftz: bool) -> NDArray[Any]:
    if ftz:
        bits = flush(row.name, bits)
    match row.name:
        case "f32":
            return bits.view(np.float32)
        case "f64":
            return bits.view(np.float64)
        case "f16":
            return bits.view(np.float16)
        case "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
        case _:
            raise unsupported(f"comparison of .{row.name}")


def _ordered(operator: str, a: NDArray[Any], b: NDArray[Any]) -> Flags:
    match operator:
        case "eq":
            return a == b
        case "ne":
            return a != b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "gt":
            return a > b
        case "ge":
            return a >= b
        case _:
            raise unsupported(f"integer comparison .{operator}")


def _compare_floats(operator: str, a: NDArray[Any], b: NDArray[Any]) -> Flags:
    match operator:
        case "ne":
            return (a < b) | (a > b)
        case "eq" | "lt" | "le" | "gt" | "ge":
            return _ordered(operator, a, b)
        case "neu":
            return a != b
        case "equ":
            return ~((a < b) | (a > b))
        case "ltu":
            return ~(a >= b)
        case "leu":
            return ~(a > b)
        case "gtu":
            return ~(a <= b)
        case "geu":
            return ~(a < b)
        case "num":
            return ~(np.isnan(a) | np.isnan(b))
        case "nan":
            return np.isnan(a) | np.isnan(b)
        case _:
            raise unsupported(f"floating-point comparison .{operator}")
