"""Sums that are compared without a term per element: what is not seen to be equal never is called so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from warploom.core import f32, i32
from warploom.core.linear import Linear, variable
from warploom.solve import TRUE, Constraint, Formula
from warploom.synth.lift.conditions import Conditions
from warploom.synth.proof.summands import Frame, Summands, _inverse  # pyright: ignore[reportPrivateUsage]
from warploom.terms import FormTooLargeError, Normaliser, Term, algebra_for, apply, atom, constant

I, J, Q = variable("i"), variable("j"), variable("q")
FIVE = Linear((), 5)


def x(index: Linear[str]) -> Term:
    return atom("x", (index,))


def choice(condition: Formula, then: Term, other: Term) -> Term:
    return apply("select", atom("condition", (condition,)), then, other)


def plus(*terms: Term) -> Term:
    total = terms[0]
    for term in terms[1:]:
        total = apply("+", total, term)
    return total


def summands() -> Summands:
    return Summands(Normaliser(algebra_for(f32), {"x": f32}), Conditions([], ["i", "j", "q"]))


def agree(
    got: Term,
    want: Term,
    values: Mapping[str, Linear[str]],
    guard: Formula = TRUE,
    iteration: Mapping[str, Linear[str]] | None = None,
) -> bool:
    return summands().agree(got, Frame(values, guard), want, iteration or {})


BELOW_5 = Constraint(I.shifted(-4))
AT_5 = Constraint(I.shifted(-5), "==")
UP_TO_5 = Constraint(I.shifted(-5))
SAME: dict[str, Linear[str]] = {"i": I, "j": J, "q": Q}


@pytest.mark.parametrize(
    ("got", "want", "values", "guard", "iteration", "expected"),
    [
        pytest.param(plus(x(I), x(J)), plus(x(J), x(I)), SAME, TRUE, {}, True, id="equal"),
        pytest.param(x(I), x(I.shifted(1)), SAME, TRUE, {}, False, id="another element"),
        pytest.param(plus(x(I), x(J)), x(Q), {"i": Q, "j": Q}, TRUE, {}, False, id="two summands become one"),
        pytest.param(x(I), x(variable("k")), {"i": Q.scaled(2).shifted(1)}, TRUE, {"k": Q.scaled(2).shifted(1)}, True, id="odd"),
        pytest.param(x(I), x(Linear((), 0)), {"i": Q}, TRUE, {"k": Q.scaled(2)}, False, id="between iterations"),
        pytest.param(choice(BELOW_5, x(I), x(J)), x(I), SAME, BELOW_5, {}, True, id="decided"),
        pytest.param(choice(BELOW_5, x(I), x(J)), x(J), SAME, TRUE, {}, False, id="undecided"),
        pytest.param(choice(BELOW_5, x(I), x(J)), constant(0), SAME, TRUE, {}, False, id="undecided is not nothing"),
        pytest.param(choice(AT_5, x(I), x(J)), x(I), SAME, UP_TO_5, {}, False, id="an equation is more than a bound"),
        pytest.param(choice(BELOW_5, plus(x(I), x(J)), x(I)), x(I), SAME, TRUE, {}, False, id="a sum under a choice"),
        pytest.param(apply("max", x(I), x(J)), x(I), SAME, TRUE, {}, False, id="a greatest"),
        pytest.param(atom("undefined", ("r", 0)), atom("undefined", ("s", 0)), SAME, TRUE, {}, False, id="undefined"),
        pytest.param(apply("sqrt", x(I)), apply("sqrt", x(I)), SAME, TRUE, {}, False, id="a function is no sum"),
    ],
)
def test_agreement(
    got: Term, want: Term, values: Mapping[str, Linear[str]], guard: Formula, iteration: Mapping[str, Linear[str]], expected: bool
) -> None:
    assert agree(got, want, values, guard, iteration) is expected


def test_functions_of_sums_are_no_leaves() -> None:
    for inner in (apply("sqrt", x(I)), apply("max", x(I), x(J)), choice(BELOW_5, plus(x(I), x(J)), x(J))):
        assert summands()._sum(plus(inner, x(J))) is None  # pyright: ignore[reportPrivateUsage]
        assert agree(plus(inner, x(J)), plus(inner, x(J)), SAME) is False
    lattice = Summands(Normaliser(algebra_for(i32), {"x": i32}), Conditions([], []))
    assert lattice.agree(apply("max", x(I), x(J)), Frame(SAME, TRUE), apply("max", x(J), x(I)), {}) is False


def test_iterations_that_cannot_be_turned_round() -> None:
    assert _inverse({"k": Q.scaled(2).shifted(3)}) == {"q": ("k", 2, 3)}
    for values in ({"k": FIVE}, {"k": I.plus(J, 1)}, {"k": Q.scaled(-1)}, {"k": Q, "l": Q}):
        assert _inverse(values) is None, values
    k, m = variable("k"), variable("m")
    assert agree(plus(x(I), x(J)), plus(x(k), x(m)), {"i": Q, "j": Q.shifted(1)}, TRUE, {"k": Q, "m": Q.shifted(1)})


def test_forms_that_are_too_large_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: Any) -> Term:
        raise FormTooLargeError("too many terms")

    sums = summands()
    monkeypatch.setattr(sums.normaliser, "canonical", too_large)
    assert sums.agree(plus(x(I), x(J)), Frame(SAME, TRUE), plus(x(J), x(I)), {}) is False


def test_a_choice_decided_under_one_guard_is_open_under_another() -> None:
    sums, want = summands(), choice(BELOW_5, x(I), x(J))
    for guard, seen in ((BELOW_5, True), (TRUE, False), (BELOW_5, True)):
        assert sums.agree(x(I), Frame(SAME, guard), want, {}) is seen
    assert sums.agree(x(J), Frame(SAME, BELOW_5), want, {}) is False


def test_a_condition_with_an_equation_is_no_inequality() -> None:
    for condition in (AT_5, Constraint(I.shifted(-5), "!=")):
        assert summands()._inequalities(condition) is None  # pyright: ignore[reportPrivateUsage]
    assert summands()._inequalities(BELOW_5) is not None  # pyright: ignore[reportPrivateUsage]


def test_two_sums_of_which_nothing_is_known_are_not_equal() -> None:
    one, other = choice(BELOW_5, x(I), x(J)), choice(AT_5, x(I), x(J))
    assert agree(one, other, SAME) is False
    assert agree(x(I), apply("sqrt", x(I)), SAME) is False
    assert agree(apply("sqrt", x(I)), x(I), SAME) is False
