"""CUDA C++ of scalar operations."""

from __future__ import annotations

from warploom.core import Diagnostic, DType, UnsupportedError
from warploom.ctext import PRIMARY, Text, binary, call, conditional, cuda_type, literal, static_cast, unary
from warploom.schedule.backbone import COMPARING, ROWS, Operator

KEEPING_NAN = {Operator.MAX: "max_or_nan", Operator.MIN: "min_or_nan"}
"""Helpers, since CUDA's own functions would forget a NaN; functions, since an operand may be a shuffle, which lanes run once."""
_REDUCING = (Operator.ADD, Operator.MUL, Operator.MAX, Operator.MIN)


def operation(operator: Operator, dtype: DType, arguments: list[Text], *, approximate: bool = False) -> Text:
    """`operator` on operands; signs stand between names, calls, elements and parentheses only."""
    if dtype.is_narrow_float and operator not in (Operator.MOVE, Operator.CAST):
        raise UnsupportedError(
            Diagnostic(
                "CUDA_TYPE", f"expected f32, f64 or an integer type of {operator.value}, got {dtype.name}", fix="cast to f32"
            )
        )
    match operator:
        case Operator.MOVE:
            return arguments[0]
        case Operator.CAST:
            return static_cast(cuda_type(dtype), arguments[0])
        case Operator.NEG:
            return unary("-", arguments[0])
        case Operator.ADD | Operator.SUB | Operator.MUL | Operator.DIV:
            first, second = arguments
            return binary(ROWS[operator].c, first, second, inner=PRIMARY)
        case Operator.LESS | Operator.LESS_EQUAL | Operator.EQUAL:
            holds = binary(COMPARING[operator], *arguments, inner=PRIMARY)
            return conditional(holds, literal(dtype, 1), literal(dtype, 0))
        case Operator.SELECT:
            return conditional(binary("!=", arguments[0], literal(dtype, 0), inner=PRIMARY), *arguments[1:])
        case Operator.LOAD | Operator.STORE | Operator.GATHER:
            raise AssertionError(f"{operator.value} is no arithmetic")
        case _:
            return _function(operator, dtype, arguments, approximate=approximate)


def _function(operator: Operator, dtype: DType, arguments: list[Text], *, approximate: bool) -> Text:
    if dtype.is_float:
        if approximate and dtype.bits == 32 and ROWS[operator].approximate:
            return call(ROWS[operator].approximate, *arguments)
        if operator in (Operator.MAX, Operator.MIN):
            return call(KEEPING_NAN[operator], *arguments)
        return call(f"{ROWS[operator].c}{'f' if dtype.bits == 32 else ''}", *arguments)
    match operator:
        case Operator.MAX | Operator.MIN | Operator.ABS:
            return call(operator.value, *arguments)
        case Operator.FMA:
            return binary("+", binary("*", arguments[0], arguments[1]), arguments[2])
        case _:
            raise UnsupportedError(Diagnostic("CUDA_TYPE", f"expected a float type of {operator.value}, got {dtype.name}"))


def reduction(operator: Operator, dtype: DType, first: Text, second: Text) -> Text:
    if operator not in _REDUCING:
        raise UnsupportedError(Diagnostic("CUDA_COMBINE", f"expected add, mul, max or min to combine, got {operator.value}"))
    return operation(operator, dtype, [first, second])
