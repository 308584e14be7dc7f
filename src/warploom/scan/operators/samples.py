"""Lists of elements to try things on: small numbers around the loop's own constants, reproducible."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.prover import Fails, Translator, UntranslatableError, decide
from warploom.scan.operators.transition import Loop

Element: TypeAlias = tuple[Value, ...]
"""Values of the loop's fields."""
REPEAT = 0.35
"""Probability that an element is the one before, so that runs are as common as changes."""


def interesting(sort: ex.Sort, constants: Sequence[Value]) -> list[Value]:
    """Values of one field."""
    if sort.base == "bool":
        return [False, True]
    if sort.base == "text":
        texts = [c for c in constants if isinstance(c, str)]
        return [*texts, "?"]
    if sort.values is not None:
        return list(sort.values)
    if sort.bits is not None:
        most = (1 << sort.bits) - 1
        return [n for n in (0, 1, 2, 3, 5, most // 3, most // 2 + 1, most) if n <= most]
    numbers = {c for c in constants if isinstance(c, int) and not isinstance(c, bool) and abs(c) <= 1000}
    found: set[Value] = {-3, -2, -1, 0, 1, 2, 3, 5} | {n + d for n in numbers for d in (-1, 0, 1)}
    ordered: list[Value] = sorted(found)  # type: ignore[type-var]
    return [*ordered, Fraction(1, 2), Fraction(-3, 4)] if sort.base == "real" else ordered


def constants_of(loop: Loop) -> list[Value]:
    exprs = [*(s.step for s in loop.states), *(s.initial for s in loop.states), *loop.outputs]
    found = [e.value for e in ex.subexpressions(*exprs) if e.op == "const"]
    terms = [c for e in ex.subexpressions(*exprs) if e.op == "poly" for c, m in e.terms if not m]
    values = [v for v in (*found, *terms) if not isinstance(v, bool | float)]
    return list(dict.fromkeys(values + [-v for v in values if isinstance(v, int | Fraction)]))


def random_lists(loop: Loop, count: int, longest: int, seed: int = 0) -> list[list[Element]]:
    """Lists of 1 to `longest` elements that meet what the loop asserts of them."""
    choose = random.Random(seed)
    constants = constants_of(loop)
    values = [_meant(f, interesting(f.sort, constants), loop) for f in loop.fields]
    # the loop's constants more often than their neighbours, because equality with them is rare otherwise
    likely = [[v for v in vs if v in constants] or vs for vs in values]
    meets = compiled([*loop.fields, *loop.constants], loop.assumed)
    fixed = constant_values(loop, seed)

    def allowed(*element: Value) -> Sequence[Value]:
        return meets(*element, *fixed)

    result: list[list[Element]] = []
    for number in range(count):
        length = 1 + number % longest
        elements: list[Element] = []
        tries = 0
        while len(elements) < length and tries < 200 * length:
            tries += 1
            if elements and choose.random() < REPEAT:
                elements.append(elements[-1])
                continue
            drawn = tuple(
                choose.choice(often if choose.random() < 0.5 else all_) for all_, often in zip(values, likely, strict=True)
            )
            if all(allowed(*drawn)):
                elements.append(drawn)
        if not elements:
            # too rare to be drawn: the one that a solver finds, if any, in lists of every length
            one = _any_element(loop, fixed, values)
            return [*result, *(one * (1 + n % longest) for n in range(number, count))] if one else result
        result.append(elements)
    return result


def _meant(variable: Expr, values: list[Value], loop: Loop) -> list[Value]:
    """The values, with others around the numbers of the assertions on the variable."""
    fixed = assignment(loop.constants, constant_values(loop))
    about = [ex.substituted(a, fixed) for a in loop.assumed if variable in ex.variables(a)]
    if variable.sort.values is not None or not variable.sort.is_numeric:
        return values
    bounds = {int(c) for a in about for e in ex.subexpressions(a) if e.op == "poly" for c, m in e.terms if not m}
    more = [n + d for c in sorted(bounds) for n in (c, -c) for d in (-1, 0, 1)]
    return [*values, *(m for m in more if m not in values)]


def _any_element(loop: Loop, fixed: Sequence[Value], values: Sequence[Sequence[Value]]) -> list[Element]:
    """One element that meets what the loop asserts; none if there is none (or none that is found)."""
    t = Translator()
    try:
        given = [t.condition(ex.substituted(a, assignment(loop.constants, fixed))) for a in loop.assumed]
        answer = decide(t, given, [t.condition(ex.FALSE)], loop.fields)
    except UntranslatableError:
        return []
    if not isinstance(answer, Fails):
        return []
    return [tuple(answer.values.get(str(f.value), vs[0]) for f, vs in zip(loop.fields, values, strict=True))]


def constant_values(loop: Loop, seed: int = 0) -> tuple[Value, ...]:
    """Values for the loop's constant parameters; the same ones for every seed where assertions are about them."""
    if any(c in ex.variables(a) for c in loop.constants for a in loop.assumed):
        return _meant_constants(loop)
    choose = random.Random(seed)
    return tuple(choose.choice([2, 3, 5]) if c.sort.is_numeric else choose.choice([True, False]) for c in loop.constants)


@cache
def _meant_constants(loop: Loop) -> tuple[Value, ...]:
    """Constants for which some element meets what the loop asserts."""
    t = Translator()
    try:
        given = [t.condition(a) for a in loop.assumed]
        for c in loop.constants:
            t.number(c)
        answer = decide(t, given, [t.condition(ex.FALSE)], loop.constants)
    except UntranslatableError:
        answer = None
    known: Mapping[str, Value] = answer.values if isinstance(answer, Fails) else {}
    default: dict[str, Value] = {"bool": False, "text": ""}
    return tuple(known.get(str(c.value), default.get(c.sort.base, 1)) for c in loop.constants)


def assignment(variables: Sequence[Expr], values: Sequence[Value]) -> dict[Expr, Expr]:
    return {v: ex.constant(x) for v, x in zip(variables, values, strict=True)}
