"""Which instructions wait for which values."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.schedule.backbone.nodes import Carry, Instruction, Operand, Result


def followers(instructions: Sequence[Instruction]) -> list[set[int]]:
    """For each instruction those that wait for its value, directly or not."""
    after: list[set[int]] = [set() for _ in instructions]
    for number in range(len(instructions) - 1, -1, -1):
        for source in filter(None, map(_source, instructions[number].operands)):
            after[source[0]] |= {number, *after[number]}
    return after


def kept_axes(instruction: Instruction) -> set[int]:
    """Axes that tell its values apart."""
    carry = instruction.carry
    return set(instruction.axes) - set(carry.reduced if carry else ())


def waits_for_sum(instructions: Sequence[Instruction], after: Sequence[set[int]], producer: int, user: int) -> bool:
    """Whether the user of a value also waits for a reduction of such values over their own axes, so that the loops of both cannot
    be one; `after` as `followers` gives it."""
    kept = kept_axes(instructions[producer])
    return any(
        user in after[between] and (carry := instructions[between].carry) is not None and kept & set(carry.reduced)
        for between in after[producer]
    )


def _source(operand: Operand) -> tuple[int] | None:
    match operand:
        case Result(instruction=number) | Carry(init=number):
            return (number,)
        case _:
            return None
