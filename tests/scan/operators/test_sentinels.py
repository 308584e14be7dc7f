"""Numbers that are asked less than they say: flags for sentinels, counts that end. The changed loop gives what the loop gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from warploom.scan import lift, parse_module, read_loop
from warploom.scan.operators.sentinels import asked_less
from warploom.scan.operators.transition import Loop, exact_loop

LISTS = [[random.Random(n).randrange(-1, 3) for _ in range(n % 9)] for n in range(60)]


def loop_of(body: str, result: str, start: str = "at = -1; run = 0; best = 0") -> Loop:
    text = f"def f(xs: list[int]):\n    {start}\n    for i, x in enumerate(xs):\n        {body}\n    return {result}\n"
    return read_loop(parse_module(text), "f")


def same(loop: Loop, other: Loop) -> bool:
    one, two = exact_loop(loop), exact_loop(other)
    return all(one([(x,) for x in xs], ()) == two([(x,) for x in xs], ()) for xs in LISTS)


SENTINELS = ("at < 0", "at == -1", "at >= 0", "at != -1", "at > 2", "at < -1", "at <= 0")
CHANGES = ("at = i", "at = i - 1", "at = -1", "at = x", "at = i + 2", "best = i - at", "best = max(best, i - at)")
COUNTS = ("run >= 3", "run == 2", "run + x > 4", "run < -1", "2 * run > 5", "run != 0")
STEPS = ("run += 1", "run = 0", "run = 2", "run = run + 1 if x else 0", "run -= 1", "run += 2")


def test_changed_loops_give_the_same() -> None:
    choose = random.Random(11)
    changed = 0
    for _ in range(24):
        asked, step = choose.choice((SENTINELS, COUNTS)), choose.choice(STEPS)
        parts = [
            f"if x > {choose.randrange(-1, 2)} and {choose.choice(asked)}: {choose.choice(CHANGES)}",
            f"if {choose.choice(COUNTS)} or x == 2: {choose.choice(CHANGES)}",
            f"if x != {choose.randrange(2)}: {step}",
        ]
        choose.shuffle(parts)
        loop = loop_of("\n        ".join(parts), choose.choice(("at, best", "best", "at, best, run")))
        other = asked_less(loop)
        if other is not None:
            changed += 1
            assert same(loop, other), parts
    assert changed > 4


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("if at < 0: at = i - 1", "at"),  # which may be the sentinel again
        ("if at < 0 and x: at = x", "at"),
        ("if run >= 3: best = i\n        run = run + 1 if x else 0", "best, run"),
        ("if run + x >= 3: best = i\n        run = run + 1 if x else 0", "best"),
        ("if run >= 30: best = i\n        run = run + 1 if x else 0", "best"),
        ("if run >= 3: best = i\n        run = run - 1 if x else 0", "best"),
    ],
)
def test_what_says_more_stays(body: str, result: str) -> None:
    assert asked_less(loop_of(body, result)) is None


def folded(values: Sequence[Any], operator: Callable[[Any, Any], Any], choose: random.Random) -> Any:
    if len(values) == 1:
        return values[0]
    cut = choose.randrange(1, len(values))
    return operator(folded(values[:cut], operator, choose), folded(values[cut:], operator, choose))


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("if x == 1:\n            if at == -1: at = i\n            best = i", "at, best"),
        ("if x == 1:\n            if at >= 0: best = max(best, i - at)\n            at = i", "best"),
        pytest.param("run = run + 1 if x > 0 else 0\n        if run >= 3: best += 1", "best", marks=pytest.mark.slow),
    ],
)
def test_they_are_lifted(body: str, result: str) -> None:
    loop = loop_of(body, result)
    found = lift(loop)
    assert (found.status, found.verdict) == ("solved", "proved"), found.reason
    assert found.operator is not None
    scope: dict[str, Any] = {}
    exec(found.operator.source(), scope)
    choose, serial = random.Random(5), exact_loop(loop)
    for xs in (xs for xs in LISTS if xs):
        value = folded([scope["lift"](x) for x in xs], scope["operator"], choose)
        assert scope["projection"](value) == serial([(x,) for x in xs], ())
