"""Ranges of whole numbers, against every value that exact runs of the program compute, in groupings drawn at random."""

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

import warploom as wl
from warploom.core.intervals import Interval
from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.ranges import stays_within


def crc8(bits: list[bool]):
    state = 0
    for bit in bits:
        top = state >> 7 & 1
        state = state << 1 & 255
        if top != bit:
            state = state ^ 7
    return state


def generator(adds: list[int]):
    state = 1
    for a in adds:
        state = (1664525 * state + a) % 2**32
    return state


def of_seven(adds: list[int]):
    state = 1
    for a in adds:
        state = (5 * state + a) % 7
    return state


def gaps(starts: list[int]):
    here = 0
    for start in starts:
        here = max(start, here - 2)
    return here


def presses(samples: list[bool]):
    state = 0
    pressed = 0
    for s in samples:
        if s:
            if state == 2:
                pressed += 1
            state = min(state + 1, 3)
        else:
            state = 0
    return pressed


def powers(xs: list[int]):
    s = 0
    for x in xs:
        s = 2 * s + x
    return s


def halves(xs: list[int]):
    s = 0
    for x in xs:
        s += x // 2 + x % 3
    return s


@cache
def operator_of(loop: Callable[..., object]) -> Operator:
    found = wl.lift(loop).lifting
    assert found is not None and found.operator is not None
    return found.operator


class Runs:
    """Runs of a program on lists, and the largest magnitude of what it computes; sums below a remainder by a power of two aside,
    which may wrap."""

    def __init__(self, operator: Operator, chosen: random.Random) -> None:
        self.largest = 0
        self._chosen = chosen
        fields = [*operator.fields]
        self._lift = self._program(operator.lift, [*operator.loop.fields])
        self._combine = self._program(operator.combine, [*fields, *(right(f) for f in fields)])
        self._project = self._program(operator.projection, fields)

    def run(self, items: list[int | bool]) -> None:
        self._project(*self._value(items))

    def _value(self, items: list[int | bool]) -> tuple[Any, ...]:
        if len(items) == 1:
            return self._lift(*items)
        cut = self._chosen.randrange(1, len(items))
        return self._combine(*self._value(items[:cut]), *self._value(items[cut:]))

    def _program(self, program: Sequence[ex.Expr], variables: list[ex.Expr]) -> Callable[..., tuple[Any, ...]]:
        every = ex.subexpressions(*program)
        remainders = {e for e in every if e.op == "mod" and e.value in (4, 8, 2**32)}
        free = {a for e in remainders for a in e.args} - {a for e in every if e not in remainders for a in e.args} - {*program}
        kept = [e for e in every if e.sort.base == "int" and e not in free]
        function = compiled(variables, [*kept, *program])

        def results(*values: Any) -> tuple[Any, ...]:
            got = function(*values)
            self.largest = max([self.largest, *(abs(int(v)) for v in got[: len(kept)])])
            return got[len(kept) :]

        return results


CASES = [
    (crc8, [0, 1], [9, 10, 17]),
    pytest.param(of_seven, [-40, 40], [5, 7, 8, 11], marks=pytest.mark.slow),
    (gaps, [-30, 30], [5, 6, 8, 9, 10]),
    (presses, [0, 1], [3, 4, 6, 8]),
    (powers, [-3, 3], [6, 10, 16, 24, 30]),
    (halves, [-9, 9], [4, 7, 9, 12]),
]


@pytest.mark.parametrize(("loop", "ends", "widths"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_what_stays_within_does(loop: Callable[..., object], ends: list[int], widths: list[int]) -> None:
    operator = operator_of(loop)
    chosen = random.Random(0)
    is_truth = operator.loop.fields[0].sort.base == "bool"
    given = {} if is_truth else {operator.loop.fields[0]: Interval(ends[0], ends[1])}
    claimed = 0
    runs = Runs(operator, chosen)
    for length in (1, 2, 7, 12):
        for _ in range(60):
            items = [chosen.choice([*ends, chosen.randint(*ends)]) for _ in range(length)]
            runs.run([bool(i) for i in items] if is_truth else [*items])
        for width in widths:
            if stays_within(operator, given, length, width):
                claimed += 1
                assert runs.largest < 2 ** (width - 1)
        assert stays_within(operator, given, length, 64)
    assert claimed


def test_what_grows_is_not_within() -> None:
    operator = operator_of(powers)
    given = {operator.loop.fields[0]: Interval(0, 1)}
    assert stays_within(operator, given, 16)
    assert not stays_within(operator, given, 128)
    assert not stays_within(operator, {}, 1), "an element of which nothing is known"


def test_sums_below_a_remainder_by_a_power_of_two_may_wrap() -> None:
    operator = operator_of(generator)
    assert stays_within(operator, {operator.loop.fields[0]: Interval(0, 100)}, 10**6)
    assert not stays_within(operator, {operator.loop.fields[0]: Interval(0, 2**63)}, 1), "the element itself"


@pytest.mark.slow
def test_sums_below_another_remainder_may_not() -> None:
    seven = operator_of(of_seven)
    assert stays_within(seven, {seven.loop.fields[0]: Interval(0, 2**62)}, 1)
    assert not stays_within(seven, {seven.loop.fields[0]: Interval(0, 2**63)}, 1)
