"""Numbers as data: the only conversion that happens by itself is a literal taking the type of what it meets."""

from __future__ import annotations

import ast
from typing import cast

from warploom.core import INT, DType, promoted
from warploom.core.c_types import FLOORED, QUOTIENTS, SHIFTS, result_type
from warploom.ir import Arith, Cast, FromIndex, IndexConst, IndexExpr, IndexOp, Logical, ValueConst, ValueExpr, ValueSelect
from warploom.sketch import fold
from warploom.sketch.literals import as_constant, number_of
from warploom.sketch.operands import Data, Group, Index, Operand, describe
from warploom.sketch.parser.conversions import as_index
from warploom.sketch.parser.state import State


def adapt(state: State, operand: Operand, dtype: DType, node: ast.AST, what: str = "operand") -> ValueExpr:
    """`operand` as data of type `dtype`: data of that type, or a number that fits."""
    if isinstance(operand, Data):
        if operand.dtype != dtype and _converts_itself(state, operand.dtype, dtype):
            return Cast(dtype, operand.expr)
        if operand.dtype != dtype:
            raise state.problem(
                "DTYPE_MISMATCH",
                f"expected {what} of type {dtype}, got {operand.dtype}",
                node,
                f"Convert it: wl.cast({dtype}, ...).",
            )
        return operand.expr
    constant = as_constant(operand, dtype)
    if constant is not None:
        return constant.expr
    number = number_of(operand)
    if number is not None:
        raise state.problem(
            "DTYPE_MISMATCH",
            f"expected {what} of type {dtype}, got the number {number}",
            node,
            f"Use a number that fits {dtype}.",
        )
    if isinstance(operand, Index) and not operand.is_bool and state.mode == "spec":
        return FromIndex(operand.expr, dtype)
    if isinstance(operand, Index) and not operand.is_bool:
        fix = f"Convert the index: wl.cast({dtype}, ...); a scalar that holds data starts as wl.literal({dtype}, 0)."
        raise state.problem("DATA_EXPECTED", f"expected {what} of type {dtype}, got an index", node, fix)
    raise state.problem(
        "DATA_EXPECTED", f"expected {what} of type {dtype}, got {describe(operand)}", node, "Use an element or a scalar."
    )


def _converts_itself(state: State, source: DType, target: DType) -> bool:
    """A spec converts integers as C does; floats of another width are asked for."""
    return state.mode == "spec" and not source.is_float and source.lanes == target.lanes == 1


_BITWISE = frozenset({"&", "|", "^", "<<", ">>", "~"})


def check_operator(state: State, op: str, dtype: DType, node: ast.AST) -> None:
    """Bitwise operators need integers."""
    if op in _BITWISE and dtype.is_float:
        raise state.problem("DTYPE_MISMATCH", f"expected integers for {op!r}, got {dtype}", node, "Use an integer element type.")


def arithmetic(state: State, op: str, operands: tuple[Operand, ...], node: ast.AST) -> Data:
    """`op` over operands of one type; numbers take the type of the others. In a spec that is C's common type."""
    types = [o.dtype for o in operands if isinstance(o, Data)]
    dtype = types[0] if state.mode == "sketch" else _computed_in(op, types, operands)
    check_operator(state, op, dtype, node)
    if op in SHIFTS:
        _check_shift(state, operands, dtype, node)
    if op in QUOTIENTS and not dtype.is_float:
        _check_quotient(state, op, operands, dtype, node)
    elif op in FLOORED:
        raise state.problem(
            "DTYPE_MISMATCH",
            f"expected integers for `{op}`, got {dtype}: no law of the reals says how a quotient rounds down",
            node,
            "Write `/`, or cast to an integer type first.",
        )
    return Data(Arith(op, tuple(adapt(state, o, dtype, node) for o in operands)), dtype)


def _computed_in(op: str, types: list[DType], operands: tuple[Operand, ...]) -> DType:
    """C's type of `op`; a number takes the type of what it meets, if it fits."""
    fits = all(isinstance(o, Data) or as_constant(o, types[0]) is not None for o in operands)
    found = result_type(op, [o.dtype if isinstance(o, Data) else None for o in operands], fits=fits)
    if op == ">>":  # a value of the narrow type, but shifted as an `int` by counts that the narrow type does not have
        count = number_of(operands[1])
        return found if count is not None and 0 <= count < found.bits else promoted(found)
    return found


def _check_shift(state: State, operands: tuple[Operand, ...], dtype: DType, node: ast.AST) -> None:
    count = number_of(operands[1])
    if count is not None and not 0 <= count < dtype.bits:
        raise state.problem(
            "SHIFT_COUNT",
            f"expected a shift by 0 to {dtype.bits - 1} bits of {dtype}, got {count}",
            node,
            "Shift by less than the width: what is shifted out is lost, and machines differ beyond.",
        )


def _check_quotient(state: State, op: str, operands: tuple[Operand, ...], dtype: DType, node: ast.AST) -> None:
    """Nothing is divided by 0; a spec stores `/` at once, where Python's fraction is cut as C's is; `//` and `%` keep signs."""
    if number_of(operands[1]) == 0:
        raise state.problem("DIVISION_BY_ZERO", "division by zero", node, "Divide by another number.")
    if op in FLOORED:
        for operand in operands:
            is_index = isinstance(operand, Index) and number_of(operand) is None
            if dtype.kind == "uint" and (is_index or (isinstance(operand, Data) and operand.dtype.kind == "int")):
                raise state.problem(
                    "DTYPE_MISMATCH",
                    f"expected operands of one sign for `{op}`, got {describe(operand)} with {dtype}",
                    node,
                    f"Convert it: wl.cast({dtype}, ...).",
                )
        return
    if state.mode == "spec" and state.storing is not node:
        raise state.problem(
            "INTEGER_DIVISION",
            "expected a quotient of integers to be stored at once, got one in a larger expression: in Python it is a fraction, "
            "in CUDA an integer",
            node,
            "Store it to an array of integers first, or convert with wl.cast(f32, ...).",
        )


def binary(state: State, op: str, left: Operand, right: Operand, node: ast.AST) -> Operand:
    """`left op right` on indices, data, or numbers."""
    if isinstance(left, Data) or isinstance(right, Data):
        if op in ("**", "@"):
            fix = "Use + - * / // % min max & | ^ << >>."
            raise state.problem("UNSUPPORTED_PYTHON", f"operator `{op}` on data is not part of the language", node, fix)
        return arithmetic(state, op, (left, right), node)
    a, b = number_of(left), number_of(right)
    if a is not None and b is not None and (op in ("/", "**") or isinstance(a, float) or isinstance(b, float)):
        return _number_arithmetic(state, op, a, b, node)
    if op in ("/", "**", "@"):
        fix = "Use `//`, the floor division of indices." if op == "/" else "Use + - * // % & | ^ << >>."
        raise state.problem("UNSUPPORTED_PYTHON", f"operator `{op}` on indices is not part of the language", node, fix)
    lhs, rhs = as_index(state, left, node, "an integer operand"), as_index(state, right, node, "an integer operand")
    if rhs == IndexConst(0) and op in ("//", "%"):
        raise state.problem("DIVISION_BY_ZERO", "division by zero", node, "Divide by a positive number.")
    if op in SHIFTS and isinstance(rhs, IndexConst) and not 0 <= rhs.value < INT.bits:
        message = f"expected a shift of an index by 0 to {INT.bits - 1} bits, got {rhs.value}"
        raise state.problem("SHIFT_COUNT", message, node, "Indices have 32 bits.")
    return Index(fold.binary(cast(IndexOp, op), lhs, rhs))


_LARGEST_POWER = 1024


def _number_arithmetic(state: State, op: str, a: float, b: float, node: ast.AST) -> Operand:
    try:
        match op:
            case "+":
                value = a + b
            case "-":
                value = a - b
            case "*":
                value = a * b
            case "/":
                value = a / b
            case "//":
                value = a // b
            case "%":
                value = a % b
            case "**" if abs(b) <= _LARGEST_POWER:
                value = cast(float, a**b)
            case "min":
                value = min(a, b)
            case "max":
                value = max(a, b)
            case _:
                raise state.problem("UNSUPPORTED_PYTHON", f"operator `{op}` on {a} and {b}", node, "Use integers.")
    except (ZeroDivisionError, OverflowError, ValueError):
        raise state.problem("DIVISION_BY_ZERO", f"`{a} {op} {b}` has no value", node, "Divide by another number.") from None
    return state.operand_of(value)


def logical(op: str, operands: tuple[IndexExpr, ...]) -> IndexExpr:
    if op == "not":
        (only,) = operands
        return IndexConst(not only.value) if isinstance(only, IndexConst) else Logical("not", operands)
    if op == "and":
        return fold.conjunction(*operands)
    kept = tuple(o for o in operands if not (isinstance(o, IndexConst) and not o.value))
    if not kept:
        return IndexConst(False)
    return kept[0] if len(kept) == 1 else Logical("or", kept)


def choice(state: State, cond: IndexExpr, then: Operand, other: Operand, node: ast.AST) -> Operand:
    """`then if cond else other` on two indices, two conditions, or data."""
    match then, other:
        case Index(expr=a, is_bool=first), Index(expr=b, is_bool=second) if first == second:
            return Index(fold.select(cond, a, b), first)
        case Data(dtype=a), Data(dtype=b) if a != b:
            raise state.problem(
                "MIXED_ALTERNATIVES", f"expected two values of one type, got {a} and {b}", node, f"Write wl.cast({a}, ...)."
            )
        case (Data(dtype=dtype), _) | (_, Data(dtype=dtype)):
            return Data(ValueSelect(cond, adapt(state, then, dtype, node), adapt(state, other, dtype, node)), dtype)
        case Group(items=a, kind=kind), Group(items=b) if len(a) == len(b):
            return Group(tuple(choice(state, cond, x, y, node) for x, y in zip(a, b, strict=True)), kind)
        case _:
            raise state.problem(
                "MIXED_ALTERNATIVES",
                f"expected two indices or two values of one type, got {describe(then)} and {describe(other)}",
                node,
                "Convert one side, for example with wl.literal(dtype, value).",
            )


def zero(dtype: DType) -> ValueConst:
    return ValueConst(0.0 if dtype.is_float else 0, dtype)
