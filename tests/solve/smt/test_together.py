"""One question about many formulas that differ in their constants."""

from collections.abc import Callable

import pytest

from warploom.core.linear import Linear, variable
from warploom.solve import All, Constraint, Formula, Not, Sat, SmtSession, Some, Unsat, conjunction, disjunction, together

X, N = variable("x"), variable("n")


def window(r: int, k: int) -> Formula:
    """Element 32 x + r is below n, yet the one k before is not."""
    at = X.scaled(32).shifted(r)
    return All((Constraint(at.plus(N, -1).shifted(1)), Constraint(N.plus(at, -1).shifted(k))))


def verdict(formulas: list[Formula]) -> bool:
    """Whether one of them can hold."""
    answer = SmtSession().check(disjunction(formulas))
    assert isinstance(answer, Sat | Unsat)
    return isinstance(answer, Sat)


def test_constants_that_move_in_step_need_one_question() -> None:
    formulas = [window(r, k) for r in range(32) for k in range(3)]
    joined = together(formulas)
    assert len(joined) == 1
    assert not verdict(joined)


@pytest.mark.parametrize("odd", [(0, -1), (17, -1), (31, -2)])
def test_one_that_can_hold_is_not_overlooked(odd: tuple[int, int]) -> None:
    assert verdict(together([*(window(r, k) for r in range(32) for k in range(3)), window(*odd)]))


@pytest.mark.parametrize("make", [
    lambda r: Not(Constraint(X.shifted(r), "==")),
    lambda r: Some((Constraint(X.shifted(-r)), Constraint(Linear((("x", -1),), 50 - 3 * r), "=="))),
    lambda r: All((Constraint(X.shifted(r * r % 11), "=="), Constraint(N.shifted(r)), Constraint(N.scaled(-2).shifted(-5 * r)))),
])  # fmt: skip
def test_each_formula_is_among_those_that_stand_for_it(make: Callable[[int], Formula]) -> None:
    """Whatever makes one of them true makes the joined ones true for some of their new variables."""
    formulas = [make(r) for r in range(12)]
    joined = disjunction(together(formulas))
    for formula in formulas:
        answer = SmtSession().check(formula)
        assert isinstance(answer, Sat)
        here = [Constraint(variable(name).shifted(-value), "==") for name, value in answer.model.items()]
        assert isinstance(SmtSession().check(conjunction([joined, *here])), Sat)


def test_of_nothing_nothing_can_hold() -> None:
    assert together([]) == []
