"""States that are only asked questions with constants, as the answers: `last == "1"` of the last character.

    last = c;  if last == "1" or (last == "2" and c <= "6")

What such a state is given depends on the element alone, so its answers do, too: a truth value, or how many bounds it has
reached, says as much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.transition import Loop, State

MOST = 4
"""Questions of one state."""
_COMPARISONS: tuple[ex.Op, ...] = ("ge", "gt", "eq")


def with_answers(loop: Loop) -> Loop:
    """The loop with truth values for states that are only asked questions with constants."""
    for state in loop.states:
        try:
            loop = _answered(loop, state) or loop
        except ex.UndefinedError:
            continue
    return loop


def _answered(loop: Loop, state: State) -> Loop | None:
    variable = state.variable
    if not variable.sort.is_numeric or variable.sort.values is not None or state.name in loop.kept:
        return None
    given = [e for e in ex.leaves(state.step) if e is not variable and e.op != "const"]
    others = {s.variable for s in loop.states}
    if not given or any({*ex.variables(e)} & others for e in given) or variable in ex.variables(*_tests(state.step)):
        return None
    exprs = [*(s.step for s in loop.states if s is not state), *loop.outputs]
    questions = [e for e in ex.subexpressions(*exprs) if e.op in _COMPARISONS and {*ex.variables(e)} == {variable}]
    # an unknown truth value each: known ones would fold branches away in which the state is read
    hidden = {q: ex.variable(f"question {n}", ex.BOOL) for n, q in enumerate(questions)}
    if not 0 < len(questions) <= MOST or any(variable in ex.variables(ex.substituted(e, hidden)) for e in exprs):
        return None
    bounds = {q: _bound(q, variable) for q in questions}
    if len(questions) == 1 or any(b is None for b in bounds.values()):
        return _by_flags(loop, state, questions)
    return _by_class(loop, state, {q: b for q, b in bounds.items() if b is not None})


def _by_flags(loop: Loop, state: State, questions: Sequence[Expr]) -> Loop | None:
    """A truth value for each question."""
    taken = {str(v.value) for v in (*loop.fields, *loop.constants, *(s.variable for s in loop.states))}
    flags: dict[Expr, Expr] = {}
    for question in questions:
        number = len(flags) + 1
        while f"{state.name}_{number}" in taken:
            number += 1
        taken.add(f"{state.name}_{number}")
        flags[question] = ex.variable(f"{state.name}_{number}", ex.BOOL)
    made = [
        State(
            flag,
            ex.substituted(question, {state.variable: state.initial}),
            ex.with_leaves(
                state.step, _kept_or(state.variable, flag, lambda e, q=question: ex.substituted(q, {state.variable: e}))
            ),
        )
        for question, flag in flags.items()
    ]
    return _with(loop, state, made, flags)


def _by_class(loop: Loop, state: State, bounds: Mapping[Expr, tuple[int, bool]]) -> Loop | None:
    """One number: how many of the bounds, in their order, the state has reached."""
    ordered = sorted({b for b, _ in bounds.values()})
    few = ex.variable(state.name, Sort("int", values=tuple(range(len(ordered) + 1))))

    def of(value: Expr) -> Expr:
        found = ex.ZERO
        for number, bound in enumerate(ordered, 1):
            found = ex.select(ex.at_least(value, ex.constant(bound)), ex.constant(number), found)
        return found

    answers: dict[Expr, Expr] = {}
    for question, (bound, is_reached) in bounds.items():
        reached = ex.at_least(few, ex.constant(ordered.index(bound) + 1))
        answers[question] = reached if is_reached else ex.negation(reached)
    step = ex.with_leaves(state.step, _kept_or(state.variable, few, of))
    return _with(loop, state, [State(few, of(state.initial), step)], answers)


def _with(loop: Loop, state: State, made: Sequence[State], answers: Mapping[Expr, Expr]) -> Loop | None:
    if any(s.initial.op != "const" for s in made):
        return None
    states = [replace(s, step=ex.substituted(s.step, answers)) for s in loop.states if s is not state]
    return replace(loop, states=(*states, *made), outputs=tuple(ex.substituted(o, answers) for o in loop.outputs))


def _bound(question: Expr, variable: Expr) -> tuple[int, bool] | None:
    """`variable >= bound`, and whether that is what is asked, or the opposite; None for another question."""
    if question.op != "ge" or variable.sort.base != "int" or variable.sort.is_infinite:
        return None
    terms = ex.polynomial(question.args[0])
    factor, rest = terms.get((variable,)), terms.get((), 0)
    if {*terms} - {(), (variable,)} or factor not in (1, -1) or rest != int(rest):
        return None
    return (int(-rest), True) if factor == 1 else (int(rest) + 1, False)


def _tests(step: Expr) -> list[Expr]:
    return [step.args[0], *_tests(step.args[1]), *_tests(step.args[2])] if step.op == "ite" else []


def _kept_or(variable: Expr, own: Expr, of: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    """The answer for a value that the state is given; its own answer where it stays."""
    return lambda value: own if value is variable else of(value)


__all__ = ["with_answers"]
