"""Numbers for elements that may tell two terms apart, and those elements whose numbers decide that they do."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

from warploom.core import DType, integer_range
from warploom.core.intervals import Interval
from warploom.terms import Term, iterate_post

PLAIN = (0, 1)
"""Numbers for elements that decide nothing: 1 where products leave no element out."""
_NEAR = 0.25
"""Share of numbers that are drawn near a number of the terms."""
_MOST_TIMES = 64
_WHOLE = 200
"""Integers up to this one are numbers of every float type."""
_EXTREMES = 0.25
"""Share of integers that are drawn among those at which words wrap."""
_FEW = 64
_MOST_STEPS = 4_000_000
"""Nodes of terms that may be evaluated for it."""


@dataclass(frozen=True, slots=True)
class Telling:
    """Elements and numbers for them at which two terms differ."""

    numbers: tuple[tuple[Term, int], ...]
    deciding: int
    """How many of the first elements decide it: the others have one plain number."""


NOTHING_TOLD = Telling((), 0)


def whole_numbers(*roots: Term) -> list[int]:
    """Numbers of the terms: comparisons change near them, quotients near their multiples."""
    constants = {t.data[0] for root in roots for t in iterate_post(root) if t.op == "constant"}
    return sorted(int(c) for c in constants if isfinite(c) and c == int(c))[:_FEW] or [0]


def drawn(dtype: DType, near: list[int], known: Interval | None, rng: random.Random, *, is_exact: bool) -> int:
    """A number that an element of that type may hold, often near one of `near` or its multiples.

    known: the only numbers that it may hold. is_exact: numbers are not compared modulo the word.
    """
    close = rng.choice(near) * rng.choice((1, 1, rng.randint(-_MOST_TIMES, _MOST_TIMES))) + rng.choice((-1, 0, 1))
    if rng.random() < _NEAR and (known or _range(dtype)).holds(close):
        return close
    if known is not None:
        return rng.randint(int(known.low), int(known.high))
    return _of_type(dtype, is_exact, rng)


def _range(dtype: DType) -> Interval:
    """Integers that a type holds, those that floats are drawn from included."""
    if dtype.is_float:
        return Interval(-_WHOLE, _WHOLE)
    return Interval(*integer_range(dtype))


def _of_type(dtype: DType, is_exact: bool, rng: random.Random) -> int:
    """A number that the type holds exactly."""
    if dtype.is_float:
        most = {16: 200, 32: 1 << 20}.get(dtype.bits, 1 << 40)
        return rng.randint(-most, most)
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "int" else 0
    high = low + (1 << dtype.bits) - 1
    if not is_exact and rng.random() < _EXTREMES:
        return rng.choice((low, high, max(low, -1), 0, 1))
    return rng.randint(max(low, -1000), min(high, 1000)) if is_exact else rng.randint(low, high)


def fewer(
    numbers: Mapping[Term, int], tell_apart: Callable[[dict[Term, int]], bool], may_be_plain: Callable[[Term], bool], nodes: int
) -> Telling:
    """Numbers that still tell the terms apart, with one plain number in as many elements as are found.

    tell_apart: whether numbers do. may_be_plain: whether the element may hold another number. nodes: of both terms.
    """
    left = _MOST_STEPS // max(nodes, 1)
    for plain in PLAIN:
        found, deciding, left = _halved(numbers, plain, tell_apart, [e for e in numbers if may_be_plain(e)], left)
        if len(deciding) < len(numbers):
            others = (e for e in found if e not in deciding)
            return Telling(tuple((e, found[e]) for e in (*deciding, *others)), len(deciding))
    return Telling(tuple(numbers.items()), len(numbers))


def _halved(
    numbers: Mapping[Term, int], plain: int, tell_apart: Callable[[dict[Term, int]], bool], elements: list[Term], left: int
) -> tuple[dict[Term, int], dict[Term, None], int]:
    """The numbers, the elements that keep theirs, and how many more may be tried. By halves, then halves of halves (delta
    debugging, Zeller and Hildebrandt 2002)."""
    found, deciding, size = dict(numbers), dict.fromkeys(numbers), len(elements)
    while size and left > 0:
        for start in range(0, len(elements), size):
            part = [e for e in elements[start : start + size] if e in deciding]
            if not part or left <= 0:
                continue
            left -= 1
            trial = found | dict.fromkeys(part, plain)
            if tell_apart(trial):
                found = trial
                for element in part:
                    del deciding[element]
        size = (size + 1) // 2 if size > 1 else 0
    return found, deciding, left
