"""Products of floats of 16 bits, exact in f32, as operands of sums: conversions that multiply-adds do by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.core import DType
from warploom.schedule.backbone.build import assemble
from warploom.schedule.backbone.nodes import Backbone, Carry, Instruction, Operand, Operator, Result


def widens(narrow: DType, wide: DType) -> bool:
    """An `FMA` of type `wide` may take factors of this type: they are converted, which is exact."""
    return wide.name == "f32" and narrow.name in ("f16", "bf16")


def is_of_matrices(instructions: Sequence[Instruction], total: Instruction) -> bool:
    """Whether it is a sum of products whose factors are floats of 16 bits, which whole warps may make."""
    factors = [o for o in total.operands[:2] if isinstance(o, Result)]
    return (
        total.operator is Operator.FMA
        and len(factors) == 2
        and all(widens(instructions[f.instruction].dtype, total.dtype) for f in factors)
    )


def widened(stage: Backbone) -> Backbone:
    """The same kernel in which sums of products take what is loaded as floats of 16 bits, as it is: where both factors of a
    carried `FMA` are conversions of loads that nothing else reads, the conversions are gone. So tiles of them are staged as they
    lie in memory, and instructions that multiply matrices can take them."""
    number: dict[int, int] = {}
    kept: list[Instruction] = []
    gone = {n for i in stage.instructions for n in widening_factors(stage.instructions, i)}
    if not gone:
        return stage
    for n, instruction in enumerate(stage.instructions):
        if n in gone:
            continue
        number[n] = len(kept)
        kept.append(instruction)
    sources = {n: stage.instructions[n].operands[0] for n in gone}
    kept = [replace(i, operands=tuple(_followed(o, number, sources) for o in i.operands)) for i in kept]
    return assemble(stage.name, stage.axes, stage.extents, stage.regions, kept, can_reorder=stage.can_reorder)


def widening_factors(instructions: Sequence[Instruction], total: Instruction) -> tuple[int, ...]:
    """The instructions that convert both factors of a sum; none where one of them is anything else."""
    if total.operator is not Operator.FMA or not isinstance(total.operands[2], Carry):
        return ()
    readers = [o.instruction for i in instructions for o in i.operands if isinstance(o, Result)]
    found: list[int] = []
    for factor in total.operands[:2]:
        if not isinstance(factor, Result):
            return ()
        conversion = instructions[factor.instruction]
        source = conversion.operands[0] if conversion.operator is Operator.CAST else None
        if not isinstance(source, Result):
            return ()
        load = instructions[source.instruction]
        is_plain = source.mapped == factor.mapped == conversion.axes == load.axes
        if load.operator is not Operator.LOAD or not is_plain or not widens(load.dtype, total.dtype):
            return ()
        if readers.count(factor.instruction) != 1 or readers.count(source.instruction) != 1:
            return ()
        found.append(factor.instruction)
    return tuple(found)


def _followed(operand: Operand, number: dict[int, int], sources: dict[int, Operand]) -> Operand:
    match operand:
        case Result():
            source = sources.get(operand.instruction)
            made = source.instruction if isinstance(source, Result) else operand.instruction
            return replace(operand, instruction=number[made])
        case Carry():
            return replace(operand, init=number[operand.init])
        case _:
            return operand
