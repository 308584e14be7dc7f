"""Arrays to run kernels on: random numbers, and numbers chosen so that faults show.

A kernel that leaves an element out, takes a neighbour's, or counts one twice often agrees with its function on random numbers:
the maximum of a row rarely stands where the fault is, and a sum of many floats hides one of them. So there are several kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, f32, integer_range, to_numpy, values_of, words_of
from warploom.schedule.backbone.nodes import (
    Backbone,
    Carry,
    Constant,
    Operand,
    Operator,
    Parameter,
    Position,
    Region,
    Result,
    Role,
)
from warploom.schedule.backbone.operators import COMPARING

Array: TypeAlias = NDArray[Any]


class Content(StrEnum):
    """The kinds of data sets. All but the first plant extremes, at places that differ from row to row and set to set. Of each
    three sets one has floats of both signs, one negative ones alone, and one positive ones."""

    RANDOM = "random"
    """As `random_inputs`, of the numbers 1, 2, ... with extremes."""
    WHOLE = "whole"
    """Whole numbers other than 0, so that sums and products are exact; integers of odd numbers take their type's whole range."""
    FAR = "far"
    """Extremes so far from the rest that exponentials without their maximum overflow."""
    WIDE = "wide"
    """Sizes from 2^-8 to 2^8, so that values pass the limits that a function compares with."""
    SPECIAL = "special"
    """Infinities, NaN and zeros with a sign among whole numbers, for functions that only choose among their elements."""


LARGEST_WHOLE = (100, 30, 6, 3, 2, 1)
"""Sizes of whole numbers that are offered, with two more for extremes (`exact_whole`)."""
_BEYOND = 2
_SMALL_FLOATS_WHOLE = 6
"""Largest whole number, but for `_BEYOND`, up to which the floats of eight bits have all."""
_FAR = {16: 100.0, 32: 100.0, 64: 800.0}
"""By bits: a number whose exponential is beyond the type in which it is computed."""
_LONG = 4096
"""Places of an axis that are put in order."""
_MOST_ROWS = 1 << 16
"""Rows of one array that get extremes."""
_MARKED = 8
"""One of so many elements is at or near a number that the function compares with; in sets of many one of two is at it."""


def random_inputs(regions: Iterable[Region], seed: int = 0, places: Mapping[str, int] | None = None) -> dict[str, Array]:
    """Random values of each input, by name, in its shape. `places`: arrays that are indices, as `places_of` gives them; the first
    and the last place are always among them."""
    return inputs_of(Content.RANDOM, 0, regions, seed, places)


def inputs_of(
    content: Content,
    number: int,
    regions: Iterable[Region],
    seed: int = 0,
    places: Mapping[str, int] | None = None,
    *,
    whole: int = LARGEST_WHOLE[0],
    marks: Sequence[float] = (),
) -> dict[str, Array]:
    """Data set `number` of a kind: values of each input, by name, in its shape.

    whole: the largest whole number but for the extremes, which are 1 and 2 more. marks: numbers that the function compares with,
    as `marks_of` gives them; sets but the first have some elements at and around them, every other one many that are equal.
    """
    is_plain = content is Content.RANDOM and not number
    chance = np.random.default_rng(seed if is_plain else [seed, [*Content].index(content), number])
    found: dict[str, Array] = {}
    for region in regions:
        if region.role is not Role.INPUT:
            continue
        most = (places or {}).get(region.name)
        if most is not None:
            found[region.name] = _indices(content, number, region, most, chance)
        elif region.dtype.is_float:
            found[region.name] = _floats(content, number, region, chance, whole, marks)
        else:
            found[region.name] = _integers(content, number, region, chance, marks)
    return found


def largest_of(dtype: DType, whole: int) -> int:
    """The largest absolute value in a data set of whole numbers that are no more than `whole` but for the extremes."""
    if not dtype.is_float:
        return max(map(abs, integer_range(dtype)))
    return _BEYOND + (min(whole, _SMALL_FLOATS_WHOLE) if dtype.bits == 8 else whole)


def _indices(content: Content, number: int, region: Region, most: int, chance: np.random.Generator) -> Array:
    """Places to gather from; in odd sets of whole numbers one before the first and one behind the last, too: the nearest."""
    found = chance.integers(0, most, region.shape).astype(to_numpy(region.dtype))
    low, high = integer_range(region.dtype)
    beyond = content is Content.WHOLE and number % 2
    outermost = (min(most, high), max(-1, low)) if beyond else (most - 1, 0)
    plant(found, number, (most - 1, 0), outermost)
    return found


def _floats(
    content: Content, number: int, region: Region, chance: np.random.Generator, whole: int, marks: Sequence[float]
) -> Array:
    dtype, shape = region.dtype, region.shape
    if content is Content.RANDOM and not number:
        return random_array(dtype, shape, chance)
    side = (0, -1, 1)[number % 3]
    far = _FAR.get(dtype.bits, 4.0)
    match content:
        case Content.WHOLE | Content.SPECIAL:
            most = min(whole, _SMALL_FLOATS_WHOLE) if dtype.bits == 8 else whole
            sizes = chance.integers(min(3, most) if side else 1, most, shape, endpoint=True).astype(np.float64)
            near, beyond = (2.0, 1.0), (most + 1.0, most + _BEYOND)
        case Content.WIDE:
            sizes = 2.0 ** chance.uniform(-8, 8, shape)
            near, beyond = (2.0**-9, 2.0**-10), (300.0, 400.0)
        case Content.FAR:
            sizes = chance.uniform(0, 1, shape) + abs(side) * far
            near, beyond = (far - 2, far - 3), (far * (1 + abs(side)), far * 1.5 * (1 + abs(side)))
        case Content.RANDOM:
            sizes = chance.uniform(0, 1, shape) + 0.5 * abs(side)
            near, beyond = (0.25, 0.125), (1.75, 2.25)
    if side:
        made = side * sizes
        high, low = (beyond, near) if side > 0 else ((-near[0], -near[1]), (-beyond[0], -beyond[1]))
    else:
        made = sizes * chance.choice(np.array([-1.0, 1.0]), shape)
        high, low = beyond, (-beyond[0], -beyond[1])
    made, extremes, outermost = np.asarray(made), (high[0], low[0]), (high[1], low[1])
    if number and marks:
        marks = [m for m in marks if abs(m) <= float(np.finfo(to_numpy(dtype)).max)]
        own = marks if content is not Content.WHOLE else [m for m in marks if m == int(m) and abs(m) < whole]
        _mark(made, own, chance, has_many=number % 2 == 1)
    plant(made, number, extremes, outermost)
    if content is Content.SPECIAL:
        plant(made, number + 1, (np.inf, -np.inf), (np.nan, -0.0))
    return values_of(dtype, words_of(dtype, made)) if dtype.is_held else made.astype(to_numpy(dtype))


def _integers(content: Content, number: int, region: Region, chance: np.random.Generator, marks: Sequence[float]) -> Array:
    dtype = region.dtype
    low, high = integer_range(dtype)
    marks = [m for m in marks if low <= m <= high and m == int(m)]
    if content is Content.WHOLE and number % 2:
        made = chance.integers(low, high, region.shape, to_numpy(dtype), endpoint=True)
        _mark(made, marks, chance, has_many=True)
        plant(made, number // 2, (high, low), (high, low))
        return made
    made = random_array(dtype, region.shape, chance)
    if (content, number) == (Content.RANDOM, 0):
        return made
    _mark(made, marks, chance, has_many=number % 2 == 1)
    plant(made, number, (20, max(low, -20)), (21, max(low, -21)))
    return made


def _mark(array: Array, marks: Sequence[float], chance: np.random.Generator, *, has_many: bool) -> None:
    """Changes some elements to a mark, or one less or more; or many of them to marks."""
    if marks and array.size:
        near = chance.choice(np.asarray(marks), array.shape)
        if not has_many:
            near = near + chance.integers(-1, 1, array.shape, endpoint=True)
        if np.issubdtype(array.dtype, np.integer):
            near = near.clip(np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
        chosen = chance.integers(0, 2 if has_many else _MARKED, array.shape) == 0
        array[chosen] = near[chosen].astype(array.dtype)


def plant(array: Array, number: int, extremes: tuple[float, float], outermost: tuple[float, float]) -> None:
    """Gives each row of one axis a highest and a lowest element, and the whole array one of each, in place.

    The axis and the places follow from the number: the last axis first, and along it the ends, the middle and powers of two first
    (`places_first`), another place in each row, and of two sets the second with the places of two rows swapped. So the corners of
    an array come first, too. `turns_of` numbers reach each place of every axis.
    """
    if not array.size or not array.ndim:
        return
    axis, turn = array.ndim - 1 - number % array.ndim, number // array.ndim
    rows = np.moveaxis(array, axis, -1)
    length, shape = rows.shape[-1], rows.shape[:-1]
    count = array.size // length
    of_rows = _place(np.arange(min(count, _MOST_ROWS), dtype=np.int64), count)
    at: NDArray[np.int64] = (np.arange(of_rows.size, dtype=np.int64) ^ turn % 2) + turn // 2 * max(2, count)
    where = np.unravel_index(of_rows, shape) if shape else ()
    top, low = _place(at, length), _place(at + 1, length)
    one = turn % of_rows.size
    first = tuple(int(w[one]) for w in where)
    if length > 1:
        rows[(*where, low)] = extremes[1]
        rows[(*first, low[one])] = outermost[1]
    rows[(*where, top)] = extremes[0]
    rows[(*first, top[one])] = outermost[0]


def _place(number: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """The places of these numbers in the order of `places_first`; of long axes the first ones, then all from 0 on."""
    if length <= _LONG:
        return np.asarray(places_first(length))[number % length]
    first = np.asarray(_foremost(length))
    rest = number % (length + first.size)
    return np.where(rest < first.size, first[np.minimum(rest, first.size - 1)], rest - first.size)


def turns_of(shape: tuple[int, ...]) -> int:
    """For how many numbers, from 0 on, `plant` reaches each place of every axis."""
    elements = prod(shape)
    counts = [(n, elements // n) for n in shape if elements]
    return len(shape) * max((2 * -(-n // max(2, count)) for n, count in counts), default=0)


def places_first(length: int) -> list[int]:
    """All places of an axis, those first where kernels go wrong: the ends, the middle, next to the ends, around powers of two."""
    return list(dict.fromkeys((*_foremost(length), *range(length))))


def _foremost(length: int) -> list[int]:
    powers = [1 << k for k in range(length.bit_length())]
    first = [0, length - 1, length // 2, 1, length - 2, *(p + d for p in powers for d in (-1, 0))]
    return [p for p in dict.fromkeys(first) if 0 <= p < length]


def marks_of(stages: Iterable[Backbone], parameters: Mapping[str, float]) -> tuple[float, ...]:
    """Numbers that the function compares values with, or limits them to, but infinities: constants, scalars, the middle and the
    end of indices; 1 where it compares values with each other, so that some are equal."""
    found: set[float] = set()
    for stage in stages:
        for made in stage.instructions:
            if made.operator in COMPARING or made.operator in (Operator.MAX, Operator.MIN):
                numbers = [_numbers(stage, o, parameters) for o in made.operands if not isinstance(o, Carry)]
                if None in numbers:
                    found.update(n for one in numbers for n in one or ())
                if made.operator in COMPARING and numbers == [None, None]:
                    found.add(1)
    return tuple(sorted(n for n in found if abs(n) < float("inf")))


def _numbers(stage: Backbone, operand: Operand, parameters: Mapping[str, float]) -> tuple[float, ...] | None:
    """Values to be met where a value is compared with the operand; None: it is such a value itself."""
    match operand:
        case Constant(value):
            return (value,)
        case Parameter(name):
            return (parameters[name],)
        case Position(index):
            low, high = index.span(lambda a: stage.axes[a].size - 1)
            return ((low + high) // 2, high)
        case Result(number) if stage.instructions[number].operator in (Operator.MOVE, Operator.CAST):
            return _numbers(stage, stage.instructions[number].operands[0], parameters)
        case _:
            return None


def places_of(stages: Iterable[Backbone]) -> dict[str, int]:
    """Arrays of integers through which other arrays are gathered, and how many places there are to choose from: those from 0 on
    below the upper limit that the gather's place is kept within."""
    found: dict[str, int] = {}
    for stage in stages:
        for gather in (i for i in stage.instructions if i.region is not None):
            work = [(operand, 1 << 62) for operand in gather.operands]
            while work:
                operand, most = work.pop()
                if not isinstance(operand, Result):
                    continue
                made = stage.instructions[operand.instruction]
                if made.access is not None:
                    region = stage.regions[made.access.region]
                    most = min(most, integer_range(region.dtype)[1] + 1)
                    found[region.name] = min(most, found.get(region.name, most))
                limits = [o.value for o in made.operands if isinstance(o, Constant)]
                if made.operator is Operator.MIN and limits:
                    most = min(most, int(limits[0]) + 1)
                work += [(o, most) for o in made.operands]
    return found


def random_array(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Floats in [-1, 1), integers in -8 .. 7 (unsigned ones 0 .. 15)."""
    if dtype is f32:
        found = chance.random(shape, np.float32)
        found *= 2
        found -= 1
        return found
    if dtype.is_held:
        return values_of(dtype, words_of(dtype, chance.uniform(-1.0, 1.0, shape)))
    if dtype.is_float:
        return chance.uniform(-1.0, 1.0, shape).astype(to_numpy(dtype))
    low = 0 if dtype.kind == "uint" else -8
    return chance.integers(low, low + 16, shape).astype(to_numpy(dtype))
