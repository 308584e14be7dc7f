"""Equality by cases, for products, powers of e and common divisors, which z3 does not decide.

Conditions and the orders of maxima are decided one by one, and in every case that can arise both sides must be one polynomial.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.prover import Fails, Holds, Open, Translator, UntranslatableError, decide

MAX_CASES = 4000
RLIMIT = 300_000


def equal_by_cases(left: Expr, right: Expr, given: Sequence[Expr]) -> bool:
    """True only if they are equal wherever `given` holds; false says nothing."""
    budget = [MAX_CASES]
    return _equal(left, right, tuple(given), budget)


def _equal(left: Expr, right: Expr, given: tuple[Expr, ...], budget: list[int]) -> bool:
    if left is right:
        return True
    budget[0] -= 1
    if budget[0] <= 0:
        return False
    question = _question(left, right)
    if question is None:
        return not _possible((*given, ex.negation(ex.equal(left, right))))
    for answer in (question, ex.negation(question)):
        now = (*given, answer)
        if not _possible(now):
            continue
        try:
            values = _values(question, answer is question, left, right)
            a, b = ex.substituted(left, values), ex.substituted(right, values)
        except ex.UndefinedError:
            return False
        if not _equal(a, b, now, budget):
            return False
    return True


def _question(left: Expr, right: Expr) -> Expr | None:
    """A condition whose answer simplifies; innermost first, so that it has no conditions inside."""
    for part in ex.subexpressions(left, right):
        condition: Expr | None = None
        if part.op == "ite":
            condition = part.args[0]
        elif part.op in ("max", "min"):
            condition = ex.at_least(part.args[0], part.args[1])
        if condition is not None and (atom := _atom(condition)) is not None:
            return atom
    for side in (left, right):
        if side.sort.base == "bool" and (atom := _atom(side)) is not None:
            return atom
    return None


def _atom(condition: Expr) -> Expr | None:
    """The first comparison in a condition; None where it has none, as `6 >= x` of an x of 0 or 1."""
    comparisons = (
        p for p in ex.subexpressions(condition) if p.op in ("ge", "gt", "eq") or (p.op == "var" and p.sort.base == "bool")
    )
    return next(comparisons, None)


def _values(question: Expr, holds: bool, left: Expr, right: Expr) -> dict[Expr, Expr]:
    values = {question: ex.TRUE if holds else ex.FALSE}
    for part in ex.subexpressions(left, right):
        if part.op not in ("max", "min") or len(part.args) < 2:
            continue
        first, second, *rest = part.args
        order = ex.at_least(first, second)
        if _atom_or_self(order) is not question:
            continue
        first_wins = holds == (order is question)
        pick = first if first_wins == (part.op == "max") else second
        values[part] = (ex.maximum if part.op == "max" else ex.minimum)(pick, *rest)
    return values


def _atom_or_self(condition: Expr) -> Expr:
    return condition.args[0] if condition.op == "not" else condition


def _possible(conditions: Sequence[Expr]) -> bool:
    """False only if they contradict each other."""
    if any(c is ex.FALSE for c in conditions):
        return False
    t = Translator()
    try:
        given = [t.number(c) for c in conditions]
    except UntranslatableError:
        return True
    if any(g.undefined is not None for g in given):
        return True
    match decide(t, [g.term for g in given], [t.builder.false], [], RLIMIT):
        case Holds():
            return False
        case Fails() | Open():
            return True
