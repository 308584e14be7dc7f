"""Means as sums, rescaled sums, kept elements: loops that only look like them are not proved."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from warploom import scan
from warploom.scan.operators import expression as ex
from warploom.scan.operators.extremal import beside_extremes
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.laws import decided
from warploom.scan.operators.lifting import lift
from warploom.scan.operators.means import summed
from warploom.scan.operators.prover import Holds, Number, Open, Translator, UntranslatableError
from warploom.scan.operators.rescaled import rescaled
from warploom.scan.operators.selections import what_is_kept
from warploom.scan.operators.steps import simpler
from warploom.scan.operators.transition import exact_loop


def loop(start: str, body: str, result: str, parameters: str = "xs: list[float]") -> scan.Loop:
    lines = [f"def f({parameters}):", *(f"    {s}" for s in start.split("; ")), "    for x in xs:"]
    return scan.read_loop(
        scan.parse_module(
            "\n".join(["from math import exp, inf", *lines, *(f"        {b}" for b in body.split("; ")), f"    return {result}"])
        ),
        "f",
    )


MEAN = "mean = mean + (x - mean) / (n + 1); n = n + 1"


def test_a_mean_is_a_sum() -> None:
    found = summed(loop("n = 0; mean = 5.0", MEAN, "mean"))
    assert found is not None
    total, count = found.states[1].variable, found.states[0].variable
    if total.value == "n":
        total, count = count, total
    wanted = ex.select(ex.at_least(count, ex.ONE), ex.quotient(total, count), ex.constant(5))
    assert found.outputs == (wanted,)


@pytest.mark.parametrize(
    ("start", "body"),
    [
        ("n = 0; mean = 1.0", "mean = mean + (x - mean) / (n + 3); n = n + 1"),  # divides by something else
        ("n = 0; mean = 1.0", "mean = mean + (x - 2 * mean) / (n + 1); n = n + 1"),
        ("n = 0; mean = 1.0", "mean = (mean * (n + 1) + x) / (n + 1); n = n + 1"),  # the first step keeps what it starts with
        ("n = 0; mean = 0.0; other = 0.0", f"other = other + mean / (n + 1); {MEAN}"),  # a sum of means
        ("n = 0; mean = 0.0", "mean = mean + (x - mean) / (n + 1); n = n + 2"),
        ("n = -1; mean = 0.0", "mean = mean + (x - mean) / (n + 2); n = n + 1"),
    ],
)
def test_what_is_no_mean(start: str, body: str) -> None:
    assert summed(loop(start, body, "mean" if "other" not in start else "other")) is None


@pytest.mark.parametrize(
    ("start", "body", "below"),
    [
        ("i = 0; mean = 0.0", "mean = mean + (x - mean) / (i + 1); i = i + 1", 0),
        ("i = 1; mean = 0.0", "mean = mean + (x - mean) / i; i = i + 1", 0),  # as by enumerate(xs, 1)
        ("i = 5; mean = 0.0", "mean = mean + (x - mean) / (i - 4); i = i + 1", 0),
        ("i = 5; mean = 2.0", "mean = mean + (x - mean) / (i - 3); i = i + 1", 1),
    ],
)
def test_a_mean_by_places(start: str, body: str, below: int) -> None:
    found = lift(loop(start, body, "mean"), lambda xs: (sum(xs) + 2.0 * below) / (len(xs) + below) if xs or below else 0.0)
    assert found.verdict == "proved"


def test_elements_that_count_are_averaged_by_a_count_from_one() -> None:
    def run(xs: list[Fraction]) -> tuple[Fraction, int]:
        positive = [x for x in xs if x > 0]
        return (sum(positive, Fraction(0)) / len(positive) if positive else Fraction(0)), len(positive) + 1

    body = "mean = mean + (x - mean) / n if x > 0 else mean; n = n + 1 if x > 0 else n"
    assert lift(loop("n = 1; mean = 0.0", body, "mean, n"), run).verdict == "proved"


@pytest.mark.parametrize("start", ["1", "3"])
def test_a_mean_that_begins_with_elements(start: str) -> None:
    found = lift(loop(f"n = {start}; mean = 4.0", MEAN, "mean"), lambda xs: (4.0 * int(start) + sum(xs)) / (int(start) + len(xs)))
    assert found.verdict == "proved"


SUM = "new = max(m, x); s = s * exp(m - new) + exp(x - new); m = new"


@pytest.mark.parametrize(
    ("body", "is_rescaled"),
    [
        (SUM, True),
        (SUM.replace("exp(x - new)", "exp(x - m)"), False),
        (SUM.replace("exp(m - new)", "exp(new - m)"), False),
        (SUM.replace("max(m, x)", "max(m, m + x)"), False),
        (SUM.replace("s * exp", "s * s * exp"), False),
        (SUM.replace("max", "min"), False),
    ],
)
def test_rescaled_sums(body: str, is_rescaled: bool) -> None:
    found = loop("m = 0.0; s = 0.0", body, "m, s")
    if is_rescaled:
        assert len(rescaled(found, "greatest", "step").slots) == 2
        return
    with pytest.raises(FormError):
        rescaled(found, "greatest", "step")


TWO = "b = a if x > a else x if x > b else b; a = max(a, x)"


@pytest.mark.parametrize(
    ("start", "body", "is_kept"),
    [
        ("a = -inf; b = -inf", TWO, True),
        ("a = 0.0; b = 0.0", TWO, False),  # a start that keeps not everything
        ("a = -inf; b = -inf", TWO.replace("x if", "x + 1 if"), False),
        ("a = -inf; b = -inf", TWO.replace("else b", "else 0.0"), False),
        ("a = -inf; b = -inf", "b = x if x < a else b; a = x", False),
    ],
)
def test_kept_elements(start: str, body: str, is_kept: bool) -> None:
    found = loop(start, body, "a, b")
    if is_kept:
        assert len(what_is_kept(found, "greatest", "step").slots) == 2
        return
    with pytest.raises(FormError):
        what_is_kept(found, "greatest", "step")


COUNT = "n = 1 if x > m else n + 1 if x == m else n; m = max(m, x)"


@pytest.mark.parametrize(
    ("body", "is_beside"),
    [
        (COUNT, True),
        (COUNT.replace("n = 1", "n = 2"), False),
        (COUNT.replace("else n;", "else n + 1;"), False),
        (COUNT.replace("n = 1", "n = n"), False),
    ],
)
def test_beside_extremes(body: str, is_beside: bool) -> None:
    found = loop("m = -inf; n = 0", body, "m, n", "xs: list[int]")
    if is_beside:
        assert len(beside_extremes(found, "greatest", "step").slots) == 2
        return
    with pytest.raises(FormError):
        beside_extremes(found, "greatest", "step")


V, W = ex.variable("v", ex.Sort("real", below=True)), ex.variable("w", ex.Sort("real", above=True))
Z = ex.variable("z", ex.REAL)
POWER = ex.exponential(ex.subtract(V, ex.maximum(V, Z)))


def untranslatable(t: Translator) -> list[tuple[Number, Number]]:
    raise UntranslatableError("exp")


@pytest.mark.parametrize(
    ("left", "right", "is_held"),
    [
        (POWER, ex.select(ex.at_least(V, Z), ex.ONE, ex.exponential(ex.subtract(V, Z))), True),
        (POWER, ex.add(POWER, ex.ONE), False),
        (POWER, ex.select(ex.equal(V, ex.MINUS_INFINITY), ex.ONE, POWER), False),  # where it is minus infinity
        (ex.exponential(Z), ex.select(ex.equal(W, ex.INFINITY), ex.ONE, ex.exponential(Z)), False),  # infinity is no case
    ],
)
def test_powers_of_what_may_be_infinite(left: ex.Expr, right: ex.Expr, is_held: bool) -> None:
    verdict = decided([V, W] if W in ex.variables(right) else [V], [(lambda: left, right)], untranslatable, [], [], None)
    assert isinstance(verdict, Holds) is is_held


def test_powers_without_a_value() -> None:
    def none() -> ex.Expr:
        return ex.multiply(POWER, ex.add(ex.INFINITY, ex.MINUS_INFINITY))

    assert isinstance(decided([V], [(none, ex.ONE)], untranslatable, [], [], None), Open)


ASKED = ("a < b", "a <= x", "a < 0", "b >= x", "b < a", "a >= b", "x > b", "b < 0", "a + 1 < x")


def test_loops_with_simpler_steps_give_the_same() -> None:
    """Where a choice asks the element, too, what is simpler stands under that question: the other branch is as it was."""
    choose = random.Random(23)
    lists = [[(choose.randrange(-2, 4),) for _ in range(n % 8)] for n in range(50)]
    changed = 0
    for _ in range(60):
        tests = [f"{choose.choice(('x != 1', 'x > 0', 'x == 2', 'x < 2'))} and {choose.choice(ASKED)}" for _ in "ab"]
        body = "; ".join(f"{one} = {choose.choice('abx')} if {test} else {one}" for one, test in zip("ab", tests, strict=True))
        made = loop(f"a = {choose.randrange(-2, 2)}; b = {choose.randrange(-1, 3)}", body, "a, b", "xs: list[int]")
        other = simpler(made)
        if other is not None:
            changed += 1
            one, two = exact_loop(made), exact_loop(other)
            assert all(one(xs, ()) == two(xs, ()) for xs in lists), body
    assert changed > 8
