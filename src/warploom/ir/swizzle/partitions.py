"""Partition swizzles: `0 if cond else 1 if cond else ... n-1`.

Source: Swizzle Inventor, section 5.2. The set has |cond|^(n-1) expressions, so it stays implicit: `matching` walks the
conditions level by level and keeps those that the allowed values leave open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warploom.ir.kernel import HoleArg, IndexConst, IndexExpr, IndexSelect
from warploom.ir.swizzle.conditions import ConditionSet
from warploom.ir.swizzle.functions import MAX_TABLE_CELLS, BoolArray, Functions, Tables, distinct


@dataclass(frozen=True, eq=False, slots=True)
class PartitionSet:
    """Functions into 0..parts-1 built from an ordered list of conditions."""

    conditions: ConditionSet
    parts: int

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
        limit = max(1, MAX_TABLE_CELLS // max(1, self.points))
        tables: list[Tables] = []
        chosen: list[tuple[int, ...]] = []
        costs: list[int] = []
        if not self._extend(allowed, 0, np.ones(self.points, np.bool_), (), tables, chosen, costs, min(limit, 200_000)):
            return None
        if not tables:
            empty = np.zeros(0, np.int64)
            return Functions(np.zeros((0, self.points), np.int16), empty, self._unreachable, empty)
        stacked = np.stack(tables)
        all_costs = np.array(costs, np.int64)
        keep = distinct(stacked, all_costs)
        return Functions(stacked[keep], all_costs[keep], lambda row: self._expression(chosen[row]), keep)

    def _extend(
        self,
        allowed: BoolArray,
        level: int,
        rest: BoolArray,
        prefix: tuple[int, ...],
        tables: list[Tables],
        chosen: list[tuple[int, ...]],
        costs: list[int],
        limit: int,
    ) -> bool:
        """Append every completion of `prefix`; `rest` = points that no condition of the prefix took. False: over the limit."""
        conditions = self.conditions.functions
        truth = conditions.tables.astype(np.bool_)
        later = allowed[:, level + 1 :].any(axis=1)
        fits = ~((truth & (rest & ~allowed[:, level])) | (~truth & (rest & ~later))).any(axis=1)
        candidates = np.flatnonzero(fits)
        # One condition per distinct effect on the points that are left.
        effect = conditions.tables[candidates] * rest.astype(np.int16)
        for position in candidates[distinct(effect, conditions.costs[candidates])]:
            taken = truth[position] & rest
            picked = (*prefix, int(position))
            if level + 2 < self.parts:
                if not self._extend(allowed, level + 1, rest & ~taken, picked, tables, chosen, costs, limit):
                    return False
                continue
            if len(tables) >= limit:
                return False
            tables.append(self._table(picked))
            chosen.append(picked)
            costs.append(sum(1 + int(conditions.costs[p]) for p in picked))
        return True

    def _table(self, picked: tuple[int, ...]) -> Tables:
        table = np.full(self.points, self.parts - 1, np.int16)
        for value in range(len(picked) - 1, -1, -1):
            table[self.conditions.functions.tables[picked[value]].astype(np.bool_)] = value
        return table

    def _expression(self, picked: tuple[int, ...]) -> IndexExpr:
        expr: IndexExpr = IndexConst(self.parts - 1)
        for value in range(len(picked) - 1, -1, -1):
            expr = select_simplified(self.conditions.functions.expr(picked[value]), IndexConst(value), expr)
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
