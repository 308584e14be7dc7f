"""The naive template for an index: any expression of a given depth mod n, as the functions that it can be.

    e[0] := I | v            e[d] := e[0] | e[d-1] + e[d-1] | e[d-1] - e[d-1] | e[d-1] * I | e[d-1] // I | e[d-1] % I

Source: Swizzle Inventor, equation 1, which its template of fans and rotations is measured against (section 7.4, table 2). The
remainder at the end is not in the equation, but in the authors' tool: the lane of a shuffle wraps at the width of the warp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.cost import index_cost
from warploom.ir.kernel.nodes import HoleArg, IndexBinary, IndexConst, IndexExpr
from warploom.ir.kernel.tabulate import tabulate
from warploom.ir.swizzle.functions import BoolArray, Functions, IntArray

AT_ONCE = 1 << 24
"""Entries of the tables that are made before equal functions are joined again."""
Table = NDArray[Any]
"""[functions, points] integers of any size, those of a last depth in 16 bits."""
Step = tuple[str, int, int]
"""(`argument`, its number, 0), (`constant`, it, 0), (`old`, row of the depth below, 0), (`+` or `-`, row below, row below),
or (`*`, `//` or `%`, row below, constant)."""


@dataclass(frozen=True, eq=False, slots=True)
class _Depth:
    """All distinct functions of one depth, integers of any size."""

    tables: Table
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
        found = _Distinct(self.points)
        for batch in self._combined(below, modulus):
            found.add(batch)
        return found.cheapest_first()

    def _combined(self, last: _Depth, modulus: int) -> Iterator[_Depth]:
        """Sums and products of equal functions mod `modulus` are equal, so one of them is combined; quotients are not."""
        every = np.arange(len(last.tables))
        reduced = _reduced(last.tables, modulus)
        rows = np.sort(_cheapest(reduced, last.costs)) if modulus else every
        yield _Depth(reduced, last.costs, [("old", n, 0) for n in every.tolist()])
        small, costs = reduced[rows].astype(np.int32 if modulus * self.most < 1 << 31 else np.int64), last.costs[rows]
        for constant in range(-self.most, self.most + 1):
            for op in ("*", "//", "%"):
                if op != "*" and constant < 1:
                    continue
                price = index_cost(IndexBinary(op, HoleArg(0), IndexConst(constant)))
                of = rows if op == "*" else every
                made = (
                    small * constant if op == "*" else last.tables // constant if op == "//" else _reduced(last.tables, constant)
                )
                yield _Depth(_reduced(made, modulus), last.costs[of] + price, [(op, n, constant) for n in of.tolist()])
        for place, row in enumerate(rows.tolist()):
            later = rows[place:].tolist()
            sums = _reduced(small[place] + small[place:], modulus)
            yield _Depth(sums, costs[place] + costs[place:] + 1, [("+", row, n) for n in later])
            differences = _reduced(small[place] - small, modulus)
            yield _Depth(differences, costs[place] + costs + 1, [("-", row, n) for n in rows.tolist()])


class _Distinct:
    """Collects functions, each once and as cheap as it was ever given."""

    def __init__(self, points: int) -> None:
        self._clear(points)

    def _clear(self, points: int) -> None:
        self.tables: Table = np.zeros((0, points), np.int16)
        """With room for more; in the narrowest type of those given."""
        self.costs: IntArray = np.zeros(0, np.int64)
        self.steps: list[Step] = []
        self.hashes = np.zeros(0, np.uint64)
        """Sorted."""
        self.numbers: IntArray = np.zeros(0, np.int64)
        """The functions with these."""
        self.waiting: list[_Depth] = []

    def add(self, batch: _Depth) -> None:
        self.waiting.append(batch)
        if sum(b.tables.size for b in self.waiting) > AT_ONCE:
            self._join()

    def cheapest_first(self) -> _Depth:
        self._join()
        order = np.argsort(self.costs, kind="stable")
        return _Depth(self.tables[order], self.costs[order], [self.steps[n] for n in order.tolist()])

    def _join(self) -> None:
        """The functions that wait, among them one of each kind, are looked up among those found before."""
        if not self.waiting:
            return
        tables, costs, steps = _joined(self.waiting)
        self.waiting = []
        hashes = _hashes(tables)
        keep = np.sort(_cheapest(tables, costs, hashes))
        place = np.searchsorted(self.hashes, hashes[keep])
        is_old = np.append(self.hashes, 0)[place] == hashes[keep] if len(self.hashes) else np.zeros(len(keep), np.bool_)
        is_old &= place < len(self.hashes)
        old, again = self.numbers[place[is_old]], keep[is_old]
        if not _are_equal(self.tables, old, tables, again):  # two functions with one hash: all are told apart by their values
            tables = np.concatenate([self.tables[: len(self.steps)], tables])
            costs, steps, old = np.concatenate([self.costs, costs]), [*self.steps, *steps], old[:0]
            hashes, keep = _hashes(tables), _cheapest(tables, costs)
            self._clear(tables.shape[1])
            fresh = np.sort(keep)
        else:
            fresh = keep[~is_old]
        for number, row in zip(old.tolist(), again.tolist(), strict=False):
            if costs[row] < self.costs[number]:
                self.costs[number], self.steps[number] = costs[row], steps[row]
        self._append(tables[fresh], costs[fresh], [steps[n] for n in fresh.tolist()], hashes[fresh])

    def _append(self, tables: Table, costs: IntArray, steps: list[Step], hashes: NDArray[np.uint64]) -> None:
        count = len(self.steps)
        kind = np.promote_types(self.tables.dtype, tables.dtype)
        if count + len(tables) > len(self.tables) or kind != self.tables.dtype:
            room = np.zeros((2 * (count + len(tables)), tables.shape[1]), kind)
            room[:count] = self.tables[:count]
            self.tables = room
        self.tables[count : count + len(tables)] = tables
        self.costs = np.concatenate([self.costs, costs])
        self.steps += steps
        every, numbers = np.concatenate([self.hashes, hashes]), np.concatenate([self.numbers, count + np.arange(len(tables))])
        order = np.argsort(every, kind="stable")
        self.hashes, self.numbers = every[order], numbers[order]


def _joined(parts: list[_Depth]) -> tuple[Table, IntArray, list[Step]]:
    tables = np.concatenate([part.tables for part in parts])
    return tables, np.concatenate([part.costs for part in parts]), [step for part in parts for step in part.steps]


def _reduced(tables: Table, modulus: int) -> Table:
    """`tables % modulus`, in 16 bits where that is enough; 0: as they are."""
    if not modulus:
        return tables
    found = tables & modulus - 1 if not modulus & modulus - 1 else tables % modulus
    return found.astype(np.int16, copy=False) if modulus <= 1 << 15 else found


def _hashes(tables: Table) -> NDArray[np.uint64]:
    """[functions]: equal for equal ones."""
    weights = np.random.default_rng(0).integers(1, 1 << 63, int(tables.shape[1]), dtype=np.uint64)
    step = max(1, (1 << 22) // max(1, int(tables.shape[1])))
    parts = [tables[n : n + step].astype(np.uint64) @ weights for n in range(0, len(tables), step)]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _are_equal(tables: Table, rows: IntArray, others: Table, other_rows: IntArray) -> bool:
    step = max(1, (1 << 22) // max(1, int(tables.shape[1])))
    blocks = range(0, len(rows), step)
    return all(np.array_equal(tables[rows[n : n + step]], others[other_rows[n : n + step]]) for n in blocks)


def _cheapest(tables: Table, costs: IntArray, hashes: NDArray[np.uint64] | None = None) -> IntArray:
    """Positions of one cheapest row per distinct table, cheapest first."""
    hashes = _hashes(tables) if hashes is None else hashes
    order: IntArray = np.lexsort((costs, hashes))
    leads = np.r_[True, hashes[order][1:] != hashes[order][:-1]]
    lead = order[np.maximum.accumulate(np.where(leads, np.arange(len(order)), 0))]
    if not _are_equal(tables, order, tables, lead):  # two rows with one hash
        order = np.lexsort((costs, np.unique(tables, axis=0, return_inverse=True)[1].reshape(-1)))
        leads = np.r_[True, (tables[order][1:] != tables[order][:-1]).any(axis=1)]
    first = order[leads]
    return first[np.argsort(costs[first], kind="stable")]
