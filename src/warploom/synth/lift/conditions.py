"""Decides whether conditions on block numbers and sizes imply others, first by looking, then by linear integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import TypeAlias

from warploom.core.linear import Linear
from warploom.solve import (
    FALSE,
    TRUE,
    All,
    Answer,
    Constraint,
    Formula,
    Sat,
    SmtSession,
    Some,
    Unsat,
    conjunction,
    disjunction,
    negation,
    together,
)
from warploom.synth.lift.affine import factors
from warploom.terms import Term, apply, iterate_post

Terms: TypeAlias = tuple[tuple[str, int], ...]
"""Coefficients of a linear sum."""
_DEEPEST_SPLIT = 80
_RLIMIT_TOGETHER = 1_000_000


class Conditions:
    """Implications under facts about the symbols; the answers are remembered."""

    def __init__(self, facts: Iterable[Constraint], natural: Iterable[str]) -> None:
        """`natural`: symbols that are never negative where they matter."""
        self.facts = tuple(dict.fromkeys(facts))
        self._natural = frozenset(natural)
        self._session = SmtSession(self.facts)
        self._quotients = [f for f in self.facts if f.op == "<=" and any(abs(c) > 1 for _, c in f.linear.terms)]
        self._reach: dict[Terms, float] = {}
        self._steps: dict[tuple[Terms, Terms], tuple[int, ...]] = {}
        self._implied: dict[Formula, dict[Formula, bool]] = {}
        self._has_select: dict[Term, bool] = {}
        self.unknown = ""
        """Reason why some query had no answer; empty if all had one."""

    def check(self, formula: Formula) -> Answer:
        """Whether `formula` can hold together with the facts."""
        return Unsat() if formula == FALSE else self._session.check(formula)

    def is_impossible(self, formula: Formula) -> bool:
        """Whether `formula` cannot hold; False also when z3 gives up, which is noted in `unknown`."""
        answer = self.check(formula)
        if not isinstance(answer, Sat | Unsat):
            self.unknown = f"z3 gave up: {answer.reason}"
        return isinstance(answer, Unsat)

    def are_impossible_together(self, formulas: Iterable[Formula]) -> bool:
        """Whether a few formulas that stand for all show that none can hold; False says nothing."""
        formula = disjunction(together(formulas))
        return formula == FALSE or isinstance(self._session.check(formula, _RLIMIT_TOGETHER), Unsat)

    def has_select(self, term: Term) -> bool:
        """Whether the value of `term` depends on a condition."""
        for t in iterate_post(term, self._has_select):
            self._has_select[t] = t.op == "select" or any(self._has_select[a] for a in t.args)
        return self._has_select[term]

    def under(self, guard: Formula) -> Callable[[Formula], bool]:
        """Tells of a goal whether it holds wherever `guard` does."""
        answers = self._implied.setdefault(guard, {})

        def implies(goal: Formula) -> bool:
            found = answers.get(goal)
            if found is None:
                found = self.is_seen(guard, goal) or self.is_impossible(conjunction([guard, negation(goal)]))
                answers[goal] = found
            return found

        return implies

    def is_seen(self, guard: Formula, goal: Formula) -> bool:
        """Whether one constraint of guard or facts gives each part of `goal`, without a solver."""
        if goal == TRUE or guard == FALSE:
            return True
        match goal:
            case All(parts):
                return all(self.is_seen(guard, p) for p in parts)
            case Some(parts):
                return any(self.is_seen(guard, p) for p in parts)
            case Constraint(linear, "<="):
                return self._is_seen(guard, linear) or any(self._is_seen(guard, g) for g in self._rounded(linear))
            case _:
                return False

    def _is_seen(self, guard: Formula, goal: Linear[str]) -> bool:
        if goal.constant <= self._given_by_facts(goal.terms):
            return True
        given = guard.parts if isinstance(guard, All) else (guard,)
        return any(
            goal.constant <= factor * known.linear.constant
            for known in given
            if isinstance(known, Constraint) and known.op == "<="
            for factor in self._factors(goal.terms, known.linear.terms)
        )

    def _given_by_facts(self, goal: Terms) -> float:
        """The greatest constant with which a sum of these terms is seen to be 0 or less, by one fact or none."""
        found = self._reach.get(goal)
        if found is None:
            found = 0.0 if self._is_negative(goal) else -inf
            for known in self.facts:
                if known.op == "<=":
                    factors = self._factors(goal, known.linear.terms)
                    found = max([found, *(factor * known.linear.constant for factor in factors)])
            self._reach[goal] = found
        return found

    def _factors(self, goal: Terms, known: Terms) -> tuple[int, ...]:
        """Numbers f for which no term of `goal - f * known` can be positive."""
        found = self._steps.get((goal, known))
        if found is None:
            some = factors(dict(goal), known)
            found = tuple(f for f in some if self._is_negative(Linear(goal).plus(Linear(known), -f).terms))
            self._steps[goal, known] = found
        return found

    def _rounded(self, goal: Linear[str]) -> Iterator[Linear[str]]:
        """Other goals that give this one by a fact about a quotient: `m * goal < m` is enough for integers."""
        wanted = dict(goal.terms)
        for fact in self._quotients:
            for name, coefficient in fact.linear.terms:
                m = abs(coefficient)
                if m > 1 and wanted.get(name, 0) * m == coefficient:
                    yield goal.scaled(m).shifted(1 - m).plus(fact.linear, -1)

    def _is_negative(self, terms: Terms) -> bool:
        """Whether none of the terms can be positive."""
        return all(c < 0 and n in self._natural for n, c in terms)


def resolved(term: Term, guard: Formula, conditions: Conditions, split: dict[Formula, bool]) -> tuple[Term, Formula | None]:
    """`term` with the selects that `guard` (and the decisions in `split`) decide taken; and a condition that is still open."""
    if not conditions.has_select(term):
        return term, None
    implies = conditions.under(guard)
    done: dict[Term, Term] = {}
    still_open: Formula | None = None
    for t in iterate_post(term):
        if t.op == "select":
            condition: Formula = t.args[0].data[1][0]
            then, other = done[t.args[1]], done[t.args[2]]
            taken = split.get(condition)
            if then is other or taken is True or (taken is None and implies(condition)):
                done[t] = then
            elif taken is False or (taken is None and implies(negation(condition))):
                done[t] = other
            else:
                still_open = still_open or condition
                done[t] = apply("select", t.args[0], then, other)
        elif not t.args:
            done[t] = t
        else:
            done[t] = t.rebuilt([done[a] for a in t.args])
    return done[term], still_open


def split_cases(
    guard: Formula, condition: Formula, conditions: Conditions, split: dict[Formula, bool]
) -> list[tuple[Formula, dict[Formula, bool]]]:
    """The cases of an open condition that can occur under `guard`."""
    if len(split) >= _DEEPEST_SPLIT:
        return []
    cases: list[tuple[Formula, dict[Formula, bool]]] = []
    for value in (True, False):
        narrowed = conjunction([guard, condition if value else negation(condition)])
        if not conditions.is_impossible(narrowed):
            cases.append((narrowed, {**split, condition: value}))
    return cases
