"""Facts about the sums of a kernel that threads may share."""

from __future__ import annotations

from math import prod

from warploom.schedule.backbone import REDUCING, Backbone, Carry, Constant, Operator, Result, identity_of
from warploom.schedule.choices.description import MOST_SUMS
from warploom.schedule.choices.objects import Objects

MOST_TOTALS = 4096
"""Most totals: with more results, threads share them out instead."""
MOST_AXES = 2
"""Most axes of the results: blocks are nested three deep at most, and what is no block must fit registers."""


def shared_sums(objects: Objects) -> tuple[int, ...]:
    """Dims that may be blocks though they are reduced, outer levels first."""
    sums = _sums(objects.backbone)
    axes = objects.backbone.axes
    found = [x for x in objects.loops if x.owner in sums and x.is_reduction and x.is_parallel and axes[x.axis].run_time is None]
    return tuple(x.statement for x in sorted(found, key=lambda x: x.level)[:MOST_SUMS])


def facts_of_shared_sums(objects: Objects) -> dict[str, frozenset[int] | frozenset[tuple[int, int]]]:
    """The facts that `description.shared_sums` asks for, by name."""
    backbone = objects.backbone
    starts = set(_sums(backbone).values())
    feeds: set[tuple[int, int]] = set()
    totals: set[tuple[int, int]] = set()
    for user, instruction in enumerate(backbone.instructions):
        for operand in instruction.operands:
            if isinstance(operand, Result):
                producer = backbone.instructions[operand.instruction]
                (totals if producer.carry is not None else feeds).add((operand.instruction, user))
            elif isinstance(operand, Carry) and operand.init not in starts:
                feeds.add((operand.init, user))
    for temporary in objects.temporaries:
        feeds |= {(temporary.store, temporary.load), (temporary.load, temporary.consumer)}
        producer = backbone.instructions[temporary.producer]
        (totals if producer.carry is not None else feeds).add((temporary.producer, temporary.store))
    return {
        "is_shared_sum": frozenset(shared_sums(objects)),
        "vanishes": frozenset(starts) | {x.statement for x in objects.loops if x.owner in starts},
        "starts_sum": frozenset((start, sum_) for sum_, start in _sums(backbone).items()),
        "feeds": frozenset(feeds),
        "sums_for": frozenset(totals),
    }


def _sums(backbone: Backbone) -> dict[int, int]:
    """Reduction -> its start."""
    starts = {n: _start_of_parts(backbone, n) for n in range(len(backbone.instructions)) if _has_few_totals(backbone, n)}
    return {n: init for n, init in starts.items() if init is not None}


def _has_few_totals(backbone: Backbone, number: int) -> bool:
    instruction = backbone.instructions[number]
    sizes = [backbone.axes[a].size for a in instruction.axes if instruction.carry and a not in instruction.carry.reduced]
    return len(sizes) <= MOST_AXES and prod(sizes) <= MOST_TOTALS


def _start_of_parts(backbone: Backbone, number: int) -> int | None:
    """The instruction that starts the reduction, where it only gives what changes no total: each part can start so."""
    instruction = backbone.instructions[number]
    carry = instruction.carry
    if carry is None:
        return None
    position = next(n for n, operand in enumerate(instruction.operands) if isinstance(operand, Carry))
    starts_at = {Operator.FMA: len(instruction.operands) - 1, Operator.SUB: 0}.get(instruction.operator, position)
    if instruction.operator not in (*REDUCING, Operator.SUB) or position != starts_at:
        return None
    neutral = 0.0 if instruction.operator is Operator.SUB else identity_of(instruction.operator, instruction.dtype)
    init = backbone.instructions[carry.init]
    is_neutral = init.operator is Operator.MOVE and init.operands == (Constant(neutral),)
    return carry.init if is_neutral and _uses(backbone, carry.init) == 1 else None


def _uses(backbone: Backbone, number: int) -> int:
    operands = [o for i in backbone.instructions for o in i.operands]
    return sum(
        (isinstance(o, Result) and o.instruction == number) or (isinstance(o, Carry) and o.init == number) for o in operands
    )
