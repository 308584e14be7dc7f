"""Decisions that fast GPU kernels mostly have in common: starting points for the descents of a search.

Goal: decisions in an order in which each is possible after those before it, for most kernels. Non-goal: constraints. Nothing is
ruled out, and what contradicts the decisions before it is left out by whoever takes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product

from warploom.machines import MatrixInstruction
from warploom.schedule.backbone import followers, matrix_of
from warploom.schedule.choices.habits_channels import CHANNEL_WAYS, Channels
from warploom.schedule.choices.habits_maps import maps_of
from warploom.schedule.choices.habits_matrices import (
    GRIDS,
    LONG_PIECE,
    MANY_RESULTS,
    OF_FEW_BLOCKS,
    OF_MANY_BLOCKS,
    WAYS_OF_GROUPS,
    WAYS_OF_MATRICES,
    MatrixTiles,
    MatrixWay,
)
from warploom.schedule.choices.habits_one_pass import WAYS, OnePass
from warploom.schedule.choices.habits_one_pass_matrices import MATRIX_WAYS, OnePassMatrices
from warploom.schedule.choices.habits_reductions import WAYS as THREADS
from warploom.schedule.choices.habits_reductions import Reductions
from warploom.schedule.choices.habits_rows import SHARES_OF_ROWS, Rows
from warploom.schedule.choices.habits_tiles import WARP_SHAPE, WAYS_BEFORE_SUMS, WAYS_OF_TILES, WAYS_WITH_LANES, Tiles, TileWay
from warploom.schedule.choices.habits_windows import WAYS as WAYS_OF_WINDOWS
from warploom.schedule.choices.habits_windows import Windows
from warploom.schedule.choices.objects import Habit, Objects, Operation
from warploom.schedule.choices.twins import twins_of
from warploom.schedule.choices.warps import grids_of
from warploom.schedule.choices.windows import windowed_regions
from warploom.schedule.targets import Target


def habits(objects: Objects, target: Target) -> tuple[tuple[Habit, ...], ...]:
    """Ways to begin, from which descents take turns. None for kernels without a sum of products all of whose operands are used
    again, neighbours that read the same of an input, or rows that are summed and stored; several ways for some of them."""
    if (rewritten := objects.backbone.rewritten) is not None:
        matrices = [OnePassMatrices(objects, rewritten, *way) for way in MATRIX_WAYS]
        passes = matrices if matrices[0].applies else [OnePass(objects, rewritten, *way) for way in WAYS]
        return tuple(tuple(dict.fromkeys(one.habits())) for one in passes)
    found: list[tuple[Habit, ...]] = []
    matrices = {o.statement: on for o in objects.sums if (on := _matrix_of(objects, o)) is not None}
    together = WAYS_OF_GROUPS if matrices and all(_has_groups(on, target) for on in matrices.values()) else ()
    ways = (*together, *WAYS_OF_MATRICES, OF_FEW_BLOCKS if _results(objects) < MANY_RESULTS else OF_MANY_BLOCKS)
    twins = twins_of(objects)
    if len(objects.sums) == 1 and grids_of(objects, target) and all(on.piece == LONG_PIECE for on in matrices.values()):
        ways = (*together, *GRIDS, *ways[len(together) :])
    for shared in (twins, ()) if twins else ((),):
        for number, way in enumerate(ways if matrices else _ways_of_tiles(objects)):
            every = [
                MatrixTiles(objects, o, on, way, target.shared_bytes, shared)
                if isinstance(way, MatrixWay) and (on := matrices.get(o.statement))
                else Tiles(objects, o, WAYS_OF_TILES[min(number, 1)] if isinstance(way, MatrixWay) else way)
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


def _ways_of_tiles(objects: Objects) -> Sequence[TileWay]:
    """Warps have a shape where all sums are products whose threads lie along two axes; where such results are summed at once,
    threads still share out the copies."""
    tiles = [Tiles(objects, o, TileWay()) for o in objects.sums]
    products = [t for t in tiles if t.is_product and len(t.threads()) == len(WARP_SHAPE)]
    if len(products) == len(tiles):
        return WAYS_WITH_LANES
    later = [o for t in products for o in t.later]
    return WAYS_BEFORE_SUMS if all(t in products or t.total in later for t in tiles) else WAYS_OF_TILES


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
    summed = objects.summed
    return math.prod(axis.size for n, axis in enumerate(objects.backbone.axes) if n not in summed)


def _matrix_of(objects: Objects, total: Operation) -> MatrixInstruction | None:
    """The instruction whose shape the tiles of a sum have."""
    instructions = objects.backbone.instructions
    on = matrix_of(instructions, instructions[total.instruction])
    axes = {e.axis: e.sizes for e in objects.backbone.extents}
    return on if on is not None and {(8,), (2,)} <= set(axes.values()) else None
