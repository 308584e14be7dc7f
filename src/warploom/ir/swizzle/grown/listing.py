"""All compositions of up to three primitives and up to a price, as rows of primitive numbers.

Complete up to effect: one is left out only where a kept one does the same for no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle.functions import IntArray
from warploom.ir.swizzle.grown.alphabet import FAN, NEVER, PARAMETERS, ROT, USUAL, XOR, Alphabet, Bytes, Floats, alphabet

Places: TypeAlias = NDArray[np.int32]

LENGTH = 2
_CEILING = 16


@dataclass(frozen=True, eq=False, slots=True)
class Compositions:
    """[compositions, LENGTH] rows of the alphabet, outermost first, 0 = nothing, cheapest first."""

    letters: Alphabet
    rows: IntArray
    costs: IntArray
    limit: int
    """Every function with a composition of at most this cost has one here."""

    def __len__(self) -> int:
        return len(self.rows)

    def image(self, which: IntArray, index: Floats, parameter: Floats, parameters: int = PARAMETERS) -> Floats:
        """[which, points] values at [which or 1, points] indices; `parameters` that are below that."""
        rows = self.rows[which]
        table = self.letters.table(parameters)
        if table is not None:
            return self._looked_up(table, rows, index.reshape(-1, parameter.shape[-1]), parameter)
        value = np.broadcast_to(index, (len(which), parameter.shape[-1]))
        for column in range(LENGTH - 1, -1, -1):
            used = np.flatnonzero(rows[:, column])
            if len(used) == len(rows):
                value = self.letters.image(rows[:, column], value, parameter)
            elif len(used):
                value = value.copy()
                value[used] = self.letters.image(rows[used, column], value[used], parameter)
        return value

    def _looked_up(self, table: Bytes, rows: IntArray, value: Floats, parameter: Floats) -> Floats:
        _, parameters, size = table.shape
        flat, first = table.ravel(), (rows * (parameters * size)).astype(np.int32)
        at = parameter.astype(np.int32)[None] * np.int32(size)
        found = value.astype(np.int32)
        for column in range(LENGTH - 1, -1, -1):
            places: Places = first[:, column, None] + at
            found = flat[places + found].astype(np.int32)
        return found.astype(np.float32)

    @property
    def lengths(self) -> IntArray:
        return (self.rows > 0).sum(axis=1)

    def up_to(self, limit: int) -> Compositions:
        """The compositions of at most this cost."""
        count = int(np.searchsorted(self.costs, limit, side="right"))
        return Compositions(self.letters, self.rows[:count], self.costs[:count], min(limit, self.limit))

    def shared(self, *, column: int, gives: bool) -> IntArray:
        """[compositions] cost of the remainder in the first (0) or last (-1) primitive if that sums the whole index, else 0."""
        letters = self.letters
        used = self.rows[:, 0] if column == 0 else self.rows[np.arange(len(self)), np.maximum(self.lengths - 1, 0)]
        sums = letters.gives_sum if gives else letters.takes_sum
        whole = (letters.count == letters.size) & (sums > 0) & (np.arange(len(letters)) > 0)
        return np.where(whole, letters.shared, 0)[used]

    def for_parameters(self, parameters: int) -> Compositions:
        """The compositions that are not cheaper ones in disguise when the parameter is below `parameters`, with their cost
        then."""
        letters = self.letters
        keep = (letters.valid(parameters)[self.rows] > 0).all(axis=1)
        costs = self.costs + letters.masking(parameters)[self.rows].sum(axis=1)
        keep &= costs <= self.limit
        order = np.flatnonzero(keep)
        order = order[np.argsort(costs[order], kind="stable")]
        return Compositions(letters, self.rows[order], costs[order], self.limit)


@lru_cache(maxsize=128)
def compositions(size: int, most: int, reach: int = USUAL) -> Compositions:
    """All compositions on indices below `size` up to the greatest cost for which they are at most `most`; periods below
    `reach`."""
    nothing = np.zeros((1, LENGTH), np.int64)
    best = Compositions(alphabet(size, 0, reach), nothing, nothing[:, 0], 0)
    for limit in range(1, _CEILING + 1):
        found = _compositions(size, limit, most, reach)
        if found is None:
            break
        best = found
    return best


def _compositions(size: int, limit: int, most: int, reach: int) -> Compositions | None:
    """None where they are more than `most`."""
    letters = alphabet(size, limit, reach)
    if len(letters) > most + 1:
        return None
    single = np.zeros((len(letters), LENGTH), np.int64)
    single[:, 0] = np.arange(len(letters))
    level, costs = single[1:], letters.cost[1:]
    all_rows, all_costs = [single[:1], level], [letters.cost[:1], costs]
    total = len(level)
    for _ in range(LENGTH - 1):
        outer, inner, cost = _pairs(letters, level[:, 0], costs, limit)
        total += len(outer)
        if total > most:
            return None
        grown = np.zeros((len(outer), LENGTH), np.int64)
        grown[:, 0], grown[:, 1:] = outer, level[inner, : LENGTH - 1]
        level, costs = grown, cost
        all_rows.append(level)
        all_costs.append(cost)
    rows, cost = np.concatenate(all_rows), np.concatenate(all_costs)
    order = np.argsort(cost, kind="stable")
    return Compositions(letters, rows[order], cost[order], limit)


def _pairs(letters: Alphabet, heads: IntArray, costs: IntArray, limit: int) -> tuple[IntArray, IntArray, IntArray]:
    """(letter, composition, cost) of all letters before compositions with the given first letters that stay within the limit."""
    order = np.argsort(letters.cost[1:], kind="stable") + 1
    outer_cost = letters.cost[order]
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    # Apart from the sums on one digit, costs add up.
    counts = np.searchsorted(outer_cost, limit - costs, side="right")
    inner = np.repeat(np.arange(len(heads)), counts)
    outer = order[np.arange(len(inner)) - np.repeat(np.cumsum(counts) - counts, counts)]
    fuses = _fuses(letters, outer, heads[inner])
    found.append((outer[~fuses], inner[~fuses], (letters.cost[outer] + costs[inner])[~fuses]))
    for window in np.unique(letters.window[heads]) if len(heads) else ():
        bodies = np.flatnonzero((letters.window[heads] == window) & (letters.gives_sum[heads] > 0))
        fronts = np.flatnonzero((letters.window == window) & (letters.takes_sum > 0))
        if not len(bodies) or not len(fronts):
            continue
        fronts = fronts[np.argsort(letters.cost[fronts], kind="stable")]
        shared = int(letters.shared[fronts[0]])
        counts = np.searchsorted(letters.cost[fronts] - shared, limit - costs[bodies], side="right")
        inner = np.repeat(bodies, counts)
        outer = fronts[np.arange(len(inner)) - np.repeat(np.cumsum(counts) - counts, counts)]
        found.append((outer, inner, letters.cost[outer] + costs[inner] - shared))
    outer, inner, cost = (np.concatenate(part) for part in zip(*found, strict=True))
    keep = ~_redundant(letters, outer, heads[inner])
    return outer[keep], inner[keep], cost[keep]


def _fuses(letters: Alphabet, outer: IntArray, inner: IntArray) -> IntArray:
    same = letters.window[outer] == letters.window[inner]
    return same & (letters.takes_sum[outer] > 0) & (letters.gives_sum[inner] > 0)


def _redundant(letters: Alphabet, outer: IntArray, inner: IntArray) -> IntArray:
    """Flags of pairs for which one primitive, or the same two in the other order, do the same for no more."""
    same = letters.window[outer] == letters.window[inner]
    kinds = letters.kind[outer], letters.kind[inner]
    floors = (letters.period[outer] != NEVER) & (letters.period[inner] != NEVER)
    rotations = same & (kinds[0] == ROT) & (kinds[1] == ROT) & ~floors
    fans = same & (kinds[0] == FAN) & (kinds[1] == FAN) & (letters.takes_sum[outer] > 0) & (letters.takes_sum[inner] > 0)
    masks = same & (kinds[0] == XOR) & (kinds[1] == XOR) & (letters.period[outer] == NEVER) & (letters.period[inner] == NEVER)
    # Digits that do not overlap commute: the higher one is kept outside.
    apart = letters.unit[inner] % (letters.unit[outer] * letters.count[outer]) == 0
    return rotations | fans | masks | apart
