"""Comparisons of terms as canonical predicates: `eq(x)` for x = 0, `ult`, `slt`, and their negations."""

from __future__ import annotations

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.term import Term, linear


def equal(algebra: Algebra, x: Term, y: Term) -> Term:
    """x = y."""
    difference = algebra.sub(x, y)
    if x.width == 1:
        return algebra.negation(difference)
    if difference.value is not None:
        return algebra.const(int(difference.value == 0), 1)
    low, high = algebra.facts.arc(difference)
    size = 1 << x.width
    if -(-low // size) * size > high:
        return algebra.const(0, 1)
    if low == high:
        return algebra.const(1, 1)
    constant, parts = linear(difference)
    if len(parts) == 1:
        (atom, coefficient) = parts[0]
        if atom.op == "zext" and atom.args[0].width == 1:
            wanted = -constant * pow(coefficient, -1, size) % size if coefficient & 1 else None
            if wanted is not None:
                return atom.args[0] if wanted == 1 else algebra.negation(atom.args[0]) if wanted == 0 else algebra.const(0, 1)
    if parts[0][1] >> (x.width - 1):
        difference = algebra.neg(difference)
    return algebra.table.make("eq", 1, (difference,))


def less(algebra: Algebra, x: Term, y: Term, *, is_signed: bool) -> Term:
    """x < y."""
    if x is y:
        return algebra.const(0, 1)
    ranged = algebra.facts.signed if is_signed else algebra.facts.unsigned
    (x_low, x_high), (y_low, y_high) = ranged(x), ranged(y)
    if x_high < y_low:
        return algebra.const(1, 1)
    if x_low >= y_high:
        return algebra.const(0, 1)
    op = "slt" if is_signed else "ult"
    if x.value is not None:
        # c < y is the negation of y < c + 1; c is not the greatest value, or the range of y had decided
        bound = algebra.const(x.value + 1, x.width)
        return algebra.negation(algebra.table.make(op, 1, (y, bound)))
    return algebra.table.make(op, 1, (x, y))


def less_or_equal(algebra: Algebra, x: Term, y: Term, *, is_signed: bool) -> Term:
    """x <= y."""
    return algebra.negation(less(algebra, y, x, is_signed=is_signed))


def chosen(algebra: Algebra, name: str, x: Term, y: Term) -> Term:
    """`umin`, `umax`, `smin` or `smax` of two terms."""
    is_signed, is_min = name[0] == "s", name.endswith("min")
    ordered = less(algebra, x, y, is_signed=is_signed)
    if x is y or ordered.value is not None:
        return x if x is y or bool(ordered.value) == is_min else y
    first, second = sorted((x, y), key=lambda t: t.serial)
    match name:
        case "umin":
            return algebra.table.make("umin", x.width, (first, second))
        case "umax":
            return algebra.table.make("umax", x.width, (first, second))
        case "smin":
            return algebra.table.make("smin", x.width, (first, second))
        case _:
            return algebra.table.make("smax", x.width, (first, second))


def absolute(algebra: Algebra, x: Term) -> Term:
    """|x| modulo 2^width."""
    zero = algebra.const(0, x.width)
    return algebra.select(less(algebra, x, zero, is_signed=True), algebra.neg(x), x)
