"""States that are asked questions only, and closures in which a state, a quotient or a region has no value."""

from __future__ import annotations

import pytest

from warploom.scan import lift, parse_module, read_loop, user_function
from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import UndefinedError

LOOPS = parse_module(
    """
def asked(xs: list[int]):
    found = 0
    for x, y in zip(xs, xs[1:]):
        if x == 7:
            found += y
    return found

def asked_and_read(xs: list[int]):
    found = -2
    for x, y in zip(xs, xs[1:]):
        found = max(found, y)
        if x == 7:
            found = x + (found in (1, 0, 2)) + 1
    return found

def halved(xs: list[int]):
    level = 5
    for x, y in zip(xs, xs[1:]):
        if level > x:
            level = level >> 1
        else:
            level = y
    return level

def last_place(xs: list[int]):
    a = 3
    b = 7
    for i, x in enumerate(xs):
        if x <= 0:
            a = abs(x)
            b = 2 * i * i
    return b
""",
    "loops.py",
)


def test_a_state_that_is_read_under_one_answer_is_kept() -> None:
    loop = read_loop(LOOPS, "asked_and_read")
    named = {*loop.fields, *loop.constants, *(s.variable for s in loop.states)}
    assert {*ex.variables(*(s.step for s in loop.states), *loop.outputs)} <= named
    before = next(s.variable for s in loop.states if "before" in s.name)
    assert before.sort.values is None
    # where it is asked only, the answers are all that is kept
    asked = read_loop(LOOPS, "asked")
    assert not any("before" in s.name and s.variable.sort.base == "int" and s.variable.sort.values is None for s in asked.states)


def test_an_infinity_has_no_quotient() -> None:
    with pytest.raises(UndefinedError, match="quotient of an infinity"):
        ex.floor_quotient(ex.constant(float("inf")), 2)
    assert read_loop(LOOPS, "halved").states  # one start that is tried is an infinity


def test_regions_that_no_element_has() -> None:
    assert lift(read_loop(LOOPS, "last_place"), user_function(LOOPS, "last_place")).verdict != "refuted"
