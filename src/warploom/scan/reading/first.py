"""Loops whose states depend on the first element before they run, or that treat it apart, as loops over all elements.

`best = xs[0]; for i in range(1, n)` starts with a value that no empty list has. If some constants, as states before the first
element, give the same states after it, whatever the element is, the loop starts from them (`best = -inf`). Else a flag says
whether there was an element. Tests for the first iteration (`if i > 0`) need no index then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from warploom.core import UserError
from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, UndefinedError
from warploom.scan.operators.transition import Loop, State, needed

_TRIES = 2000
_ENDLESS = (ex.MINUS_INFINITY, ex.INFINITY)


def from_first(
    loop: Loop,
    begins: int,
    index: Expr | None,
    again: Callable[[Mapping[str, Expr]], Loop],
    keep: Collection[Expr] = (),
    length: Expr = ex.ZERO,
) -> Loop:
    """The loop over all elements; `again` reads it with other values for states to begin with; `length` is that of the list.

    States of `loop` begin with values that may depend on the first element. The loop begins with it (0) or with the next (1).
    """
    later = _later(loop, index)
    if later is loop and not begins and not any(_of_element(loop, s.initial) for s in loop.states):
        return loop
    initial = {s.variable: s.initial for s in loop.states}
    after = initial if begins else {s.variable: ex.substituted(s.step, initial) for s in loop.states}
    later = needed(later, {*keep})
    wanted = {s.variable: after[s.variable] for s in later.states}
    found = _starts(later, wanted, length)
    if found is not None:
        names = {str(v.value): value for v, value in found.items()}
        with contextlib.suppress(UserError, UndefinedError):
            read = again(names)
            read = needed(
                _later(read, next((s.variable for s in read.states if index and s.name == str(index.value)), None)),
                {s.variable for s in read.states if s.variable in keep},
            )
            if _is_wanted(read, {str(v.value): value for v, value in wanted.items()}):
                return read
    return _flagged(later, wanted)


def _is_wanted(loop: Loop, wanted: Mapping[str, Expr]) -> bool:
    """Whether the states after the first element are those, by their names."""
    initial = {s.variable: s.initial for s in loop.states}
    after = {s.name: ex.substituted(s.step, initial) for s in loop.states}
    return after == wanted


def _later(loop: Loop, index: Expr | None) -> Loop:
    """The loop as it is after the first element: the index is at least 1; the same object if no test of it says otherwise."""
    if index is None:
        return loop
    known = {ex.at_least(index, ex.ONE): ex.TRUE, ex.equal(index, ex.ZERO): ex.FALSE}
    known |= {ex.negation(k): ex.negation(v) for k, v in known.items()}
    steps = [ex.substituted(s.step, known) for s in loop.states]
    if all(new is s.step for new, s in zip(steps, loop.states, strict=True)):
        return loop
    return replace(loop, states=tuple(replace(s, step=new) for new, s in zip(steps, loop.states, strict=True)))


def _of_element(loop: Loop, value: Expr) -> bool:
    return bool({*ex.variables(value)} & {*loop.fields})


def _flagged(loop: Loop, wanted: Mapping[Expr, Expr]) -> Loop:
    name = "has_element"
    while any(str(v.value) == name for s in loop.states for v in (s.variable, *ex.variables(s.step))):
        name += "_"
    flag = ex.variable(name, ex.BOOL)
    states = [
        State(
            s.variable,
            neutral(s.variable) if _of_element(loop, s.initial) else s.initial,
            ex.select(flag, s.step, _as(wanted[s.variable], s.variable)),
        )
        for s in loop.states
    ]
    return replace(loop, states=(State(flag, ex.FALSE, ex.TRUE), *states))


def _as(value: Expr, state: Expr) -> Expr:
    return ex.as_number(value) if state.sort.is_numeric else value


def _starts(loop: Loop, wanted: Mapping[Expr, Expr], length: Expr) -> dict[Expr, Expr] | None:
    """Values for the states from which the loop's step gives what is wanted, whatever the element; None: none found.

    Where the function takes an empty list, they also give its result.
    """
    states = loop.states
    is_free = loop.is_scan or loop.needs_element
    none = {length: ex.ZERO}
    empty = [ex.substituted(o, {**none, **{s.variable: s.initial for s in states}}) for o in loop.outputs]
    tries = 0

    def choose(chosen: dict[Expr, Expr]) -> dict[Expr, Expr] | None:
        nonlocal tries
        if len(chosen) == len(states):
            same = is_free or [ex.substituted(o, {**none, **chosen}) for o in loop.outputs] == empty
            return chosen if same else None
        state = states[len(chosen)]
        for value in _candidates(loop, state, wanted[state.variable]):
            tries += 1
            if tries > _TRIES:
                return None
            more = {**chosen, state.variable: value}
            if _agree(loop, more, state.variable, wanted) and (found := choose(more)) is not None:
                return found
        return None

    return choose({})


def _candidates(loop: Loop, state: State, wanted: Expr) -> Sequence[Expr]:
    known = [e for e in (state.initial, wanted) if not _of_element(loop, e)]
    match state.variable.sort.base:
        case "bool":
            usual = [ex.FALSE, ex.TRUE]
        case "text":
            usual = [ex.constant("")]
        case _:
            usual = [ex.ZERO, ex.ONE, *_ENDLESS]
    return list(dict.fromkeys(known + usual))


def _agree(loop: Loop, chosen: Mapping[Expr, Expr], last: Expr, wanted: Mapping[Expr, Expr]) -> bool:
    """Whether the steps that depend on the chosen states alone, `last` among them, are as wanted."""
    for state in loop.states:
        used = {v for v in ex.variables(state.step) if v in wanted}
        if not used <= chosen.keys() or (last not in used and last is not state.variable):
            continue
        try:
            if ex.substituted(state.step, {u: chosen[u] for u in used}) is not wanted[state.variable]:
                return False
        except UndefinedError:
            return False
    return True


def neutral(of: Expr) -> Expr:
    """A value that the expression may have."""
    if of.sort.values:
        return ex.constant(of.sort.values[0])
    return {"bool": ex.FALSE, "text": ex.constant("")}.get(of.sort.base, ex.ZERO)
