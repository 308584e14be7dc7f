"""Habits of kernels in one pass (`schedule.online`) both of whose products whole warps make (`nest.matrices`): attention.

for each tile:   copy what the tile needs ahead to shared memory
                 elements = rows by columns of the tile: the first product   (8 threads along the tile, 4 along the rows)
                 the tile's maximum and sums, over registers, then 8 threads by shuffles
                 what the second product adds up goes to shared memory, as its factor
                 the second product                                          (8 threads along its results, 4 along the rows)
                 join the maximum and the sums with those before

So a row stays with the same 8 threads in both products, and warps lie along the rows, of which each has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

from warploom.schedule.backbone import Operator, Rewritten, matrix_of
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.objects import Objects, Operation, mapped_alike

Habit = tuple[str, tuple[int, ...], str]
MATRIX_WAYS = ((4, 4), (4, 2), (4, 1))
"""Warps of a block, and groups of 8 rows of each."""
_ROWS, _SHARED, _WARPS = 0, 1, 2
"""Hardware dimensions: 4 threads along the rows, 8 along the tile or the results, warps along the rows."""


class OnePassMatrices:
    def __init__(self, objects: Objects, rewritten: Rewritten, warps: int, groups: int) -> None:
        self.objects, self.rewritten, self.groups = objects, rewritten, groups
        self.backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.operation = {o.statement: o for o in objects.operations}
        self.levels = objects.levels
        inner = rewritten.inner
        instructions = self.backbone.instructions
        sums = [o for o in objects.sums if matrix_of(instructions, instructions[o.instruction]) is not None]
        self.second = next((o for o in sums if inner in self._summed(o)), None)
        """The product that sums over the tile."""
        self.first = next((o for o in sums if inner in self._kept(o)), None)
        """The one whose results are the tile's elements."""
        parts = {rewritten.outer, inner}
        both = self._kept(self.first) & self._kept(self.second) if self.first and self.second else set[int]()
        self.rows = next((a for a in sorted(both) if self._last_sizes(a)[-2:] == [(4,), (2,)]), -1)
        self.columns = {inner} | {a for a in self._kept(self.second) - parts if self._last_sizes(a)[-1:] == [(8,)]}
        """Axes along which 8 threads lie next to each other."""
        self.summed = self._summed(self.first) | self._summed(self.second)
        self.warps = min(warps, self.backbone.axes[inner].size // 8)
        self.staged = [t for t in objects.temporaries if t.consumer in self._products and self._is_loaded(t)]
        self.factor = [t for t in objects.temporaries if t.consumer in self._products and not self._is_loaded(t)]
        """The factor of the second product that is computed."""
        self.copies = {t.producer for t in self.staged}

    @property
    def applies(self) -> bool:
        """Whether both sums have the levels that `matrix_tiles` gives to products of matrices."""
        is_tile = self._last_sizes(self.rewritten.inner)[-1:] == [(8,)]
        return self.first is not None and self.second is not None and self.rows >= 0 and is_tile and len(self.columns) > 1

    def habits(self) -> Iterator[Habit]:
        yield from self._sizes()
        threads: list[list[int]] = [[], [], []]
        for operation in self.objects.operations:
            if operation.temporary is not None or operation.instruction in self.copies:
                continue
            for statement in operation.loops:
                kind = self._kind(statement, operation)
                yield "dim_kind", (statement,), kind
                if self.loop[statement].is_reduction and kind != "LOOP":
                    yield "partials", (statement,), "TREE" if kind == "THREAD" else "CHAIN"
                if kind == "THREAD":
                    threads[self._hardware(statement)].append(statement)
        for listed in threads:
            yield from mapped_alike(listed)
        for faster, slower in pairwise(listed[0] for listed in threads if listed):
            yield "thread_mapping", (slower, faster), "MAPPED_OUT"
        for temporary in self.staged:
            yield from self._copied(temporary, threads)
        for temporary in self.factor:
            yield from self._handed_over(temporary)
        yield from self._outside()
        yield from self._apart()
        yield from (("mem_space", (region,), "GLOBAL") for region in range(len(self.backbone.regions)))

    @property
    def _products(self) -> set[int]:
        return {o.instruction for o in (self.first, self.second) if o is not None}

    def _summed(self, operation: Operation | None) -> set[int]:
        return set() if operation is None else {self.loop[s].axis for s in operation.loops if self.loop[s].is_reduction}

    def _kept(self, operation: Operation | None) -> set[int]:
        return set() if operation is None else {self.loop[s].axis for s in operation.loops} - self._summed(operation)

    def _last_sizes(self, axis: int) -> list[tuple[int, ...]]:
        return [e.sizes for e in self.backbone.extents if e.axis == axis]

    def _is_loaded(self, temporary: Temporary) -> bool:
        return self.backbone.instructions[temporary.producer].operator is Operator.LOAD

    def _from_last(self, statement: int) -> int:
        """Levels inside this one."""
        loop = self.loop[statement]
        return self.levels[loop.axis] - 1 - loop.level

    def _hardware(self, statement: int) -> int:
        if self.loop[statement].axis == self.rows:
            return _ROWS if self._from_last(statement) == 1 else _WARPS
        return _SHARED

    def _kind(self, statement: int, operation: Operation) -> str:
        loop, left = self.loop[statement], self._from_last(statement)
        if loop.axis == self.rewritten.outer:
            return "LOOP"
        is_product = self.backbone.instructions[operation.instruction].operator is Operator.FMA
        if loop.is_reduction and is_product:
            return "LOOP" if left else "UNROLL"
        if loop.axis in self.columns:
            return "UNROLL" if left else "THREAD"
        if loop.axis == self.rows:
            return "BLOCK" if loop.level == 0 else "THREAD" if loop.level == 1 or left == 1 else "UNROLL"
        return "BLOCK" if loop.level == 0 and loop.axis not in self.summed else "UNROLL"

    def _sizes(self) -> Iterator[Habit]:
        for number, extent in enumerate(self.backbone.extents):
            left = self.levels[extent.axis] - 1 - extent.level
            if not extent.level or not left:
                continue
            if extent.axis == self.rows and left == 1:
                continue
            if extent.axis == self.rows:
                yield "size", (number,), str(self.warps if extent.level == 1 else self.groups)
            elif extent.axis == self.rewritten.inner:
                yield "size", (number,), str(self.warps)
            else:
                yield "size", (number,), str(4 if left == 1 and extent.axis in self.columns | self.summed else 1)

    # ------------------------------------------------------------ tiles in shared memory

    def _copied(self, temporary: Temporary, threads: list[list[int]]) -> Iterator[Habit]:
        """Four threads copy 64 neighbouring bytes, eight and all warps other rows."""
        producer, consumer = self.operation[temporary.producer], self.operation[temporary.consumer]
        access = self.backbone.instructions[temporary.producer].access
        own = {self.loop[s].extent: s for s in consumer.loops}
        around = [s for s in producer.loops if self._is_around(s)]
        inside = [s for s in producer.loops if s not in around]
        yield from (("order", (s, own[self.loop[s].extent]), "MERGED") for s in around)
        yield from (("order", (s, own[self.loop[s].extent]), "BEFORE") for s in inside)
        stores = {p.extent: p.store for p in temporary.pairs}
        for statement in inside:
            is_line = self.objects.stride(access, self.loop[statement].axis) == 1
            kind, hardware = self._of_copy(statement, is_line=is_line)
            yield "dim_kind", (statement,), kind
            if kind == "VECTOR":
                yield "dim_kind", (stores[self.loop[statement].extent],), kind
            if hardware is not None and threads[hardware]:
                yield "thread_mapping", (statement, threads[hardware][0]), "MAPPED"
        yield "cache", (producer.statement,), "L2"
        yield "stages", (temporary.region,), "2" if self.rewritten.inner in {self.loop[s].axis for s in inside} else "1"
        yield from self._laid_out(temporary, lambda axis: -self.objects.stride(access, axis))

    def _of_copy(self, statement: int, *, is_line: bool) -> tuple[str, int | None]:
        """Kind of a loop that copies, and the hardware dimension that shares it out."""
        loop, left = self.loop[statement], self._from_last(statement)
        if is_line:
            return ("VECTOR", None) if not left else ("THREAD", _ROWS) if left == 1 else ("UNROLL", None)
        if loop.axis == self.rewritten.inner:
            return ("THREAD", _SHARED if not left else _WARPS) if left < 2 else ("UNROLL", None)
        if loop.axis == self.rows and loop.level == 1:
            return "THREAD", _WARPS
        return ("LOOP" if left > 1 else "UNROLL"), None

    def _handed_over(self, temporary: Temporary) -> Iterator[Habit]:
        """The factor that is computed lies in shared memory along the rows, two of which each thread has."""
        yield from self._laid_out(temporary, lambda axis: axis == self.rows)
        stores = [p.store for p in temporary.pairs if self.loop[p.store].axis == self.rows and not self._from_last(p.store)]
        yield from (("dim_kind", (store,), "VECTOR") for store in stores)
        yield "stages", (temporary.region,), "1"

    def _laid_out(self, temporary: Temporary, along: Callable[[int], int]) -> Iterator[Habit]:
        number = self.objects.temporaries.index(temporary)
        pairs = list(zip(temporary.pairs, self.objects.pairs_of(number), strict=True))
        ordered = sorted(
            (along(self.loop[p.store].axis), self.loop[p.store].level, n) for p, n in pairs if not self._is_around(p.store)
        )
        yield from (("layout", (first[-1], second[-1]), "OUTER") for first, second in combinations(ordered, 2))
        yield "swizzle", (temporary.region,), "PERMUTED"

    def _is_around(self, statement: int) -> bool:
        """Whether it is the block's part of an axis, or the loop over tiles."""
        loop = self.loop[statement]
        return loop.axis == self.rewritten.outer or (loop.level == 0 and loop.axis not in self.columns | self.summed)

    def _outside(self) -> Iterator[Habit]:
        """Copies that do not change from tile to tile come before the first."""
        outer = self.rewritten.outer
        loops = [x.statement for x in self.objects.loops if x.axis == outer and x.is_reduction]
        for number in sorted(self.copies):
            if outer not in self.backbone.instructions[number].axes:
                yield from (("order", (number, s), "BEFORE") for s in loops)

    def _apart(self) -> Iterator[Habit]:
        """Each instruction has loops of its own in the block's and the tile's, so that products hold nothing else. What is not
        inside a warp's loop is inside none of its threads' (`description.threads`)."""
        outermost = [s for o in self.objects.operations for s in self._outermost(o)]
        summed = [s for o in self.objects.sums for s in o.loops if self.loop[s].is_reduction and not self._is_around(s)]
        for operation in self.objects.operations:
            own = set(operation.loops)
            others = (s for s in dict.fromkeys((*outermost, *summed)) if s not in own)
            yield from (("order", (operation.statement, s), "BEFORE|AFTER") for s in others)

    def _outermost(self, operation: Operation) -> list[int]:
        """Its loops down to the first with several iterations."""
        found: list[int] = []
        for statement in operation.loops:
            if not self._is_around(statement):
                found.append(statement)
                if self.loop[statement].axis in self.columns | self.summed | {self.rows}:
                    break
        return found


__all__ = ["MATRIX_WAYS", "OnePassMatrices"]
