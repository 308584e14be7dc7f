"""Numbers written in a sketch, and the types they fit."""

from __future__ import annotations

from warploom.core import DType, integer_range
from warploom.ir import IndexConst, ValueConst
from warploom.sketch.operands import Data, Index, Operand, Static


def number_of(operand: Operand) -> int | float | None:
    """The number that `operand` is, if it is one known now."""
    match operand:
        case Index(expr=IndexConst(value=value), is_bool=False):
            return value
        case Static(value=float() as value):
            return value
        case _:
            return None


def as_constant(operand: Operand, dtype: DType) -> Data | None:
    """A number as a constant of type `dtype`; None if it is no number or does not fit."""
    value = number_of(operand)
    if value is None:
        return None
    if dtype.is_float:
        return Data(ValueConst(float(value), dtype), dtype)
    low, high = integer_range(dtype)
    if isinstance(value, float) or not low <= value <= high:
        return None
    return Data(ValueConst(value, dtype), dtype)
