"""A part of what a backbone computes, as terms, and how that part moves when its axes do.

The part at other points of parallel axes is the same mathematics of other elements: `moved` says of which ones, or why there is
no such rule. So one part stands for all parts that it moves to.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType
from warploom.schedule.backbone.evaluate import Array
from warploom.schedule.backbone.following import named_by
from warploom.schedule.backbone.gathered import accesses_of, gathered_by
from warploom.schedule.backbone.nodes import (
    Access,
    AxisSum,
    Backbone,
    Carry,
    Instruction,
    Operator,
    Parameter,
    Position,
    Previous,
    Region,
    Result,
    Role,
)
from warploom.schedule.backbone.programs import Program
from warploom.schedule.backbone.region_places import (
    NoWindowError,
    axes_of,
    check_injective,
    flat_places,
    indices_of,
    reduced,
    stores_of,
)
from warploom.schedule.backbone.repetitions import Repetition, check_repeated, weight_of
from warploom.schedule.backbone.symbolic import SymbolicEvaluation, Terms, term_of
from warploom.terms import GREATEST, Term, apply, atom, constant

Points = Sequence[Sequence[int]]
"""Points of each axis, ascending."""


@dataclass(frozen=True, slots=True)
class Use:
    """How elements of an array are named where an instruction loads them."""

    name: str
    at_end: str
    """Behind the steps of a repetition that are taken."""
    step: int = 0
    """Elements by which those move with each step more."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a backbone."""

    points: Points
    stored: Mapping[str, Mapping[int, Term]]
    """By output: place in memory and the term that it must hold."""
    sums: Mapping[Term, Term]
    """Symbols in these terms, and what each step of the repetition adds, or around which `GREATEST` is, offers to a maximum:
    `x[k, s]` is element k + s * n in step n."""


def whole(backbone: Backbone) -> list[Sequence[int]]:
    return [range(axis.size) for axis in backbone.axes]


def evaluate_window(
    backbone: Backbone, points: Points, repeated: Repetition | None = None, uses: Mapping[Access, Use] | None = None
) -> Window:
    """Runs the part at these points and gives what it stores. uses: names of elements, where they are not those of the arrays.

    NoWindowError where it needs values of other parts, or what the backbone writes.
    """
    _check_no_positions(backbone, backbone.instructions)
    is_part = {a for a, axis in enumerate(backbone.axes) if len(points[a]) != axis.size}
    _check_point_to_point(backbone, backbone.instructions, is_part)
    found = _WindowEvaluation(backbone, points, repeated, uses or {})
    if repeated is not None:
        check_repeated(backbone, repeated)
    found.run_all()
    return Window(points, {backbone.regions[n].name: stored for n, stored in found.stored.items()}, found.sums)


class _WindowEvaluation(SymbolicEvaluation):
    def __init__(self, backbone: Backbone, points: Points, repeated: Repetition | None, uses: Mapping[Access, Use]) -> None:
        parameters = {o.name: atom(o.name, ()) for i in backbone.instructions for o in i.operands if isinstance(o, Parameter)}
        super().__init__(backbone, {}, parameters)
        self.repeated = repeated
        self.uses = uses
        self.coordinates = [np.array(p, np.int64) for p in points]
        self.steps = [np.zeros(len(p), np.int64) for p in points]
        """Points by which each point moves from step to step."""
        self.behind = [np.zeros(len(p), np.int64) for p in points]
        """1 for points behind the steps that are taken."""

        if repeated is not None:
            r, size = repeated, backbone.axes[repeated.axis].size
            is_run, steps = np.ones(size, bool), np.zeros(size, np.int64)
            for first in r.firsts:
                is_run[first + r.width : first + r.width * r.steps] = False
                steps[first : first + r.width] = r.width
            self.coordinates[r.axis], self.steps[r.axis] = np.flatnonzero(is_run), steps[is_run]
            self.behind[r.axis] = (self.coordinates[r.axis] >= r.firsts[-1] + r.width * r.steps).astype(np.int64)
        self.sizes = [len(c) for c in self.coordinates]
        self.stored: dict[int, dict[int, Term]] = {}
        self.sums: dict[Term, Term] = {}
        self._symbols: dict[tuple[str, int, int], Term] = {}

    def run(self, number: int) -> None:
        instruction, repeated = self.backbone.instructions[number], self.repeated
        carry = instruction.carry
        if repeated is None or carry is None or repeated.axis not in carry.reduced:
            super().run(number)
            return
        is_one = sum(isinstance(o, Carry) for o in instruction.operands) == 1
        is_maximum = instruction.operator is Operator.MAX and is_one and instruction.dtype.is_float
        is_sum = instruction.operator is Operator.ADD and is_one
        is_product = instruction.operator is Operator.FMA and [isinstance(o, Carry) for o in instruction.operands] == [
            False, False, True,
        ]  # fmt: skip
        if not (is_maximum or is_sum or is_product):
            raise NoWindowError(f"expected a sum or maximum over {self.backbone.axes[repeated.axis].name} in {instruction.name}")
        kept = instruction.kept_axes
        total = np.broadcast_to(self.broadcast(self.values[carry.init], kept, kept, {}), [self.sizes[a] for a in kept])
        added = np.broadcast_to(self.number(-inf if is_maximum else 0.0, instruction.dtype), total.shape)
        reduced = tuple(a for a in instruction.axes if a in carry.reduced)
        for point in itertools.product(*(range(self.sizes[a]) for a in reduced)):
            fixed = dict(zip(reduced, point, strict=True))
            if self.steps[repeated.axis][fixed[repeated.axis]]:
                added = self.apply(instruction, kept, fixed, added)
            else:
                total = self.apply(instruction, kept, fixed, total)
        joined = self._with_greatest if is_maximum else self._with_sum
        self.values[number] = (kept, np.asarray(np.frompyfunc(joined, 2, 1)(total, added), object))

    def _with_sum(self, total: Term, added: Term) -> Term:
        return apply("+", total, self._stands_for(added))

    def _with_greatest(self, total: Term, offered: Term) -> Term:
        return term_of(Operator.MAX, total, self._stands_for(apply(GREATEST, offered)))

    def _stands_for(self, steps: Term) -> Term:
        symbol = atom("%part", (len(self.sums),))
        self.sums[symbol] = steps
        return symbol

    def places(self, access: Access, axes: tuple[int, ...], fixed: dict[int, int]) -> tuple[list[Array], Array]:
        found = [self._index(index, axes, fixed, self.coordinates) + index.constant for index in access.indices]
        inside = np.ones(tuple(self.sizes[a] for a in axes), bool)
        for place, size in zip(found, self.backbone.regions[access.region].shape, strict=True):
            inside &= (place >= 0) & (place < size)
        return found, inside

    def _index(
        self, index: AxisSum, axes: tuple[int, ...], fixed: dict[int, int], values: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """The index without its constant, `values` in place of the axes' points."""
        shape = tuple(self.sizes[a] for a in axes)
        total = np.zeros(shape, np.int64)
        for axis, coefficient in index.terms:
            if axis in axes:
                at = [1] * len(axes)
                at[axes.index(axis)] = -1
                total = total + coefficient * values[axis].reshape(at)
            else:
                total = total + coefficient * int(values[axis][fixed[axis]])
        return total

    def load(self, access: Access, axes: tuple[int, ...], fixed: dict[int, int]) -> Array:
        region = self.backbone.regions[access.region]
        if region.role is not Role.INPUT:
            raise NoWindowError(f"expected {region.name} to be written or read, got both")
        places, inside = self.places(access, axes, fixed)
        if access.fill is None and not inside.all():
            raise IndexError(f"a load from {region.name!r} leaves its shape")
        flat = np.broadcast_to(flat_places(region, places), inside.shape)
        found = np.empty(flat.shape, object)
        found[...] = self.number(access.fill or 0.0, region.dtype)[()]
        found[inside] = self._elements(access, axes, fixed, flat, inside)
        return found

    def starts(self, access: Access, axes: tuple[int, ...], fixed: dict[int, int], places: Array) -> Terms:
        inside = np.ones(tuple(self.sizes[a] for a in axes), bool)
        found = np.empty(inside.shape, object)
        found[inside] = self._elements(access, axes, fixed, np.broadcast_to(places, inside.shape), inside)
        return found

    def position(self, index: AxisSum, dtype: DType, axes: tuple[int, ...], fixed: dict[int, int]) -> Terms:
        found = self._index(index, axes, fixed, self.coordinates) + index.constant
        return np.asarray(np.frompyfunc(lambda place: constant(int(place)), 1, 1)(found), object)

    def _elements(
        self, access: Access, axes: tuple[int, ...], fixed: dict[int, int], places: Array, inside: NDArray[np.bool_]
    ) -> list[Term]:
        """The elements at these places inside, by the names of their uses."""
        region = self.backbone.regions[access.region]
        use = self.uses.get(access, Use(region.name, region.name))
        steps, behind = (
            np.broadcast_to(flat_places(region, [self._index(i, axes, fixed, by) for i in access.indices]), inside.shape)
            for by in (self.steps, self.behind)
        )
        return [
            self._symbol(use.at_end if is_behind else use.name, k, step)
            for k, step, is_behind in zip(places[inside].tolist(), steps[inside].tolist(), behind[inside].tolist(), strict=True)
        ]

    def store(self, access: Access, axes: tuple[int, ...], value: Terms) -> None:
        places, inside = self.places(access, axes, {})
        flat = flat_places(self.backbone.regions[access.region], places)
        into = self.stored.setdefault(access.region, {})
        flat = np.broadcast_to(flat, inside.shape)
        into.update(zip(flat[inside].tolist(), np.broadcast_to(value, inside.shape)[inside].tolist(), strict=True))

    def _symbol(self, name: str, place: int, step: int) -> Term:
        key = (name, place, step)
        if key not in self._symbols:
            self._symbols[key] = atom(name, (place, step) if step else (place,))
        return self._symbols[key]


# ------------------------------------------------------------ which part


def points_of(backbone: Backbone, elements: Mapping[str, NDArray[np.int64]]) -> list[Sequence[int]]:
    """The smallest part that stores these places of outputs, if the axes of each store are the array's. NoWindowError."""
    found = whole(backbone)
    stored: dict[int, set[int]] = {}
    for access in stores_of(backbone):
        region = backbone.regions[access.region]
        places = elements.get(region.name)
        if places is None or not len(places):
            continue
        for (axis, coefficient, first), index in zip(axes_of(access), indices_of(region, places), strict=True):
            if axis is None:
                continue
            stored.setdefault(axis, set()).update(((np.unique(index) - first) // coefficient).tolist())
    for axis, points in stored.items():
        inside = sorted(p for p in points if 0 <= p < backbone.axes[axis].size)
        if axis not in reduced(backbone) and inside:
            found[axis] = inside
    return found


def count_stored(backbone: Backbone, name: str) -> int:
    """Places of an output that the backbone stores. NoWindowError where they are not known to be different ones."""
    stores = [a for a in stores_of(backbone) if backbone.regions[a.region].name == name]
    if len(stores) != 1:
        raise NoWindowError(f"expected one instruction that stores to {name}, got {len(stores)}")
    (access,) = stores
    region = backbone.regions[access.region]
    check_injective(region)
    axes = axes_of(access)
    own = [axis for axis, _, _ in axes if axis is not None]
    instruction = next(i for i in backbone.instructions if i.access is access)
    if len(set(own)) < len(own) or set(own) != set(instruction.axes):
        raise NoWindowError(f"expected each place of {name} to be stored once")
    for (axis, coefficient, first), size in zip(axes, region.shape, strict=True):
        last = first if axis is None else first + coefficient * (backbone.axes[axis].size - 1)
        if min(first, last) < 0 or max(first, last) >= size:
            raise NoWindowError(f"expected all stores to {name} to be inside it")
    return prod(backbone.axes[axis].size for axis in own)


def stores_all(program: Program, name: str) -> bool:
    """Whether the function is known to store every element of an array, once."""
    for stage in program.plain.stages:
        region = next((r for r in stage.regions if r.name == name and r.role is not Role.INPUT), None)
        if region is not None:
            with suppress(NoWindowError):
                return count_stored(stage, name) == region.elements
    return False


# ------------------------------------------------------------ how it moves


def moved(
    backbone: Backbone,
    points: Points,
    moves: Mapping[str, Sequence[int]],
    counts: Sequence[int],
    first: Sequence[int] | None = None,
    grown: Mapping[str, Sequence[int]] | None = None,
    uses: Mapping[Access, Use] | None = None,
    length: int | None = None,
    outputs: Collection[str] | None = None,
) -> None:
    """Returns where every block of a box computes what its first block must compute, of elements that lie further on by `moves`
    from block to block along each axis of the box; NoWindowError where that is not seen.

    points: what the first block computes. counts: blocks along each axis, from `first` on, else from the first block on. Arrays
    that are not in `moves` are not accessed. grown: by how much each size known at run time grows along each axis of the box.
    uses: names in `moves` of what is loaded, where they are not those of the arrays. length: the axis of the box along which a
    repetition gets further steps. outputs: only what is stored to these is looked at, and all that is computed for it; None: all.
    """
    instructions = backbone.instructions if outputs is None else _computed_for(backbone, outputs)
    stored = {name: by for name, by in moves.items() if outputs is None or name in outputs}
    _check_no_positions(backbone, instructions)
    shifts = [_axis_shifts(backbone, {name: by[n] for name, by in stored.items()}) for n in range(len(counts))]
    used = [n for n, count in enumerate(counts) if count > 1]
    moving = {a for n in used for a, by in enumerate(shifts[n]) if by}
    _check_point_to_point(backbone, instructions, moving)
    ends = list(product(*(sorted({f, f + n - 1}) for f, n in zip(first or [0] * len(counts), counts, strict=True))))
    corners = [
        [sum(shift * place for shift, place in zip(by_axis, corner, strict=True)) for by_axis in zip(*shifts, strict=True)]
        for corner in ends
    ]
    for end, corner in zip(ends, corners, strict=True):
        for axis, (by, own) in enumerate(zip(corner, points, strict=True)):
            size, run_time = backbone.axes[axis].size, backbone.axes[axis].run_time
            if run_time is not None and grown is not None:
                size += sum(more * place for more, place in zip(grown.get(run_time.name, ()), end, strict=False))
            if not 0 <= own[0] + by <= own[-1] + by < size:
                raise NoWindowError(f"expected every block's part of axis {backbone.axes[axis].name} to be inside it")
    accesses = accesses_of(backbone)
    for instruction in instructions:
        access = accesses.get(id(instruction))
        if access is None:
            continue
        region = backbone.regions[access.region]
        use = (uses or {}).get(access, Use(region.name, region.name))
        for n in used:
            by = _moved_by(region, access, shifts[n])
            for name, more in {use.name: 0, use.at_end: use.step if n == length else 0}.items():
                if name not in moves and by + more:
                    raise NoWindowError(f"expected accesses to {region.name}, got none in the kernel")
                if name in moves and by + more != moves[name][n]:
                    told = f"from block to block, the kernel's by {moves[name][n]}"
                    raise NoWindowError(f"{instruction.name} moves by {by + more} elements {told}")
        _check_inside_alike(backbone, access, points, corners)


def _computed_for(backbone: Backbone, outputs: Collection[str]) -> list[Instruction]:
    """The stores to these arrays, and the instructions that their values come from."""
    every = backbone.instructions
    left = [n for n, i in enumerate(every) if i.operator is Operator.STORE and _region_of(backbone, i) in outputs]
    found = set(left)
    while left:
        more = {n for o in every[left.pop()].operands if (n := named_by(o)) is not None} - found
        found |= more
        left += more
    return [every[n] for n in sorted(found)]


def _region_of(backbone: Backbone, instruction: Instruction) -> str:
    return "" if instruction.access is None else backbone.regions[instruction.access.region].name


def uses_of(
    backbone: Backbone,
    moves: Mapping[str, Sequence[int]],
    counts: Sequence[int],
    repeated: Repetition | None = None,
    length: int | None = None,
) -> dict[Access, Use]:
    """The names of what each instruction loads, by how it moves. NoWindowError where the kernel loads nothing that moves so.

    moves: as for `moved`, by use of an array: its name, or that with `@` and a number. length: the axis of the box along which a
    repetition gets further steps.
    """
    shifts = [_axis_shifts(backbone, {name: by[n] for name, by in moves.items()}) for n in range(len(counts))]
    used = [n for n, count in enumerate(counts) if count > 1]
    found: dict[Access, Use] = {}
    accesses = accesses_of(backbone)
    for instruction in backbone.instructions:
        access = accesses.get(id(instruction))
        if access is None or instruction.operator is Operator.STORE:
            continue
        region = backbone.regions[access.region]
        own = {name: by for name, by in moves.items() if name.partition("@")[0] == region.name}
        by = {n: _moved_by(region, access, shifts[n]) for n in used}
        step = 0
        if repeated is not None and repeated.is_open:
            step = weight_of(region, access, repeated.axis) * repeated.width
        at_end = {n: b + (step if n == length else 0) for n, b in by.items()}
        names = [next((u for u, m in own.items() if all(m[n] == wanted[n] for n in used)), "") for wanted in (by, at_end)]
        if own and not all(names):
            ways = " or ".join(str([m[n] for n in used]) for m in own.values())
            told = f"{instruction.name} moves by {list((at_end if names[0] else by).values())} elements from block to block"
            raise NoWindowError(f"{told}, the kernel's by {ways}")
        found[access] = Use(names[0] or region.name, names[1] or region.name, step)
    return found


def _moved_by(region: Region, access: Access, shifts: Sequence[int]) -> int:
    return sum(stride * _shift(index.terms, shifts) for stride, index in zip(region.strides, access.indices, strict=True))


def _shift(terms: Sequence[tuple[int, int]], shifts: Sequence[int]) -> int:
    return sum(coefficient * shifts[axis] for axis, coefficient in terms)


def _axis_shifts(backbone: Backbone, moves: Mapping[str, int]) -> list[int]:
    """By how many points each axis moves when places of the outputs do so."""
    found: dict[int, int] = {}
    for access in stores_of(backbone):
        region = backbone.regions[access.region]
        if region.name not in moves:
            continue
        check_injective(region)
        left = moves[region.name]
        for stride, (axis, coefficient, _) in sorted(zip(region.strides, axes_of(access), strict=True), key=lambda d: -d[0]):
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


def _check_no_positions(backbone: Backbone, instructions: Sequence[Instruction]) -> None:
    """NoWindowError where an index is a number, and no part of a place: other parts have other ones."""
    of_places = {id(backbone.instructions[n]) for n in gathered_by(backbone).computing}
    for instruction in instructions:
        if id(instruction) not in of_places and any(isinstance(o, Position) for o in instruction.operands):
            raise NoWindowError(f"expected no index as a number, got {instruction.name}")


def _check_point_to_point(backbone: Backbone, instructions: Sequence[Instruction], moving: set[int]) -> None:
    """NoWindowError where an instruction gathers these axes: they must be reduced nowhere, and values go to the same point."""
    if at := moving & reduced(backbone):
        raise NoWindowError(f"expected blocks that do not share the sum over {backbone.axes[min(at)].name}")
    for instruction in instructions:
        for operand in instruction.operands:
            match operand:
                case Result(producer, mapped, _) | Previous(producer, mapped):
                    axes, kept = backbone.instructions[producer].axes, set(mapped) & set(instruction.axes)
                case Carry(init, _):
                    axes, kept = backbone.instructions[init].axes, set(instruction.axes)
                case _:
                    continue
            if at := moving & set(axes) - kept:
                raise NoWindowError(f"expected {instruction.name} to use its own point of {backbone.axes[min(at)].name}")


def _check_inside_alike(backbone: Backbone, access: Access, points: Points, corners: Sequence[Sequence[int]]) -> None:
    """NoWindowError unless each point of the part is inside the array in every block or in none."""
    if access.fill is None:
        return
    for index, size in zip(access.indices, backbone.regions[access.region].shape, strict=True):
        by = [_shift(index.terms, corner) for corner in corners]
        first = _shift(index.terms, [p[0] for p in points])
        low, high = (first + end for end in index.span(lambda axis: points[axis][-1] - points[axis][0]))
        if set(by) == {0} or (low + min(by) >= 0 and high + max(by) < size):
            continue
        values = [
            index.constant + sum(c * p for (_, c), p in zip(index.terms, point, strict=True))
            for point in product(*(points[a] for a, _ in index.terms))
        ]
        if any(not _is_alike(value, min(by), max(by), size) for value in values):
            raise NoWindowError(f"expected points outside of {backbone.regions[access.region].name} in every block or in none")


def _is_alike(value: int, least: int, most: int, size: int) -> bool:
    return value + most < 0 or value + least >= size or (value + least >= 0 and value + most < size)
