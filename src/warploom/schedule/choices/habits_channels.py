"""Habits of convolutions of many channels: a thread has results of some channels and of some places next to each other in
registers, and a block goes along the channels that are summed over, slice after slice, with boxes of the input and of the weights
in shared memory.

    for slice:                                      a block, results [channels, rows, columns]
        box of the input [slice, rows + edge, columns + edge], box of the weights [slice, filter, channels]
        for channel of the slice:
            for each place of the filter: totals [4 channels, places of a thread] += weights, a vector of 4, * places

So a slice of the input serves all channels of the block and all places of the filter, and one of the weights all its places.

Source: direct convolution in tiles of registers, as Georganas et al., Anatomy of High-Performance Deep Learning Convolutions on
SIMD Architectures (2018), section II, block it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from warploom.schedule.backbone import Operator
from warploom.schedule.choices.objects import Habit, Objects, Operation, mapped_alike
from warploom.schedule.choices.windows import axes_read, neighbours, stored_axes, written_out


@dataclass(frozen=True, slots=True)
class ChannelWay:
    columns: int
    """Threads along the fastest axis of the results."""
    rows: int
    """Threads along the axis before it."""
    channels: int
    """Threads along the channels of the results."""
    results: int
    """Rows of results that a thread has."""
    slice: int
    """Channels that are summed over in one round."""


CHANNEL_WAYS = (
    ChannelWay(8, 2, 8, 4, 8), ChannelWay(8, 2, 8, 8, 8), ChannelWay(8, 4, 4, 4, 8), ChannelWay(16, 2, 8, 8, 8),
)  # fmt: skip
_VECTOR = 4
"""Channels of results that a thread has: a vector of weights."""


class Channels:
    """Habits of one way to begin; none where no axis of the results has inputs that do not depend on it."""

    def __init__(self, objects: Objects, windows: frozenset[int], way: ChannelWay, max_unroll: int) -> None:
        self.objects, self.windows, self.way, self.max_unroll = objects, windows, way, max_unroll
        backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.levels = objects.levels
        self.reduced = objects.summed
        stored = stored_axes(backbone)
        near, read = neighbours(backbone, windows), axes_read(backbone, windows)
        tiled = [a for a in stored if self.levels[a] > 1]
        self.channels = [a for a in tiled if a not in near and any(a not in axes for axes in read)]
        self.places = [a for a in tiled if a in near]
        """Axes whose neighbours read the same, the fastest first."""
        self.own = {self.loop[s].extent: s for s in objects.sums[0].loops} if objects.sums else {}

    @property
    def applies(self) -> bool:
        return len(self.objects.sums) == 1 and len(self.channels) == 1 and len(self.places) > 0

    def habits(self) -> Iterator[Habit]:
        if not self.applies:
            return
        for number, extent in enumerate(self.objects.backbone.extents):
            if extent.level:
                yield "size", (number,), str(self._size(extent.axis, extent.level))
        operations = [o for o in self.objects.operations if o.temporary is None]
        of_extent: dict[int, list[int]] = {}
        for operation in operations:
            for statement in operation.loops:
                kind = self._kind(statement)
                yield "dim_kind", (statement,), kind
                if kind == "THREAD":
                    of_extent.setdefault(self.loop[statement].extent, []).append(statement)
        for statements in of_extent.values():
            yield from mapped_alike(statements)
        levels = {self.loop[statements[0]].axis: statements[0] for statements in of_extent.values()}
        for inner, outer in pairwise([levels[a] for a in (*self.places, *self.channels) if a in levels]):
            yield "thread_mapping", (outer, inner), "MAPPED_OUT"
        for region in sorted(self.windows):
            yield "mem_space", (region,), "SHARED"
        for operation in operations:
            if operation.operator is Operator.LOAD:
                yield "cache", (operation.statement,), "ALL"
        yield from self._orders(operations)

    def _orders(self, operations: list[Operation]) -> Iterator[Habit]:
        """Slices lie around the threads, what is in one inside of them; a load has registers of its own, so that it may be one of
        vectors."""
        total = self.objects.sums[0]
        kinds = {s: self._kind(s) for s in total.loops}
        for operation in operations:
            if operation is not total:
                for statement in operation.loops:
                    own = self.own.get(self.loop[statement].extent)
                    if own is None:
                        continue
                    is_load = operation.operator is Operator.LOAD
                    if is_load and kinds[own] == "UNROLL":
                        yield "order", (statement, own), "BEFORE"
                    elif kinds[own] == "BLOCK" or (is_load and kinds[own] != "THREAD"):
                        yield "order", (statement, own), "MERGED"
        threads = [s for s, kind in kinds.items() if kind == "THREAD"]
        for statement, kind in kinds.items():
            if kind == "LOOP":
                is_slice = self.levels[self.loop[statement].axis] > 1 and self.loop[statement].level == 0
                for thread in threads:
                    yield "order", (statement, thread), "OUTER" if is_slice else "INNER"

    def _size(self, axis: int, level: int) -> int:
        way = self.way
        if axis in self.reduced:
            return way.slice if level == 1 else 1
        if level == self._widest(axis):
            threads = dict(zip(self.places, (way.columns, way.rows), strict=False))
            return threads.get(axis, way.channels if axis in self.channels else 1)
        if level != max(e.level for e in self.objects.backbone.extents if e.axis == axis):
            return 1
        if axis in self.channels:
            return _VECTOR
        return way.results if self.places.index(axis) == min(1, len(self.places) - 1) else 1

    def _widest(self, axis: int) -> int:
        """The level that threads share out."""
        return max((e for e in self.objects.backbone.extents if e.axis == axis and e.level), key=lambda e: max(e.sizes)).level

    def _kind(self, statement: int) -> str:
        loop = self.loop[statement]
        if loop.axis in self.reduced:
            if self.levels[loop.axis] > 1:
                return "LOOP" if loop.level < 2 else "UNROLL"
            return "UNROLL" if loop.axis in self._unrolled() else "LOOP"
        if loop.level == 0:
            return "BLOCK"
        return "THREAD" if loop.level == self._widest(loop.axis) and loop.axis in (*self.places[:2], *self.channels) else "UNROLL"

    def _unrolled(self) -> set[int]:
        """Summed axes without tiles, as many as may be written out beside the results of a thread."""
        axes = sorted(a for a in self.reduced if self.levels[a] == 1)
        sizes = [(a, self.objects.backbone.axes[a].size) for a in axes]
        return written_out(sizes, self.max_unroll // (_VECTOR * self.way.results))
