"""Sums that are rescaled by powers of e as a running maximum grows: log-sum-exp, online softmax, attention.

    m = max(m, u(e));  s = s * exp(m_before - m) + b(e) * exp(u(e) - m)

As `s * exp(m)` is a plain sum, lists need the maximum of u and the sum of b, rescaled to it. This rests on `exp(x) * exp(y) =
exp(x + y)` over the reals, and on `exp(-inf) = 0` where the maximum starts below all numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.transition import Loop, State


def rescaled(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where no state is rescaled so."""
    for state in loop.states:
        element = _greatest(state, loop)
        if element is None:
            continue
        sums = {s.variable: _added(s, state.variable, element, loop) for s in loop.states if s is not state}
        added = {v: e for v, e in sums.items() if e is not None}
        if added and len(added) == len(sums):
            return _closure(state.variable, element, added, style)
    raise FormError("no sum that is rescaled by powers of e")


def _greatest(state: State, loop: Loop) -> Expr | None:
    """The finite element whose running maximum the state is; None where it is no such maximum."""
    step, states = state.step, {s.variable for s in loop.states}
    if step.op != "max" or state.variable not in step.args or state.variable.sort.above:
        return None
    others = [a for a in step.args if a is not state.variable]
    if any({*ex.variables(o)} & states for o in others):
        return None
    element = ex.maximum(*others)
    return None if element.sort.is_infinite else element


def _added(state: State, greatest: Expr, element: Expr, loop: Loop) -> Expr | None:
    """The amount that an element adds to `state * exp(greatest)`; None where there is no such amount."""
    finite = ex.variable(f"{greatest.value}_finite", ex.REAL)
    plain = ex.variable(f"{state.variable.value}_plain", ex.REAL)
    found: set[Expr] = set()
    for grows in (False, True):
        after = element if grows else finite
        try:
            step = _where(ex.substituted(state.step, {greatest: finite}), finite, element, grows)
            held = {state.variable: ex.multiply(plain, ex.exponential(ex.negate(finite)))}
            total = ex.multiply(ex.substituted(step, held), ex.exponential(after))
            found.add(ex.subtract(total, plain))
        except ex.UndefinedError:
            return None
    other = {finite, plain, *(s.variable for s in loop.states)}
    if len(found) != 1 or other & {*ex.variables(*found)}:
        return None
    return ex.multiply(found.pop(), ex.exponential(ex.negate(element)))


def _where(step: Expr, greatest: Expr, element: Expr, grows: bool) -> Expr:
    """The step where the element is more than the maximum, or not."""
    known: dict[Expr, Expr] = {ex.maximum(greatest, element): element if grows else greatest}
    for holds, condition in (
        (not grows, ex.at_least(greatest, element)), (grows, ex.more_than(element, greatest)),
    ):  # fmt: skip
        known[condition] = ex.constant(holds)
        known[ex.negation(condition)] = ex.constant(not holds)
    return ex.substituted(step, known)


def _closure(greatest: Expr, element: Expr, added: Mapping[Expr, Expr], style: Style) -> Closure:
    most = ex.variable("q1", ex.REAL)
    slots = {v: ex.variable(f"q{n}", ex.REAL) for n, v in enumerate(added, 2)}
    transformers = {greatest: ex.maximum(greatest, most)}
    lift: dict[Expr, Expr] = {most: element}
    operator = {most: ex.maximum(most, right(most))}
    for variable, slot in slots.items():
        transformers[variable] = _joined(variable, greatest, slot, most)
        lift[slot] = added[variable]
        operator[slot] = _joined(slot, most, right(slot), right(most))
    return Closure((most, *slots.values()), transformers, lift, operator, style)


def _joined(left: Expr, left_most: Expr, other: Expr, other_most: Expr) -> Expr:
    most = ex.maximum(left_most, other_most)
    return ex.add(
        ex.multiply(left, ex.exponential(ex.subtract(left_most, most))),
        ex.multiply(other, ex.exponential(ex.subtract(other_most, most))),
    )


__all__ = ["rescaled"]
