"""Index expressions as linear sums, and back: what is not a sum or a product with a constant is an atom."""

from __future__ import annotations

from warploom.core.linear import Linear, variable
from warploom.ir.kernel.nodes import IndexBinary, IndexConst, IndexExpr


def linear(expr: IndexExpr) -> Linear[IndexExpr]:
    """The linear form of `expr`: sums, differences and products with constants are opened, all else is an atom."""
    match expr:
        case IndexConst(value):
            return Linear((), int(value))
        case IndexBinary("+", lhs, rhs):
            return linear(lhs).plus(linear(rhs))
        case IndexBinary("-", lhs, rhs):
            return linear(lhs).plus(linear(rhs), -1)
        case IndexBinary("*", lhs, rhs):
            left, right = linear(lhs), linear(rhs)
            if not right.terms:
                return left.scaled(right.constant)
            if not left.terms:
                return right.scaled(left.constant)
        case IndexBinary("<<", lhs, IndexConst(value)) if value >= 0:
            return linear(lhs).scaled(1 << int(value))
        case _:
            pass
    return variable(expr)


def from_linear(form: Linear[IndexExpr]) -> IndexExpr:
    """An expression of the form: positive terms first, then negative ones, then the constant; `0 - x` if none is positive."""
    result: IndexExpr | None = None
    for atom, coefficient in sorted(form.terms, key=lambda t: t[1] < 0):
        size = abs(coefficient)
        term = atom if size == 1 else IndexBinary("*", atom, IndexConst(size))
        if result is None:
            if coefficient > 0:
                result = term
            else:
                result = IndexBinary("-", IndexConst(form.constant), term)
                form = Linear(form.terms, 0)
        else:
            result = IndexBinary("+" if coefficient > 0 else "-", result, term)
    if result is None:
        return IndexConst(form.constant)
    if form.constant:
        result = IndexBinary("+" if form.constant > 0 else "-", result, IndexConst(abs(form.constant)))
    return result
