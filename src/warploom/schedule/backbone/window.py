"""A part of what a backbone computes, as terms, and how that part moves when its axes do.

The part at other points of parallel axes is the same mathematics of other elements: `moved` says of which ones, or why there
is no such rule. So one part stands for all parts that it moves to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from warploom.schedule.backbone.evaluate import Array
from warploom.schedule.backbone.nodes import Access, Backbone, Carry, Operator, Parameter, Region, Result, Role
from warploom.schedule.backbone.symbolic import SymbolicEvaluation, Terms
from warploom.terms import Term, atom

Points = Sequence[tuple[int, int]]
"""First point and number of points of each axis."""


class NoWindowError(Exception):
    """Why the parts of a backbone are not followed."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a backbone."""

    points: Points
    stored: Mapping[str, Mapping[int, Term]]
    """By output: place in memory and the term that it must hold."""


def whole(backbone: Backbone) -> list[tuple[int, int]]:
    return [(0, axis.size) for axis in backbone.axes]


def evaluate_window(backbone: Backbone, points: Points) -> Window:
    """What the part at these points stores. NoWindowError where it needs values of other parts, or what the backbone writes."""
    _check_point_to_point(backbone, {a for a, axis in enumerate(backbone.axes) if points[a] != (0, axis.size)})
    found = _WindowEvaluation(backbone, points)
    found.run_all()
    return Window(points, {backbone.regions[n].name: stored for n, stored in found.stored.items()})


class _WindowEvaluation(SymbolicEvaluation):
    def __init__(self, backbone: Backbone, points: Points) -> None:
        parameters = {o.name: atom(o.name, ()) for i in backbone.instructions for o in i.operands if isinstance(o, Parameter)}
        super().__init__(backbone, {}, parameters)
        self.starts = [first for first, _ in points]
        self.sizes = [count for _, count in points]
        self.stored: dict[int, dict[int, Term]] = {}
        self._symbols: dict[tuple[str, int], Term] = {}

    def load(self, access: Access, axes: tuple[int, ...], fixed: dict[int, int]) -> Array:
        region = self.backbone.regions[access.region]
        if region.role is not Role.INPUT:
            raise NoWindowError(f"expected {region.name} to be written or read, got both")
        places, inside = self.places(access, axes, fixed)
        if access.fill is None and not inside.all():
            raise IndexError(f"a load from {region.name!r} leaves its shape")
        flat = np.broadcast_to(_flat(region, places), inside.shape)
        found = np.empty(flat.shape, object)
        found[...] = self.number(access.fill or 0.0, region.dtype)[()]
        found[inside] = [self._symbol(region.name, int(k)) for k in flat[inside]]
        return found

    def store(self, access: Access, axes: tuple[int, ...], value: Terms) -> None:
        places, inside = self.places(access, axes, {})
        flat = _flat(self.backbone.regions[access.region], places)
        into = self.stored.setdefault(access.region, {})
        flat = np.broadcast_to(flat, inside.shape)
        into.update(zip(flat[inside].tolist(), np.broadcast_to(value, inside.shape)[inside].tolist(), strict=True))

    def _symbol(self, name: str, place: int) -> Term:
        key = (name, place)
        if key not in self._symbols:
            self._symbols[key] = atom(name, (place,))
        return self._symbols[key]


def _flat(region: Region, places: Sequence[Array]) -> NDArray[np.int64]:
    total = np.zeros((), np.int64)
    for place, stride in zip(places, region.strides, strict=True):
        total = total + stride * place
    return np.asarray(total, np.int64)


# ------------------------------------------------------------ which part


def points_of(backbone: Backbone, elements: Mapping[str, NDArray[np.int64]]) -> list[tuple[int, int]]:
    """The smallest part that stores these places of outputs, if the axes of each store are the array's. NoWindowError."""
    found = whole(backbone)
    limits: dict[int, tuple[int, int]] = {}
    for access in _stores(backbone):
        region = backbone.regions[access.region]
        places = elements.get(region.name)
        if places is None or not len(places):
            continue
        for (axis, coefficient, constant), index in zip(_axes_of(access), _indices(region, places), strict=True):
            if axis is None:
                continue
            low, high = (int(index.min()) - constant) // coefficient, (int(index.max()) - constant) // coefficient
            before = limits.get(axis, (low, high))
            limits[axis] = min(low, before[0]), max(high, before[1])
    for axis, (low, high) in limits.items():
        low, high = max(0, low), min(backbone.axes[axis].size - 1, high)
        if axis not in _reduced(backbone) and low <= high:
            found[axis] = low, high - low + 1
    return found


def count_stored(backbone: Backbone, name: str) -> int:
    """Places of an output that the backbone stores. NoWindowError where they are not known to be different ones."""
    stores = [a for a in _stores(backbone) if backbone.regions[a.region].name == name]
    if len(stores) != 1:
        raise NoWindowError(f"expected one instruction that stores to {name}, got {len(stores)}")
    (access,) = stores
    region = backbone.regions[access.region]
    _check_injective(region)
    axes = _axes_of(access)
    own = [axis for axis, _, _ in axes if axis is not None]
    instruction = next(i for i in backbone.instructions if i.access is access)
    if len(set(own)) < len(own) or set(own) != set(instruction.axes):
        raise NoWindowError(f"expected each place of {name} to be stored once")
    for (axis, coefficient, constant), size in zip(axes, region.shape, strict=True):
        last = constant if axis is None else constant + coefficient * (backbone.axes[axis].size - 1)
        if min(constant, last) < 0 or max(constant, last) >= size:
            raise NoWindowError(f"expected all stores to {name} to be inside it")
    return prod(backbone.axes[axis].size for axis in own)


# ------------------------------------------------------------ how it moves


def moved(backbone: Backbone, window: Window, moves: Mapping[str, Sequence[int]], counts: Sequence[int]) -> None:
    """That the part computes, in every block of a box, what the box's first block must compute, of elements that lie further on
    by `moves` from block to block along each axis of the box. NoWindowError where that is not seen.

    counts: blocks along each axis. Arrays that are not in `moves` are not accessed.
    """
    shifts = [_axis_shifts(backbone, {name: by[n] for name, by in moves.items()}) for n in range(len(counts))]
    used = [n for n, count in enumerate(counts) if count > 1]
    moving = {a for n in used for a, by in enumerate(shifts[n]) if by}
    _check_point_to_point(backbone, moving)
    corners = [
        [sum(shift * place for shift, place in zip(by_axis, corner, strict=True)) for by_axis in zip(*shifts, strict=True)]
        for corner in product(*((0, count - 1) if count > 1 else (0,) for count in counts))
    ]
    for corner in corners:
        for axis, (by, (first, count)) in enumerate(zip(corner, window.points, strict=True)):
            if not 0 <= first + by <= backbone.axes[axis].size - count:
                raise NoWindowError(f"expected every block's part of axis {backbone.axes[axis].name} to be inside it")
    for number, instruction in enumerate(backbone.instructions):
        access = instruction.access
        if access is None:
            continue
        region = backbone.regions[access.region]
        for n in used:
            by = sum(
                stride * _shift(index.terms, shifts[n]) for stride, index in zip(region.strides, access.indices, strict=True)
            )
            if region.name not in moves and by:
                raise NoWindowError(f"expected accesses to {region.name}, got none in the kernel")
            if region.name in moves and by != moves[region.name][n]:
                name = backbone.instructions[number].name
                raise NoWindowError(f"{name} moves by {by} elements from block to block, the kernel's by {moves[region.name][n]}")
        _check_inside_alike(backbone, access, instruction.axes, window.points, corners)


def _shift(terms: Sequence[tuple[int, int]], shifts: Sequence[int]) -> int:
    return sum(coefficient * shifts[axis] for axis, coefficient in terms)


def _axis_shifts(backbone: Backbone, moves: Mapping[str, int]) -> list[int]:
    """By how many points each axis moves when places of the outputs do so."""
    found: dict[int, int] = {}
    for access in _stores(backbone):
        region = backbone.regions[access.region]
        if region.name not in moves:
            continue
        _check_injective(region)
        left = moves[region.name]
        order = sorted(range(len(region.shape)), key=lambda d: -region.strides[d])
        for dimension in order:
            stride = region.strides[dimension]
            axis, coefficient, _ = _axes_of(access)[dimension]
            step = _nearest(left, stride) if axis is not None else 0
            left -= step * stride
            if axis is None:
                continue
            if step % coefficient or found.setdefault(axis, step // coefficient) != step // coefficient:
                raise NoWindowError(f"expected blocks that move by whole steps of axis {backbone.axes[axis].name}")
        if left:
            raise NoWindowError(f"expected places of {region.name} that move along its axes")
    return [found.get(axis, 0) for axis in range(len(backbone.axes))]


def _nearest(value: int, stride: int) -> int:
    return value // stride if value >= 0 else -(-value // stride)


def _check_point_to_point(backbone: Backbone, moving: set[int]) -> None:
    """That no instruction gathers these axes: they are nowhere reduced, and values go to the same point."""
    if at := moving & _reduced(backbone):
        raise NoWindowError(f"expected blocks that do not share the sum over {backbone.axes[min(at)].name}")
    for instruction in backbone.instructions:
        for operand in instruction.operands:
            match operand:
                case Result(producer, mapped, _):
                    axes, kept = backbone.instructions[producer].axes, set(mapped) & set(instruction.axes)
                case Carry(init, _):
                    axes, kept = backbone.instructions[init].axes, set(instruction.axes)
                case _:
                    continue
            if at := moving & set(axes) - kept:
                raise NoWindowError(f"expected {instruction.name} to use its own point of {backbone.axes[min(at)].name}")


def _check_inside_alike(
    backbone: Backbone, access: Access, axes: tuple[int, ...], points: Points, corners: Sequence[Sequence[int]]
) -> None:
    """That each point of the part is inside the array in every block or in none."""
    if access.fill is None:
        return
    for index, size in zip(access.indices, backbone.regions[access.region].shape, strict=True):
        by = [_shift(index.terms, corner) for corner in corners]
        low = index.constant + sum(min(c * points[a][0], c * (points[a][0] + points[a][1] - 1)) for a, c in index.terms)
        high = index.constant + sum(max(c * points[a][0], c * (points[a][0] + points[a][1] - 1)) for a, c in index.terms)
        if set(by) == {0} or (low + min(by) >= 0 and high + max(by) < size):
            continue
        values = [
            index.constant + sum(c * p for (_, c), p in zip(index.terms, point, strict=True))
            for point in product(*(range(points[a][0], points[a][0] + points[a][1]) for a, _ in index.terms))
        ]
        if any(not _is_alike(value, min(by), max(by), size) for value in values):
            raise NoWindowError(f"expected points outside of {backbone.regions[access.region].name} in every block or in none")


def _is_alike(value: int, least: int, most: int, size: int) -> bool:
    return value + most < 0 or value + least >= size or (value + least >= 0 and value + most < size)


# ------------------------------------------------------------ arrays


def _stores(backbone: Backbone) -> list[Access]:
    return [i.access for i in backbone.instructions if i.operator is Operator.STORE and i.access is not None]


def _reduced(backbone: Backbone) -> set[int]:
    return {a for i in backbone.instructions if i.carry is not None for a in i.carry.reduced}


def _axes_of(access: Access) -> list[tuple[int | None, int, int]]:
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


def _check_injective(region: Region) -> None:
    """That each place of the array has one index: each stride is longer than all that the smaller ones reach."""
    pairs = sorted(zip(region.strides, region.shape, strict=True), reverse=True)
    for n, (stride, _) in enumerate(pairs):
        if stride < 1 + sum((size - 1) * other for other, size in pairs[n + 1 :]):
            raise NoWindowError(f"expected an array {region.name} whose places have one index each")


def _indices(region: Region, places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The index of each place in each dimension."""
    _check_injective(region)
    found: dict[int, NDArray[np.int64]] = {}
    left = places
    for dimension in sorted(range(len(region.shape)), key=lambda d: -region.strides[d]):
        found[dimension], left = np.divmod(left, region.strides[dimension])
    return [found[d] for d in range(len(region.shape))]
