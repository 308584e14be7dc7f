"""Interval analysis of index expressions: which integers an expression can be, given the ranges of its variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from warploom.ir.kernel.nodes import (
    Builtin,
    Compare,
    CompareOp,
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
from warploom.ir.linear import Linear, linear

Bound: TypeAlias = int | float
"""An integer, or plus or minus `math.inf`."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `low` to `high`, both included."""

    low: Bound
    high: Bound

    @property
    def is_finite(self) -> bool:
        return -math.inf < self.low and self.high < math.inf

    @property
    def only(self) -> int | None:
        """The single value, if there is just one."""
        return int(self.low) if self.low == self.high else None

    def union(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


ANYTHING = Interval(-math.inf, math.inf)
NATURAL = Interval(0, math.inf)
TRUTH = Interval(0, 1)

Ranges: TypeAlias = Mapping[IndexExpr, Interval | range]
"""Values of the leaves of an expression; a `range` must have step 1. Leaves not named: sizes are >= 0, others anything."""


def interval_of(given: Interval | range) -> Interval:
    return given if isinstance(given, Interval) else Interval(given.start, given.stop - 1)


def index_range(expr: IndexExpr, ranges: Ranges) -> Interval:
    """An interval that holds every value of `expr` (truth values count as 0 and 1)."""
    match expr:
        case IndexConst(value):
            return Interval(int(value), int(value))
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


def linear_range(form: Linear, ranges: Ranges) -> Interval:
    low: Bound = form.constant
    high: Bound = form.constant
    for atom, coefficient in form.terms:
        part = _times(index_range(atom, ranges), Interval(coefficient, coefficient))
        low, high = low + part.low, high + part.high
    return Interval(low, high)


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


def _product(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b


def _times(a: Interval, b: Interval) -> Interval:
    corners = [_product(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(corners), max(corners))


def _floor(a: Bound, b: Bound) -> Bound:
    """a // b for b != 0; a quotient by an infinite divisor is 0 or -1."""
    if math.isinf(b):
        return 0 if a == 0 or (a > 0) == (b > 0) else -1
    return (a if b > 0 else -a) if math.isinf(a) else a // b


def _binary(op: str, a: Interval, b: Interval) -> Interval:
    match op:
        case "*":
            return _times(a, b)
        case "min":
            return Interval(min(a.low, b.low), min(a.high, b.high))
        case "max":
            return Interval(max(a.low, b.low), max(a.high, b.high))
        case "//":
            if b.low <= 0 <= b.high:
                return ANYTHING
            corners = [_floor(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            return Interval(min(corners), max(corners))
        case "%":
            return _remainder(a, b)
        case "&":
            if a.low >= 0 and b.low >= 0:
                return Interval(0, min(a.high, b.high))
            return Interval(0, b.high) if b.low >= 0 else Interval(0, a.high) if a.low >= 0 else ANYTHING
        case "|" | "^":
            if min(a.low, b.low) < 0:
                return ANYTHING
            top = max(a.high, b.high)
            return NATURAL if math.isinf(top) else Interval(0, (1 << int(top).bit_length()) - 1)
        case "<<" if b.is_finite and b.low >= 0:
            return _times(a, Interval(1 << int(b.low), 1 << int(b.high)))
        case ">>" if b.is_finite and b.low >= 0:
            return _binary("//", a, Interval(1 << int(b.low), 1 << int(b.high)))
        case _:
            return ANYTHING


def _remainder(a: Interval, b: Interval) -> Interval:
    if b.low > 0:
        n = b.only
        if n is not None and a.is_finite and a.low // n == a.high // n:
            return Interval(a.low % n, a.high % n)
        return Interval(0, min(b.high - 1, a.high) if a.low >= 0 else b.high - 1)
    return Interval(b.low + 1, 0) if b.high < 0 else ANYTHING
