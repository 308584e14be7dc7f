"""Sums, products, quotients and extrema of expressions, brought into one form as they are built."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Literal, cast

from warploom.scan.operators.expression.expr import (
    INFINITY,
    INT,
    MAX_CASES,
    MINUS_INFINITY,
    ONE,
    REAL,
    ZERO,
    Base,
    Expr,
    Monomial,
    Op,
    Sort,
    UndefinedError,
    constant,
    is_infinite,
    make,
)


def _sort_of(parts: Iterable[Expr]) -> Sort:
    """Sort of a number computed from numbers."""
    sorts = [p.sort for p in parts]
    base: Base = "real" if any(s.base == "real" for s in sorts) else "int"
    return Sort(base, any(s.below for s in sorts), any(s.above for s in sorts))


def polynomial(expr: Expr) -> dict[Monomial, int | Fraction]:
    """Coefficients by monomial."""
    if expr.op == "poly":
        return {m: c for c, m in expr.terms}
    if expr.op == "const" and not isinstance(expr.value, float | str):
        return {(): expr.value if isinstance(expr.value, Fraction) else int(expr.value)} if expr.value else {}
    return {(expr,): 1}


def from_polynomial(coefficients: Mapping[Monomial, int | Fraction]) -> Expr:
    found = [(c, m) for m, c in coefficients.items() if c]
    if not found:
        return ZERO
    found.sort(key=lambda t: (len(t[1]), [a.order for a in t[1]]))
    if len(found) == 1:
        coefficient, monomial = found[0]
        if not monomial:
            return constant(coefficient)
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    atoms = tuple(dict.fromkeys(a for _, m in found for a in m))
    sort = _sort_of(atoms)
    if any(isinstance(c, Fraction) and c.denominator != 1 for c, _ in found):
        sort = replace(sort, base="real")
    below = above = False
    for coefficient, monomial in found:
        for atom in monomial:
            below |= atom.sort.below if coefficient > 0 else atom.sort.above
            above |= atom.sort.above if coefficient > 0 else atom.sort.below
    sort = Sort(sort.base, below, above, _few_values(found))
    tidy = tuple((int(c) if isinstance(c, Fraction) and c.denominator == 1 else c, m) for c, m in found)
    return make("poly", atoms, terms=tidy, sort=sort)


def _few_values(terms: Iterable[tuple[int | Fraction, Monomial]]) -> tuple[int, ...] | None:
    """The values of a polynomial whose atoms have few."""
    total = {0}
    for coefficient, monomial in terms:
        product_of = {coefficient}
        for atom in monomial:
            if atom.sort.values is None:
                return None
            product_of = {p * v for p in product_of for v in atom.sort.values}
        total = {t + p for t in total for p in product_of if isinstance(p, int)}
        if len(total) > MAX_CASES or not all(isinstance(p, int) for p in product_of):
            return None
    return tuple(sorted(total))


def add(*parts: Expr) -> Expr:
    endless = [p for p in parts if is_infinite(p)]
    if endless:
        if any(p is not endless[0] for p in endless):
            raise UndefinedError("the sum of opposite infinities")
        return endless[0]
    total: dict[Monomial, int | Fraction] = {}
    for part in parts:
        for monomial, coefficient in polynomial(part).items():
            before = total.get(monomial, 0)
            if before * coefficient < 0 and any(a.sort.is_infinite for a in monomial):
                raise UndefinedError("the difference of values that may be infinite")
            total[monomial] = before + coefficient
    return from_polynomial(total)


def negate(expr: Expr) -> Expr:
    return multiply(constant(-1), expr)


def subtract(left: Expr, right: Expr) -> Expr:
    return add(left, negate(right))


def multiply(left: Expr, right: Expr) -> Expr:
    for one, other in ((left, right), (right, left)):
        if is_infinite(one):
            if other.op == "const" and other.value:
                sign = cast(float, other.value)
                return one if sign > 0 else constant(-cast(float, one.value))
            raise UndefinedError("the product of an infinity")
    if left is ONE or right is ONE:
        return right if left is ONE else left
    total: dict[Monomial, int | Fraction] = {}
    for first, a in polynomial(left).items():
        for second, b in polynomial(right).items():
            monomial, factor = _product(first, second)
            total[monomial] = total.get(monomial, 0) + a * b * factor
    return from_polynomial(total)


def _product(first: Monomial, second: Monomial) -> tuple[Monomial, int]:
    if not first or not second:
        return first or second, 1
    atoms = sorted((*first, *second), key=lambda a: a.order)
    powers = [a for a in atoms if a.op == "exp"]
    if len(powers) > 1:
        merged = exponential(add(*(p.args[0] for p in powers)))
        rest = [a for a in atoms if a.op != "exp"]
        if merged is ONE:
            return tuple(rest), 1
        return tuple(sorted((*rest, merged), key=lambda a: a.order)), 1
    return tuple(atoms), 1


def exponential(argument: Expr) -> Expr:
    """e to the power; `exp(a) * exp(b)` is kept as `exp(a + b)`."""
    if argument is MINUS_INFINITY:
        return ZERO
    return ONE if argument is ZERO else make("exp", (argument,), sort=REAL)


def of_real(op: Literal["log", "sqrt"], argument: Expr) -> Expr:
    """A logarithm or a root, which no law here speaks of."""
    if op == "log" and argument is ONE:
        return ZERO
    if op == "sqrt" and argument.op == "const" and not is_infinite(argument) and cast(int, argument.value) >= 0:
        number = Fraction(cast(int, argument.value))
        root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        if root * root == number:
            return constant(root)
    return make(op, (argument,), sort=REAL)


def maximum(*parts: Expr) -> Expr:
    return extremum("max", parts)


def minimum(*parts: Expr) -> Expr:
    return extremum("min", parts)


def extremum(op: Literal["max", "min"], parts: Iterable[Expr]) -> Expr:
    neutral, absorbing = (MINUS_INFINITY, INFINITY) if op == "max" else (INFINITY, MINUS_INFINITY)
    flat: dict[Expr, None] = {}
    for part in parts:
        for inner in part.args if part.op == op else (part,):
            flat[inner] = None
    if absorbing in flat:
        return absorbing
    kept: list[Expr] = []
    for part in (p for p in flat if p is not neutral):
        for position, other in enumerate(kept):
            known = constant_difference(part, other)
            if known is not None:
                if (known > 0) == (op == "max"):
                    kept[position] = part
                break
        else:
            kept.append(part)
    if not kept:
        return neutral
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=lambda e: e.order)
    dual = "min" if op == "max" else "max"
    kept = [k for k in kept if not (k.op == dual and any(o is not k and {*_parts(o, dual)} <= {*k.args} for o in kept))]
    if len(kept) == 1:
        return kept[0]
    base: Base = "real" if any(k.sort.base == "real" for k in kept) else "int"
    decide = all if op == "max" else any
    below, above = decide(k.sort.below for k in kept), (any if op == "max" else all)(k.sort.above for k in kept)
    sort = Sort(base, below, above, reduce(Sort.joined, (k.sort for k in kept)).values)
    return make(op, tuple(kept), sort=sort)


def _parts(expr: Expr, op: Op) -> tuple[Expr, ...]:
    return expr.args if expr.op == op else (expr,)


def constant_difference(left: Expr, right: Expr) -> int | Fraction | None:
    total = dict(polynomial(left))
    for monomial, coefficient in polynomial(right).items():
        total[monomial] = total.get(monomial, 0) - coefficient
    if any(c for m, c in total.items() if m):
        return None
    return total.get((), 0)


def floor_quotient(expr: Expr, divisor: int) -> Expr:
    """`expr // divisor`, divisor > 0. Raises UndefinedError for an infinity, of which Python makes NaN."""
    if is_infinite(expr):
        raise UndefinedError("the quotient of an infinity")
    if divisor == 1:
        return expr
    if expr.op == "const":
        return constant(int(cast(int, expr.value)) // divisor)
    return make("floordiv", (expr,), divisor, sort=INT)


def quotient(left: Expr, right: Expr, *, is_guarded: bool = False) -> Expr:
    """`left / right`, exact; a guarded one is also computed where `right` is 0, and nothing rests on its value there."""
    if right.op == "const" and not isinstance(right.value, float | str) and right.value:
        return multiply(left, constant(1 / Fraction(right.value)))
    return make("div", (left, right), int(is_guarded), sort=REAL)


def greatest_common_divisor(left: Expr, right: Expr) -> Expr:
    """Greatest common divisor as in `math.gcd`: never negative; gcd(a, 0) is the absolute value of a."""
    if left.sort.is_infinite or right.sort.is_infinite:
        raise UndefinedError("a greatest common divisor of an infinity")
    flat: dict[Expr, None] = {}
    for part in (left, right):
        for inner in part.args if part.op == "gcd" else (part,):
            if inner is not ZERO:
                flat[inner] = None
    if all(p.op == "const" for p in flat):
        return constant(math.gcd(*(int(cast(int, p.value)) for p in flat)))
    return make("gcd", tuple(sorted(flat, key=lambda e: e.order)), sort=INT)
