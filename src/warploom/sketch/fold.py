"""Index expressions built with constants folded and neutral elements dropped; a hole is never dropped."""

from __future__ import annotations

from warploom.ir import Compare, CompareOp, IndexBinary, IndexConst, IndexExpr, IndexOp, IndexSelect, Logical
from warploom.operations import BY_SIGN, COMPARISONS

TRUE = IndexConst(True)
ZERO = IndexConst(0)

_RIGHT_NEUTRAL: dict[IndexOp, int] = {"+": 0, "-": 0, "*": 1, "//": 1, "|": 0, "^": 0, "<<": 0, ">>": 0}
_LEFT_NEUTRAL: dict[IndexOp, int] = {"+": 0, "*": 1, "|": 0, "^": 0}


def known(op: IndexOp, a: int, b: int) -> int:
    """`a op b` of numbers. ZeroDivisionError, ValueError for a negative shift."""
    exact = BY_SIGN[op].exact
    assert exact is not None
    return exact(a, b)


def binary(op: IndexOp, lhs: IndexExpr, rhs: IndexExpr) -> IndexExpr:
    """`lhs op rhs`; a division by the constant zero or a negative shift is left as it stands."""
    match lhs, rhs:
        case IndexConst(a), IndexConst(b):
            try:
                return IndexConst(known(op, int(a), int(b)))
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
        return IndexConst(COMPARISONS[op].holds(lhs.value, rhs.value))
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
