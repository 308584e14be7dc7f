"""Partition swizzles: `0 if cond else 1 if cond else ... n-1`.

Source: Swizzle Inventor, section 5.2. The set has |cond|^(n-1) expressions, so it stays implicit: `matching` walks the
conditions level by level and keeps those that the allowed values leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.kernel.nodes import HoleArg, IndexConst, IndexExpr, IndexSelect
from warploom.ir.swizzle.functions import MAX_TABLE_CELLS, BoolArray, Functions, IntArray, ListedSet, Tables, distinct

MOST_FUNCTIONS = 50_000
"""A set of more functions stays implicit."""


REMEMBERED = 4
"""Answers of one set that are kept: decisions on other holes leave the same values allowed again and again."""


@dataclass(frozen=True, eq=False)
class PartitionSet:
    """Functions into 0..parts-1 built from an ordered list of conditions."""

    conditions: ListedSet
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
        return self.matching_at(np.ones(self.points, np.bool_), allowed)

    def matching_at(self, points: BoolArray, allowed: BoolArray) -> Functions | None:
        """Like `matching`, but only the values at `points` count: one cheapest function for all that agree there."""
        key = points.tobytes(), allowed.tobytes()
        if key not in self._recent:
            if len(self._recent) >= REMEMBERED:
                del self._recent[next(iter(self._recent))]
            self._recent[key] = self._matching_at(points, allowed)
        return self._recent[key]

    def _matching_at(self, points: BoolArray, allowed: BoolArray) -> Functions | None:
        if self.parts == 1:  # no condition: 0 everywhere
            fits = int(allowed[points, 0].all())
            none = np.zeros(fits, np.int64)
            return Functions(np.zeros((fits, self.points), np.int16), none, lambda row: IndexConst(0), none)
        limit = min(max(1, MAX_TABLE_CELLS // max(1, self.points)), MOST_FUNCTIONS)
        listing = _Listing(self.conditions.functions, self.parts, allowed, limit)
        count = listing.count(0, points)
        if count > limit:
            return None
        if not count:
            empty = np.zeros(0, np.int64)
            return Functions(np.zeros((0, self.points), np.int16), empty, self._unreachable, empty)
        listing.extend(0, points, np.ones(self.points, np.bool_), np.full(self.points, self.parts - 1, np.int16), ())
        tables, chosen = np.concatenate(listing.tables), np.concatenate(listing.chosen)
        costs = (1 + self.conditions.functions.costs[chosen]).sum(axis=1)
        keep = distinct(tables[:, points], costs)
        return Functions(tables[keep], costs[keep], lambda row: self._expression(chosen[row]), keep)

    @cached_property
    def _recent(self) -> dict[tuple[bytes, bytes], Functions | None]:
        """(points, allowed values) -> functions, for the last few."""
        return {}

    def _expression(self, picked: IntArray) -> IndexExpr:
        expr: IndexExpr = IndexConst(self.parts - 1)
        for value in range(len(picked) - 1, -1, -1):
            expr = select_simplified(self.conditions.functions.expr(int(picked[value])), IndexConst(value), expr)
        return expr

    def _unreachable(self, row: int) -> IndexExpr:
        raise IndexError(row)


class _Listing:
    """All ordered lists of conditions that fit allowed values, level by level; what fits depends on the points left alone."""

    def __init__(self, conditions: Functions, parts: int, allowed: BoolArray, limit: int) -> None:
        self.conditions = conditions
        self.limit = limit
        self.truth: BoolArray = conditions.tables.astype(np.bool_)
        self.parts = parts
        self.never: list[BoolArray] = [~allowed[:, level] for level in range(parts - 1)]
        self.must: list[BoolArray] = [~np.logical_or.reduce(allowed[:, level + 1 :], axis=1) for level in range(parts - 1)]
        self.fits: dict[tuple[int, bytes], IntArray] = {}
        self.counts: dict[tuple[int, bytes], int] = {}
        self.tables: list[Tables] = []
        self.chosen: list[IntArray] = []
        """[functions, conditions], aligned with `tables`."""

    def fitting(self, level: int, rest: BoolArray) -> IntArray:
        """Conditions for `level` where the points `rest` are left: one per distinct effect on them."""
        key = level, rest.tobytes()
        if key not in self.fits:
            never, must = rest & self.never[level], rest & self.must[level]
            candidates = np.flatnonzero(~((self.truth & never) | (~self.truth & must)).any(axis=1))
            effect = self.conditions.tables[candidates] * rest.astype(np.int16)
            self.fits[key] = candidates[distinct(effect, self.conditions.costs[candidates])]
        return self.fits[key]

    def count(self, level: int, rest: BoolArray) -> int:
        """Number of lists that `extend` appends; at least one more than `limit` if it is more."""
        key = level, rest.tobytes()
        if key not in self.counts:
            candidates = self.fitting(level, rest)
            total = len(candidates)
            if level + 2 < self.parts:
                total = 0
                for position in candidates.tolist():
                    total += self.count(level + 1, rest & ~self.truth[position])
                    if total > self.limit:
                        break
            self.counts[key] = total
        return self.counts[key]

    def extend(self, level: int, rest: BoolArray, untaken: BoolArray, table: Tables, prefix: tuple[int, ...]) -> None:
        """Append every completion of `prefix`.

        rest: points that count and that no condition of the prefix took; untaken: all points that none took; table: values.
        """
        if not self.count(level, rest):
            return
        candidates = self.fitting(level, rest)
        if level + 2 == self.parts:
            before = np.broadcast_to(np.array(prefix, np.int64), (len(candidates), level))
            self.tables.append(np.where(self.truth[candidates] & untaken, np.int16(level), table))
            self.chosen.append(np.column_stack([before, candidates]))
            return
        for position in candidates.tolist():
            taken = self.truth[position]
            after = np.where(taken & untaken, np.int16(level), table)
            self.extend(level + 1, rest & ~taken, untaken & ~taken, after, (*prefix, position))


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
