"""Tile sizes of the axes of a kernel, chosen by how its instructions use each axis."""

from __future__ import annotations

import operator as operators
from collections.abc import Sequence
from dataclasses import replace

from warploom.core import Diagnostic, UserError
from warploom.machines import MOST_APART, MatrixInstruction
from warploom.schedule.backbone import Access, Axis, AxisUse, Instruction, Operator, Region, Tiles, matrix_factors


def tiled_axes(
    kernel: str, axes: Sequence[Axis], regions: Sequence[Region], instructions: Sequence[Instruction], tiles: Tiles
) -> tuple[Axis, ...]:
    """The axes with the tile sizes of the policy or table. UserError (TILES) for lists that are none."""
    return tuple(_tiled(axis, _use(kernel, n, axis, regions, instructions), tiles) for n, axis in enumerate(axes))


def _tiled(axis: Axis, use: AxisUse, tiles: Tiles) -> Axis:
    levels = tiles(use) if callable(tiles) else tiles.get(f"{use.kernel}.{use.name}", tiles.get(use.name, ()))
    try:
        found = tuple(tuple(operators.index(size) for size in level) for level in levels)
    except TypeError:
        message = f"expected one list of sizes per tile level of {use.name!r}, got {levels!r}"
        raise UserError(Diagnostic("TILES", message, axis.span, "Write for example ((8, 16, 32), (2, 4)).")) from None
    return replace(axis, tiles=found)


def _use(kernel: str, number: int, axis: Axis, regions: Sequence[Region], instructions: Sequence[Instruction]) -> AxisUse:
    is_reduced = is_shared = False
    matrix: MatrixInstruction | None = None
    loaded: set[int] = set()
    stored: set[int] = set()
    for instruction in instructions:
        carry = instruction.carry
        is_reduced |= carry is not None and number in carry.reduced
        is_shared |= instruction.operator is Operator.LOAD and number not in instruction.axes
        if instruction.access and number in instruction.axes:
            steps = stored if instruction.operator is Operator.STORE else loaded
            steps.add(_step(instruction.access, number, regions))
        found = matrix_factors(instructions, instruction) if number in instruction.axes else None
        if found is not None:
            is_summed = carry is not None and number in carry.reduced
            if is_summed or not all(number in instructions[f].axes for f in found[1]):
                matrix = found[0]
    return AxisUse(
        kernel,
        axis.name,
        axis.size,
        is_reduced,
        bool(stored),
        1 in loaded | stored,
        loaded | stored == {1},
        is_shared,
        matrix,
        1 in stored,
        stored == {1} and all(0 < step <= MOST_APART for step in loaded),
    )


def _step(access: Access, axis: int, regions: Sequence[Region]) -> int:
    """Elements between neighbours along the axis."""
    strides = regions[access.region].strides
    return sum(s * dict(i.terms).get(axis, 0) for i, s in zip(access.indices, strides, strict=True))
