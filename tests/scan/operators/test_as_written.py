"""Loops as people write them: operators against the functions, on random lists with ties and infinities' neighbours."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.scan.operators.test_companions import printed, result

from warploom.scan import lift, parse_module, read_loop, user_function
from warploom.scan.operators import choices, firsts, laws, ranks, windows
from warploom.scan.operators.forms import FormError

LOOPS = parse_module(
    """
def greatest_three(xs: list[int]):
    a = b = c = 0
    for x in xs:
        if x > a:
            a, b, c = x, a, b
        elif x > b:
            b, c = x, b
        elif x > c:
            c = x
    return a, b, c


def least_two_by_turns(xs: list[int]):
    a = b = 9
    for x in xs:
        a, x = min(a, x), max(a, x)
        b = min(b, x)
    return a + b


def all_equal(xs: list[int]):
    first = xs[0]
    for x in xs:
        if x != first:
            return False
    return True


def all_alike(xs: list[int]):
    first = xs[0]
    same = True
    for x in xs:
        same = same and x == first
    return same


def extent(xs: list[int]):
    low = high = None
    for x in xs:
        if low is None or x < low:
            low = x
        if high is None or x > high:
            high = x
    if low is None:
        return 0
    return high - low


def bitonic(xs: list[int]):
    falls = False
    for i in range(1, len(xs)):
        if xs[i] > xs[i - 1] and falls:
            return False
        if xs[i] < xs[i - 1]:
            falls = True
    return True


def tribonacci(xs: list[int]):
    a, b, c = 0, 0, 1
    for x in xs:
        a, b, c = b, c, a + b + c + x
    return c


def backward(xs: list[int]):
    a = 0
    for x in reversed(xs):
        a = 10 * a + x
    return a


def suffix_records(xs: list[int]):
    top = -1
    at = 0
    for i, x in enumerate(reversed(xs)):
        if x > top:
            top, at = x, i
    return top, at


def spread(xs: list[int]):
    return max(x for x in xs) - min(x for x in xs), sum(x > 0 for x in xs)


def best_trade(xs: list[int]):
    low = xs[0]
    low_at = gain = buy = sell = 0
    for i, x in enumerate(xs):
        if x < low:
            low = x
            low_at = i
        if x - low > gain:
            gain = x - low
            buy, sell = low_at, i
    return gain, buy, sell


def greatest_even(xs: list[int]):
    best = -1
    for x in xs:
        if x % 2 == 0 and x > best:
            best = x
    return best


def nearest_zero(xs: list[int]):
    best = None
    for x in xs:
        if best is None or abs(x) < abs(best):
            best = x
    return best


def ways(text: str):
    before, now = 0, 1
    last = "3"
    for c in text:
        following = 0
        if c != "0":
            following += now
        if last == "1" or (last == "2" and c in "0123456"):
            following += before
        before, now = now, following
        last = c
    return now


def first_and_last(text: str):
    first = last = None
    for c in text:
        if c.isdigit():
            if first is None:
                first = int(c)
            last = int(c)
    if first is None:
        return 0
    return 10 * first + last


def roman(text: str):
    values = {"I": 1, "V": 5, "X": 10}
    total = before = 0
    for c in reversed(text):
        v = values[c]
        total += v if v >= before else -v
        before = v
    return total
"""
)
QUICK = ("greatest_three", "all_equal", "extent", "bitonic", "tribonacci", "suffix_records", "greatest_even", "nearest_zero")
TEXTS = {"ways": "012367", "first_and_last": "0a9 5", "roman": "IVX"}


def _list(name: str, choose: random.Random) -> Any:
    length = choose.randrange(8)
    if name in TEXTS:
        return "".join(choose.choice(TEXTS[name]) for _ in range(length))
    return [choose.choice((-2, -1, 0, 0, 1, 2, 3, 3, 10**9)) for _ in range(length)]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in LOOPS.functions])
def test_operators_give_what_the_functions_give(name: str) -> None:
    found = lift(read_loop(LOOPS, name), user_function(LOOPS, name))
    assert found.verdict == "proved", found.reason
    assert found.operator is not None
    scope, function, choose = printed(found.operator), user_function(LOOPS, name), random.Random(name)
    given = [_list(name, choose) for _ in range(300)]
    needs_element = found.operator.loop.needs_element
    given = [xs for xs in given if xs or not needs_element]
    assert [xs for xs in given if result(scope, found.operator, xs, choose) != function(xs)] == []


def test_the_fold_of_a_loop_from_the_last_element_goes_forward() -> None:
    found = lift(read_loop(LOOPS, "backward"))
    assert found.operator is not None
    assert not found.operator.loop.is_backward
    assert not found.loop.is_backward


def test_what_is_none_where_it_is_used_is_left_out_of_the_claim() -> None:
    module = parse_module(
        """
def f(xs: list[int]):
    best = None
    for x in xs:
        if x > 0 and (best is None or x < best):
            best = x
    return best + 1
"""
    )
    found = lift(read_loop(module, "f"), user_function(module, "f"))
    assert found.verdict == "proved"
    assert found.domain == "integers, where nothing is computed with None"


@pytest.mark.parametrize(
    ("family", "body", "why"),
    [
        (ranks.greatest_few, "a = max(a, x)", "no row of elements"),
        (ranks.greatest_few, "a, b = max(a, x), max(b, a)", "no greatest or least few"),
        (ranks.greatest_few, "a, b = max(a, x), max(b, x + 1)", "several parts of elements"),
        (choices.one_of_all, "a = max(a, x); b = b", "a state that is no field"),
        (choices.one_of_all, "a = a if x < 0 else x + 1", "a state that is no field"),
        (firsts.beside_first, "a += x", "no flag for the first element"),
        (windows.automaton_of_pairs, "a += x", "no automaton that looks at the element before"),
        (windows.automaton_of_pairs, "a, b = x, a > x", "no automaton that looks at the element before"),
    ],
)  # fmt: skip
def test_what_is_of_no_family_is_left(family: Any, body: str, why: str) -> None:
    text = f"def f(xs: list[int]):\n    a = b = 0\n    for x in xs:\n        {body}\n    return a, b\n"
    with pytest.raises(FormError, match=why):
        family(read_loop(parse_module(text), "f"), "greatest", "step")


@pytest.mark.parametrize(
    ("test", "why"), [("y > a", "compared and not kept"), ("x > a + 1", "choose between"), ("x > a", "no choice but")]
)
def test_what_does_not_choose_between_elements_is_left(test: str, why: str) -> None:
    text = f"def f(xs: list[tuple[int, int]]):\n    a = 0\n    for x, y in xs:\n        a = x if {test} else a\n    return a\n"
    with pytest.raises(FormError, match=why):
        choices.one_of_all(read_loop(parse_module(text), "f"), "greatest", "step")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("n += x == first", "neither the first element nor a latch"),
        ("n = not n", "neither the first element nor a latch"),
        ("n = n or x[1] != first", "another part of elements"),
        ("n = n", "no first element with latches"),
    ],
)
def test_other_loops_over_the_first_element_are_left(body: str, why: str) -> None:
    pairs = "x[1]" in body
    kind, key = ("tuple[int, int]", "xs[0][0]") if pairs else ("int", "xs[0]")
    start = "n = 0" if "+=" in body else "n = False"
    text = f"def f(xs: list[{kind}]):\n    first = {key}\n    {start}\n    for x in xs:\n        {body}\n    return n, first\n"
    with pytest.raises(FormError, match=why):
        firsts.beside_first(read_loop(parse_module(text), "f"), "greatest", "step")


def test_a_wrong_comparison_with_the_first_element_is_not_proved() -> None:
    """Only the first elements of two lists are compared: an order of all does not follow from that."""
    module = parse_module(
        """
def f(xs: list[int]):
    first = xs[0]
    least = True
    for x in xs:
        least = least and x < first + 1
    return least
"""
    )
    made = firsts.beside_first(read_loop(module, "f"), "greatest", "step")
    assert not isinstance(laws.associativity(made.slots, made.operator, []), laws.Holds)
