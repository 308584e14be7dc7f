"""Sums of exponentials are positive without a look at numbers; nothing else is taken for it."""

from math import inf

import pytest

from warploom.core import BY_NAME
from warploom.terms import Normaliser, Term, algebra_for, apply, atom, constant, without_value
from warploom.terms.partial import is_positive

X = atom("x", ())
E = apply("exp", X)


def quotient_without_value(operand: Term) -> bool:
    normaliser = Normaliser(algebra_for(BY_NAME["f32"]), {"x": BY_NAME["f32"]})
    return without_value([apply("/", X, operand)], normaliser) is not None


@pytest.mark.parametrize("operand", [E, apply("+", E, E), apply("*", E, apply("max", E, E))])
def test_exponentials_have_a_quotient(operand: Term) -> None:
    assert not quotient_without_value(operand)


@pytest.mark.parametrize("operand", [apply("-", E, E), apply("+", E, apply("neg", E)), apply("*", E, constant(0))])
def test_what_exponentials_cancel_has_none(operand: Term) -> None:
    assert quotient_without_value(operand)


def test_an_infinite_exponent_is_no_number() -> None:
    assert not is_positive(apply("exp", constant(-inf)), {})
