"""Linear integer arithmetic by z3, behind a vocabulary of our own; the only module that imports z3.

formula := linear <= 0 | linear == 0 | all of formulas | any of formulas | not formula
linear  := sum of coefficient * integer variable + constant
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias, assert_never

DEFAULT_RLIMIT = 20_000_000
"""z3's deterministic resource units per query; about ten seconds on a laptop."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Sum of coefficient * variable plus `constant`; terms sorted by variable, no zero coefficients."""

    terms: tuple[tuple[str, int], ...]
    constant: int

    def __str__(self) -> str:
        parts = [name if c == 1 else f"-{name}" if c == -1 else f"{c}*{name}" for name, c in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """`self + factor * other`."""
        if not other.terms:
            return Linear(self.terms, self.constant + factor * other.constant)
        total = dict(self.terms)
        for name, coefficient in other.terms:
            total[name] = total.get(name, 0) + factor * coefficient
        return Linear(_tidy(total), self.constant + factor * other.constant)

    def scaled(self, factor: int) -> Linear:
        return Linear(tuple((n, c * factor) for n, c in self.terms) if factor else (), self.constant * factor)

    def shifted(self, amount: int) -> Linear:
        return Linear(self.terms, self.constant + amount)

    def substituted(self, values: Mapping[str, Linear]) -> Linear:
        """Variables replaced by linear forms."""
        total: dict[str, int] = {}
        constant = self.constant
        for name, coefficient in self.terms:
            value = values.get(name)
            if value is None:
                total[name] = total.get(name, 0) + coefficient
                continue
            constant += coefficient * value.constant
            for inner, factor in value.terms:
                total[inner] = total.get(inner, 0) + coefficient * factor
        return Linear(_tidy(total), constant)

    def coefficient(self, name: str) -> int:
        return next((c for n, c in self.terms if n == name), 0)


def _tidy(terms: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((n, c) for n, c in terms.items() if c))


def variable(name: str) -> Linear:
    return Linear(((name, 1),), 0)


@dataclass(frozen=True, slots=True)
class Constraint:
    """`linear <= 0` or `linear == 0`."""

    linear: Linear
    op: Literal["<=", "=="] = "<="


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; of nothing: true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds; of nothing: false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Formula


Formula: TypeAlias = Constraint | All | Some | Not
TRUE = All(())
FALSE = Some(())


@dataclass(frozen=True, slots=True)
class Sat:
    model: dict[str, int]
    """A value for every variable of the query."""


@dataclass(frozen=True, slots=True)
class Unsat:
    pass


@dataclass(frozen=True, slots=True)
class Unknown:
    reason: str
    spent: int
    """z3's resource units."""


Answer: TypeAlias = Sat | Unsat | Unknown


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All parts, nested ones flattened, constant ones decided."""
    flat: dict[Formula, None] = {}
    for part in parts:
        if isinstance(part, Constraint) and not part.linear.terms:
            part = TRUE if _holds(part) else FALSE
        if part == FALSE:
            return FALSE
        for inner in part.parts if isinstance(part, All) else (part,):
            flat[inner] = None
    return next(iter(flat)) if len(flat) == 1 else All(tuple(flat))


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Some part, nested ones flattened, constant ones decided."""
    flat: dict[Formula, None] = {}
    for part in parts:
        if isinstance(part, Constraint) and not part.linear.terms:
            part = TRUE if _holds(part) else FALSE
        if part == TRUE:
            return TRUE
        for inner in part.parts if isinstance(part, Some) else (part,):
            flat[inner] = None
    return next(iter(flat)) if len(flat) == 1 else Some(tuple(flat))


def negation(part: Formula) -> Formula:
    """Not `part`, pushed into inequalities and through All and Some."""
    match part:
        case Constraint(linear, "<="):
            return Constraint(Linear(tuple((n, -c) for n, c in linear.terms), 1 - linear.constant))
        case Constraint(linear):
            less = Constraint(linear.shifted(1))
            more = Constraint(linear.scaled(-1).shifted(1))
            return disjunction([less, more])
        case All(parts):
            return disjunction(negation(p) for p in parts)
        case Some(parts):
            return conjunction(negation(p) for p in parts)
        case Not(inner):
            return inner
        case _:
            assert_never(part)


def substitute(formula: Formula, values: Mapping[str, Linear]) -> Formula:
    """Variables replaced by linear forms."""
    match formula:
        case Constraint(linear, op):
            return Constraint(linear.substituted(values), op)
        case All(parts):
            return conjunction(substitute(p, values) for p in parts)
        case Some(parts):
            return disjunction(substitute(p, values) for p in parts)
        case Not(part):
            return Not(substitute(part, values))
        case _:
            assert_never(formula)


def _holds(constraint: Constraint) -> bool:
    value = constraint.linear.constant
    return value <= 0 if constraint.op == "<=" else value == 0


class SmtSession:
    """Queries under common assumptions; z3 starts at the first one."""

    def __init__(self, assumptions: Iterable[Formula] = (), rlimit: int = DEFAULT_RLIMIT) -> None:
        self._assumptions = tuple(assumptions)
        self._rlimit = rlimit
        self._z3: Any = None
        self._solver: Any = None
        self._variables: dict[str, Any] = {}

    def check(self, formula: Formula, rlimit: int | None = None) -> Answer:
        """Whether assumptions and `formula` hold for some integers."""
        solver = self._started()
        solver.set("rlimit", rlimit or self._rlimit)
        solver.push()
        try:
            solver.add(self._translated(formula))
            before = self._spent(solver)
            outcome = str(solver.check())
            if outcome == "unsat":
                return Unsat()
            if outcome == "sat":
                model = solver.model()
                return Sat({n: self._value(model, v) for n, v in self._variables.items()})
            return Unknown(str(solver.reason_unknown()), self._spent(solver) - before)
        finally:
            solver.pop()

    def _started(self) -> Any:
        if self._solver is None:
            self._z3 = import_module("z3")  # here, because it takes longer to load than most queries to answer
            self._solver = self._z3.SolverFor("QF_LIA")
            for assumption in self._assumptions:
                self._solver.add(self._translated(assumption))
        return self._solver

    @staticmethod
    def _spent(solver: Any) -> int:
        statistics = solver.statistics()
        return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118

    @staticmethod
    def _value(model: Any, name: Any) -> int:
        return int(model.eval(name, model_completion=True).as_long())

    def _translated(self, formula: Formula) -> Any:
        solver = self._z3
        match formula:
            case Constraint(linear, op):
                total = solver.Sum(*(c * self._variable(n) for n, c in linear.terms)) if linear.terms else solver.IntVal(0)
                return total <= -linear.constant if op == "<=" else total == -linear.constant
            case All(parts):
                return solver.And(*(self._translated(p) for p in parts))
            case Some(parts):
                return solver.Or(*(self._translated(p) for p in parts))
            case Not(part):
                return solver.Not(self._translated(part))
            case _:
                assert_never(formula)

    def _variable(self, name: str) -> Any:
        if name not in self._variables:
            self._variables[name] = self._z3.Int(name)
        return self._variables[name]
