"""Products of narrow numbers, exact in the type of their sums: conversions that multiply-adds do by themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from warploom.core import WORDS, DType
from warploom.machines import MATRIX_INSTRUCTIONS, MatrixInstruction, matrix_instruction
from warploom.schedule.backbone.following import factors_apart
from warploom.schedule.backbone.nodes import Backbone, Carry, Instruction, Operator, Result
from warploom.schedule.backbone.once import rebuilt


def widens(narrow: DType, wide: DType) -> bool:
    """An `FMA` of type `wide` may take factors of this type: they are converted, which is exact; words byte by byte."""
    element = next((name for name, word in WORDS.items() if word == narrow), narrow.name)
    return narrow != wide and matrix_instruction(element, wide.name) is not None


def matrix_of(instructions: Sequence[Instruction], total: Instruction) -> MatrixInstruction | None:
    """The instruction by which whole warps may make it: a sum of products of factors of its types, each of which is used again
    along an axis of its own."""
    factors = factors_apart(instructions, total)
    if factors is None or factors[0].dtype != factors[1].dtype:
        return None
    return matrix_instruction(factors[0].dtype.name, total.dtype.name)


def matrix_factors(instructions: Sequence[Instruction], total: Instruction) -> tuple[MatrixInstruction, tuple[int, ...]] | None:
    """The instruction by which whole warps may make a carried sum of a kernel as it is written, and the instructions that are its
    factors, or convert them."""
    if total.carry is None:
        return None
    made = _conversions(instructions, total)
    if made is None:
        on = matrix_of(instructions, total)
        return None if on is None else (on, tuple(o.instruction for o in total.operands[:2] if isinstance(o, Result)))
    own = [replace(i, dtype=_source(instructions, n).dtype) if n in made.converted else i for n, i in enumerate(instructions)]
    on = matrix_of(own, made.total)
    return None if on is None else (on, made.converted)


def widened(stage: Backbone, narrow: Collection[str] = MATRIX_INSTRUCTIONS) -> Backbone:
    """The same kernel in which sums of products take what is loaded of a narrow type as it is: where both factors of a carried
    sum are conversions of loads that nothing else reads, the conversions are gone, and so is a product apart from the sum. So
    tiles of them are staged as they lie in memory, and instructions that multiply matrices can take them.

    narrow: types of factors, as the rows of `machines.matrices` name them; others stay.
    """
    instructions = list(stage.instructions)
    gone: set[int] = set()
    for n, instruction in enumerate(stage.instructions):
        made = _conversions(stage.instructions, instruction)
        if made is not None and _source(stage.instructions, made.converted[0]).dtype.name in narrow:
            gone |= made.left_out
            instructions[n] = made.total
    if not gone:
        return stage
    kept = [n for n in range(len(instructions)) if n not in gone]
    number = {n: position for position, n in enumerate(kept)}
    sources = {n: instructions[n].operands[0] for n in gone if instructions[n].operator is Operator.CAST}
    number |= {n: number[o.instruction] for n, o in sources.items() if isinstance(o, Result)}
    return rebuilt(stage, [instructions[n] for n in kept], number)


@dataclass(frozen=True, slots=True)
class _Conversions:
    converted: tuple[int, ...]
    """The instructions that convert both factors of a sum."""
    left_out: frozenset[int]
    """These, and the product where it is apart from the sum."""
    total: Instruction
    """The sum as an `FMA` of the conversions."""


def _conversions(instructions: Sequence[Instruction], total: Instruction) -> _Conversions | None:
    """None where one of the factors is anything else than the conversion of a load."""
    readers = [o.instruction for i in instructions for o in i.operands if isinstance(o, Result)]
    fused, apart = total, frozenset[int]()
    if total.operator is Operator.ADD and not total.dtype.is_float:
        product = next((o for o in total.operands if isinstance(o, Result)), None)
        carry = next((o for o in total.operands if isinstance(o, Carry)), None)
        if product is None or carry is None:
            return None
        made = instructions[product.instruction]
        if (
            made.operator is not Operator.MUL
            or made.dtype != total.dtype
            or product.mapped != made.axes
            or readers.count(product.instruction) != 1
        ):
            return None
        fused = replace(total, operator=Operator.FMA, operands=(*made.operands, carry))
        apart = frozenset((product.instruction,))
    if fused.operator is not Operator.FMA or not isinstance(fused.operands[2], Carry):
        return None
    found: list[int] = []
    for factor in fused.operands[:2]:
        if not isinstance(factor, Result):
            return None
        conversion = instructions[factor.instruction]
        source = conversion.operands[0] if conversion.operator is Operator.CAST else None
        if not isinstance(source, Result):
            return None
        narrow = instructions[source.instruction]
        is_plain = source.mapped == factor.mapped == conversion.axes == narrow.axes
        if narrow.operator not in (Operator.LOAD, Operator.CAST) or not is_plain or not widens(narrow.dtype, total.dtype):
            return None
        if readers.count(factor.instruction) != 1 or readers.count(source.instruction) != 1:
            return None
        found.append(factor.instruction)
    return _Conversions(tuple(found), apart.union(found), fused)


def _source(instructions: Sequence[Instruction], conversion: int) -> Instruction:
    source = instructions[conversion].operands[0]
    assert isinstance(source, Result)
    return instructions[source.instruction]
