"""A hole's grammar as a set of functions on the points where the hole is used.

A *point* is one tuple of argument values. Two expressions that agree on all points are one function: the engine chooses among
functions, never among expressions (one cheapest expression is built for a function that is kept).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.nodes import IndexExpr

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Tables = NDArray[np.int16]
"""[functions, points]: values of functions."""

MAX_TABLE_CELLS = 1 << 26
"""Function tables above this many entries are not built; the set stays implicit."""


@dataclass(frozen=True, eq=False, slots=True)
class Functions:
    """Distinct functions, cheapest first, with their values on the points."""

    tables: Tables
    costs: IntArray
    """Cost of the cheapest expression of each function, in `ir.kernel.cost` units before simplification."""
    expression: Callable[[int], IndexExpr]
    """Row -> the expression, over `HoleArg`."""
    rows: IntArray
    """Row numbers that `expression` understands (kept through `select`)."""

    def __len__(self) -> int:
        return len(self.tables)

    def select(self, keep: BoolArray | IntArray) -> Functions:
        """The functions at the given positions, in the same order."""
        return Functions(self.tables[keep], self.costs[keep], self.expression, self.rows[keep])

    def matching(self, allowed: BoolArray) -> Functions:
        """The functions whose every value is allowed; `allowed` is [points, values]."""
        freedom = allowed.sum(axis=1)
        left = np.arange(len(self.tables))
        # The most constrained points first, few at a time while they still remove much.
        order: IntArray = np.argsort(freedom, kind="stable")
        order = order[freedom[order] < allowed.shape[1]]
        start, width = 0, 4
        while start < len(order) and len(left):
            points: IntArray = order[start : start + width]
            values: Tables = self.tables[left][:, points] if start else self.tables[:, points]
            left = left[np.logical_and.reduce(allowed[points, values], axis=1)]
            start, width = start + width, width * 4
        return self.select(left)

    def supported(self, values: int) -> BoolArray:
        """[points, values]: whether some function takes the value at the point."""
        found = np.zeros((self.tables.shape[1], values), dtype=np.bool_)
        points = np.arange(int(self.tables.shape[1]))
        for start in range(0, len(self.tables), 4096):
            chunk: Tables = self.tables[start : start + 4096]
            found[np.broadcast_to(points, chunk.shape), chunk] = True
        return found

    def expr(self, position: int) -> IndexExpr:
        """The cheapest expression of the function at `position`."""
        return self.expression(int(self.rows[position]))


class FunctionSet(Protocol):
    """All functions that a hole's grammar can express on its points."""

    @property
    def points(self) -> int: ...

    @property
    def values(self) -> int: ...

    @property
    def size_bound(self) -> int:
        """Upper limit of the number of distinct functions."""
        ...

    def matching(self, allowed: BoolArray) -> Functions | None:
        """The distinct functions with every value allowed ([points, values]); None when there are too many to tabulate."""
        ...


@runtime_checkable
class Supporting(Protocol):
    """A set of functions that knows which values are still possible without listing its members."""

    def supported(self, allowed: BoolArray) -> BoolArray:
        """[points, values]: true wherever a function with all values allowed ([points, values]) takes the value at the point."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class UnusedSet:
    """The set for a hole that no thread ever evaluates: one function without points."""

    expr: IndexExpr
    values: int
    points: int = 0
    size_bound: int = 1

    def matching(self, allowed: BoolArray) -> Functions:
        return Functions(np.zeros((1, 0), np.int16), np.zeros(1, np.int64), lambda row: self.expr, np.zeros(1, np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class ListedSet:
    """A set that is small enough to list once."""

    functions: Functions
    values: int

    @property
    def points(self) -> int:
        return self.functions.tables.shape[1]

    @property
    def size_bound(self) -> int:
        return len(self.functions)

    def matching(self, allowed: BoolArray) -> Functions:
        return self.functions.matching(allowed)


def distinct(tables: Tables, costs: IntArray) -> IntArray:
    """Positions of one cheapest row per distinct table, cheapest first (stable: equal costs keep their order)."""
    order = np.argsort(costs, kind="stable")
    if len(tables) == 0:
        return order.astype(np.int64)
    packed = np.ascontiguousarray(tables[order]).view(np.dtype((np.void, tables.dtype.itemsize * tables.shape[1])))
    _, first = np.unique(packed.ravel(), return_index=True)
    return order[np.sort(first)].astype(np.int64)
