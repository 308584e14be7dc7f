"""Loops that look at neighbours on both sides, or at several elements before: a window of the last elements."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from warploom.core import UserError
from warploom.scan import lift, parse_module, read_loop
from warploom.scan.operators.transition import exact_loop

HEADERS = ("i in range(1, len(xs) - 1)", "i in range(2, len(xs))", "i in range(1, n - 2)", "i in range(len(xs) - 2)")
NEIGHBOURS = ((-1, 0, 1), (-2, -1, 0), (-1, 0, 2), (0, 1, 2))
BODIES = (
    "if {a} < {b} and {b} > {c}:\n            s += 1",
    "s += {b} * 2 - {a} - {c}",
    "if {a} == {c}:\n            continue\n        s = max(s, {b})",
    "if {a} > {b}:\n            return i\n        s += {c}",
    "if {b} == 0:\n            break\n        s = s - {a}",
    "if i % 2:\n            s += {c} - {a}",
)


def function(text: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {}
    exec(text, scope)
    return scope["f"]


def texts() -> list[str]:
    found: list[str] = []
    for header, offsets in zip(HEADERS, NEIGHBOURS, strict=True):
        for body in BODIES:
            names = {
                k: f"xs[i + {c}]" if c > 0 else f"xs[i - {-c}]" if c else "xs[i]" for k, c in zip("abc", offsets, strict=True)
            }
            length = "    n = len(xs)\n" if " n " in header else ""
            found.append(
                f"def f(xs: list[int]):\n{length}    s = 0\n    for {header}:\n        {body.format(**names)}\n    return s\n"
            )
    found.append(
        "def f(xs: list[int]):\n    s = 0\n    for a, b, c in zip(xs, xs[1:], xs[2:]):\n        s += a - b + c\n    return s\n"
    )
    return found


def test_they_are_read_as_python_runs_them() -> None:
    choose = random.Random(3)
    for text in texts():
        run, plain = exact_loop(read_loop(parse_module(text), "f")), function(text)
        for _ in range(15):
            xs = [choose.randrange(-1, 3) for _ in range(choose.randrange(8))]
            assert run([(x,) for x in xs], ()) == plain(xs), (text, xs)


def folded(values: Sequence[Any], operator: Callable[[Any, Any], Any], choose: random.Random) -> Any:
    if len(values) == 1:
        return values[0]
    cut = choose.randrange(1, len(values))
    return operator(folded(values[:cut], operator, choose), folded(values[cut:], operator, choose))


@pytest.mark.parametrize("number", [0, 7, 24])
def test_they_have_an_operator_in_any_grouping(number: int) -> None:
    text = texts()[number]
    found = lift(read_loop(parse_module(text), "f"))
    assert (found.status, found.verdict) == ("solved", "proved"), found.reason
    assert found.operator is not None
    scope: dict[str, Any] = {}
    exec(found.operator.source(), scope)
    choose, plain = random.Random(5), function(text)
    for _ in range(200):
        xs = [choose.randrange(-1, 4) for _ in range(1 + choose.randrange(9))]
        value = folded([scope["lift"](x) for x in xs], scope["operator"], choose)
        value = scope["operator"](scope["identity"], value)
        assert scope["projection"](value) == plain(xs), (text, xs)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("i in range(1, len(xs) - 1)", "s += xs[i - 2]"),  # of the first, that is the last
        ("i in range(1, len(xs) - 1)", "s += xs[i + 2]"),
        ("i in range(2, len(xs))", "s += xs[-1] + xs[i]"),
        ("i in range(2, len(xs))", "s += xs[i]; i = 0"),
        ("i in range(5, len(xs) - 1)", "s += xs[i]"),
        ("a, b, c in zip(xs, xs[1:], xs[3:])", "s += a"),
    ],
)
def test_others_are_refused(header: str, body: str) -> None:
    text = f"def f(xs: list[int]):\n    s = 0\n    for {header}:\n        {body}\n    return s\n"
    with pytest.raises(UserError, match="LOOP_UNSUPPORTED"):
        read_loop(parse_module(text), "f")


def test_elements_that_are_no_numbers_are_refused() -> None:
    text = (
        "def f(xs: list[tuple[int, int]]):\n    s = 0\n    for i in range(2, len(xs)):\n        s += xs[i - 2][0]\n    return s\n"
    )
    with pytest.raises(UserError, match="LOOP_UNSUPPORTED"):
        read_loop(parse_module(text), "f")
