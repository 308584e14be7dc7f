"""Warps of a kernel: the thread loops of a grid of warps, and a nest whose warps have a shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations

from warploom.schedule.backbone import matrix_of
from warploom.schedule.choices.decided import LoweringError
from warploom.schedule.choices.description import WARP_SHAPES
from warploom.schedule.choices.objects import Objects, Operation
from warploom.schedule.nest import Kind, Nest, hardware_sizes
from warploom.schedule.targets import Target


def grids_of(objects: Objects, target: Target) -> tuple[tuple[int, ...], ...]:
    """By sum of products of matrices, the loops (statements) along which a grid of warps lies, outer to inner: warps along the
    columns of the instruction's result and along its rows, then eight threads along the rows and four along the columns."""
    grids: list[tuple[int, ...]] = []
    for total in objects.sums:
        instructions = objects.backbone.instructions
        on = matrix_of(instructions, instructions[total.instruction])
        found = None if on is None or on.factor not in target.matrices else _grid(objects, total)
        if found is not None:
            grids.append(found)
    return tuple(grids)


def _grid(objects: Objects, total: Operation) -> tuple[int, ...] | None:
    """None where the tiles of the sum have another shape (`backbone.tilings.matrix_tiles`)."""
    loop = {x.statement: x for x in objects.loops}
    sizes = objects.backbone.extents
    by_axis: dict[int, dict[int, int]] = {}
    for statement in total.loops:
        if not loop[statement].is_reduction:
            by_axis.setdefault(loop[statement].axis, {})[loop[statement].level] = statement
    shapes = {
        tuple(sizes[loop[levels[n]].extent].sizes for n in range(3, max(levels) + 1)): levels
        for levels in by_axis.values()
        if len(levels) > 3
    }
    rows, columns = shapes.get(((8,),)), shapes.get(((4,), (2,)))
    return None if rows is None or columns is None else (columns[1], rows[1], rows[3], columns[3])


def can_shape_warps(sizes: Iterable[Sequence[int]], most: int) -> bool:
    """Whether the threads of some shape of a warp may lie along two levels. sizes: of levels of threads; most: of a
    block."""
    known = [tuple(n for n in each if n <= most) for each in sizes]
    if any(n & (n - 1) for each in known for n in each):
        return False
    return any(
        max(outer, default=0) >= down and max(inner, default=0) >= across and down * across <= most
        for outer, inner in permutations(known, 2)
        for down, across in WARP_SHAPES.values()
    )


def with_shaped_warps(nest: Nest, warps: str) -> Nest:
    """The nest with warps of that shape. LoweringError where they do not divide its threads."""
    if warps not in WARP_SHAPES:
        return nest
    down, across = WARP_SHAPES[warps]
    shape = hardware_sizes(nest, Kind.THREAD)
    if len(shape) != 2 or shape[0] % across or shape[1] % down:
        counted = " x ".join(map(str, reversed(shape)))
        raise LoweringError(f"expected two levels of threads in multiples of {down} x {across}, got {counted}")
    return replace(nest, lanes=(down, across))
