"""Sums of products of words that a core makes in tile registers: parts of a nest in the shape of `machines.tiles`.

    for k:  rows[i, k], columns[k, j] from memory;  total[i, j] = fma(rows[i, k], columns[k, j], total[i, j])

Sixteen words along `k` lie next to each other in `rows`, sixteen along `j`, the lanes of a vector, in `columns`. Totals are in
tiles for as long as the part runs. Before and behind it they are in the sum's registers, so that all that follows is as the nest
says; but where they are set to zero straight before it, and straight behind it stored as they are, they need no registers.

Integers wrap, so that the order of the sum does not matter. Tiles are whole: sizes that they do not divide are left to vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from warploom.core.linear import Linear
from warploom.machines import TILE_ROWS, TILE_WORDS, TILES, TileInstruction, tile_instruction
from warploom.schedule.backbone import Constant, Operator
from warploom.schedule.nest.matrices import Point, load_of, offset_of, part_of, points_of
from warploom.schedule.nest.nodes import Affine, Argument, Cache, Compute, Kind, Load, Loop, Nest, Node, Ref, Register, Store
from warploom.schedule.nest.walk import references, statements


@dataclass(frozen=True, slots=True)
class TileFactor:
    """One factor in memory; places are in words."""

    buffer: int
    offset: Affine
    """By the loops of the sum."""
    starts: tuple[Point, ...]
    """Where the tiles of one step begin: indices of the loops that select the sum's registers along this factor."""
    step: int
    """From one row of a tile to the next."""


@dataclass(frozen=True, slots=True)
class TileProducts:
    """A part of a nest that a core computes in tile registers."""

    instruction: TileInstruction
    top: int
    """The outermost loop of the part."""
    sum: Compute
    rows: TileFactor
    columns: TileFactor
    steps: tuple[Loop, ...]
    """Loops along which is summed, outer to inner; the last does `TILE_WORDS` of its iterations at once."""
    lanes: Loop
    """The vector loop of the sum."""
    total_step: int
    """From a row of a tile of totals to the next, in vectors of the sum's registers."""

    @property
    def totals(self) -> int:
        """Tiles of totals."""
        return len(self.rows.starts) * len(self.columns.starts)


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """Where a part's totals go, tile by tile, rows of tiles around columns."""

    store: Store
    """It stores one total; all of its guards must hold."""
    places: tuple[Affine, ...]
    """Places of the first total of each tile."""
    step: int
    """Elements from one row of a tile to the next."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A factor as the sum reads it."""

    load: Load
    offset: Affine

    def along(self, loop: Loop) -> int:
        return self.offset.coefficient(loop.number)


def tiles_of(nest: Nest) -> tuple[TileProducts, ...]:
    """The parts of the nest that tile registers can compute; the rest of it is as it stands."""
    found = [_part(nest, s, path) for s, path in statements(nest.body) if isinstance(s, Compute)]
    return tuple(p for p in found if p is not None)


def stored_totals(nest: Nest, part: TileProducts, before: Node, behind: Node) -> StoredTotals | None:
    """Where the totals go if the neighbours of the part's outermost loop set all of them to zero and store all of them, row by
    row, and nothing else touches them; None otherwise."""
    total = part.sum.target
    touching = [s for s, _ in statements(nest.body) if any(r.value == total.value for refs in references(s) for r in refs)]
    (starting, start), (storing, store) = _held(before), _held(behind)
    if len(touching) != 3 or not isinstance(start, Compute) or not isinstance(store, Store) or not _is_zero(start):
        return None
    axes = nest.values[total.value].axes
    loops = _selecting(axes, store.argument, storing)
    if _selecting(axes, start.target, starting) is None or loops is None or not _is_plain(nest, store, total):
        return None
    lanes = next(loop for axis, loop in zip(axes, loops, strict=True) if axis.is_vector)
    if store.memory.offset.coefficient(lanes.number) != 1:
        return None
    sizes = [(loop.number, axis.size) for axis, loop in zip(axes, loops, strict=True) if loop is not lanes]
    places: list[Affine] = []
    steps: set[int] = set()
    for down in part.rows.starts:
        for beside in part.columns.starts:
            first = _register(nest, total, part.lanes, (*down, *beside))
            rows = [_place(store.memory.offset, lanes, sizes, first + n * part.total_step) for n in range(TILE_ROWS)]
            steps |= {after.constant - at.constant for at, after in pairwise(rows)}
            places.append(rows[0])
    return StoredTotals(store, tuple(places), steps.pop()) if len(steps) == 1 else None


def _held(node: Node) -> tuple[list[Loop], Node]:
    """Loops that are written out, in one another, and what they hold."""
    around: list[Loop] = []
    while isinstance(node, Loop) and node.kind in (Kind.UNROLL, Kind.VECTOR) and len(node.body) == 1:
        around.append(node)
        node = node.body[0]
    return around, node


def _is_zero(start: Compute) -> bool:
    """It moves zero, which has no sign, always."""
    match start.arguments:
        case (Constant(value=value, run_time=None),) if start.operator is Operator.MOVE and not start.guards:
            return value == 0 and math.copysign(1.0, value) > 0
        case _:
            return False


def _is_plain(nest: Nest, store: Store, total: Ref) -> bool:
    """It stores the totals as they are, by way of the caches."""
    memory, dtype = store.memory, nest.values[total.value].dtype
    is_total = isinstance(store.argument, Ref) and store.argument.value == total.value
    return is_total and memory.swizzle is None and memory.cache is Cache.ALL and nest.buffers[memory.buffer].dtype == dtype


def _selecting(axes: Sequence[Register], ref: Argument, around: Sequence[Loop]) -> list[Loop] | None:
    """The loop that runs along each axis of the registers, all of it; None unless all loops do that, each along one."""
    found: list[Loop] = []
    for axis, at in zip(axes, ref.at, strict=True) if isinstance(ref, Ref) else ():
        loop = next((x for x in around if at == Linear(((x.number, 1),)) and x.size == axis.size), None)
        if loop is None or (loop.kind is Kind.VECTOR) != axis.is_vector:
            return None
        found.append(loop)
    return found if found and sorted(x.number for x in found) == sorted(x.number for x in around) else None


def _place(offset: Affine, lanes: Loop, sizes: Sequence[tuple[int, int]], register: int) -> Affine:
    """Where the first lane of the vector of that number goes. sizes: of the loops that select it, outer to inner."""
    at: dict[int, Affine] = {lanes.number: Linear()}
    for number, size in reversed(sizes):
        register, index = divmod(register, size)
        at[number] = Linear((), index)
    return offset.substituted(at)


def _part(nest: Nest, total: Compute, path: tuple[Loop, ...]) -> TileProducts | None:
    """None where something about the part has another shape."""
    refs = [a for a in total.arguments if isinstance(a, Ref)]
    if total.operator is not Operator.FMA or total.guards or len(refs) != 3 or refs[2] != total.target:
        return None
    loads = [(f, ref) for ref in refs[:2] if (f := load_of(nest, ref, total)) is not None]
    if len(loads) != 2:
        return None
    extent = part_of(nest, [path, *(p for (_, p), _ in loads)])
    sides = [s for (load, _), ref in loads if (s := _side(nest, load, ref, path)) is not None]
    if extent is None or len(sides) != 2 or len(extent[1]) != 1:
        return None
    around, (top,) = extent
    inside = path[around:]
    if any(x.trips is not None or x.stages > 1 or x.only for x in inside):
        return None
    for rows, columns in (sides, sides[::-1]):
        types = [nest.buffers[side.load.memory.buffer].dtype.name for side in (rows, columns)]
        on = tile_instruction(types[0], types[1], nest.values[total.target.value].dtype.name)
        made = None if on is None else _products(nest, on, top, total, inside, rows, columns)
        if made is not None:
            return made
    return None


def _side(nest: Nest, load: Load, used: Ref, path: Sequence[Loop]) -> _Side | None:
    """None where words do not lie in memory as they are, or their places follow from other loops than the sum's."""
    offset = offset_of(load, used)
    own = {x.number for x in path}
    if offset is None or nest.buffers[load.memory.buffer].spread > 1 or load.memory.swizzle is not None:
        return None
    return _Side(load, offset) if all(n in own for n, _ in offset.terms) else None


def _products(
    nest: Nest, on: TileInstruction, top: int, total: Compute, inside: Sequence[Loop], rows: _Side, columns: _Side
) -> TileProducts | None:
    """None where the factors do not lie so that their tiles can be loaded."""
    selected = {n for at in total.target.at for n, _ in at.terms}
    steps = tuple(x for x in inside if x.number not in selected)
    down, beside = ([x for x in inside if x.number in selected and side.along(x)] for side in (rows, columns))
    if sorted(x.number for x in (*down, *beside, *steps)) != sorted(x.number for x in inside):
        return None
    lanes = next((x for x in beside if x.kind is Kind.VECTOR), None)
    if lanes is None or lanes.size != TILE_WORDS or columns.along(lanes) != 1 or not _is_deep(steps, rows):
        return None
    points = points_of(down)
    registers = [_register(nest, total.target, lanes, point) for point in points]
    row_step = _step([rows.offset.substituted({n: Linear((), i) for n, i in point}).constant for point in points])
    total_step = _step(registers)
    starts = points[::TILE_ROWS], points_of([x for x in beside if x is not lanes])
    if row_step is None or total_step is None or not _fits(*map(len, starts)):
        return None
    factors = (
        TileFactor(rows.load.memory.buffer, rows.offset, starts[0], row_step),
        TileFactor(columns.load.memory.buffer, columns.offset, starts[1], columns.along(steps[-1])),
    )
    return TileProducts(on, top, total, *factors, steps, lanes, total_step)


def _is_deep(steps: Sequence[Loop], rows: _Side) -> bool:
    """The innermost loop of the sum runs along the words of a row, and rows of tiles divide it."""
    return bool(steps) and steps[-1].kind is Kind.LOOP and rows.along(steps[-1]) == 1 and steps[-1].size % TILE_WORDS == 0


def _fits(rows: int, columns: int) -> bool:
    """All totals, a column of tiles of the first factor and one of the second are in tile registers together."""
    return rows * columns + rows + 1 <= TILES


def _register(nest: Nest, total: Ref, lanes: Loop, point: Point) -> int:
    """Number of the vector that holds the totals of the point's first columns."""
    at, found = dict(point), 0
    for register, affine in zip(nest.values[total.value].axes, total.at, strict=True):
        if affine.coefficient(lanes.number) == 0:
            found = found * register.size + affine.constant + sum(stride * at.get(n, 0) for n, stride in affine.terms)
    return found


def _step(places: Sequence[int]) -> int | None:
    """From one place of a tile to the next; None where they are not whole tiles of equal steps."""
    tiles = [places[n : n + TILE_ROWS] for n in range(0, len(places), TILE_ROWS)]
    steps = {after - before for tile in tiles for before, after in pairwise(tile)}
    return steps.pop() if len(steps) == 1 and len(places) % TILE_ROWS == 0 else None
