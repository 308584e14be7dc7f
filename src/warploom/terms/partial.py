"""Operations that have no value on some inputs: which of them have none on any, so that nothing may be concluded from them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from math import isfinite

from warploom.core import DType, f64
from warploom.terms.evaluate import evaluate
from warploom.terms.normal import Normaliser
from warploom.terms.term import Term, iterate_post
from warploom.terms.visits import POWERS

PARTIAL = frozenset({"/", "sqrt", "rsqrt", "log", "lg2"})
"""Operations without a value where the last operand is 0 (a quotient) or negative (a root) or both (a logarithm)."""
NUMBERS_ONLY = frozenset({"+", "-", "*", "/", "neg"})
"""Operations whose laws hold of numbers, not of infinities and NaN."""
_TRIALS = 3
_MOST = 1 << 10


def condition_of_value(op: str) -> str:
    """The condition on the inputs of a partial operation on reals, as a proof states it."""
    return "no number divided by 0" if op == "/" else "square roots and logarithms have a value"


def is_partial(term: Term) -> bool:
    """Whether the operation has no value on some of its inputs."""
    return term.op in PARTIAL and (term.args[-1].op != "constant" or not _is_inside(term.op, term.args[-1]))


def without_value(terms: Iterable[Term], normaliser: Normaliser) -> Term | None:
    """The first of these partial operations whose operand is one and the same number outside of its domain, whatever the data."""
    context = normaliser.algebra.dtype if normaliser.algebra.modulus_bits else f64
    positive: dict[Term, bool] = {}
    has_power: dict[Term, bool] = {}
    seen: set[tuple[str, Term]] = set()
    for term in terms:
        operand = term.args[-1]
        if (term.op, operand) in seen:
            continue
        seen.add((term.op, operand))
        if context.is_float and is_positive(operand, positive):
            continue
        for t in iterate_post(operand, has_power):
            has_power[t] = t.op in POWERS or any(has_power[a] for a in t.args)
        is_known = operand.op != "constant" and not has_power[operand]  # powers of e have no value that is a fraction
        if is_known and _is_inside_somewhere(term.op, operand, context):
            continue
        canonical = normaliser.canonical(operand)
        if canonical.op == "constant" and not _is_inside(term.op, canonical):
            return term
        if term.op == "/" and canonical.op == "sqrt" and canonical.args[0].op == "constant" and not canonical.args[0].data[0]:
            return term
    return None


def beyond_numbers(terms: Iterable[Term]) -> Term | None:
    """The first of these operations that is given an infinity or NaN by name and has laws of numbers."""
    return next((t for t in terms if t.op in NUMBERS_ONLY and any(map(_is_limit, t.args))), None)


def _is_limit(term: Term) -> bool:
    return term.op == "constant" and isinstance(term.data[0], float) and not isfinite(term.data[0])


def _is_inside(op: str, operand: Term) -> bool:
    number = operand.data[0]
    return number != 0 if op == "/" else number >= 0 if op == "sqrt" else number > 0


def is_positive(root: Term, known: dict[Term, bool]) -> bool:
    """Whether a real number is seen to be above 0 for all data, as sums of exponentials are; False: not known."""
    stack = [root]
    while stack:
        term = stack[-1]
        if term in known:
            stack.pop()
            continue
        match term.op:
            case "exp" | "ex2":
                known[term] = not _is_limit(term.args[0])
            case "+" | "*" | "max":
                missing = [a for a in term.args if a not in known]
                if missing and all(known.get(a, True) for a in term.args):
                    stack.append(missing[0])
                    continue
                known[term] = all(known.get(a, False) for a in term.args)
            case _:
                known[term] = False
        stack.pop()
    return known[root]


def _is_inside_somewhere(op: str, operand: Term, context: DType) -> bool:
    """Whether some numbers are seen to give the operand a value in the domain; False: not known."""
    rng = random.Random(0)
    for _ in range(_TRIALS):
        drawn: dict[Term, int] = {}
        values = evaluate([operand], context, lambda t, drawn=drawn: drawn.setdefault(t, rng.randint(1, _MOST)))
        if values is None:
            return False
        if values[0] != 0 if op == "/" else values[0] > 0:
            return True
    return False
