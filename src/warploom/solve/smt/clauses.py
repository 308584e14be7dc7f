"""Linear integer arithmetic and clauses by z3, behind a vocabulary of our own.

formula := linear <= 0 | linear == 0 | all of formulas | any of formulas | not formula
linear  := sum of coefficient * integer variable + constant
clause  := any of literals; a literal is a flag's number, or its negative
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias, assert_never

from warploom.solve.smt.asking import ask

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
    """Holds if at least one part holds; of nothing: false."""

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
    """The negation of `part`, pushed into inequalities and through All and Some."""
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
            outcome, reason = ask(solver)
            if outcome == "unsat":
                return Unsat()
            if outcome == "sat":
                model = solver.model()
                return Sat({n: self._value(model, v) for n, v in self._variables.items()})
            return Unknown(reason, self._spent(solver) - before)
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


class ClauseSession:
    """Clauses over true-or-false flags, solved under assumptions; flags that have a name appear in the answer as 0 or 1."""

    def __init__(self, rlimit: int = DEFAULT_RLIMIT) -> None:
        self._rlimit = rlimit
        self._z3: Any = None
        self._solver: Any = None
        self._flags = 0
        self._names: dict[str, int] = {}
        self._fresh: list[Sequence[int]] = []
        self._declared: set[int] = set()
        self.clauses = 0
        """Clauses so far."""
        self.true = self.flag()
        """A literal that always holds."""
        self.add(self.true)

    def flag(self, name: str = "") -> int:
        """A new flag's positive literal; names are distinct."""
        self._flags += 1
        if name:
            if name in self._names:
                raise ValueError(f"two flags named {name}")
            self._names[name] = self._flags
        return self._flags

    def add(self, *literals: int) -> None:
        """Adds a clause: at least one of the literals holds; of none: a contradiction."""
        if self.true in literals:
            if len(literals) > 1:
                return
        elif -self.true in literals:
            literals = tuple(x for x in literals if x != -self.true)
        self._fresh.append(literals)
        self.clauses += 1

    def at_most(self, count: int, literals: Sequence[int]) -> None:
        """No more than `count` of the literals hold (a sequential counter, so that it stays linear in their number)."""
        if count < 0:
            self.add()
            return
        if count >= len(literals):
            return
        if count == 0:
            for literal in literals:
                self.add(-literal)
            return
        if count == 1 and len(literals) <= 6:
            for n, first in enumerate(literals):
                for second in literals[:n]:
                    self.add(-first, -second)
            return
        before: list[int] = []  # before[j]: more than j of the earlier literals hold
        for position, literal in enumerate(literals):
            if len(before) == count:
                self.add(-literal, -before[-1])
            if position == len(literals) - 1:
                break
            after = [self.flag() for _ in range(min(position + 1, count))]
            for j, flag in enumerate(after):
                if j < len(before):
                    self.add(-before[j], flag)
                if j == 0:
                    self.add(-literal, flag)
                else:
                    self.add(-literal, -before[j - 1], flag)
            before = after

    def exactly(self, count: int, literals: Sequence[int]) -> None:
        """`count` of the literals hold."""
        self.at_most(count, literals)
        if count == 1:
            self.add(*literals)
        else:
            self.at_most(len(literals) - count, [-x for x in literals])

    def either(self, literals: Sequence[int]) -> int:
        """A literal that holds exactly if one of the literals does."""
        if len(literals) == 1:
            return literals[0]
        result = self.flag()
        self.add(-result, *literals)
        for literal in literals:
            self.add(result, -literal)
        return result

    def both(self, literals: Sequence[int]) -> int:
        """A literal that holds exactly if all of the literals do; of none: true."""
        return -self.either([-x for x in literals]) if literals else self.true

    def check(self, assumed: Sequence[int] = (), rlimit: int | None = None, timeout_s: float | None = None) -> Answer:
        """Whether the clauses and assumed literals hold for some values; `timeout_s`, unlike `rlimit`, is not deterministic."""
        solver = self._loaded()
        solver.set("rlimit", rlimit or self._rlimit)
        solver.set("timeout", 0xFFFFFFFF)
        outcome, reason = ask(solver, [self._literal(x) for x in assumed], timeout_s)
        if outcome == "unsat":
            return Unsat()
        if outcome == "sat":
            model = solver.model()
            value = {n: model.eval(self._literal(f), model_completion=True) for n, f in self._names.items()}
            return Sat({n: int(self._z3.is_true(v)) for n, v in value.items()})
        statistics = solver.statistics()
        spent = int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118
        return Unknown(reason, spent)

    def _literal(self, literal: int) -> Any:
        flag = self._z3.Bool(f"b{abs(literal)}")
        return flag if literal > 0 else self._z3.Not(flag)

    def _loaded(self) -> Any:
        if self._solver is None:
            self._z3 = import_module("z3")
            self._solver = self._z3.SolverFor("QF_FD")
        if self._fresh:
            # Clauses go in as text, because building them one by one through the API takes ten times as long.
            used = {abs(x) for clause in self._fresh for x in clause} - self._declared
            self._declared |= used
            lines = [f"(declare-const b{x} Bool)" for x in sorted(used)]
            for clause in self._fresh:
                inside = " ".join(f"b{x}" if x > 0 else f"(not b{-x})" for x in clause)
                lines.append(f"(assert (or {inside}))" if clause else "(assert false)")
            self._solver.from_string("\n".join(lines))
            self._fresh.clear()
        return self._solver
