"""The greatest few elements, or the least: a list's value is its own greatest few, and two lists merge.

Of two sorted rows the n-th greatest number is the greatest of min(a_i, b_j) with i + j = n, of a_n, and of b_n. So nothing is
searched; the laws hold of sorted rows, which the rows of lists always are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.selections import agrees, kept_alike
from warploom.scan.operators.transition import Loop

MOST = 5


def greatest_few(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where the states are not the greatest or least few elements."""
    value, states = kept_alike(loop)
    if not 2 <= len(states) <= MOST or len(states) != len(loop.states):
        raise FormError("no row of elements")
    for is_greatest in (True, False):
        ranked = _ranked(loop, value, states, is_greatest)
        if ranked is not None and agrees(loop, made := _closure(value, ranked, is_greatest, style)):
            return made
    raise FormError("no greatest or least few elements")


def _ranked(loop: Loop, value: Expr, states: Sequence[Expr], is_greatest: bool) -> list[Expr] | None:
    """The states in the order of what they keep."""
    nothing = ex.MINUS_INFINITY if is_greatest else ex.INFINITY
    now: dict[Expr, Expr] = dict.fromkeys(states, nothing)
    numbers = [2, 4, 1, 5, 3]
    try:
        for number in numbers:
            known = {**now, value: ex.constant(number)}
            now = {s.variable: ex.substituted(s.step, known) for s in loop.states}
    except ex.UndefinedError:
        return None
    wanted = sorted(numbers, reverse=is_greatest)[: len(states)]
    places = {ex.constant(n): rank for rank, n in enumerate(wanted)}
    if {*now.values()} != {*places}:
        return None
    return sorted(states, key=lambda v: places[now[v]])


def _closure(value: Expr, states: Sequence[Expr], is_greatest: bool, style: Style) -> Closure:
    first, second = (ex.maximum, ex.minimum) if is_greatest else (ex.minimum, ex.maximum)
    ends = {"below": is_greatest, "above": not is_greatest}
    slots = [ex.variable(f"q{n}", replace(value.sort, values=None, **(ends if n > 1 else {}))) for n in range(1, len(states) + 1)]

    def merged(a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
        return [first(a[n], b[n], *(second(a[i], b[n - 1 - i]) for i in range(n))) for n in range(len(a))]

    nothing = ex.MINUS_INFINITY if is_greatest else ex.INFINITY
    lift = [value, *([nothing] * (len(states) - 1))]
    return Closure(
        tuple(slots),
        dict(zip(states, merged(states, slots), strict=True)),
        dict(zip(slots, lift, strict=True)),
        dict(zip(slots, merged(slots, [right(s) for s in slots]), strict=True)),
        style,
    )


__all__ = ["greatest_few"]
