"""Habits of sums of products that whole warps make (`nest.matrices`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from warploom.machines import MatrixInstruction
from warploom.schedule.backbone import followers
from warploom.schedule.choices.decided import Temporary, Twins
from warploom.schedule.choices.habits_tiles import Tiles, TileWay
from warploom.schedule.choices.objects import Habit, Objects, Operation


@dataclass(frozen=True, slots=True)
class MatrixWay:
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
        way: MatrixWay,
        shared_bytes: int,
        twins: Sequence[Twins] = (),
    ) -> None:
        """twins: of the factors that sums in one loop share."""
        self.way = way
        super().__init__(objects, total, TileWay())
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
        return vector is not None and self.role(vector) == "k2"

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
        outside = {e for e, s in self.own.items() if self.loop[s].level == 0}
        is_spread = self.way.is_grid and self.objects.is_copy(temporary)
        if is_spread:
            yield "spread", (temporary.region,), "YES"
        for statement in self.made_in(temporary):
            extent = self.loop[statement].extent
            yield "order", (statement, self.own[extent]), "MERGED" if extent in outside else "BEFORE"
        if not is_spread:
            yield from self._along_threads(temporary, outside)
        for load in self._loads(temporary):
            yield "cache", (load.statement,), "L2"
        yield "stages", (temporary.region,), str(self.copies().get(temporary.region, _COPIES))
        yield "swizzle", (temporary.region,), self.way.swizzle

    def _along_threads(self, temporary: Temporary, outside: set[int]) -> Iterator[Habit]:
        """Threads copy along the loops that they share out anyway."""
        vector = self.vector_of(temporary)
        along = "" if vector is None else self.role(vector)
        if along == "x3" and self.on.piece < 8:
            vector, along = None, "narrow" if self.on.piece == 4 else "single"
        vectors = () if vector is None else tuple(self._vectors(temporary))
        if vector is not None:
            pair = next(p for p in temporary.pairs if p.extent == vector)
            for statement in (*vectors, pair.store):
                yield "dim_kind", (statement,), "VECTOR"
        table = {**self.way.copied, **_SCATTERED}
        own = {self.role(e): s for e, s in self.own.items()}
        for statement in self.made_in(temporary):
            extent = self.loop[statement].extent
            level = None if extent == vector else table.get((along, self.role(extent)))
            if extent in outside or statement in vectors:
                continue
            if level is None or level not in own:
                yield "dim_kind", (statement,), "UNROLL"
            else:
                yield "dim_kind", (statement,), "THREAD"
                yield "thread_mapping", (statement, own[level]), "MAPPED"

    def others(self) -> Iterator[Habit]:
        """Habits that operate on the results, and load what that needs, behind the sum, in the threads and registers that hold
        the results."""
        staged = {o.statement for t in self._tiles() for o in self.makers(t)}
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
        return [t for t in self.objects.temporaries if t.consumer in sums and self.makers(t)]

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
WAYS_OF_MATRICES = (
    MatrixWay({"k1": "8", "x1": "8", "x2": "4", "y1": "2", "y2": "8"}, _DEEP),
    MatrixWay({"k1": "4", "x1": "2", "x2": "8", "y1": "1", "y2": "8"}, _FLAT),
)
"""Slices of 128 bytes and eight warps; of 64 bytes and two warps."""
WAYS_OF_GROUPS = (
    MatrixWay({"k1": "8", "x1": "8", "x2": "2", "y1": "4", "y2": "8"}, _OF_GROUPS, "ATOMS"),
    MatrixWay({"k1": "8", "x1": "4", "x2": "4", "y1": "2", "y2": "8"}, _DEEP, "ATOMS"),
)
"""Where groups of four warps multiply together: two of them, 128 by 256 results of a block, or one, 128 by 128."""
OF_FEW_BLOCKS = MatrixWay({"k1": "4", "x1": "4", "x2": "4", "y1": "1", "y2": "8"}, _SMALL)
OF_MANY_BLOCKS = MatrixWay({"k1": "4", "x1": "4", "x2": "4", "y1": "2", "y2": "8"}, _SMALL)
"""Slices of 64 bytes and four warps: 64 by 128 results of a block, 128 by 128."""
GRIDS = tuple(
    MatrixWay({"k1": str(k1), "x1": "2", "x2": str(x2), "y1": str(y1), "y2": str(y2)}, {}, is_grid=True)
    for k1, x2, y1, y2 in ((8, 8, 4, 8), (8, 8, 2, 8), (4, 8, 2, 4), (8, 4, 2, 4))
)
"""Tiles of CUTLASS's, rows (y) by columns (x) by slice, slices of 128 bytes but for the third: 256x128x64 with four by two warps,
and 128x128x64, 64x128x32 and 64x64x64 with two by two."""
LONG_PIECE = 8
"""Neighbours of 16 bits in a register's row of a product."""
MANY_RESULTS = 1 << 21
"""Results that make more blocks of 128 by 128 than GPUs have multiprocessors."""
_WIDE_SIZES = {"k1": "4", "x2": "4", "y1": "1", "y2": "8"}
"""In place of these for elements of 8 bytes, whose sums take two registers."""
