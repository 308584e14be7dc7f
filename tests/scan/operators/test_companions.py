"""Extremes with companions, and automata with linear recurrences: operators against the functions, on every short list."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from warploom.scan import lift, parse_module, read_loop, user_function
from warploom.scan.operators import companions, expression, modes
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.operator import Operator

LOOPS = parse_module(
    """
def greatest_sum(xs: list[int]):
    best = current = start = 0
    begin = end = 0
    for i, x in enumerate(xs):
        current += x
        if current < 0:
            current = 0
            start = i + 1
        if current > best:
            best, begin, end = current, start, i + 1
    return best, begin, end


def greatest_sum_last(xs: list[int]):
    best = current = start = 0
    begin = end = 0
    for i, x in enumerate(xs):
        current += x
        if current <= 0:
            current = 0
            start = i + 1
        if current >= best:
            best, begin, end = current, start, i + 1
    return best, begin, end


def longest_run(xs: list[int]):
    run = best = 0
    at = -1
    for i, x in enumerate(xs):
        run = run + 1 if x == 1 else 0
        if run > best:
            best = run
            at = i - run + 1
    return best, at


def longest_run_last(xs: list[int]):
    run = best = 0
    end = -1
    for i, x in enumerate(xs):
        run = run + 1 if x == 1 else 0
        if run >= best:
            best = run
            end = i
    return best, end


def lowest_balance(xs: list[int]):
    total = low = at = 0
    for i, x in enumerate(xs):
        total += x
        if total < low:
            low = total
            at = i
    return low, at


def number(text: str):
    value = 0.0
    scale = 1.0
    seen = False
    for c in text:
        if c == ".":
            seen = True
        elif seen:
            scale = scale / 2
            value = value + (ord(c) - 48) * scale
        else:
            value = value * 2 + (ord(c) - 48)
    return value


def is_number(text: str):
    state = 0
    for c in text:
        if state == 0 and c in "+-":
            state = 1
        elif state in (0, 1, 2) and c.isdigit():
            state = 2
        elif state == 2 and c == ".":
            state = 3
        elif state in (3, 4) and c.isdigit():
            state = 4
        else:
            return False
    return state == 2 or state == 4
""",
    "companions.py",
)
NUMBERS = [list(xs) for n in range(6) for xs in itertools.product((-1, 0, 1, 2), repeat=n)]
TEXTS = ["".join(cs) for n in range(6) for cs in itertools.product("+0.1", repeat=n)]
TAKE: dict[str, Sequence[Any]] = {"number": TEXTS, "is_number": TEXTS}


def printed(operator: Operator) -> dict[str, Any]:
    scope: dict[str, Any] = {"inf": float("inf")}
    exec("\n".join((operator.lift_source(), operator.operator_source(), operator.projection_source())), scope)
    return scope


def result(scope: dict[str, Any], operator: Operator, elements: Sequence[Any], choose: random.Random) -> object:
    """The result of the printed functions, combined in a random grouping."""
    values = [scope["lift"](e) for e in elements]
    if not values:
        values = [eval(operator.identity_source(), {"inf": float("inf")})]
    while len(values) > 1:
        at = choose.randrange(len(values) - 1)
        values[at : at + 2] = [scope["operator"](values[at], values[at + 1])]
    return scope["projection"](values[0])


def disagreements(name: str) -> list[Any]:
    found = lift(read_loop(LOOPS, name))
    assert found.verdict == "proved", found.reason
    assert found.operator is not None
    scope, function, choose = printed(found.operator), user_function(LOOPS, name), random.Random(name)
    given = choose.sample(list(TAKE.get(name, NUMBERS)), 250)
    return [xs for xs in (*given, TAKE.get(name, NUMBERS)[0]) if result(scope, found.operator, xs, choose) != function(xs)]


QUICK = ("lowest_balance", "is_number")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in LOOPS.functions])
def test_operators_give_what_the_loops_give(name: str) -> None:
    assert disagreements(name) == []


def closed(family: Callable[..., object], body: str, start: str) -> object:
    names = ", ".join(re.findall(r"(\w+) =", start))
    text = f"def f(xs: list[int]):\n    {start}\n    for i, x in enumerate(xs):\n        {body}\n    return {names}\n"
    return family(read_loop(parse_module(text), "f"), "greatest", "step")


CHOSEN = "if run + x > best: best, at = run + x, i\n        run += x"


@pytest.mark.parametrize(
    ("body", "start", "why"),
    [
        ("best = max(best, x)\n        at = i", "best = at = 0", "no numbers with companions"),
        ("if x > best: best, at = x, i * i", "best = at = 0", "no sum of what is kept"),
        (CHOSEN.replace("run += x", "run += at"), "best = at = run = 0", "on a number with companions"),
        (CHOSEN.replace("+= x", "= x if best > 3 else 0"), "best = at = run = 0", "on a number with companions"),
        (
            "if x > best: best, at, a, b, c = x, i, i + x, x + 1, 2 * x",
            "best = at = a = b = c = 0",
            "too many companions",
        ),
    ],
)  # fmt: skip
def test_what_has_no_companions_is_left(body: str, start: str, why: str) -> None:
    with pytest.raises(FormError, match=why):
        closed(companions.closed, body, start)


@pytest.mark.parametrize(
    ("body", "start", "why"),
    [
        ("best += x\n        at += best", "best = at = 0", "no states of few values"),
        ("flag = not flag\n        best = best * best + x", "flag = False; best = at = 0", "not recur linearly"),
        ("flag = best > 3\n        best += x\n        at = 0", "flag = False; best = at = 0", "depends on other states"),
        ("at = (at + 1) % 20\n        best = best + x if at % 20 else 0", "at = best = 0", "too many states"),
        ("flag = x > 0\n        best = max(best, x)", "flag = False; best = float('-inf')", "no finite numbers"),
    ],
)  # fmt: skip
def test_what_is_no_automaton_is_left(body: str, start: str, why: str) -> None:
    with pytest.raises(FormError, match=why):
        closed(modes.closed, body, start)


def test_companions_of_infinities_are_nothing() -> None:
    """Two lists without a sum are one without: what would go with it must not tell them apart."""
    found = companions.closed(read_loop(LOOPS, "longest_run_last"), "greatest", "step")
    assert any(e.op == "ite" and e.args[1] is expression.ZERO for e in found.operator.values())
