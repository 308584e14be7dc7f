"""Whether the whole numbers that a program computes stay within machine words, for lists up to a length, by intervals.

The values of a list of up to 2 m elements are what `combine` makes of the values of two lists of up to m, since the combination
is associative. So a list of n elements takes log2(n) steps, and `combine` gets values within the last ones in every grouping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import ceil, inf, isfinite, prod

from warploom.core.intervals import ANYTHING, TRUTH, Interval, only
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr, is_infinite, polynomial, subexpressions
from warploom.scan.operators.operator import Operator

Ranges = dict[Expr, Interval]


def stays_within(operator: Operator, given: Mapping[Expr, Interval], length: int, bits: int = 64) -> bool:
    """Whether no intermediate value of assertions, lift, combinations and projection leaves signed words of `bits` bits, whatever
    the grouping of a list of 1 to `length` elements; False where that was not shown.

    given: the range of each value of an element and of each constant that is a whole number. Sums that are only taken modulo a
    power of two may leave the words: they wrap, and what is left of them is right.
    """
    every = subexpressions(*operator.lift, *operator.combine, *operator.projection)
    if any(f.sort.is_infinite for f in operator.fields) or any(is_infinite(e) for e in every):
        return False
    most = 2 ** (bits - 1) - 1
    if _evaluated(operator.loop.assumed, given, most) is None:  # which elements the loop takes is computed in words, too
        return False
    values = _evaluated(operator.lift, given, most)
    reached = 1
    while values is not None:
        sides = dict(given)
        for field, value in zip(operator.fields, values, strict=True):
            sides |= {field: value, right(field): value}
        joined = _evaluated(operator.combine, sides, most)
        if joined is None:
            return False
        if reached >= length:
            return _evaluated(operator.projection, sides, most) is not None
        wider: list[Interval] = [a.union(b) for a, b in zip(values, joined, strict=True)]
        values, reached = wider, length if wider == values else 2 * reached
    return False


def _evaluated(program: Sequence[Expr], given: Mapping[Expr, Interval], most: int) -> list[Interval] | None:
    """The range of each result; None if a value of the program may be beyond `most`."""
    found: Ranges = {}
    every = subexpressions(*program)
    seen = {a for e in every if not _is_power_of_two(e) for a in e.args}.union(program)
    for expr in every:
        found[expr] = _range(expr, found, given)
        may_wrap = expr.op == "poly" and expr not in seen
        if expr.sort.base == "int" and not may_wrap and _largest(expr, found) > most:
            return None
    return [found[e] for e in program]


def _is_power_of_two(expr: Expr) -> bool:
    """Whether it is a remainder by a power of two that is a word."""
    return expr.op == "mod" and isinstance(expr.value, int) and 0 < expr.value < 2**63 and expr.value & (expr.value - 1) == 0


def _range(expr: Expr, found: Ranges, given: Mapping[Expr, Interval]) -> Interval:
    parts = [found[a] for a in expr.args]
    match expr.op:
        case _ if expr.sort.base == "bool":
            return TRUTH
        case _ if expr.sort.base != "int":
            return ANYTHING
        case "var":
            return given.get(expr, ANYTHING)
        case "const":
            return only(int(expr.value))
        case "poly":
            total = only(0)
            for monomial, coefficient in polynomial(expr).items():
                term = only(coefficient) if isinstance(coefficient, int) else ANYTHING
                for factor in monomial:
                    term = term.times(found[factor])
                total = total.plus(term)
            return total
        case "max":
            return reduce(Interval.greatest, parts)
        case "min":
            return reduce(Interval.least, parts)
        case "ite":
            return parts[1].union(parts[2])
        case "floordiv":
            return parts[0].floor_divided(only(int(expr.value)))
        case "mod":
            return parts[0].remainder(only(int(expr.value)))
        case "bitand":
            return reduce(Interval.bits_of_both, parts)
        case "bitor" | "bitxor":
            return reduce(Interval.bits_of_either, parts)
        case "gcd":
            return Interval(0, max(_magnitude(p) for p in parts))
        case _:
            return ANYTHING


def _largest(expr: Expr, found: Ranges) -> float:
    """The largest magnitude of the value, and of what a sum passes through, in whatever order its terms are added."""
    if expr.op != "poly":
        return _magnitude(found[expr])
    terms = [abs(c) * prod(max(1, _magnitude(found[f])) for f in monomial) for monomial, c in polynomial(expr).items()]
    return max([_magnitude(found[expr]), ceil(sum(terms))]) if all(map(isfinite, terms)) else inf


def _magnitude(part: Interval) -> float:
    return max(abs(part.low), abs(part.high))
