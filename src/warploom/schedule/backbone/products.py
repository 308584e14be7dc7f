"""Sums of several products as one step of multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.schedule.backbone.nodes import Backbone, Carry, Instruction, Operand, Operator, Result
from warploom.schedule.backbone.once import rebuilt


def added_products(stage: Backbone) -> Backbone:
    """The same kernel in which a carried sum of `a * b + c * d` adds one product after the other to its total: an `FMA` of all
    factors in place of products, their sum and its addition. The total is rounded after each product, so that this is done where
    sums may be taken in another order only; products that anything else reads stay."""
    if not stage.can_reorder:
        return stage
    readers = [o.instruction for i in stage.instructions for o in i.operands if isinstance(o, Result)]
    instructions, gone = list(stage.instructions), set[int]()
    for number, total in enumerate(stage.instructions):
        found = _products(stage.instructions, readers, total)
        if found is not None:
            instructions[number], parts = found
            gone |= parts
    if not gone:
        return stage
    kept = [n for n in range(len(instructions)) if n not in gone]
    number = {n: position for position, n in enumerate(kept)}
    return stage.remade(rebuilt(stage, [instructions[n] for n in kept], number))


def _products(
    instructions: Sequence[Instruction], readers: Sequence[int], total: Instruction
) -> tuple[Instruction, frozenset[int]] | None:
    """The sum as an `FMA`, and the instructions that are in it; None where it is not one of several products."""
    if total.operator is not Operator.ADD or total.carry is None or not total.dtype.is_float:
        return None
    factors: list[Operand] = []
    parts: set[int] = set()
    waiting: list[Operand] = [o for o in total.operands if not isinstance(o, Carry)]
    while waiting:
        operand = waiting.pop()
        if not isinstance(operand, Result) or readers.count(operand.instruction) != 1:
            return None
        part = instructions[operand.instruction]
        if part.carry is not None or part.dtype != total.dtype or set(operand.mapped) != set(part.axes):
            return None
        match part.operator:
            case Operator.ADD:
                waiting += part.operands
            case Operator.FMA:
                factors += part.operands[:2]
                waiting.append(part.operands[2])
            case Operator.MUL:
                factors += part.operands
            case _:
                return None
        parts.add(operand.instruction)
    if len(factors) < 4:
        return None
    carry = next(o for o in total.operands if isinstance(o, Carry))
    return replace(total, operator=Operator.FMA, operands=(*factors, carry)), frozenset(parts)
