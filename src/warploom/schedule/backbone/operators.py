"""Facts about scalar operations: how many operands, which ones reduce, and from what."""

from __future__ import annotations

import math

from warploom.core import DType, integer_range
from warploom.schedule.backbone.nodes import Operator

ARITY: dict[Operator, int] = {
    Operator.LOAD: 0, Operator.STORE: 1, Operator.MOVE: 1, Operator.ADD: 2, Operator.SUB: 2, Operator.MUL: 2, Operator.DIV: 2,
    Operator.FMA: 3, Operator.MAX: 2, Operator.MIN: 2, Operator.NEG: 1, Operator.EXP: 1, Operator.LOG: 1, Operator.SQRT: 1,
    Operator.TANH: 1, Operator.ABS: 1, Operator.CAST: 1,
}  # fmt: skip

FLOAT_ONLY = (Operator.DIV, Operator.EXP, Operator.LOG, Operator.SQRT, Operator.TANH)

REDUCING = (Operator.ADD, Operator.FMA, Operator.MUL, Operator.MAX, Operator.MIN)

REORDERED_EXACTLY = (Operator.MAX, Operator.MIN)
"""Reductions whose result does not depend on the order, whatever the type."""


def identity_of(operator: Operator, dtype: DType) -> int | float:
    """The value from which a reduction starts. Raises ValueError for operators that reduce nothing."""
    match operator:
        case Operator.ADD | Operator.FMA:
            return 0.0
        case Operator.MUL:
            return 1.0
        case Operator.MAX:
            return -math.inf if dtype.is_float else integer_range(dtype)[0]
        case Operator.MIN:
            return math.inf if dtype.is_float else integer_range(dtype)[1]
        case _:
            raise ValueError(f"{operator} reduces nothing")
