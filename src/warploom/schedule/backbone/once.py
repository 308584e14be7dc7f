"""Equal loads as one: a kernel that reads its input once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from warploom.schedule.backbone.build import assemble
from warploom.schedule.backbone.following import factors_apart
from warploom.schedule.backbone.nodes import Access, Backbone, Carry, Instruction, Operand, Operator, Previous, Result


def read_once(stage: Backbone, most_bytes: float = math.inf) -> Backbone:
    """The same kernel in which loads of one element over the same axes are one load, the first of them.

    What a reduction separates from a later use must be kept until then, so that the parts of a load along axes that are reduced
    have at most `most_bytes`; larger ones, and loads of arrays that the kernel stores to, stay apart. So do factors of two
    products of matrices: each product reads its tiles in the order of its own threads.
    """
    products = _products_of(stage.instructions)
    stored = {i.access.region for i in stage.instructions if i.operator is Operator.STORE and i.access is not None}
    reduced = {axis for i in stage.instructions if i.carry is not None for axis in i.carry.reduced}
    first: dict[tuple[Access, tuple[int, ...], int | None], int] = {}
    number: dict[int, int] = {}
    kept: list[Instruction] = []
    for n, instruction in enumerate(stage.instructions):
        access = instruction.access
        if instruction.operator is Operator.LOAD and access is not None and access.region not in stored:
            size = math.prod(stage.axes[a].size for a in instruction.axes if a in reduced) * instruction.dtype.size_bytes
            what = access, instruction.axes, products.get(n)
            same = first.get(what)
            if same is not None and size <= most_bytes:
                number[n] = same
                continue
            first.setdefault(what, len(kept))
        number[n] = len(kept)
        kept.append(instruction)
    if len(kept) == len(stage.instructions):
        return stage
    return rebuilt(stage, kept, number)


def _products_of(instructions: Sequence[Instruction]) -> dict[int, int]:
    """By load: the product of matrices that it is a factor of, also converted."""
    return {
        _loaded(instructions, factor): total
        for total, instruction in enumerate(instructions)
        if factors_apart(instructions, instruction) is not None
        for factor in instruction.operands[:2]
    }


def _loaded(instructions: Sequence[Instruction], factor: Operand) -> int:
    assert isinstance(factor, Result)
    made = instructions[factor.instruction]
    return _loaded(instructions, made.operands[0]) if made.operator is Operator.CAST else factor.instruction


def rebuilt(stage: Backbone, instructions: Sequence[Instruction], number: Mapping[int, int]) -> Backbone:
    """The kernel of these instructions over the axes and arrays of another one; number: where in them the values are made that
    they still name by their old numbers."""
    made = [replace(i, operands=tuple(renumbered(o, number) for o in i.operands)) for i in instructions]
    found = assemble(stage.name, stage.axes, stage.extents, stage.regions, made, can_reorder=stage.can_reorder)
    return replace(found, rewritten=stage.rewritten, made_of=stage.made_of)


def repeated(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Computations whose values some earlier ones have already, with equal loads taken as one."""
    first: dict[int, int] = {}
    known: dict[tuple[object, ...], int] = {}
    for number, instruction in enumerate(instructions):
        first[number] = number
        if instruction.operator is Operator.STORE or any(isinstance(o, Carry | Previous) for o in instruction.operands):
            continue
        operands = tuple(renumbered(o, first) for o in instruction.operands)
        made = (instruction.operator, operands, instruction.axes, instruction.dtype, instruction.access, instruction.region)
        first[number] = known.setdefault(made, number)
    return frozenset(n for n, same in first.items() if same != n and instructions[n].access is None)


def renumbered(operand: Operand, number: Mapping[int, int]) -> Operand:
    """The operand with the instructions that it names renumbered."""
    match operand:
        case Result():
            return replace(operand, instruction=number[operand.instruction])
        case Previous():
            return replace(operand, instruction=number[operand.instruction])
        case Carry():
            return replace(operand, init=number[operand.init])
        case _:
            return operand
