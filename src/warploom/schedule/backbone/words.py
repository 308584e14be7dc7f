"""Sums of products of bytes, four at a time, and of bf16, two at a time: the summed index becomes one of words, which dot-product
instructions take whole."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from warploom.core import WORDS
from warploom.core.linear import Linear
from warploom.machines import TILE_INSTRUCTIONS, TILE_WORDS
from warploom.schedule.backbone.build import assemble, extents_of
from warploom.schedule.backbone.nodes import Access, Axis, Backbone, Operator, Region, Result
from warploom.schedule.backbone.widened import widened

CONVERTED_USES = 16
"""Products that use an element of a factor, from which on converting it once costs little beside them."""


def in_words(stage: Backbone, elements: Collection[str], slow: Collection[str] = (), in_tiles: Collection[str] = ()) -> Backbone:
    """The same kernel in which a sum of products of bytes takes words: its factors are loads of four bytes along the summed
    index, that index is one of words, and its multiply-add adds four products to the total. Integers wrap, so that the order of
    the sum does not matter. Sums in f32 of products of bf16 take words of two, where the kernel lets sums be reordered. Where
    something has another shape, the kernel as it is.

    elements: types of factors whose words the machine multiplies. slow: those of them with which it makes fewer products than
    with their elements, converted: only sums take them that use an element of a factor in fewer than 16 products, or whose words
    fill rows of the tile registers that multiply them. in_tiles: names under which Linux lists what these multiply.
    """
    made = widened(stage, elements)
    of_tiles = {row.rows for row in TILE_INSTRUCTIONS.values() if row.flag in in_tiles}
    for number, total in enumerate(made.instructions):
        if total.operator is not Operator.FMA or total.carry is None or (total.dtype.is_float and not made.can_reorder):
            continue
        loads = _factors(made, number, elements)
        is_slow = any(made.instructions[n].dtype.name in slow for n in loads) and _uses(made, number, loads) >= CONVERTED_USES
        for axis in sorted(total.carry.reduced, key=lambda axis: _apart(made, axis, loads)) if loads else ():
            if _fits(made, axis, number, loads) and not (is_slow and not _fills_rows(made, axis, loads, of_tiles)):
                return stage.remade(_joined(made, axis, loads))
    return stage


def _factors(stage: Backbone, total: int, elements: Collection[str]) -> tuple[int, ...]:
    """The loads of both factors; nothing where they are something else."""
    found = [o.instruction for o in stage.instructions[total].operands[:2] if isinstance(o, Result)]
    loads = [n for n in found if stage.instructions[n].operator is Operator.LOAD and stage.instructions[n].dtype.name in elements]
    return tuple(loads) if len(loads) == 2 else ()


def _uses(stage: Backbone, total: int, loads: tuple[int, ...]) -> int:
    """Products that use an element of a factor, of the one that is used less."""
    made = set(stage.instructions[total].axes)
    return min(math.prod(stage.axes[a].size for a in made.difference(stage.instructions[n].axes)) for n in loads)


def _fills_rows(stage: Backbone, axis: int, loads: tuple[int, ...], words: Collection[str]) -> bool:
    """Words along the axis, all of types that tile registers multiply, are whole rows of them."""
    types = {WORDS[stage.instructions[n].dtype.name].name for n in loads}
    return types <= set(words) and stage.axes[axis].size % (TILE_WORDS * _elements(stage, loads[0])) == 0


def _fits(stage: Backbone, axis: int, total: int, loads: tuple[int, ...]) -> bool:
    """Both factors have whole words along the axis, and nothing else runs over it or reads their arrays."""
    size = stage.axes[axis]
    users = [n for n, i in enumerate(stage.instructions) if axis in i.axes]
    if size.run_time is not None or size.size % _elements(stage, loads[0]) or set(users) != {total, *loads}:
        return False
    touched = {_access(stage, n).region for n in loads}
    users = [n for n, i in enumerate(stage.instructions) if i.access is not None and i.access.region in touched]
    places = {(_access(stage, n).region, _place(stage, axis, n)) for n in loads}
    return set(users) == set(loads) and len(places) == len(touched) and all(place is not None for _, place in places)


def _place(stage: Backbone, axis: int, load: int) -> int | None:
    """The index of the array that runs over all of the axis, and nothing else does; None if there is none."""
    access = _access(stage, load)
    region = stage.regions[access.region]
    own = [n for n, index in enumerate(access.indices) if any(a == axis for a, _ in index.terms)]
    if access.fill is not None or len(own) != 1 or region.shape[own[0]] != stage.axes[axis].size:
        return None
    (place,) = own
    others = (s for n, s in enumerate(region.strides) if n != place)
    is_whole = region.strides[place] > 1 or all(s % _elements(stage, load) == 0 for s in others)
    return place if is_whole and access.indices[place] == Linear(((axis, 1),)) else None


def _elements(stage: Backbone, load: int) -> int:
    """Elements of a word of what it loads."""
    dtype = stage.instructions[load].dtype
    return WORDS[dtype.name].bits // dtype.bits


def _apart(stage: Backbone, axis: int, loads: tuple[int, ...]) -> int:
    """Factors whose elements along the axis lie apart."""
    accesses = (_access(stage, n) for n in loads)
    terms = ((stage.regions[a.region].strides, index.terms, n) for a in accesses for n, index in enumerate(a.indices))
    return sum(strides[n] != 1 for strides, listed, n in terms if axis in dict(listed))


def _joined(stage: Backbone, axis: int, loads: tuple[int, ...]) -> Backbone:
    instructions = list(stage.instructions)
    regions = list(stage.regions)
    elements = _elements(stage, loads[0])
    for n in loads:
        instructions[n] = replace(instructions[n], dtype=WORDS[instructions[n].dtype.name])
        place, number = _place(stage, axis, n), _access(stage, n).region
        assert place is not None
        regions[number] = _region(stage.regions[number], place, elements)
    axes = [_in_words(a, elements) if n == axis else a for n, a in enumerate(stage.axes)]
    extents = [e for n in range(len(axes)) if n != axis for e in stage.extents if e.axis == n]
    extents += extents_of(axis, axes[axis])
    extents.sort(key=lambda e: (e.axis, e.level))
    return assemble(stage.name, axes, extents, regions, instructions, can_reorder=stage.can_reorder)


def _region(region: Region, place: int, elements: int) -> Region:
    """The array as words, whose elements lie along that index."""
    spread = region.strides[place]
    strides = [s * elements if n == place else s for n, s in enumerate(region.strides)]
    if spread == 1:
        strides = [s // elements for s in strides]
    shape = tuple(n // elements if k == place else n for k, n in enumerate(region.shape))
    return replace(region, dtype=WORDS[region.dtype.name], shape=shape, strides=tuple(strides), spread=spread)


def _in_words(axis: Axis, elements: int) -> Axis:
    """The axis of words; of each level of tiles those that are no longer than it."""
    size = axis.size // elements
    kept = (tuple(n for n in level if n <= size) for level in axis.tiles)
    return replace(axis, size=size, tiles=tuple(level for level in kept if level and max(level) > 1))


def _access(stage: Backbone, number: int) -> Access:
    access = stage.instructions[number].access
    assert access is not None
    return access
