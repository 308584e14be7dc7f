"""Integer linear forms of index expressions: `3*lane + k - 1` as coefficients of atoms and a constant."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ir.kernel.nodes import IndexBinary, IndexConst, IndexExpr


@dataclass(frozen=True, slots=True)
class Linear:
    """sum of coefficient * atom, plus `constant`; atoms are non-linear expressions in order of first appearance."""

    terms: tuple[tuple[IndexExpr, int], ...]
    constant: int

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """`self + factor * other`; atoms whose coefficients cancel disappear."""
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + factor * coefficient
        return Linear(tuple((a, c) for a, c in total.items() if c), self.constant + factor * other.constant)

    def scaled(self, factor: int) -> Linear:
        return Linear((), 0).plus(self, factor)


def linear(expr: IndexExpr) -> Linear:
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
    return Linear(((expr, 1),), 0)


def from_linear(form: Linear) -> IndexExpr:
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
