"""Results that are the same when two of their indices are exchanged, up to what is done with each element at the end.

    D[i, j] = alpha * sum(A[i, k] * A[j, k], over=k) + beta * C[i, j]

The sum is symmetric, since products and sums commute; D need not be. A kernel may make the sum for j <= i alone and use each
total twice: in D[i, j], and with i and j exchanged in D[j, i].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from warploom.core.linear import Linear, variable
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
    Result,
)

_COMMUTING = (Operator.ADD, Operator.MUL, Operator.MAX, Operator.MIN)

Key: TypeAlias = str
"""The text of a value: equal for values that are equal by commutativity."""


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A carried sum that is the same with two axes exchanged."""

    total: int
    """The sum."""
    axes: tuple[int, int]
    """The axis of the first index of the result that varies, and the other one."""
    ending: frozenset[int]
    """Instructions that make the elements of the result of the totals, the store among them: each over both axes."""

    def exchanged(self, instruction: Instruction) -> Instruction:
        """An instruction of the ending for the element on the other side of the diagonal."""
        exchange = dict(zip(self.axes, self.axes[::-1], strict=True))
        access = None if instruction.access is None else _exchanged_access(instruction.access, exchange)
        operands = tuple(
            replace(o, index=_exchanged(o.index, exchange)) if isinstance(o, Position) else o for o in instruction.operands
        )
        return replace(instruction, access=access, operands=operands)


def symmetry_of(stage: Backbone) -> Symmetry | None:
    """The symmetry of a kernel with one sum and one store; None where there is none, or it cannot be told."""
    listed = stage.instructions
    totals = [n for n, i in enumerate(listed) if i.carry is not None]
    stores = [n for n, i in enumerate(listed) if i.operator is Operator.STORE]
    if len(totals) != 1 or len(stores) != 1 or any(i.operator is Operator.GATHER for i in listed):
        return None
    total, store = totals[0], stores[0]
    access, kept = listed[store].access, listed[total].kept_axes
    if access is None or access.fill is not None or set(listed[store].axes) != set(kept):
        return None
    if any(i.access is not None and i.access.region == access.region for n, i in enumerate(listed) if n != store):
        return None
    alone = [index.terms[0][0] for index in access.indices if len(index.terms) == 1 and index == variable(index.terms[0][0])]
    if len(alone) != len(access.indices) or set(alone) != set(kept):
        return None
    for position, first in enumerate(alone):
        for second in alone[position + 1 :]:
            found = _along(stage, total, store, (first, second))
            if found is not None:
                return found
    return None


def _along(stage: Backbone, total: int, store: int, axes: tuple[int, int]) -> Symmetry | None:
    one, other = (stage.axes[a] for a in axes)
    if one.size != other.size or one.run_time is not None or other.run_time is not None:
        return None
    plain, exchange = dict[int, int](), dict(zip(axes, axes[::-1], strict=True))
    keys = [_key(stage, total, exchanged) for exchanged in (plain, exchange)]
    if None in keys or keys[0] != keys[1]:
        return None
    ending, waiting = set[int](), [store]
    while waiting:
        number = waiting.pop()
        instruction = stage.instructions[number]
        if number == total or number in ending or not set(axes) & set(instruction.axes):
            continue
        if not set(axes) <= set(instruction.axes):
            return None
        ending.add(number)
        waiting += [o.instruction for o in instruction.operands if isinstance(o, Result)]
    return Symmetry(total, axes, frozenset(ending))


def _key(stage: Backbone, number: int, exchange: Mapping[int, int]) -> Key | None:
    """The text of an instruction's value with axes exchanged; None where it is made in a way that is not followed."""
    instruction = stage.instructions[number]
    if instruction.operator is Operator.STORE:
        return None
    parts = [_operand_key(stage, instruction, o, exchange) for o in instruction.operands]
    known = [p for p in parts if p is not None]
    if len(known) != len(parts):
        return None
    if instruction.operator is Operator.FMA:
        factors = known[:-1]
        pairs = sorted(" * ".join(sorted(factors[n : n + 2])) for n in range(0, len(factors), 2))
        known = [*pairs, known[-1]]
    elif instruction.operator in _COMMUTING:
        known = sorted(known)
    access = ""
    if instruction.access is not None:
        found = _exchanged_access(instruction.access, exchange)
        access = f" {found.region}[{', '.join(_sum_text(i) for i in found.indices)}] else {found.fill!r}"
    return f"{instruction.operator}:{instruction.dtype.name}{access}({', '.join(known)})"


def _operand_key(stage: Backbone, instruction: Instruction, operand: Operand, exchange: Mapping[int, int]) -> Key | None:
    match operand:
        case Constant(value=value):
            return repr(value)
        case Parameter(name=name):
            return name
        case Position(index=index):
            return f"at({_sum_text(_exchanged(index, exchange))})"
        case Result(instruction=producer, mapped=mapped):
            made = stage.instructions[producer]
            return _key(stage, producer, exchange) if set(mapped) == set(made.axes) and made.carry is None else None
        case Carry(init=init, reduced=reduced):
            start = stage.instructions[init]
            is_number = start.operator is Operator.MOVE and isinstance(start.operands[0], Constant)
            return f"carry({start.operands[0]}; {sorted(reduced)})" if is_number else None
        case _:
            return None


def _exchanged_access(access: Access, exchange: Mapping[int, int]) -> Access:
    return replace(access, indices=tuple(_exchanged(i, exchange) for i in access.indices))


def _exchanged(index: AxisSum, exchange: Mapping[int, int]) -> AxisSum:
    return Linear(tuple(sorted((exchange.get(a, a), c) for a, c in index.terms)), index.constant)


def _sum_text(index: AxisSum) -> str:
    return " + ".join([*(f"{c}*{a}" for a, c in sorted(index.terms)), str(index.constant)])
