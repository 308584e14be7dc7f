"""Polynomials of sizes against the numbers that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core.polynomials import Polynomial, number, polynomial, size

MONOMIALS = st.lists(st.sampled_from("hw"), max_size=2).map(lambda names: tuple(sorted(names)))
COEFFICIENTS = st.fractions(-3, 3, max_denominator=3)
SUMS = st.lists(st.tuples(MONOMIALS, COEFFICIENTS), max_size=4).map(polynomial)
SIZES = st.fixed_dictionaries({n: st.integers(0, 5) for n in "hw"})


@settings(max_examples=60, deadline=None)
@given(SUMS, SUMS, COEFFICIENTS, SIZES)
def test_arithmetic(a: Polynomial, b: Polynomial, factor: Fraction, sizes: Mapping[str, int]) -> None:
    x, y = a.at(sizes), b.at(sizes)
    assert a.plus(b, factor).at(sizes) == x + factor * y
    assert a.times(b).at(sizes) == x * y
    assert a.scaled(factor).at(sizes) == x * factor
    assert a.above(b).at(sizes) >= max(x, y)
    assert not a.is_natural or x >= 0
    assert not a.is_never_negative or a.at({n: s + 1 for n, s in sizes.items()}) >= 0
    assert a.plus(b).plus(b, -1) == a and a.plus(b) == b.plus(a)
    assert a.is_constant == (not a.names) and (not a.is_constant or a.constant == x)
    assert a.whole_at(sizes) == int(x)


def test_text() -> None:
    h, w = size("h"), size("w")
    assert str(h.times(w).plus(h, 31).plus(number(-7))) == "h*w + 31*h - 7"
    assert str(w.scaled(-1)) == "-w" and str(number(0)) == "0" and str(number(1)) == "1" and str(h.times(h)) == "h*h"
