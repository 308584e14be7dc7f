"""Renames the places of a free axis so that lanes already hold what they want, such as the axis that a product sums over.

A sum over k does not ask for the order of k: the operand may hold element p(k) where k stood, if the other operand does so, too.
The best p is a matching of the places of the axis with its elements, by how many elements would have to change lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from warploom.layout.distributed.held import Distributed, Ints, wrong
from warploom.layout.linear import applied
from warploom.layout.maps import shifted_terms

MOST = 512
"""Elements of a free axis; the matching takes their number to the third power."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """A renaming of one axis: where the destination had k, it has `to[k]`."""

    axis: str
    to: tuple[int, ...]
    run: int
    """How many neighbours stay neighbours, aligned: so wide may the other operand be loaded."""

    @property
    def index(self) -> str | None:
        """`to[i]` as an expression in i, for the other operand's addresses; None where it is not linear over the bits of i."""
        table = np.asarray(self.to, dtype=np.int64)
        bits = len(table).bit_length() - 1
        columns = [(bit, self.to[1 << bit] ^ self.to[0]) for bit in range(bits)]
        places = np.arange(len(table), dtype=np.int64)
        if len(table) != 1 << bits or (applied(columns, places) ^ self.to[0] != table).any():
            return None
        constant = [str(self.to[0])] if self.to[0] or not bits else []
        return " ^ ".join([*(term.text for term in shifted_terms(columns, "i", bits)), *constant])


def renamed(src: Distributed, dst: Distributed, axis: str) -> tuple[Distributed, Renaming]:
    """The destination with that axis renamed, and the renaming; UserError (REGISTERS) for an axis that neither has."""
    number = _number(dst, axis)
    if src.shape != dst.shape:
        raise wrong(f"expected {src.name} to hold {_extents(dst)}, so that its axis can be renamed", _extents(src))
    inner = int(np.prod(dst.shape[number + 1 :], dtype=np.int64))
    extent = dst.shape[number]
    if extent > MOST:
        raise wrong(f"expected a free axis of at most {MOST} elements", str(extent))
    where_from, where_to = _places(src, inner, extent), _places(dst, inner, extent)
    to = _matched(_costs(where_from, where_to))
    table = np.asarray(to, dtype=np.int64)
    elements = dst.elements
    place = elements // inner % extent
    moved = np.where(elements < 0, -1, elements + (table[place] - place) * inner)
    run = 1
    while extent % (2 * run) == 0 and _keeps(table, 2 * run):
        run *= 2
    return replace(dst, elements=moved), Renaming(dst.axes[number], tuple(to), run)


def _extents(given: Distributed) -> str:
    return " x ".join(map(str, given.shape))


def _number(dst: Distributed, axis: str) -> int:
    if axis in dst.axes:
        return dst.axes.index(axis)
    if axis.isdecimal() and int(axis) < len(dst.axes):
        return int(axis)
    raise wrong(f"expected an axis of {dst.name}: {', '.join(dst.axes)}", repr(axis))


def _keeps(table: Ints, run: int) -> bool:
    rows = table.reshape(-1, run)
    return bool((rows[:, 0] % run == 0).all() and (rows == rows[:, :1] + np.arange(run)).all())


def _places(given: Distributed, inner: int, extent: int) -> dict[tuple[int, int], tuple[int, int, int]]:
    """By (place on the axis, rest of the coordinates): thread, register, slot."""
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    lanes = given.lanes
    for warp, lane, register, slot in np.ndindex(*given.elements.shape):
        element = int(given.elements[warp, lane, register, slot])
        if element >= 0:
            rest = element // (inner * extent) * inner + element % inner
            found.setdefault((element // inner % extent, rest), (warp * lanes + lane, register, slot))
    return found


def _costs(
    where_from: dict[tuple[int, int], tuple[int, int, int]], where_to: dict[tuple[int, int], tuple[int, int, int]]
) -> Ints:
    """[place, element]: how many elements change lanes, then registers and slots."""
    extent = 1 + max(k for k, _ in where_to)
    sources: dict[int, list[tuple[int, tuple[int, int, int]]]] = {}
    for (k, rest), place in where_from.items():
        sources.setdefault(rest, []).append((k, place))
    costs = np.zeros((extent, 1 + max(k for k, _ in where_from)), dtype=np.int64)
    for (k, rest), (thread, register, slot) in where_to.items():
        for other, (from_thread, from_register, from_slot) in sources.get(rest, []):
            costs[k, other] += (1 << 20) * (thread != from_thread) + 2 * (register != from_register) + (slot != from_slot)
    return costs


def _matched(costs: Ints) -> list[int]:
    """By row a column of its own with the least sum: the Hungarian method, by shortest augmenting paths."""
    size = len(costs)
    rows, columns = np.zeros(size + 1, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    owner = np.zeros(size + 1, dtype=np.int64)
    for row in range(1, size + 1):
        owner[0], at = row, 0
        least = np.full(size + 1, np.iinfo(np.int64).max)
        before = np.zeros(size + 1, dtype=np.int64)
        used = np.zeros(size + 1, dtype=np.bool_)
        while owner[at]:
            used[at] = True
            current = int(owner[at])
            reduced = costs[current - 1] - rows[current] - columns[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better] = reduced[better]
            before[1:][better] = at
            free = np.flatnonzero(~used[1:]) + 1
            at = int(free[np.argmin(least[free])])
            change = least[at]
            rows[owner[used]] += change
            columns[used] -= change
            least[~used] -= change
        while at:
            owner[at] = owner[before[at]]
            at = int(before[at])
    found = [0] * size
    for column in range(1, size + 1):
        found[int(owner[column]) - 1] = column - 1
    return found
