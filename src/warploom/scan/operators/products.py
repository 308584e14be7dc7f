"""Equality of expressions with products, by linear arithmetic over the products.

Products are spread over maxima, minima and conditionals, by the sign of the other factor, until all of them are products of
variables; these are then variables of their own. What follows without knowing what they are follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.prover import RLIMIT, Holds, Translator, UntranslatableError, decide

MAX_SIZE = 3000


class SpreadError(Exception):
    """Products of two maxima, or too large a result."""


def equal_over_products(left: Expr, right: Expr, given: Sequence[Expr]) -> bool:
    """True only if they are equal wherever `given` holds; false says nothing."""
    memory: dict[Expr, Expr] = {}
    try:
        sides = [_spread(left, memory), _spread(right, memory)]
        t = Translator(opaque_products=True)
        claim = t.equal(t.number(sides[0]), t.number(sides[1]))
        conditions = [t.condition(g) for g in given]
    except (SpreadError, UntranslatableError, ex.UndefinedError):
        return False
    return isinstance(decide(t, conditions, [claim], [], RLIMIT), Holds)


def has_products(*exprs: Expr) -> bool:
    """Whether there are products of variables and of what is computed from them."""
    return any(len(m) > 1 for e in ex.subexpressions(*exprs) if e.op == "poly" for _, m in e.terms)


def _spread(expr: Expr, memory: dict[Expr, Expr]) -> Expr:
    for part in ex.subexpressions(expr):
        if part in memory:
            continue
        if len(memory) > MAX_SIZE:
            raise SpreadError
        if part.op == "poly":
            memory[part] = ex.add(*(_product(c, m, memory) for c, m in part.terms))
        else:
            memory[part] = ex.rebuilt(part, tuple(memory[a] for a in part.args))
    return memory[expr]


def _product(coefficient: int | Fraction, monomial: ex.Monomial, memory: dict[Expr, Expr]) -> Expr:
    factors = [memory[a] for a in monomial]
    wide = [f for f in factors if not _is_plain(f)]
    if len(wide) > 2:
        raise SpreadError
    value = wide[0] if wide else ex.ONE
    for factor in factors:
        if factor not in wide:
            value = _times(value, factor)
    if len(wide) == 2:
        value = _times(value, wide[1])
    return ex.multiply(ex.constant(coefficient), value)


def _is_plain(expr: Expr) -> bool:
    """A polynomial of variables."""
    return all(e.op in ("const", "var", "poly") for e in ex.subexpressions(expr))


def _times(value: Expr, factor: Expr) -> Expr:
    """A product, by the sign of the factor."""
    if _is_plain(value):
        return ex.multiply(value, factor) if _is_plain(factor) else _times(factor, value)
    match value.op:
        case "ite":
            return ex.select(value.args[0], _times(value.args[1], factor), _times(value.args[2], factor))
        case "max" | "min":
            parts = [_times(a, factor) for a in value.args]
            upper, lower = ex.maximum(*parts), ex.minimum(*parts)
            positive = ex.at_least(factor, ex.ZERO)
            return ex.select(positive, upper, lower) if value.op == "max" else ex.select(positive, lower, upper)
        case "poly":
            return ex.add(*(_times_term(c, m, factor) for c, m in value.terms))
        case _:
            raise SpreadError


def _times_term(coefficient: int | Fraction, monomial: ex.Monomial, factor: Expr) -> Expr:
    number = ex.constant(coefficient)
    if len(monomial) == 1:
        return ex.multiply(number, _times(monomial[0], factor))
    return _times(reduce(ex.multiply, monomial, number), factor)
