"""Values on their way to the user's function and back: exact ones stay exact, also beyond floats."""

from __future__ import annotations

from fractions import Fraction

import pytest

from warploom.scan.operators import checking, printing


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(1, 2), 0.5),
        (Fraction(1, 3), Fraction(1, 3)),
        (Fraction(2**60 + 1), Fraction(2**60 + 1)),
        (Fraction(10**400), Fraction(10**400)),
        (7, 7),
    ],
)
def test_a_real_is_a_float_only_where_that_is_exact(value: Fraction, expected: object) -> None:
    found = checking._plain(value)
    assert found == expected and type(found) is type(expected)


def test_results_beyond_floats_are_compared() -> None:
    assert checking.same(10**400, 10**400) and not checking.same(10**400, 1.0)
    assert not checking.same((1.0, Fraction(10**400)), (1.0, 2.0))


def test_literals_beyond_floats() -> None:
    assert printing.literal(Fraction(10**400)) == f"Fraction({10**400}, 1)"
    assert printing.literal(Fraction(1, 10)) == "0.1"
