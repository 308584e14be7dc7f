"""One step's function as a set of compositions: of its own index, and such that begin with the other index.

The second kind is `outer composition o cm2linear o inner composition`: section 8 of the paper switches the indices by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.swizzle.compositions import Composition
from warploom.ir.swizzle.functions import IntArray
from warploom.ir.swizzle.grown.alphabet import reach_of
from warploom.ir.swizzle.grown.listing import LENGTH, Compositions, compositions
from warploom.ir.swizzle.primitives import Cm2Linear, Primitive, divide_cost, scale_cost

MOST = 40_000
"""Compositions of one step: their greatest cost is chosen so."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """All functions of (index below `size`, parameter below `parameters`) up to `limit`, cheapest first."""

    size: int
    parameters: int
    own: Compositions
    after: Compositions
    """Act after the switch, with the step's own index as parameter."""
    before: Compositions
    """Act before it, on the other index."""
    rows: IntArray
    """[candidates] of `own`, or of `after` where they are switched."""
    inner_rows: IntArray
    """[candidates] of `before`; negative where nothing is switched."""
    costs: IntArray
    limit: int

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def lengths(self) -> IntArray:
        """[candidates] primitives."""
        plain = self.inner_rows < 0
        switched = self.after.lengths[np.where(plain, 0, self.rows)] + 1 + self.before.lengths[np.maximum(self.inner_rows, 0)]
        return np.where(plain, self.own.lengths[np.where(plain, self.rows, 0)], switched)

    def image(self, which: IntArray, index: IntArray, parameter: IntArray) -> IntArray:
        """[which, points]"""
        at, k = index.astype(np.float32), parameter.astype(np.float32)
        values = np.empty((len(which), len(at)), np.int64)
        plain = self.inner_rows[which] < 0
        if plain.any():
            values[plain] = self.own.image(self.rows[which[plain]], at, k, self.parameters)
        if not plain.all():
            switched = which[~plain]
            moved = at * np.float32(self.parameters) + self.before.image(self.inner_rows[switched], k, at, self.size)
            values[~plain] = self.after.image(self.rows[switched], moved % np.float32(self.size), at, self.size)
        return values

    def find(self, table: IntArray) -> int | None:
        """The cheapest with the given [index, parameter] table."""
        keys, order = self._keys
        key = _packed(table[self._probes])
        first, last = np.searchsorted(keys, [key, key + 1])
        index, parameter = np.divmod(np.arange(table.size), table.shape[1])
        for number in order[first:last]:
            if (self.image(np.array([number]), index, parameter)[0] == table[index, parameter]).all():
                return int(number)
        return None

    @cached_property
    def _probes(self) -> tuple[IntArray, IntArray]:
        index = (np.array([0, 31, 9, 20, 5, 31, 14, 26, 2, 17]) * (self.size - 1) + 30) // 31
        parameter = (np.array([0, 1, 31, 12, 6, 23, 3, 9, 28, 17]) * (self.parameters - 1) + 30) // 31
        return index, parameter

    @cached_property
    def _keys(self) -> tuple[IntArray, IntArray]:
        """Packed values at the probes, in order; and whose they are, the cheapest of equals first."""
        keys = _packed(self.image(np.arange(len(self)), *self._probes))
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def composition(self, number: int, index: str) -> Composition:
        """`index` names the step's own index: i or j."""
        row, inner_row = int(self.rows[number]), int(self.inner_rows[number])
        if inner_row < 0:
            return Composition(index, _primitives(self.own, row))
        switch = Cm2Linear(self.parameters, self.size)
        chain = (*_primitives(self.after, row), switch, *_primitives(self.before, inner_row))
        return Composition("j" if index == "i" else "i", chain)


def candidates(size: int, parameters: int, most: int = MOST) -> Candidates:
    """Candidates for an index below `size` and a parameter below `parameters`."""
    reach = reach_of(size, parameters)
    every = compositions(size, most, reach)
    before = compositions(parameters, most, reach).for_parameters(size)
    switch = scale_cost(parameters, size, first=False) + divide_cost(size)
    limit = min(every.limit, before.limit + switch)
    own, after = every.for_parameters(parameters).up_to(limit), every.for_parameters(size)
    rows, inner_rows, costs = _switched(after, before, switch, limit)
    rows = np.concatenate([np.arange(len(own)), rows])
    inner_rows = np.concatenate([np.full(len(own), -1), inner_rows])
    costs = np.concatenate([own.costs, costs])
    order = np.argsort(costs, kind="stable")
    return Candidates(size, parameters, own, after, before, rows[order], inner_rows[order], costs[order], limit)


def _switched(after: Compositions, before: Compositions, switch: int, limit: int) -> tuple[IntArray, IntArray, IntArray]:
    """(composition after, composition before, cost) of what the switch joins within the limit."""
    # Neither the switch nor the sum after it needs a remainder that the next one takes.
    after_costs = after.costs - after.shared(column=-1, gives=False)
    before_costs = before.costs
    if before.letters.size % after.letters.size == 0:
        before_costs = before_costs - before.shared(column=0, gives=True)
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    for length in range(LENGTH):
        outer = np.flatnonzero((after.lengths == length) & (after_costs + switch <= limit))
        inner = np.flatnonzero(before.lengths < LENGTH - length)
        inner = inner[np.argsort(before_costs[inner], kind="stable")]
        counts = np.searchsorted(before_costs[inner], limit - switch - after_costs[outer], side="right")
        first = np.repeat(outer, counts)
        second = inner[np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)]
        found.append((first, second, after_costs[first] + switch + before_costs[second]))
    rows, inner_rows, costs = (np.concatenate(part) for part in zip(*found, strict=True))
    return rows, inner_rows, costs


def _primitives(source: Compositions, row: int) -> tuple[Primitive, ...]:
    return tuple(source.letters.primitive(int(r)) for r in source.rows[row] if r)


def _packed(values: IntArray) -> IntArray:
    """[..., probes] values as one number: different ones for values below 64, others are compared in full."""
    packed: IntArray = values @ (64 ** np.arange(int(values.shape[-1])))
    return packed
