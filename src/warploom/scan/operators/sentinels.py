"""States that are asked less than they say: `at < 0` where -1 means none, `run >= 3` of a count.

A number that begins as a sentinel, and is asked only whether it still is, has a flag beside it instead. A count that is compared
with constants, and nothing else, counts no further than the greatest of them, so it has few values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.laws import Order, ordered
from warploom.scan.operators.prover import Holds, Translator, UntranslatableError, decide
from warploom.scan.operators.steps import MOST, throughout
from warploom.scan.operators.transition import Loop, State

_COMPARISONS: tuple[ex.Op, ...] = ("ge", "gt", "eq")
_RLIMIT = 300_000


def asked_less(loop: Loop) -> Loop | None:
    """The loop with flags for sentinels and counts that end; None where there are none."""
    try:
        loop = _told_apart(loop)
        return _asked_less(loop)
    except ex.UndefinedError:
        return None


def _asked_less(loop: Loop) -> Loop | None:
    found = loop
    for state in loop.states:
        found = _counted(found, state.variable) or found
    known: list[Order] | None = None
    for state in loop.states:
        if not _may_be_sentinel(found, state.variable):
            continue
        known = throughout(loop) if known is None else known
        found = _flagged(found, state.variable, known) or found
    return None if found is loop else found


def _told_apart(loop: Loop) -> Loop:
    """The loop with comparisons of choices as choices of comparisons."""
    exprs = [*(s.step for s in loop.states), *loop.outputs]
    apart: dict[Expr, Expr] = {}
    for part in ex.subexpressions(*exprs):
        choices = [e for e in ex.subexpressions(part) if e.op == "ite"] if part.op in _COMPARISONS else []
        if len(choices) == 1:
            test, then, otherwise = choices[0].args
            cases = [ex.substituted(part, {choices[0]: e}) for e in (then, otherwise)]
            apart[part] = ex.select(test, *cases)
    if not apart:
        return loop
    states = tuple(replace(s, step=ex.substituted(s.step, apart)) for s in loop.states)
    return replace(loop, states=states, outputs=tuple(ex.substituted(o, apart) for o in loop.outputs))


def _state(loop: Loop, variable: Expr) -> State | None:
    return next((s for s in loop.states if s.variable is variable), None)


def _questions(loop: Loop, variable: Expr) -> list[Expr]:
    """Comparisons of the variable with constants."""
    exprs = [*(s.step for s in loop.states), *loop.outputs]
    return [e for e in ex.subexpressions(*exprs) if e.op in _COMPARISONS and {*ex.variables(e)} == {variable}]


# ------------------------------------------------------------ sentinels


def _may_be_sentinel(loop: Loop, variable: Expr) -> bool:
    state = _state(loop, variable)
    if state is None or not variable.sort.is_numeric or variable.sort.is_infinite or variable.sort.values is not None:
        return False
    others = [e for e in ex.leaves(state.step) if e not in (variable, state.initial)]
    return state.initial.op == "const" and bool(others) and bool(_questions(loop, variable))


def _flagged(loop: Loop, variable: Expr, known: Sequence[Order]) -> Loop | None:
    state = _state(loop, variable)
    assert state is not None
    others = [e for e in ex.leaves(state.step) if e not in (variable, state.initial)]
    name = f"{variable.value}_set"
    while any(str(v.value) == name for v in (*loop.fields, *loop.constants, *(s.variable for s in loop.states))):
        name += "_"
    flag = ex.variable(name, ex.BOOL)
    answers: dict[Expr, Expr] = {}
    for question in _questions(loop, variable):
        first = ex.substituted(question, {variable: state.initial})
        if first not in (ex.TRUE, ex.FALSE):
            continue
        if all(_is_answer(loop, question, ex.negation(first), e, known) for e in others):
            answers[question] = flag if first is ex.FALSE else ex.negation(flag)
        elif all(_is_answer(loop, question, first, e, known) for e in others):
            answers[question] = first
    if all(a in (ex.TRUE, ex.FALSE) for a in answers.values()):
        return None
    meant = {variable: flag, state.initial: ex.FALSE}
    step = ex.with_leaves(state.step, lambda e: meant.get(e, ex.TRUE))
    states = [*loop.states, State(flag, ex.FALSE, step)]
    return replace(
        loop,
        states=tuple(replace(s, step=ex.substituted(s.step, answers)) for s in states),
        outputs=tuple(ex.substituted(o, answers) for o in loop.outputs),
    )


def _is_answer(loop: Loop, question: Expr, answer: Expr, value: Expr, known: Sequence[Order]) -> bool:
    """Whether this always is the answer of a value that replaces the sentinel."""
    t = Translator()
    try:
        (variable,) = {*ex.variables(question)}
        found = ex.substituted(question, {variable: value})
        claim = t.condition(found if answer is ex.TRUE else ex.negation(found))
        given = [*(ordered(t, o) for o in known), *(t.condition(a) for a in loop.assumed)]
    except (UntranslatableError, ex.UndefinedError):
        return False
    return isinstance(decide(t, given, [claim], [], _RLIMIT), Holds)


# ------------------------------------------------------------ counts


def _counted(loop: Loop, variable: Expr) -> Loop | None:
    state = _state(loop, variable)
    if state is None or variable.sort.base != "int" or variable.sort.is_infinite or variable.sort.values is not None:
        return None
    questions = _questions(loop, variable)
    bounds = [_bound(q, variable) for q in questions]
    leaves = ex.leaves(state.step)
    next_ = ex.add(variable, ex.ONE)
    numbers = [e.value for e in (*leaves, state.initial) if e.op == "const"]
    if not bounds or any(b is None for b in bounds) or next_ not in leaves or state.initial.op != "const":
        return None
    if any(e not in (variable, next_) and e.op != "const" for e in leaves) or any(type(n) is not int for n in numbers):
        return None
    hidden = dict.fromkeys(questions, ex.TRUE)
    rest = [*(s.step for s in loop.states if s is not state), *loop.outputs]
    if any(variable in ex.variables(ex.substituted(e, hidden)) for e in rest):
        return None
    lowest = min(n for n in numbers if isinstance(n, int))
    most = max([*(b for b in bounds if b is not None), *(n for n in numbers if isinstance(n, int))])
    if most - lowest >= MOST:
        return None
    few = ex.variable(str(variable.value), Sort("int", values=tuple(range(lowest, most + 1))))

    def of(number: int) -> Expr:
        after = ex.substituted(state.step, {variable: ex.constant(number)})
        return ex.with_leaves(after, lambda e: e if e.op != "const" else ex.constant(min(most, int(str(e.value)))))

    step = of(lowest)
    for number in range(lowest + 1, most + 1):
        step = ex.select(ex.at_least(few, ex.constant(number)), of(number), step)
    renamed = {variable: few}
    states = [
        State(few, s.initial, step) if s is state else replace(s, step=ex.substituted(s.step, renamed)) for s in loop.states
    ]
    return replace(loop, states=tuple(states), outputs=tuple(ex.substituted(o, renamed) for o in loop.outputs))


def _bound(question: Expr, variable: Expr) -> int | None:
    """From this number on the answer is the same; None where that is not seen."""
    total = ex.subtract(*question.args) if question.op == "eq" else question.args[0]
    terms = ex.polynomial(total)
    if not {*terms} <= {(), (variable,)} or not terms.get((variable,)):
        return None
    crossing = Fraction(-terms.get((), 0)) / Fraction(terms[variable,])
    return int(crossing) + 1 if crossing >= 0 else 0


__all__ = ["asked_less"]
