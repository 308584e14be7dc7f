"""Two holes in a row as one: the second's choice picks where the first's result is read.

    y[e] = x1[e with position g(e)],  x1[u] = x[u with position f(u)]   =>   y[e] = x[e with position f(e with g(e))]

The intermediate array needs no cells, and the pair is filtered as a join: for each g, what is allowed at e is allowed for f at
the place where g reads. Pairs with the same effect are one function; `ways` tells them apart again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir import IndexConst, IndexExpr
from warploom.ir.swizzle import BoolArray, Functions, FunctionSet, IntArray, Tables
from warploom.synth.dataflow.counters import Counters

MAX_PAIRS = 8192
"""More pairs are not listed."""
SAMPLE = 12
"""Points on which pairs are looked up first."""


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """One member of a set of gathers."""

    expr: IndexExpr
    table: Tables
    """[points] values."""


Way: TypeAlias = tuple[Member, ...]
"""The way a function is made: a member per hole, in the order in which they apply."""


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
        self._ways: list[tuple[_Batch, int, int]] = []
        self._taken: dict[bytes, list[tuple[int, IntArray]]] = {}
        """By table that `takes` found: (member of second, members of first) with its effect."""

    @cached_property
    def index(self) -> _Index:
        return _Index(self)

    @property
    def size_bound(self) -> int:
        return self.first.size_bound * len(self.second)

    def matching(self, allowed: BoolArray) -> Functions | None:
        if (allowed.sum(axis=1) == 1).all():
            return self.equal_to(allowed.argmax(axis=1).astype(np.int16)[None, :])[0]
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

    def equal_to(self, tables: Tables) -> list[Functions]:
        """Per table ([tables, points]): the pairs with that effect."""
        found = [self._taken.get(table.tobytes(), []) for table in tables]
        new = np.flatnonzero([not pairs for pairs in found])
        for table, pairs in self._looked_up(tables[new]).items():
            found[new[table]] = pairs
        return [self.listed([(row, self.index.first, members) for row, members in pairs]) for pairs in found]

    def listed(self, found: list[tuple[int, Functions, IntArray]]) -> Functions:
        """The functions made of the given (member of second, members of first), equal ones joined."""
        if not found:
            none = np.zeros(0, np.int64)
            return Functions(np.zeros((0, self.points), np.int16), none, _unreachable, none)
        tables = np.concatenate([f.tables[keep][:, self.places[row]] for row, f, keep in found])
        costs = np.concatenate([f.costs[keep] + self.second.costs[row] for row, f, keep in found])
        group = same_rows(tables)
        order = np.lexsort((costs, group))
        starts = np.flatnonzero(np.r_[True, group[order][1:] != group[order][:-1]])
        ends = np.r_[starts[1:], len(order)]
        by_cost = np.argsort(costs[order[starts]], kind="stable")
        batch = _Batch(found, order, np.cumsum([0, *(len(keep) for _, _, keep in found)]))
        rows = len(self._ways) + np.arange(len(starts))
        self._ways += [(batch, int(starts[n]), int(ends[n])) for n in by_cost]
        first = order[starts[by_cost]]
        return Functions(tables[first], costs[first], IndexConst, rows)

    def ways(self, expr: IndexExpr) -> tuple[Way, ...]:
        """All pairs with the effect of a listed function (`Functions.expr`), cheapest first."""
        assert isinstance(expr, IndexConst)
        batch, start, end = self._ways[int(expr.value)]
        return tuple(self._way(batch, int(place)) for place in batch.order[start:end])

    def _way(self, batch: _Batch, place: int) -> Way:
        part = int(np.searchsorted(batch.starts, place, side="right")) - 1
        row, first, keep = batch.found[part]
        k = int(keep[place - batch.starts[part]])
        return Member(first.expr(k), first.tables[k]), Member(self.second.expr(row), self.second.tables[row])

    # ------------------------------------------------------------ lookup

    def takes(self, tables: Tables) -> BoolArray:
        """[functions] whether a pair has the effect of each of `tables` ([functions, points]); a hash join."""
        index = self.index
        self.counters.probes += len(tables)
        found = is_among(row_hashes(tables[:, index.sample]), index.sampled)
        left = np.flatnonzero(found)
        found[left] = False
        for table, pairs in self._looked_up(tables[left]).items():
            found[left[table]] = True
            self._taken[tables[left[table]].tobytes()] = pairs
        return found

    def _looked_up(self, tables: Tables) -> dict[int, list[tuple[int, IntArray]]]:
        """By table, if any: (member of second, members of first) with its effect."""
        self.counters.probes += len(self.second) * len(tables)
        found: dict[int, list[tuple[int, IntArray]]] = {}
        for table, row, members in self.index.members_with(tables) if len(tables) else ():
            found.setdefault(table, []).append((row, members))
        return found


@dataclass(frozen=True, eq=False, slots=True)
class _Batch:
    """Pairs that were listed together."""

    found: list[tuple[int, Functions, IntArray]]
    order: IntArray
    """Pairs, those with one effect together."""
    starts: IntArray
    """First pair of each entry of `found`."""


class _Index:
    """Hashes of all pairs on a few points, and of the first hole's members on the points that each second member reads."""

    def __init__(self, pairs: ComposedSet) -> None:
        first = pairs.first.matching(np.ones((pairs.first.points, pairs.values), np.bool_))
        assert first is not None
        self.first = first
        self.places = pairs.places
        rng = np.random.default_rng(0)
        self.sample = np.sort(rng.permutation(pairs.points)[:SAMPLE])
        self.sampled = np.sort(np.concatenate([row_hashes(first.tables[:, places[self.sample]]) for places in pairs.places]))
        points = int(first.tables.shape[1])
        self.whole: BoolArray = np.zeros(len(pairs.places), np.bool_)
        if pairs.points == points:
            self.whole = np.logical_and.reduce(np.sort(pairs.places, axis=1) == np.arange(points), axis=1)
        """[members of second] that read every point of the first hole once."""
        self.weights = hash_weights(points)
        hashes = row_hashes(first.tables)
        self.order = np.argsort(hashes, kind="stable")
        self.hashes = hashes[self.order]

    def members_with(self, tables: Tables) -> Iterator[tuple[int, int, IntArray]]:
        """(table, second member, the first hole's members that make the table with it) where there are any."""
        seconds = np.flatnonzero(self.whole)
        # Where the second member only permutes, the hash of the table that the first must have is a product.
        keys = tables.astype(np.uint64) @ self.weights[self.places[seconds]].T
        for table, at in zip(*(found.tolist() for found in np.nonzero(is_among(keys, self.hashes))), strict=True):
            row = int(seconds[at])
            start = int(np.searchsorted(self.hashes, keys[table, at], "left"))
            end = int(np.searchsorted(self.hashes, keys[table, at], "right"))
            members = self.order[start:end]
            members = members[(self.first.tables[members][:, self.places[row]] == tables[table]).all(axis=1)]
            if len(members):
                yield table, row, members
        for row in np.flatnonzero(~self.whole).tolist():
            made = self.first.tables[:, self.places[row]]
            hashes = row_hashes(made)
            for table, key in enumerate(row_hashes(tables)):
                members = np.flatnonzero(hashes == key)
                members = members[(made[members] == tables[table]).all(axis=1)]
                if len(members):
                    yield table, row, members


def is_among(keys: NDArray[Any], known: NDArray[Any]) -> BoolArray:
    """Flags of the keys that are in `known`, which is sorted."""
    if not len(known):
        return np.zeros(keys.shape, np.bool_)
    return known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys


def hash_weights(points: int) -> NDArray[np.uint64]:
    """Weights of `row_hashes`: the hash of a row is its product with them."""
    return np.random.default_rng(points).integers(1, 1 << 63, points, dtype=np.uint64)


def row_hashes(tables: Tables) -> NDArray[np.uint64]:
    """[rows] equal for equal rows, and almost always different for different ones."""
    points = int(tables.shape[1])
    weights = hash_weights(points)
    step = max(1, (1 << 22) // max(1, points))
    parts: list[NDArray[np.uint64]] = [tables[n : n + step].astype(np.uint64) @ weights for n in range(0, len(tables), step)]
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
