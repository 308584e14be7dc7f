"""Which instructions wait for which values."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.schedule.backbone.nodes import Carry, Instruction, Operand, Operator, Previous, Result


def needed(instructions: Sequence[Instruction]) -> list[set[int]]:
    """For each instruction those that its value depends on, directly or not."""
    found: list[set[int]] = []
    for instruction in instructions:
        own = {n for o in instruction.operands if (n := source_of(o)) is not None}
        found.append(own.union(*(found[n] for n in own)))
    return found


def followers(instructions: Sequence[Instruction]) -> list[set[int]]:
    """For each instruction those that wait for its value, directly or not."""
    after: list[set[int]] = [set() for _ in instructions]
    for number, sources in enumerate(needed(instructions)):
        for source in sources:
            after[source].add(number)
    return after


def waits_for_sum(instructions: Sequence[Instruction], after: Sequence[set[int]], producer: int, user: int) -> bool:
    """Whether the user of a value also waits for a reduction of such values over their own axes, so that the loops of both cannot
    be one; `after` as `followers` gives it."""
    kept = set(instructions[producer].kept_axes)
    return any(
        user in after[between] and (carry := instructions[between].carry) is not None and kept & set(carry.reduced)
        for between in after[producer]
    )


def factors_apart(instructions: Sequence[Instruction], total: Instruction) -> tuple[Instruction, Instruction] | None:
    """The instructions that make the factors of a sum of products, if each is used again along an axis of its own."""
    if total.operator is not Operator.FMA or len(total.operands) != 3:
        return None
    factors = [instructions[o.instruction] for o in total.operands[:2] if isinstance(o, Result)]
    if len(factors) != 2:
        return None
    rows, columns = (set(f.axes) & set(total.axes) for f in factors)
    return None if rows <= columns or columns <= rows else (factors[0], factors[1])


def summands_of(instructions: Sequence[Instruction], total: int) -> tuple[int, ...]:
    """The instructions that make what a reduction takes, element by element at all of its points, and serve nothing else; in
    their order. None in a sum of products of two loaded values."""
    found = {total}
    for number in reversed(range(total)):
        one = instructions[number]
        users = {n for n, user in enumerate(instructions) if any(named_by(o) == number for o in user.operands)}
        if one.operator is Operator.LOAD or one.carry is not None or not users or not users <= found:
            continue
        if set(one.axes) == set(instructions[total].axes):
            found.add(number)
    return tuple(sorted(found - {total}))


def source_of(operand: Operand) -> int | None:
    """The instruction whose value the operand is; None for constants, parameters and the like."""
    match operand:
        case Result(instruction=number) | Carry(init=number):
            return number
        case _:
            return None


def named_by(operand: Operand) -> int | None:
    """The same, and the reduction whose running value an operand reads before it goes on."""
    return operand.instruction if isinstance(operand, Previous) else source_of(operand)
