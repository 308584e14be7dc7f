"""Values that depend on a condition: made, and decided again where the condition is known."""

from __future__ import annotations

from warploom.solve import All, Formula, conjunction, disjunction, negation
from warploom.terms import Term, apply, atom


def select(condition: Formula, then: Term, other: Term) -> Term:
    """`then` where `condition` holds, else `other`."""
    if condition == conjunction(()) or then is other:
        return then
    if condition == disjunction(()):
        return other
    decided = atom("condition", (condition,))
    if then.op == "select" and then.args[0] is decided:
        then = then.args[1]
    if other.op == "select" and other.args[0] is decided:
        other = other.args[2]
    return then if then is other else apply("select", decided, then, other)


def is_narrower(condition: Formula, other: Formula) -> bool:
    """Whether `condition` textually holds all parts of `other`."""
    if condition is other:
        return True
    parts = set(condition.parts) if isinstance(condition, All) else {condition}
    return parts >= (set(other.parts) if isinstance(other, All) else {other})


def taken(value: Term, guard: Formula) -> Term:
    """The value where `guard` holds: choices that it textually decides are made.

    Whoever reads a value uses it where its own path holds, and nowhere else: a store, a merge and a choice put the path's
    condition around it, and a lane that receives it is demanded to run only where the sender does.
    """
    while value.op == "select":
        condition: Formula = value.args[0].data[1][0]
        if is_narrower(guard, condition):
            value = value.args[1]
        elif is_narrower(guard, negation(condition)):
            value = value.args[2]
        else:
            break
    return value
