"""One step's function as a set of compositions: words on its own index, and words that begin with the other index.

The second kind goes `outer words o cm2linear o inner words`: section 8 of the paper switches the indices with cm2linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.swizzle import Cm2Linear, Composition, IntArray, Primitive, divide_cost, scale_cost
from warploom.synth.transposes.words import LENGTH, Words, words

MOST = 40_000
"""Words of one step: their greatest cost is chosen so."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """All functions of (index below `size`, parameter below `parameters`) up to `limit`, cheapest first."""

    size: int
    parameters: int
    own: Words
    after: IntArray
    """[switched] rows of `own` that act after the switch, on the step's own range with its index as parameter."""
    before: IntArray
    """[switched] rows of `other` that act before it."""
    other: Words
    costs: IntArray
    """[own + switched]"""
    limit: int

    def __len__(self) -> int:
        return len(self.costs)

    def image(self, which: IntArray, index: IntArray, parameter: IntArray) -> IntArray:
        """[which, points]"""
        at, k = index.astype(np.float32), parameter.astype(np.float32)
        values = np.empty((len(which), len(at)), np.int64)
        plain = which < len(self.own)
        if plain.any():
            values[plain] = self.own.image(which[plain], at, k)
        if not plain.all():
            rows = which[~plain] - len(self.own)
            moved = (at * np.float32(self.parameters) + self.other.image(self.before[rows], k, at)) % np.float32(self.size)
            values[~plain] = self.own.image(self.after[rows], moved, at)
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
        if number < len(self.own):
            return Composition(index, _primitives(self.own, number))
        row = number - len(self.own)
        switch = Cm2Linear(self.parameters, self.size)
        chain = (*_primitives(self.own, int(self.after[row])), switch, *_primitives(self.other, int(self.before[row])))
        return Composition("j" if index == "i" else "i", chain)


def candidates(size: int, parameters: int, most: int = MOST) -> Candidates:
    """For an index below `size` and a parameter below `parameters`."""
    own = words(size, most).for_parameters(parameters)
    other = words(parameters, most).for_parameters(size)
    switch = scale_cost(parameters, size, first=False) + divide_cost(size)
    limit = min(own.limit, other.limit + switch)
    own = own.up_to(limit)
    after, before, costs = _switched(own, other, switch, limit)
    order = np.argsort(costs, kind="stable")
    return Candidates(size, parameters, own, after[order], before[order], other, np.concatenate([own.costs, costs[order]]), limit)


def _switched(own: Words, other: Words, switch: int, limit: int) -> tuple[IntArray, IntArray, IntArray]:
    """(word after, word before, cost) of what the switch joins within the limit."""
    # Neither the switch nor the sum after it needs a remainder that the next one takes.
    same = other.letters.size % own.letters.size == 0
    after_costs = own.costs - own.shared(column=-1, gives=False)
    before_costs = other.costs - (other.shared(column=0, gives=True) if same else 0)
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    for length in range(LENGTH):
        after = np.flatnonzero(own.lengths == length)
        after = after[after_costs[after] + switch <= limit]
        before = np.flatnonzero(other.lengths < LENGTH - length)
        before = before[np.argsort(before_costs[before], kind="stable")]
        counts = np.searchsorted(before_costs[before], limit - switch - after_costs[after], side="right")
        first = np.repeat(after, counts)
        second = before[np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)]
        found.append((first, second, after_costs[first] + switch + before_costs[second]))
    after, before, costs = (np.concatenate(part) for part in zip(*found, strict=True))
    return after, before, costs


def _primitives(source: Words, row: int) -> tuple[Primitive, ...]:
    return tuple(source.letters.primitive(int(r)) for r in source.rows[row] if r)


def _packed(values: IntArray) -> IntArray:
    """[..., probes] values below 64 as one number."""
    packed: IntArray = values @ (64 ** np.arange(int(values.shape[-1])))
    return packed
