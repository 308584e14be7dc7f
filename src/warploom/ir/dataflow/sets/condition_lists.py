"""Ordered lists of conditions: the first one that holds picks the copy, else the last copy is picked.

Two lists that have settled the same points in the same way are one from there on, so lists grow a condition at a time over the
distinct states only: 57 360 lists of two are 240 states that grow to 1 469 functions. Lists whose conditions must be different
entries of the grammar (as in the authors' tool) give the same functions: a condition that is used twice does nothing the second
time, and every grammar with axes has entries enough that are never true.

Source: Swizzleflow, section 5 (`general_select`); Swizzle Inventor, section 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.kernel.nodes import IndexConst, IndexExpr, IndexSelect
from warploom.ir.swizzle import BoolArray, Functions, IntArray, Tables, distinct

MOST_LISTED = 50_000
"""Functions that `matching` lists at most."""
MOST_CELLS = 1 << 26
"""Entries of the largest table that `matching` builds on its way."""


@dataclass(frozen=True, eq=False)
class ConditionLists:
    """Functions into 0..parts-1 that a list of parts-1 conditions decides."""

    conditions: Functions
    """Values 0 and 1."""
    parts: int

    @property
    def points(self) -> int:
        return int(self.conditions.tables.shape[1])

    @property
    def values(self) -> int:
        return self.parts

    @property
    def size_bound(self) -> int:
        """Ordered lists of conditions with distinct effects."""
        return len(self.conditions) ** (self.parts - 1)

    @cached_property
    def size(self) -> int | None:
        """Number of distinct functions; None when there are too many to list."""
        functions = self.matching(np.ones((self.points, self.values), np.bool_))
        return None if functions is None else len(functions)

    @cached_property
    def _truth(self) -> BoolArray:
        return self.conditions.tables.astype(np.bool_)

    def matching(self, allowed: BoolArray) -> Functions | None:
        last = self.parts - 1
        if not allowed.any(axis=1).all():
            empty: IntArray = np.zeros(0, np.int64)
            return Functions(np.zeros((0, self.points), np.int16), empty, IndexConst, empty)
        tables: Tables = np.full((1, self.points), last, np.int16)
        costs = np.zeros(1, np.int64)
        lists: IntArray = np.zeros((1, 0), np.int64)
        truth = self._truth
        for level in range(last):
            later = allowed[:, level + 1 :].any(axis=1)
            free = tables == last
            # A condition must not take a point that refuses this copy, nor leave one that refuses all later copies.
            wrong = (free & ~allowed[:, level]).astype(np.float32) @ truth.T.astype(np.float32)
            wrong += (free & ~later).astype(np.float32) @ (~truth).T.astype(np.float32)
            state, condition = np.nonzero(wrong == 0)
            if len(state) * max(1, self.points) > MOST_CELLS:
                return None
            grown = tables[state]
            grown[truth[condition] & free[state]] = level
            grown_costs = costs[state] + 1 + self.conditions.costs[condition]
            keep = distinct(grown, grown_costs)
            if len(keep) > MOST_LISTED:
                return None
            tables, costs = grown[keep], grown_costs[keep]
            lists = np.column_stack([lists[state[keep]], condition[keep]])
        chosen = lists

        def expression(row: int) -> IndexExpr:
            expr: IndexExpr = IndexConst(last)
            for copy in range(last - 1, -1, -1):
                condition = self.conditions.expr(int(chosen[row, copy]))
                if isinstance(condition, IndexConst):
                    expr = IndexConst(copy) if condition.value else expr
                else:
                    expr = IndexSelect(condition, IndexConst(copy), expr)
            return expr

        return Functions(tables, costs, expression, np.arange(len(tables)))

    def supported(self, allowed: BoolArray) -> BoolArray:
        """[points, values]: no value is missing that some allowed function takes; a superset where the lists are long."""
        possible = allowed.copy()
        truth = self._truth
        while True:
            kept = possible.copy()
            may_leave = np.ones(self.points, np.bool_)
            for level in range(self.parts - 1):
                later = possible[:, level + 1 :].any(axis=1)
                # Points that no earlier condition can have taken.
                free = ~possible[:, :level].any(axis=1)
                fits = ~((truth & (free & ~possible[:, level])) | (~truth & (free & ~later))).any(axis=1)
                kept[:, level] &= truth[fits].any(axis=0) & may_leave
                may_leave &= ~truth[fits].all(axis=0) if fits.any() else False
            kept[:, -1] &= may_leave
            if not kept.any(axis=1).all():
                return np.zeros_like(allowed)
            if np.array_equal(kept, possible):
                return possible
            possible = kept
