"""Partition swizzles: `0 if cond else 1 if cond else ... n-1`.

Source: Swizzle Inventor, section 5.2. The set has |cond|^(n-1) expressions, so it stays implicit: `matching` walks the
conditions level by level and keeps those that the allowed values leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.kernel import HoleArg, IndexConst, IndexExpr, IndexSelect
from warploom.ir.swizzle.conditions import ConditionSet
from warploom.ir.swizzle.functions import MAX_TABLE_CELLS, BoolArray, Functions, IntArray, Tables, distinct

MOST_FUNCTIONS = 50_000
"""A set of more functions stays implicit."""


@dataclass(eq=False, slots=True)
class _Found:
    """Functions met so far, in blocks."""

    tables: list[Tables]
    chosen: list[IntArray]
    """[functions, conditions]."""
    count: int


@dataclass(frozen=True, eq=False)
class PartitionSet:
    """Functions into 0..parts-1 built from an ordered list of conditions."""

    conditions: ConditionSet
    parts: int

    @cached_property
    def _truth(self) -> BoolArray:
        return self.conditions.functions.tables.astype(np.bool_)

    @property
    def points(self) -> int:
        return self.conditions.points

    @property
    def values(self) -> int:
        return self.parts

    @property
    def size_bound(self) -> int:
        return self.conditions.size_bound ** (self.parts - 1)

    def matching(self, allowed: BoolArray) -> Functions | None:
        return self.matching_at(np.ones(self.points, np.bool_), allowed)

    def matching_at(self, points: BoolArray, allowed: BoolArray) -> Functions | None:
        """Like `matching`, but only the values at `points` count: one cheapest function for all that agree there."""
        limit = min(max(1, MAX_TABLE_CELLS // max(1, self.points)), MOST_FUNCTIONS)
        found = _Found([], [], 0)
        last = np.full(self.points, self.parts - 1, np.int16)
        if not self._extend(allowed, 0, points, np.ones(self.points, np.bool_), last, (), found, limit):
            return None
        if not found.count:
            empty = np.zeros(0, np.int64)
            return Functions(np.zeros((0, self.points), np.int16), empty, self._unreachable, empty)
        tables, chosen = np.concatenate(found.tables), np.concatenate(found.chosen)
        costs = (1 + self.conditions.functions.costs[chosen]).sum(axis=1)
        keep = distinct(tables[:, points], costs)
        return Functions(tables[keep], costs[keep], lambda row: self._expression(chosen[row]), keep)

    def _extend(
        self,
        allowed: BoolArray,
        level: int,
        rest: BoolArray,
        open_: BoolArray,
        table: Tables,
        prefix: tuple[int, ...],
        found: _Found,
        limit: int,
    ) -> bool:
        """Append every completion of `prefix`; False: over the limit.

        rest: points that count and that no condition of the prefix took; open_: all points that none took; table: values so far.
        """
        conditions = self.conditions.functions
        truth = self._truth
        later = allowed[:, level + 1 :].any(axis=1)
        never, must = rest & ~allowed[:, level], rest & ~later
        candidates = np.flatnonzero(~((truth & never) | (~truth & must)).any(axis=1))
        # One condition per distinct effect on the points that are left.
        effect = conditions.tables[candidates] * rest.astype(np.int16)
        candidates = candidates[distinct(effect, conditions.costs[candidates])]
        if level + 2 < self.parts:
            for position in candidates.tolist():
                taken = truth[position]
                after = np.where(taken & open_, np.int16(level), table)
                if not self._extend(allowed, level + 1, rest & ~taken, open_ & ~taken, after, (*prefix, position), found, limit):
                    return False
            return True
        found.count += len(candidates)
        if found.count > limit:
            return False
        found.tables.append(np.where(truth[candidates] & open_, np.int16(level), table))
        found.chosen.append(np.column_stack([np.broadcast_to(np.array(prefix, np.int64), (len(candidates), level)), candidates]))
        return True

    def _expression(self, picked: IntArray) -> IndexExpr:
        expr: IndexExpr = IndexConst(self.parts - 1)
        for value in range(len(picked) - 1, -1, -1):
            expr = select_simplified(self.conditions.functions.expr(int(picked[value])), IndexConst(value), expr)
        return expr

    def _unreachable(self, row: int) -> IndexExpr:
        raise IndexError(row)


@dataclass(frozen=True, eq=False, slots=True)
class AlternativeSet:
    """`const` and `choose`: one decision for all points; value j is the j-th alternative, written `HoleArg(j)` or a constant."""

    constants: tuple[int, ...] | None
    """The integers of a `const` hole; None for `choose`."""
    values: int
    points: int = 1

    @property
    def size_bound(self) -> int:
        return self.values

    def matching(self, allowed: BoolArray) -> Functions | None:
        rows = np.flatnonzero(allowed[0])
        return Functions(rows.astype(np.int16)[:, None], np.zeros(len(rows), np.int64), self._expression, rows.astype(np.int64))

    def _expression(self, row: int) -> IndexExpr:
        return HoleArg(row) if self.constants is None else IndexConst(self.constants[row])


def select_simplified(cond: IndexExpr, then: IndexExpr, other: IndexExpr) -> IndexExpr:
    """`then if cond else other`, or the branch taken when `cond` is a constant."""
    if isinstance(cond, IndexConst):
        return then if cond.value else other
    return IndexSelect(cond, then, other)
