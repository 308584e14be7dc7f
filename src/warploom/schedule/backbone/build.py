"""Extents and dims that follow from axes and instructions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from warploom.core import Diagnostic, UserError
from warploom.schedule.backbone.nodes import Axis, Backbone, Carry, Dim, Extent, Instruction, Operator, Region
from warploom.schedule.backbone.operators import REORDERED_EXACTLY
from warploom.schedule.backbone.running import serial_axes
from warploom.schedule.backbone.tilings import MOST_SIZES


def backbone(
    name: str,
    axes: Sequence[Axis],
    regions: Sequence[Region],
    instructions: Sequence[Instruction],
    *,
    can_reorder: bool = True,
    divisors_only: bool = False,
) -> Backbone:
    """The backbone with its extents and dims, numbered as `Backbone` says.

    With `divisors_only` the outermost extents get only the exact quotients of tile combinations that divide.
    Raises UserError if an axis has no tiling or its outermost part more sizes than a choice may have.
    """
    extents = [e for number, axis in enumerate(axes) for e in extents_of(number, axis, divisors_only=divisors_only)]
    return assemble(name, axes, extents, regions, instructions, can_reorder=can_reorder)


def assemble(
    name: str,
    axes: Sequence[Axis],
    extents: Sequence[Extent],
    regions: Sequence[Region],
    instructions: Sequence[Instruction],
    *,
    can_reorder: bool,
) -> Backbone:
    """The backbone with its dims."""
    dims: list[Dim] = []
    serial = serial_axes(instructions)
    for number, instruction in enumerate(instructions):
        carry = instruction.carry
        reduced = carry.reduced if carry else ()
        is_free = can_reorder or instruction.operator in REORDERED_EXACTLY or not instruction.dtype.is_float
        is_free &= not _multiplies_carry(instruction)
        for axis in instruction.axes:
            is_reduction = axis in reduced
            for position, extent in enumerate(extents):
                if extent.axis == axis:
                    dims.append(Dim(number, position, (is_free or not is_reduction) and axis not in serial, is_reduction))
    return Backbone(name, tuple(axes), tuple(extents), tuple(regions), tuple(instructions), tuple(dims), can_reorder)


def _multiplies_carry(instruction: Instruction) -> bool:
    """Whether it rescales what it carries, so that its iterations have an order."""
    return instruction.operator is Operator.FMA and any(isinstance(o, Carry) for o in instruction.operands[:-1])


def extents_of(number: int, axis: Axis, *, divisors_only: bool = False) -> tuple[Extent, ...]:
    """Outer to inner: what is left, rounded up, then the tiles."""
    for level in axis.tiles:
        _check_sizes(axis, level)
    products = {_product(sizes) for sizes in itertools.product(*axis.tiles)}
    if divisors_only:
        products = {p for p in products if axis.size % p == 0}
    outer = tuple(sorted({-(-axis.size // p) for p in products}))
    _check_sizes(axis, outer)
    return (Extent(number, 0, outer), *(Extent(number, 1 + n, sizes) for n, sizes in enumerate(axis.tiles)))


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _check_sizes(axis: Axis, sizes: tuple[int, ...]) -> None:
    if not sizes:
        message = f"expected tile sizes that divide the axis {axis.name!r} of {axis.size} iterations, got {_levels(axis)}"
        raise UserError(Diagnostic("TILES", message, axis.span, "Give divisors, or allow tiles that do not divide."))
    if len(sizes) > MOST_SIZES:
        message = f"expected at most {MOST_SIZES} sizes of a part of the axis {axis.name!r}, got {len(sizes)}"
        raise UserError(Diagnostic("TILES", message, axis.span, "Give fewer tile sizes."))
    if sizes[0] < 1 or any(a >= b for a, b in itertools.pairwise(sizes)):
        message = f"expected ascending tile sizes from 1 on for the axis {axis.name!r}, got {_levels(axis)}"
        raise UserError(Diagnostic("TILES", message, axis.span, "Write each size once, in ascending order."))


def _levels(axis: Axis) -> str:
    return " ".join("(" + " ".join(map(str, level)) + ")" for level in axis.tiles) or "no tiles"
