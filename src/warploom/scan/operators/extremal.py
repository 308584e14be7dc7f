"""States that go with the greatest element so far: how often it was seen, the sum of what stood beside it.

best = max(best, u(e));  s = a(e) if u(e) > best else s + b(e) if u(e) == best else s
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, right
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.transition import Loop, State


def beside_extremes(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where no state goes with a greatest or least element."""
    for state in loop.states:
        for op in ("max", "min"):
            others = [a for a in state.step.args if a is not state.variable]
            if state.step.op != op or len(others) != 1 or len(state.step.args) != 2 or state.variable.sort.values is not None:
                continue
            element = others[0]
            if {*ex.variables(element)} & {s.variable for s in loop.states}:
                continue
            made = {s.variable: _added(s, state, element, loop) for s in loop.states if s is not state}
            found = {v: e for v, e in made.items() if e is not None}
            if found and len(found) == len(made):
                return _closure(state, element, found, op == "max", style)
    raise FormError("no state that goes with an extreme element")


def _added(state: State, best: State, element: Expr, loop: Loop) -> Expr | None:
    """The value that the first of several equal elements gives the state, where each further one adds as much; None for a state
    that does not go with the extreme element."""
    old, new = ex.variable("old", ex.REAL), ex.variable("new", ex.REAL)
    equal = {best.variable: new, element: new}
    sign = 1 if best.step.op == "max" else -1
    above, below = ex.add(new, ex.constant(sign)), ex.subtract(new, ex.constant(sign))
    try:
        first = ex.substituted(state.step, {best.variable: below, element: new})
        same = ex.substituted(state.step, equal)
        later = ex.substituted(state.step, {best.variable: above, element: new})
    except ex.UndefinedError:
        return None
    states = {s.variable for s in loop.states} | {old, new}
    if later is not state.variable or {*ex.variables(first)} & states:
        return None
    return first if ex.subtract(same, state.variable) is first and state.variable.sort.is_numeric else None


def _closure(best: State, element: Expr, added: Mapping[Expr, Expr], is_greatest: bool, style: Style) -> Closure:
    extreme = ex.maximum if is_greatest else ex.minimum
    most = ex.variable("q1", Sort(element.sort.base))
    slots = {v: ex.variable(f"q{n}", Sort(v.sort.base)) for n, v in enumerate(added, 2)}

    def joined(left: Expr, other: Expr, left_most: Expr, other_most: Expr) -> Expr:
        more, less = ex.more_than(other_most, left_most), ex.more_than(left_most, other_most)
        if not is_greatest:
            more, less = less, more
        return ex.select(more, other, ex.select(less, left, ex.add(left, other)))

    transformers = {best.variable: extreme(best.variable, most)}
    transformers |= {v: joined(v, s, best.variable, most) for v, s in slots.items()}
    operator = {most: extreme(most, right(most))}
    operator |= {s: joined(s, right(s), most, right(most)) for s in slots.values()}
    lift = {most: element, **{s: added[v] for v, s in slots.items()}}
    return Closure((most, *slots.values()), transformers, lift, operator, style)


__all__ = ["beside_extremes"]
