"""Places of regions: which index each one has, and which axes a store goes along."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from warploom.schedule.backbone.evaluate import Array
from warploom.schedule.backbone.nodes import Access, Backbone, Operator, Region


class NoWindowError(Exception):
    """Why the parts of a backbone are not followed."""


def stores_of(backbone: Backbone) -> list[Access]:
    return [i.access for i in backbone.instructions if i.operator is Operator.STORE and i.access is not None]


def reduced(backbone: Backbone) -> set[int]:
    """Axes over which something is summed, or the like."""
    return {a for i in backbone.instructions if i.carry is not None for a in i.carry.reduced}


def axes_of(access: Access) -> list[tuple[int | None, int, int]]:
    """By dimension of the array: the axis, its coefficient and the constant of a store's index."""
    found: list[tuple[int | None, int, int]] = []
    for index in access.indices:
        if len(index.terms) > 1:
            raise NoWindowError("expected stores whose indices are single axes")
        axis, coefficient = index.terms[0] if index.terms else (None, 1)
        if coefficient < 1:
            raise NoWindowError("expected stores whose indices grow with their axes")
        found.append((axis, coefficient, index.constant))
    return found


def check_injective(region: Region) -> None:
    """NoWindowError unless each place of the array has one index: each stride is longer than all that the smaller ones reach."""
    pairs = sorted(zip(region.strides, region.shape, strict=True), reverse=True)
    for n, (stride, _) in enumerate(pairs):
        if stride < 1 + sum((size - 1) * other for other, size in pairs[n + 1 :]):
            raise NoWindowError(f"expected an array {region.name} whose places have one index each")


def indices_of(region: Region, places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The index of each place in each dimension."""
    check_injective(region)
    found: dict[int, NDArray[np.int64]] = {}
    left = places
    for dimension in sorted(range(len(region.shape)), key=lambda d: -region.strides[d]):
        found[dimension], left = np.divmod(left, region.strides[dimension])
    return [found[d] for d in range(len(region.shape))]


def flat_places(region: Region, places: Sequence[Array]) -> NDArray[np.int64]:
    total = np.zeros((), np.int64)
    for place, stride in zip(places, region.strides, strict=True):
        total = total + stride * place
    return np.asarray(total, np.int64)
