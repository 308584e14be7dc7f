"""Stages that read one array, as one stage: a kernel that passes over the array once.

    s[n] = sum(A[m, n] * r[m], over=m)               ->   both sums of one kernel, of each element of A as it is loaded
    q[m] = sum(A[m, n] * p[n], over=n)

    t[m] = sum(A[m, n] * x[n], over=n)               ->   y gets its part of a row of A when t of that row is known: t[m] is
    y[n] = sum(A[m, n] * t[m], over=m)                    the value of the first stage at the same m, not an element of an array

The instructions of both stay as they are, with axes renamed so that they meet in the array; what the second one loads of what the
first one stores becomes the value that is stored. Goal: two stages whose instructions all run along axes of the array that they
share, where what passes between them passes from index to index of an axis that is not the array's fastest: then one loop along
that axis can serve both. Non-goals: arrays that are used again along other axes (products of matrices), sizes known at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from warploom.core.linear import Linear
from warploom.schedule.backbone import (
    Access,
    AxisSum,
    Backbone,
    Carry,
    Instruction,
    Operand,
    Operator,
    Position,
    Previous,
    Program,
    Region,
    Result,
    Role,
    Scope,
    Tiles,
    backbone,
    followers,
    read_once,
    serial_axes,
    waits_for_sum,
)
from warploom.schedule.frontend.scopes import with_scopes
from warploom.schedule.frontend.tiled import tiled_axes


def sharing_passes(program: Program, tiles: Tiles) -> Program:
    """The program with each two stages, one after the other, as one where they pass over one array; its results are the same.

    Axes of joined stages get their tile sizes anew.
    """
    stages: list[Backbone] = []
    for number, stage in enumerate(program.stages):
        later = {r.name for other in program.stages[number + 1 :] for r in other.regions}
        unseen = {r.name for r in program.arguments if r.role is Role.TEMPORARY} - later
        found = _joined(stages[-1], stage, unseen, tiles) if stages else None
        if found is None:
            stages.append(stage)
        else:
            stages[-1] = found
    if len(stages) == len(program.stages):
        return program
    if len(stages) == 1:
        stages = [replace(stages[0], name=program.name)]
    return replace(program, stages=tuple(stages))


def _joined(first: Backbone, second: Backbone, unseen: set[str], tiles: Tiles) -> Backbone | None:
    """`unseen`: arrays that nothing reads behind the second stage."""
    if first.can_reorder != second.can_reorder or not (_is_simple(first) and _is_simple(second)):
        return None
    for mine, theirs in _shared(first, second):
        axes = dict(zip(theirs, mine, strict=True))
        sizes = [(first.axes[a].size, second.axes[b].size) for b, a in axes.items()]
        if any(a != b for a, b in sizes) or not (_runs_along(first, mine) and _runs_along(second, theirs)):
            continue
        passed = _passed(first, second, axes)
        if passed is not None and _can_follow(passed.values(), mine):
            return _Join(first, second, unseen, axes, passed).backbone(tiles)
    return None


def _is_simple(stage: Backbone) -> bool:
    is_plain = stage.rewritten is None and not any(axis.run_time is not None for axis in stage.axes)
    return is_plain and not serial_axes(stage.instructions) and not any(_is_odd(i) for i in stage.instructions)


def _is_odd(instruction: Instruction) -> bool:
    return instruction.operator is Operator.GATHER or any(isinstance(o, Previous) for o in instruction.operands)


def _shared(first: Backbone, second: Backbone) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The axes along which both stages load an array of two axes or more (or the first stores it), one for each axis of the
    array, slowest first."""
    mine = [(a, first.regions[a.region].name) for i in first.instructions if (a := i.access) is not None]
    theirs = [(i.access, second.regions[i.access.region].name) for i in _loads(second) if i.access is not None]
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for access, name in mine:
        for other, its in theirs:
            one, two = _plain(access), _plain(other)
            if name == its and one is not None and two is not None and len(one) > 1:
                found[one, two] = None
    return list(found)


def _loads(stage: Backbone) -> list[Instruction]:
    return [i for i in stage.instructions if i.operator is Operator.LOAD]


def _plain(access: Access) -> tuple[int, ...] | None:
    """The axes that the indices are; None for other indices."""
    axes = tuple(axis for index in access.indices for axis, factor in index.terms if factor == 1)
    is_plain = all(index.constant == 0 and len(index.terms) == 1 for index in access.indices)
    return axes if is_plain and len(axes) == len(set(axes)) == len(access.indices) and access.fill is None else None


def _runs_along(stage: Backbone, axes: Sequence[int]) -> bool:
    """All instructions run along these axes only."""
    return all(set(i.axes) <= set(axes) for i in stage.instructions)


def _passed(first: Backbone, second: Backbone, axes: Mapping[int, int]) -> dict[int, Instruction] | None:
    """Loads of the second stage of what the first one stores -> the store; None where they are not of the same element, or where
    the second stage overwrites what the first one accesses."""
    stores = {first.regions[i.access.region].name: i for i in first.instructions if i.access and i.operator is Operator.STORE}
    known = {r.name for r in first.regions}
    found: dict[int, Instruction] = {}
    for number, instruction in enumerate(second.instructions):
        if instruction.access is None:
            continue
        name = second.regions[instruction.access.region].name
        if instruction.operator is Operator.STORE and name in known:
            return None
        if name not in stores:
            continue
        store = stores[name]
        mine, theirs = _plain(store.access) if store.access else None, _plain(instruction.access)
        if mine is None or theirs is None or mine != tuple(axes[a] for a in theirs) or not isinstance(store.operands[0], Result):
            return None
        found[number] = store
    return found if all(_is_whole(second, number) for number in found) else None


def _is_whole(stage: Backbone, load: int) -> bool:
    """Users take the load's values one by one."""
    axes = set(stage.instructions[load].axes)
    uses = [o for i in stage.instructions for o in i.operands if isinstance(o, Result) and o.instruction == load]
    starts = any(isinstance(o, Carry) and o.init == load for i in stage.instructions for o in i.operands)
    return not starts and all(set(o.mapped) == axes for o in uses)


def _can_follow(stores: Iterable[Instruction], axes: Sequence[int]) -> bool:
    """One loop along an axis that is not the fastest can make the values that are passed and use them."""
    listed = [set(store.axes) for store in stores]
    return any(all(axis in passed for passed in listed) for axis in axes[:-1])


@dataclass(slots=True)
class _Join:
    first: Backbone
    second: Backbone
    unseen: set[str]
    axes: Mapping[int, int]
    """Axes of the second stage -> those of the first."""
    passed: Mapping[int, Instruction]
    """Loads of the second stage -> the stores of what they load."""

    def backbone(self, tiles: Tiles) -> Backbone:
        between = {_array(self.second, load) for load in map(self.second.instructions.__getitem__, self.passed)} & self.unseen
        regions = self._regions(between)
        instructions = self._instructions({r.name: n for n, r in enumerate(regions)}, between)
        stored = next(_array(self.second, i) for i in self.second.instructions if i.operator is Operator.STORE)
        name = f"{self.first.name}_{stored}"
        axes = tiled_axes(name, self.first.axes, regions, instructions, tiles)
        scoped = with_scopes(instructions, Scope.THREAD)
        made = backbone(name, axes, regions, scoped, can_reorder=self.first.can_reorder)
        origins = (*self.first.origins, *self.second.origins)
        return replace(made if _separates(scoped) else read_once(made), made_of=origins)

    def _regions(self, between: set[str]) -> list[Region]:
        found = {r.name: r for r in self.first.regions if r.name not in between}
        for region in self.second.regions:
            if region.name not in between:
                found.setdefault(region.name, region)
        return list(found.values())

    def _instructions(self, number: Mapping[str, int], between: set[str]) -> list[Instruction]:
        made: list[Instruction] = []
        first: dict[int, int] = {}
        for n, instruction in enumerate(self.first.instructions):
            if instruction.operator is Operator.STORE and _array(self.first, instruction) in between:
                continue
            first[n] = len(made)
            access = _moved(instruction.access, self.first, number, {})
            made.append(
                replace(instruction, operands=tuple(_moved_to(o, first, {}) for o in instruction.operands), access=access)
            )
        second: dict[int, int] = {}
        names = {i.name for i in made}
        for n, instruction in enumerate(self.second.instructions):
            if n in self.passed:
                continue
            second[n] = len(made)
            operands = tuple(self._operand(o, first, second) for o in instruction.operands)
            access = _moved(instruction.access, self.second, number, self.axes)
            axes = tuple(sorted(self.axes[a] for a in instruction.axes))
            name = _free(instruction.name, names)
            names.add(name)
            made.append(replace(instruction, name=name, operands=operands, axes=axes, access=access))
        return made

    def _operand(self, operand: Operand, first: Mapping[int, int], second: Mapping[int, int]) -> Operand:
        if not isinstance(operand, Result) or operand.instruction not in self.passed:
            return _moved_to(operand, second, self.axes)
        value = self.passed[operand.instruction].operands[0]
        assert isinstance(value, Result)
        mapped = tuple(sorted(self.axes[a] for a in operand.mapped if self.axes[a] in value.mapped))
        return Result(first[value.instruction], mapped)


def _array(stage: Backbone, instruction: Instruction) -> str:
    """The array that a load or store accesses."""
    assert instruction.access is not None
    return stage.regions[instruction.access.region].name


def _moved(access: Access | None, stage: Backbone, number: Mapping[str, int], axes: Mapping[int, int]) -> Access | None:
    if access is None:
        return None
    indices = tuple(_renamed(index, axes) for index in access.indices)
    return replace(access, region=number[stage.regions[access.region].name], indices=indices)


def _renamed(index: AxisSum, axes: Mapping[int, int]) -> AxisSum:
    return Linear(tuple(sorted((axes.get(axis, axis), factor) for axis, factor in index.terms)), index.constant)


def _moved_to(operand: Operand, number: Mapping[int, int], axes: Mapping[int, int]) -> Operand:
    def renamed(listed: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(axes.get(a, a) for a in listed))

    match operand:
        case Result(instruction, mapped):
            return Result(number[instruction], renamed(mapped))
        case Carry(init, reduced):
            return Carry(number[init], renamed(reduced))
        case Position(index):
            return Position(_renamed(index, axes))
        case _:
            return operand


def _free(name: str, taken: set[str]) -> str:
    return name if name not in taken else next(n for k in count(2) if (n := f"{name}_{k}") not in taken)


def _separates(instructions: Sequence[Instruction]) -> bool:
    """Between two loads of the same elements lies a sum over them: they would have to be kept until it is known."""
    after = followers(instructions)
    loads = [(n, i) for n, i in enumerate(instructions) if i.operator is Operator.LOAD]
    equal = [(n, m) for n, i in loads for m, j in loads if n < m and (i.access, i.axes) == (j.access, j.axes)]
    return any(
        waits_for_sum(instructions, after, n, user)
        for n, m in equal
        for user, instruction in enumerate(instructions)
        if any(isinstance(o, Result) and o.instruction == m for o in instruction.operands)
    )
