"""Variables that begin with None, read as ones that begin with an infinity where that gives the same.

What a variable holds while it is None is read nowhere: the reader lets a value be used only where it is known to be there. So it
may be anything then, and `best is None or x < best` needs no flag if it is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from warploom.core import UserError
from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, UndefinedError
from warploom.scan.operators.transition import Loop
from warploom.scan.reading.values import chosen

MOST_TOGETHER = 4
"""Variables that are None together."""


def without_flags(loop: Loop, held: Mapping[str, Sequence[str]], again: Callable[[Mapping[str, Expr]], Loop]) -> Loop:
    """The loop whose steps ask fewer flags: `held` are the states that mean something where a flag is false, by its name.

    `again` reads the loop with other values for states to begin with.
    """
    starts: dict[str, Expr] = {}
    for flag, values in held.items():
        for start in (ex.INFINITY, ex.MINUS_INFINITY):
            for name in values:
                state = next((s for s in loop.states if s.name == name), None)
                if state is None or not state.variable.sort.is_numeric or name in starts:
                    continue
                found = _without(again, {**starts, name: start}, flag, [name])
                if found is not None:
                    loop, starts = found, {**starts, name: start}
        # variables that are None together need another start each at once
        together = [s.name for s in loop.states if s.name in values and s.variable.sort.is_numeric and s.name not in starts]
        if not 2 <= len(together) <= MOST_TOGETHER:
            continue
        for each in product((ex.INFINITY, ex.MINUS_INFINITY), repeat=len(together)):
            begun = {**starts, **dict(zip(together, each, strict=True))}
            found = _without(again, begun, flag, together)
            if found is not None:
                loop, starts = found, begun
                break
    return loop


def _without(
    again: Callable[[Mapping[str, Expr]], Loop], starts: Mapping[str, Expr], flag: str, names: Sequence[str]
) -> Loop | None:
    """The loop that begins so, its steps without the flag; None if they need it."""
    try:
        loop = again(starts)
        states = {s.name: s for s in loop.states}
        if flag not in states or any(n not in states for n in names):
            return None
        is_none, own = states[flag].variable, states[flag].step
        begun = {states[n].variable: starts[n] for n in names}
        unset = {is_none: ex.TRUE, **begun}
        if not any(is_none in ex.variables(s.step) for s in loop.states if s.name != flag):
            return None
        # once set it stays so, and until then it is what it was at the start
        if ex.substituted(own, {is_none: ex.FALSE}) is not ex.FALSE:
            return None
        if not all(_stays(states[n].step, own, unset, starts[n]) for n in names):
            return None
        steps: dict[str, Expr] = {}
        for state in loop.states:
            if state.name == flag:
                continue
            given = ex.substituted(state.step, {is_none: ex.FALSE})
            given = chosen(*given.args) if given.op == "ite" else given
            if is_none in ex.variables(state.step):
                then = ex.substituted(given, begun)
                if then is not ex.substituted(state.step, unset):
                    return None
            steps[state.name] = given
    except (UserError, UndefinedError):
        return None
    return replace(loop, states=tuple(replace(s, step=steps.get(s.name, s.step)) for s in loop.states))


def _stays(step: Expr, flag: Expr, unset: Mapping[Expr, Expr], start: Expr) -> bool:
    """Whether the value is still the one at the start where the flag stays set."""
    after = ex.substituted(flag, unset)
    if after is ex.FALSE:
        return True
    set_ = {after: ex.TRUE, ex.negation(after): ex.FALSE}
    return ex.substituted(ex.substituted(step, unset), set_) is start
