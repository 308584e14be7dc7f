"""Running values of reductions: what was reduced up to a point of the reduced axes, or before it.

An axis over which some instruction reads running values is serial: its iterations run one after the other, in one loop that
holds all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.schedule.backbone.nodes import Instruction, Operand, Previous, Result


def reads_running(instructions: Sequence[Instruction], operand: Operand) -> bool:
    """Whether the operand is the running value of a reduction, at a point or before it."""
    match operand:
        case Previous():
            return True
        case Result(number, mapped, _):
            carry = instructions[number].carry
            return carry is not None and not set(carry.reduced).isdisjoint(mapped)
        case _:
            return False


def running(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Reductions whose running values are read."""
    return frozenset(
        operand.instruction
        for i in instructions
        for operand in i.operands
        if isinstance(operand, Result | Previous) and reads_running(instructions, operand)
    )


def serial_axes(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Axes of which the iterations run one after the other."""
    carries = (instructions[n].carry for n in running(instructions))
    return frozenset(a for carry in carries if carry is not None for a in carry.reduced)
