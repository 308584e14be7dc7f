"""Lists of elements to try things on: small numbers around the loop's own constants, reproducible."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from warploom.scan import expression as ex
from warploom.scan.expression import Expr, Value
from warploom.scan.printing import compiled
from warploom.scan.transition import Loop

Element: TypeAlias = tuple[Value, ...]
"""Values of the loop's fields."""
REPEAT = 0.35
"""How often an element is the one before, so that runs are as common as changes."""


def interesting(sort: ex.Sort, constants: Sequence[Value]) -> list[Value]:
    """Values of one field."""
    if sort.base == "bool":
        return [False, True]
    if sort.base == "text":
        texts = [c for c in constants if isinstance(c, str)]
        return [*texts, "?"]
    if sort.values is not None:
        return list(sort.values)
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
    values = [interesting(f.sort, constants) for f in loop.fields]
    # the loop's constants more often than their neighbours, because equality with them is rare otherwise
    likely = [[v for v in vs if v in constants] or vs for vs in values]
    allowed = compiled(loop.fields, loop.assumed)
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
        result.append(elements or [tuple(vs[0] for vs in values)])
    return result


def constant_values(loop: Loop, seed: int = 0) -> tuple[Value, ...]:
    """Values for the loop's constant parameters."""
    choose = random.Random(seed)
    return tuple(choose.choice([2, 3, 5]) if c.sort.is_numeric else choose.choice([True, False]) for c in loop.constants)


def assignment(variables: Sequence[Expr], values: Sequence[Value]) -> dict[Expr, Expr]:
    return {v: ex.constant(x) for v, x in zip(variables, values, strict=True)}
