"""Decisions that fast GPU kernels mostly have in common: starting points for the descents of a search.

Sums over tiles, as CUTLASS and others have them: blocks share out the results, threads keep a few of them in registers, and
what they read again comes from tiles in shared memory, which are copied ahead by all threads, in vectors, as they lie in memory.

Goal: decisions in an order in which each is possible after those before it, for most kernels. Non-goal: constraints. Nothing is
ruled out, and what contradicts the decisions before it is left out by whoever takes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

from warploom.machines import WIDEST_BYTES, MatrixInstruction
from warploom.schedule.backbone import Access, Backbone, Operator, followers, matrix_of, summands_of
from warploom.schedule.choices.decided import Temporary, Twins
from warploom.schedule.choices.habits_channels import CHANNEL_WAYS, Channels
from warploom.schedule.choices.habits_maps import maps_of
from warploom.schedule.choices.habits_one_pass import WAYS, OnePass
from warploom.schedule.choices.habits_one_pass_matrices import MATRIX_WAYS, OnePassMatrices
from warploom.schedule.choices.habits_reductions import WAYS as THREADS
from warploom.schedule.choices.habits_reductions import Reductions
from warploom.schedule.choices.habits_rows import SHARES_OF_ROWS, Rows
from warploom.schedule.choices.habits_windows import WAYS as WAYS_OF_WINDOWS
from warploom.schedule.choices.habits_windows import Windows
from warploom.schedule.choices.objects import Habit, Objects, Operation
from warploom.schedule.choices.twins import twins_of
from warploom.schedule.choices.warps import grids_of
from warploom.schedule.choices.windows import windowed_regions
from warploom.schedule.targets import Target

_RESULTS = 8
_LANES, _WARP = "4x8", (4, 8)


def habits(objects: Objects, target: Target) -> tuple[tuple[Habit, ...], ...]:
    """Ways to begin, from which descents take turns. None for kernels without a sum of products all of whose operands are used
    again, neighbours that read the same of an input, or rows that are summed and stored; several ways for some of them."""
    if (rewritten := objects.backbone.rewritten) is not None:
        matrices = [OnePassMatrices(objects, rewritten, *way) for way in MATRIX_WAYS]
        passes = matrices if matrices[0].applies else [OnePass(objects, rewritten, *way) for way in WAYS]
        return tuple(tuple(dict.fromkeys(one.habits())) for one in passes)
    found: list[tuple[Habit, ...]] = []
    matrices = {o.statement: on for o in objects.sums if (on := _matrix_of(objects, o)) is not None}
    together = _WAYS_OF_GROUPS if matrices and all(_has_groups(on, target) for on in matrices.values()) else ()
    ways = (*together, *_MATRIX_WAYS, _OF_FEW_BLOCKS if _results(objects) < _MANY_RESULTS else _OF_MANY_BLOCKS)
    twins = twins_of(objects)
    if len(objects.sums) == 1 and grids_of(objects, target) and all(on.piece == _LONG_PIECE for on in matrices.values()):
        ways = (*together, *_GRIDS, *ways[len(together) :])
    for shared in (twins, ()) if twins else ((),):
        for number, way in enumerate(ways if matrices else _ways_of_tiles(objects)):
            every = [
                MatrixTiles(objects, o, on, way, target.shared_bytes, shared)
                if isinstance(way, _MatrixWay) and (on := matrices.get(o.statement))
                else Tiles(objects, o, _WAYS_OF_TILES[min(number, 1)] if isinstance(way, _MatrixWay) else way)
                for o in objects.sums
            ]
            if any(isinstance(tiles, MatrixTiles) and not tiles.fits for tiles in every):
                continue
            order = _in_one_loop(every) if shared else _one_after_the_other(every)
            found.append(tuple(dict.fromkeys((*order, *(h for tiles in every for h in tiles.habits())))))
    windows = windowed_regions(objects.backbone)
    if windows:
        ways = [
            *(Windows(objects, windows, way, target.max_unroll) for way in WAYS_OF_WINDOWS),
            *(Channels(objects, windows, way, target.max_unroll) for way in CHANNEL_WAYS),
        ]
        found = [*(tuple(dict.fromkeys(way.habits())) for way in ways), *found]
    if not any(found):
        rows = [Rows(objects, *way) for way in SHARES_OF_ROWS]
        found = [tuple(dict.fromkeys(way.habits())) for way in rows]
        if not any(way.keeps for way in rows) or not any(found):
            found = [*(tuple(dict.fromkeys(Reductions(objects, threads).habits())) for threads in THREADS), *found]
    if not any(found):
        found = maps_of(objects)
    return tuple(way for way in dict.fromkeys(found) if way)


@dataclass(frozen=True, slots=True)
class _TileWay:
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


_WAYS_OF_TILES = (_TileWay(), _TileWay(is_tall=True, is_small=True, threads=(8, 8)))
_WAYS_WITH_LANES = (
    *(replace(way, has_lanes=True) for way in _WAYS_OF_TILES),
    *(_TileWay(is_spread=True, has_lanes=True, threads=threads) for threads in ((16, 16), (8, 16), (8, 8))),
    _TileWay(is_tall=True, is_spread=True, has_lanes=True, threads=(16, 16)),
)


def _ways_of_tiles(objects: Objects) -> Sequence[_TileWay]:
    """Warps have a shape where all sums are products whose threads lie along two axes."""
    tiles = [Tiles(objects, o, _TileWay()) for o in objects.sums]
    return _WAYS_WITH_LANES if all(t.is_product and len(t.threads()) == len(_WARP) for t in tiles) else _WAYS_OF_TILES


def _has_groups(on: MatrixInstruction, target: Target) -> bool:
    """Whether groups of warps multiply such factors."""
    return on.has_groups and on.factor in target.group_matrices


def _one_after_the_other(sums: Sequence[Tiles]) -> Iterator[Habit]:
    """Whole products follow each other, each with copies ahead of its own tiles; what is made of their results comes last."""
    products = [tiles for tiles in sums if tiles.is_product]
    for one, other in pairwise(products):
        for first in one.rounds():
            for second in other.rounds():
                yield "order", (first, second), "BEFORE"
    if len(products) > 1:
        last = products[-1]
        after = followers(last.backbone.instructions)
        made = set[int]().union(*(after[tiles.total.instruction] for tiles in products))
        for operation in last.objects.operations:
            if operation.temporary is None and operation.instruction in made:
                for first in last.rounds():
                    for second in (operation.statement, *(s for s in operation.loops if last.loop[s].level)):
                        yield "order", (first, second), "BEFORE"


def _in_one_loop(sums: Sequence[Tiles]) -> Iterator[Habit]:
    """Products whose outermost loops are one, in each round of which all copy ahead and multiply, one after the other."""
    products = [tiles for tiles in sums if tiles.is_product]
    for one, other in combinations(products, 2):
        for first, second in zip(one.rounds(), other.rounds(), strict=True):
            yield "order", (first, second), "MERGED"
        for mine, its in product(one.steps(), other.steps()):
            for statement in its.loops:
                if other.loop[statement].level:
                    yield "order", (mine.statement, statement), "BEFORE|AFTER"
            for statement in mine.loops:
                if one.loop[statement].level:
                    yield "order", (its.statement, statement), "BEFORE|AFTER"


def _results(objects: Objects) -> int:
    """Results of the kernel, those of several sums together."""
    summed = {x.axis for x in objects.loops if x.is_reduction}
    return math.prod(axis.size for n, axis in enumerate(objects.backbone.axes) if n not in summed)


def _matrix_of(objects: Objects, total: Operation) -> MatrixInstruction | None:
    """The instruction whose shape the tiles of a sum have."""
    instructions = objects.backbone.instructions
    on = matrix_of(instructions, instructions[total.instruction])
    axes = {e.axis: e.sizes for e in objects.backbone.extents}
    return on if on is not None and {(8,), (2,)} <= set(axes.values()) else None


class Tiles:
    """Habits of one sum."""

    def __init__(self, objects: Objects, total: Operation, way: _TileWay) -> None:
        self.objects, self.total = objects, total
        self.shape = way
        self.backbone: Backbone = objects.backbone
        self.loop = {x.statement: x for x in objects.loops}
        self.operation = {o.statement: o for o in objects.operations}
        self.levels = objects.levels
        self.own = {self.loop[s].extent: s for s in total.loops}
        self.kinds = {s: self.kind(s) for s in total.loops}
        self.summands = summands_of(self.backbone.instructions, total.instruction)
        users = {total.instruction, *self.summands}
        self.staged = [t for t in objects.temporaries if t.consumer in users and self._is_loaded(t)]
        self.store = next((o for o in objects.operations if o.operator is Operator.STORE and o.temporary is None), None)

    @property
    def is_product(self) -> bool:
        """What is summed is made of loaded values, all of which are used again: of two factors, or of two points (distances)."""
        return len(self.staged) >= 2 and all(self._is_reused(t) for t in self.staged)

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
        return [self.total, *(self.operation[t.producer] for t in self.staged), *moves]

    def habits(self) -> Iterator[Habit]:
        if not self.is_product:
            return
        if self.lanes is not None:
            yield "warps", (0,), self.lanes
        for statement, kind in self.kinds.items():
            yield "dim_kind", (statement,), kind
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

    def threads(self) -> list[int]:
        """Loops of the sum that threads share out, the fastest dimension first."""
        return sorted((s for s, kind in self.kinds.items() if kind == "THREAD"), key=self._stored_stride)

    def kind(self, statement: int) -> str:
        loop = self.loop[statement]
        levels = self.levels[loop.axis]
        if loop.is_reduction:
            return "LOOP" if loop.level < levels - 1 else "UNROLL"
        if loop.level == 0:
            return "BLOCK"
        return "THREAD" if loop.level == (2 if levels > 3 else 1) else "UNROLL"

    def copied(self, temporary: Temporary, threads: list[int]) -> Iterator[Habit]:
        """The tile is copied by threads, ahead, and permuted."""
        producer = self.operation[temporary.producer]
        loads = {self.loop[s].extent: s for s in producer.loops}
        outside = {e for e, s in self.own.items() if self.loop[s].level == 0}
        is_spread = self.shape.is_spread and self.objects.is_copy(temporary)
        if is_spread:
            yield "spread", (temporary.region,), "YES"
        for extent, statement in loads.items():
            if extent in outside:
                yield "order", (statement, self.own[extent]), "MERGED"
        for extent, statement in loads.items():
            if extent not in outside:
                yield "order", (statement, self.own[extent]), "BEFORE"
        vector = self.vector_of(temporary)
        if vector is not None:
            pair = next(p for p in temporary.pairs if p.extent == self.loop[vector].extent)
            for statement in (pair.load,) if is_spread else (vector, pair.store, pair.load):
                yield "dim_kind", (statement,), "VECTOR"
        if not is_spread:
            inside = {e: s for e, s in loads.items() if e not in outside}
            yield from self._along_loops(inside, threads, vector)
        access = self.backbone.instructions[temporary.producer].access
        if access is not None:
            yield "mem_space", (access.region,), "GLOBAL"
        yield "cache", (producer.statement,), "L2"
        yield "stages", (temporary.region,), "1" if self.shape.is_small else "2"
        yield "swizzle", (temporary.region,), "PERMUTED"

    def _along_loops(self, loads: Mapping[int, int], threads: list[int], vector: int | None) -> Iterator[Habit]:
        """Threads copy along the loops that they share out anyway; a level that is none of those takes part of the slice."""
        free = list(threads)
        for extent, statement in loads.items():
            if self.own[extent] in free:
                free.remove(self.own[extent])
                yield "dim_kind", (statement,), "THREAD"
                yield "thread_mapping", (statement, self.own[extent]), "MAPPED"
        slices = [s for e, s in loads.items() if self.loop[self.own[e]].is_reduction and s != vector]
        for statement, level in zip(list(slices), free, strict=False):
            yield "dim_kind", (statement,), "THREAD"
            yield "thread_mapping", (statement, level), "MAPPED"
        for statement in loads.values():
            if statement != vector:
                yield "dim_kind", (statement,), "UNROLL"

    def _apart(self) -> Iterator[Habit]:
        """Nests of threads stand one after the other: those of each load, each store to a tile, each read of one, the sum."""
        for temporary in self.staged:
            for pair in temporary.pairs:
                yield "order", (temporary.producer, pair.store), "BEFORE"
                yield "order", (self.total.statement, pair.load), "AFTER"
        for one in self.staged:
            for other in self.staged:
                if one is not other:
                    for pair in other.pairs:
                        yield "order", (one.producer, pair.store), "BEFORE|AFTER"
                        yield "order", (one.load, pair.load), "BEFORE|AFTER"
                    for statement in self.operation[other.producer].loops:
                        yield "order", (one.producer, statement), "BEFORE|AFTER"

    def others(self) -> Iterator[Habit]:
        """Habits for operations other than the sum."""
        return iter(())

    def sizes(self) -> Iterator[Habit]:
        """Vectors as wide as they may be, and `_RESULTS` results of a thread along each axis that threads share out, or twice as
        many."""
        along = 2 * _RESULTS if self.shape.is_tall else _RESULTS
        lanes = max(1, WIDEST_BYTES // self.backbone.instructions[self.total.instruction].dtype.size_bytes)
        vectors = {self.loop[v].extent for t in self.staged if (v := self.vector_of(t)) is not None}
        for extent in sorted(vectors):
            yield "size", (extent,), str(lanes)
        if self.shape.threads is not None:
            for statement, size in zip(self.threads(), reversed(self.shape.threads), strict=False):
                yield "size", (self.loop[statement].extent,), str(size)
        for statement, kind in self.kinds.items():
            loop = self.loop[statement]
            if kind == "UNROLL" and not loop.is_reduction and loop.extent not in vectors and loop.level:
                has_vector = any(self.backbone.extents[v].axis == loop.axis for v in vectors)
                yield "size", (loop.extent,), str(_RESULTS // lanes if has_vector else along)

    def _laid_out(self, temporary: Temporary) -> Iterator[Habit]:
        """The tile lies as its array does, threads next to each other where they are in the sum."""
        access = self.backbone.instructions[temporary.producer].access
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

    def _is_reused(self, temporary: Temporary) -> bool:
        """The sum runs over an axis that the load does not depend on."""
        loaded = {self.loop[s].axis for s in self.operation[temporary.producer].loops}
        return any(self.loop[s].axis not in loaded for s in self.total.loops)

    def _is_loaded(self, temporary: Temporary) -> bool:
        return self.backbone.instructions[temporary.producer].operator is Operator.LOAD

    def _stored_stride(self, statement: int) -> int:
        access = None if self.store is None else self.backbone.instructions[self.store.instruction].access
        return self.objects.stride(access, self.loop[statement].axis)

    def vector_of(self, temporary: Temporary) -> int | None:
        producer = self.operation[temporary.producer]
        return self._vector(self.backbone.instructions[producer.instruction].access, producer.loops)

    def _vector(self, access: Access | None, loops: tuple[int, ...]) -> int | None:
        """The loop along which neighbours in memory lie."""
        return next((s for s in loops if self.loop[s].is_innermost and self.objects.stride(access, self.loop[s].axis) == 1), None)


@dataclass(frozen=True, slots=True)
class _MatrixWay:
    sizes: Mapping[str, str]
    """By role of a level."""
    copied: Mapping[tuple[str, str], str]
    swizzle: str = "PERMUTED"
    is_grid: bool = False
    """Warps lie along the columns, too, and all threads share out the copies."""


class MatrixTiles(Tiles):
    """Habits of a sum whose products whole warps make (`nest.matrices`): the levels of `matrix_tiles`.

    Threads lie along the rows of a product (8 of them), its columns (4), and whole warps further along the rows. They copy both
    tiles in vectors of 16 bytes, so that neighbours are next to each other in memory and all of them take part.
    """

    def __init__(
        self,
        objects: Objects,
        total: Operation,
        on: MatrixInstruction,
        way: _MatrixWay,
        shared_bytes: int,
        twins: Sequence[Twins] = (),
    ) -> None:
        """twins: of the factors that sums in one loop share."""
        self.way = way
        super().__init__(objects, total, _TileWay())
        self.on = on
        self.left_out = {t.second.region for t in twins}
        self.shared_bytes = shared_bytes

    @property
    def fits(self) -> bool:
        """Whether the way is one for these factors: groups of warps take those that lie along the summed index."""
        return self.way.swizzle == "PERMUTED" or all(self._lies_along_sum(t) for t in self.staged)

    def _lies_along_sum(self, temporary: Temporary) -> bool:
        """Whether it is copied in vectors along the summed index."""
        vector = self.vector_of(temporary)
        return vector is not None and self.role(self.loop[vector].extent) == "k2"

    @property
    def lanes(self) -> str | None:
        return "GRID" if self.way.is_grid else None

    def role(self, extent: int) -> str:
        """`k1`: an axis (rows `x`, columns `y`, summed `k`) and a level."""
        found = self.backbone.extents[extent]
        sizes = self.backbone.extents[max(n for n, e in enumerate(self.backbone.extents) if e.axis == found.axis)].sizes
        own = self.own.get(extent)
        is_reduced = own is not None and self.loop[own].is_reduction
        return f"{'k' if is_reduced else 'x' if sizes == (8,) else 'y' if sizes == (2,) else '?'}{found.level}"

    def kind(self, statement: int) -> str:
        role = self.role(self.loop[statement].extent)
        if role == "y1" and self.way.is_grid:
            return "THREAD"
        return _MATRIX_KINDS.get(role, "BLOCK" if self.loop[statement].level == 0 else super().kind(statement))

    def threads(self) -> list[int]:
        own = {self.role(e): s for e, s in self.own.items()}
        return [own[role] for role in ("y3", "x3", "x1", *(("y1",) if self.way.is_grid else ())) if role in own]

    def copied(self, temporary: Temporary, threads: list[int]) -> Iterator[Habit]:
        del threads
        producer = self.operation[temporary.producer]
        loads = {self.loop[s].extent: s for s in producer.loops}
        outside = {e for e, s in self.own.items() if self.loop[s].level == 0}
        is_spread = self.way.is_grid and self.objects.is_copy(temporary)
        if is_spread:
            yield "spread", (temporary.region,), "YES"
        for extent, statement in loads.items():
            yield "order", (statement, self.own[extent]), "MERGED" if extent in outside else "BEFORE"
        if not is_spread:
            yield from self._along_threads(temporary, loads, outside)
        yield "cache", (producer.statement,), "L2"
        yield "stages", (temporary.region,), str(self.copies().get(temporary.region, _COPIES))
        yield "swizzle", (temporary.region,), self.way.swizzle

    def _along_threads(self, temporary: Temporary, loads: Mapping[int, int], outside: set[int]) -> Iterator[Habit]:
        """Threads copy along the loops that they share out anyway."""
        vector = self.vector_of(temporary)
        along = "" if vector is None else self.role(self.loop[vector].extent)
        if along == "x3" and self.on.piece < 8:
            vector, along = None, "narrow" if self.on.piece == 4 else "single"
        if vector is not None:
            pair = next(p for p in temporary.pairs if p.extent == self.loop[vector].extent)
            for statement in (vector, pair.store):
                yield "dim_kind", (statement,), "VECTOR"
        table = {**self.way.copied, **_SCATTERED}
        own = {self.role(e): s for e, s in self.own.items()}
        for extent, statement in loads.items():
            level = table.get((along, self.role(extent)))
            if extent in outside or statement == vector:
                continue
            if level is None or level not in own:
                yield "dim_kind", (statement,), "UNROLL"
            else:
                yield "dim_kind", (statement,), "THREAD"
                yield "thread_mapping", (statement, own[level]), "MAPPED"

    def others(self) -> Iterator[Habit]:
        """Habits that operate on the results, and load what that needs, behind the sum, in the threads and registers that hold
        the results."""
        staged = {self.operation[t.producer].statement for t in self._tiles()}
        after = followers(self.backbone.instructions)
        for operation in self.objects.operations:
            if operation.temporary is not None or operation is self.total or operation.statement in staged:
                continue
            if len(self.objects.sums) == 1 and self.total.instruction not in after[operation.instruction]:
                for first, second in product(self.rounds(), (operation.statement, *self._inside(operation))):
                    yield "order", (first, second), "BEFORE"
            for statement in operation.loops:
                own = self.own.get(self.loop[statement].extent)
                kind = self.kinds.get(own) if own is not None else None
                if own is not None and kind in ("THREAD", "UNROLL"):
                    yield "dim_kind", (statement,), kind
                    if kind == "THREAD":
                        yield "thread_mapping", (statement, own), "MAPPED"

    def _inside(self, operation: Operation) -> list[int]:
        return [s for s in operation.loops if self.loop[s].level]

    def copies(self) -> dict[int, int]:
        """Copies of the tile of each region, those of the kernel's other sums among them: three, two of each tile of the sum with
        the largest ones where shared memory has no room for more, since a loop fills all of its tiles as far ahead."""
        tiles = [t for t in self._tiles() if t.region not in self.left_out]
        each = {t.region: self._tile_bytes(t) for t in tiles}
        found = dict.fromkeys(each, _COPIES)
        of_sum: dict[int, list[int]] = {}
        for tile in tiles:
            of_sum.setdefault(tile.consumer, []).append(tile.region)
        for regions in sorted(of_sum.values(), key=lambda regions: sum(map(each.__getitem__, regions)), reverse=True):
            if sum(each[r] * n for r, n in found.items()) > self.shared_bytes:
                found.update(dict.fromkeys(regions, _COPIES - 1))
        return found

    def _tiles(self) -> list[Temporary]:
        """The tiles of all sums of the kernel."""
        sums = {o.instruction for o in self.objects.sums}
        return [t for t in self.objects.temporaries if t.consumer in sums and self._is_loaded(t)]

    def _tile_bytes(self, temporary: Temporary) -> int:
        """Bytes of one copy of a tile with the sizes of this way."""
        wanted, element = self._wanted(), self.backbone.instructions[temporary.producer].dtype.size_bytes
        extents = (p.extent for p in temporary.pairs if self.backbone.extents[p.extent].level)
        return element * math.prod(int(wanted.get(self.role(e), self.backbone.extents[e].sizes[0])) for e in extents)

    def _wanted(self) -> Mapping[str, str]:
        """Sizes by role; sums of one kernel, whose totals all stay in registers, take fewer columns each."""
        wanted = {**self.way.sizes, **_WIDE_SIZES} if self.on.factor_bytes > 4 else dict(self.way.sizes)
        if len(self.objects.sums) > 1:
            wanted |= {"y1": str(int(wanted["y1"]) // 2)} if wanted["y1"] != "1" else {"y2": str(int(wanted["y2"]) // 2)}
        return wanted

    def sizes(self) -> Iterator[Habit]:
        wanted = self._wanted()
        for extent in self.own:
            if size := wanted.get(self.role(extent)):
                yield "size", (extent,), size

    def place(self, extent: int) -> tuple[bool, bool, int]:
        return False, False, self.backbone.extents[extent].level


_COPIES = 3
"""Copies of a tile: one is read, the others are on their way."""
_MATRIX_KINDS = {
    "k0": "LOOP", "k1": "LOOP", "k2": "LOOP", "x1": "THREAD", "x2": "UNROLL", "x3": "THREAD", "y1": "UNROLL", "y2": "UNROLL",
    "y3": "THREAD", "y4": "UNROLL",
}  # fmt: skip
"""By role of a level in a product of matrices."""
_DEEP = {
    ("x3", "x1"): "x3", ("x3", "x2"): "y3", ("x3", "k1"): "x1", ("k2", "k1"): "x3", ("k2", "x1"): "x1", ("k2", "x2"): "y3",
    ("k2", "y2"): "x1", ("k2", "y3"): "y3", ("y4", "y3"): "y3", ("y4", "k1"): "x1", ("y4", "k2"): "x3",
}  # fmt: skip
"""By the level that vectors of a copy lie along, and one of its levels: whose threads share that one out."""
_FLAT = {
    ("x3", "x1"): "x1", ("x3", "x2"): "x3", ("x3", "k1"): "y3", ("k2", "k1"): "y3", ("k2", "x1"): "x1", ("k2", "x3"): "x3",
    ("k2", "y2"): "x3", ("y4", "y3"): "y3", ("y4", "k2"): "x3",
}  # fmt: skip
_SMALL = {
    ("x3", "x2"): "y3", ("x3", "k1"): "x1", ("x3", "k2"): "x3", ("k2", "x1"): "x1", ("k2", "x2"): "y3", ("k2", "x3"): "x3",
    ("k2", "k1"): "x1", ("k2", "y2"): "x3", ("k2", "y3"): "y3", ("y4", "y3"): "y3", ("y4", "k1"): "x1", ("y4", "k2"): "x3",
}  # fmt: skip
_OF_GROUPS = {("k2", "k1"): "x3", ("k2", "x1"): "x1", ("k2", "y2"): "x1", ("k2", "y3"): "y3"}
_SCATTERED = {
    ("narrow", "x1"): "x1", ("narrow", "x3"): "x3", ("narrow", "k2"): "y3", ("single", "x1"): "x1", ("single", "x3"): "x3",
    ("single", "k1"): "y3",
}  # fmt: skip
"""The same where 8 neighbours are more than a vector: elements of 4 bytes, of 8 bytes."""
_MATRIX_WAYS = (
    _MatrixWay({"k1": "8", "x1": "8", "x2": "4", "y1": "2", "y2": "8"}, _DEEP),
    _MatrixWay({"k1": "4", "x1": "2", "x2": "8", "y1": "1", "y2": "8"}, _FLAT),
)
"""Slices of 128 bytes and eight warps; of 64 bytes and two warps."""
_WAYS_OF_GROUPS = (
    _MatrixWay({"k1": "8", "x1": "8", "x2": "2", "y1": "4", "y2": "8"}, _OF_GROUPS, "ATOMS"),
    _MatrixWay({"k1": "8", "x1": "4", "x2": "4", "y1": "2", "y2": "8"}, _DEEP, "ATOMS"),
)
"""Where groups of four warps multiply together: two of them, 128 by 256 results of a block, or one, 128 by 128."""
_OF_FEW_BLOCKS = _MatrixWay({"k1": "4", "x1": "4", "x2": "4", "y1": "1", "y2": "8"}, _SMALL)
_OF_MANY_BLOCKS = _MatrixWay({"k1": "4", "x1": "4", "x2": "4", "y1": "2", "y2": "8"}, _SMALL)
"""Slices of 64 bytes and four warps: 64 by 128 results of a block, 128 by 128."""
_GRIDS = tuple(
    _MatrixWay({"k1": str(k1), "x1": "2", "x2": str(x2), "y1": str(y1), "y2": str(y2)}, {}, is_grid=True)
    for k1, x2, y1, y2 in ((8, 8, 4, 8), (8, 8, 2, 8), (4, 4, 2, 8), (8, 4, 2, 4))
)
"""Slices of 128 bytes; two by four warps, 128 by 256 results of a block, or two by two: 128 by 128, 64 by 128 in slices of 64
bytes, 64 by 64."""
_LONG_PIECE = 8
"""Neighbours of 16 bits in a register's row of a product."""
_MANY_RESULTS = 1 << 21
"""Results that make more blocks of 128 by 128 than GPUs have multiprocessors."""
_WIDE_SIZES = {"k1": "4", "x2": "4", "y1": "1", "y2": "8"}
"""In place of these for elements of 8 bytes, whose sums take two registers."""
