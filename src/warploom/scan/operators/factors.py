"""Steps in which a state is a factor: of a quotient by what the element or a constant says, or of a product whose sign is asked.

    factor / (1 + rate)  is  factor * (1 / (1 + rate))        last * x < 0  is  last < 0 < x or x < 0 < last

Both are equal as numbers, wherever the quotient exists, and normal forms know the second.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.transition import Loop


def with_factors(loop: Loop) -> Loop | None:
    """The loop with such steps written otherwise; None if there are none."""
    states = {s.variable for s in loop.states}
    try:
        steps = [_written(s.step, states) for s in loop.states]
    except ex.UndefinedError:
        return None
    if all(new is s.step for new, s in zip(steps, loop.states, strict=True)):
        return None
    return replace(loop, states=tuple(replace(s, step=new) for s, new in zip(loop.states, steps, strict=True)))


def _written(step: Expr, states: set[Expr]) -> Expr:
    found: dict[Expr, Expr] = {}
    for part in ex.subexpressions(step):
        own = ex.substituted(part, found)
        if own.op == "div" and own.args[0] is not ex.ONE and not {*ex.variables(own.args[1])} & states:
            if {*ex.variables(own.args[0])} & states:
                inverse = ex.quotient(ex.ONE, own.args[1], is_guarded=bool(own.value))
                found[part] = ex.multiply(own.args[0], inverse)
        elif own.op in ("ge", "gt") and (sign := _sign(own, states)) is not None:
            found[part] = sign
    return ex.substituted(step, found)


def _sign(asked: Expr, states: set[Expr]) -> Expr | None:
    """The sign of a product by the signs of the state in it and of what the state is multiplied with."""
    (product,) = asked.args
    if product.op != "poly" or len(product.terms) != 1:
        return None
    ((coefficient, monomial),) = product.terms
    carried = [a for a in monomial if a in states]
    others = [a for a in monomial if a not in states]
    if len(carried) != 1 or not others or {*ex.variables(*others)} & states or any(a.sort.is_infinite for a in monomial):
        return None
    rest = ex.multiply(ex.constant(coefficient), *others)
    compare = ex.at_least if asked.op == "ge" else ex.more_than
    above = (compare(v, ex.ZERO) for v in (carried[0], rest))
    below = (compare(ex.ZERO, v) for v in (carried[0], rest))
    return ex.either(ex.both(*above), ex.both(*below))


__all__ = ["with_factors"]
