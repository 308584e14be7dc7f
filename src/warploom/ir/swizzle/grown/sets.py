"""Compositions as sets of functions on the points (i, k) of a hole.

`ShortSet` has every composition of up to two primitives, up to the greatest price at which there are `MOST` of them, and stays
implicit: what is allowed picks them by a few points at a time. `LongSet` has besides every composition of up to five that peeling
finds; which ones those are is known only where the values are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.nodes import IndexConst, IndexExpr
from warploom.ir.swizzle.compositions import Composition
from warploom.ir.swizzle.functions import MAX_TABLE_CELLS, BoolArray, Functions, IntArray, distinct
from warploom.ir.swizzle.grown.candidates import Candidates, candidates
from warploom.ir.swizzle.grown.expressions import expression
from warploom.ir.swizzle.grown.forms import forms
from warploom.ir.swizzle.grown.listing import LENGTH

Bytes: TypeAlias = NDArray[np.uint8]

MOST = 100_000
"""Compositions of one hole: their greatest price is chosen so."""
KEPT_SHARE = 16
"""Images of every composition at a point are kept where more than one in so many is asked for."""
KEPT_BYTES = 1 << 27
CHUNK_CELLS = 1 << 17
"""Images that are made at once: few enough for the second-level cache of a core."""
UNLISTED = 1 << 62
"""Stands for the number of functions that nobody counts."""


@lru_cache(maxsize=2)
def _short(size: int, parameters: int) -> Candidates:
    return candidates(size, parameters, MOST)


@dataclass(frozen=True, eq=False)
class ShortSet:
    """Compositions of up to `length` primitives on indices below `size`; `place` holds the points (i, k)."""

    size: int
    place: IntArray
    """[points, 2], i below `size` and k below `PARAMETERS`, none negative."""
    length: int = LENGTH
    most: int | None = None
    """The greatest price; None: any."""

    @property
    def points(self) -> int:
        return len(self.place)

    @property
    def values(self) -> int:
        return self.size

    @property
    def size_bound(self) -> int:
        return len(self._rows)

    @cached_property
    def parameters(self) -> int:
        return int(self.place[:, 1].max()) + 1

    @cached_property
    def listed(self) -> Candidates:
        return _short(self.size, self.parameters)

    @cached_property
    def _rows(self) -> IntArray:
        is_member = self.listed.lengths <= self.length
        return np.flatnonzero(is_member if self.most is None else is_member & (self.listed.costs <= self.most))

    def up_to(self, cost: int) -> ShortSet | None:
        return replace(self, most=cost) if cost < self.listed.limit else None

    def matching(self, allowed: BoolArray) -> Functions | None:
        freedom = allowed.sum(axis=1)
        order: IntArray = np.argsort(freedom, kind="stable")
        order = order[freedom[order] < self.size]
        left, start, width = self._rows, 0, 1
        while start < len(order) and len(left):
            points: IntArray = order[start : start + width]
            left = left[allowed[points, self._images(left, points)].all(axis=1)]
            start, width = start + width, width * 4
        if len(left) * self.points > MAX_TABLE_CELLS:
            return None
        tables = self._images(left, np.arange(self.points)).astype(np.int16)
        keep = distinct(tables, self.listed.costs[left])
        return Functions(tables[keep], self.listed.costs[left[keep]], self.expression, left[keep])

    def _images(self, rows: IntArray, points: IntArray) -> Bytes:
        """[rows, points]"""
        if len(rows) * KEPT_SHARE < self._end:
            return self._evaluated(rows, points)
        return np.stack([column[rows] for column in self._columns_at(points.tolist())], axis=1)

    def _columns_at(self, points: list[int]) -> list[Bytes]:
        """Per point, images by [rows up to the last member]: decisions on other holes ask for the same ones again and again."""
        missing = [point for point in dict.fromkeys(points) if point not in self._columns]
        found: dict[int, Bytes] = {}
        if missing:
            images = self._evaluated(np.arange(self._end), np.array(missing))
            found = dict(zip(missing, np.ascontiguousarray(images.T), strict=True))
            room = KEPT_BYTES // self._end - len(self._columns)
            self._columns.update(list(found.items())[: max(0, room)])
        return [self._columns[point] if point in self._columns else found[point] for point in points]

    @cached_property
    def _end(self) -> int:
        return int(self._rows[-1]) + 1

    @cached_property
    def _columns(self) -> dict[int, Bytes]:
        return {}

    def _evaluated(self, rows: IntArray, points: IntArray) -> Bytes:
        chunks = np.array_split(rows, len(rows) * len(points) // CHUNK_CELLS + 1)
        return np.concatenate([self.listed.image(chunk, *self.place[points].T).astype(np.uint8) for chunk in chunks])

    def expression(self, row: int) -> IndexExpr:
        return expression(self.listed.composition(row, "i"), self.size, self.parameters)


@dataclass(frozen=True, eq=False)
class LongSet:
    """The functions of `short`, and those that peeling takes apart where the points are all (i, k)."""

    short: ShortSet

    @property
    def points(self) -> int:
        return self.short.points

    @property
    def values(self) -> int:
        return self.short.size

    @property
    def size_bound(self) -> int:
        return UNLISTED

    def matching(self, allowed: BoolArray) -> Functions | None:
        short = self.short
        freedom = allowed.sum(axis=1)
        if (freedom == 0).any() or (self.points < short.size * short.parameters and (freedom == 1).all()):
            return short.matching(allowed)
        if (freedom > 1).any():
            return None
        values: IntArray = allowed.argmax(axis=1)
        table = np.empty((short.size, short.parameters), np.int64)
        table[tuple(short.place.T)] = values
        best = self._cheapest(table)
        if best is None:
            return Functions(np.zeros((0, self.points), np.int16), np.zeros(0, np.int64), IndexConst, np.zeros(0, np.int64))
        written = expression(best, *table.shape)
        cost = best.cost(*table.shape)
        return Functions(values[None, :].astype(np.int16), np.array([cost]), lambda row: written, np.zeros(1, np.int64))

    def _cheapest(self, table: IntArray) -> Composition | None:
        known = self.short.listed.find(table)
        if known is not None:
            return self.short.listed.composition(known, "i")
        return min(forms(table, "i", *table.shape), key=lambda form: form.cost(*table.shape), default=None)
