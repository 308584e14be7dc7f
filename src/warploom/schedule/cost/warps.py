"""Which threads of a block run a statement, and the lines and banks that their warps touch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warploom.schedule.nest import Affine, Guard, Kind, Loop, Memory, Nest, hardware_sizes, loops

Ints = npt.NDArray[np.int64]
Masks = npt.NDArray[np.bool_]

WARP = 32
BANKS = 32
BANK_BYTES = 4
SECTOR_BYTES = 32
LINE_BYTES = 128


@dataclass(frozen=True, slots=True)
class Threads:
    """Of one block, in the order of their warps."""

    at: tuple[Ints, ...]
    """By hardware dimension, the index of each thread."""
    warp: Ints
    hardware: Mapping[int, int]
    """By number of a thread loop."""

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
            if loop.kind is Kind.THREAD and loop.hardware is not None:
                mask &= self.at[loop.hardware] < loop.size
        for guard in guards:
            if all(number in self.hardware for number, _ in guard.index.terms):
                index = self.value(guard.index)
                mask &= (index >= 0) & (index < guard.bound)
        return mask

    def value(self, affine: Affine) -> Ints:
        """At index 0 of all loops that are no threads."""
        found = np.full(self.count, affine.constant, np.int64)
        for number, stride in affine.terms:
            if number in self.hardware:
                found += stride * self.at[self.hardware[number]]
        return found

    def warps_of(self, mask: Masks) -> int:
        """Warps of which some thread is in the mask."""
        return len(np.unique(self.warp[mask]))


def threads_of(nest: Nest) -> Threads:
    shape = hardware_sizes(nest, Kind.THREAD)
    numbers = np.arange(math.prod(shape), dtype=np.int64)
    at: list[Ints] = []
    rest = numbers
    for size in shape:
        at.append(rest % size)
        rest = rest // size
    hardware = {x.number: x.hardware for x in loops(nest.body) if x.kind is Kind.THREAD and x.hardware is not None}
    return Threads(tuple(at), numbers // WARP, hardware)


def lines_touched(threads: Threads, mask: Masks, memory: Memory, element_bytes: int, lanes: int, line_bytes: int) -> int:
    """Lines that the warps of a block touch in one execution, each warp for itself; `lanes` neighbours per thread."""
    first = threads.value(memory.offset)[mask] * element_bytes
    warp = threads.warp[mask]
    if not len(first):
        return 0
    last = first + element_bytes * lanes - 1
    low, high = first // line_bytes, last // line_bytes
    span = int((high - low).max()) + 1
    keys = np.concatenate([np.minimum(low + n, high) for n in range(span)])
    owner = np.concatenate([warp] * span)
    return len(np.unique(owner * (1 << 40) + keys))


def wavefronts(threads: Threads, mask: Masks, memory: Memory, element_bytes: int, lanes: int) -> int:
    """Of the warps of a block in one execution of an access to shared memory: lanes of wide accesses go in groups that could
    together reach all banks once, words that several lanes want are read once."""
    first = threads.value(memory.offset)
    if memory.swizzle is not None:
        first = memory.swizzle.of(first)
    width = element_bytes * lanes
    groups = max(1, width // BANK_BYTES)
    numbers = np.arange(threads.count, dtype=np.int64)
    group = numbers // max(1, WARP // groups)
    place = (first * element_bytes)[mask]
    group = group[mask]
    if not len(place):
        return 0
    words = np.concatenate([place // BANK_BYTES + n for n in range(groups)])
    found = np.unique(np.stack([np.concatenate([group] * groups), words]), axis=1)
    pairs, counted = np.unique(found[0] * BANKS + found[1] % BANKS, return_counts=True)
    most: dict[int, int] = {}
    for pair, count in zip((pairs // BANKS).tolist(), counted.tolist(), strict=True):
        most[pair] = max(most.get(pair, 0), count)
    return sum(most.values())
