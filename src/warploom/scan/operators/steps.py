"""Steps of a loop that are simpler where what holds of its states throughout is known: `elif x > second` as a maximum.

Candidates are bounds of one state and orders of two. Those that hold of the states at the start and are kept by every step hold
throughout; a choice `a if test else b` that then always is one of a, b, max(a, b), min(a, b) is replaced by it. A state between
two near bounds has few values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Sort, UndefinedError, Value
from warploom.scan.operators.laws import Order, ordered
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.prover import Holds, Translator, UntranslatableError, decide
from warploom.scan.operators.samples import constant_values, constants_of, random_lists
from warploom.scan.operators.transition import Loop, State

LISTS, LONGEST = 60, 6
MOST = 16
"""Values of a state that is told by cases."""
_RLIMIT = 300_000
_BITWISE: tuple[ex.Op, ...] = ("bitand", "bitor", "bitxor")


def simpler(loop: Loop) -> Loop | None:
    """The loop with simpler steps; None if there are none."""
    seen = _observed(loop)
    if not seen:
        return None
    known = _throughout(loop, seen)
    few = {**_few(loop, known), **_few_bits(loop)}
    renamed = {v: few.get(v, v) for v in (s.variable for s in loop.states)}
    steps: list[Expr] = []
    try:
        for state in loop.states:
            step = _simpler(loop, state.step, known, seen)
            steps.append(_by_cases(ex.substituted(step, renamed), [renamed[v] for v in few]))
        states = tuple(replace(s, variable=renamed[s.variable], step=step) for s, step in zip(loop.states, steps, strict=True))
        outputs = tuple(ex.substituted(o, renamed) for o in loop.outputs)
    except UndefinedError:
        return None
    changed = bool(few) or any(new is not s.step for new, s in zip(steps, loop.states, strict=True))
    return replace(loop, states=states, outputs=outputs) if changed else None


def _observed(loop: Loop) -> list[tuple[Value, ...]]:
    """States that random lists lead to, each with an element that is read next."""
    fixed = constant_values(loop)
    variables = [s.variable for s in loop.states]
    start = compiled(list(loop.constants), [s.initial for s in loop.states])
    step = compiled([*variables, *loop.fields, *loop.constants], [s.step for s in loop.states])
    found: list[tuple[Value, ...]] = []
    try:
        for elements in random_lists(loop, LISTS, LONGEST, seed=3):
            values = start(*fixed)
            for element in elements:
                found.append((*values, *element))
                values = step(*values, *element, *fixed)
    except (ArithmeticError, ValueError):
        return []
    return found


def throughout(loop: Loop) -> list[Order]:
    """Orders of states and bounds that hold of all states that the loop reaches."""
    seen = _observed(loop)
    return _throughout(loop, seen) if seen else []


def _throughout(loop: Loop, seen: Sequence[tuple[Value, ...]]) -> list[Order]:
    """Orders of states and bounds that hold of all states that the loop reaches."""
    numeric = [s for s in loop.states if s.variable.sort.is_numeric and s.variable.sort.values is None]
    numbers = {b + d for b in {0, *constants_of(loop)} if type(b) is int and abs(b) <= 1000 for d in (-1, 0, 1)}
    bounds = [ex.constant(n) for n in sorted(numbers)]
    found: list[Order] = []
    for state in numeric:
        found += [o for b in bounds for o in ((state.variable, b), (b, state.variable))]
        found += [(state.variable, o.variable) for o in numeric if o is not state]
    found += _before_places(loop, numeric)
    initial = {s.variable: s.initial for s in loop.states}
    found = [o for o in found if ex.at_least(*(ex.substituted(e, initial) for e in o)) is ex.TRUE]
    places = {s.variable: n for n, s in enumerate(loop.states)}

    def value(row: tuple[Value, ...], side: Expr) -> float:
        if side.op == "poly":
            return sum(cast(float, row[places[a]]) for a in side.args)
        return cast(float, row[places[side]] if side in places else side.value)

    found = [o for o in found if all(value(row, o[0]) >= value(row, o[1]) for row in seen)]
    bounded: dict[tuple[Expr, str], list[Order]] = {}
    for order in found:  # the strongest last
        if order[1] in bounds:
            bounded.setdefault((order[0], "least"), []).append(order)
    for order in reversed(found):
        if order[0] in bounds:
            bounded.setdefault((order[1], "most"), []).append(order)
    found = [o for o in found if not {*o} & {*bounds}]
    after = {s.variable: s.step for s in loop.states}
    while True:
        strongest = [own[-1] for own in bounded.values() if own]
        known = [*found, *strongest]
        failed = [o for o in known if not _follows(loop, known, o, after)]
        if not failed:
            return known
        found = [o for o in found if o not in failed]
        for own in bounded.values():  # a weaker bound may hold
            if own and own[-1] in failed:
                own.pop()


def _before_places(loop: Loop, numeric: Sequence[State]) -> list[Order]:
    """Facts to prove: a part that begins at a place, and is as long as is kept, ends before the place that is read next."""
    counters = [s for s in numeric if s.step is ex.add(s.variable, ex.ONE)]
    begins = [s for s in numeric if s.step.op == "ite" and not s.variable.sort.is_infinite]
    lengths = [s for s in numeric if s.step.op == "max" and not s.variable.sort.is_infinite]
    return [(c.variable, ex.add(b.variable, n.variable)) for c in counters for b in begins for n in lengths]


def _follows(loop: Loop, known: Sequence[Order], claimed: Order, after: Mapping[Expr, Expr]) -> bool:
    """Whether what is known of the states gives the order of the states after."""
    t = Translator()
    try:
        given = [*(ordered(t, k) for k in known), *(t.condition(a) for a in loop.assumed)]
        verdict = decide(t, given, [ordered(t, claimed, t.bound(after))], [], _RLIMIT)
    except UntranslatableError:
        return False
    return isinstance(verdict, Holds)


def _few(loop: Loop, known: Sequence[Order]) -> dict[Expr, Expr]:
    """States between two near bounds, with the few values that they have."""
    found: dict[Expr, Expr] = {}
    for state in loop.states:
        variable = state.variable
        if variable.sort.base != "int" or variable.sort.is_infinite or variable.sort.values is not None:
            continue
        numbers = range(-MOST, MOST + 1)
        lower = [n for n in numbers if (variable, ex.constant(n)) in known]
        upper = [n for n in numbers if (ex.constant(n), variable) in known]
        if lower and upper and min(upper) - max(lower) < MOST:
            values = tuple(range(max(lower), min(upper) + 1))
            found[variable] = ex.variable(str(variable.value), Sort("int", values=values))
    return found


def _few_bits(loop: Loop) -> dict[Expr, Expr]:
    """States of a few bits, and those of few values that are combined bit by bit."""
    found: dict[Expr, Expr] = {}
    for variable in (s.variable for s in loop.states):
        if variable.sort.bits is not None and 1 << variable.sort.bits <= MOST:
            found[variable] = ex.variable(str(variable.value), Sort("int", values=tuple(range(1 << variable.sort.bits))))
        elif variable.sort.values is not None and any(_combines(s.step, variable) for s in loop.states):
            found[variable] = variable
    return found


def _combines(step: Expr, variable: Expr) -> bool:
    """Whether bits of it are combined with others."""
    return any(e.op in _BITWISE and variable in ex.variables(e) for e in ex.subexpressions(step))


def _by_cases(step: Expr, few: Sequence[Expr]) -> Expr:
    """The step by the values of the states that have few, where it is more than a comparison of them."""
    for variable in few:
        plain = any(variable in e.args and e.op in ("max", "min", "poly") for e in ex.subexpressions(step))
        if not plain and not _combines(step, variable):
            continue
        values = variable.sort.values or ()
        cases = [ex.substituted(step, {variable: ex.constant(v)}) for v in values]
        step = cases[0]
        for value, case in zip(values[1:], cases[1:], strict=True):
            step = ex.select(ex.at_least(variable, ex.constant(value)), case, step)
    return step


def _simpler(loop: Loop, step: Expr, known: Sequence[Order], seen: Sequence[tuple[Value, ...]]) -> Expr:
    """The step with choices replaced, inner ones first."""
    names = [*(s.variable for s in loop.states), *loop.fields]
    replaced: dict[Expr, Expr] = {}
    for part in ex.subexpressions(step):
        if part.op != "ite" or not part.sort.is_numeric or {*ex.variables(part)} & {*loop.constants}:
            continue
        own = ex.substituted(part, replaced)
        if own.op != "ite":
            continue
        given, own, elsewhere = _given(loop, own)
        if own.op != "ite":
            continue
        then, otherwise = own.args[1:]
        options = [then, otherwise, ex.maximum(then, otherwise), ex.minimum(then, otherwise)]
        # `n - 1 if n >= 1 else n` is max(n - 1, 0) where n is never below 0
        options += [
            ex.maximum(o, low) for v, low in known if low.op == "const" for o in (then, otherwise) if v in ex.variables(o)
        ]
        options += [
            ex.minimum(o, top) for top, v in known if top.op == "const" for o in (then, otherwise) if v in ex.variables(o)
        ]
        options = [o for o in options if o.op != "const"]
        test = compiled(names, [own, *options])
        rows = [test(*row) for row in seen]
        for number, option in enumerate(options, 1):
            if all(r[0] == r[number] for r in rows) and _is_equal(loop, own, option, known):
                replaced[part] = ex.select(given, option, elsewhere)
                break
    return ex.substituted(step, replaced)


def _given(loop: Loop, choice: Expr) -> tuple[Expr, Expr, Expr]:
    """(what a choice asks of the element alone, the choice that is left where that holds, the value where it does not)"""
    test, then, otherwise = choice.args
    if test.op != "and":
        return ex.TRUE, choice, otherwise
    states = {s.variable for s in loop.states}
    own = [a for a in test.args if not {*ex.variables(a)} & states]
    left = [a for a in test.args if {*ex.variables(a)} & states]
    if not own or not left:
        return ex.TRUE, choice, otherwise
    return ex.both(*own), ex.select(ex.both(*left), then, otherwise), otherwise  # a negated test swaps the branches of the second


def _is_equal(loop: Loop, left: Expr, right: Expr, known: Sequence[Order]) -> bool:
    t = Translator()
    try:
        given = [*(ordered(t, k) for k in known), *(t.condition(a) for a in loop.assumed)]
        claim = t.equal(t.number(left), t.number(right))
    except UntranslatableError:
        return False
    return isinstance(decide(t, given, [claim], [], _RLIMIT), Holds)


__all__ = ["simpler", "throughout"]
