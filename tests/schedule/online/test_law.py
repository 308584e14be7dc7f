"""Which sums a running maximum rescales, and that `scan` proves the operator."""

from __future__ import annotations

import math
import random

import pytest

from warploom.scan import Expr
from warploom.schedule.online import Law, law_of

ATTENTION = ("math.exp(u - {top})", "math.exp(u - {top}) * x0")


def test_the_operator_of_attention_is_proved() -> None:
    law = law_of(ATTENTION, ("x0",))
    assert isinstance(law, Law)
    assert law.domain == "reals, exp(a + b) = exp(a) * exp(b)"
    assert [str(f.value) for f in law.left] == ["top", "total0", "total1"]


def value(expr: Expr, numbers: dict[Expr, float]) -> float:
    match expr.op:
        case "var":
            return numbers[expr]
        case "max":
            return max(value(a, numbers) for a in expr.args)
        case "exp":
            return math.exp(value(expr.args[0], numbers))
        case "poly":
            return sum(float(c) * math.prod(value(a, numbers) for a in monomial) for c, monomial in expr.terms)
        case _:
            raise AssertionError(expr.op)


def two_passes(elements: list[tuple[float, float]]) -> list[float]:
    top = max(u for u, _ in elements)
    return [top, sum(math.exp(u - top) for u, _ in elements), sum(math.exp(u - top) * x for u, x in elements)]


def test_the_operator_joins_what_two_passes_make_of_two_lists() -> None:
    law, rng = law_of(ATTENTION, ("x0",)), random.Random(0)
    assert isinstance(law, Law)
    for _ in range(50):
        lists = [[(rng.uniform(-3, 3), rng.uniform(-3, 3)) for _ in range(rng.randint(1, 5))] for _ in range(2)]
        numbers = dict(zip((*law.left, *law.right), (v for one in lists for v in two_passes(one)), strict=True))
        assert [value(e, numbers) for e in law.combine] == pytest.approx(two_passes([*lists[0], *lists[1]]))


@pytest.mark.parametrize(
    ("summand", "fields", "why"),
    [
        ("math.exp(u - {top}) * x0 + x0", ("x0",), "is not rescaled by exp(old - new) as the maximum grows"),
        ("math.exp(u + {top})", (), "is not rescaled"),
        ("math.exp(u - {top}) * math.exp(u - {top})", (), "is not rescaled"),
        ("u - {top}", (), "is not rescaled"),
        ("x0", ("x0",), "is not rescaled"),
        ("math.exp(x0 - {top})", ("x0",), "expected an operator on the maximum and the sums"),
        ("math.gamma(u - {top})", (), "gamma"),
    ],
)
def test_what_is_no_such_sum(summand: str, fields: tuple[str, ...], why: str) -> None:
    found = law_of((summand,), fields)
    assert isinstance(found, str)
    assert why in found
