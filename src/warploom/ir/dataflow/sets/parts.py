"""Sets that change some points only: listed, factored (points chosen freely), and unions of such parts.

A hole may become one of many instruction forms: a few hundred shifts of one register, but 2^128 masks of a merge. Each form is
a part; outside the points that it changes it takes the base values. Members are numbered through all parts by Python integers
of any size.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir.dataflow.sets.condition_lists import MOST_CELLS, MOST_LISTED
from warploom.ir.dataflow.sets.listed import numbered_text
from warploom.ir.kernel.nodes import IndexConst, IndexExpr
from warploom.ir.swizzle import BoolArray, Functions, IntArray, Tables, distinct

Values: TypeAlias = NDArray[np.int16]


class _Part:
    """Functions that take the values `base` except on the points `at`."""

    def __init__(self, base: Values, values: int, at: IntArray) -> None:
        self.values = values
        self.base = base
        self._at = np.unique(at)
        self._elsewhere: IntArray = np.setdiff1d(np.arange(len(base)), at)

    @property
    def points(self) -> int:
        return len(self.base)

    def _leaves(self, allowed: BoolArray) -> bool:
        """Whether the values of the unchanged points are allowed."""
        return bool(allowed[self._elsewhere, self.base[self._elsewhere]].all())

    def _supported_elsewhere(self) -> BoolArray:
        found = np.zeros((self.points, self.values), np.bool_)
        found[self._elsewhere, self.base[self._elsewhere]] = True
        return found

    def _none(self) -> Functions:
        return Functions(np.zeros((0, self.points), np.int16), np.zeros(0, np.int64), IndexConst, np.zeros(0, np.int64))


class ListedPart(_Part):
    """A table for the points `at`: rows distinct, cheapest first."""

    def __init__(self, base: Values, values: int, at: IntArray, functions: Functions, text: Callable[[int], str]) -> None:
        super().__init__(base, values, at)
        self._columns = at
        self._functions = functions
        self._text = text

    @property
    def size_bound(self) -> int:
        return len(self._functions)

    @property
    def size(self) -> int:
        return len(self._functions)

    @property
    def numbers(self) -> int:
        """All members' numbers are below this."""
        return int(self._functions.rows.max(initial=-1)) + 1

    def matching(self, allowed: BoolArray) -> Functions:
        if not self._leaves(allowed):
            return self._none()
        kept = self._functions.matching(allowed[self._columns])
        tables: Tables = np.repeat(self.base[None], len(kept), axis=0)
        tables[:, self._columns] = kept.tables
        return Functions(tables, kept.costs, kept.expression, kept.rows)

    def supported(self, allowed: BoolArray) -> BoolArray:
        """[points, values]: whether some allowed function takes the value at the point."""
        kept = self._functions.matching(allowed[self._columns]) if self._leaves(allowed) else self._none()
        if not len(kept):
            return np.zeros_like(allowed)
        found = self._supported_elsewhere()
        found[self._columns] = kept.supported(self.values)
        return found

    def text(self, number: int) -> str:
        return self._text(number)


class FactoredPart(_Part):
    """Groups of points, each of which takes any of its options whatever the others take: members are never enumerated."""

    def __init__(
        self, base: Values, values: int, where: IntArray, options: Values, cost: int, text: Callable[[tuple[int, ...]], str]
    ) -> None:
        """`where` is [groups, width], `options` [groups, options, width], distinct in each group.

        `text` gets the number of the option of each group.
        """
        super().__init__(base, values, where.ravel())
        self._where = where
        self._options = options
        self._cost = cost
        self._text = text

    @property
    def size_bound(self) -> int:
        return self._options.shape[1] ** len(self._where)

    @property
    def size(self) -> int:
        return self.size_bound

    @property
    def numbers(self) -> int:
        """All members' numbers are below this."""
        return self.size_bound

    def _open(self, allowed: BoolArray) -> BoolArray:
        """[groups, options]: options whose values are all allowed."""
        fits: BoolArray = np.logical_and.reduce(allowed[self._where[:, None, :], self._options], axis=2)
        return fits

    def matching(self, allowed: BoolArray) -> Functions | None:
        if not self._leaves(allowed):
            return self._none()
        is_open = self._open(allowed)
        counts = [int(count) for count in is_open.sum(axis=1)]
        total = prod(counts)
        if total == 0:
            return self._none()
        if total > MOST_LISTED or total * self.points > MOST_CELLS:
            return None
        tables: Tables = np.repeat(self.base[None], total, axis=0)
        digits = np.empty((total, len(counts)), np.int16)
        row, after = np.arange(total), total
        choices = self._options.shape[1]
        for group, count in enumerate(counts):
            after //= count
            digits[:, group] = np.flatnonzero(is_open[group])[row // after % count]
            tables[:, self._where[group]] = self._options[group, digits[:, group]]

        def expression(row: int) -> IndexExpr:
            number = 0
            for digit in digits[row].tolist():
                number = number * choices + digit
            return IndexConst(number)

        return Functions(tables, np.full(total, self._cost, np.int64), expression, row)

    def supported(self, allowed: BoolArray) -> BoolArray:
        """[points, values]: whether some allowed function takes the value at the point."""
        is_open = self._open(allowed)
        if not self._leaves(allowed) or not is_open.any(axis=1).all():
            return np.zeros_like(allowed)
        found = self._supported_elsewhere()
        group, option = np.nonzero(is_open)
        found[self._where[group], self._options[group, option]] = True
        return found

    def text(self, number: int) -> str:
        digits: list[int] = []
        for _ in self._where:
            number, digit = divmod(number, self._options.shape[1])
            digits.append(digit)
        return self._text(tuple(reversed(digits)))


Part: TypeAlias = ListedPart | FactoredPart


class UnionSet:
    """Every function of some part; a function that several parts have is one member."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self._offsets = [0, *accumulate(part.numbers for part in self.parts)]

    @property
    def points(self) -> int:
        return self.parts[0].points

    @property
    def values(self) -> int:
        return self.parts[0].values

    @property
    def size_bound(self) -> int:
        return sum(part.size_bound for part in self.parts)

    @cached_property
    def size(self) -> int | None:
        """Number of distinct functions; None when there are too many to list."""
        functions = self.matching(np.ones((self.points, self.values), np.bool_))
        return None if functions is None else len(functions)

    def matching(self, allowed: BoolArray) -> Functions | None:
        found: list[tuple[int, Functions]] = []
        total = 0
        for number, part in enumerate(self.parts):
            functions = part.matching(allowed)
            total += len(functions) if functions is not None else 0
            if functions is None or total > MOST_LISTED or total * self.points > MOST_CELLS:
                return None
            if len(functions):
                found.append((number, functions))
        if not found:
            return Functions(np.zeros((0, self.points), np.int16), np.zeros(0, np.int64), IndexConst, np.zeros(0, np.int64))
        starts = [0, *accumulate(len(functions) for _, functions in found)]

        def expression(row: int) -> IndexExpr:
            position = bisect_right(starts, row) - 1
            number, functions = found[position]
            local = functions.expr(row - starts[position])
            assert isinstance(local, IndexConst)
            return IndexConst(self._offsets[number] + int(local.value))

        tables = np.concatenate([functions.tables for _, functions in found])
        costs = np.concatenate([functions.costs for _, functions in found])
        keep = distinct(tables, costs)
        return Functions(tables[keep], costs[keep], expression, keep)

    def supported(self, allowed: BoolArray) -> BoolArray:
        """[points, values]: whether some allowed function takes the value at the point."""
        found = np.zeros_like(allowed)
        for part in self.parts:
            found |= part.supported(allowed)
        return found

    def text(self, number: int) -> str:
        part = bisect_right(self._offsets, number) - 1
        return self.parts[part].text(number - self._offsets[part])


def member_text(members: UnionSet) -> Callable[[IndexExpr], str]:
    return numbered_text(members.text)
