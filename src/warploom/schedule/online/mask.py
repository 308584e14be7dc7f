"""Which elements of a maximum the text of the function rules out, and that they add nothing to the sums beside it.

    s = where(j <= i, x, -inf);  top = max(s over j);  t = sum(exp(s - top) * v over j)      rules out j > i

An element of -inf is no maximum, and its power of e is 0. So a tile all of whose elements are ruled out changes no running value.
Conditions are read as they stand, whatever joins them, and only those on indices count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf, prod
from typing import TypeAlias

import numpy as np

from warploom.core import integer_range
from warploom.core.linear import Linear
from warploom.schedule.backbone import AxisSum, Backbone, Carry, Constant, Instruction, Mask, Operand, Operator, Position, Result

_MOST_ROWS = 1 << 20
"""Rows whose elements are counted."""


class _Ask(Enum):
    """A question about a value."""

    ZERO = 0
    OTHER = 1
    """Not zero."""
    ABOVE = 2
    """Not -inf."""


Forms: TypeAlias = frozenset[AxisSum]
"""Sums of axes, none of which is negative where the answer is yes."""


def mask_of(stage: Backbone, top: int, element: int, axis: int, totals: tuple[int, ...]) -> Mask | None:
    """The elements of a maximum over `axis` that count, over the axes of `stage`; None where that may be all of them, where a row
    may have none, and where one that is ruled out may add something to one of the totals.

    top: the maximum; element: the instruction that it is of; totals: sums over `axis` of what needs both.
    """
    vanishing = _Vanishing(stage, top, element)
    if not all(map(vanishing.adds_nothing, totals)):
        return None
    forms = _Reader(stage).asked(element, _Ask.ABOVE)
    if forms is None:
        return None
    found = sorted((f for f in forms if f.span(lambda a: stage.axes[a].size - 1)[0] < 0), key=str)
    used = {a for form in found for a, _ in form.terms}
    if not found or any(stage.axes[a].run_time is not None for a in used) or any(not f.coefficient(axis) for f in found):
        return None
    return _counted(stage, tuple(found), axis)


def _counted(stage: Backbone, forms: tuple[AxisSum, ...], axis: int) -> Mask | None:
    """How many elements of each row no form rules out; None where a row has none, or there are too many rows to count."""
    others = sorted({a for form in forms for a, _ in form.terms} - {axis})
    shape = tuple(stage.axes[a].size for a in others)
    if prod(shape) > _MOST_ROWS:
        return None
    grids = dict(zip(others, np.indices(shape, sparse=True), strict=True))
    size = stage.axes[axis].size
    first, last = np.zeros(shape, np.int64), np.full(shape, size - 1, np.int64)
    for form in forms:
        step = form.coefficient(axis)
        rest = sum((c * grids[a] for a, c in form.terms if a != axis), np.full(shape, form.constant, np.int64))
        if step < 0:
            last = np.minimum(last, rest // -step)
        else:
            first = np.maximum(first, -(rest // step))
    counts = np.maximum(last - first + 1, 0)
    if not counts.all():
        return None
    return Mask(forms, float(counts.min()) / size, float(counts.mean()) / size, float(counts.max()) / size)


@dataclass(slots=True)
class _Reader:
    """Conditions under which values are what is asked."""

    stage: Backbone
    known: dict[tuple[int, _Ask], Forms | None] = field(default_factory=dict[tuple[int, _Ask], Forms | None])

    def asked(self, number: int, ask: _Ask) -> Forms | None:
        """Forms of an instruction's value; None: the answer is never yes. Without any form it may always be."""
        key = number, ask
        if key not in self.known:
            self.known[key] = self._read(self.stage.instructions[number], ask)
        return self.known[key]

    def _read(self, instruction: Instruction, ask: _Ask) -> Forms | None:
        operands = instruction.operands
        match instruction.operator:
            case Operator.SELECT:
                mask, *values = operands
                chosen = zip((_Ask.OTHER, _Ask.ZERO), values, strict=True)
                cases = [self._both(mask, is_chosen, value, ask) for is_chosen, value in chosen]
                possible = [forms for forms in cases if forms is not None]
                return possible[0].intersection(*possible[1:]) if possible else None
            case Operator.LESS | Operator.LESS_EQUAL | Operator.EQUAL as operator if ask is not _Ask.ABOVE:
                return frozenset(self._compared(operator, operands, instruction, is_true=ask is _Ask.OTHER))
            case Operator.CAST if ask is not _Ask.ABOVE and isinstance(source := operands[0], Result):
                is_exact = instruction.dtype.is_float and not self.stage.instructions[source.instruction].dtype.is_float
                return self.asked(source.instruction, ask) if is_exact else frozenset()
            case _:
                return frozenset()

    def _both(self, mask: Operand, is_chosen: _Ask, value: Operand, ask: _Ask) -> Forms | None:
        forms, others = self._operand(mask, is_chosen), self._operand(value, ask)
        return None if forms is None or others is None else forms | others

    def _operand(self, operand: Operand, ask: _Ask) -> Forms | None:
        match operand:
            case Constant(value):
                is_so = {_Ask.ZERO: value == 0, _Ask.OTHER: value != 0, _Ask.ABOVE: value != -inf}[ask]
                return frozenset() if is_so else None
            case Result(instruction=number):
                return self.asked(number, ask)
            case _:
                return frozenset()

    def _compared(
        self, operator: Operator, operands: tuple[Operand, ...], instruction: Instruction, *, is_true: bool
    ) -> list[AxisSum]:
        first, second = (self._index(o, instruction) for o in operands)
        if first is None or second is None:
            return []
        ahead = second.plus(first, -1)
        match operator, is_true:
            case (Operator.LESS, True):
                return [ahead.shifted(-1)]
            case (Operator.LESS, False):
                return [ahead.scaled(-1)]
            case (Operator.LESS_EQUAL, True):
                return [ahead]
            case (Operator.LESS_EQUAL, False):
                return [ahead.scaled(-1).shifted(-1)]
            case (Operator.EQUAL, True):
                return [ahead, ahead.scaled(-1)]
            case _:
                return []

    def _index(self, operand: Operand, instruction: Instruction) -> AxisSum | None:
        """An index that the type of the comparison holds; None: something else."""
        if instruction.dtype.is_float:
            return None
        index: AxisSum
        match operand:
            case Position(index=index):
                pass
            case Constant(int() as value):
                index = Linear((), value)
            case _:
                return None
        low, high = index.span(lambda a: self.stage.axes[a].size - 1)
        least, most = integer_range(instruction.dtype)
        return index if least <= low and high <= most else None


@dataclass(slots=True)
class _Vanishing:
    """Whether sums get nothing of an element that is -inf."""

    stage: Backbone
    top: int
    element: int

    def adds_nothing(self, total: int) -> bool:
        instruction = self.stage.instructions[total]
        added = [o for o in instruction.operands if not isinstance(o, Carry)]
        match instruction.operator, len(added):
            case Operator.FMA, 2:
                return self._is_zero_product(added)
            case Operator.ADD, 1:
                return self._is_zero(added[0])
            case _:
                return False

    def _is_zero_product(self, factors: Sequence[Operand]) -> bool:
        zeros = [self._is_zero(f) for f in factors]
        return any(zeros) and all(is_zero or self._is_steady(f) for f, is_zero in zip(factors, zeros, strict=True))

    def _is_zero(self, operand: Operand) -> bool:
        if not isinstance(operand, Result):
            return False
        instruction = self.stage.instructions[operand.instruction]
        match instruction.operator:
            case Operator.EXP:
                return self._is_least(instruction.operands[0])
            case Operator.CAST | Operator.MOVE:
                return self._is_zero(instruction.operands[0])
            case Operator.MUL:
                return self._is_zero_product(instruction.operands)
            case _:
                return False

    def _is_least(self, operand: Operand) -> bool:
        """Whether it is -inf where the element is."""
        if not isinstance(operand, Result):
            return False
        if operand.instruction == self.element:
            return True
        instruction = self.stage.instructions[operand.instruction]
        match instruction.operator, instruction.operands:
            case (Operator.SUB, (first, second)):
                return self._is_least(first) and self._is_steady(second)
            case (Operator.ADD, (first, second)):
                return any(self._is_least(a) and self._is_steady(b) for a, b in ((first, second), (second, first)))
            case _:
                return False

    def _is_steady(self, operand: Operand) -> bool:
        """Whether it needs the element by way of the maximum alone."""
        seen, waiting = set[int](), [operand]
        while waiting:
            one = waiting.pop()
            number = one.init if isinstance(one, Carry) else one.instruction if isinstance(one, Result) else None
            if number is None or number == self.top or number in seen:
                continue
            if number == self.element:
                return False
            seen.add(number)
            waiting += self.stage.instructions[number].operands
        return True


__all__ = ["mask_of"]
