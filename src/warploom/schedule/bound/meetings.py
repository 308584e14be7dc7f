"""Accesses and values that a compiler may find to be equal: elements that several points or several loads read, products that
become part of a sum, points outside an array, values that are only copied.

A C compiler and ptxas load an element once where it finds that loads in one body, or in iterations that follow each other, read
the same; they compute a value once that has the same operands. Both keep what they have in registers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from warploom.schedule.backbone import (
    FUNCTIONS,
    Access,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Result,
    repeated,
)
from warploom.schedule.bound.slots import slot_groups

MOST_TOGETHER = 8
"""Loads of one array that are looked at together; further ones count nothing."""
_MOST_COUNTED = 1 << 20


class Reads(NamedTuple):
    """Reads of the instructions of a backbone, each in their order."""

    points: list[float]
    """Numbers of points that surely run: distinct values of a computation, points within the array of an access."""
    leaders: list[int]
    """The first load of the same array whose index differs by constants only."""
    constants: list[tuple[int, ...]]
    """Constants of the index of an access, by array axis."""
    inside: list[float]
    """Share of the points that lie in the array."""
    distinct: list[float]
    """Elements of an access."""
    is_copied: list[bool]
    """The value goes to memory and may be one that was loaded, unchanged: compilers make wide copies of such loops."""
    left_out: frozenset[int]
    """Products that only sums use, which become fused instructions, and values that were computed before."""


def reads_of(backbone: Backbone) -> Reads:
    instructions = backbone.instructions
    shares = [_share_inside(backbone, i.access) for i in instructions]
    leaders = list[int]()
    for number, instruction in enumerate(instructions):
        same = (n for n in range(number) if _differs_by_constants(instructions[n], instruction))
        first = next(same, number)
        leaders.append(first if instruction.operator is Operator.LOAD else number)
    points = list[float]()
    for number, instruction in enumerate(instructions):
        behind = _behind(instructions, number)
        whole = float(np.prod([backbone.axes[a].size for a in instruction.axes], dtype=np.float64))
        if instruction.access is None and not _is_told_apart(backbone, instruction, behind):
            whole = 1.0
        outside = sum(1.0 - shares[n] for n in {*behind, number})
        points.append(whole * max(0.0, 1.0 - outside))
    return Reads(
        points,
        leaders,
        [tuple(x.constant for x in i.access.indices) if i.access else () for i in instructions],
        shares,
        [share * _distinct(backbone, i) for share, i in zip(shares, instructions, strict=True)],
        [
            not _is_computed(instructions, n) and any(user is Operator.STORE for user in _users(instructions, n))
            for n in range(len(instructions))
        ],
        repeated(instructions)
        | {n for n, i in enumerate(instructions) if i.operator is Operator.MUL and _is_fused(instructions, n)},
    )


def _share_inside(backbone: Backbone, access: Access | None) -> float:
    """Share of the points of an access that are surely inside the array, where it has a value for places outside."""
    if access is None or access.fill is None:
        return 1.0
    share = 1.0
    for index, size in zip(access.indices, backbone.regions[access.region].shape, strict=True):
        places = np.array([index.constant])
        for axis, factor in index.terms:
            if places.size * backbone.axes[axis].size > _MOST_COUNTED:
                return 0.0
            places = (places[:, None] + factor * np.arange(backbone.axes[axis].size)).reshape(-1)
        share -= 1.0 - float(np.mean((places >= 0) & (places < size)))
    return max(0.0, share)


def _differs_by_constants(first: Instruction, second: Instruction) -> bool:
    one, other = first.access, second.access
    if one is None or other is None or first.operator is not Operator.LOAD:
        return False
    terms = [sorted(x.terms) for x in one.indices] == [sorted(x.terms) for x in other.indices]
    return one.region == other.region and terms and first.axes == second.axes


def _behind(instructions: Sequence[Instruction], number: int) -> set[int]:
    """The loads whose values an instruction uses point by point, through others, too."""
    if instructions[number].access is not None:
        return set()
    found = set[int]()
    for operand in instructions[number].operands:
        if isinstance(operand, Result):
            is_load = instructions[operand.instruction].operator is Operator.LOAD
            found |= {operand.instruction} if is_load else _behind(instructions, operand.instruction)
    return found


def _is_told_apart(backbone: Backbone, instruction: Instruction, behind: set[int]) -> bool:
    """Different points read different elements of something: the indices of all loads together determine the point."""
    axes = [a for a in instruction.axes if backbone.axes[a].size > 1]
    if any(isinstance(o, Carry) for o in instruction.operands) and not behind:
        return False
    rows = [
        [dict(index.terms).get(axis, 0) for axis in axes]
        for n in behind
        if (access := backbone.instructions[n].access) is not None
        for index in access.indices
    ]
    return not axes or (bool(rows) and int(np.linalg.matrix_rank(np.array(rows))) == len(axes))


def _users(instructions: Sequence[Instruction], number: int) -> list[Operator]:
    return [i.operator for i in instructions if any(isinstance(o, Result) and o.instruction == number for o in i.operands)]


def _is_computed(instructions: Sequence[Instruction], number: int) -> bool:
    """Surely no element of an array, whatever a compiler finds out: not `x * 1`, the sum of one element, or a constant. Integers
    are not asked, since compilers reorder them."""
    instruction = instructions[number]
    if not instruction.dtype.is_float:
        return False

    def is_new(operand: Operand) -> bool:
        return isinstance(operand, Result) and _is_computed(instructions, operand.instruction)

    def is_given(operand: Operand) -> bool:
        is_load = isinstance(operand, Result) and instructions[operand.instruction].operator is Operator.LOAD
        changes = isinstance(operand, Constant) and operand.value not in (0, 1)
        return is_load or changes or isinstance(operand, Parameter) or is_new(operand)

    operands = [o for o in instruction.operands if not isinstance(o, Carry)]
    carries = len(operands) < len(instruction.operands)
    match instruction.operator:
        case operator if operator is Operator.FMA or operator in FUNCTIONS:
            return all(is_given(o) for o in operands)
        case Operator.ADD | Operator.SUB | Operator.MUL | Operator.DIV if not carries:
            return all(is_given(o) for o in operands)
        case Operator.LOAD | Operator.STORE:
            return False
        case _:
            return all(is_new(o) for o in operands)


def _is_fused(instructions: Sequence[Instruction], number: int) -> bool:
    users = _users(instructions, number)
    return bool(users) and all(user in (Operator.ADD, Operator.SUB) for user in users)


def _distinct(backbone: Backbone, instruction: Instruction) -> float:
    """Elements of an access, at least: axes that are added up count as the longest of them."""
    if instruction.access is None:
        return 0.0
    axes = [a for a in instruction.axes if any(a == axis for x in instruction.access.indices for axis, _ in x.terms)]
    groups = slot_groups(instruction.access, axes)
    return float(
        np.prod([max(backbone.axes[a].size for a, g in zip(axes, groups, strict=True) if g == group) for group in set(groups)])
    )
