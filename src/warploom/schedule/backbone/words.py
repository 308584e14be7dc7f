"""Sums of products of bytes, four at a time: the summed index becomes one of words, which dot-product instructions take whole."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from warploom.core import WORDS
from warploom.core.linear import Linear
from warploom.schedule.backbone.build import assemble, extents_of
from warploom.schedule.backbone.nodes import Access, Axis, Backbone, Operator, Result
from warploom.schedule.backbone.widened import widened

BYTES = 4
"""Elements of a word."""


def in_words(stage: Backbone, elements: Collection[str]) -> Backbone:
    """The same kernel in which a sum of products of bytes takes words: its factors are loads along whose last index the bytes of
    a word lie, its index is that of words, and its multiply-add adds four products to the total. Integers wrap, so that the order
    of the sum does not matter. Where something has another shape, the kernel as it is.

    elements: types of factors whose words the machine multiplies.
    """
    made = widened(stage, elements)
    for number, total in enumerate(made.instructions):
        if total.operator is not Operator.FMA or total.carry is None or total.dtype.is_float:
            continue
        loads = _factors(made, number, elements)
        for axis in total.carry.reduced if loads else ():
            if _fits(made, axis, number, loads):
                return replace(_joined(made, axis, loads), unpacked=stage)
    return stage


def _factors(stage: Backbone, total: int, elements: Collection[str]) -> tuple[int, ...]:
    """The loads of both factors; nothing where they are something else."""
    found = [o.instruction for o in stage.instructions[total].operands[:2] if isinstance(o, Result)]
    loads = [n for n in found if stage.instructions[n].operator is Operator.LOAD and stage.instructions[n].dtype.name in elements]
    return tuple(loads) if len(loads) == 2 else ()


def _fits(stage: Backbone, axis: int, total: int, loads: tuple[int, ...]) -> bool:
    """Whole words lie along the axis in both factors, and nothing else runs over it or reads their arrays."""
    size = stage.axes[axis]
    users = [n for n, i in enumerate(stage.instructions) if axis in i.axes]
    if size.run_time is not None or size.size % BYTES or set(users) != {total, *loads}:
        return False
    touched = {_access(stage, n).region for n in loads}
    users = [n for n, i in enumerate(stage.instructions) if i.access is not None and i.access.region in touched]
    return set(users) == set(loads) and all(_lies_along(stage, axis, n) for n in loads)


def _lies_along(stage: Backbone, axis: int, load: int) -> bool:
    access = _access(stage, load)
    region = stage.regions[access.region]
    *outer, last = access.indices
    return (
        access.fill is None
        and last == Linear(((axis, 1),))
        and not any(a == axis for index in outer for a, _ in index.terms)
        and region.strides[-1] == 1
        and region.shape[-1] == stage.axes[axis].size
        and all(stride % BYTES == 0 for stride in region.strides[:-1])
    )


def _joined(stage: Backbone, axis: int, loads: tuple[int, ...]) -> Backbone:
    instructions = list(stage.instructions)
    regions = list(stage.regions)
    for n in loads:
        word = WORDS[instructions[n].dtype.name]
        instructions[n] = replace(instructions[n], dtype=word)
        region = stage.regions[_access(stage, n).region]
        shape, strides = (*region.shape[:-1], region.shape[-1] // BYTES), (*(s // BYTES for s in region.strides[:-1]), 1)
        regions[_access(stage, n).region] = replace(region, dtype=word, shape=shape, strides=strides)
    axes = [_in_words(a) if n == axis else a for n, a in enumerate(stage.axes)]
    extents = [e for n in range(len(stage.axes)) if n != axis for e in stage.extents if e.axis == n]
    extents += extents_of(axis, axes[axis])
    extents.sort(key=lambda e: (e.axis, e.level))
    return assemble(stage.name, axes, extents, regions, instructions, can_reorder=stage.can_reorder)


def _in_words(axis: Axis) -> Axis:
    """The axis of words; of each level of tiles those that are no longer than it."""
    size = axis.size // BYTES
    kept = (tuple(n for n in level if n <= size) for level in axis.tiles)
    return replace(axis, size=size, tiles=tuple(level for level in kept if level and max(level) > 1))


def _access(stage: Backbone, number: int) -> Access:
    access = stage.instructions[number].access
    assert access is not None
    return access
