"""The law exp(a + b) = exp(a) * exp(b) in canonical forms: only where it is asked for, and never more than it says."""

from __future__ import annotations

import math
import random

import pytest

from warploom.core import f32, i32
from warploom.terms import Normaliser, algebra_for, apply, atom, constant

X, Y, M, N = (atom(name, (0,)) for name in "xymn")
JOINING = Normaliser(algebra_for(f32), joins_powers=True)
PLAIN = Normaliser(algebra_for(f32))


def exp(term):
    return apply("exp", term)


def same(a, b, normaliser=JOINING):
    return normaliser.canonical(a) is normaliser.canonical(b)


def test_a_rescaled_sum_is_the_sum_with_the_last_maximum() -> None:
    online = exp(X - M) * exp(M - N) + exp(Y - N)
    plain = exp(X - N) + exp(Y - N)
    assert same(online, plain)
    assert not same(online, plain, PLAIN), "the law is only used where it is asked for"


def test_powers_of_nothing_are_one() -> None:
    assert same(exp(X - M) * exp(M - X) * Y, Y)
    assert same(exp(constant(0)) + X, X + 1)
    assert same(exp(X) * exp(X) * exp(X), exp(3 * X))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (exp(X) * exp(Y), exp(X * Y)),
        (exp(X) + exp(Y), exp(X + Y)),
        (exp(X) * exp(Y), apply("ex2", X + Y)),
        (exp(X) * apply("ex2", Y), exp(X + Y)),
        (exp(X) * apply("sin", Y), apply("sin", X + Y)),
        (exp(X - M) * exp(N - M) + exp(Y - N), exp(X - N) + exp(Y - N)),
        (exp(X) * exp(constant(1)), exp(X)),
        (exp(X) * exp(constant(math.inf)), exp(X)),
    ],
)
def test_what_differs_stays_different(a, b) -> None:
    assert not same(a, b)


def test_integers_and_other_algebras_have_no_powers_to_join() -> None:
    for algebra in (algebra_for(i32), algebra_for(f32, "commutative"), algebra_for(f32, "syntactic")):
        assert not same(exp(X) * exp(Y), exp(X + Y), Normaliser(algebra, joins_powers=True))


def value(term, numbers):
    """An evaluation of its own, in floats."""
    match term.op:
        case "atom":
            return numbers[term.data[0]]
        case "constant":
            return float(term.data[0])
        case "+":
            return value(term.args[0], numbers) + value(term.args[1], numbers)
        case "-":
            return value(term.args[0], numbers) - value(term.args[1], numbers)
        case "*":
            return value(term.args[0], numbers) * value(term.args[1], numbers)
        case _:
            return math.exp(value(term.args[0], numbers))


def drawn(rng, depth):
    if depth == 0:
        return rng.choice([X, Y, M, constant(rng.randint(-2, 2))])
    a, b = drawn(rng, depth - 1), drawn(rng, depth - 1)
    return rng.choice([lambda: a + b, lambda: a - b, lambda: a * b, lambda: exp(drawn(rng, min(depth - 1, 1)))])()


def test_terms_of_one_form_have_one_value() -> None:
    rng = random.Random(0)
    forms = {}
    points = [{name: rng.uniform(-0.7, 0.7) for name in "xym"} for _ in range(3)]
    for _ in range(1500):
        term = drawn(rng, 3)
        values = [value(term, p) for p in points]
        known = forms.setdefault(JOINING.canonical(term), values)
        assert all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(values, known, strict=True)), str(term)
    assert len(forms) < 1500
