"""Loops that compare every element with the first one: whether all are equal to it.

    first = x of the first element;  differs = differs or x != first

A list's value is its first element and the latches of its own elements; of two lists the second's first element is compared
with the first's. That is right where the comparison is an equality, in whatever words: the laws decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.transition import Loop


def beside_first(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where the states are not the first element and latches that compare others with it."""
    begun = next((s.variable for s in loop.states if s.initial is ex.FALSE and s.step is ex.TRUE), None)
    if begun is None:
        raise FormError("no flag for the first element")
    firsts: dict[Expr, Expr] = {}
    latches: dict[Expr, tuple[bool, Expr, Expr]] = {}
    for state in loop.states:
        variable = state.variable
        if variable is begun:
            continue
        later, first = (ex.substituted(state.step, {begun: b}) for b in (ex.TRUE, ex.FALSE))
        if later is variable and {*ex.variables(first)} <= {*loop.fields, *loop.constants}:
            firsts[variable] = first
            continue
        if variable.sort.base != "bool" or {*ex.variables(first)} - {*loop.fields, *loop.constants}:
            raise FormError("a state that is neither the first element nor a latch")
        unset, set_ = (ex.substituted(later, {variable: b}) for b in (ex.FALSE, ex.TRUE))
        if set_ is ex.TRUE:
            latches[variable] = True, unset, first
        elif unset is ex.FALSE:
            latches[variable] = False, set_, first
        else:
            raise FormError("a state that is neither the first element nor a latch")
    if not firsts or not latches:
        raise FormError("no first element with latches")
    return _closure(loop, begun, firsts, latches, style)


def _closure(
    loop: Loop, begun: Expr, firsts: Mapping[Expr, Expr], latches: Mapping[Expr, tuple[bool, Expr, Expr]], style: Style
) -> Closure:
    """`latches`: whether it is set by `or` (else unset by `and`), by which test, and its value after the first element."""
    kept = {v: ex.variable(f"q{n}", replace(e.sort, values=None)) for n, (v, e) in enumerate(firsts.items(), 1)}
    held = {v: ex.variable(f"q{n}", ex.BOOL) for n, v in enumerate(latches, len(kept) + 1)}
    own_fields = {e: kept[v] for v, e in firsts.items() if e in loop.fields}
    if {f for _, test, _ in latches.values() for f in ex.variables(test)} & {*loop.fields} - own_fields.keys():
        raise FormError("a comparison with another part of elements than the first one's")

    def compared(variable: Expr, first: Mapping[Expr, Expr], later: Mapping[Expr, Expr]) -> Expr:
        """The test of a later list's first element, by the first one of all."""
        test = latches[variable][1]
        fields = {e: later[v] for v, e in firsts.items() if e in loop.fields}
        return ex.substituted(test, {**fields, **first})

    transformers: dict[Expr, Expr] = {begun: ex.TRUE}
    transformers |= {v: ex.select(begun, v, s) for v, s in kept.items()}
    mirrored = {v: right(s) for v, s in kept.items()}
    operator: dict[Expr, Expr] = {s: s for s in kept.values()}
    lift: dict[Expr, Expr] = {s: firsts[v] for v, s in kept.items()}
    for variable, slot in held.items():
        is_or, _, first = latches[variable]
        joined = ex.either if is_or else ex.both
        moved = joined(variable, slot, compared(variable, {v: v for v in firsts}, kept))
        transformers[variable] = ex.select(begun, moved, slot)
        operator[slot] = joined(slot, right(slot), compared(variable, kept, mirrored))
        lift[slot] = first
    return Closure((*kept.values(), *held.values()), transformers, lift, operator, style)


__all__ = ["beside_first"]
