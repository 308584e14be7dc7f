"""Habits of sums whose summands are made of loaded values that are used again, as CUTLASS and others have them for products of
matrices: blocks share out the results, threads keep a few of them in registers, and what they read again comes from tiles in
shared memory. These are copied ahead by all threads, in vectors, as they lie in memory, or made of what is loaded so: of integers
that become floats, of exponentials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from warploom.machines import WIDEST_BYTES
from warploom.schedule.backbone import Access, Backbone, Operator, Previous, followers, named_by, needed, summands_of
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.objects import Habit, Loop, Objects, Operation

_RESULTS = 8
_LANES, WARP_SHAPE = "4x8", (4, 8)


@dataclass(frozen=True, slots=True)
class TileWay:
    is_tall: bool = False
    """Twice as many results of a thread along the axis without vectors. So fewer loads make a product, which matters where loads
    of shared memory are as slow as arithmetic."""
    is_small: bool = False
    """Blocks of 64 threads, whose tiles are not copied ahead, so that more of them fit."""
    is_spread: bool = False
    """All threads share out the copies, in the order of the array."""
    has_lanes: bool = False
    """A warp is 4 by 8 threads, which load from half as many places of one factor as a row of threads does."""
    threads: tuple[int, int] | None = None
    """Threads of a block along the slower and the faster axis of the result; None: left open."""


WAYS_OF_TILES = (TileWay(), TileWay(is_tall=True, is_small=True, threads=(8, 8)))
WAYS_WITH_LANES = (
    *(replace(way, has_lanes=True) for way in WAYS_OF_TILES),
    *(TileWay(is_spread=True, has_lanes=True, threads=threads) for threads in ((16, 16), (8, 16), (8, 8))),
    TileWay(is_tall=True, is_spread=True, has_lanes=True, threads=(16, 16)),
)
WAYS_BEFORE_SUMS = (*WAYS_OF_TILES, *(TileWay(is_spread=True, threads=threads) for threads in ((16, 16), (8, 16))))


class Tiles:
    """Habits of one sum."""

    def __init__(self, objects: Objects, total: Operation, way: TileWay) -> None:
        self.objects, self.total = objects, total
        self.shape = way
        self.backbone: Backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        after = followers(objects.backbone.instructions)[total.instruction]
        self.later = [o for o in objects.operations if o.temporary is None and o.instruction in after]
        """Operations on its results."""
        of_results = {self.loop[s].axis for o in self.later for s in o.loops if self.loop[s].is_reduction}
        self.summed_later = of_results - {self.loop[s].axis for s in total.loops if self.loop[s].is_reduction}
        """Axes of its results along which they are summed, or the least of them is taken, at once."""
        self.operation = {o.statement: o for o in objects.operations}
        self.levels = objects.levels
        self.own = {self.loop[s].extent: s for s in total.loops}
        self.kinds = {s: self.kind(s) for s in total.loops}
        self.summands = summands_of(self.backbone.instructions, total.instruction)
        users = {total.instruction, *self.summands}
        sources = needed(self.backbone.instructions)
        self._makers = {t.region: self._made_by(t, {t.producer, *sources[t.producer]}) for t in objects.temporaries}
        self.staged = [t for t in objects.temporaries if t.consumer in users and self.makers(t)]
        self.store = next((o for o in objects.operations if o.operator is Operator.STORE and o.temporary is None), None)

    @property
    def is_product(self) -> bool:
        """The summands are made of loaded values, all of which are used again: of two factors, or of two points (distances)."""
        return len(self.staged) >= 2 and all(self._is_reused(t) for t in self.staged) and not self._are_met_again()

    @property
    def lanes(self) -> str | None:
        """The value of `warps`."""
        return _LANES if self.shape.has_lanes else None

    def rounds(self) -> list[int]:
        """The outermost loops over what is summed."""
        return [s for s in self.total.loops if self.loop[s].is_reduction and self.loop[s].level == 0]

    def steps(self) -> list[Operation]:
        """The sum, the loads of its factors, and what puts them into tiles and gets them from there."""
        regions = {t.region for t in self.staged}
        numbers = {n for n, t in enumerate(self.objects.temporaries) if t.region in regions}
        moves = [o for o in self.objects.operations if o.temporary in numbers]
        return [self.total, *(o for t in self.staged for o in self.makers(t)), *moves]

    def habits(self) -> Iterator[Habit]:
        if not self.is_product:
            return
        if self.lanes is not None:
            yield "warps", (0,), self.lanes
        for statement, kind in self.kinds.items():
            yield "dim_kind", (statement,), kind
        yield from self._summed_at_once()
        for number in self.summands:
            yield from (("order", (s, self.own[self.loop[s].extent]), "MERGED") for s in self.operation[number].loops)
        threads = self.threads()
        for inner, outer in pairwise(threads):
            yield "thread_mapping", (outer, inner), "MAPPED_OUT"
        for temporary in self.staged:
            yield from self.copied(temporary, threads)
        for temporary in self.staged:
            yield from self._laid_out(temporary)
        yield from self._apart()
        yield from self.others()
        yield from self.sizes()
        if self.store is not None:
            last = self._vector(self.backbone.instructions[self.store.instruction].access, self.store.loops)
            if last is not None:
                yield "dim_kind", (last,), "VECTOR"

    def _summed_at_once(self) -> Iterator[Habit]:
        """A block goes along results that are summed, a tile after the other, of which each thread sums its own."""
        rounds = [s for s in self.own.values() if self.loop[s].level == 0 and self.loop[s].axis in self.summed_later]
        for inner, outer in product(self.rounds(), rounds):
            yield "order", (inner, outer), "INNER"
        for operation in self.later if self.summed_later else ():
            for statement in operation.loops:
                own = self.own.get(self.loop[statement].extent)
                if own is None or self.loop[statement].axis not in self.summed_later:
                    continue
                if self.loop[own].level == 0:
                    yield "order", (statement, own), "MERGED"
                yield "dim_kind", (statement,), self.kinds[own]
                if self.kinds[own] == "THREAD":
                    yield "thread_mapping", (statement, own), "MAPPED"

    def threads(self) -> list[int]:
        """Loops of the sum that threads share out, the fastest dimension first."""
        return sorted((s for s, kind in self.kinds.items() if kind == "THREAD"), key=self._stored_stride)

    def kind(self, statement: int) -> str:
        loop = self.loop[statement]
        levels = self.levels[loop.axis]
        if loop.is_reduction:
            return "LOOP" if loop.level < levels - 1 else "UNROLL"
        if loop.level == 0:
            return "LOOP" if loop.axis in self.summed_later else "BLOCK"
        return "THREAD" if loop.level == (2 if levels > 3 else 1) else "UNROLL"

    def copied(self, temporary: Temporary, threads: list[int]) -> Iterator[Habit]:
        """The tile is copied by threads, ahead, and permuted."""
        outside = {e for e, s in self.own.items() if self.loop[s].level == 0}
        is_spread = self.shape.is_spread and self.objects.is_copy(temporary)
        if is_spread:
            yield "spread", (temporary.region,), "YES"
        for is_outside, order in ((True, "MERGED"), (False, "BEFORE")):
            for statement in self.made_in(temporary):
                extent = self.loop[statement].extent
                if (extent in outside) == is_outside:
                    yield "order", (statement, self.own[extent]), order
        vector, vectors = self.vector_of(temporary), tuple(self._vectors(temporary))
        if vector is not None:
            pair = next(p for p in temporary.pairs if p.extent == vector)
            for statement in (*(() if is_spread else (*vectors, pair.store)), pair.load):
                yield "dim_kind", (statement,), "VECTOR"
        if not is_spread:
            for maker in self.makers(temporary):
                inside = [s for s in maker.loops if self.loop[s].extent not in outside and s not in vectors]
                yield from self._along_loops(inside, threads, vector)
        for load in self._loads(temporary):
            access = self.backbone.instructions[load.instruction].access
            if access is not None:
                yield "mem_space", (access.region,), "GLOBAL"
            yield "cache", (load.statement,), "L2"
        yield "stages", (temporary.region,), "1" if self.shape.is_small else "2"
        yield "swizzle", (temporary.region,), "PERMUTED"

    def _along_loops(self, loops: Sequence[int], threads: list[int], vector: int | None) -> Iterator[Habit]:
        """Threads copy along the loops that they share out anyway; a level that is none of those takes part of the slice. vector:
        the extent of those that are loaded."""
        free = list(threads)
        for statement in loops:
            if (own := self.own[self.loop[statement].extent]) in free:
                free.remove(own)
                yield "dim_kind", (statement,), "THREAD"
                yield "thread_mapping", (statement, own), "MAPPED"
        of_slice = [s for s in loops if (e := self.loop[s].extent) != vector and self.loop[self.own[e]].is_reduction]
        for statement, level in zip(of_slice, list(free), strict=False):
            yield "dim_kind", (statement,), "THREAD"
            yield "thread_mapping", (statement, level), "MAPPED"
        for statement in loops:
            yield "dim_kind", (statement,), "UNROLL"

    def _apart(self) -> Iterator[Habit]:
        """Nests of threads stand one after the other: those of each load, of each step that makes a tile of it, each store to a
        tile, each read of one, the sum."""
        for temporary in self.staged:
            makers = self.makers(temporary)
            for pair in temporary.pairs:
                yield from (("order", (o.statement, pair.store), "BEFORE") for o in makers)
                yield "order", (self.total.statement, pair.load), "AFTER"
            for maker in makers:
                for number in (named_by(o) for o in self.backbone.instructions[maker.instruction].operands):
                    if number is not None:
                        yield from (("order", (number, s), "BEFORE") for s in maker.loops if self.loop[s].level)
        for one in self.staged:
            for other in self.staged:
                if one is not other:
                    for pair in other.pairs:
                        yield from (("order", (o.statement, pair.store), "BEFORE|AFTER") for o in self.makers(one))
                        yield "order", (one.load, pair.load), "BEFORE|AFTER"
                    for maker, its in product(self.makers(one), self.makers(other)):
                        yield from (("order", (maker.statement, s), "BEFORE|AFTER") for s in its.loops)

    def others(self) -> Iterator[Habit]:
        """Habits for operations other than the sum."""
        return iter(())

    def sizes(self) -> Iterator[Habit]:
        """Vectors as wide as they may be, and `_RESULTS` results of a thread along each axis that threads share out, or twice as
        many."""
        along = 2 * _RESULTS if self.shape.is_tall else _RESULTS
        lanes = max(1, WIDEST_BYTES // self.backbone.instructions[self.total.instruction].dtype.size_bytes)
        vectors = {v for t in self.staged if (v := self.vector_of(t)) is not None}
        for extent in sorted(vectors):
            yield "size", (extent,), str(lanes)
        if self.shape.threads is not None:
            for statement, size in zip(self.threads(), reversed(self.shape.threads), strict=False):
                yield "size", (self.loop[statement].extent,), str(size)
        unrolled = (self.loop[s] for s, kind in self.kinds.items() if kind == "UNROLL")
        of_axis: dict[int, list[Loop]] = {}
        for loop in unrolled:
            if not loop.is_reduction and loop.extent not in vectors and loop.level:
                of_axis.setdefault(loop.axis, []).append(loop)
        for axis, listed in of_axis.items():
            has_vector = any(self.backbone.extents[v].axis == axis for v in vectors)
            left = _RESULTS // lanes if has_vector else along
            for loop in sorted(listed, key=lambda x: -x.level):
                size = max((n for n in self.backbone.extents[loop.extent].sizes if n <= left), default=1)
                yield "size", (loop.extent,), str(size)
                left //= size

    def _laid_out(self, temporary: Temporary) -> Iterator[Habit]:
        """The tile lies as its array does, threads next to each other where they are in the sum."""
        access = self.backbone.instructions[self._source(temporary).instruction].access
        number = self.objects.temporaries.index(temporary)
        pairs = list(zip(temporary.pairs, self.objects.pairs_of(number), strict=True))
        ordered = sorted(
            (-self.objects.stride(access, self.loop[p.store].axis), *self.place(p.extent), n)
            for p, n in pairs
            if self.loop[p.store].level
        )
        for n, (*_, first) in enumerate(ordered):
            for *_, second in ordered[n + 1 :]:
                yield "layout", (first, second), "OUTER"

    def place(self, extent: int) -> tuple[bool, bool, int]:
        """Among the levels of an axis: registers, threads, then a vector."""
        loop = self.loop[self.own[extent]]
        is_thread = self.kinds[loop.statement] == "THREAD"
        return loop.is_innermost and self.levels[loop.axis] > 3, is_thread, loop.level

    def _are_met_again(self) -> bool:
        """Whether results are used once more when a sum of them is known, so that a block has to keep all of them (the place of
        the least one)."""
        after = followers(self.backbone.instructions)
        along = {o.instruction: [self.loop[s] for s in o.loops if self.loop[s].axis in self.summed_later] for o in self.later}
        sums = (number for number, loops in along.items() if any(x.is_reduction for x in loops))
        waiting = set[int]().union(*(after[number] for number in sums))
        return any(along[number] for number in waiting & along.keys())

    def _is_reused(self, temporary: Temporary) -> bool:
        """The sum runs over an axis that the load does not depend on."""
        loaded = {self.loop[s].axis for s in self.operation[temporary.producer].loops}
        return any(self.loop[s].axis not in loaded for s in self.total.loops)

    def makers(self, temporary: Temporary) -> tuple[Operation, ...]:
        """The load of a tile, or loads and what makes its elements of theirs, one by one; none for a value that is made otherwise
        or serves others, too."""
        return self._makers[temporary.region]

    def made_in(self, temporary: Temporary) -> Iterator[int]:
        """The loops of these."""
        return (statement for maker in self.makers(temporary) for statement in maker.loops)

    def _made_by(self, temporary: Temporary, found: set[int]) -> tuple[Operation, ...]:
        """found: the instructions that its values depend on, and the one that makes them."""
        instructions = self.backbone.instructions
        if instructions[temporary.producer].operator is Operator.LOAD:
            return (self.operation[temporary.producer],)
        axes = set(instructions[temporary.producer].axes)
        if not axes <= set(instructions[self.total.instruction].axes):
            return ()
        for one in (instructions[n] for n in found):
            reads_on = any(isinstance(o, Previous) for o in one.operands)
            if one.carry is not None or reads_on or not set(one.axes) <= axes:
                return ()
        loads = [n for n in found if instructions[n].operator is Operator.LOAD]
        users = {n for n, user in enumerate(instructions) if any(named_by(o) in found for o in user.operands)}
        if not any(set(instructions[n].axes) == axes for n in loads) or not users <= found | {temporary.consumer}:
            return ()
        return tuple(self.operation[n] for n in sorted(found))

    def _loads(self, temporary: Temporary) -> list[Operation]:
        return [o for o in self.makers(temporary) if o.operator is Operator.LOAD]

    def _source(self, temporary: Temporary) -> Operation:
        """The load along whose array the tile is made."""
        axes = set(self.backbone.instructions[temporary.producer].axes)
        return next(o for o in self._loads(temporary) if set(self.backbone.instructions[o.instruction].axes) == axes)

    def _stored_stride(self, statement: int) -> int:
        access = None if self.store is None else self.backbone.instructions[self.store.instruction].access
        return self.objects.stride(access, self.loop[statement].axis)

    def vector_of(self, temporary: Temporary) -> int | None:
        """The extent along which vectors are loaded."""
        source = self._source(temporary)
        vector = self._vector(self.backbone.instructions[source.instruction].access, source.loops)
        return None if vector is None else self.loop[vector].extent

    def _vectors(self, temporary: Temporary) -> Iterator[int]:
        """The loops of vectors that are loaded."""
        extent = self.vector_of(temporary)
        for load in self._loads(temporary):
            vector = self._vector(self.backbone.instructions[load.instruction].access, load.loops)
            if vector is not None and self.loop[vector].extent == extent:
                yield vector

    def _vector(self, access: Access | None, loops: tuple[int, ...]) -> int | None:
        """The loop along which neighbours in memory lie."""
        return next((s for s in loops if self.loop[s].is_innermost and self.objects.stride(access, self.loop[s].axis) == 1), None)
