"""Habits of kernels that sum along the rows of what they store (softmax, norms), or twice along the rows of what they read (the
logarithm of a sum of exponentials): the threads of a row share it out in the same way wherever it is loaded, summed or stored, so
that it stays in their registers.

Threads lie along the axis along which memory is read. Where that is the row, a block has several short ones, or a thread several
long ones, of which it loads once what belongs to a column. Where it is another axis (columns are summed and stored), a block has
as many columns as a warp has lanes, and its other threads share out the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from warploom.schedule.backbone import Access, Operator, followers
from warploom.schedule.choices.objects import Habit, Objects, mapped_alike, power_above

SHARES_OF_ROWS = ((256, 4), (64, 1))
"""Threads of a row, rows of a thread."""
_KEPT = 64
"""Elements of its rows that a thread keeps at most, where a block has threads enough."""
_MOST_THREADS = 1024
_NEXT = 32
"""Threads along results that lie next to each other, where these are not summed."""


class Rows:
    """Habits of one way to begin; none where nothing that is summed over is stored, nor met by a second sum."""

    def __init__(self, objects: Objects, threads: int, rows: int) -> None:
        self.objects = objects
        self.loop = {x.statement: x for x in objects.loops}
        self.levels = objects.levels
        self.summed = objects.summed
        self.own = [o for o in objects.operations if o.temporary is None]
        stores = [o for o in self.own if o.operator is Operator.STORE]
        self.stored = {self.loop[s].axis for o in stores for s in o.loops}
        accesses = [objects.backbone.instructions[o.instruction].access for o in stores]
        after = followers(objects.backbone.instructions)
        waiting = any(other.instruction in after[one.instruction] for one, other in permutations(objects.sums, 2))
        self.keeps = bool(self.summed & self.stored) or waiting
        """Whether elements are used again when a sum of them is known."""
        if not self.summed & self.stored:
            self.stored |= self._summed_twice()
            loads = (objects.backbone.instructions[o.instruction] for o in self.own if o.operator is Operator.LOAD)
            accesses = [load.access for load in loads if self.summed & set(load.axes)]
        self.fastest = self._fastest([access for access in accesses if access is not None])
        self.threads = threads
        """Threads of a block, or of one row."""
        self.lanes = dict.fromkeys(range(len(objects.backbone.axes)), 1)
        if self.fastest is not None and self.fastest in self.summed:
            self.lanes[self.fastest] = objects.lanes(self.fastest)
        self.shared_out = self._shared_out()
        own = max((-(-objects.backbone.axes[a].size // n) for a, n in self.shared_out.items() if a in self.summed), default=1)
        self.rows = max(1, min(rows, _KEPT // own))
        """Rows of one thread, which loads once what belongs to a column."""

    def _fastest(self, accesses: Sequence[Access]) -> int | None:
        """The axis along which the largest of the arrays lies in memory: beside rows a number for each of them may be stored."""
        along = [(a, access) for access in accesses for a in self.stored if self.objects.stride(access, a) == 1]
        regions = self.objects.backbone.regions
        return max(along, key=lambda found: regions[found[1].region].elements, default=(None, None))[0]

    def _summed_twice(self) -> set[int]:
        """Axes that two sums run along, whether one waits for the other or both are made of the same elements."""
        every = [{self.loop[s].axis for s in o.loops if self.loop[s].is_reduction} for o in self.objects.sums]
        return set[int]().union(*(one & other for one, other in combinations(every, 2)))

    def _shared_out(self) -> dict[int, int]:
        """By axis, threads that share it out: one of the summed ones that are stored, and the fastest or one of whole rows."""
        summed = self.summed & self.stored
        if not summed or self.fastest is None:
            return {}
        sizes = self.objects.backbone.axes
        along = max(summed, key=lambda a: (a == self.fastest, sizes[a].size))
        if along != self.fastest:
            return {self.fastest: _NEXT, along: self.threads // 8} if self.levels[self.fastest] > 2 else {}
        length = sizes[along].size
        threads = max(self.threads, min(_MOST_THREADS, power_above(-(-length // _KEPT))))
        count = min(threads, power_above(-(-length // self.lanes[along])))
        row = next((a for a in sorted(self.stored - self.summed, reverse=True) if self.levels[a] > 2), None)
        rest = self.threads // count
        return {along: count} if rest < 2 or row is None else {along: count, row: rest}

    def habits(self) -> Iterator[Habit]:
        if not self.shared_out:
            return
        yield from self._sizes()
        of_extent: dict[int, list[int]] = {}
        for operation in self.own:
            access = self.objects.backbone.instructions[operation.instruction].access
            threads: dict[int, int] = {}
            for statement in operation.loops:
                kind = self._kind(statement, is_access=access is not None)
                yield "dim_kind", (statement,), kind
                if kind == "THREAD":
                    of_extent.setdefault(self.loop[statement].extent, []).append(statement)
                    threads[self.loop[statement].axis] = statement
            inner, outer = (threads.get(axis) for axis in (*self.shared_out, -1)[:2])
            if inner is not None and outer is not None:
                yield "thread_mapping", (outer, inner), "MAPPED_OUT"
        for statements in of_extent.values():
            yield from mapped_alike(statements)

    def _kind(self, statement: int, *, is_access: bool) -> str:
        loop = self.loop[statement]
        if loop.level == 0:
            return "UNROLL" if loop.axis in self.summed else "BLOCK"
        if loop.axis in self.shared_out and loop.level == self._threads_at(loop.axis):
            return "THREAD"
        return "VECTOR" if is_access and loop.is_innermost and self.lanes[loop.axis] > 1 else "UNROLL"

    def _threads_at(self, axis: int) -> int:
        return max(1, self.levels[axis] - 2)

    def _sizes(self) -> Iterator[Habit]:
        for number, extent in enumerate(self.objects.backbone.extents):
            if not extent.level:
                continue
            is_last = extent.level == self.levels[extent.axis] - 1
            if extent.axis in self.shared_out and extent.level == self._threads_at(extent.axis):
                yield "size", (number,), str(self.shared_out[extent.axis])
            elif (
                is_last and extent.axis not in self.summed and extent.axis != self.fastest and extent.axis not in self.shared_out
            ):
                yield "size", (number,), str(self.rows)
            else:
                yield "size", (number,), str(self.lanes[extent.axis] if is_last else 1)
