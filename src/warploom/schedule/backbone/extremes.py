"""Maxima and minima of elements that lie a few elements apart, in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warploom.schedule.backbone.nodes import Backbone, Instruction, Operand, Operator, Result, Scope
from warploom.schedule.backbone.once import rebuilt


@dataclass(frozen=True, slots=True)
class _Tree:
    nodes: dict[int, Scope]
    """Instructions in their order, the last of which is the result, and how the value of each travels to its only reader."""
    leaves: tuple[Operand, ...]


def paired_extremes(stage: Backbone) -> Backbone:
    """The same kernel in which maxima, or minima, of several loads join those first whose last indices are the same: of
    `max(max(X[2*h, 2*w], X[2*h, 2*w + 1]), max(X[2*h + 1, 2*w], X[2*h + 1, 2*w + 1]))` the rows before the columns. So they are
    taken of vectors of neighbours, and every second element is picked of the maxima, not of each row. Done where the last indices
    move by more than one element; the result is the same in any order. Values that anything else reads stay."""
    readers = [o.instruction for i in stage.instructions for o in i.operands if isinstance(o, Result)]
    inside: set[int] = set()
    made: dict[int, list[tuple[int, Instruction]]] = {}
    for number in reversed(range(len(stage.instructions))):
        if number not in inside and (tree := _tree(stage.instructions, readers, number)) is not None:
            inside |= tree.nodes.keys()
            if (groups := _groups(stage.instructions, tree.leaves)) is not None:
                joined = _joined(stage.instructions, tree.nodes, groups)
                if any(new != stage.instructions[n] for n, new in joined):
                    made[number] = joined
    if not made:
        return stage
    moved = {n for nodes in made.values() for n, _ in nodes}
    kept: list[Instruction] = []
    position: dict[int, int] = {}
    for number, instruction in enumerate(stage.instructions):
        for n, new in made.get(number, [] if number in moved else [(number, instruction)]):
            position[n] = len(kept)
            kept.append(new)
    return stage.remade(rebuilt(stage, kept, position))


def _tree(instructions: Sequence[Instruction], readers: Sequence[int], root: int) -> _Tree | None:
    """Maxima that are read by other maxima only, point by point; None where the instruction is none, or a total."""
    result = instructions[root]
    if result.operator not in (Operator.MAX, Operator.MIN) or result.carry is not None:
        return None
    nodes, leaves, waiting = {root: Scope.LOCAL}, list[Operand](), list(reversed(result.operands))
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Result) and readers.count(operand.instruction) == 1:
            part = instructions[operand.instruction]
            is_same = (part.operator, part.dtype, part.axes) == (result.operator, result.dtype, result.axes)
            if is_same and part.carry is None and set(operand.mapped) == set(result.axes):
                nodes[operand.instruction] = operand.scope
                waiting += reversed(part.operands)
                continue
        leaves.append(operand)
    return _Tree({n: nodes[n] for n in sorted(nodes)}, tuple(leaves))


def _groups(instructions: Sequence[Instruction], leaves: Sequence[Operand]) -> list[list[Operand]] | None:
    """Operands that are joined first; None where there is nothing to gain."""
    groups: dict[object, list[Operand]] = {}
    is_apart = False
    for number, operand in enumerate(leaves):
        access = instructions[operand.instruction].access if isinstance(operand, Result) else None
        if access is None or not access.indices:
            groups[number] = [operand]
            continue
        last = access.indices[-1]
        is_apart |= any(abs(step) > 1 for _, step in last.terms)
        groups.setdefault((access.region, access.fill, last), []).append(operand)
    return list(groups.values()) if is_apart and max(map(len, groups.values())) > 1 and len(groups) > 1 else None


def _joined(
    instructions: Sequence[Instruction], nodes: dict[int, Scope], groups: Sequence[Sequence[Operand]]
) -> list[tuple[int, Instruction]]:
    """The instructions anew, each with the number of an old one."""
    made: list[tuple[int, Instruction]] = []
    numbers = iter(nodes)

    def joined(operands: Sequence[Operand]) -> Operand:
        total = operands[0]
        for operand in operands[1:]:
            number = next(numbers)
            made.append((number, replace(instructions[number], operands=(total, operand))))
            total = Result(number, instructions[number].axes, nodes[number])
        return total

    joined([joined(group) for group in groups])
    return made
