"""Index expressions made short, every step proved.

A rewrite is a row of `RULES`: a name, the law it uses, the function. The laws hold over the unbounded integers with floor
division (tests prove each row exhaustively over small ranges). Where the variables have at most `EXHAUSTIVE_POINTS` values
together, the result as a whole is compared with the original on all of them as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from warploom.core import WarploomError
from warploom.core.linear import Linear
from warploom.ir.intervals import Ranges, compare_range, index_range, linear_range
from warploom.ir.kernel.nodes import (
    Compare,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    Logical,
)
from warploom.ir.kernel.tabulate import grid, leaves, tabulate
from warploom.ir.linear import from_linear, linear
from warploom.operations import COMPARISONS

EXHAUSTIVE_POINTS = 1 << 22
MOST_PASSES = 64
"""Rewrites at one root; a bound on time only, every intermediate result is right."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite at the root of an expression whose parts are simple already; None where it does not apply."""

    name: str
    law: str
    rewrite: Callable[[IndexExpr, Ranges], IndexExpr | None]


def simplify(expr: IndexExpr, ranges: Ranges | None = None, *, proved: bool = True, bitwise: bool = True) -> IndexExpr:
    """A shorter expression equal to `expr` wherever the variables lie in `ranges`.

    `bitwise` writes `x % 2**k` as `x & (2**k - 1)` and `x // 2**k` as `x >> k`, which agree with C for negative x too.
    `proved=False` skips the exhaustive comparison (the rules stay proved ones).
    """
    known: Ranges = {} if ranges is None else ranges
    result = _rewrite(expr, known, RULES)
    if bitwise:
        result = _rewrite(result, known, BITWISE_RULES)
    if proved and result != expr:
        _compare_everywhere(expr, result, known)
    return result


def is_boolean(expr: IndexExpr, variables: Mapping[str, bool] | None = None) -> bool:
    """Whether `expr` is a truth value; `variables` says so of index variables by name."""
    match expr:
        case Compare() | Logical():
            return True
        case IndexConst(value):
            return isinstance(value, bool)
        case IndexSelect(_, then, other):
            return is_boolean(then, variables) and is_boolean(other, variables)
        case _:
            name = getattr(expr, "name", None)
            return variables is not None and isinstance(name, str) and variables.get(name, False)


def _compare_everywhere(before: IndexExpr, after: IndexExpr, ranges: Ranges) -> None:
    axes = grid(tuple(dict.fromkeys((*leaves(before), *leaves(after)))), ranges, EXHAUSTIVE_POINTS)
    if axes is not None and not np.all(tabulate(before, axes) == tabulate(after, axes)):
        raise WarploomError(f"simplification changed an index expression: {before} became {after}")


def _rewrite(expr: IndexExpr, ranges: Ranges, rules: tuple[Rule, ...]) -> IndexExpr:
    for _ in range(MOST_PASSES):
        current = _rewrite_parts(expr, ranges, rules)
        for rule in rules:
            after = rule.rewrite(current, ranges)
            if after is not None and after != current:
                expr = after
                break
        else:
            return current
    return expr


def _rewrite_parts(expr: IndexExpr, ranges: Ranges, rules: tuple[Rule, ...]) -> IndexExpr:
    match expr:
        case IndexBinary(op, lhs, rhs):
            return IndexBinary(op, _rewrite(lhs, ranges, rules), _rewrite(rhs, ranges, rules))
        case Compare(op, lhs, rhs):
            return Compare(op, _rewrite(lhs, ranges, rules), _rewrite(rhs, ranges, rules))
        case Logical(op, operands):
            return Logical(op, tuple(_rewrite(e, ranges, rules) for e in operands))
        case IndexSelect(cond, then, other):
            return IndexSelect(*(_rewrite(e, ranges, rules) for e in (cond, then, other)))
        case _:
            return expr


def _one_value(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    if isinstance(expr, IndexConst):
        return None
    value = index_range(expr, ranges).only
    if value is None or abs(value) >> 62:  # numbers of indices are followed in 64 bits
        return None
    return IndexConst(bool(value) if is_boolean(expr) else value)


def _fold(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary(op, IndexConst(), IndexConst(right)):
            if (op in ("//", "%") and right == 0) or (op in ("<<", ">>") and not 0 <= right < 63):
                return None
            return IndexConst(int(tabulate(expr, {})))
        case _:
            return None


def _to_mod_and_div(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary("&", IndexConst() as mask, other) if not isinstance(other, IndexConst):
            return IndexBinary("&", other, mask)
        case IndexBinary("&", lhs, IndexConst(mask)) if mask >= 0 and mask & (mask + 1) == 0:
            return IndexBinary("%", lhs, IndexConst(mask + 1))
        case IndexBinary(">>", lhs, IndexConst(shift)) if 0 <= shift < 63:
            return IndexBinary("//", lhs, IndexConst(1 << int(shift)))
        case IndexBinary("|" | "^", lhs, IndexConst(0)):
            return lhs
        case IndexBinary("|" | "^", IndexConst(0), rhs):
            return rhs
        case _:
            return None


def _collect(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary("+" | "-" | "*" | "<<"):
            form = linear(expr)
            return None if any(abs(c) >> 62 for c in (form.constant, *(c for _, c in form.terms))) else _written(form)
        case _:
            return None


def _written(form: Linear[IndexExpr]) -> IndexExpr:
    form = _recombined(form)
    factor = form.divisor
    reduced = form.divided(factor) if factor > 1 else None
    if reduced is None or len(form.terms) + bool(form.constant) < 2:
        return from_linear(form)
    return IndexBinary("*", from_linear(reduced), IndexConst(factor))


def _recombined(form: Linear[IndexExpr]) -> Linear[IndexExpr]:
    """c*n*(x // n) + c*(x % n) = c*x."""
    for atom, coefficient in form.terms:
        match atom:
            case IndexBinary("%", x, IndexConst(n)) if n > 0:
                quotient = IndexBinary("//", x, IndexConst(n))
                if form.coefficient(quotient) == coefficient * n:
                    both: Linear[IndexExpr] = Linear(((atom, coefficient), (quotient, coefficient * int(n))), 0)
                    return _recombined(form.plus(both, -1).plus(linear(x), coefficient))
            case _:
                pass
    return form


def _remainder(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary("%", lhs, IndexConst(value)) if value > 0:
            n = int(value)
        case _:
            return None
    whole = linear_range(linear(lhs), ranges)
    if whole.is_finite and whole.low // n == whole.high // n:
        return from_linear(linear(lhs).shifted(-int(whole.low // n) * n))
    form = _reduced(_open_remainders(linear(lhs), n, ranges), n)
    inside = linear_range(form, ranges)
    if inside.is_finite and inside.low // n == inside.high // n:
        return from_linear(form.shifted(-int(inside.low // n) * n))
    if n & (n - 1) and inside.low < 0:  # C's % wants a non-negative left side; & does not care
        if inside.low >= -n:
            form = form.shifted(n)
        elif inside.low > -math.inf:  # a size without bound must not be multiplied: the product may not fit a machine word
            form = Linear(tuple((a, c % n) for a, c in form.terms), form.constant % n)
    return IndexBinary("%", _written(form), IndexConst(n))


def _open_remainders(form: Linear[IndexExpr], n: int, ranges: Ranges) -> Linear[IndexExpr]:
    """(c*(x % m) + y) % n = (c*x + y) % n where n divides c*m; not where c*x may outgrow every machine word."""
    opened = Linear((), form.constant)
    for atom, coefficient in form.terms:
        match atom:
            case IndexBinary("%", x, IndexConst(m)) if (
                m > 0 and coefficient * m % n == 0 and (abs(coefficient) == 1 or index_range(x, ranges).is_finite)
            ):
                opened = opened.plus(_open_remainders(linear(x), n, ranges), coefficient)
            case _:
                opened = opened.plus(Linear(((atom, coefficient),), 0))
    return opened


def _reduced(form: Linear[IndexExpr], n: int) -> Linear[IndexExpr]:
    """Coefficients and constant modulo n, each of least size; -1 rather than n - 1."""

    def reduce(c: int) -> int:
        c = c if abs(c) < n else c % n
        return -1 if c == n - 1 and n > 2 else 1 if c == 1 - n else c

    return Linear(tuple((a, reduce(c)) for a, c in form.terms if c % n), reduce(form.constant) if form.constant % n else 0)


def _quotient(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary("//", lhs, IndexConst(value)) if value > 0:
            n = int(value)
        case _:
            return None
    match lhs:
        case IndexBinary("//", inner, IndexConst(m)) if m > 0:
            return IndexBinary("//", inner, IndexConst(int(m) * n))
        case _:
            pass
    form = linear(lhs)
    outside = Linear(tuple((a, c // n) for a, c in form.terms if c % n == 0), form.constant // n)
    rest = form.plus(outside, -n)
    if n == 1 or not rest.terms:
        return from_linear(outside)
    if outside.terms or outside.constant:
        return from_linear(outside.plus(Linear(((IndexBinary("//", _written(rest), IndexConst(n)), 1),), 0)))
    if linear_range(form, ranges).high <= 0:  # towards a non-negative dividend: x // n = -((n - 1 - x) // n)
        upward = Linear((), n - 1).plus(form, -1)
        return IndexBinary("-", IndexConst(0), IndexBinary("//", _written(upward), IndexConst(n)))
    return None


def _comparison(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case Compare(op, lhs, rhs):
            difference = linear(lhs).plus(linear(rhs), -1)
        case _:
            return None
    decided = compare_range(op, linear_range(difference, ranges)).only
    if decided is not None:
        return IndexConst(bool(decided))
    if all(c < 0 for _, c in difference.terms):
        difference, op = difference.scaled(-1), COMPARISONS[op].mirrored
    left = Linear(tuple((a, c) for a, c in difference.terms if c > 0), max(difference.constant, 0))
    right = left.plus(difference, -1)
    return Compare(op, _written(left), _written(right))


def _connective(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case Logical("not", (Compare(op, lhs, rhs),)):
            return Compare(COMPARISONS[op].negated, lhs, rhs)
        case Logical("not", (Logical("not", (inner,)),)) if is_boolean(inner):
            return inner
        case Logical(("and" | "or") as op, operands):
            flat: list[IndexExpr] = []
            for operand in operands:
                same = isinstance(operand, Logical) and operand.op == op
                flat += operand.operands if same and isinstance(operand, Logical) else (operand,)
            neutral = op == "and"
            kept = [e for e in dict.fromkeys(flat) if not (isinstance(e, IndexConst) and bool(e.value) is neutral)]
            if len(kept) < 2:
                alone = kept[0] if kept else IndexConst(neutral)
                return alone if is_boolean(alone) else None
            return Logical(op, tuple(kept))
        case _:
            return None


def _choice(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexSelect(cond, then, other):
            pass
        case _:
            return None
    chosen = index_range(cond, ranges).only
    if chosen is not None:
        return then if chosen else other
    if then == other and is_boolean(then) == is_boolean(other):
        return then
    match cond, then, other:
        case Logical("not", (inner,)), _, _:
            return IndexSelect(inner, other, then)
        case _, IndexConst(True), IndexConst(False) if is_boolean(then) and is_boolean(other) and is_boolean(cond):
            return cond
        case _:
            return None


def _extremum(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary(("min" | "max") as op, lhs, rhs):
            difference = linear_range(linear(lhs).plus(linear(rhs), -1), ranges)
            if difference.high <= 0:
                return lhs if op == "min" else rhs
            if difference.low >= 0:
                return rhs if op == "min" else lhs
        case _:
            pass
    return None


def _to_mask(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary("%", lhs, IndexConst(n)) if n > 0 and n & (n - 1) == 0:
            return IndexBinary("&", lhs, IndexConst(n - 1))
        case _:
            return None


def _to_shift(expr: IndexExpr, ranges: Ranges) -> IndexExpr | None:
    match expr:
        case IndexBinary("//", lhs, IndexConst(n)) if n > 0 and n & (n - 1) == 0:
            return IndexBinary(">>", lhs, IndexConst(int(n).bit_length() - 1))
        case _:
            return None


RULES: tuple[Rule, ...] = (
    Rule("one-value", "an expression that can only be v is v", _one_value),
    Rule("fold", "an operation on constants is its value", _fold),
    Rule("mod-and-div", "x & (2^k - 1) = x % 2^k, x >> k = x // 2^k, x | 0 = x ^ 0 = x", _to_mod_and_div),
    Rule("collect", "Z is a ring; n*(x // n) + x % n = x", _collect),
    Rule("remainder", "x = y (mod n) => x % n = y % n; 0 <= x < n => x % n = x", _remainder),
    Rule("quotient", "(n*q + r) // n = q + r // n; (x // m) // n = x // (m*n); x // n = -((n - 1 - x) // n)", _quotient),
    Rule("comparison", "x op y <=> x - y op 0", _comparison),
    Rule("connective", "and, or, not form a Boolean algebra", _connective),
    Rule("choice", "(a if true else b) = a; (a if c else a) = a", _choice),
    Rule("extremum", "x <= y => min(x, y) = x and max(x, y) = y", _extremum),
)

BITWISE_RULES: tuple[Rule, ...] = (
    Rule("mask", "x % 2^k = x & (2^k - 1)", _to_mask),
    Rule("shift", "x // 2^k = x >> k", _to_shift),
)
