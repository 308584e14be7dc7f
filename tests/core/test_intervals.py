"""Interval arithmetic against all numbers of small intervals, and at infinite ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest

from warploom.core.intervals import ANYTHING, NATURAL, Interval, only

SMALL = [Interval(low, high) for low in range(-5, 6, 2) for high in range(low, 7, 3)]
INF = math.inf
Operation = Callable[[Interval, Interval], Interval]

EXACT: dict[str, tuple[Operation, Callable[[int, int], int]]] = {
    "+": (Interval.plus, lambda a, b: a + b),
    "-": (Interval.minus, lambda a, b: a - b),
    "*": (Interval.times, lambda a, b: a * b),
    "min": (Interval.least, min),
    "max": (Interval.greatest, max),
    "//": (Interval.floor_divided, lambda a, b: a // b),
}
WIDER: dict[str, tuple[Operation, Callable[[int, int], int]]] = {
    "%": (Interval.remainder, lambda a, b: a % b),
    "<<": (Interval.shifted_left, lambda a, b: a << b),
    ">>": (Interval.shifted_right, lambda a, b: a >> b),
    "&": (Interval.bits_of_both, lambda a, b: a & b),
    "|": (Interval.bits_of_either, lambda a, b: a | b),
    "^": (Interval.bits_of_either, lambda a, b: a ^ b),
}


def numbers(interval: Interval) -> range:
    return range(int(interval.low), int(interval.high) + 1)


@pytest.mark.parametrize("op", [*EXACT, *WIDER])
def test_every_value_is_inside(op: str) -> None:
    bound, apply = {**EXACT, **WIDER}[op]
    for a, b in product(SMALL, SMALL):
        if (op in ("//", "%") and b.holds(0)) or (op in ("<<", ">>") and b.low < 0):
            continue
        found = [apply(x, y) for x in numbers(a) for y in numbers(b)]
        got = bound(a, b)
        if op in EXACT:
            assert got == Interval(min(found), max(found)), (a, b)
        else:
            assert got.low <= min(found) and max(found) <= got.high, (a, b)


def test_a_remainder_by_one_number_is_exact_within_one_round() -> None:
    assert Interval(9, 11).remainder(only(8)) == Interval(1, 3)
    assert Interval(7, 9).remainder(only(8)) == Interval(0, 7)
    assert Interval(-3, 5).remainder(Interval(-4, -2)) == Interval(-3, 0)


@pytest.mark.parametrize("op", [*EXACT, *WIDER])
def test_unbounded_ends_hold_all_that_bounded_ones_do(op: str) -> None:
    bound, _ = {**EXACT, **WIDER}[op]
    few = [Interval(-3, 2), Interval(1, 4), only(3), only(-2), only(0)]
    wide = [(a, Interval(a.low, INF)) for a in few] + [(a, Interval(-INF, a.high)) for a in few] + [(a, ANYTHING) for a in few]
    for (a, larger), b in product(wide, few):
        for inner, outer in ((bound(a, b), bound(larger, b)), (bound(b, a), bound(b, larger))):
            if inner not in (ANYTHING, outer):
                assert outer.low <= inner.low and inner.high <= outer.high, (a, larger, b)


def test_what_may_be_undefined_is_anything() -> None:
    assert only(4).floor_divided(Interval(-1, 1)) == ANYTHING == only(4).remainder(Interval(0, 2))
    assert only(4).shifted_left(Interval(-1, 1)) == ANYTHING == only(4).shifted_right(NATURAL)
    assert Interval(-1, 1).bits_of_both(only(-1)) == ANYTHING == Interval(-1, 1).bits_of_either(only(1))
    assert NATURAL.bits_of_either(only(1)) == NATURAL


def test_numbers_that_no_float_holds() -> None:
    huge = only(10**400)
    assert huge.plus(NATURAL) == Interval(10**400, INF) and huge.minus(NATURAL) == Interval(-INF, 10**400)
    assert huge.times(NATURAL) == NATURAL and NATURAL.scaled(-(10**400)) == Interval(-INF, 0)
    assert huge.floor_divided(Interval(1, INF)) == Interval(0, 10**400)


def test_parts() -> None:
    assert Interval(2, 2).only == 2 and Interval(2, 3).only is None
    assert Interval(2, 3).is_finite and not NATURAL.is_finite and not Interval(-INF, 0).is_finite
    assert Interval(1, 2).union(only(7)) == Interval(1, 7)
    assert NATURAL.holds(0) and not NATURAL.holds(-1)
