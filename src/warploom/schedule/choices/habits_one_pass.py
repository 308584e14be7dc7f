"""Habits of kernels in one pass (`schedule.online`): each thread has a row, and all threads of a block share each tile of the axis.

    for each tile:   copy what the tile needs to shared memory
                     for each element: its value, the tile's maximum            (values stay in shared memory)
                     for each element: what it adds to each sum                 (sums stay in registers)
                     join the maximum and the sums with those before
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from warploom.machines import WIDEST_BYTES
from warploom.schedule.backbone import Access, Operator, Rewritten
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.objects import Objects, Operation

WAYS = ((16, 8), (16, 4), (8, 4))
"""Threads along the fastest dimension, and along the next."""


class OnePass:
    def __init__(self, objects: Objects, rewritten: Rewritten, columns: int, others: int) -> None:
        self.objects, self.rewritten = objects, rewritten
        self.columns, self.others = columns, others
        self.backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.operation = {o.statement: o for o in objects.operations}
        self.levels = {a: sum(e.axis == a for e in self.backbone.extents) for a in range(len(self.backbone.axes))}
        over = {a for i in self.backbone.instructions if i.operator is Operator.MAX for a in i.axes}
        self.parts = {rewritten.outer, rewritten.inner}
        self.rows = over - self.parts
        """Axes that each have a maximum: rows of what is stored."""
        self.row = max(self.rows, key=lambda a: self.levels[a], default=-1)
        """The one that threads share out."""
        self.staged = [t for t in objects.temporaries if self._is_copied(t)]
        self.copies = {t.producer for t in self.staged}
        lanes = {e.axis: e for e in self.backbone.extents}
        self.lanes = {a: min(max(e.sizes), WIDEST_BYTES // 4) for a, e in lanes.items()}

    def habits(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        if self.row < 0:
            return
        yield from self._sizes()
        own = [o for o in self.objects.operations if o.temporary is None]
        computed = [o for o in own if o.statement not in self.copies]
        for operation in computed:
            for statement in operation.loops:
                yield "dim_kind", (statement,), self._kind(statement, operation)
        threads = [self._threads(o) for o in computed]
        for first, second in pairwise(t for t in threads if len(t) > 1):
            for one, other in zip(first, second, strict=True):
                yield "thread_mapping", (one, other), "MAPPED"
        for one in threads:
            for inner, outer in pairwise(one):
                yield "thread_mapping", (outer, inner), "MAPPED_OUT"
        reference = next((t for t in threads if len(t) > 1), [])
        for temporary in self.staged:
            yield from self._copied(temporary, reference)
        yield from self._together(own)
        for region in range(len(self.backbone.regions)):
            yield "mem_space", (region,), "GLOBAL"

    def _kind(self, statement: int, operation: Operation) -> str:
        loop = self.loop[statement]
        if loop.axis in self.rows:
            return "BLOCK" if loop.level == 0 or loop.axis != self.row else "THREAD"
        if loop.axis in self.parts:
            return "LOOP"
        access = self.backbone.instructions[operation.instruction].access
        return "VECTOR" if access is not None and self._is_vector(access, statement) else "UNROLL"

    def _is_vector(self, access: Access, statement: int) -> bool:
        loop = self.loop[statement]
        return loop.is_innermost and self._stride(access, loop.axis) == 1

    def _stride(self, access: Access, axis: int) -> int:
        strides = self.backbone.regions[access.region].strides
        return sum(c * s for i, s in zip(access.indices, strides, strict=True) for a, c in i.terms if a == axis)

    def _threads(self, operation: Operation) -> list[int]:
        """Thread loops of an operation, the fastest dimension first."""
        found = [s for s in operation.loops if self.loop[s].axis == self.row and self.loop[s].level]
        return sorted(found, key=lambda s: -self.loop[s].level)

    def _is_copied(self, temporary: Temporary) -> bool:
        """What rows read alike, tile by tile."""
        producer = self.backbone.instructions[temporary.producer]
        axes = set(producer.axes)
        return producer.operator is Operator.LOAD and self.rewritten.inner in axes and not axes & self.rows

    def _sizes(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        for number, extent in enumerate(self.backbone.extents):
            if not extent.level:
                continue
            left = self.levels[extent.axis] - 1 - extent.level
            if extent.axis == self.row:
                yield "size", (number,), str(self.columns if left == 0 else self.others if left == 1 else 1)
            elif extent.axis in self.rows:
                yield "size", (number,), "1"
            elif extent.axis == self.rewritten.inner:
                yield "size", (number,), str(self.others)
            else:
                yield "size", (number,), str(self.lanes[extent.axis] if left == 0 else self.columns if left == 1 else 1)

    def _copied(self, temporary: Temporary, threads: list[int]) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """All threads copy the tile, neighbours next to each other, in vectors."""
        producer = self.operation[temporary.producer]
        access = self.backbone.instructions[temporary.producer].access
        consumer = {self.loop[s].extent: s for s in self.operation[temporary.consumer].loops}
        assert access is not None
        for statement in producer.loops:
            loop = self.loop[statement]
            if loop.axis == self.rewritten.outer:
                continue
            yield "order", (statement, consumer[loop.extent]), "BEFORE"
        for statement in producer.loops:
            pair = next((p for p in temporary.pairs if p.extent == self.loop[statement].extent), None)
            if pair is None or self.loop[statement].axis == self.rewritten.outer:
                continue
            kind, level = self._of_copy(statement, access, threads)
            yield "dim_kind", (statement,), kind
            yield "dim_kind", (pair.store,), kind
            yield "dim_kind", (pair.load,), "VECTOR" if kind == "VECTOR" else self._kind(pair.load, producer)
            if level is not None:
                yield "thread_mapping", (statement, level), "MAPPED"
                yield "thread_mapping", (pair.store, level), "MAPPED"
            if self.loop[statement].axis == self.rewritten.inner:
                yield "order", (pair.load, consumer[pair.extent]), "MERGED"
        number = self.objects.temporaries.index(temporary)
        pairs = list(zip(temporary.pairs, self.objects.pairs_of(number), strict=True))
        ordered = sorted((-self._stride(access, self.loop[p.store].axis), self.loop[p.store].level, n) for p, n in pairs)
        for n, (*_, first) in enumerate(ordered):
            for *_, second in ordered[n + 1 :]:
                yield "layout", (first, second), "OUTER"
        yield "cache", (producer.statement,), "L2"
        yield "stages", (temporary.region,), "1"

    def _of_copy(self, statement: int, access: Access, threads: list[int]) -> tuple[str, int | None]:
        """Kind of a loop that copies, and the thread loop that it is mapped like."""
        loop = self.loop[statement]
        if self._is_vector(access, statement):
            return "VECTOR", None
        if loop.axis == self.rewritten.inner:
            is_shared = loop.is_innermost and loop.level and len(threads) > 1
            return ("THREAD", threads[1]) if is_shared else ("UNROLL", None)
        left = self.levels[loop.axis] - 1 - loop.level
        return ("THREAD", threads[0]) if left == 1 and loop.level and threads else ("UNROLL", None)

    def _together(self, own: list[Operation]) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """What is done of each element is done in one loop: what the maximum needs, and what the sums need."""
        inner = self.rewritten.inner
        top = {n for n, i in enumerate(self.backbone.instructions) if i.operator is Operator.MAX and inner in i.axes}
        behind: set[int] = set()
        for n, i in enumerate(self.backbone.instructions):
            needs = {getattr(o, "instruction", -1) for o in i.operands}
            if needs & (top | behind) and inner in i.axes:
                behind.add(n)
        for group in (lambda n: n not in behind, lambda n: n in behind):
            members = [o for o in own if o.statement not in self.copies and group(o.instruction)]
            members = [o for o in members if any(self.loop[s].axis == inner for s in o.loops)]
            for first, second in pairwise(members):
                others = {self.loop[s].extent: s for s in second.loops}
                for statement in first.loops:
                    loop = self.loop[statement]
                    if (loop.axis in self.rows or loop.axis == inner) and loop.extent in others:
                        yield "order", (statement, others[loop.extent]), "MERGED"
