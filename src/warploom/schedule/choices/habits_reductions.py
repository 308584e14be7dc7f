"""Habits of kernels that only read and reduce: the threads of a block lie next to each other along the axis along which memory is
read, and load vectors; where that is summed over, each lane of a vector has a total of its own.

Blocks share out the results, one each. Where neighbours in memory are results (sums of columns), a block has some of these next
to each other, and its other threads share the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from warploom.machines import WIDEST_BYTES
from warploom.schedule.backbone import Operator
from warploom.schedule.choices.objects import Habit, Objects, Operation, mapped_alike, power_above

WAYS = (256, 128)
"""Threads of a block."""
_NEXT = 32
"""Threads along results that lie next to each other."""
_LITTLE = 512
"""A load of which each element is used again reads as little beside the sum: a vector beside its matrix."""
_AT_ONCE = 4
"""Rows of which a thread loads its part before it adds the first of them, where results lie next to each other, or are made of
the same vector."""


@dataclass(slots=True)
class _Axis:
    """Loops over an axis; as it stands, an axis that one thread goes along."""

    is_summed: bool
    threads: int = 1
    """Threads that share it out."""
    lanes: int = 1
    """Elements of a vector, or in registers."""


class Reductions:
    """Habits of one way to begin; none where results are stored along an axis that is summed over, sums are short, or what is
    summed is used again by other blocks."""

    def __init__(self, objects: Objects, threads: int) -> None:
        self.objects, self.threads = objects, threads
        self.backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.summed = objects.summed
        self.own = [o for o in objects.operations if o.temporary is None]
        self.levels = objects.levels
        self.axes = {axis: _Axis(axis in self.summed) for axis in range(len(self.backbone.axes))}
        for total in objects.sums:
            self._share_out(total)
        for total in objects.sums:
            self._use_again(total)
        shared_out = [axis for axis in self.axes.values() if axis.is_summed and axis.threads > 1]
        if len(shared_out) == len(objects.sums) > 1:  # each of its own: the threads are the same
            common = max(_NEXT, min(axis.threads for axis in shared_out))
            for axis in shared_out:
                axis.threads = common

    def _share_out(self, total: Operation) -> None:
        """The axis of a sum along which its largest array is read, if that is one of results with some of what is summed."""
        summed = {self.loop[s].axis for s in total.loops if self.loop[s].is_reduction}
        found: list[tuple[int, int, int, int]] = []
        for load in (o for o in self.own if o.operator is Operator.LOAD):
            instruction = self.backbone.instructions[load.instruction]
            assert instruction.access is not None
            axes = {self.loop[s].axis for s in load.loops}
            if axes & summed:
                elements = self.backbone.regions[instruction.access.region].elements
                along = [a for a in axes if self.objects.stride(instruction.access, a) == 1 and self.levels[a] > 1]
                found += [(elements, self._size(a), a, instruction.dtype.size_bytes) for a in along]
        fast, along = None, 1
        if found:
            *_, fast, element = max(found)
            lanes = min(WIDEST_BYTES // element, self.objects.lanes(fast))
            most = self.threads if fast in summed else _NEXT
            along = min(most, power_above(-(-self._size(fast) // lanes)))
            self.axes[fast].threads, self.axes[fast].lanes = along, lanes
        others = summed - {fast}
        if others and along < self.threads:
            longest = max(others, key=lambda a: (self.levels[a] > 1, self._size(a)))
            self.axes[longest].threads = self.threads // along
            if fast is not None and fast not in summed:
                self.axes[longest].lanes = _AT_ONCE

    def _use_again(self, total: Operation) -> None:
        """A thread has some results along an axis along which it reads something again."""
        summed = {self.loop[s].axis for s in total.loops if self.loop[s].is_reduction}
        results = {self.loop[s].axis for s in total.loops} - summed
        loads = [{self.loop[s].axis for s in o.loops} for o in self.own if o.operator is Operator.LOAD]
        for loaded in loads:
            for axis in results - loaded if loaded & summed else ():
                if self.levels[axis] > 1 and self.axes[axis].threads == self.axes[axis].lanes == 1:
                    self.axes[axis].lanes = _AT_ONCE

    def _applies(self, total: Operation) -> bool:
        """Whether it is long, and either reads little twice or is a part of a longer one, whose index counts through parts."""
        axes = {self.loop[s].axis for s in total.loops}
        summed = {self.loop[s].axis for s in total.loops if self.loop[s].is_reduction}
        if prod(self._size(a) for a in summed) < self.threads:
            return False
        accesses = [
            a for o in self.own if o.operator is Operator.LOAD and (a := self.backbone.instructions[o.instruction].access)
        ]
        indices = [{axis for axis, _ in index.terms} for access in accesses for index in access.indices]
        is_in_parts = any(index & summed and index - summed for index in indices)
        loads = [{self.loop[s].axis for s in o.loops} for o in self.own if o.operator is Operator.LOAD]
        most = prod(self._size(a) for a in axes) // _LITTLE
        return is_in_parts or all(
            loaded >= axes or prod(self._size(a) for a in loaded) <= most for loaded in loads if loaded & summed
        )

    def _size(self, axis: int) -> int:
        return self.backbone.axes[axis].size

    def habits(self) -> Iterator[Habit]:
        stored = {self.loop[s].axis for o in self.own if o.operator is Operator.STORE for s in o.loops}
        if not self.summed or self.summed & stored or not all(self._applies(total) for total in self.objects.sums):
            return
        for number, extent in enumerate(self.backbone.extents):
            if extent.level:
                wanted = self._wanted(extent.axis, extent.level)
                yield "size", (number,), str(max((n for n in extent.sizes if n <= wanted), default=wanted))
        shared_out: dict[bool, list[int]] = {}
        for operation in self.own:
            for statement in operation.loops:
                kind = self._kind(operation, statement)
                yield "dim_kind", (statement,), kind
                if kind == "THREAD":
                    shared_out.setdefault(self.loop[statement].axis in self.summed, []).append(statement)
        for statements in shared_out.values():
            yield from mapped_alike(statements)
        yield from self._apart()
        yield from self._together()

    def _threads_at(self, axis: int) -> int | None:
        """The level of an axis that threads share out; None for one that none do, or without such a level."""
        levels = self.levels[axis]
        return max(1, levels - 2) if levels > 1 and self.axes[axis].threads > 1 else None

    def _wanted(self, axis: int, level: int) -> int:
        if level == self._threads_at(axis):
            return self.axes[axis].threads
        return self.axes[axis].lanes if level == self.levels[axis] - 1 else 1

    def _kind(self, operation: Operation, statement: int) -> str:
        loop = self.loop[statement]
        if loop.level == 0:
            return "LOOP" if loop.axis in self.summed else "BLOCK"
        if loop.level == self._threads_at(loop.axis):
            return "THREAD"
        access = self.backbone.instructions[operation.instruction].access
        is_vector = loop.is_innermost and self.axes[loop.axis].lanes > 1 and self.objects.stride(access, loop.axis) == 1
        return "VECTOR" if is_vector else "UNROLL"

    def _apart(self) -> Iterator[Habit]:
        """Sums over different axes stand one after the other."""
        loops = [[s for s in total.loops if self.loop[s].is_reduction] for total in self.objects.sums]
        for number, own in enumerate(loops):
            for others in loops[number + 1 :]:
                if {self.loop[s].axis for s in own}.isdisjoint(self.loop[s].axis for s in others):
                    yield from (("order", (one, other), "BEFORE|AFTER") for one in own for other in others)

    def _together(self) -> Iterator[Habit]:
        """Elements that are loaded, and values made of them, are summed in the same rounds."""
        for total in self.objects.sums:
            own = {self.loop[s].extent: s for s in total.loops}
            for operation in self.own:
                loops = {self.loop[s].extent: s for s in operation.loops}
                if operation is total or not any(self.loop[s].axis in self.summed for s in operation.loops):
                    continue
                for extent, statement in loops.items():
                    if extent in own and self._kind(total, own[extent]) != "UNROLL":
                        yield "order", (statement, own[extent]), "MERGED"
