"""Habits of stencils and convolutions: threads lie next to each other along the fastest axis of the results, each has some of
the axes before it in registers, and a block copies what it reads with its edges to shared memory.

A way may slide, too: a block goes along the slowest axis whose neighbours read the same, tile after tile, and its box with it,
so that of that axis no edge is read twice but at the block's own ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warploom.schedule.backbone import Operator
from warploom.schedule.choices.objects import Habit, Objects, mapped_alike
from warploom.schedule.choices.windows import axes_read, neighbours, sliding_with, stored_axes, written_out


@dataclass(frozen=True, slots=True)
class Way:
    threads: int
    """Threads of a block along the fastest axis."""
    rows: int
    """Results of a thread along the axes before it whose neighbours read the same."""
    rounds: int = 1
    """Tiles that a block goes along the slowest of these axes; 1: its box does not slide."""
    across: int = 4
    """Threads along the second axis, where a box slides along a third."""
    second: int = 4
    """Results of a thread along the second axis where there is a third, which has the others."""
    is_deep: bool | None = None
    """Only for kernels with a third axis; False: only for those without."""


WAYS = (
    Way(128, 16), Way(64, 8, is_deep=False), Way(128, 16, 8),
    Way(128, 32, 8, is_deep=True), Way(128, 32, 8, across=2, is_deep=True), Way(64, 32, 8, across=2, second=8, is_deep=True),
)  # fmt: skip


class Windows:
    """Habits of one way to begin; none for kernels of several channels, whose results use weights again."""

    def __init__(self, objects: Objects, windows: frozenset[int], way: Way, max_unroll: int) -> None:
        self.objects, self.windows, self.way, self.max_unroll = objects, windows, way, max_unroll
        backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.levels = objects.levels
        self.reduced = objects.summed
        stored = stored_axes(backbone)
        self.fastest = stored[0] if stored else None
        near = neighbours(backbone, windows)
        self.along = [a for a in stored[1:] if a in near and self.levels[a] > 1]
        """Axes before the fastest whose neighbours read the same, the slowest last."""
        self.slid = self.along[-1] if self.along and way.rounds > 1 else None
        self.across = self.along[0] if self.slid is not None and len(self.along) > 1 else None
        read = axes_read(backbone, windows)
        self.has_channels = any(a not in near and self.levels[a] > 1 and any(a not in axes for axes in read) for a in stored[1:])
        """Some input does not depend on an axis of the results: it is used again along it."""
        self.results = self._results()
        self.unrolled = self._unrolled()

    def _results(self) -> dict[int, int]:
        """By axis, results of a thread."""
        if len(self.along) < 2:
            return dict.fromkeys(self.along, self.way.rows)
        rows, second = self.way.rows, self.way.second
        if self.slid is not None:
            return {self.along[0]: second, self.slid: max(1, rows // second // 2)}
        return {self.along[0]: second, self.along[1]: max(1, rows // second)}

    def _unrolled(self) -> set[int]:
        """Summed axes without tiles that are written out: as many as there may be beside the results of a thread, those first
        along which the results of a thread read the same."""
        room = self.max_unroll
        for count in self.results.values():
            room //= count
        sizes = {e.axis: max(e.sizes) for e in self.objects.backbone.extents}
        sliding = sliding_with(self.objects.backbone, self.windows, self.results)
        axes = sorted((a for a in self.reduced if self.levels[a] == 1), key=lambda a: (a not in sliding, sizes[a], a))
        return written_out([(a, sizes[a]) for a in axes], room)

    def habits(self) -> Iterator[Habit]:
        is_other = self.way.is_deep is not None and self.way.is_deep != (len(self.along) > 1)
        if self.has_channels or is_other or (self.way.rounds > 1 and self.slid is None):
            return
        for number, extent in enumerate(self.objects.backbone.extents):
            if extent.level and self.levels[extent.axis] > 1:
                yield "size", (number,), str(self._size(extent.axis, extent.level))
        of_extent: dict[int, list[int]] = {}
        for operation in self.objects.operations:
            if operation.temporary is not None:
                continue
            for statement in operation.loops:
                kind = self._kind(statement)
                yield "dim_kind", (statement,), kind
                if kind == "THREAD":
                    of_extent.setdefault(self.loop[statement].extent, []).append(statement)
        for statements in of_extent.values():
            yield from mapped_alike(statements)
        for region in sorted(self.windows):
            yield "mem_space", (region,), "SHARED"
        for operation in self.objects.operations:
            if operation.operator is Operator.LOAD and operation.temporary is None:
                yield "cache", (operation.statement,), "ALL"
        yield from self._orders()

    def _orders(self) -> Iterator[Habit]:
        """One nest: a loop that a box slides along lies around the threads, those of a filter lie inside."""
        for pair in self.objects.pairs:
            if not pair.is_reserved:
                yield "order", (pair.source, pair.target), "MERGED"
        for operation in self.objects.operations:
            if operation.temporary is not None:
                continue
            kinds = {s: self._kind(s) for s in operation.loops}
            for thread in (s for s, kind in kinds.items() if kind == "THREAD"):
                for loop in (s for s, kind in kinds.items() if kind == "LOOP"):
                    axis = self.loop[loop].axis
                    if axis == self.slid:
                        yield "order", (loop, thread), "OUTER"
                    elif self.levels[axis] == 1:
                        yield "order", (loop, thread), "INNER"

    def _size(self, axis: int, level: int) -> int:
        if level == self._of_registers(axis):
            return self.results.get(axis, 1)
        if level != self._widest(axis):
            return 1
        wanted = {self.fastest: self.way.threads, self.slid: self._rounds(), self.across: self.way.across}
        return wanted.get(axis, 1)

    def _rounds(self) -> int:
        """More of them where a thread has few results along the axis."""
        return self.way.rounds if self.across is None else 2 * self.way.rounds

    def _widest(self, axis: int) -> int:
        """The level that threads share out."""
        return max((e for e in self.objects.backbone.extents if e.axis == axis and e.level), key=lambda e: max(e.sizes)).level

    def _of_registers(self, axis: int) -> int:
        levels = [e.level for e in self.objects.backbone.extents if e.axis == axis]
        return max(n for n in levels if n != self._widest(axis))

    def _kind(self, statement: int) -> str:
        loop = self.loop[statement]
        if loop.axis in self.reduced:
            is_loop = loop.axis not in self.unrolled if self.levels[loop.axis] == 1 else loop.level == 0
            return "LOOP" if is_loop else "UNROLL"
        if loop.level == 0:
            return "BLOCK"
        if loop.level != self._widest(loop.axis):
            return "UNROLL"
        if loop.axis == self.slid:
            return "LOOP"
        return "THREAD" if loop.axis in (self.fastest, self.across) else "UNROLL"
