"""Index values that are the same for all threads, as linear forms without an array per thread."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ir import IndexBinary, IndexConst, IndexExpr, IndexVar, SizeVar
from warploom.solve import Linear, variable


@dataclass(frozen=True, slots=True)
class Affine:
    """Sum of coefficient * index variable or size, plus `constant`."""

    variables: tuple[tuple[str, int], ...]
    sizes: Linear
    """The rest: sizes and the constant."""

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        total = dict(self.variables)
        for name, coefficient in other.variables:
            total[name] = total.get(name, 0) + factor * coefficient
        return Affine(tuple((n, c) for n, c in total.items() if c), self.sizes.plus(other.sizes, factor))

    def at(self, values: dict[str, Linear]) -> Linear | None:
        """The form for values of its variables; None if one of them has none."""
        total = self.sizes
        for name, coefficient in self.variables:
            value = values.get(name)
            if value is None:
                return None
            if not total.terms and value.terms:
                total = value.scaled(coefficient).shifted(total.constant)
            else:
                total = total.plus(value, coefficient)
        return total


_NOTHING = Linear((), 0)


def affine(expr: IndexExpr) -> Affine | None:
    """`expr` as sums and products with constants; None when anything else is in it."""
    match expr:
        case IndexConst(value) if not isinstance(value, bool):
            return Affine((), Linear((), value))
        case IndexVar(name):
            return Affine(((name, 1),), _NOTHING)
        case SizeVar(name):
            return Affine((), variable(name))
        case IndexBinary("+" | "-" as op, lhs, rhs):
            left, right = affine(lhs), affine(rhs)
            return None if left is None or right is None else left.plus(right, 1 if op == "+" else -1)
        case IndexBinary("*", lhs, rhs):
            left, right = affine(lhs), affine(rhs)
            if left is None or right is None:
                return None
            if left.variables or left.sizes.terms:
                left, right = right, left
            if left.variables or left.sizes.terms:
                return None
            return Affine((), _NOTHING).plus(right, left.sizes.constant)
        case _:
            return None
