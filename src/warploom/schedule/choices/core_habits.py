"""Decisions that fast CPU kernels mostly have in common: starting points for the descents of a search.

Sums keep many results of a core in vector registers: neighbours in memory lie in the lanes, and a few vectors next to each other
and a few rows below each other take part in one step of the sum, so that each vector and each factor that is read serves several
products (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008).

Goal and non-goal are those of `habits`: decisions in an order in which each is possible after those before it; nothing is ruled
out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import combinations, zip_longest

from warploom.machines import TILE_ROWS, TILE_WORDS
from warploom.schedule.backbone import Instruction, Operator, needed, symmetry_of, tiled_sums
from warploom.schedule.choices.core_tiles import fitting_tiles, is_tight
from warploom.schedule.choices.decided import Temporary
from warploom.schedule.choices.habits_dots import dots_habits
from warploom.schedule.choices.habits_elementwise import elementwise_habits
from warploom.schedule.choices.inputs import leaves_caches
from warploom.schedule.choices.kept_totals import keeping_sums
from warploom.schedule.choices.objects import Habit, Objects, Operation
from warploom.schedule.targets import Target

_WAYS = 6
_BUSY = 10
"""Totals that keep two units of multiply-adds busy though some loads are late: eight would do if none were."""
_FETCH = 0.25
"""Multiply-adds whose time a vector from the second cache takes, beyond what passes beside them."""
_KEPT_STEPS = (8, 1), (4, 2), (8, 2), (16, 1)
"""Rows that are added to kept totals at once, by vectors next to each other."""
_IN_TILES = [(2 * TILE_ROWS, 2), (TILE_ROWS, 4), (TILE_ROWS, 2), (TILE_ROWS, 1)]
"""Rows and vectors of sums in tile registers: two tiles of rows by two of columns, which need the fewest loads for a product, or
one by several."""
_IN_LINE = ((1, 4), (2, 4))
"""Rows and vectors of sums along the lanes: one row at a time streams, but rows that are a power of two apart meet in few sets of
a cache."""
_ROW_BY_ROW = (2, 8), (2, 4)
"""The same where sums take their rows one after the other, and the last pass takes them together."""
_TILES_OF_BLOCK, _MOST_PADDED = 16, 1.04
"""Tiles below each other in a block of a halved sum, at most, and the rows with padding over the fewest that there can be."""
_ONE_ROW = ((1, 4), (1, 8), (1, 2))
"""The same where stores go around the caches: several rows at once are slower than one."""


def core_habits(objects: Objects, target: Target) -> tuple[tuple[Habit, ...], ...]:
    """Ways to begin, from which descents take turns. Of those for sums half have lanes across the rows of a result where that may
    be better; of the others most copy a factor that all rows use again."""
    if not objects.sums:
        return elementwise_habits(objects, target)
    symmetry = symmetry_of(objects.backbone)
    start: tuple[Habit, ...] = () if symmetry is None else (("mirror", (0,), "YES"),)
    is_tiled = bool(tiled_sums(objects.backbone, target.tiles))
    tiles = _IN_TILES if is_tiled else _halved_tiles(objects, target) if symmetry is not None else _tiles(target)
    if all(_Sum(objects, target, o, *tiles[0]).is_along_lanes for o in objects.sums):
        total = _Sum(objects, target, objects.sums[0], *tiles[0])
        tiles = list(_ONE_ROW) if total.passes_again else [*_IN_LINE, *tiles]
    across = _ways(objects, target, tiles, _Sum.across)[: _WAYS // 2]
    one_by_one = _ways(objects, target, _ROW_BY_ROW, _Sum.one_by_one)
    dots = () if symmetry is not None else dots_habits(objects, target)
    first = (*across, *dots, *one_by_one)
    is_plain = symmetry is None and not is_tiled
    panels = _panels(objects, target) if is_plain else _ways(objects, target, tiles, _Sum.packed) if is_tiled else []
    others = panels or _ways(objects, target, tiles)
    ways = [(*start, *way) for way in (*first, *others[: _WAYS - len(first)])]
    if symmetry is not None:  # a small one is faster whole, and compiles sooner
        whole = _ways(objects, target, _tiles(target))[:1]
        ways = [*ways[:1], *((("mirror", (0,), "NO"), *way) for way in whole), *ways[1 : _WAYS - len(whole)]]
    ways = [way for pair in zip_longest(ways, _keeping(objects, target), fillvalue=()) for way in pair]
    return tuple(dict.fromkeys(tuple(dict.fromkeys(way)) for way in ways if way))


def _ways(
    objects: Objects, target: Target, tiles: Iterable[tuple[int, int]], form: Callable[[_Sum], _Sum | None] = lambda total: total
) -> list[tuple[Habit, ...]]:
    """A way for each tile in which some sum has that form; the others are as they are."""
    found: list[tuple[Habit, ...]] = []
    for rows, vectors in tiles:
        sums = [_Sum(objects, target, total, rows, vectors) for total in objects.sums]
        forms = [form(total) for total in sums]
        if any(forms):
            found.append(tuple(habit for new, old in zip(forms, sums, strict=True) for habit in (new or old).habits()))
    return found


def _keeping(objects: Objects, target: Target) -> Iterator[tuple[Habit, ...]]:
    """Ways in which totals of some sums lie in an array, so that a matrix whose columns are summed is read row by row."""
    keeping = keeping_sums(objects.backbone)
    for rows, vectors in _KEPT_STEPS:
        sums = [_Sum(objects, target, o, rows, vectors, keeps=o.instruction in keeping) for o in objects.sums]
        if any(s.keeps for s in sums):
            yield tuple(h for s in sums for h in s.habits())


def _tiles(target: Target) -> list[tuple[int, int]]:
    """Rows and vectors of a step that the registers hold, those with the fewest loads for a product first."""
    most = target.max_unroll // max(target.vector_lanes, default=1)
    return sorted(fitting_tiles(target, target.reserved_registers, most), key=lambda tile: sum(tile) / math.prod(tile))


def _halved_tiles(objects: Objects, target: Target) -> list[tuple[int, int]]:
    """The same for sums of which half is made: those with the fewest clocks for it, with what lies beyond the diagonal. Sums of
    one product, all of whose factors are copied, need few registers for addresses."""
    total = _Sum(objects, target, objects.sums[0], 1, 1)
    most = target.max_unroll // max(target.vector_lanes, default=1)
    left = int(is_tight(target)) if total.products == 1 else target.reserved_registers
    return sorted(fitting_tiles(target, left, most), key=lambda tile: total.clocks(tile) * total.made(tile))


def _panels(objects: Objects, target: Target) -> list[tuple[Habit, ...]]:
    """Ways for products one factor of which lies along the lanes and serves all rows: it is read where it lies if half of the
    second cache holds it, which saves the copy, else in a copy."""
    total = _Sum(objects, target, objects.sums[0], 1, 1)
    tiles = sorted(fitting_tiles(target, 1, target.max_unroll), key=total.clocks)
    in_place, packed = (_ways(objects, target, tiles, form) for form in (_Sum.in_place, _Sum.packed))
    return [way for pair in zip_longest(in_place, packed) for way in pair if way is not None]


class _Sum:
    """Habits of one sum: `rows` below each other by `vectors` next to each other stay in registers."""

    def __init__(
        self, objects: Objects, target: Target, total: Operation, rows: int, vectors: int, *, keeps: bool = False
    ) -> None:
        self.objects, self.total, self.rows, self.vectors = objects, total, rows, vectors
        self.loop = {x.statement: x for x in objects.loops}
        backbone = objects.backbone
        self.levels = objects.levels
        behind = needed(backbone.instructions)
        stores = [n for n, i in enumerate(backbone.instructions) if i.operator is Operator.STORE]
        own = next((n for n in stores if total.instruction in behind[n]), stores[0] if stores else None)
        store = None if own is None else backbone.instructions[own]
        access = None if store is None else store.access
        reduced = {self.loop[s].axis for s in total.loops if self.loop[s].is_reduction}
        results = [a for a in dict.fromkeys(self.loop[s].axis for s in total.loops) if a not in reduced]
        self.loads = [i for i in backbone.instructions if i.operator is Operator.LOAD]
        self.for_sums = frozenset(o.instruction for o in objects.sums).union(*(behind[o.instruction] for o in objects.sums))
        """The sums of the kernel, and the instructions that one of them waits for."""
        summed = [i for n in sorted(behind[total.instruction]) if (i := backbone.instructions[n]).operator is Operator.LOAD]
        in_line = {a for a in (*results, *reduced) if any(objects.stride(x.access, a) == 1 for x in summed)}
        shared = {a for i in summed for a in i.axes if not set(results) <= set(i.axes)}
        along = [a for a in results if (a in in_line or a in shared) and objects.stride(access, a) == 1]
        steps = [a for a in reduced if a in in_line]
        self.dtype = backbone.instructions[total.instruction].dtype
        self.width = max(target.lanes(self.dtype.size_bytes), default=1)
        self.lanes = along[0] if along else steps[0] if steps else None
        """The axis that vectors lie along: one of the results if what is read along it lies in line or is used again, and so is
        worth a copy; else one that is summed."""
        self.reduced = reduced
        self.is_along_lanes = self.lanes in reduced
        read = [x.access.region for x in self.loads if x.access is not None and self.lanes in x.axes]
        self.passes_again = self.is_along_lanes and len(set(read)) < len(read) and leaves_caches(backbone, target)
        """Several passes read the same array along its rows, which come from memory: large norms, softmax."""
        self.products = len(backbone.instructions[total.instruction].operands) // 2
        """Products that a step of the sum adds: of several, those factors that all lanes share are loaded where they are used."""
        others = [a for a in results if a != self.lanes]
        used_again = [a for a in others if any(a not in axes for axes in self._read_along(self.lanes))]
        self.below = next(reversed(used_again or others), None)
        """The axis of the rows: one along which a vector that is read is used again, if there is one; of several the innermost,
        whose rows lie nearest to each other."""
        self.keeps = keeps and self.below is None and self.lanes in results and all(self.levels[a] > 1 for a in reduced)
        """Totals lie in an array: each step of the sum takes up all of them again."""

        self.is_tiled = total.instruction in tiled_sums(backbone, target.tiles)
        self.results = results
        self.columns = next((a for a in results if objects.stride(access, a) == 1), None)
        self.is_halved = symmetry_of(backbone) is not None
        """Half of it is made, whose totals stay in registers: blocks of rows, and of each one what lies in its columns."""
        self.room = target.shared_bytes
        """Bytes of slices and of factors that are read where they lie: half of the second cache."""
        self.is_across = self.is_packed = self.is_in_place = self.is_one_by_one = False
        self.is_tight = is_tight(target)
        self.is_alone = target.rates.cores == 1
        """One thread computes all, so that it copies an operand before all else."""

    @property
    def _written_out(self) -> tuple[int | None, ...]:
        """Axes of which a step holds several rows."""
        return (self.below, *(self.reduced if self.keeps else ()))

    def _read_along(self, axis: int | None) -> list[set[int]]:
        """Axes of each load that moves along that one."""
        return [set(i.axes) for i in self.loads if axis in i.axes]

    def across(self) -> _Sum | None:
        """The same sum with lanes across the rows of its results, whose columns take the place of rows: where vectors along them
        have a remainder, lie partly outside of an array, or need copies with elements several times; None elsewhere."""
        if self.columns is None or not self._is_poor(self.columns):
            return None
        for lanes in self.results:
            read = self._read_along(lanes)
            room = self.objects.backbone.axes[lanes].size
            is_free = lanes != self.columns and read and all(self.columns not in axes for axes in read)
            if is_free and room % self.width == 0 and room >= self.width * self.vectors:
                turned = copy(self)
                turned.lanes, turned.below, turned.is_across = lanes, self.columns, True
                return turned
        return None

    def packed(self) -> _Sum | None:
        """The same sum with the factor that lies along the lanes copied slice by slice into memory that its steps read one after
        the other, and totals in registers; None where there is no such factor, or it serves only the rows of one step."""
        if (
            self.below is None
            or self.is_along_lanes
            or self._size(self.below) <= self.rows
            or not any(map(self._is_packed, self.loads))
        ):
            return None
        packed = copy(self)
        packed.is_packed = True
        return packed

    def in_place(self) -> _Sum | None:
        """The same where that factor is read where it lies, in line along the lanes and as it is multiplied, since all of it
        stays in the second cache."""
        found = self.packed()
        if found is None or self.lanes is None:
            return None
        for load in filter(self._is_packed, self.loads):
            is_in_line = self.objects.stride(load.access, self.lanes) == 1 and load.dtype == self.dtype
            if not is_in_line or self._bytes(load) > self.room:
                return None
        found.is_packed, found.is_in_place = False, True
        return found

    def one_by_one(self) -> _Sum | None:
        """The same sum along the lanes with its rows one after the other, where a later pass over them takes them together; None
        elsewhere, and where rows come from memory, which are done with one by one."""
        later = [o for o in self.objects.operations if o.temporary is None and o.instruction not in self.for_sums]
        passes = any(self.loop[s].axis == self.lanes for o in later for s in o.loops)
        if not self.is_along_lanes or self.below is None or self.passes_again or not passes:
            return None
        found = copy(self)
        found.is_one_by_one = True
        return found

    def clocks(self, tile: tuple[int, int]) -> float:
        """Time of a product in tiles of so many rows and vectors, against the least: that of the multiply-adds, of the loads or
        of the totals that keep a core busy, whichever are more, and of vectors that come from the second cache, once for all
        rows; with the rows and vectors that lie in padding."""
        rows, vectors = tile
        steps = max(rows * vectors, rows + vectors, _BUSY) / (rows * vectors) + _FETCH / rows
        return steps * self._padded(self.below, rows) * self._padded(self.lanes, vectors * self.width)

    def made(self, tile: tuple[int, int]) -> float:
        """Share of a halved sum that tiles of so many rows and vectors make: those on the diagonal or below."""
        rows, columns = tile[0], tile[1] * self.width
        size = 1 if self.below is None else self._size(self.below)
        return sum(-(-min(end, size) // columns) for end in range(rows, size + rows, rows)) * rows * columns / size**2

    def _padded(self, axis: int | None, step: int) -> float:
        size = 1 if axis is None else self._size(axis)
        return -(-size // step) * step / size

    def _bytes(self, load: Instruction) -> int:
        return math.prod(self._size(a) for a in load.axes) * load.dtype.size_bytes

    def _is_packed(self, load: Instruction) -> bool:
        """The load moves along the lanes and not along the rows, and reads no element at several points."""
        return self.lanes in load.axes and self.below not in load.axes and not self._is_window(load)

    def _is_window(self, load: Instruction) -> bool:
        """Neighbouring points read the same elements."""
        backbone = self.objects.backbone
        points = math.prod(backbone.axes[a].size for a in load.axes)
        return load.access is not None and points > backbone.regions[load.access.region].elements

    def _is_poor(self, axis: int) -> bool:
        backbone = self.objects.backbone
        if backbone.axes[axis].size % self.width:
            return True
        for load in self.loads:
            access = load.access
            if access is None or axis not in load.axes:
                continue
            if (access.fill is not None or self.objects.stride(access, axis) != 1) and self._is_window(load):
                return True
        return False

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
            elif extent.level == last and last > 0 and extent.axis in self._written_out and not self.is_across:
                yield "size", (number,), str(min(self.rows, TILE_ROWS) if self.is_tiled else self.rows)
            elif self._is_beside_tiles(extent.axis, extent.level):
                yield "size", (number,), str(self.rows // TILE_ROWS)
            elif self.is_tiled and extent.axis in self.reduced and extent.level == last > 0:
                yield "size", (number,), "|".join(str(n) for n in extent.sizes if n % TILE_WORDS == 0)
            elif extent.axis in self._turned_steps and extent.level == last > 0:
                yield "size", (number,), str(self.width)
            elif self.passes_again and extent.axis in self.results and 0 < extent.level < last:
                yield "size", (number,), "1"
            elif (self.is_packed or self.is_in_place or self._is_step(extent.axis)) and extent.level > 0:
                if (size := self._size_of_level(extent.axis, extent.level, extent.sizes)) is not None:
                    yield "size", (number,), str(size)
            elif self.is_halved and extent.axis in self.results and 0 < extent.level < last:
                yield "size", (number,), str(self._rows_of_block(extent.sizes) if extent.axis == self.below else 1)
        if self.is_across:
            yield from self._columns_in_registers()
        if self.is_halved:
            yield from self._kinds()
            yield from self._in_registers()
            yield from self._block_by_block()
        for temporary in self.objects.temporaries:
            producer = backbone.instructions[temporary.producer]
            apart = self.objects.stride(producer.access, self.lanes) != 1
            depends = {self.loop[p.store].axis for p in temporary.pairs}
            if temporary.consumer != self.total.instruction:
                continue
            is_copied = (apart or (self.is_packed and self._is_packed(producer))) and self.lanes in depends
            if is_copied or (self.is_halved and self.products == 1):
                yield from self._copied(temporary)
            elif self.is_in_place or ((self.products > 1 or self.is_packed) and self.lanes not in depends):
                yield from self._merged(temporary)
            elif self._is_row_of_tiles(temporary):
                yield from self._written_as_used(temporary)
        if self.is_along_lanes:
            yield from self._where_used()
        if self.keeps:
            yield from self._row_by_row()
        if self.is_across or self.is_packed or self.is_in_place or self.is_tiled:
            yield from self._in_registers()
        if self.is_packed or self.is_in_place:
            yield from self._rows_around_panels()
            yield from self._loaded_after()
        yield from self._kinds()

    def _kinds(self) -> Iterator[Habit]:
        for statement in self.total.loops:
            kind = self._kind(statement)
            if kind is not None:
                yield "dim_kind", (statement,), kind
            if kind == "UNROLL" and self.loop[statement].axis in self.reduced:
                yield "partials", (statement,), "TREE"
        for operation in self.objects.operations:
            if operation is not self.total and operation.operator is not Operator.LOAD and operation.temporary is None:
                is_summed = self.is_one_by_one and operation.instruction in self.for_sums
                for statement in operation.loops:
                    if is_summed and self.loop[statement].axis == self.below:
                        continue
                    if not self.loop[statement].is_reduction and (kind := self._kind(statement)) is not None:
                        yield "dim_kind", (statement,), kind

    def _is_beside_tiles(self, axis: int, level: int) -> bool:
        """A level of rows that steps from one tile to the next, all of them in tile registers."""
        return self.is_tiled and self.rows > TILE_ROWS and axis == self.below and level == self.levels[axis] - 2 > 0

    def _is_row_of_tiles(self, temporary: Temporary) -> bool:
        """A factor whose words lie along a sum in tiles: they are loaded as they lie in memory."""
        access = self.objects.backbone.instructions[temporary.producer].access
        return self.is_tiled and any(self.objects.stride(access, a) == 1 for a in self.reduced)

    def _written_as_used(self, temporary: Temporary) -> Iterator[Habit]:
        """A load stands in the loops of its use, and is written out with them."""
        for statement in self.objects.operations[temporary.producer].loops:
            if (kind := self._kind(statement)) == "UNROLL":
                yield "dim_kind", (statement,), kind
        yield from self._merged(temporary)

    def _columns_in_registers(self) -> Iterator[Habit]:
        """As many columns as fit and divide theirs, of as many rows as then fit; what is read without lanes is read where it is
        used, and along its lines last."""
        extents = list(enumerate(self.objects.backbone.extents))
        left = self.rows
        for axis in sorted(self.results, key=lambda a: a != self.below):
            if axis == self.lanes:
                continue
            for number, extent in extents:
                if extent.axis == axis and extent.level == self.levels[axis] - 1 and extent.level > 0:
                    size = max((n for n in extent.sizes if n <= left), key=lambda n: (self._size(axis) % n == 0, n), default=1)
                    left //= size
                    yield "size", (number,), str(size)
                elif extent.axis == axis and extent.level > 0 and self.is_alone:
                    yield "size", (number,), "1"
        steps = [self.loop[s] for s in self.total.loops if self.loop[s].is_reduction]
        for last in (x for x in steps if self._is_read_in_line(x.axis)):
            yield from (("order", (x.statement, last.statement), "OUTER") for x in steps if x.axis != last.axis)
        around = [s for s in self._around() if self.loop[s].level == 0]
        for column in (s for s in around if self.loop[s].axis == self.below):
            for row in (s for s in around if self.loop[s].axis != self.below):
                yield "order", (row, column), "OUTER"
        yield "prefetch", (0,), "AROUND"
        for pair in self.objects.pairs:
            if pair.temporary is None or pair.is_reserved:
                continue
            temporary = self.objects.temporaries[pair.temporary]
            is_broadcast = self.lanes not in self.objects.backbone.instructions[temporary.producer].axes
            if is_broadcast and temporary.consumer == self.total.instruction and self._kind(pair.target) in (None, "LOOP"):
                yield "order", (pair.source, pair.target), "MERGED"

    def _is_step(self, axis: int) -> bool:
        """Along it a halved sum adds in one loop: several products, or steps of which no two fit the registers."""
        return self.is_halved and (self.products > 1 or self.is_tight) and axis in self.reduced

    def _is_read_in_line(self, axis: int) -> bool:
        """Along the axis lies in line what all lanes share."""
        return any(self.objects.stride(x.access, axis) == 1 for x in self.loads if self.lanes not in x.axes)

    def _around(self) -> list[int]:
        """Loops over results around those that lie in registers, and not along the lanes."""
        others = [s for s in self.total.loops if self.loop[s].axis in self.results and self.loop[s].axis != self.lanes]
        return [s for s in others if self.loop[s].level == 0 or self.loop[s].level < self.levels[self.loop[s].axis] - 1]

    def _size(self, axis: int) -> int:
        return self.objects.backbone.axes[axis].size

    def _where_used(self) -> Iterator[Habit]:
        """In kernels that sum along rows, loads of what no sum reads (factors of columns) stand in the loops of their use: a copy
        never pays. Where later passes read rows from memory again, rows follow each other as they lie there, and the last pass
        fetches those that come next."""
        if self.passes_again:
            yield "prefetch", (0,), "NEXT"
            stores = (o for o in self.objects.operations if o.operator is Operator.STORE and o.temporary is None)
            yield from (("cache", (store.statement,), "NONE") for store in stores)
        instructions = self.objects.backbone.instructions
        for temporary in self.objects.temporaries:
            is_load, use = instructions[temporary.producer].operator is Operator.LOAD, temporary.consumer
            if is_load and instructions[use].carry is None and not (self.is_one_by_one and use in self.for_sums):
                yield from self._merged(temporary)

    def _merged(self, temporary: Temporary) -> Iterator[Habit]:
        """A load stands in the loops of its use."""
        for number in self.objects.pairs_of(self.objects.temporaries.index(temporary)):
            pair = self.objects.pairs[number]
            if self._kind(pair.target) not in ("UNROLL", "VECTOR"):
                yield "order", (pair.source, pair.target), "MERGED"
            elif self.is_packed or self.is_in_place or self.is_one_by_one or self.is_halved:
                yield "dim_kind", (pair.source,), self._kind(pair.target) or "UNROLL"

    def _in_registers(self) -> Iterator[Habit]:
        """The sum runs inside of the loops over its results, so that no total lies in an array."""
        loops = [self.loop[s] for s in self.total.loops]
        for result in loops:
            for step in loops:
                if step.is_reduction and not result.is_reduction and self._kind(result.statement) is None:
                    yield "order", (result.statement, step.statement), "OUTER"

    def _rows_around_panels(self) -> Iterator[Habit]:
        """Rows of the nearest cache take all vectors of a slice before the next rows do; slices are around all rows. Rows follow
        each other as they lie in memory."""
        loops = [x for s in self.total.loops if self._kind(s) is None and not (x := self.loop[s]).is_reduction]
        for rows in (x for x in loops if x.axis != self.lanes):
            for vectors in (x for x in loops if x.axis == self.lanes):
                is_slice = self.is_packed and vectors.level == 0
                yield "order", (vectors.statement, rows.statement), "OUTER" if is_slice else "INNER"
            for others in (x for x in loops if x.axis not in (self.lanes, self.below) and rows.axis == self.below):
                yield "order", (others.statement, rows.statement), "OUTER"

    def _size_of_level(self, axis: int, level: int, sizes: Sequence[int]) -> int | None:
        """The size of a level of loops around those in registers; None: any."""
        last = self.levels[axis] - 1
        if axis in self.reduced:
            is_as_read = all(x.dtype == self.dtype for x in self.loads)  # else words of several elements may be summed
            return min((n for n in sizes if is_as_read and self._size(axis) % n == 0), default=None)
        if axis != self.lanes:
            return min(sizes) if self.is_alone else None
        if level != last - 2:
            return None
        panels = -(-self._size(axis) // (self.width * self.vectors))
        bytes_of_panel = sum(self._bytes(x) for x in self.loads if self._is_packed(x)) / panels
        fitting = [n for n in sizes if panels % n == 0 and n * bytes_of_panel <= self.room]
        return max(fitting, default=1) if self.is_packed else 1

    def _loaded_after(self) -> Iterator[Habit]:
        """Loads that no sum reads come behind the steps, whose totals need the registers."""
        for load in self.objects.operations:
            if load.operator is Operator.LOAD and load.temporary is None and load.instruction not in self.for_sums:
                for step in self.total.loops:
                    if self.loop[step].is_reduction:
                        yield "order", (load.statement, step), "AFTER"

    def _rows_of_block(self, sizes: Sequence[int]) -> int:
        """Tiles below each other in a block of a halved sum: many, unless they reach far beyond the rows that there are."""
        assert self.below is not None
        rows = self._size(self.below)
        padded = {n: -(-rows // (self.rows * n)) * self.rows * n for n in sizes if n <= _TILES_OF_BLOCK}
        least = min(padded.values(), default=0)
        return max((n for n, size in padded.items() if size <= _MOST_PADDED * least), default=1)

    def _block_by_block(self) -> Iterator[Habit]:
        """A block of rows is done with all columns before the next one begins."""
        outermost = {self.loop[s].axis: s for s in self.total.loops if self.loop[s].level == 0}
        if self.below in outermost and self.lanes in outermost:
            yield "order", (outermost[self.below], outermost[self.lanes]), "OUTER"

    def _row_by_row(self) -> Iterator[Habit]:
        """The sum's outer part lies around the results; what it multiplies with is loaded before they begin."""
        loops = [self.loop[s] for s in self.total.loops]
        steps = [x for x in loops if x.is_reduction and x.level == 0]
        results = [x for x in loops if not x.is_reduction and self._kind(x.statement) is None]
        for step in steps:
            for result in results:
                yield "dim_kind", (result.statement,), "LOOP"
                yield "order", (step.statement, result.statement), "OUTER"
        for pair in self.objects.pairs:
            source = self.loop[pair.source]
            if pair.is_reserved or self.loop[pair.target].owner != self.total.statement or source.axis not in self.reduced:
                continue
            if source.level == 0:
                yield "order", (pair.source, pair.target), "MERGED"
            if self.lanes not in {self.loop[s].axis for s in self.objects.operations[source.owner].loops}:
                for result in results:
                    yield "order", (source.owner, result.statement), "BEFORE"

    def _copied(self, temporary: Temporary) -> Iterator[Habit]:
        """An operand is copied so that the vectors of a step follow each other: a slice at a time, in which the levels along the
        lanes lie innermost but for the one that steps from slice to slice. Of a halved sum factors of rows, too."""
        own = {self.loop[s].extent: s for s in self.total.loops}
        depends = {self.loop[p.store].axis for p in temporary.pairs}
        along = self.lanes if self.lanes in depends else self.below
        has_slices = along is not None and self._size(along) > (self.width * self.vectors if along == self.lanes else self.rows)
        for statement in self.objects.operations[temporary.producer].loops:
            loop = self.loop[statement]
            is_slice = loop.axis == along and loop.level == 0 and has_slices
            yield "order", (statement, own[loop.extent]), "MERGED" if is_slice else "BEFORE"
        producer = self.objects.operations[temporary.producer].statement
        if self.is_across or self.is_packed:
            for statement in self._around():
                if self.is_alone or self.loop[statement].level > 0:
                    yield "order", (producer, statement), "BEFORE"
        if self.is_halved:
            for loop in (self.loop[s] for s in self.total.loops):
                is_other = loop.axis in self.results and loop.axis != along and self._kind(loop.statement) is None
                if is_other and (loop.level > 0 or along == self.below):
                    yield "order", (producer, loop.statement), "BEFORE"
        if along is not None and (self.is_halved or self.is_packed):
            yield from self._as_it_lies(temporary, along)
            if self.is_tiled or self.is_halved:
                yield from self._turned(temporary, along)
        number = self.objects.temporaries.index(temporary)
        pairs = zip(temporary.pairs, self.objects.pairs_of(number), strict=True)
        levels = ((self.loop[p.store].axis, self.loop[p.store].level, n) for p, n in pairs)
        inner = self.levels[along] - (2 if along == self.lanes else 1) if along is not None else 0
        ordered = sorted(levels, key=lambda x: (x[0] == along and x[1] >= inner, x[0] != along, x[1]))
        for first, second in combinations([n for *_, n in ordered], 2):
            yield "layout", (first, second), "OUTER"

    @property
    def _turned_steps(self) -> set[int]:
        """Axes of a halved sum along which a copied factor lies in line: as many elements as a vector has lanes are turned."""
        copied = self.loads if self.is_halved and self.products == 1 else ()
        return {a for a in self.reduced if any(self.objects.stride(x.access, a) == 1 for x in copied)}

    def _turned(self, temporary: Temporary, along: int) -> Iterator[Habit]:
        """A copy of what lies in line along the sum goes along it, of as many lines as it has next to each other: blocks that
        are turned in registers (`schedule.cpu.columns`)."""
        operation = self.objects.operations[temporary.producer]
        access = self.objects.backbone.instructions[operation.instruction].access
        loops = [self.loop[s] for s in operation.loops]
        steps = [x for x in loops if x.axis in self.reduced and self.objects.stride(access, x.axis) == 1]
        lanes = [x for x in loops if x.axis == along and x.level == self.levels[along] - 1]
        if steps:
            yield from (("dim_kind", (x.statement,), "UNROLL") for x in lanes)
        for step in steps:
            yield "dim_kind", (step.statement,), "LOOP"
            yield from (("order", (step.statement, x.statement), "OUTER") for x in lanes)
            around = (x for x in loops if x.axis == along and x.level > 0 and x not in lanes)
            yield from (("order", (x.statement, step.statement), "OUTER") for x in around)

    def _as_it_lies(self, temporary: Temporary, along: int) -> Iterator[Habit]:
        """A copy of an operand whose neighbours lie along this axis goes along it, in vectors."""
        operation = self.objects.operations[temporary.producer]
        if self.objects.stride(self.objects.backbone.instructions[operation.instruction].access, along) != 1:
            return
        loops = [self.loop[s] for s in operation.loops]
        inner = [x for x in loops if x.axis == along and x.level > 0]
        for step in (x for x in loops if x.axis in self.reduced):
            yield from (("order", (step.statement, x.statement), "OUTER") for x in inner)
        for x in inner:
            rows = "UNROLL|VECTOR" if x.level == self.levels[along] - 1 else None
            if kind := self._kind(x.statement) if along == self.lanes else rows:
                yield "dim_kind", (x.statement,), kind

    def _kind(self, statement: int) -> str | None:
        loop = self.loop[statement]
        last = self.levels[loop.axis] - 1
        if loop.axis == self.lanes:
            return "VECTOR" if loop.level == last else "UNROLL" if loop.level == last - 1 and last > 1 else None
        if loop.axis == self.below or (self.is_across and loop.axis in self.results):
            is_row = loop.level == last and last > 0
            if is_row and self.is_one_by_one and loop.owner == self.total.statement:
                return "LOOP"
            return "UNROLL" if is_row or self._is_beside_tiles(loop.axis, loop.level) else None
        if self.keeps and loop.axis in self.reduced:
            return "UNROLL" if loop.level == last else "LOOP"
        return "LOOP" if loop.axis in self.reduced and loop.level == last else None
