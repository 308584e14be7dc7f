"""Interval analysis of index expressions: which integers an expression can be, given the ranges of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from warploom.core.intervals import ANYTHING, NATURAL, Interval, only
from warploom.core.linear import Linear
from warploom.ir.kernel.nodes import (
    Builtin,
    Compare,
    CompareOp,
    HoleArg,
    HoleUse,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexOp,
    IndexSelect,
    IndexVar,
    Logical,
    SizeVar,
)
from warploom.ir.linear import linear

Ranges: TypeAlias = Mapping[IndexExpr, Interval | range]
"""Values of the leaves of an expression; a `range` must have step 1. Leaves not named: sizes are >= 0, others anything."""


def interval_of(given: Interval | range) -> Interval:
    return given if isinstance(given, Interval) else Interval(given.start, given.stop - 1)


def index_range(expr: IndexExpr, ranges: Ranges) -> Interval:
    """An interval that holds every value of `expr` (truth values count as 0 and 1)."""
    match expr:
        case IndexConst(value):
            return only(int(value))
        case IndexVar() | Builtin() | SizeVar() | HoleArg() | HoleUse():
            known = ranges.get(expr)
            if known is not None:
                return interval_of(known)
            return NATURAL if isinstance(expr, (SizeVar, Builtin)) else ANYTHING
        case IndexBinary("+" | "-"):
            return linear_range(linear(expr), ranges)
        case IndexBinary(op, lhs, rhs):
            return _binary(op, index_range(lhs, ranges), index_range(rhs, ranges))
        case Compare(op, lhs, rhs):
            return compare_range(op, linear_range(linear(lhs).plus(linear(rhs), -1), ranges))
        case Logical():
            return _logical(expr, ranges)
        case IndexSelect(cond, then, other):
            chosen = index_range(cond, ranges).only
            if chosen is not None:
                return index_range(then if chosen else other, ranges)
            return index_range(then, ranges).union(index_range(other, ranges))
        case _:
            assert_never(expr)


def linear_range(form: Linear[IndexExpr], ranges: Ranges) -> Interval:
    return form.bounds(lambda atom: index_range(atom, ranges))


def compare_range(op: CompareOp, difference: Interval) -> Interval:
    """Truth of `difference op 0`."""
    low, high = difference.low, difference.high
    match op:
        case "<":
            yes, no = high < 0, low >= 0
        case "<=":
            yes, no = high <= 0, low > 0
        case ">":
            yes, no = low > 0, high <= 0
        case ">=":
            yes, no = low >= 0, high < 0
        case "==":
            yes, no = low == high == 0, low > 0 or high < 0
        case "!=":
            yes, no = low > 0 or high < 0, low == high == 0
        case _:
            assert_never(op)
    return Interval(int(yes), int(not no))


def _logical(expr: Logical, ranges: Ranges) -> Interval:
    parts = [index_range(e, ranges) for e in expr.operands]
    always = [not (p.low <= 0 <= p.high) for p in parts]
    never = [p.only == 0 for p in parts]
    match expr.op:
        case "and":
            return Interval(int(all(always)), int(not any(never)))
        case "or":
            return Interval(int(any(always)), int(not all(never)))
        case "not":
            return Interval(int(never[0]), int(not always[0]))
        case _:
            assert_never(expr.op)


def _binary(op: IndexOp, a: Interval, b: Interval) -> Interval:
    match op:
        case "+":
            return a.plus(b)
        case "-":
            return a.minus(b)
        case "*":
            return a.times(b)
        case "min":
            return a.least(b)
        case "max":
            return a.greatest(b)
        case "//":
            return a.floor_divided(b)
        case "%":
            return a.remainder(b)
        case "&":
            return a.bits_of_both(b)
        case "|" | "^":
            return a.bits_of_either(b)
        case "<<":
            return a.shifted_left(b)
        case ">>":
            return a.shifted_right(b)
        case _:
            assert_never(op)
