"""Habits of kernels that sum nothing, or few terms that a thread adds up (the parts of a longer sum): the threads of a block lie
next to each other along the fastest axis of the results, and load and store vectors of 16 bytes.

Where something is read along another axis (transposes), a block has a square of both. Its threads lie along the one axis where
they load, along the other one where they store, and hand a tile over in shared memory, which lies as the results do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from warploom.schedule.backbone import Operator
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.objects import Habit, Objects, Operation, mapped_alike, power_above
from warploom.schedule.choices.windows import stored_axes

WAYS = ((256, 1), (128, 4), (128, 1))
"""Threads of a block; results of a thread along the axis before the fastest, whose neighbours may read the same."""
TURNED_WAYS = ((16, True), (16, False), (8, True))
"""Threads along each side of a square; whether vectors are loaded, or stored to the tile: registers have but one order."""
_WHOLE = (128, 64, 32, 16)
"""Threads along a row whose places are apart."""
_LANES = 4
"""Elements of a thread along each side of a square."""
_FEW_TERMS = 16
"""Terms of a sum, all of which a thread loads before it adds the first, at most."""


class Maps:
    """Habits of one way to begin; none for kernels with long sums, or with sums that read along another axis."""

    def __init__(self, objects: Objects, way: tuple[int, int], turned: tuple[int, bool]) -> None:
        self.objects = objects
        self.side, self.reads_wide = turned
        self.threads, self.rows = way
        self.backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.own = [o for o in objects.operations if o.temporary is None]
        self.levels = objects.levels
        stored = stored_axes(self.backbone)
        self.fastest = next((a for a in stored if self.levels[a] > 1), None)
        self.parts = {a for a in stored if self.levels[a] == 1 and self._is_part(a, stored)}
        """Short axes, such as halves of others (`i % 2`), of which a thread has all results: some of what they are made of is the
        same, or they lie next to each other."""
        self.summed = objects.summed
        self.turned = {
            a: o for o in self.own if o.operator is Operator.LOAD and (a := self._along(o)) not in (None, self.fastest)
        }
        """Loads by the axis along which they read, where that is another one."""

    def _is_part(self, axis: int, stored: Sequence[int]) -> bool:
        loads = [i for i in self.backbone.instructions if i.operator is Operator.LOAD]
        is_inside = self.fastest is not None and axis in stored[: stored.index(self.fastest)]
        return is_inside or any(axis not in load.axes for load in loads)

    def _along(self, operation: Operation) -> int | None:
        """The axis along which neighbours lie next to each other in memory."""
        access = self.backbone.instructions[operation.instruction].access
        axes = {self.loop[s].axis for s in operation.loops}
        return next((a for a in axes if self.objects.stride(access, a) == 1 and self.levels[a] > 1), None)

    def habits(self) -> Iterator[Habit]:
        if self.fastest is None or not self._are_few():
            return
        if not self.turned:
            yield from self._straight(self.fastest)
        elif len(self.turned) == 1 and not self.summed:
            (across,) = self.turned
            yield from self._turned(self.fastest, across)

    def _are_few(self) -> bool:
        """Whether a thread has all terms of each sum of its results, which are stored behind it."""
        stored = set(stored_axes(self.backbone))
        sizes = [self.backbone.axes[a].size for a in self.summed]
        return prod(sizes) <= _FEW_TERMS and not self.summed & stored and all(self.levels[a] == 1 for a in self.summed)

    # ------------------------------------------------------------ along one axis

    def _straight(self, fastest: int) -> Iterator[Habit]:
        lanes, deepest = 1 if self._is_apart(fastest) else self.objects.lanes(fastest), self.levels[fastest] - 1
        at = max(1, deepest - 1)
        """The level that threads share out."""
        threads = min(self.threads, power_above(-(-self.backbone.axes[fastest].size // lanes)))
        if lanes == 1:  # rows that leave no thread idle
            threads = next((n for n in _WHOLE if n <= threads and self.backbone.axes[fastest].size % n == 0), threads)
        before = self._before(fastest)
        for number, extent in enumerate(self.backbone.extents):
            if extent.level and self.levels[extent.axis] > 1:
                is_last = extent.level == self.levels[extent.axis] - 1
                if extent.axis == fastest:
                    wanted = threads if extent.level == at else lanes if is_last else 1
                elif extent.axis == before:
                    wanted = self.rows if is_last else self.threads // threads if extent.level == 1 else 1
                else:
                    wanted = 1
                yield "size", (number,), str(max((n for n in extent.sizes if n <= wanted), default=wanted))
        shared = {(fastest, at), *([(before, 1)] if threads < self.threads else [])}
        shared_out: dict[int, list[int]] = {}
        for operation in self.own:
            access = self.backbone.instructions[operation.instruction].access
            for statement in operation.loops:
                loop = self.loop[statement]
                kind = "UNROLL"
                if loop.axis in self.parts:
                    kind = "VECTOR" if loop.is_innermost and self.objects.stride(access, loop.axis) == 1 else "UNROLL"
                elif loop.level == 0 and loop.axis not in self.summed:
                    kind = "BLOCK"
                elif (loop.axis, loop.level) in shared:
                    kind = "THREAD"
                elif loop.axis == fastest and lanes > 1 and self.objects.stride(access, fastest) == 1:
                    kind = "VECTOR"
                yield "dim_kind", (statement,), kind
                if kind == "THREAD":
                    shared_out.setdefault(loop.extent, []).append(statement)
        for statements in shared_out.values():
            yield from mapped_alike(statements)
        if self._is_apart(fastest):  # one nest, whose lines the first-level cache keeps for the next load
            for pair in self.objects.pairs:
                if not pair.is_reserved:
                    yield "order", (pair.source, pair.target), "MERGED"
            for operation in self.own:
                if operation.operator is Operator.LOAD:
                    yield "cache", (operation.statement,), "ALL"

    def _is_apart(self, fastest: int) -> bool:
        """Something is read along the axis, but no neighbours: threads next to each other share its lines, vectors would not."""
        accesses = (self.backbone.instructions[o.instruction].access for o in self.own)
        return any(abs(self.objects.stride(access, fastest)) > 1 for access in accesses)

    def _before(self, fastest: int) -> int | None:
        """The axis of the results with the next larger stride."""
        store = next(o for o in self.own if o.operator is Operator.STORE)
        access = self.backbone.instructions[store.instruction].access
        axes = {self.loop[s].axis for s in store.loops} - {fastest}
        return min((a for a in axes if self.levels[a] > 2), key=lambda a: self.objects.stride(access, a), default=None)

    # ------------------------------------------------------------ from one axis to another

    def _turned(self, fastest: int, across: int) -> Iterator[Habit]:
        """Level 1 of both axes is shared out by threads, level 2 is in registers, or a vector."""
        load = self.turned[across]
        tile = next((t for t in self.objects.temporaries if t.producer == load.instruction), None)
        if tile is None or min(self.levels[fastest], self.levels[across]) < 3:
            return
        for number, extent in enumerate(self.backbone.extents):
            if extent.axis in (fastest, across) and extent.level:
                wanted = {1: self.side, self.levels[extent.axis] - 1: _LANES}.get(extent.level, 1)
                yield "size", (number,), str(wanted)
            elif extent.level:
                yield "size", (number,), "1"
        moved = [o for o in self.objects.operations if o.temporary == self.objects.temporaries.index(tile)]
        put = next(o for o in moved if o.operator is Operator.STORE)
        get = next(o for o in moved if o.operator is Operator.LOAD)
        before, after = [load, put], [get, *(o for o in self.own if o is not load)]
        for operation in (*before, *after):
            vector = (
                across if operation is load and self.reads_wide else None if operation is put and self.reads_wide else fastest
            )
            yield from self._kinds(operation, vector, (fastest, across))
        threads = [[self._threads(o, across), self._threads(o, fastest)] for o in before]
        threads += [[self._threads(o, fastest), self._threads(o, across)] for o in after]
        for along in zip(*threads, strict=True):
            own = [s for s, o in zip(along, (*before, *after), strict=True) if o.temporary is None]
            yield from mapped_alike(s for s in own if s is not None)
            yield from mapped_alike(s for s in along if s is not None)
        for inner, outer in threads:
            if inner is not None and outer is not None:
                yield "thread_mapping", (outer, inner), "MAPPED_OUT"
        yield from self._handed_over(tile, load, after)

    def _kinds(self, operation: Operation, vector: int | None, axes: tuple[int, int]) -> Iterator[Habit]:
        is_access = self.backbone.instructions[operation.instruction].access is not None or operation.temporary is not None
        for statement in operation.loops:
            loop = self.loop[statement]
            if loop.level == 0:
                yield "dim_kind", (statement,), "BLOCK"
            elif loop.axis in axes and loop.level == 1:
                yield "dim_kind", (statement,), "THREAD"
            else:
                is_vector = is_access and loop.axis == vector and loop.is_innermost
                yield "dim_kind", (statement,), "VECTOR" if is_vector else "UNROLL"

    def _threads(self, operation: Operation, axis: int) -> int | None:
        return next((s for s in operation.loops if self.loop[s].axis == axis and self.loop[s].level == 1), None)

    def _handed_over(self, tile: Temporary, load: Operation, after: list[Operation]) -> Iterator[Habit]:
        """All of a block's tile is loaded before any of it is stored; it lies as the results do."""
        for operation in after:
            for mine in load.loops:
                for its in operation.loops:
                    if self.loop[mine].level == self.loop[its].level == 0 and self.loop[mine].axis == self.loop[its].axis:
                        yield "order", (mine, its), "MERGED"
                    elif self.loop[mine].level and self.loop[its].level:
                        yield "order", (mine, its), "BEFORE"
        number = self.objects.temporaries.index(tile)
        pairs = zip(tile.pairs, self.objects.pairs_of(number), strict=True)
        store = next(o for o in self.own if o.operator is Operator.STORE)
        access = self.backbone.instructions[store.instruction].access
        ordered = sorted(
            (-self.objects.stride(access, self.loop[p.store].axis), self.loop[p.store].level, n)
            for p, n in pairs
            if self.loop[p.store].level
        )
        for n, (*_, first) in enumerate(ordered):
            for *_, second in ordered[n + 1 :]:
                yield "layout", (first, second), "OUTER"
        yield "swizzle", (tile.region,), "PERMUTED"
        yield "spread", (tile.region,), "NO"


def maps_of(objects: Objects) -> list[tuple[Habit, ...]]:
    """The ways to begin."""
    ways = (Maps(objects, way, turned) for way, turned in zip(WAYS, TURNED_WAYS, strict=True))
    return [tuple(dict.fromkeys(way.habits())) for way in ways]
