"""Operations on the expressions of a tensor function: the type of a result, numbers computed at once."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from warploom.core import DType, integer_range, polynomials
from warploom.core.linear import Linear
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import FLOAT_ONLY, ROWS, Operator
from warploom.schedule.frontend.state import State
from warploom.schedule.frontend.tree import (
    NO_SIZES,
    Apply,
    Expression,
    IndexSum,
    IndexValue,
    Number,
    Reduction,
    SizeValue,
    dtype_of,
)


def apply(state: State, operator: Operator, operands: Sequence[Expression], node: ast.AST) -> Expression:
    """One operation; numbers are computed at once."""
    types = _types(operands)
    if len(types) > 1 and len(fixed := _types([o for o in operands if not is_of_numbers(o)])) == 1:
        operands = [in_type(o, fixed[0]) for o in operands]
        types = _types(operands)
    if len(types) > 1:
        got = " and ".join(t.name for t in types)
        fix = f"Convert one of them: {types[0]}(...)."
        raise state.problem("DTYPE", f"expected operands of one type, got {got}", node, fix)
    dtype = types[0] if types else None
    if dtype is None and any(isinstance(o, IndexValue) for o in operands):
        return IndexValue(_index_sum(state, operator, operands, node))
    if dtype and not dtype.is_float and operator in FLOAT_ONLY:
        fix = "Convert the operands: f32(...)."
        raise state.problem("DTYPE", f"expected floats for {operator}, got {dtype}", node, fix)
    for operand in operands:
        check_number(state, operand, dtype, node)
    made = Apply(operator, tuple(operands), dtype, state.span(node))
    if all(isinstance(o, Number) for o in operands):
        try:
            return Number(number(made, {}))
        except (ArithmeticError, ValueError) as error:
            raise state.problem("NOT_A_NUMBER", f"{ast.unparse(node)} has no value: {error}", node, "Correct it.") from None
    return made


def _types(operands: Sequence[Expression]) -> list[DType]:
    return list(dict.fromkeys(t for t in map(dtype_of, operands) if t is not None))


def in_type(value: Expression, dtype: DType) -> Expression:
    """A choice between numbers in this type, if it holds them; other values as they are."""
    match value:
        case Apply(operator=Operator.SELECT, operands=[mask, *choices]) if is_of_numbers(value):
            made = [in_type(c, dtype) for c in choices]
            if all(fits(c.value, dtype) if isinstance(c, Number) else dtype_of(c) == dtype for c in made):
                return replace(value, operands=(as_type(mask, dtype), *made), dtype=dtype)
        case Reduction(operand=operand) if is_of_numbers(value):
            made = in_type(operand, dtype)
            return replace(value, operand=made, dtype=dtype) if dtype_of(made) == dtype else value
        case _:
            pass
    return value


def is_of_numbers(value: Expression) -> bool:
    """A choice between numbers, or the sum of one: it has the type of what it compares, and could have another."""
    match value:
        case Apply(operator=Operator.SELECT, operands=[_, *choices]):
            return all(map(is_number, choices))
        case Reduction(operand=operand):
            return is_of_numbers(operand)
        case _:
            return False


def is_number(value: Expression) -> bool:
    return isinstance(value, Number) or is_of_numbers(value)


def as_type(mask: Expression, dtype: DType) -> Expression:
    return mask if dtype_of(mask) == dtype else Apply(Operator.CAST, (mask,), dtype)


def _index_sum(state: State, operator: Operator, operands: Sequence[Expression], node: ast.AST) -> IndexSum:
    """Arithmetic on indices that stays an index; anything else needs a type."""
    found = _joined(operator, operands)
    if found is None:
        message = f"expected a type for the index in {ast.unparse(node)}, got none"
        raise state.problem("INDEX_AS_VALUE", message, node, "Convert the index: f32(i).")
    return replace(found, span=state.span(node))


def _joined(operator: Operator, operands: Sequence[Expression]) -> IndexSum | None:
    parts = [p for p in map(_as_index, operands) if p is not None]
    match operator, parts if len(parts) == len(operands) else []:
        case Operator.ADD | Operator.SUB, [first, second]:
            sign = 1 if operator is Operator.ADD else -1
            return IndexSum(first.sum.plus(second.sum, sign), sizes=first.sizes.plus(second.sizes, sign))
        case Operator.NEG, [only]:
            return IndexSum(only.sum.scaled(-1), sizes=NO_SIZES.plus(only.sizes, -1))
        case Operator.MUL, [first, second]:
            for one, other in ((first, second), (second, first)):
                if not one.sum.terms and one.sizes == NO_SIZES:
                    factor = one.sum.constant
                    return IndexSum(other.sum.scaled(factor), sizes=other.sizes.times(polynomials.number(factor)))
        case _:
            pass
    return None


def _as_index(value: Expression) -> IndexSum | None:
    match value:
        case IndexValue(index, None):
            return index
        case Number(int(number)):
            return IndexSum(Linear((), number))
        case SizeValue(size):
            return IndexSum(Linear(), sizes=size)
        case Apply(operator=operator, operands=operands, dtype=None):
            return _joined(operator, operands)
        case _:
            return None


def check_number(state: State, value: Expression, dtype: DType | None, node: ast.AST) -> None:
    """A number takes the type of what it meets, unchanged."""
    if isinstance(value, Number) and dtype is not None and not fits(value.value, dtype):
        message = f"expected a number that {dtype} holds, got {value.value}"
        raise state.problem("DTYPE", message, node, "Use a whole number in its range, or convert the elements: f32(...).")


def fits(value: int | float, dtype: DType) -> bool:
    """Whether an element of type `dtype` can hold the number; floats round."""
    if dtype.is_float:
        return True
    low, high = integer_range(dtype)
    return math.isfinite(value) and value == int(value) and low <= value <= high


def number(expression: Expression, sizes: Mapping[str, int]) -> int | float:
    """The value of numbers and sizes. Raises ArithmeticError or ValueError where there is none, TypeError for other operands."""
    match expression:
        case Number(value):
            return value
        case SizeValue(size):
            return size.whole_at(sizes)
        case Apply(operator=operator, operands=operands):
            return evaluate_number(operator, [number(o, sizes) for o in operands])
        case _:
            raise TypeError("not a number")


def sum_of_sizes(expression: Expression) -> Polynomial | None:
    """Sums and products of sizes and whole numbers; None for anything else."""
    match expression:
        case Number(int() as value):
            return polynomials.number(value)
        case SizeValue(size):
            return size
        case Apply(operator=Operator.ADD | Operator.SUB | Operator.MUL as operator, operands=(first, second), dtype=None):
            one, other = sum_of_sizes(first), sum_of_sizes(second)
            if one is None or other is None:
                return None
            return one.times(other) if operator is Operator.MUL else one.plus(other, 1 if operator is Operator.ADD else -1)
        case _:
            return None


def sizes_of_number(expression: Expression) -> Iterator[Polynomial]:
    """The sizes of which a number is computed."""
    match expression:
        case SizeValue(size):
            yield size
        case Apply(operands=operands, dtype=None):
            for operand in operands:
                yield from sizes_of_number(operand)
        case _:
            pass


def evaluate_number(operator: Operator, values: Sequence[int | float]) -> int | float:
    """The result as Python computes it; the larger and the smaller of a NaN and something is NaN. TypeError for other
    operators."""
    row = ROWS.get(operator)
    if row is None or row.exact is None or len(values) != row.arity:
        raise TypeError(f"{operator} of numbers")
    if operator in (Operator.MAX, Operator.MIN) and any(map(math.isnan, values)):
        return math.nan
    return row.exact(*values)
