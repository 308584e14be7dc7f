"""Conditions on each step's function that hold whatever the other steps do: the test that leaves few of the candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, assert_never

import numpy as np

from warploom.ir.swizzle import BoolArray, IntArray
from warploom.synth.transposes.problem import Transpose

_FIRST, _CHUNK = 1 << 10, 1 << 15


class Source(Protocol):
    """Functions by number, cheapest first."""

    @property
    def costs(self) -> IntArray: ...

    def image(self, which: IntArray, index: IntArray, parameter: IntArray) -> IntArray: ...


@dataclass(frozen=True, slots=True)
class Demand:
    """At the points of each block, a function must have values with different keys."""

    index: IntArray
    """[blocks, points]"""
    parameter: IntArray
    keys: IntArray
    """[blocks, points, values], below 128; negative where the value is of no use."""


@dataclass(frozen=True, slots=True)
class Supply:
    """In each block, a function must have the given values, in any order."""

    index: IntArray
    """[blocks, points]"""
    parameter: IntArray
    values: IntArray
    """[blocks, points], sorted."""


Demands = tuple[Demand | Supply, ...]


def demands(problem: Transpose) -> tuple[Demands, Demands, Demands]:
    """Demands on steps 1, 2 and 3; for 1 and 3 they are also sufficient to place every element."""
    outer, inner = problem.outer, problem.inner
    index, at = np.meshgrid(np.arange(outer), np.arange(inner), indexing="ij")
    starts = problem.element_at_start
    same_outer = np.broadcast_to(np.arange(outer), (inner, outer, outer))
    # Step 1: the elements of one middle position go to different inner positions, and each lane keeps all of its elements.
    target = np.broadcast_to(problem.ends[1][starts].T, (outer, inner, outer))
    first = (Demand(index, at, target), Demand(index.T, at.T, same_outer))
    # Step 2: each middle position is permuted, and a lane takes elements only from where it has some, and as many.
    source = np.full((inner, inner), -1)
    source[problem.ends[1], problem.starts[1]] = problem.starts[1]
    values = np.sort(problem.starts[1][problem.element_at_end], axis=0).T
    second = (Demand(at, index, np.broadcast_to(source, (outer, inner, inner))), Supply(at.T, index.T, values))
    # Step 3: elements that start in one lane, and those that end in one, are at different middle positions.
    outer_end, inner_end = problem.ends[0][starts], problem.ends[1][starts]
    third = (Demand(outer_end.T, inner_end.T, same_outer), Demand(index.T, at.T, same_outer))
    return first, second, third


def fulfilling(source: Source, demands: Demands) -> Iterator[int]:
    """Numbers of the functions that fulfil all demands, cheapest first, found as they are asked for."""
    start, width, total = 0, _FIRST, len(source.costs)
    while start < total:
        left = np.arange(start, min(start + width, total))
        start, width = start + width, min(4 * width, _CHUNK)
        # A few points show most to be hopeless, whole blocks almost all.
        for blocks, points in ((1, 2), (3, 4), (2, 16), (2, 64)):
            for demand in demands:
                left = _sampled(source, left, demand, blocks, points)
        for part in np.array_split(left, len(left) // 32 + 1):
            for demand in demands:
                part = _sampled(source, part, demand, *demand.index.shape)
            yield from (int(number) for number in part)


def _sampled(source: Source, which: IntArray, demand: Demand | Supply, blocks: int, points: int) -> IntArray:
    """Candidates that fulfil it at so many of its blocks and points of each, evenly spread."""
    if not len(which):
        return which
    rows, columns = _spread(demand.index.shape[0], blocks), _spread(demand.index.shape[1], points)
    index, parameter = demand.index[rows[:, None], columns], demand.parameter[rows[:, None], columns]
    if isinstance(demand, Supply) and len(columns) < demand.index.shape[1]:
        return which  # a part of a block says nothing
    values = source.image(which, index.reshape(-1), parameter.reshape(-1)).reshape(len(which), *index.shape)
    match demand:
        case Supply():
            return which[np.all(np.sort(values, axis=2) == demand.values[rows], axis=(1, 2))]
        case Demand():
            keys = demand.keys[rows[:, None], columns]
            found = keys[np.arange(len(rows))[:, None], np.arange(len(columns)), values]
            return which[_differ(found).all(axis=1) & (found >= 0).all(axis=(1, 2))]
        case _:
            assert_never(demand)


def _differ(found: IntArray) -> BoolArray:
    """[which, blocks] whether all points have different values."""
    if found.max(initial=0) >= _BITS:
        return np.logical_and.reduce(np.diff(np.sort(found, axis=2), axis=2) > 0, axis=2)
    seen = np.bitwise_or.reduce(np.uint64(1) << np.maximum(found, 0).astype(np.uint64), axis=2)
    return np.bitwise_count(seen) == found.shape[2]


_BITS = 64


def _spread(total: int, count: int) -> IntArray:
    """Up to `count` numbers below `total`, from the first to the last."""
    spread: IntArray = np.linspace(0, total - 1, min(count, total)).astype(np.int64)
    return spread
