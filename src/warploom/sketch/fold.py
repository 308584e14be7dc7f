"""Index expressions built with constants folded and neutral elements dropped; a hole is never dropped."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from warploom.ir import Compare, CompareOp, IndexBinary, IndexConst, IndexExpr, IndexOp, IndexSelect, Logical

TRUE = IndexConst(True)
ZERO = IndexConst(0)

INDEX_FUNCTIONS: dict[IndexOp, Callable[[int, int], int]] = {
    "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "//": int.__floordiv__, "%": int.__mod__,
    "&": int.__and__, "|": int.__or__, "^": int.__xor__, "<<": int.__lshift__, ">>": int.__rshift__,
    "min": min, "max": max,
}  # fmt: skip
COMPARE_FUNCTIONS: dict[CompareOp, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

_RIGHT_NEUTRAL: dict[IndexOp, int] = {"+": 0, "-": 0, "*": 1, "//": 1, "|": 0, "^": 0, "<<": 0, ">>": 0}
_LEFT_NEUTRAL: dict[IndexOp, int] = {"+": 0, "*": 1, "|": 0, "^": 0}


def binary(op: IndexOp, lhs: IndexExpr, rhs: IndexExpr) -> IndexExpr:
    """`lhs op rhs`; a division by the constant zero or a negative shift is left as it stands."""
    match lhs, rhs:
        case IndexConst(a), IndexConst(b):
            try:
                return IndexConst(INDEX_FUNCTIONS[op](a, b))
            except (ZeroDivisionError, ValueError):
                return IndexBinary(op, lhs, rhs)
        case _, IndexConst(b) if b == _RIGHT_NEUTRAL.get(op):
            return lhs
        case IndexConst(a), _ if a == _LEFT_NEUTRAL.get(op):
            return rhs
        case IndexBinary(op="+" | "-" as inner, lhs=base, rhs=IndexConst(a)), IndexConst(b) if op in ("+", "-"):
            total = (a if inner == "+" else -a) + (b if op == "+" else -b)
            return binary("+", base, IndexConst(total)) if total >= 0 else IndexBinary("-", base, IndexConst(-total))
        case _:
            return IndexBinary(op, lhs, rhs)


def compare(op: CompareOp, lhs: IndexExpr, rhs: IndexExpr) -> IndexExpr:
    if isinstance(lhs, IndexConst) and isinstance(rhs, IndexConst):
        return IndexConst(COMPARE_FUNCTIONS[op](lhs.value, rhs.value))
    return Compare(op, lhs, rhs)


def conjunction(*conditions: IndexExpr) -> IndexExpr:
    """All of `conditions`; true if there are none."""
    kept = tuple(c for c in conditions if c != TRUE)
    if not kept:
        return TRUE
    return kept[0] if len(kept) == 1 else Logical("and", kept)


def select(cond: IndexExpr, then: IndexExpr, other: IndexExpr) -> IndexExpr:
    if isinstance(cond, IndexConst):
        return then if cond.value else other
    return IndexSelect(cond, then, other)
