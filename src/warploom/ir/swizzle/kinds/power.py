"""`power`: a power of two that may depend on a step, such as the lane distance of a scan or a butterfly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from warploom.core.inside import inside_sketches
from warploom.ir.kernel.cost import index_cost
from warploom.ir.kernel.nodes import Hole, HoleArg, IndexBinary, IndexConst, IndexExpr
from warploom.ir.swizzle.functions import Functions, FunctionSet, IntArray, ListedSet, distinct
from warploom.ir.swizzle.kinds.kind import HoleKind

MOST_VALUES = 1 << 15
"""Tables of functions hold 16-bit numbers."""


@inside_sketches
def power(n: int, *values: Any, name: str | None = None) -> Any:
    """Hole: a power of two below n, whose exponent may rise or fall with one of `values`."""


class Power(HoleKind):
    word = staticmethod(power)
    notes = """a power of two below n, as the lane distance of a scan or a butterfly is. Space 1: a constant, `c << v`,
  `c >> v`. Space 2: and `1 << (v + c) % m` and `1 << (c - v) % m`, the same in turned orders. Space 3: and
  `1 << min(c + v, d - v)`, up and down again, `1 << max(c - v, v - d)`, and exponents that change every second step or by two."""
    operands = ("values",)
    n_counts = "the number that the powers are below"

    def fault(self, hole: Hole) -> tuple[str, str] | None:
        if 1 < hole.n <= MOST_VALUES:
            return None
        told = f"expected a number from 2 to {MOST_VALUES} that the powers of two are below, got {hole.n}"
        return told, "Write for example power(32, k)."

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        width = (hole.n - 1).bit_length()
        tables: list[IntArray] = []
        exprs: list[IndexExpr] = []
        for exponent, expr in _exponents(points, width, space):
            if (exponent >= 0).all() and (exponent < width).all():
                tables.append(1 << exponent)
                exprs.append(expr)
        table = np.stack(tables).astype(np.int16)
        costs = np.array([index_cost(expr) for expr in exprs], np.int64)
        keep = distinct(table, costs)
        return ListedSet(Functions(table[keep], costs[keep], exprs.__getitem__, keep), hole.n)

    def widens(self, hole: Hole) -> bool:
        return bool(hole.arg_names)

    def narrower(self, hole: Hole) -> str:
        return "give it fewer values"

    def wider(self, hole: Hole, points: IntArray) -> str:
        return "give it the step or lane that the distance depends on"

    def unused(self, hole: Hole) -> IndexExpr:
        return IndexConst(1)


def _exponents(points: IntArray, width: int, space: int) -> Iterator[tuple[IntArray, IndexExpr]]:
    """Exponents on the points, not all of them in range, and the power of two that each stands for."""
    for c in range(width):
        yield np.full(len(points), c), IndexConst(1 << c)
    for argument, v in enumerate(points.T):
        yield from _of_one(v, HoleArg(argument), width, space)


def _of_one(v: IntArray, name: IndexExpr, width: int, space: int) -> Iterator[tuple[IntArray, IndexExpr]]:
    reach = range(-int(np.abs(v).max(initial=0)) - width, int(np.abs(v).max(initial=0)) + width + 1)
    if len(reach) > 4 * MOST_SHIFTS:
        return  # values that are no steps
    for c in reach:
        if 0 <= c < width and int(v.min(initial=0)) >= 0:
            yield c + v, IndexBinary("<<", IndexConst(1 << c), name)
            yield c - v, IndexBinary(">>", IndexConst(1 << c), name)
        yield c + v, _power(_plus(name, c))
        yield c - v, _power(_minus(c, name))
    if space > 1:
        for m in range(2, width + 1):
            for c in range(m):
                yield (v + c) % m, _power(IndexBinary("%", _plus(name, c), IndexConst(m)))
                yield (c - v) % m, _power(IndexBinary("%", _minus(c, name), IndexConst(m)))
    if space > 2:
        half = IndexBinary("//", name, IndexConst(2))
        double = IndexBinary("*", name, IndexConst(2))
        for c in reach:
            for changed, text in ((v // 2, half), (2 * v, double)):
                yield c + changed, _power(_plus(text, c))
                yield c - changed, _power(_minus(c, text))
            for d in range(c, c + 4 * width):
                yield np.minimum(c + v, d - v), _power(IndexBinary("min", _plus(name, c), _minus(d, name)))
                yield np.maximum(c - v, v - d), _power(IndexBinary("max", _minus(c, name), _plus(name, -d)))


MOST_SHIFTS = 64
"""Most shifts of a value that counts steps."""


def _power(exponent: IndexExpr) -> IndexExpr:
    return IndexBinary("<<", IndexConst(1), exponent)


def _plus(name: IndexExpr, c: int) -> IndexExpr:
    if c == 0:
        return name
    return IndexBinary("+" if c > 0 else "-", name, IndexConst(abs(c)))


def _minus(c: int, name: IndexExpr) -> IndexExpr:
    return IndexBinary("-", IndexConst(c), name)
