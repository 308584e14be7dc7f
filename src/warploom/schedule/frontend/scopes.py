"""Decides which values may go through a temporary array, and which stay in registers.

Goal: no temporary where none can pay, since each one that may exist adds statements to the space. A value may be staged if
it is loaded (reuse, or another order of threads than memory's), if its user runs over more axes (reuse), or if its user has
to wait for a reduction over its own axes (the two nests cannot be fused). What remains goes from one loop nest to another
over the same axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.schedule.backbone import Instruction, Operator, Result, Scope, followers, waits_for_sum


def with_scopes(instructions: Sequence[Instruction], pointwise: Scope) -> list[Instruction]:
    """The instructions, with `pointwise` as the scope of values that need no temporary."""
    after = followers(instructions)
    found: list[Instruction] = []
    for number, instruction in enumerate(instructions):
        operands = tuple(
            replace(o, scope=pointwise)
            if isinstance(o, Result) and not _may_be_staged(instructions, after, o.instruction, number)
            else o
            for o in instruction.operands
        )
        found.append(replace(instruction, operands=operands))
    return found


def _may_be_staged(instructions: Sequence[Instruction], after: Sequence[set[int]], producer: int, user: int) -> bool:
    made, using = instructions[producer], instructions[user]
    if made.operator is Operator.LOAD or not set(using.axes) <= set(made.kept_axes):
        return True
    return waits_for_sum(instructions, after, producer, user)
