"""Work of a kernel that no schedule changes: arithmetic, and elements that must be moved."""

from __future__ import annotations

from warploom.schedule.backbone.nodes import Access, Backbone, Operator
from warploom.schedule.backbone.once import repeated
from warploom.schedule.backbone.operators import FREE
from warploom.schedule.backbone.programs import Program


def count_flops(program: Program) -> int:
    """Arithmetic operations, an FMA counted twice; moves, casts, changes of sign and what is computed a second time are free."""
    return sum(_stage_flops(stage) for stage in program.plain.stages)


def _stage_flops(backbone: Backbone) -> int:
    total = 0
    again = repeated(backbone.instructions)
    for number, instruction in enumerate(backbone.instructions):
        if instruction.access is None and instruction.operator not in FREE and number not in again:
            points = 1
            for axis in instruction.axes:
                points *= backbone.axes[axis].size
            total += points * (len(instruction.operands) - 1 if instruction.operator is Operator.FMA else 1)
    return total


def count_compulsory_bytes(program: Program) -> int:
    """Bytes of the different elements that each stage reads and writes, once each.

    Indices with several axes are counted from the smallest value to the largest.
    """
    total = 0
    for stage in program.stages:
        touched: dict[int, int] = {}
        for instruction in stage.instructions:
            if instruction.access:
                region = instruction.access.region
                touched[region] = max(touched.get(region, 0), _elements(stage, instruction.access))
        total += sum(count * stage.regions[region].dtype.size_bytes for region, count in touched.items())
    return total


def _elements(backbone: Backbone, access: Access) -> int:
    total = 1
    for index, size in zip(access.indices, backbone.regions[access.region].shape, strict=True):
        if len(index.terms) == 1:
            total *= min(size, backbone.axes[index.terms[0][0]].size)
        else:
            total *= min(size, 1 + sum(abs(c) * (backbone.axes[a].size - 1) for a, c in index.terms))
    return total
