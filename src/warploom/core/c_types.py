"""C's rules of types: in which type an operation is computed, and which type holds its result."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.core.dtypes import DType, f32, i32

INT = i32
"""C's `int`."""
SHIFTS = frozenset({"<<", ">>"})
FLOORED = frozenset({"//", "%"})
"""Quotients as Python rounds them: C has none for them that keeps both signs."""
QUOTIENTS = frozenset({"/"}) | FLOORED
WITHIN = frozenset({"min", "max", "&", "|", "^"})
"""The result for two values of a type is a value of that type, so it need not be computed in `int`."""


def promoted(dtype: DType) -> DType:
    """The scalar type that C computes `dtype` in: integers narrower than `int` become `int`."""
    return INT if not dtype.is_float and dtype.lanes == 1 and dtype.bits < INT.bits else dtype


def common_type(a: DType, b: DType) -> DType:
    """The scalar type of `a + b` in C: floats win over integers, wider over narrower, unsigned over signed of one width."""
    if a.is_float or b.is_float:
        if a.is_float and b.is_float:
            return f32 if a != b and a.bits == b.bits else max(a, b, key=lambda t: t.bits)
        return a if a.is_float else b
    left, right = promoted(a), promoted(b)
    if left.bits != right.bits:
        return max(left, right, key=lambda t: t.bits)
    return left if left.kind == "uint" else right


def result_type(sign: str, operands: Sequence[DType | None], *, fits: bool, literals: Sequence[DType] = ()) -> DType:
    """The narrowest type that holds `sign` of these operands whatever their values.

    An operand without a type is a number, which takes the type of what it meets; `fits`: whether all numbers are values of the
    first type that is known. `literals`: C's types of numbers that may not fit.
    """
    given = [operand for operand in operands if operand is not None]
    first = given[0]
    if first.lanes > 1:
        return first
    if sign in SHIFTS:
        left = operands[0] or INT
        return left if sign == ">>" else promoted(left)
    if sign == "~" and first.kind == "int":
        return first
    if sign in WITHIN and fits and all(other == first for other in given):
        return first
    total = promoted(first)
    for other in given[1:]:
        total = common_type(total, other)
    for literal in literals:
        if not total.is_float:
            total = common_type(total, literal)
    return total
