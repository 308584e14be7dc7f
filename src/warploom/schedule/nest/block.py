"""The threads of a block in the order of their warps: which run a statement, the value of an index in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.core.launch import MAX_BLOCK
from warploom.ir import by_warps
from warploom.machines import WARP_LANES as WARP
from warploom.schedule.nest.nodes import Affine, Guard, Kind, Loop, Nest
from warploom.schedule.nest.walk import hardware_sizes, loops

Ints = npt.NDArray[np.int64]
Masks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of one block, in the order of their warps."""

    at: tuple[Ints, ...]
    """Index of each thread, by hardware dimension."""
    warp: Ints
    index: Mapping[int, Ints]
    """Index of each thread by number of a thread loop."""

    @property
    def count(self) -> int:
        return len(self.warp)

    @property
    def warps(self) -> int:
        return -(-self.count // WARP)

    def running(self, around: Sequence[Loop], guards: Sequence[Guard] = ()) -> Masks:
        """Threads that run a statement in these loops; of the guards those over threads alone count."""
        mask = np.ones(self.count, np.bool_)
        for loop in around:
            if loop.kind is Kind.THREAD:
                mask &= self.index[loop.number] < loop.size
        for guard in guards:
            if all(number in self.index for number, _ in guard.index.terms):
                index = self.value(guard.index)
                mask &= (index >= 0) & (index < guard.bound)
        return mask

    def value(self, affine: Affine) -> Ints:
        """Value at index 0 of all loops that are no threads."""
        found = np.full(self.count, affine.constant, np.int64)
        for number, stride in affine.terms:
            if number in self.index:
                found += stride * self.index[number]
        return found

    def warps_of(self, mask: Masks) -> int:
        """Warps of which some thread is in the mask."""
        return len(np.unique(self.warp[mask]))

    def rows(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """[threads] -> [warps, WARP]; zeros where the last warp has no threads."""
        return by_warps(values[None], WARP, 0)


def digits_of(shape: Sequence[int], lanes: tuple[int, int] | None) -> tuple[tuple[int, int], ...]:
    """(hardware dimension, size) of each digit of a thread's number, the fastest first. Of several digits along a dimension the
    faster ones count less. shape: threads along each dimension, at least two where `lanes` says what lies in a warp."""
    if lanes is None:
        return tuple(enumerate(shape))
    down, across = lanes
    warp = (1, 2), (0, across), (1, down // 2)
    return *warp, (0, shape[0] // across), (1, shape[1] // down), *enumerate(shape[2:], 2)


def launch_digits(nest: Nest) -> tuple[tuple[tuple[int, int], ...], ...]:
    """By dimension x, y, z of a launch, the digits of a thread's number that it counts (hardware dimensions, sizes): one
    each where there are three at most; else z has all that are left, or x every one where these are more than z may have."""
    digits = digits_of(hardware_sizes(nest, Kind.THREAD), nest.lanes)
    launch = digits[:1], digits[1:2], digits[2:]
    return launch if math.prod(size for _, size in launch[2]) <= MAX_BLOCK[2] else (digits, (), ())


def threads_of(nest: Nest) -> Threads:
    shape = hardware_sizes(nest, Kind.THREAD)
    numbers = np.arange(math.prod(shape), dtype=np.int64)
    at = [np.zeros_like(numbers) for _ in shape]
    steps = [1] * len(shape)
    rest = numbers
    for dimension, size in digits_of(shape, nest.lanes):
        at[dimension] += rest % size * steps[dimension]
        steps[dimension] *= size
        rest = rest // size
    index: dict[int, Ints] = {}
    for loop in loops(nest.body):
        if loop.digit is not None:
            step = numbers // loop.digit.step
            index[loop.number] = step if loop.digit.is_last else step % loop.size
        elif loop.kind is Kind.THREAD:
            index[loop.number] = at[loop.hardware or 0]
    return Threads(tuple(at), numbers // WARP, index)
