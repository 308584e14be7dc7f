"""Shorter ways to write a loop: what is read gives what CPython computes, and what does not fit is refused."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from warploom.core import UserError
from warploom.scan import parse_module, read_loop, user_function
from warploom.scan.operators.transition import exact_loop

TEXT = '''
import math
import functools
import itertools
import operator
import numpy as np

DIGITS = "0123456789abcdef"

def backward(xs):
    a = 0
    for x in reversed(xs):
        a = 2 * a + x
    return a

def sliced(xs):
    a = 0
    for i, x in enumerate(xs[::-1]):
        a += i * x
    return a

def from_last(xs):
    best = xs[-1]
    for x in reversed(xs[:-1]):
        best = x - best
    return best

def counted_down(xs):
    a = 0
    for i in range(len(xs) - 1, -1, -1):
        a = 3 * a - xs[i]
    return a

def counted_from_second_last(xs):
    n = len(xs)
    a = xs[n - 1]
    for i in range(n - 2, -1, -1):
        a = 2 * a + xs[i] * (xs[i] < xs[i + 1])
    return a

def both_backward(xs, ys):
    a = 0
    for x, y in zip(reversed(xs), reversed(ys)):
        a = 2 * a + x - y
    return a

def total(xs):
    return sum(x * x for x in xs if x > 0)

def started(xs):
    return sum((abs(x) for x in xs), 7)

def several(xs):
    if not xs:
        return 0, 0
    low = min(xs)
    return max(x - 1 for x in xs) - low, sum(y for y in xs)

def questions(xs):
    return any(x > 2 for x in xs), all(x % 2 == 0 for x in xs), len([x for x in xs if x < 0]), xs.count(1)

def defaulted(xs):
    return max((x for x in xs if x < 0), default=5)

def product(xs):
    return math.prod(x + 1 for x in xs)

def mapped(xs):
    return sum(map(abs, xs))

def reduced(xs):
    return functools.reduce(lambda a, x: 2 * a + x, xs, 1)

def shadowed(xs):
    x = 10
    return sum(x for x in xs) + x

def neighbours(xs):
    return sum(a < b for a, b in itertools.pairwise(xs)) + len(xs)

def pairs(xs):
    n = 0
    for a, b in zip(xs[:-1], xs[1:]):
        n += a > b
    return n

def kinds(xs):
    a = b = 0
    for x in xs:
        match x:
            case 1 | 2:
                a += 1
            case 0:
                b += 1
            case n if n < -1:
                a -= n
            case _:
                b += 2
    return a, b

def tuples(xs: list[tuple[int, int]]):
    a = b = 0
    for x, y in xs:
        match (x, y):
            case (0, 0):
                a += 1
            case (0, 1) | (2, 0):
                b += 1
            case (1, n):
                a += n
            case (_, n):
                b += n
    return a, b

def walrus(xs):
    a = b = 0
    for x in xs:
        if (a := a + x) > b:
            b = a
        elif (n := -a) > 3:
            b += n
    return b

def squares(xs):
    square = lambda v: v * v
    def twice(v):
        """Twice as much."""
        return 2 * square(v)
    a = 0
    for x in xs:
        a += twice(x + 1) - square(x)
    return a

def divided(xs):
    a = b = 0
    for x in xs:
        q, r = divmod(x, 3)
        a += q
        b += pow(r, 2) + pow(x, 2, 5)
    return a, b

def powers(xs: list[float]):
    total = np.float64(0.0)
    top = -np.inf
    for x in xs:
        total += x
        top = np.maximum(top, np.abs(total))
    return total, top

def rated(xs: list[float], rate=0.5):
    a = 0.0
    for x in xs:
        a = rate * a + x
    return a

def places(text: str):
    v = 0
    for c in text:
        v = 16 * v + DIGITS.find(c)
    return v

def tabled(text: str):
    values = {"a": 5, "b": -1}
    total = 0
    for c in text:
        total = 2 * total + values.get(c, 3)
        if c in values:
            total += values[c]
    return total

def kept(text: str):
    last = "1"
    n = 0
    for c in text:
        if last == "1" or (last == "2" and c <= "6"):
            n += 1
        last = c
    return n

def repeats(text: str):
    best = run = 0
    last = ""
    for c in text:
        run = run + 1 if c == last else 1
        best = max(best, run)
        last = c
    return best

def extent(xs):
    low = high = None
    for x in xs:
        if low is None or x < low:
            low = x
        if high is None or x > high:
            high = x
    if low is None:
        return 0
    return high - low

def areas(xs: list[tuple[int, int]]):
    area = 0
    t, v = None, None
    for s, w in xs:
        if t is not None:
            area += (s - t) * v
        t, v = s, w
    return area

def against_first(xs):
    n = 0
    for x in xs[1:]:
        n = n or x == xs[0]
    return n, xs[0]

def beside_first(xs):
    s = 0
    for i in range(2, len(xs)):
        s += xs[0] * xs[i] - xs[i - 2]
    return s

def after_first(xs):
    s = 0
    for a, b, c in zip(xs, xs[1:], xs[2:]):
        s += a - c + xs[0] * b
    return s + xs[0]

def digits(text: str):
    total = 0
    weight = 1
    for c in reversed(text):
        d = int(c)
        total += d * weight
        weight = 4 - weight
    return total % 10
'''
MODULE = parse_module(TEXT)
NAMES = [line[4 : line.index("(")] for line in TEXT.splitlines() if line.startswith("def ")]


def _lists(name: str) -> list[list[Any]]:
    choose = random.Random(name)
    if "text: str" in TEXT.split(f"def {name}(")[1].splitlines()[0]:
        letters = "0126789" if name == "digits" else "a1b26z"
        return [[choose.choice(letters) for _ in range(n % 7)] for n in range(40)]
    if "tuple[int, int]" in TEXT.split(f"def {name}(")[1].splitlines()[0]:
        return [[(choose.randint(-1, 2), choose.randint(-2, 2)) for _ in range(n % 6)] for n in range(40)]
    return [list(found) for length in range(4) for found in itertools.product((-2, 0, 1, 3), repeat=length)]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_gives_what_python_computes(name: str) -> None:
    function, loop = user_function(MODULE, name), read_loop(MODULE, name)
    run = exact_loop(loop)
    compared = 0
    for given in _lists(name):
        if loop.needs_element and not given:
            continue
        lists: list[Sequence[Any]] = ["".join(given) if loop.characters else given]
        if len(loop.lists) == 2:
            lists.append([x * x - 1 for x in given])
        if name == "rated":
            lists.append(0.5)  # type: ignore[arg-type]
        wanted = function(*lists)
        elements = [_flat(e) for e in (zip(*lists, strict=True) if len(loop.lists) == 2 else [(x,) for x in given])]
        elements = [tuple(ord(v) if loop.characters else v for v in e) for e in elements]
        assert run(elements, (0.5,) if name == "rated" else ()) == wanted, given
        compared += 1
    assert compared > 20


def _flat(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(p for v in values for p in (v if isinstance(v, tuple) else (v,)))


def test_a_loop_from_the_last_element_is_marked() -> None:
    assert read_loop(MODULE, "backward").is_backward
    assert not read_loop(MODULE, "total").is_backward


@pytest.mark.parametrize(
    ("name", "needs"), [("several", False), ("defaulted", False), ("from_last", True), ("counted_from_second_last", True)]
)
def test_which_lists_have_to_have_an_element(name: str, *, needs: bool) -> None:
    assert read_loop(MODULE, name).needs_element is needs


def test_the_greatest_of_a_list_that_has_elements_is_not_none() -> None:
    text = "def f(xs):\n    return max(x for x in xs) - min(x for x in xs)\n"
    loop = read_loop(parse_module(text), "f")
    assert loop.needs_element
    assert not loop.may_miss


def test_a_parameter_with_a_float_for_default_is_a_real_number() -> None:
    (rate,) = read_loop(MODULE, "rated").constants
    assert rate.sort.base == "real"


REFUSED = {
    "a list of results from the last element on": """
        out = []
        a = 0
        for x in reversed(xs):
            a += x
            out.append(a)
        return out""",
    "the first element before a loop that begins with the last": """
        a = xs[0]
        for x in reversed(xs):
            a = x - a
        return a""",
    "the first element of another list before a loop that counts down": """
        a = ys[0]
        for i in range(len(xs) - 1, -1, -1):
            a += xs[i] * ys[i]
        return a""",
    "an index that counts down and is a number": """
        a = 0
        for i in range(len(xs) - 1, -1, -1):
            a += i * xs[i]
        return a""",
    "a second pass over the list": """
        mean = sum(xs) / len(xs)
        return sum((x - mean) ** 2 for x in xs)""",
    "reductions over two lists": """
        return sum(x for x in xs) + sum(y for y in ys)""",
    "the greatest of what may be nothing": """
        return max(x for x in xs if x > 0)""",
    "a pattern's name that is read after the statement": """
        a = 0
        n = 0
        for x in xs:
            match x:
                case n if n > 1:
                    a += 1
                case _:
                    a -= 1
            a += n
        return a""",
    "a pattern of a class": """
        a = 0
        for x in xs:
            match x:
                case int():
                    a += 1
        return a""",
    "an assignment that is not always read": """
        a = b = 0
        for x in xs:
            if x > 1 and (a := x) > 2:
                b += a
        return a + b""",
    "an assignment within an expression that read the name before": """
        a = b = 0
        for x in xs:
            b = a + (a := x)
        return a + b""",
    "a lambda that is set again": """
        f = lambda v: v + 1
        f = lambda v: v + 2
        a = 0
        for x in xs:
            a += f(x)
        return a""",
    "a function within the function with a default": """
        def f(v, w=a0):
            return v + w
        a = 0
        for x in xs:
            a += f(x)
        return a""",
    "an absolute value of NumPy of whole numbers": """
        a = 0
        for x in xs:
            a += np.abs(x)
        return a""",
    "a value that is None for the first element": """
        best = None
        for x in xs:
            if x > best:
                best = x
        return best""",
    "a table that the function sets": """
        d = {"a": 1, "b": 2}
        for x in xs:
            d[x] += 1
        return d["a"]""",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_fit_is_refused_at_its_place(body: str) -> None:
    module = parse_module(f"import numpy as np\na0 = 1\ndef f(xs, ys=()):{body}\n", "f.py")
    with pytest.raises(UserError) as raised:
        read_loop(module, "f")
    assert raised.value.diagnostics[0].span is not None
