"""Loops that take steps along a summed axis: which points of the mathematics they visit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from warploom.schedule.backbone.gathered import accesses_of
from warploom.schedule.backbone.nodes import Access, Backbone, Operator, Region, Result
from warploom.schedule.backbone.region_places import NoWindowError, indices_of, reduced
from warploom.schedule.backbone.running import reads_running


@dataclass(frozen=True, slots=True)
class Repetition:
    """Points of an axis that is summed over, taken as so many steps from some of them."""

    axis: int
    firsts: tuple[int, ...]
    """For each loop that takes so many steps, the first point of its first step."""
    width: int
    """Points of a step."""
    steps: int
    is_open: bool = False
    """True if a size known at run time adds further steps: the points behind them lie as many steps further on."""


def repetition(backbone: Backbone, moves: Mapping[str, tuple[int, Sequence[int]]], steps: int) -> Repetition:
    """The points of a summed axis that so many steps of a loop visit. NoWindowError.

    moves: by input that moves with the steps, by how many elements, and the places of the first step.
    """
    accesses = accesses_of(backbone)
    loads = [accesses[id(i)] for i in backbone.instructions if i.operator in (Operator.LOAD, Operator.GATHER)]
    for axis in sorted(reduced(backbone)):
        weights = [(backbone.regions[a.region], a, weight_of(backbone.regions[a.region], a, axis)) for a in loads]
        widths = {moves[r.name][0] // w for r, _, w in weights if r.name in moves and w}
        if len(widths) != 1 or any(w * next(iter(widths)) != (moves[r.name][0] if r.name in moves else 0) for r, _, w in weights):
            continue
        (width,) = widths
        size = backbone.axes[axis].size
        firsts = [f for r, a, _ in weights if r.name in moves and (f := _first(r, a, axis, size, moves[r.name][1])) is not None]
        if width > 0 and firsts and 0 <= min(firsts) <= size - width * steps:
            return Repetition(axis, (min(firsts),), width, steps)
    raise NoWindowError("expected a loop whose steps go along one axis that is summed over")


def joined_repetition(found: Sequence[Repetition]) -> Repetition:
    """Several loops, as one that takes the same steps from several points. NoWindowError."""
    one = found[0]
    firsts = tuple(sorted(f for r in found for f in r.firsts))
    reach = one.width * one.steps
    if any((r.axis, r.width, r.steps) != (one.axis, one.width, one.steps) or r.is_open or one.is_open for r in found[1:]) or any(
        b - a < reach for a, b in itertools.pairwise(firsts)
    ):
        raise NoWindowError("expected loops that leave out as many steps each, of other points of one sum")
    return Repetition(one.axis, firsts, one.width, one.steps, one.is_open)


def weight_of(region: Region, access: Access, axis: int) -> int:
    """By how many elements the access lies further on at the next point of the axis."""
    return sum(s * c for s, index in zip(region.strides, access.indices, strict=True) for a, c in index.terms if a == axis)


def _first(region: Region, access: Access, axis: int, size: int, places: Sequence[int]) -> int | None:
    """The first point of the axis at these places, where an index of the access is that axis, or counts through all of its points
    before other axes go on."""
    for dimension, index in enumerate(access.indices):
        whole = gcd(*(c for a, c in index.terms if a != axis))
        if index.coefficient(axis) == 1 and (whole == 0 or whole >= size):
            found = indices_of(region, np.asarray(places, np.int64))[dimension] - index.constant
            return int((found % whole if whole else found).min())
    return None


def _may_leave(backbone: Backbone, access: Access, repeated: Repetition) -> bool:
    """Whether an index of the access that moves with the axis may be outside of the array. Of an axis whose length is not known
    nobody knows."""
    for index, size in zip(access.indices, backbone.regions[access.region].shape, strict=True):
        if index.coefficient(repeated.axis):
            if repeated.is_open:
                return True
            reach = [step * (backbone.axes[a].size - 1) for a, step in index.terms]
            if index.constant + sum(min(0, r) for r in reach) < 0 or index.constant + sum(max(0, r) for r in reach) >= size:
                return True
    return False


def check_repeated(backbone: Backbone, repeated: Repetition) -> None:
    """Checks that the axis is only summed over, and that being inside an array does not depend on it."""
    name = backbone.axes[repeated.axis].name
    for instruction in backbone.instructions:
        access = instruction.access
        if access is not None and access.fill is not None and _may_leave(backbone, access, repeated):
            raise NoWindowError(f"expected all points of {name} to be inside {backbone.regions[access.region].name}")
        if instruction.operator is Operator.STORE and repeated.axis in instruction.axes:
            raise NoWindowError(f"expected no store at each point of {name}")
        if any(reads_running(backbone.instructions, o) for o in instruction.operands):
            raise NoWindowError(f"expected no running value, got one in {instruction.name}")
        for operand in instruction.operands:
            if isinstance(operand, Result):
                producer = backbone.instructions[operand.instruction]
                is_summed = producer.carry is not None and repeated.axis in producer.carry.reduced
                is_own = repeated.axis in operand.mapped and repeated.axis in instruction.axes
                if repeated.axis in producer.axes and not is_summed and not is_own:
                    raise NoWindowError(f"expected {instruction.name} to use its own point of {name}")
