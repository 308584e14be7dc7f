"""Decisions that fast CPU kernels mostly have in common: starting points for the descents of a search.

Sums keep many results of a core in vector registers: neighbours in memory lie in the lanes, and a few vectors next to each other
and a few rows below each other take part in one step of the sum, so that each vector and each factor that is read serves several
products (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008).

Goal and non-goal are those of `habits`: decisions in an order in which each is possible after those before it; nothing is ruled
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from warploom.schedule.backbone import Operator
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.objects import Habit, Objects, Operation
from warploom.schedule.targets import Target

_ROWS, _VECTORS = (2, 4, 6, 8, 12, 14), (1, 2, 3, 4)
_WAYS = 6


def core_habits(objects: Objects, target: Target) -> tuple[tuple[Habit, ...], ...]:
    """Ways to begin, from which descents take turns; none for kernels without a sum."""
    ways = (tuple(h for o in objects.sums for h in _Sum(objects, target, o, *tile).habits()) for tile in _tiles(target))
    return tuple(dict.fromkeys(tuple(dict.fromkeys(way)) for way in ways if way))


def _tiles(target: Target) -> list[tuple[int, int]]:
    """Rows and vectors of a step that the registers hold, those with the fewest loads for a product first."""
    most = target.max_unroll // max(target.vector_lanes, default=1)
    room = target.registers - target.reserved_registers
    fitting = [(r, v) for r in _ROWS for v in _VECTORS if r * v <= most and r * v + v + 1 <= room]
    return sorted(fitting, key=lambda tile: sum(tile) / math.prod(tile))[:_WAYS]


class _Sum:
    """Habits of one sum: `rows` below each other by `vectors` next to each other stay in registers."""

    def __init__(self, objects: Objects, target: Target, total: Operation, rows: int, vectors: int) -> None:
        self.objects, self.total, self.rows, self.vectors = objects, total, rows, vectors
        self.loop = {x.statement: x for x in objects.loops}
        backbone = objects.backbone
        self.levels = objects.levels
        store = next((i for i in backbone.instructions if i.operator is Operator.STORE), None)
        access = None if store is None else store.access
        reduced = {self.loop[s].axis for s in total.loops if self.loop[s].is_reduction}
        results = [a for a in dict.fromkeys(self.loop[s].axis for s in total.loops) if a not in reduced]
        loads = [i.access for i in backbone.instructions if i.operator is Operator.LOAD]
        in_line = {a for a in (*results, *reduced) if any(objects.stride(x, a) == 1 for x in loads)}
        along = [a for a in results if a in in_line and objects.stride(access, a) == 1]
        summed = [a for a in reduced if a in in_line]
        self.width = max(target.lanes(backbone.instructions[total.instruction].dtype.size_bytes), default=1)
        self.lanes = along[0] if along else summed[0] if summed else None
        """The axis that vectors lie along: one of the results if there is one, else one that is summed."""
        self.reduced = reduced
        others = [a for a in results if a != self.lanes]
        loaded = [set(i.axes) for i in backbone.instructions if i.operator is Operator.LOAD and self.lanes in i.axes]
        used_again = [a for a in others if any(a not in axes for axes in loaded)]
        self.below = next(iter(used_again or reversed(others)), None)
        """The axis of the rows: one along which a vector that is read is used again, if there is one."""

    def habits(self) -> Iterator[Habit]:
        if self.lanes is None:
            return
        backbone = self.objects.backbone
        for number, extent in enumerate(backbone.extents):
            last = self.levels[extent.axis] - 1
            if extent.axis == self.lanes and extent.level == last:
                yield "size", (number,), str(max((n for n in extent.sizes if n <= self.width), default=1))
            elif extent.axis == self.lanes and extent.level == last - 1 and last > 1:
                yield "size", (number,), str(self.vectors)
            elif extent.axis == self.below and extent.level == last and last > 0:
                yield "size", (number,), str(self.rows)
        for temporary in self.objects.temporaries:
            apart = self.objects.stride(backbone.instructions[temporary.producer].access, self.lanes) != 1
            depends = {self.loop[s].axis for s in self.objects.operations[temporary.producer].loops}
            if temporary.consumer == self.total.instruction and self.lanes in depends and apart:
                yield from self._copied(temporary)
        if self.lanes in self.reduced:
            yield from self._where_used()
        for statement in self.total.loops:
            kind = self._kind(statement)
            if kind is not None:
                yield "dim_kind", (statement,), kind
        for operation in self.objects.operations:
            if operation is not self.total and operation.operator is not Operator.LOAD and operation.temporary is None:
                for statement in operation.loops:
                    if not self.loop[statement].is_reduction and (kind := self._kind(statement)) is not None:
                        yield "dim_kind", (statement,), kind

    def _where_used(self) -> Iterator[Habit]:
        """In kernels that sum along rows, loads of what no sum reads (factors of columns) stand in the loops of their use: a copy
        never pays."""
        instructions = self.objects.backbone.instructions
        for pair in self.objects.pairs:
            if pair.is_reserved or pair.temporary is None or self._kind(pair.target) in ("UNROLL", "VECTOR"):
                continue
            temporary = self.objects.temporaries[pair.temporary]
            if instructions[temporary.producer].operator is Operator.LOAD and instructions[temporary.consumer].carry is None:
                yield "order", (pair.source, pair.target), "MERGED"

    def _copied(self, temporary: Temporary) -> Iterator[Habit]:
        """An operand whose neighbours along the lanes are apart in memory is copied so that they are not: a slice at a time, in
        which the levels along the lanes lie innermost but for the one that steps from slice to slice."""
        own = {self.loop[s].extent: s for s in self.total.loops}
        for statement in self.objects.operations[temporary.producer].loops:
            loop = self.loop[statement]
            is_slice = loop.axis == self.lanes and loop.level == 0
            yield "order", (statement, own[loop.extent]), "MERGED" if is_slice else "BEFORE"
        number = self.objects.temporaries.index(temporary)
        pairs = zip(temporary.pairs, self.objects.pairs_of(number), strict=True)
        levels = ((self.loop[p.store].axis, self.loop[p.store].level, n) for p, n in pairs)
        ordered = sorted(levels, key=lambda x: (x[0] == self.lanes and x[1] >= self.levels[x[0]] - 2, x[0] != self.lanes, x[1]))
        for first, second in combinations([n for *_, n in ordered], 2):
            yield "layout", (first, second), "OUTER"

    def _kind(self, statement: int) -> str | None:
        loop = self.loop[statement]
        last = self.levels[loop.axis] - 1
        if loop.axis == self.lanes:
            return "VECTOR" if loop.level == last else "UNROLL" if loop.level == last - 1 and last > 1 else None
        if loop.axis == self.below:
            return "UNROLL" if loop.level == last and last > 0 else None
        return "LOOP" if loop.axis in self.reduced and loop.level == last else None
