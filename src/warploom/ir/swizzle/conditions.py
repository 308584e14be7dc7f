"""Condition swizzles: the truth tables of `v op (c +- v')`.

    cond    := true | false | v cmp (c + v') | v cmp (c - v') | v cmp c        cmp := == | != | < | <= | > | >=
    modular := true | false | v cmp ((a * v' + b) mod m)

Source: Swizzle Inventor, section 5.1; Space 1 is section 5.4's c = 0. Every integer c that yields a new table is offered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.cost import index_cost
from warploom.ir.kernel.nodes import Compare, CompareOp, HoleArg, IndexBinary, IndexConst, IndexExpr
from warploom.ir.swizzle.functions import Functions, IntArray, ListedSet, Tables, distinct


@dataclass(frozen=True, slots=True)
class _Comparison:
    """`left cmp right + c` for every cmp and every offered c, decided by `difference = left - right` on the points."""

    left: IndexExpr
    right: IndexExpr
    difference: IntArray
    negated: bool = False
    """`right` enters as `c - right`."""


def condition_set(points: IntArray, grammar: str, constants: tuple[int, ...], modulus: int = 0) -> ListedSet:
    """The distinct truth tables of a grammar on given points; value 1 = true.

    `points` is [points, arguments]; grammar as in `Hole.grammar`; `constants` are offered besides the grammar's own.
    """
    exprs: list[IndexExpr] = [IndexConst(True), IndexConst(False)]
    tables: list[NDArray[np.bool_]] = [np.ones(len(points), np.bool_), np.zeros(len(points), np.bool_)]
    for item in _modular(points, modulus) if grammar == "modular" else _linear(points):
        if grammar == "full":
            offered = {0, *constants, *range(int(item.difference.min()) - 1, int(item.difference.max()) + 2)}
        elif isinstance(item.right, IndexConst):  # `v cmp c` alone has no constant-free form
            offered = set(constants)
        else:
            offered = {0, *constants} if grammar == "constant-free" else {0}
        for c in sorted(offered, key=lambda c: (abs(c), c < 0)):
            right = _shifted(item.right, c, item.negated)
            for op, table in _tables(item.difference, c):
                exprs.append(Compare(op, item.left, right))
                tables.append(table)
    stacked: Tables = np.stack(tables).astype(np.int16)
    costs = np.array([index_cost(e) for e in exprs], dtype=np.int64)
    keep = distinct(stacked, costs)
    return ListedSet(Functions(stacked[keep], costs[keep], exprs.__getitem__, keep), values=2)


def _tables(difference: IntArray, c: int) -> tuple[tuple[CompareOp, NDArray[np.bool_]], ...]:
    return (
        ("<", difference < c),
        ("<=", difference <= c),
        (">", difference > c),
        (">=", difference >= c),
        ("==", difference == c),
        ("!=", difference != c),
    )


def _linear(points: IntArray) -> Iterable[_Comparison]:
    arity = points.shape[1]
    for left in range(arity):
        for right in range(arity):
            if left != right:
                yield _Comparison(HoleArg(left), HoleArg(right), points[:, left] - points[:, right])
        for right in range(left, arity):
            yield _Comparison(HoleArg(left), HoleArg(right), points[:, left] + points[:, right], negated=True)
        yield _Comparison(HoleArg(left), IndexConst(0), points[:, left])


def _modular(points: IntArray, modulus: int) -> Iterable[_Comparison]:
    arity = points.shape[1]
    for left in range(arity):
        for right in range(arity):
            for scale in range(modulus):
                for offset in range(modulus):
                    remainder = (scale * points[:, right] + offset) % modulus
                    scaled: IndexExpr = HoleArg(right) if scale == 1 else IndexBinary("*", HoleArg(right), IndexConst(scale))
                    moved = scaled if offset == 0 else IndexBinary("+", scaled, IndexConst(offset))
                    right_expr = IndexBinary("%", moved, IndexConst(modulus))
                    yield _Comparison(HoleArg(left), right_expr, points[:, left] - remainder)


def _shifted(right: IndexExpr, c: int, negated: bool) -> IndexExpr:
    if isinstance(right, IndexConst):
        return IndexConst(c)
    if negated:
        return IndexBinary("-", IndexConst(c), right)
    if c == 0:
        return right
    return IndexBinary("+", right, IndexConst(c)) if c > 0 else IndexBinary("-", right, IndexConst(-c))
