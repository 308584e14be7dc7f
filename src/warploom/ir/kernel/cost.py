"""Cost of index expressions: how many machine operations one evaluation takes, weighted by their price."""

from __future__ import annotations

from typing import assert_never

from warploom.ir.kernel.nodes import (
    Builtin,
    Compare,
    HoleArg,
    HoleUse,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Logical,
    SizeVar,
)

DIVISION_COST = 8
"""Division or remainder by a number that is not a power of two: a multiply-high sequence of about eight instructions."""
MULTIPLY_COST = 2


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def index_cost(expr: IndexExpr) -> int:
    """Weighted operations of one evaluation: 1 for add, shift, mask, compare, select; leaves are free."""
    match expr:
        case IndexConst() | IndexVar() | Builtin() | SizeVar() | HoleArg():
            return 0
        case IndexBinary(op, lhs, rhs):
            return _binary_cost(op, rhs) + index_cost(lhs) + index_cost(rhs)
        case Compare(_, lhs, rhs):
            return 1 + index_cost(lhs) + index_cost(rhs)
        case Logical(_, operands):
            return max(1, len(operands) - 1) + sum(index_cost(o) for o in operands)
        case IndexSelect(cond, then, other):
            return 1 + index_cost(cond) + index_cost(then) + index_cost(other)
        case HoleUse(_, args):
            return sum(index_cost(a) for a in args)
        case _:
            assert_never(expr)


def _binary_cost(op: str, rhs: IndexExpr) -> int:
    by_power = isinstance(rhs, IndexConst) and is_power_of_two(int(rhs.value))
    if op in ("//", "%"):
        return 1 if by_power else DIVISION_COST
    if op == "*":
        return 1 if by_power else MULTIPLY_COST
    return 1
