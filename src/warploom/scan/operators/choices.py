"""Loops that keep one element of all: the nearest to 0, the greatest pair, by whatever comparison.

    if best is None or abs(x) < abs(best): best = x

The step itself combines two lists, as it chooses between the element that was kept of the first and that of the second. It is
associative where the comparison is an order in which the first, or the last, of equals is kept: the laws decide.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.selections import agrees, leaves_of
from warploom.scan.operators.transition import Loop


def one_of_all(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where the states are not the fields of one element, beside flags that say whether there is one."""
    variables = {s.variable for s in loop.states}
    flags = {s.variable for s in loop.states if s.initial is ex.TRUE and s.step is ex.FALSE}
    kept: dict[Expr, Expr] = {}
    for state in loop.states:
        if state.variable in flags:
            continue
        given = {e for e in leaves_of(state.step) if e is not state.variable}
        if len(given) != 1 or not given <= {*loop.fields} or given & {*kept.values()}:
            raise FormError("a state that is no field of one element")
        kept[state.variable] = given.pop()
    if not any(s.step.op == "ite" for s in loop.states if s.variable in kept):
        raise FormError("no choice but of the greatest or the least")
    used = {*ex.variables(*(s.step for s in loop.states))} - variables - {*loop.constants}
    if not kept or used != {*kept.values()}:
        raise FormError("fields of elements that are compared and not kept")
    slots = {v: ex.variable(f"q{n}", replace(f.sort, values=None)) for n, (v, f) in enumerate(kept.items(), 1)}
    fed = {f: slots[v] for v, f in kept.items()}
    after = {s.variable: ex.substituted(s.step, fed) for s in loop.states}
    own = {**slots, **dict.fromkeys(flags, ex.FALSE)}
    later = {f: right(slots[v]) for v, f in kept.items()}
    operator = {slots[s.variable]: ex.substituted(s.step, {**own, **later}) for s in loop.states if s.variable in kept}
    made = Closure(tuple(slots.values()), after, {slots[v]: f for v, f in kept.items()}, operator, style)
    if not agrees(loop, made):
        raise FormError("a comparison that does not choose between elements alone")
    return made


__all__ = ["one_of_all"]
