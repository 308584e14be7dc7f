"""Elements of arrays by their coordinates."""

from __future__ import annotations

from math import prod

import numpy as np

from warploom.ir.dataflow.gather_set import UNDEFINED, Shape
from warploom.ir.swizzle import IntArray


def coordinates(shape: Shape) -> IntArray:
    """[axes, elements]: the coordinates of every element, row-major."""
    return np.indices(shape, dtype=np.int64).reshape(len(shape), prod(shape))


def element_numbers(index: IntArray, shape: Shape) -> IntArray:
    """Row-major numbers of the elements at `index` ([axes, ...]); `UNDEFINED` outside the array."""
    number: IntArray = np.zeros(index.shape[1:], np.int64)
    inside = np.ones(index.shape[1:], np.bool_)
    for position, length in zip(index, shape, strict=True):
        number = number * length + position
        inside &= (position >= 0) & (position < length)
    return np.where(inside, number, UNDEFINED)


def point_numbers(out: Shape, axes: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Points that are the positions on `axes`: [output elements] point numbers, [axes, points] positions."""
    shape = tuple(out[a] for a in axes)
    index = coordinates(out)
    if not axes:
        return np.zeros(prod(out), np.int64), np.zeros((0, 1), np.int64)
    return element_numbers(index[list(axes)], shape), coordinates(shape)
