"""The naive template for an index: any expression of a given depth mod n, as the functions that it can be.

    e[0] := I | v            e[d] := e[0] | e[d-1] + e[d-1] | e[d-1] - e[d-1] | e[d-1] * I | e[d-1] // I | e[d-1] % I

Source: Swizzle Inventor, equation 1, which its template of fans and rotations is measured against (section 7.4, table 2). The
remainder at the end is not in the equation, but in the authors' tool: the lane of a shuffle wraps at the width of the warp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.kernel.cost import index_cost
from warploom.ir.kernel.nodes import HoleArg, IndexBinary, IndexConst, IndexExpr
from warploom.ir.kernel.tabulate import tabulate
from warploom.ir.swizzle.functions import BoolArray, Functions, IntArray

AT_ONCE = 1 << 24
"""Entries of the tables that are made before equal functions are joined again."""
Step = tuple[str, int, int]
"""(`argument`, its number, 0), (`constant`, it, 0), (`old`, row of the depth below, 0), (`+` or `-`, row below, row below),
or (`*`, `//` or `%`, row below, constant)."""


@dataclass(frozen=True, eq=False, slots=True)
class _Depth:
    """All distinct functions of one depth, integers of any size."""

    tables: IntArray
    """[functions, points]."""
    costs: IntArray
    steps: list[Step]
    """[functions] how each is made of those one depth below."""


class NaiveSet:
    """Functions of a depth, mod `values`; constants are at most the largest extent in size."""

    def __init__(self, points: IntArray, values: int, depth: int) -> None:
        """`points`: [points, arguments]; `depth`: at least 1. All functions are listed when first asked for."""
        self.arguments = points
        self.points = len(points)
        self.values = values
        self.depth = depth
        self.most = max(values, int(points.max(initial=0)) + 1)
        """Constants lie in -most ... most."""

    @property
    def size_bound(self) -> int:
        return len(self.functions)

    def matching(self, allowed: BoolArray) -> Functions:
        return self.functions.matching(allowed)

    @cached_property
    def functions(self) -> Functions:
        found = self.depths[-1]
        return Functions(found.tables.astype(np.int16), found.costs, self._expression, np.arange(len(found.tables)))

    @cached_property
    def depths(self) -> list[_Depth]:
        """The last one mod `values`, cheapest first."""
        found = [self._leaves()]
        for depth in range(1, self.depth + 1):
            found.append(self._grown(found[-1], self.values if depth == self.depth else 0))
        return found

    def _expression(self, row: int) -> IndexExpr:
        expr = self._expr(self.depth, row)
        values = np.broadcast_to(tabulate(expr, {HoleArg(n): column for n, column in enumerate(self.arguments.T)}), self.points)
        is_inside = bool(((values >= 0) & (values < self.values)).all())
        return expr if is_inside else IndexBinary("%", expr, IndexConst(self.values))

    def _expr(self, depth: int, row: int) -> IndexExpr:
        match self.depths[depth].steps[row]:
            case ("argument", number, _):
                return HoleArg(number)
            case ("constant", value, _):
                return IndexConst(value)
            case ("old", below, _):
                return self._expr(depth - 1, below)
            case ("+", left, right):
                return IndexBinary("+", self._expr(depth - 1, left), self._expr(depth - 1, right))
            case ("-", left, right):
                return IndexBinary("-", self._expr(depth - 1, left), self._expr(depth - 1, right))
            case ("*", left, constant):
                return IndexBinary("*", self._expr(depth - 1, left), IndexConst(constant))
            case ("//", left, constant):
                return IndexBinary("//", self._expr(depth - 1, left), IndexConst(constant))
            case (_, left, constant):
                return IndexBinary("%", self._expr(depth - 1, left), IndexConst(constant))

    def _leaves(self) -> _Depth:
        constants = sorted(range(-self.most, self.most + 1), key=lambda c: (abs(c), c < 0))
        steps: list[Step] = [("argument", n, 0) for n in range(self.arguments.shape[1])]
        steps += [("constant", c, 0) for c in constants]
        rows = [*self.arguments.T, *(np.full(self.points, c, np.int64) for c in constants)]
        return _Depth(np.stack(rows), np.zeros(len(rows), np.int64), steps)

    def _grown(self, below: _Depth, modulus: int) -> _Depth:
        """`modulus` 0: none."""
        found = _Depth(np.zeros((0, self.points), np.int64), np.zeros(0, np.int64), [])
        waiting: list[_Depth] = []
        for batch in self._combined(below, modulus):
            waiting.append(_Depth(batch.tables % modulus if modulus else batch.tables, batch.costs, batch.steps))
            if sum(b.tables.size for b in waiting) > AT_ONCE:
                found = _joined([found, *waiting])
                waiting.clear()
        return _joined([found, *waiting])

    def _combined(self, last: _Depth, modulus: int) -> Iterator[_Depth]:
        """Sums and products of equal functions mod `modulus` are equal, so one of them is combined; quotients are not."""
        every = np.arange(len(last.tables))
        rows = _cheapest(last.tables % modulus, last.costs) if modulus else every
        yield _Depth(last.tables, last.costs, [("old", n, 0) for n in every.tolist()])
        for constant in range(-self.most, self.most + 1):
            for op in ("*", "//", "%"):
                if op != "*" and constant < 1:
                    continue
                price = index_cost(IndexBinary(op, HoleArg(0), IndexConst(constant)))
                of = rows if op == "*" else every
                made = last.tables[of]
                made = made * constant if op == "*" else made // constant if op == "//" else made % constant
                yield _Depth(made, last.costs[of] + price, [(op, n, constant) for n in of.tolist()])
        small, costs = last.tables[rows], last.costs[rows]
        for place, row in enumerate(rows.tolist()):
            later = rows[place:].tolist()
            yield _Depth(small[place] + small[place:], costs[place] + costs[place:] + 1, [("+", row, n) for n in later])
            yield _Depth(small[place] - small, costs[place] + costs + 1, [("-", row, n) for n in rows.tolist()])


def _joined(parts: list[_Depth]) -> _Depth:
    """All functions of the parts, each once and as cheap as any part has it."""
    tables = np.concatenate([part.tables for part in parts])
    costs = np.concatenate([part.costs for part in parts])
    steps = [step for part in parts for step in part.steps]
    keep = _cheapest(tables, costs)
    return _Depth(tables[keep], costs[keep], [steps[n] for n in keep.tolist()])


def _cheapest(tables: IntArray, costs: IntArray) -> IntArray:
    """Positions of one cheapest row per distinct table, cheapest first."""
    weights = np.random.default_rng(0).integers(1, 1 << 63, int(tables.shape[1]), dtype=np.uint64)
    step = max(1, (1 << 22) // max(1, int(tables.shape[1])))
    hashes = np.concatenate([tables[n : n + step].astype(np.uint64) @ weights for n in range(0, len(tables), step)])
    order: IntArray = np.lexsort((costs, hashes))
    leads = np.r_[True, hashes[order][1:] != hashes[order][:-1]]
    lead = order[np.maximum.accumulate(np.where(leads, np.arange(len(order)), 0))]
    for n in range(0, len(order), step):
        if (tables[order[n : n + step]] != tables[lead[n : n + step]]).any():  # two rows with one hash
            order = np.lexsort((costs, np.unique(tables, axis=0, return_inverse=True)[1].reshape(-1)))
            leads = np.r_[True, (tables[order][1:] != tables[order][:-1]).any(axis=1)]
            break
    first = order[leads]
    return first[np.argsort(costs[first], kind="stable")]
