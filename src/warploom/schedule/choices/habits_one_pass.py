"""Habits of kernels in one pass (`schedule.online`): a few threads share a few rows, all threads of a block each tile.

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
from warploom.schedule.choices.objects import Objects, Operation, mapped_alike

WAYS = ((8, 16, 4), (4, 32, 4), (8, 16, 2))
"""Threads that share the columns of a row, threads beside them, and rows of each."""


class OnePass:
    def __init__(self, objects: Objects, rewritten: Rewritten, columns: int, threads: int, rows: int) -> None:
        self.objects, self.rewritten = objects, rewritten
        self.columns, self.threads, self.rows_of_thread = columns, threads, rows
        self.backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.operation = {o.statement: o for o in objects.operations}
        self.levels = objects.levels
        over = {a for i in self.backbone.instructions if i.operator is Operator.MAX for a in i.axes}
        self.parts = {rewritten.outer, rewritten.inner}
        self.rows = over - self.parts
        """Axes that each have a maximum: rows of what is stored."""
        loads = [i.axes for i in self.backbone.instructions if i.operator is Operator.LOAD and rewritten.inner in i.axes]
        self.row = max((a for a in self.rows if any(a not in axes for axes in loads)), key=lambda a: self.levels[a], default=-1)
        """The one that threads share out: not all that is read along the axis depends on it."""
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
                if self._is_one(statement):
                    continue
                kind = self._kind(statement, operation)
                yield "dim_kind", (statement,), kind
                if self.loop[statement].is_reduction and kind == "UNROLL":
                    yield "partials", (statement,), "TREE" if self.loop[statement].is_innermost else "CHAIN"
        threads = [self._threads(o) for o in computed]
        both = next((t for t in threads if all(t)), (None, None))
        for level in (0, 1):
            yield from mapped_alike(s for t in threads if (s := t[level]) is not None)
        if both[0] is not None and both[1] is not None:
            yield "thread_mapping", (both[1], both[0]), "MAPPED_OUT"
        for temporary in self.staged:
            yield from self._copied(temporary, both)
        yield from self._outside(own)
        yield from self._together(own)
        for region in range(len(self.backbone.regions)):
            yield "mem_space", (region,), "GLOBAL"

    def _kind(self, statement: int, operation: Operation) -> str:
        loop = self.loop[statement]
        if loop.axis in self.rows:
            return "BLOCK" if loop.level == 0 else "THREAD" if loop.level == 1 else "UNROLL"
        if loop.axis in self.parts:
            return "LOOP"
        if self._is_shared(statement):
            return "THREAD"
        access = self.backbone.instructions[operation.instruction].access
        return "VECTOR" if access is not None and self._is_vector(access, statement) else "UNROLL"

    def _is_one(self, statement: int) -> bool:
        """Whether it is a tile of another row axis than the one that threads share out: one row."""
        loop = self.loop[statement]
        return loop.axis in self.rows and loop.axis != self.row and loop.level > 0

    def _is_vector(self, access: Access, statement: int) -> bool:
        loop = self.loop[statement]
        return loop.is_innermost and self.objects.stride(access, loop.axis) == 1

    def _is_shared(self, statement: int) -> bool:
        """Whether the threads of a row share the loop: the level around the lanes of a vector."""
        loop = self.loop[statement]
        return loop.axis not in self.rows | self.parts and 0 < loop.level == self.levels[loop.axis] - 2

    def _threads(self, operation: Operation) -> tuple[int | None, int | None]:
        """Thread loops of an operation over columns, and over rows."""
        columns = next((s for s in operation.loops if self._is_shared(s)), None)
        return columns, next((s for s in operation.loops if self.loop[s].axis == self.row and self.loop[s].level == 1), None)

    def _is_copied(self, temporary: Temporary) -> bool:
        """Whether rows read it alike, tile by tile."""
        producer = self.backbone.instructions[temporary.producer]
        axes = set(producer.axes)
        return producer.operator is Operator.LOAD and self.rewritten.inner in axes and self.row not in axes

    def _sizes(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        for number, extent in enumerate(self.backbone.extents):
            if not extent.level:
                continue
            left = self.levels[extent.axis] - 1 - extent.level
            if extent.axis == self.row:
                yield "size", (number,), str(self.threads if extent.level == 1 else self.rows_of_thread if left == 0 else 1)
            elif extent.axis in self.rows:
                yield "size", (number,), "1"
            elif extent.axis == self.rewritten.inner:
                yield "size", (number,), str(self.threads)
            elif left < 2:
                yield "size", (number,), str(self.columns if left else self.lanes[extent.axis])

    def _copied(self, temporary: Temporary, threads: tuple[int | None, int | None]) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """All threads copy the tile, neighbours next to each other, in vectors."""
        producer = self.operation[temporary.producer]
        access = self.backbone.instructions[temporary.producer].access
        consumer = {self.loop[s].extent: s for s in self.operation[temporary.consumer].loops}
        assert access is not None
        for statement in producer.loops:
            loop = self.loop[statement]
            if loop.axis != self.rewritten.outer and not self._is_one(statement):
                yield "order", (statement, consumer[loop.extent]), "MERGED" if loop.axis in self.rows else "BEFORE"
        for statement in producer.loops:
            pair = next((p for p in temporary.pairs if p.extent == self.loop[statement].extent), None)
            if pair is None or self.loop[statement].axis in self.rows | {self.rewritten.outer}:
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
        own = [(p, n) for p, n in pairs if self.loop[p.store].axis not in self.rows | {self.rewritten.outer}]
        ordered = sorted((-self.objects.stride(access, self.loop[p.store].axis), self.loop[p.store].level, n) for p, n in own)
        for n, (*_, first) in enumerate(ordered):
            for *_, second in ordered[n + 1 :]:
                yield "layout", (first, second), "OUTER"
        yield "cache", (producer.statement,), "L2"
        yield "stages", (temporary.region,), "1"

    def _of_copy(self, statement: int, access: Access, threads: tuple[int | None, int | None]) -> tuple[str, int | None]:
        """Kind of a loop that copies, and the thread loop that it is mapped like."""
        loop = self.loop[statement]
        if self._is_vector(access, statement):
            return "VECTOR", None
        is_shared = loop.is_innermost and loop.level > 0 if loop.axis == self.rewritten.inner else self._is_shared(statement)
        level = threads[loop.axis == self.rewritten.inner]
        return ("THREAD", level) if is_shared and level is not None else ("UNROLL", None)

    def _outside(self, own: list[Operation]) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Loads that do not change from tile to tile come before the first."""
        outer = self.rewritten.outer
        loops = [s for o in own for s in o.loops if self.loop[s].axis == outer and self.loop[s].is_reduction]
        for operation in own:
            if operation.operator is Operator.LOAD and all(self.loop[s].axis != outer for s in operation.loops):
                yield from (("order", (operation.statement, s), "BEFORE") for s in loops)

    def _together(self, own: list[Operation]) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Each element is met in two loops: for what the maximum needs, and for what the sums need."""
        inner = self.rewritten.inner
        top = {n for n, i in enumerate(self.backbone.instructions) if i.operator is Operator.MAX and inner in i.axes}
        behind: set[int] = set()
        for n, i in enumerate(self.backbone.instructions):
            needs = {getattr(o, "instruction", -1) for o in i.operands}
            if needs & (top | behind) and inner in i.axes:
                behind.add(n)
        for is_behind in (False, True):
            members = [o for o in own if o.statement not in self.copies and (o.instruction in behind) == is_behind]
            members = [o for o in members if any(self.loop[s].axis == inner for s in o.loops)]
            for first, second in pairwise(members):
                others = {self.loop[s].extent: s for s in second.loops}
                for statement in first.loops:
                    loop = self.loop[statement]
                    if loop.axis == inner and loop.extent in others:
                        yield "order", (statement, others[loop.extent]), "MERGED"
