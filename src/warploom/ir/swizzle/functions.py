"""A hole's grammar as a set of functions on the points where the hole is used.

A *point* is one tuple of argument values. Two expressions that agree on all points are one function: the engine chooses among
functions, never among expressions (one cheapest expression is built for a function that is kept).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from random import Random  # NumPy's takes longer to load than many a search
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
BLOCK_CELLS = 1 << 20
"""Entries of a table that one operation takes."""
_MIXER = np.uint64(0x9E3779B97F4A7C15)
HASH_SEED = 20200801
"""Any number: equal hashes are compared in full, so only speed depends on it."""


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


@runtime_checkable
class ByCost(Protocol):
    """A set that has its members by their cost."""

    def up_to(self, cost: int) -> FunctionSet | None:
        """Members of at most this cost, not always all of them; None where no such part is known."""
        ...


@runtime_checkable
class Exact(Protocol):
    """A set that finds its members by all of their values, many at once."""

    def takes(self, tables: Tables) -> BoolArray:
        """[tables] whether some member has these values ([tables, points])."""
        ...

    def equal_to(self, tables: Tables) -> list[Functions]:
        """Per table ([tables, points]): the one member with these values, or none."""
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


@dataclass(frozen=True, eq=False)
class EitherSet:
    """The functions of several sets on the same points; a function that several have is the cheapest's."""

    parts: tuple[FunctionSet, ...]

    @property
    def points(self) -> int:
        return self.parts[0].points

    @property
    def values(self) -> int:
        return self.parts[0].values

    @property
    def size_bound(self) -> int:
        return sum(part.size_bound for part in self.parts)

    def up_to(self, cost: int) -> FunctionSet | None:
        parts = tuple(p for part in self.parts if isinstance(part, ByCost) and (p := part.up_to(cost)) is not None)
        return EitherSet(parts) if parts else None

    def matching(self, allowed: BoolArray) -> Functions | None:
        key = allowed.tobytes()
        if key not in self._recent:
            self._recent.clear()
            self._recent[key] = self._matching(allowed)
        return self._recent[key]

    @cached_property
    def _recent(self) -> dict[bytes, Functions | None]:
        """The last answer: many holes of a program may share the set, and ask the same first."""
        return {}

    def _matching(self, allowed: BoolArray) -> Functions | None:
        found: list[Functions] = []
        for part in self.parts:
            functions = part.matching(allowed)
            if functions is None:
                return None
            found.append(functions)
        starts = list(accumulate((len(functions) for functions in found), initial=0))

        def expression(row: int) -> IndexExpr:
            part = bisect_right(starts, row) - 1
            return found[part].expr(row - starts[part])

        tables = np.concatenate([functions.tables for functions in found])
        costs = np.concatenate([functions.costs for functions in found])
        keep = distinct(tables, costs)
        return Functions(tables[keep], costs[keep], expression, keep)


def distinct(tables: Tables, costs: IntArray) -> IntArray:
    """Positions of one cheapest row per distinct row, cheapest first (stable: equal costs keep their order)."""
    order: IntArray = np.argsort(costs, kind="stable").astype(np.int64)
    if len(tables) < 2:
        return order
    hashes = row_hashes(tables)[order]
    by_hash = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], hashes[by_hash[1:]] != hashes[by_hash[:-1]]]))
    if len(starts) == len(order):
        return order
    first = by_hash[starts]
    original: IntArray = np.empty(len(order), np.int64)
    original[by_hash] = np.repeat(first, np.diff(starts, append=len(order)))
    repeated = np.flatnonzero(original != np.arange(len(order)))
    for chunk in row_blocks(len(repeated), tables.shape[1]):
        if not np.array_equal(tables[order[repeated[chunk]]], tables[order[original[repeated[chunk]]]]):
            _, first = np.unique(tables[order], axis=0, return_index=True)
            break
    return order[np.sort(first)]


def row_hashes(tables: Tables) -> NDArray[np.uint64]:
    """[rows]: a 64-bit random projection of each row."""
    rows, columns = tables.shape
    words = -(-columns // 4)
    weights = np.frombuffer(Random(HASH_SEED).randbytes(8 * words), np.uint64) | np.uint64(1)
    hashes = np.zeros(rows, np.uint64)
    for block in row_blocks(rows, columns):
        padded: Tables = np.zeros((len(hashes[block]), words * 4), np.int16)
        padded[:, :columns] = tables[block]
        packed = padded.view(np.uint64)
        # A product carries upwards only, and equal steps of neighbouring values would cancel: words are mixed first.
        packed ^= packed >> np.uint64(32)
        packed *= _MIXER
        packed ^= packed >> np.uint64(29)
        hashes[block] = packed @ weights
    return hashes


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of the rows of a large table: no single operation on one lasts long, so that a budget or an interruption is seen."""
    step = max(1, BLOCK_CELLS // max(1, columns))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
