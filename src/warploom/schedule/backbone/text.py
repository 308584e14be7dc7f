"""Backbones as text.

    backbone    := "backbone" name ["ordered"] axis* region* instruction*           (a line each; # starts a comment)
    axis        := "axis" name size ":" integer* ("|" integer*)*                    (outermost part, then tiles, outer to inner)
    region      := ("input" | "output" | "temporary") name dtype [integer, ...] "strides" [integer, ...]
    instruction := name [axis, ...] "=" operator dtype what
    what        := place                                                            (load)
                 | operand "to" place                                               (store)
                 | operand "in" region                                              (gather)
                 | operand ("," operand)*
    place       := region [index, ...] ["else" number]                              (read outside of the region)
    index       := ["-"] term (("+" | "-") term)*        term := integer | axis | integer "*" axis
    operand     := number ["=" length] | scalar ":" dtype | instruction [axis, ...] ["@" scope] | "carry" (instruction; axis, ...)
                 | "before" (instruction [axis, ...])                               (a running value, before the point)
                 | "at" (index)                                                     (an index as a number)

"ordered": sums of floats keep their order. Spans are not part of the text. A number that is known at run time
stands with its length, which is not read back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from warploom.schedule.backbone.nodes import (
    Access,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Position,
    Previous,
    Result,
    Scope,
)


def backbone_text(backbone: Backbone) -> str:
    lines = [f"backbone {backbone.name}" + ("" if backbone.can_reorder else " ordered")]
    for number, axis in enumerate(backbone.axes):
        levels = [" ".join(map(str, e.sizes)) for e in backbone.extents if e.axis == number]
        lines.append(f"axis {axis.name} {axis.size}: {' | '.join(levels)}")
    lines += [f"{r.role} {r.name} {r.dtype} {list(r.shape)} strides {list(r.strides)}" for r in backbone.regions]
    lines += [_instruction_text(backbone, i) for i in backbone.instructions]
    return "\n".join(lines) + "\n"


def _instruction_text(backbone: Backbone, instruction: Instruction) -> str:
    operands = ", ".join(operand_text(backbone, o) for o in instruction.operands)
    place = access_text(backbone, instruction.access) if instruction.access else ""
    match instruction.operator:
        case Operator.LOAD:
            what = place
        case Operator.STORE:
            what = f"{operands} to {place}"
        case Operator.GATHER:
            assert instruction.region is not None
            what = f"{operands} in {backbone.regions[instruction.region].name}"
        case _:
            what = operands
    axes = _names(backbone, instruction.axes)
    return f"{instruction.name}[{axes}] = {instruction.operator} {instruction.dtype} {what}"


def operand_text(backbone: Backbone, operand: Operand) -> str:
    match operand:
        case Constant(value, run_time) if run_time is not None:
            return f"{value} = {run_time.text}"
        case Constant(value):
            return str(value) if isinstance(value, int) and float(value) != value else repr(float(value))
        case Parameter(name, dtype):
            return f"{name}:{dtype}"
        case Result(number, mapped, scope):
            suffix = "" if scope is Scope.BLOCK else f"@{scope}"
            return f"{backbone.instructions[number].name}[{_names(backbone, mapped)}]{suffix}"
        case Carry(init, reduced):
            return f"carry({backbone.instructions[init].name}; {_names(backbone, reduced)})"
        case Previous(number, mapped):
            return f"before({backbone.instructions[number].name}[{_names(backbone, mapped)}])"
        case Position(index):
            return f"at({axis_sum_text(backbone, index)})"
        case _:
            assert_never(operand)


def access_text(backbone: Backbone, access: Access) -> str:
    indices = ", ".join(axis_sum_text(backbone, i) for i in access.indices)
    outside = "" if access.fill is None else f" else {float(access.fill)!r}"
    return f"{backbone.regions[access.region].name}[{indices}]{outside}"


def axis_sum_text(backbone: Backbone, index: AxisSum) -> str:
    """`h + r - 1`, `32*k`, `0`."""
    words: list[str] = []
    for axis, coefficient in index.terms:
        name = backbone.axes[axis].name
        _append(words, coefficient, name if abs(coefficient) == 1 else f"{abs(coefficient)}*{name}")
    if index.constant or not words:
        _append(words, index.constant, str(abs(index.constant)))
    return " ".join(words)


def _append(words: list[str], signed: int, word: str) -> None:
    if words:
        words += ["-" if signed < 0 else "+", word]
    else:
        words.append("-" + word if signed < 0 else word)


def _names(backbone: Backbone, axes: Iterable[int]) -> str:
    return ", ".join(backbone.axes[a].name for a in axes)
