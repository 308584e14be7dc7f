"""Decides whether a backbone means something: names, numbers, types, ranges and the flow of values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod

from warploom.core import NOWHERE, Diagnostic, Span, UserError
from warploom.schedule.backbone.build import assemble
from warploom.schedule.backbone.nodes import (
    Access,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operator,
    Parameter,
    Position,
    Previous,
    Result,
    Role,
)
from warploom.schedule.backbone.operators import ARITY, FLOAT_ONLY, REDUCING
from warploom.schedule.backbone.tilings import MOST_SIZES
from warploom.schedule.backbone.widened import widens


def verify(backbone: Backbone) -> None:
    """Raises UserError with everything that is wrong."""
    problems = [
        Diagnostic("BACKBONE", message, span, "Correct the code that built this backbone.")
        for message, span in _problems(backbone)
    ]
    if problems:
        raise UserError(*problems)


def _problems(backbone: Backbone) -> Iterator[tuple[str, Span]]:
    for what, names in (
        ("axes", [a.name for a in backbone.axes]),
        ("regions", [r.name for r in backbone.regions]),
        ("instructions", [i.name for i in backbone.instructions]),
    ):
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield f"expected {what} of different names, got {name!r} twice", NOWHERE
    yield from _extents(backbone)
    for region in backbone.regions:
        if len(region.shape) != len(region.strides) or min((*region.shape, *region.strides), default=1) < 1:
            yield f"expected positive extents and strides of {region.name!r}, as many of both", region.span
    sound = True
    for number, instruction in enumerate(backbone.instructions):
        for message in _instruction(backbone, number, instruction):
            sound = False
            yield f"{instruction.name}: {message}", instruction.span
    if sound:
        wanted = assemble(
            backbone.name, backbone.axes, backbone.extents, backbone.regions, backbone.instructions,
            can_reorder=backbone.can_reorder,
        )  # fmt: skip
        if wanted.dims != backbone.dims:
            yield "expected dims by instruction, axis and level, got others", NOWHERE


def _extents(backbone: Backbone) -> Iterator[tuple[str, Span]]:
    order = [(e.axis, e.level) for e in backbone.extents]
    if order != [(n, level) for n, axis in enumerate(backbone.axes) for level in range(1 + len(axis.tiles))]:
        yield "expected an extent for every level of every axis, in order, got others", NOWHERE
        return
    for axis in backbone.axes:
        if axis.size < 1:
            yield f"expected 1 or more iterations of {axis.name!r}, got {axis.size}", axis.span
    for extent in backbone.extents:
        axis = backbone.axes[extent.axis]
        if not extent.sizes or extent.sizes[0] < 1 or any(a >= b for a, b in itertools.pairwise(extent.sizes)):
            yield f"expected ascending positive sizes of level {extent.level} of {axis.name!r}, got {extent.sizes}", axis.span
        if len(extent.sizes) > MOST_SIZES:
            yield f"expected at most {MOST_SIZES} sizes of level {extent.level} of {axis.name!r}", axis.span
        if extent.level and extent.sizes != axis.tiles[extent.level - 1]:
            yield f"expected the tiles of {axis.name!r} as sizes of level {extent.level}, got {extent.sizes}", axis.span


def _instruction(backbone: Backbone, number: int, instruction: Instruction) -> Iterator[str]:
    operator, dtype = instruction.operator, instruction.dtype
    if len(set(instruction.axes)) != len(instruction.axes) or not _are_in(instruction.axes, len(backbone.axes)):
        yield f"expected different axes of the backbone, got {instruction.axes}"
        return
    if len(instruction.operands) != ARITY[operator] and not _adds_products(instruction):
        yield f"expected {ARITY[operator]} operands of {operator}, got {len(instruction.operands)}"
    if operator in FLOAT_ONLY and not dtype.is_float:
        yield f"expected a float type for {operator}, got {dtype}"
    if (instruction.access is not None) != (operator in (Operator.LOAD, Operator.STORE)):
        yield "expected an access of loads and stores, and of nothing else"
    if (instruction.region is not None) != (operator is Operator.GATHER):
        yield "expected a region of gathers, and of nothing else"
    elif instruction.region is not None:
        yield from _gather(backbone, instruction, instruction.region)
    carries = [o for o in instruction.operands if isinstance(o, Carry)]
    if len(carries) > 1:
        yield f"expected one carry at most, got {len(carries)}"
    if carries and operator not in REDUCING:
        yield f"expected an operator that reduces, got {operator}"
    for operand in instruction.operands:
        match operand:
            case Result():
                yield from _result(backbone, number, instruction, operand)
            case Carry():
                yield from _carry(backbone, number, instruction, operand)
            case Previous():
                yield from _previous(backbone, number, instruction, operand)
            case Parameter(name, other):
                if other != dtype and operator is not Operator.CAST:
                    yield f"expected {name!r} of type {dtype}, got {other}"
            case Position(index):
                axes = [a for a, _ in index.terms]
                if operator in (Operator.CAST, Operator.STORE):
                    yield f"expected a move to make an index a number, got it in {operator}"
                if dtype.is_float and dtype.bits < 32:
                    yield f"expected an integer, f32 or f64 as an index as a number, got {dtype}"
                if len(set(axes)) != len(axes) or not set(axes) <= set(instruction.axes):
                    yield "expected each axis of the instruction once in an index as a number"
            case Constant():
                pass
    if instruction.access:
        yield from _access(backbone, instruction, instruction.access)


def _adds_products(instruction: Instruction) -> bool:
    """A carried sum of several products of floats, its total last."""
    *factors, total = instruction.operands or (None,)
    is_sum = instruction.operator is Operator.FMA and isinstance(total, Carry) and instruction.dtype.is_float
    return is_sum and len(factors) > 2 and len(factors) % 2 == 0


def _result(backbone: Backbone, number: int, instruction: Instruction, result: Result) -> Iterator[str]:
    if not 0 <= result.instruction < number:
        yield f"expected the result of an earlier instruction, got number {result.instruction}"
        return
    producer = backbone.instructions[result.instruction]
    both = set(instruction.axes) & set(producer.axes)
    if not set(result.mapped) <= both or len(set(result.mapped)) != len(result.mapped):
        yield f"expected axes that this instruction and {producer.name!r} iterate, got {result.mapped}"
    if producer.carry and set(producer.carry.reduced) & set(result.mapped):
        yield from _running(backbone, producer, result.mapped)
    if producer.operator is Operator.STORE:
        yield f"expected a value, got the store {producer.name!r}"
    is_factor = instruction.operator is Operator.FMA and result in instruction.operands[:-1]
    if (
        producer.dtype != instruction.dtype
        and instruction.operator not in (Operator.CAST, Operator.GATHER)
        and not (is_factor and widens(producer.dtype, instruction.dtype))
    ):
        yield f"expected a value of type {instruction.dtype}, got {producer.dtype} from {producer.name!r}"


def _running(backbone: Backbone, producer: Instruction, mapped: tuple[int, ...]) -> Iterator[str]:
    """Running values are those of one loop: all reduced axes are mapped, none has tiles, each has a known size."""
    reduced = producer.carry.reduced if producer.carry else ()
    if not reduced or not set(reduced) <= set(mapped):
        yield f"expected the total of {producer.name!r}, or its running value over all reduced axes, got its parts over some"
    if any(backbone.axes[a].tiles or backbone.axes[a].run_time is not None for a in reduced):
        yield f"expected running values of {producer.name!r} over axes of known size without tiles, got others"


def _previous(backbone: Backbone, number: int, instruction: Instruction, previous: Previous) -> Iterator[str]:
    if not 0 <= previous.instruction < number:
        yield f"expected the running value of an earlier instruction, got number {previous.instruction}"
        return
    producer = backbone.instructions[previous.instruction]
    if instruction.operator is not Operator.MOVE:
        yield f"expected a move of a running value, got it in {instruction.operator}"
    if set(previous.mapped) != set(instruction.axes) or set(instruction.axes) != set(producer.axes):
        yield f"expected the axes of {producer.name!r}, got {instruction.axes}"
        return
    if producer.dtype != instruction.dtype:
        yield f"expected a value of type {instruction.dtype}, got {producer.dtype} from {producer.name!r}"
    yield from _running(backbone, producer, previous.mapped)


def _carry(backbone: Backbone, number: int, instruction: Instruction, carry: Carry) -> Iterator[str]:
    if not 0 <= carry.init < number:
        yield f"expected an earlier instruction to start from, got number {carry.init}"
        return
    init = backbone.instructions[carry.init]
    if not carry.reduced or not set(carry.reduced) <= set(instruction.axes):
        yield f"expected reduced axes among those of the instruction, got {carry.reduced}"
    if set(init.axes) != set(instruction.axes) - set(carry.reduced) or init.carry:
        yield f"expected {init.name!r} over the axes that are not reduced, without a carry"
    if init.dtype != instruction.dtype:
        yield f"expected {init.name!r} of type {instruction.dtype}, got {init.dtype}"


def _gather(backbone: Backbone, instruction: Instruction, number: int) -> Iterator[str]:
    if not 0 <= number < len(backbone.regions):
        yield f"expected a region of the backbone, got number {number}"
        return
    region = backbone.regions[number]
    if region.dtype != instruction.dtype:
        yield f"expected type {region.dtype} of {region.name!r}, got {instruction.dtype}"
    if region.role is not Role.INPUT:
        yield f"expected an input to gather from, got {region.name!r}"
    if region.strides != tuple(prod(region.shape[n + 1 :]) for n in range(len(region.shape))):
        yield f"expected rows of {region.name!r} that lie one behind the other, got strides {region.strides}"
    for operand in instruction.operands:
        if not isinstance(operand, Result) or backbone.instructions[operand.instruction].dtype.is_float:
            yield "expected a place that an instruction has computed, a whole number"


def _access(backbone: Backbone, instruction: Instruction, access: Access) -> Iterator[str]:
    if not 0 <= access.region < len(backbone.regions):
        yield f"expected a region of the backbone, got number {access.region}"
        return
    region = backbone.regions[access.region]
    if region.dtype != instruction.dtype:
        yield f"expected type {region.dtype} of {region.name!r}, got {instruction.dtype}"
    if instruction.operator is Operator.STORE and region.role is Role.INPUT:
        yield f"expected an output to store to, got the input {region.name!r}"
    if len(access.indices) != len(region.shape):
        yield f"expected {len(region.shape)} indices of {region.name!r}, got {len(access.indices)}"
        return
    used: set[int] = set()
    for index, size in zip(access.indices, region.shape, strict=True):
        axes = [a for a, _ in index.terms]
        if len(set(axes)) != len(axes) or not set(axes) <= set(instruction.axes) or any(c == 0 for _, c in index.terms):
            yield f"expected each axis once in an index of {region.name!r}, with a coefficient"
            return
        used |= set(axes)
        reaches = [c * (backbone.axes[a].size - 1) for a, c in index.terms]
        low = index.constant + sum(min(0, r) for r in reaches)
        high = index.constant + sum(max(0, r) for r in reaches)
        if access.fill is None and (low < 0 or high >= size):
            yield f"expected indices from 0 to {size - 1} of {region.name!r}, got {low} to {high}"
    if instruction.operator is Operator.STORE:
        missing = [backbone.axes[a].name for a in instruction.axes if a not in used and backbone.axes[a].size > 1]
        if missing:
            yield f"expected a place of its own for each iteration, got the same for all of {', '.join(missing)}"


def _are_in(numbers: Sequence[int], count: int) -> bool:
    return all(0 <= n < count for n in numbers)
