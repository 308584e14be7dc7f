"""The terms of a backbone have the values that its evaluation on numbers gives."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import BY_NAME, UnsupportedError
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Operator, Role, evaluate, evaluate_terms, symbolic
from warploom.schedule.backbone.symbolic import number_of, term_of
from warploom.terms import Term, apply, atom, constant
from warploom.terms import evaluate as value_of_terms

CASES = {
    "matmul_strided": {"m": 2, "n": 3, "k": 2},
    "conv2d_same": {"c": 1, "o": 2, "h": 3, "w": 4},
    "gesummv": {"n": 3},
}


def known(given: Mapping[str, NDArray[np.float32]], numbers: Mapping[str, float], symbol: Term) -> Fraction:
    array, index = symbol.data[:2]
    return Fraction(float(given[array][index[0]])) if index else Fraction(numbers[array])


@pytest.mark.parametrize("name", ["matmul_strided", "conv2d_same", "gesummv"])
def test_terms_have_the_values_of_the_evaluation(name: str) -> None:
    kernel = tensor_kernel(name)
    for stage in kernel.program(CASES[name]).stages:
        rng = np.random.default_rng(0)
        given = {r.name: rng.integers(-4, 5, r.elements).astype(np.float32) for r in stage.regions if r.role is Role.INPUT}
        numbers = dict.fromkeys(kernel.parameters, 1.5)
        shaped = {
            r.name: np.lib.stride_tricks.as_strided(given[r.name], r.shape, [4 * s for s in r.strides])
            for r in stage.regions
            if r.role is Role.INPUT
        }
        expected = evaluate(stage, shaped, numbers)

        elements = evaluate_terms(stage)
        for name_of, values in expected.items():
            found = elements[name_of]
            assert found.stored.all()
            numbers_found = value_of_terms(found.terms.tolist(), BY_NAME["f32"], partial(known, given, numbers))
            assert numbers_found is not None
            assert [float(v) for v in numbers_found] == values.ravel().tolist()
        for name_of in given:
            assert not elements[name_of].stored.any()
            assert elements[name_of].terms[0] is atom(name_of, (0,))


@pytest.mark.filterwarnings("error")
def test_a_number_beyond_the_type_is_an_infinity_without_a_warning() -> None:
    assert number_of(-1e39, BY_NAME["f32"]) is constant(-inf)


def test_numbers_are_those_that_the_type_holds() -> None:
    assert number_of(0.1, BY_NAME["f32"]) is constant(Fraction(float(np.float32(0.1))))
    assert number_of(3.0, BY_NAME["i32"]) is constant(3)


@pytest.mark.parametrize(("operator", "neutral"), [(Operator.MAX, "-inf"), (Operator.MIN, "inf")])
def test_the_neutral_infinity_leaves_the_other(operator: Operator, neutral: str) -> None:
    x, least = atom("x", ()), constant(float(neutral))
    assert term_of(operator, least, x) is x and term_of(operator, x, least) is x
    assert term_of(operator, constant(-float(neutral)), x) is not x


def compared(operator: Operator, a: Term, b: Term, dtype: str = "f32") -> Term:
    return symbolic._compared(operator, BY_NAME[dtype], a, b)


X, Y, Z = (atom(name, (0,)) for name in "xyz")
ONE, ZERO = constant(1), constant(0)


def test_a_comparison_of_data_is_a_choice() -> None:
    less = compared(Operator.LESS, X, Y)
    assert less is apply("select <", X, Y, ONE, ZERO)
    assert term_of(Operator.SELECT, less, Y, Z) is apply("select <", X, Y, Y, Z)
    negated = term_of(Operator.SELECT, less, ZERO, ONE)
    assert term_of(Operator.SELECT, negated, Y, Z) is apply("select <", X, Y, Z, Y)
    both = term_of(Operator.SELECT, less, compared(Operator.EQUAL, X, Z), ZERO)
    assert term_of(Operator.SELECT, both, Y, Z) is apply("select <", X, Y, apply("select ==", X, Z, Y, Z), Z)


def test_a_comparison_of_numbers_is_one() -> None:
    three, two = constant(3), constant(2)
    assert compared(Operator.LESS_EQUAL, two, three, "i32") is ONE and compared(Operator.LESS, three, two) is ZERO
    assert term_of(Operator.SELECT, ONE, X, Y) is X and term_of(Operator.SELECT, ZERO, X, Y) is Y


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: compared(Operator.LESS, X, Y, "i32"), "less of data of type i32"),
        (lambda: compared(Operator.EQUAL, X, constant(float("inf"))), "a number that is not finite"),
        (lambda: compared(Operator.LESS, constant(float("nan")), X), "a number that is not finite"),
        (lambda: term_of(Operator.SELECT, X, Y, Z), "a choice by a value that is no comparison"),
        (lambda: term_of(Operator.SELECT, apply("select <", X, Y, Z, ZERO), Y, Z), "a choice by a value that is no comparison"),
    ],
)
def test_other_choices_are_not_followed(make: Callable[[], Term], told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        make()
