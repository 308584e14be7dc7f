"""Roundings of weights are left out of the comparison of rescaled sums; other roundings are not, each reason alone."""

from __future__ import annotations

import pytest

from warploom.core import f32, i32
from warploom.synth.compiled.rescaled import Rescaled
from warploom.terms import Term, algebra_for, apply, atom, constant

X, Y, TOP, Z = (atom(name, (0,)) for name in ("x", "y", "top", "z"))
WHOLE = apply("max", apply("max", X, Y), TOP)
PART = apply("max", X, Y)


def power(exponent: Term, op: str = "ex2") -> Term:
    return apply(op, exponent)


def rounded(term: Term, there: str = "cast.f32.f16", back: str = "cast.f16.f32") -> Term:
    return apply(back, apply(there, term))


def weight(top: Term, value: Term = X) -> Term:
    return power(apply("-", value, top))


def sums(of_part: Term, of_whole: Term) -> tuple[Term, Term]:
    """A weight with the maximum of a part, rescaled to the whole's, and one with that of the whole."""
    return apply("*", of_part, power(apply("-", PART, WHOLE))), of_whole


def judged(left: Term, right: Term, dtype=f32) -> tuple[bool, set[str]]:
    notes: set[str] = set()
    return Rescaled(algebra_for(dtype), {}, notes).are_equal(left, right), notes


def test_rounded_weights_are_taken_as_exact_and_the_domain_says_so() -> None:
    is_equal, notes = judged(*sums(rounded(weight(PART)), rounded(weight(WHOLE))))
    assert is_equal
    assert "weights of 0 to 1 rounded to f16 taken as exact" in notes


def test_weights_that_are_not_rounded_need_no_such_note() -> None:
    is_equal, notes = judged(*sums(weight(PART), weight(WHOLE)))
    assert is_equal
    assert notes == {"exp(a + b) = exp(a) * exp(b)"}


def test_a_rounding_of_one_side_only_is_not_left_out() -> None:
    assert not judged(*sums(rounded(weight(PART)), weight(WHOLE)))[0]
    assert not judged(*sums(weight(PART), rounded(weight(WHOLE))))[0]
    assert not judged(*sums(rounded(weight(PART), "cast.f32.bf16", "cast.bf16.f32"), rounded(weight(WHOLE))))[0]


@pytest.mark.parametrize("factor", [2, -1])
def test_a_positive_multiple_is_a_weight(factor: int) -> None:
    def of(top: Term) -> Term:
        return power(apply("*", constant(factor), apply("-", X, top)))

    rescaling = power(apply("*", constant(factor), apply("-", PART, WHOLE)))
    assert judged(apply("*", rounded(of(PART)), rescaling), rounded(of(WHOLE)))[0] is (factor > 0)


OTHERS = {
    "no power": lambda top: apply("-", X, top),
    "of another value": lambda top: weight(top, Z),
    "of no difference": lambda top: power(apply("+", X, apply("neg", top))),
    "of a product": lambda top: power(apply("*", Z, apply("-", X, top))),
    "of a sum of weights": lambda top: apply("+", weight(top), weight(top, Y)),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_roundings_are_not_left_out(other: str) -> None:
    part, whole = OTHERS[other](PART), OTHERS[other](WHOLE)
    assert not judged(*sums(rounded(part), rounded(whole)))[0]


@pytest.mark.parametrize(
    ("there", "back"), [("cast.f32.i32", "cast.i32.f32"), ("cast.f32.f16", "cast.f16.f64"), ("cast.f64.f16", "cast.f16.f32")]
)
def test_other_conversions_are_not_left_out(there: str, back: str) -> None:
    assert not judged(*sums(rounded(weight(PART), there, back), rounded(weight(WHOLE), there, back)))[0]


def test_integers_know_no_such_law() -> None:
    left, right = sums(weight(PART), weight(WHOLE))
    assert not judged(left, right, i32)[0]
