"""Loops whose lists say more, the longer they are, so that no operator of a fixed number of values is found.

What a list does to one state, the others being as they are, is a function of that state. A family of a fixed number of values,
put together of sums, comparisons, maxima and choices, has functions of a bounded number of pieces. Where lists of 8, 16 and 32
elements have functions of ever more pieces, as `count += balance < 0` has one for each new low of the balance, searching for a
family is in vain. That is measured, not proved: the answer is `unknown`, with the reason.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.samples import constant_values, constants_of, interesting
from warploom.scan.operators.transition import Loop

LENGTHS = (8, 16, 32)
_WAYS = (
    *((0, 0, 0),) * 4,
    *((drift, 0, 4) for drift in (-5, -2, 0, 2, 5)),
    *((0, slope, 2) for slope in (-7, -2, 2, 7)),
    *((0, 0, 40),) * 3,
)
"""How the numbers of a list are drawn: around what, rising by how much, and how far; (0, 0, 0): around the loop's constants."""
LISTS = 2 * len(_WAYS)
"""Lists of each length: every way from the states at the start, and from others."""
POINTS = 641
"""Values of the state that is varied: whole numbers around those that the loop reaches."""
FAR = 16
"""Longer lists reach so many times what short ones reach."""
FEWEST = 10
"""Pieces at the greatest length: fewer are no evidence."""
MOST_PARTS = 200
"""Parts of a step: where there are more, measuring takes long."""
GROWTH = 1.3
"""Least quotient of the numbers of pieces at twice the length."""
_EPSILON = 1e-6
NOT_EXPECTED = "no operator of a fixed number of values is to be expected"

Column: TypeAlias = NDArray[Any]
Columns: TypeAlias = Mapping[Expr, Column]


class _UnknownOperationError(Exception):
    """An operation that is not computed here."""


@dataclass(frozen=True, slots=True)
class Growing:
    """The state that is varied, the one that is looked at afterwards, and its pieces by the length of the list."""

    varied: str
    seen: str
    pieces: tuple[int, ...]

    def __str__(self) -> str:
        counts = ", ".join(map(str, self.pieces[:-1]))
        lengths = ", ".join(map(str, LENGTHS[:-1]))
        return (
            f"{NOT_EXPECTED}: what a list does to {self.seen}, as a function of {self.varied} before it, has {counts} and"
            f" {self.pieces[-1]} pieces for lists of {lengths} and {LENGTHS[-1]} elements"
        )


def growing(loop: Loop) -> Growing | None:
    """The evidence; None where there is none, or where an operation of the loop is not measured."""
    asked = [s.variable for s in loop.states if _is_measured(s.variable)]
    carried = {s.variable for s in loop.states}
    parts = ex.subexpressions(*(s.step for s in loop.states))
    if len(parts) > MOST_PARTS:
        return None
    rounded = (e for e in parts if e.op in ("floordiv", "mod"))
    if not asked or any(f.sort.base == "text" for f in loop.fields) or any({*ex.variables(e)} & carried for e in rounded):
        return None
    try:
        with np.errstate(all="ignore"):
            counts = [_pieces(loop, asked, length) for length in LENGTHS]
    except (_UnknownOperationError, ArithmeticError, ValueError, TypeError, ex.UndefinedError):
        return None
    for pair in counts[0]:
        pieces = tuple(c.get(pair, 0) for c in counts)
        if pieces[-1] >= FEWEST and all(b >= GROWTH * a for a, b in pairwise(pieces)):
            return Growing(str(pair[0].value), str(pair[1].value), pieces)
    return None


def _is_measured(variable: Expr) -> bool:
    sort = variable.sort
    return sort.is_numeric and sort.values is None and sort.bits is None


def _pieces(loop: Loop, asked: Sequence[Expr], length: int) -> dict[tuple[Expr, Expr], int]:
    """By the state that is varied and the one that is seen: the greatest number of pieces over lists of this length."""
    choose = random.Random(length)
    fixed = constant_values(loop)
    states = [s.variable for s in loop.states]
    made = _Lists(loop, fixed)
    lists = [made.drawn(choose, n, length) for n in range(LISTS)]
    given = dict(zip(loop.constants, (np.array(_number(v)) for v in fixed), strict=True))
    begun, reached = _reached(loop, made, fixed)
    found: dict[tuple[Expr, Expr], int] = {}
    for varied in asked:
        low, high = reached[varied]
        middle = (low + high) // 2
        points = np.arange(POINTS) - POINTS // 2 + min(max(0, low + POINTS // 2), max(high - POINTS // 2, middle))
        points = points[(points >= low) & (points <= high)] if high - low < POINTS else points
        if len(points) < 2 * FEWEST:
            continue
        shape = (LISTS, len(points))
        now: dict[Expr, Column] = {
            v: np.broadcast_to(points.astype(float) if v is varied else begun[v][:, None], shape) for v in states
        }
        for place in range(length):
            columns = [np.array([_number(one[place][n]) for one in lists]) for n in range(len(loop.fields))]
            element = {f: c[:, None] for f, c in zip(loop.fields, columns, strict=True)}
            values = _computed([s.step for s in loop.states], {**given, **element, **now})
            now = {v: np.broadcast_to(c, shape) for v, c in zip(states, values, strict=True)}
        for state in states:
            found[varied, state] = int(_breaks(now[state]).max()) + 1
    return found


def _breaks(values: Column) -> Column:
    """For each row, a lower bound of the places at which a function of whole numbers is not straight: a jump is seen twice."""
    if values.dtype == np.bool_:
        return np.count_nonzero(values[:, 1:] != values[:, :-1], axis=1)
    values = np.where(np.isfinite(values).all(axis=1, keepdims=True), values, 0.0)
    bent = np.diff(values, 2, axis=1)
    is_bent = np.abs(bent) > _EPSILON * (1 + np.abs(values[:, 1:-1]))
    apart = np.count_nonzero(is_bent[:, 1:] & ~is_bent[:, :-1], axis=1) + is_bent[:, 0]
    return np.maximum(apart, (np.count_nonzero(is_bent, axis=1) + 1) // 2)


def _reached(loop: Loop, lists: _Lists, fixed: Sequence[Value]) -> tuple[dict[Expr, Column], dict[Expr, tuple[int, int]]]:
    """For every list where the states begin, and the range of each state that the loop was seen to reach, and far beyond."""
    states = [s.variable for s in loop.states]
    start = compiled(list(loop.constants), [s.initial for s in loop.states])
    step = compiled([*states, *loop.fields, *loop.constants], [s.step for s in loop.states])
    rows: list[Sequence[Value]] = []
    choose = random.Random(1)
    for number in range(LISTS):
        values = start(*fixed)
        for element in lists.drawn(choose, number, LENGTHS[0]):
            values = step(*values, *element, *fixed)
            rows.append(values)
    ranges: dict[Expr, tuple[int, int]] = {}
    for place, variable in enumerate(states):
        if _is_measured(variable):
            seen = [f for row in rows if math.isfinite(f := float(cast(Any, row[place])))]
            low, high = math.floor(min(seen, default=0)), math.ceil(max(seen, default=0))
            ranges[variable] = (FAR * min(low, 0), FAR * max(high, 0))
    begun = [start(*fixed) if number < len(_WAYS) else rows[2] for number in range(LISTS)]
    return {v: np.array([_number(row[place]) for row in begun]) for place, v in enumerate(states)}, ranges


class _Lists:
    """Lists that mostly rise, mostly fall, or neither, so that extremes, thresholds and sums all have a chance."""

    def __init__(self, loop: Loop, fixed: Sequence[Value]) -> None:
        constants = constants_of(loop)
        self._values: list[list[Value]] = [interesting(f.sort, constants) for f in loop.fields]
        self._likely: list[list[Value]] = [[v for v in vs if v in constants] or vs for vs in self._values]
        self._is_free: list[bool] = [_is_measured(f) and not loop.characters for f in loop.fields]
        meets = compiled([*loop.fields, *loop.constants], loop.assumed)
        self._meets: Callable[[Sequence[Value]], bool] = lambda drawn: all(meets(*drawn, *fixed))

    def drawn(self, choose: random.Random, number: int, length: int) -> list[tuple[Value, ...]]:
        """The list of this number; ArithmeticError where the assertions are met too rarely."""
        drift, slope, width = _WAYS[number % len(_WAYS)]
        often = [choose.choice(v) for v in (self._values if number % 2 else self._likely)]
        found: list[tuple[Value, ...]] = []
        for attempt in range(100 * length):
            if len(found) == length:
                return found
            place = len(found) - length // 2
            drawn: list[Value] = []
            for values, likely, usual, is_free in zip(self._values, self._likely, often, self._is_free, strict=True):
                if is_free and width and (attempt < 2 * length or attempt % 2):
                    drawn.append(drift + slope * place + choose.randrange(-width, width + 1))
                else:
                    drawn.append(usual if choose.random() < 0.5 else choose.choice(likely if choose.random() < 0.5 else values))
            if self._meets(drawn):
                found.append(tuple(drawn))
        raise ArithmeticError("elements that are too rare to be drawn")


def _number(value: Value) -> float | bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        raise _UnknownOperationError
    return float(value)


def _total(expr: Expr, known: Columns) -> Column:
    total: Column = np.array(0.0)
    for coefficient, monomial in expr.terms:
        product: Column = np.array(float(coefficient))
        for atom in monomial:
            product = product * known[atom]
        total = total + product
    return total


def _at_least_zero(values: Column) -> Column:
    return values >= 0


def _above_zero(values: Column) -> Column:
    return values > 0


def _either(test: Column, then: Column, otherwise: Column) -> Column:
    return np.where(test, then, otherwise)


_OPERATIONS: Mapping[str, Callable[..., Column]] = {
    "max": lambda *a: np.maximum.reduce(np.broadcast_arrays(*a)),
    "min": lambda *a: np.minimum.reduce(np.broadcast_arrays(*a)),
    "ite": _either,
    "ge": _at_least_zero,
    "gt": _above_zero,
    "eq": np.equal,
    "and": lambda *a: np.logical_and.reduce(np.broadcast_arrays(*a)),
    "or": lambda *a: np.logical_or.reduce(np.broadcast_arrays(*a)),
    "not": np.logical_not,
}


def _computed(exprs: Sequence[Expr], known: dict[Expr, Column]) -> list[Column]:
    for part in ex.subexpressions(*exprs):
        if part in known:
            continue
        if part.op == "const":
            known[part] = np.array(_number(part.value))
        elif part.op == "poly":
            known[part] = _total(part, known)
        elif part.op in ("floordiv", "mod"):
            quotient = np.floor_divide(known[part.args[0]], float(cast(Any, part.value)))
            known[part] = quotient if part.op == "floordiv" else known[part.args[0]] - quotient * float(cast(Any, part.value))
        elif part.op in _OPERATIONS:
            known[part] = _OPERATIONS[part.op](*(known[a] for a in part.args))
        else:
            raise _UnknownOperationError
    return [known[e] for e in exprs]


__all__ = ["NOT_EXPECTED", "Growing", "growing"]
