"""Operators on scalars as Python computes them: double precision, unbounded integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from tests.schedule.nest.interpreter.errors import NestError

from warploom.schedule.backbone import Operator


def _quotient(first: float, second: float) -> float:
    if second == 0:
        return math.nan if first == 0 or math.isnan(first) else math.copysign(math.inf, first) * math.copysign(1.0, second)
    return first / second


def _exponential(first: float) -> float:
    try:
        return math.exp(first)
    except OverflowError:
        return math.inf


def _larger(first: float, second: float) -> float:
    return math.nan if math.isnan(first) or math.isnan(second) else max(first, second)


def _smaller(first: float, second: float) -> float:
    return -_larger(-first, -second)


def _logarithm(first: float) -> float:
    return math.log(first) if first > 0 else -math.inf if first == 0 else math.nan


def computed(operator: Operator, operands: Sequence[float]) -> float:
    first = operands[0]
    match operator:
        case Operator.MOVE | Operator.CAST:
            return first
        case Operator.ADD:
            return first + operands[1]
        case Operator.SUB:
            return first - operands[1]
        case Operator.MUL:
            return first * operands[1]
        case Operator.DIV:
            return _quotient(first, operands[1])
        case Operator.FMA:
            total = operands[-1]
            for one, other in zip(operands[-3::-2], operands[-2::-2], strict=True):
                total = one * other + total
            return total
        case Operator.MAX:
            return _larger(first, operands[1])
        case Operator.MIN:
            return _smaller(first, operands[1])
        case Operator.NEG:
            return -first
        case Operator.EXP:
            return _exponential(first)
        case Operator.LOG:
            return _logarithm(first)
        case Operator.SQRT:
            return math.sqrt(first) if first >= 0 else math.nan
        case Operator.TANH:
            return math.tanh(first)
        case Operator.SIN:
            return math.sin(first) if math.isfinite(first) else math.nan
        case Operator.COS:
            return math.cos(first) if math.isfinite(first) else math.nan
        case Operator.ERF:
            return math.erf(first)
        case Operator.ABS:
            return abs(first)
        case Operator.LESS:
            return float(first < operands[1])
        case Operator.LESS_EQUAL:
            return float(first <= operands[1])
        case Operator.EQUAL:
            return float(first == operands[1])
        case Operator.SELECT:
            return operands[1] if first != 0 else operands[2]
        case Operator.LOAD | Operator.STORE:
            raise NestError(f"{operator} is no computation")
        case _:
            assert_never(operator)
