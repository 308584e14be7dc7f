"""Two holes in a row as one: the second's choice picks where the first's result is read.

    y[e] = x1[e with position g(e)],  x1[u] = x[u with position f(u)]   =>   y[e] = x[e with position f(e with g(e))]

The intermediate array needs no cells, and the pair is filtered as a join: for each g, what is allowed at e is allowed for f at
the place where g reads. Pairs with the same effect are one function; `ways` tells them apart again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir import IndexConst, IndexExpr
from warploom.ir.swizzle import BoolArray, Functions, FunctionSet, IntArray, Tables
from warploom.synth.dataflow.counters import Counters

MAX_PAIRS = 60_000
"""More pairs are not listed."""


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """One member of a set of gathers."""

    expr: IndexExpr
    table: Tables
    """[points] values."""


Way: TypeAlias = tuple[Member, ...]
"""How a function is made: a member per hole, in the order in which they apply."""


class ComposedSet:
    """Functions p -> f(inner[p, g(outer[p])]) for f of `first` and g of `second`."""

    def __init__(self, first: FunctionSet, second: Functions, outer: IntArray, inner: IntArray, counters: Counters) -> None:
        """`outer`: [points] point of `second`; `inner`: [points, values of second] point of `first`."""
        self.first = first
        self.second = second
        self.outer = outer
        self.inner = inner
        self.points = len(outer)
        self.values = first.values
        self.counters = counters
        self.places: IntArray = inner[np.arange(len(outer)), second.tables[:, outer]]
        """[members of second, points]: the point of `first` that is read."""
        self._ways: dict[int, tuple[Way, ...]] = {}

    @property
    def size_bound(self) -> int:
        return self.first.size_bound * len(self.second)

    def matching(self, allowed: BoolArray) -> Functions | None:
        found: list[tuple[int, Functions]] = []
        pairs = 0
        for row in range(len(self.second)):
            pulled = np.ones((self.first.points, self.values), np.bool_)
            np.logical_and.at(pulled, self.places[row], allowed)
            self.counters.probes += 1
            if not pulled.any(axis=1).all():
                continue
            functions = self.first.matching(pulled)
            if functions is None:
                return None
            pairs += len(functions)
            if pairs > MAX_PAIRS:
                return None
            if len(functions):
                found.append((row, functions))
        return self.listed([(row, functions, np.arange(len(functions))) for row, functions in found])

    def listed(self, found: list[tuple[int, Functions, IntArray]]) -> Functions:
        """The functions made of the given (member of second, members of first), equal ones joined."""
        if not found:
            none = np.zeros(0, np.int64)
            return Functions(np.zeros((0, self.points), np.int16), none, _unreachable, none)
        tables = np.concatenate([f.tables[keep][:, self.places[row]] for row, f, keep in found])
        costs = np.concatenate([f.costs[keep] + self.second.costs[row] for row, f, keep in found])
        origin = [(row, f, int(k)) for row, f, keep in found for k in keep]
        group = same_rows(tables)
        order = np.lexsort((costs, group))
        first = order[np.r_[True, group[order][1:] != group[order][:-1]]]
        first = first[np.argsort(costs[first], kind="stable")]
        rows = np.zeros(len(first), np.int64)
        members: dict[int, list[int]] = {}
        for place in order.tolist():
            members.setdefault(int(group[place]), []).append(place)
        for n, place in enumerate(first.tolist()):
            rows[n] = len(self._ways)
            ways = [origin[p] for p in members[int(group[place])]]
            self._ways[len(self._ways)] = tuple(
                (Member(f.expr(k), f.tables[k]), Member(self.second.expr(row), self.second.tables[row])) for row, f, k in ways
            )
        return Functions(tables[first], costs[first], IndexConst, rows)

    def ways(self, expr: IndexExpr) -> tuple[Way, ...]:
        """All pairs with the effect of a listed function (`Functions.expr`), cheapest first."""
        assert isinstance(expr, IndexConst)
        return self._ways[int(expr.value)]


def row_hashes(tables: Tables) -> NDArray[np.uint64]:
    """[rows] equal for equal rows, and almost always different for different ones."""
    weights = np.random.default_rng(tables.shape[1]).integers(1, 1 << 63, tables.shape[1], dtype=np.uint64)
    step = max(1, (1 << 22) // max(1, tables.shape[1]))
    parts = [tables[n : n + step].astype(np.uint64) @ weights for n in range(0, len(tables), step)]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def same_rows(tables: Tables) -> IntArray:
    """[rows] equal numbers for equal rows."""
    _, first, group = np.unique(row_hashes(tables), return_index=True, return_inverse=True)
    step = max(1, (1 << 24) // max(1, tables.shape[1]))
    for n in range(0, len(tables), step):
        if (tables[n : n + step] != tables[first[group[n : n + step]]]).any():  # two rows with one hash
            return np.unique(tables, axis=0, return_inverse=True)[1].reshape(-1)
    return group


def _unreachable(row: int) -> IndexExpr:
    raise IndexError(row)
