"""States that are asked questions only, and closures in which a state, a quotient or a region has no value."""

from __future__ import annotations

import pytest

from warploom.scan import lift, parse_module, read_loop, user_function
from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import closure
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
            b = (i * (i + i))
        b += (b - b)
    return b

def meeting_infinities(xs: list[int]):
    a = 0
    b = 1
    for x in xs:
        b = a - (a * 7)
        if bool(x):
            a = 1 + max(a, x, 5)
        else:
            b = min(3, (x * 5))
            a = (x << 1) * 5
    return a + b, len(xs)

def both_constant(xs: list[int]):
    a = 7
    b = 3
    for x in xs:
        if x not in (1, 5):
            for j in range(0):
                b |= x - a
        elif x <= a:
            a += x
            a = min(a, a - x)
        b = 2
    return a, b

def divided(xs: list[float], es: list[float]):
    s = 0.0
    results = []
    for x, e in zip(xs, es):
        results.append((s + x) / e)
        s = s + x
    return results
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
    found = closure(read_loop(LOOPS, "last_place"), "least", "samples")
    assert {*found.lift} == {*found.slots} == {*found.operator}


def test_lists_whose_slots_are_no_numbers_tell_nothing() -> None:
    assert lift(read_loop(LOOPS, "meeting_infinities"), user_function(LOOPS, "meeting_infinities")).verdict != "refuted"


def test_an_element_that_divides_may_be_0_in_a_random_list() -> None:
    found = lift(read_loop(LOOPS, "divided"), user_function(LOOPS, "divided"))
    assert (found.verdict, found.domain) == ("proved", "reals, where no divisor is 0")


def test_a_group_that_is_lifted_with_other_states() -> None:
    found = lift(read_loop(LOOPS, "both_constant"), user_function(LOOPS, "both_constant"))
    assert (found.verdict, found.operator is not None) == ("proved", True)
