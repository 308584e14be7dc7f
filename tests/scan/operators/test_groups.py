"""Loops that fall into parts: groups of states, states whose sum is conserved, levels that decay, automata between bounds; and
loops whose lists say ever more. What is proved is compared with CPython on random lists, split at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import pytest

from warploom.scan import lift, parse_module, read_loop, user_function
from warploom.scan.operators import bits
from warploom.scan.operators.conserved import with_conserved
from warploom.scan.operators.groups import groups
from warploom.scan.operators.growing import growing
from warploom.scan.operators.steps import simpler

LOOPS = parse_module(
    """
import math

def stock(orders: list[int]):
    stock = 50
    backlog = 0
    for o in orders:
        stock -= o
        if stock < 0:
            backlog -= stock
            stock = 0
    return stock, backlog

def unmatched(text: str):
    opened = missing = 0
    for c in text:
        if c == "(":
            opened += 1
        elif c == ")":
            if opened > 0:
                opened -= 1
            else:
                missing += 1
    return opened + missing

def peak_hold(xs: list[float]):
    level = 0.0
    for x in xs:
        level = max(abs(x), level * 0.5)
    return level

def token_bucket(gaps: list[int]):
    tokens = 3
    dropped = 0
    for g in gaps:
        assert g >= 0
        tokens = min(3, tokens + g)
        if tokens >= 1:
            tokens -= 1
        else:
            dropped += 1
    return dropped

def continuation(data: bytes):
    need = 0
    for b in data:
        if need == 0:
            if b >> 5 == 0b110:
                need = 1
            elif b >> 4 == 0b1110:
                need = 2
            elif b >> 7:
                return False
        else:
            if b >> 6 != 0b10:
                return False
            need -= 1
    return need == 0

def two_and_two(xs: list[int]):
    m1 = m2 = -math.inf
    l1 = l2 = math.inf
    for x in xs:
        if x > m1:
            m1, m2 = x, m1
        elif x > m2:
            m2 = x
        if x < l1:
            l1, l2 = x, l1
        elif x < l2:
            l2 = x
    return m1, m2, l1, l2

# near what is proved: no operator of a fixed number of values

def stock_with_days(orders: list[int]):
    stock = 50
    days = 0
    for o in orders:
        stock = max(stock - o, 0)
        if stock > 3:
            days += 1
    return days

def stock_charged_twice(orders: list[int]):
    stock = backlog = 0
    for o in orders:
        stock -= o
        if stock < 0:
            backlog -= stock
            stock = 1
        if stock > 9:
            backlog += 1
    return backlog

def swinging_hold(xs: list[float]):
    level = 0.0
    for x in xs:
        level = max(x, level * -0.5)
    return level

def limited(xs: list[int]):
    y = 0
    for x in xs:
        if x > y + 3:
            y = y + 3
        elif x < y - 3:
            y = y - 3
        else:
            y = x
    return y

def overdrafts(xs: list[int]):
    balance = days = 0
    for x in xs:
        balance += x
        if balance < 0:
            days += 1
    return days

def first_overdraft(xs: list[int]):
    balance = 0
    for day, x in enumerate(xs):
        balance += x
        if balance < 0:
            return day
    return None

def visible(xs: list[int]):
    tallest = seen = 0
    for h in xs:
        if h > tallest:
            seen += 1
            tallest = h
    return seen

def bouncing(xs: list[int]):
    at = 0
    for x in xs:
        at = abs(at + x)
    return at
"""
)
ELEMENTS: dict[str, Callable[[random.Random], Any]] = {
    "stock": lambda r: r.randrange(-30, 60),
    "unmatched": lambda r: r.choice("(()))a"),
    "peak_hold": lambda r: Fraction(r.randrange(-64, 65), 4),
    "token_bucket": lambda r: r.randrange(4),
    "continuation": lambda r: r.choice((0, 65, 127, 128, 191, 192, 200, 223, 224, 239, 240, 255)),
    "two_and_two": lambda r: r.randrange(-9, 10),
}


def run(name: str, elements: list[Any]) -> Any:
    text = {"unmatched": "".join, "continuation": bytes}.get(name)
    return user_function(LOOPS, name)(text(elements) if text else elements)


@pytest.mark.parametrize("name", ELEMENTS)
def test_operators_give_what_cpython_gives(name: str) -> None:
    found = lift(read_loop(LOOPS, name))
    assert found.verdict == "proved" and found.operator is not None, found.reason
    spaces: dict[str, Any] = {}
    exec("from math import inf\n" + found.operator.source(), spaces)
    choose = random.Random(name)
    for _ in range(300):
        elements = [ELEMENTS[name](choose) for _ in range(choose.randrange(1, 14))]
        parts = [spaces["lift"](e) for e in elements]
        while len(parts) > 1:
            at = choose.randrange(len(parts) - 1)
            parts[at : at + 2] = [spaces["operator"](parts[at], parts[at + 1])]
        got, wanted = spaces["projection"](parts[0]), run(name, elements)
        assert got == wanted, elements
        with_identity = reduce(spaces["operator"], [spaces["identity"], parts[0], spaces["identity"]])
        assert spaces["projection"](with_identity) == wanted


@pytest.mark.parametrize(
    "name",
    [
        "stock_with_days", "stock_charged_twice", "limited", "overdrafts", "first_overdraft", "visible", "bouncing",
        pytest.param("swinging_hold", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_what_has_no_operator_is_not_proved(name: str) -> None:
    found = lift(read_loop(LOOPS, name))
    assert found.verdict == "unchecked" and found.operator is None


@pytest.mark.parametrize(
    ("name", "varied", "seen"),
    [
        ("overdrafts", "balance", "days"), ("first_overdraft", "balance", "returned"), ("visible", "tallest", "seen"),
        ("bouncing", "at", "at"), ("limited", "y", "y"), ("stock_with_days", "stock", "days"),
    ],
)  # fmt: skip
def test_the_reason_says_what_grows(name: str, varied: str, seen: str) -> None:
    found = growing(read_loop(LOOPS, name))
    assert found is not None and (found.varied, found.seen) == (varied, seen)
    assert found.pieces[0] < found.pieces[1] < found.pieces[2]
    assert str(found) in lift(read_loop(LOOPS, name)).reason


@pytest.mark.parametrize("name", ELEMENTS)
def test_nothing_grows_where_there_is_an_operator(name: str) -> None:
    assert growing(read_loop(LOOPS, name)) is None


def test_sums_are_conserved_only_where_every_case_says_so() -> None:
    joined = with_conserved(read_loop(LOOPS, "stock"))
    assert joined is not None and [s.name for s in joined.states] == ["stock", "backlog_and_stock"]
    assert with_conserved(read_loop(LOOPS, "stock", keep=("backlog",))) is None
    for name in ("stock_with_days", "stock_charged_twice", "token_bucket", "visible"):
        assert with_conserved(read_loop(LOOPS, name)) is None


def test_groups_share_what_depends_on_itself_alone() -> None:
    found = groups(read_loop(LOOPS, "two_and_two"))
    assert [[s.name for s in g.states] for g in found] == [["m1", "m2"], ["l1", "l2"]]
    assert not groups(read_loop(LOOPS, "stock"))


def test_a_weaker_bound_is_found_where_samples_suggest_a_stronger_one() -> None:
    """Random bytes never begin a sequence of three, so that samples alone say that `need` is at most 1."""
    found = simpler(read_loop(LOOPS, "continuation"))
    assert found is not None and found.states[0].variable.sort.values == (0, 1, 2)


def test_shifted_numbers_are_compared_by_the_solver() -> None:
    steps = [s.step for s in read_loop(LOOPS, "continuation").states]
    assert not bits.has_bits(*steps)
