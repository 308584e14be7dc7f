"""Sets of functions listed as a table of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.nodes import IndexConst, IndexExpr
from warploom.ir.swizzle import BoolArray, Functions, IntArray, Tables

HASH_SEED = 20200801
"""Any number: equal hashes are compared in full, so only speed depends on it."""


@dataclass(frozen=True, eq=False, slots=True)
class ListedSet:
    """All functions of a table, cheapest first."""

    functions: Functions
    values: int

    @property
    def points(self) -> int:
        return int(self.functions.tables.shape[1])

    @property
    def size_bound(self) -> int:
        return len(self.functions)

    @property
    def size(self) -> int:
        """Exactly as many as there are functions."""
        return len(self.functions)

    def matching(self, allowed: BoolArray) -> Functions:
        return self.functions.matching(allowed)

    def supported(self, allowed: BoolArray) -> BoolArray:
        """[points, values]: whether some allowed function takes the value at the point."""
        return self.functions.matching(allowed).supported(self.values)


def numbered(tables: Tables, costs: IntArray) -> Functions:
    """The distinct rows, cheapest first, with `IndexConst(row)` of the given table as the expression of each."""
    keep = distinct_rows(tables, costs)
    return Functions(tables[keep], costs[keep], IndexConst, keep)


def numbered_text(name: Callable[[int], str]) -> Callable[[IndexExpr], str]:
    """Text of functions whose expression is a number."""

    def text(expr: IndexExpr) -> str:
        if not isinstance(expr, IndexConst):
            raise TypeError(f"not a member's number: {expr}")
        return name(int(expr.value))

    return text


def distinct_rows(tables: Tables, costs: IntArray) -> IntArray:
    """Positions of one cheapest row per distinct row, cheapest first (stable: equal costs keep their order)."""
    order: IntArray = np.argsort(costs, kind="stable")
    if len(tables) < 2:
        return order
    hashes = row_hashes(tables)[order]
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) == len(order):
        return order
    original: IntArray = first[group]
    repeated = np.flatnonzero(original != np.arange(len(order)))
    for start in range(0, len(repeated), 4096):
        chunk = repeated[start : start + 4096]
        if not np.array_equal(tables[order[chunk]], tables[order[original[chunk]]]):
            _, first = np.unique(tables[order], axis=0, return_index=True)
            break
    return order[np.sort(first)]


def row_hashes(tables: Tables) -> NDArray[np.uint64]:
    """[rows]: a 64-bit random projection of each row."""
    rows, columns = tables.shape
    words = -(-columns // 4)
    padded: Tables = np.zeros((rows, words * 4), np.int16)
    padded[:, :columns] = tables
    packed = padded.view(np.uint64)
    # A product carries upwards only: fold each word's high half into its low half first.
    packed ^= packed >> np.uint64(32)
    weights = np.random.default_rng(HASH_SEED).integers(0, 1 << 64, words, np.uint64) | np.uint64(1)
    return packed @ weights
