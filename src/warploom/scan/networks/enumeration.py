"""All scan networks of a few columns: how many there are, how few operations they need, which ones keep to limits.

In place, the state is the first input of every cell (`low`), and a column whose low is not 0 has one legal source, low - 1. So a
step is a non-empty set of such columns, and networks of a given depth are paths to the state where all lows are 0. Paths are
counted by dynamic programming over states, never listed. Source: HotPar 2011, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.scan.networks.network import Dot, Network, Step

Codes = NDArray[np.int64]
MAX_COLUMNS = 15
"""A state is 4 bits per column in one signed word."""
_EXACT = 1 << 62


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that every step must keep to; None: no limit."""

    fan_out: int | None = None
    """Reads of one cell."""
    banks: int | None = None
    """No bank conflicts: active lanes are packed, `banks` of them access together, equal addresses count once."""


@dataclass(frozen=True, slots=True)
class Census:
    columns: int
    depth: int
    networks: int
    fewest: int | None
    """Operations of the smallest; None: there is none."""


def census(columns: int, depth: int, limits: Limits | None = None) -> Census:
    """Census of networks of exactly `depth` steps, each with at least one dot; time and memory grow with the states (at most
    columns!)."""
    if not 1 <= columns <= MAX_COLUMNS:
        raise ValueError(f"expected 1 to {MAX_COLUMNS} columns, got {columns}")
    states = np.array([sum(column << 4 * column for column in range(columns))], dtype=np.int64)
    counts: NDArray[Any] = np.ones(1, dtype=np.int64)
    sizes = np.zeros(1, dtype=np.int64)
    for left in reversed(range(depth)):
        rows = _expanded(states, columns, limits or Limits())
        if counts.dtype != object and int(counts.max()) > _EXACT >> columns:
            counts = counts.astype(object)  # beyond 64 bits
        codes, counts, sizes = rows.codes, counts[rows.origins], sizes[rows.origins] + rows.dots
        keep = codes == 0 if left == 0 else _one_step_away(codes, columns) if left == 1 else codes >= 0
        codes, counts, sizes = codes[keep], counts[keep], sizes[keep]
        order = np.argsort(codes, kind="stable")
        codes, counts, sizes = codes[order], counts[order], sizes[order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        if not len(starts):
            return Census(columns, depth, 0, None)
        states, counts, sizes = codes[starts], np.add.reduceat(counts, starts), np.minimum.reduceat(sizes, starts)
    return Census(columns, depth, int(counts.sum()), int(sizes.min()))


@dataclass(frozen=True, eq=False, slots=True)
class _Rows:
    """States after one step."""

    codes: Codes
    origins: NDArray[np.int64]
    """State from which each comes."""
    dots: NDArray[np.int64]


def _expanded(states: Codes, columns: int, limits: Limits) -> _Rows:
    """Every state after every legal step: columns join the step one by one, from the left."""
    origins = np.arange(len(states))
    codes = states.copy()
    dots, reads, wrote, read = (np.zeros(len(states), dtype=np.int64) for _ in range(4))
    for column in range(1, columns):
        low = (states[origins] >> 4 * column) & 15
        source = np.maximum(low - 1, 0)
        joins = low > 0
        if limits.fan_out is not None:
            joins &= (reads >> 4 * source) & 15 < min(limits.fan_out, 15)
        if limits.banks is not None:
            fresh = dots % limits.banks == 0
            wrote, read = np.where(fresh, 0, wrote), np.where(fresh, 0, read)
            in_bank = np.array([sum(1 << c for c in range(columns) if c % limits.banks == b) for b in range(limits.banks)])
            joins &= wrote & int(in_bank[column % limits.banks]) == 0
            joins &= read & in_bank[source % limits.banks] & ~(1 << source) == 0
        chosen = np.flatnonzero(joins)
        change = ((states[origins[chosen]] >> 4 * source[chosen]) & 15) - low[chosen]
        codes = np.concatenate([codes, codes[chosen] + (change << 4 * column)])
        origins = np.concatenate([origins, origins[chosen]])
        dots = np.concatenate([dots, dots[chosen] + 1])
        if limits.fan_out is not None:
            reads = np.concatenate([reads, reads[chosen] + (np.int64(1) << 4 * source[chosen])])
        else:
            reads = np.zeros(len(dots), dtype=np.int64)
        wrote = np.concatenate([wrote, wrote[chosen] | 1 << column])
        read = np.concatenate([read, read[chosen] | np.int64(1) << source[chosen]])
    moved = np.flatnonzero(dots)
    return _Rows(codes[moved], origins[moved], dots[moved])


def _one_step_away(codes: Codes, columns: int) -> NDArray[np.bool_]:
    """Whether every column that is not complete reads one that is (limits aside)."""
    good = codes >= 0
    for column in range(1, columns):
        low = (codes >> 4 * column) & 15
        good &= (low == 0) | ((codes >> 4 * np.maximum(low - 1, 0)) & 15 == 0)
    return good & (codes != 0)


def networks(columns: int, depth: int) -> Iterator[Network]:
    """Every one of them, for columns and depths where `census` says that they are few."""
    yield from (Network(columns, steps) for steps in _paths(tuple(range(columns)), depth))


def _paths(low: tuple[int, ...], depth: int) -> Iterator[tuple[Step, ...]]:
    if depth == 0:
        if not any(low):
            yield ()
        return
    active = [column for column, first in enumerate(low) if first]
    if depth == 1:
        if active and all(low[low[column] - 1] == 0 for column in active):
            yield (tuple(Dot(column, low[column] - 1) for column in active),)
        return
    for count in range(1, len(active) + 1):
        for chosen in combinations(active, count):
            after = list(low)
            for column in chosen:
                after[column] = low[low[column] - 1]
            step = tuple(Dot(column, low[column] - 1) for column in chosen)
            yield from ((step, *rest) for rest in _paths(tuple(after), depth - 1))
