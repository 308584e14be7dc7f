"""Linear sums against the numbers that they stand for."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core.intervals import Interval
from warploom.core.linear import Linear, collected, variable

NAMES = "abc"
SMALL = st.integers(-6, 6)
SUMS = st.builds(collected, st.lists(st.tuples(st.sampled_from(NAMES), SMALL), max_size=5), SMALL)
VALUES = st.fixed_dictionaries(dict.fromkeys(NAMES, SMALL))
FEW = settings(max_examples=60, deadline=None)


@FEW
@given(SUMS, SUMS, SMALL, VALUES)
def test_arithmetic(x: Linear[str], y: Linear[str], n: int, values: Mapping[str, int]) -> None:
    a, b = x.at(values), y.at(values)
    assert x.plus(y, n).at(values) == a + n * b
    assert x.scaled(n).at(values) == a * n
    assert x.shifted(n).at(values) == a + n
    assert x.only("a").at(values) + x.without("a").at(values) == a
    assert x.substituted({"a": y}).at(values) == x.at({**values, "a": b})
    assert x.renamed(lambda name: "b" if name == "a" else name).at(values) == x.at({**values, "a": values["b"]})
    for made in (x.plus(y, n), x.scaled(n), x.substituted({"a": y}), x.renamed(str.upper)):
        assert all(c for _, c in made.terms) and len({a for a, _ in made.terms}) == len(made.terms)


@FEW
@given(SUMS, SUMS)
def test_equal_exactly_where_all_values_are(x: Linear[str], y: Linear[str]) -> None:
    points = [dict(zip(NAMES, p, strict=True)) for p in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]
    assert (x == y) == all(x.at(p) == y.at(p) for p in points)
    around = y.plus(x).plus(y, -1)
    assert around == x and hash(around) == hash(x) and str(around) == str(x)


def test_order_is_kept_and_does_not_count() -> None:
    ab, ba = Linear((("a", 1), ("b", 2))), Linear((("b", 2), ("a", 1)))
    assert ab == ba and len({ab, ba}) == 1 and ab.terms != ba.terms
    assert ab != Linear((("a", 1), ("c", 2))) and ab != ab.shifted(1) and ab != Linear((("a", 1),)) and ab != "a + 2*b"
    assert variable("c").plus(ba).terms == (("c", 1), ("b", 2), ("a", 1))


def test_a_hash_does_not_travel() -> None:
    """Hashes of names differ between processes."""
    x = variable("a")
    hash(x)
    again = pickle.loads(pickle.dumps(x))
    assert again == x and again._hash is None  # pyright: ignore[reportPrivateUsage]


@FEW
@given(SUMS, st.integers(-4, 4).filter(bool))
def test_exact_division(x: Linear[str], n: int) -> None:
    assert x.scaled(n).divided(n) == x
    quotient = x.divided(n)
    exact = [Fraction(c, n) for c in (x.constant, *(c for _, c in x.terms))]
    assert (quotient is not None) == all(f.denominator == 1 for f in exact)
    assert quotient is None or quotient.scaled(n) == x
    assert x.divisor == 0 or x.divided(x.divisor) is not None


@FEW
@given(SUMS, st.fixed_dictionaries({n: st.tuples(SMALL, SMALL).map(sorted) for n in NAMES}))
def test_bounds_are_those_of_all_points(x: Linear[str], ends: Mapping[str, list[int]]) -> None:
    names = [n for n, _ in x.terms]
    found = [x.at(dict(zip(names, p, strict=True))) for p in product(*(range(ends[n][0], ends[n][1] + 1) for n in names))]
    assert x.bounds(lambda n: Interval(*ends[n])) == Interval(min(found), max(found))


@FEW
@given(SUMS, st.fixed_dictionaries({n: st.integers(0, 4) for n in NAMES}))
def test_span_is_that_of_all_points(x: Linear[str], most: Mapping[str, int]) -> None:
    names = [n for n, _ in x.terms]
    found = [x.at(dict(zip(names, p, strict=True))) for p in product(*(range(most[n] + 1) for n in names))]
    assert x.span(most.__getitem__) == (min(found), max(found))


def test_text() -> None:
    assert str(Linear((("n", -1), ("m", 2)), 3)) == "2*m - n + 3"
    assert str(Linear((("n", -1),))) == "-n" and str(Linear((), -4)) == "-4" and str(Linear()) == "0"
    assert str(Linear((("n", 1),), -1)) == "n - 1"


def test_coefficients() -> None:
    x = Linear((("a", 2), ("b", -4)), 6)
    assert (x.coefficient("a"), x.coefficient("c"), x.divisor, Linear().divisor) == (2, 0, 2, 0)
