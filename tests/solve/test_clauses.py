"""Clause sessions: counting constraints against enumeration, assumptions, budgets."""

from __future__ import annotations

from itertools import product

import pytest

from warploom.core.linear import variable
from warploom.solve import ClauseSession, Constraint, Sat, SmtSession, Unknown, Unsat, conjunction


def answers(session: ClauseSession, names: list[str], flags: list[int]) -> int:
    count = 0
    while isinstance(answer := session.check(), Sat):
        count += 1
        session.add(*(-f if answer.model[n] else f for n, f in zip(names, flags, strict=True)))
    return count


@pytest.mark.parametrize("total", [1, 2, 5, 7])
def test_counts(total: int):
    for bound in range(-1, total + 2):
        for kind in ("at_most", "exactly"):
            session = ClauseSession()
            names = [f"x{n}" for n in range(total)]
            flags = [session.flag(n) for n in names]
            getattr(session, kind)(bound, flags)
            sums = [sum(bits) for bits in product((0, 1), repeat=total)]
            wanted = sum(s <= bound if kind == "at_most" else s == bound for s in sums)
            assert answers(session, names, flags) == wanted


def test_assumptions_do_not_stay():
    session = ClauseSession()
    a, b = session.flag("a"), session.flag("b")
    session.add(session.either([a, b]))
    assert isinstance(session.check([-a, -b]), Unsat)
    assert session.check([-a]) == Sat({"a": 0, "b": 1})
    assert session.check([session.both([a, b])]) == Sat({"a": 1, "b": 1})
    session.add()
    assert isinstance(session.check(), Unsat)


def test_a_hard_question_ends_with_the_reason():
    session = ClauseSession()
    holes = 9
    seats = [[session.flag() for _ in range(holes)] for _ in range(holes + 1)]
    for row in seats:
        session.add(*row)
    for column in zip(*seats, strict=True):
        session.at_most(1, column)
    answer = session.check(rlimit=20_000)
    assert isinstance(answer, Unknown)
    assert answer.reason


def test_names_are_distinct():
    session = ClauseSession()
    session.flag("a")
    with pytest.raises(ValueError, match="two flags named a"):
        session.flag("a")


def test_a_question_may_be_given_less_work_than_the_others() -> None:
    x, y, z = (variable(name) for name in "xyz")
    asked = conjunction([
        Constraint(x.scaled(7).plus(y, 11).plus(z, -13).shifted(-1), "=="), Constraint(x.scaled(-1).shifted(5)),
        Constraint(y.scaled(-1).shifted(9)),
    ])  # fmt: skip
    session = SmtSession()
    assert isinstance(session.check(asked), Sat)
    assert isinstance(session.check(asked, rlimit=1), Unknown)
    assert isinstance(SmtSession(rlimit=1).check(asked), Unknown)
