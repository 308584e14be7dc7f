"""Linear integer arithmetic, behind a vocabulary of our own.

formula := linear <= 0 | linear == 0 | all of formulas | any of formulas | not formula
linear  := sum of coefficient * integer variable + constant
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import gcd
from typing import Any, Literal, TypeAlias, assert_never

from warploom.core.linear import Linear, variable
from warploom.solve.smt.asking import DEFAULT_RLIMIT, Answer, Solver
from warploom.solve.smt.builder import INT, Builder, Handle


@dataclass(frozen=True, slots=True)
class Constraint:
    """`linear <= 0` or `linear == 0`."""

    linear: Linear[str]
    op: Literal["<=", "=="] = "<="


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; of nothing: true."""

    parts: tuple[Formula, ...]
    _known: list[Any] = field(default_factory=list[Any], init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return _hash_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parts,)  # hashes of names differ between processes


@dataclass(frozen=True, slots=True)
class Some:
    """Holds if at least one part holds; of nothing: false."""

    parts: tuple[Formula, ...]
    _known: list[Any] = field(default_factory=list[Any], init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return _hash_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parts,)  # hashes of names differ between processes


@dataclass(frozen=True, slots=True)
class Not:
    part: Formula


def _hash_of(node: All | Some) -> int:
    """Computed once: formulas are keys again and again, and nest."""
    known = node._known  # pyright: ignore[reportPrivateUsage]
    if not known:
        known.append(hash((type(node).__name__, node.parts)))
    return known[0]


Formula: TypeAlias = Constraint | All | Some | Not
TRUE = All(())
FALSE = Some(())
_FEW = 8
"""Numbers that formulas which are asked about together have in one place, each asked about alone."""


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
            return Constraint(linear.scaled(-1).shifted(1))
        case Constraint(linear):
            less = Constraint(linear.shifted(1))
            more = Constraint(linear.scaled(-1).shifted(1))
            return disjunction([less, more])
        case All() | Some():
            return _negated(part)
        case Not(inner):
            return inner
        case _:
            assert_never(part)


def _negated(part: All | Some) -> Formula:
    """Made once for each formula."""
    hash(part)
    known = part._known  # pyright: ignore[reportPrivateUsage]
    if len(known) == 1:
        join = disjunction if isinstance(part, All) else conjunction
        known.append(join(negation(p) for p in part.parts))
    return known[1]


def substitute(formula: Formula, values: Mapping[str, Linear[str]]) -> Formula:
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


def together(formulas: Iterable[Formula]) -> list[Formula]:
    """Fewer formulas, of which one can hold if one of the given ones can.

    Those that differ in their constants only become one, whose constants move with new variables: one for all constants that move
    in step. How far they move, and how far apart, is part of it.
    """
    rows: dict[Formula, dict[tuple[int, ...], None]] = {}
    for formula in formulas:
        constants: list[int] = []
        shape = _mapped(formula, lambda linear: _without_constant(linear, constants))  # noqa: B023
        rows.setdefault(shape, {})[tuple(constants)] = None
    return [_moving(shape, part) for shape, constants in rows.items() for part in _parts(list(constants))]


def _without_constant(linear: Linear[str], constants: list[int]) -> Linear[str]:
    constants.append(linear.constant)
    return linear.shifted(-linear.constant)


def _parts(rows: list[tuple[int, ...]]) -> Iterable[list[tuple[int, ...]]]:
    """Rows that are alike in the columns of few numbers, as these need not follow the others in step."""
    few = [n for n, column in enumerate(zip(*rows, strict=True)) if len(set(column)) <= _FEW]
    parts: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for row in rows:
        parts.setdefault(tuple(row[n] for n in few), []).append(row)
    return parts.values()


def _moving(shape: Formula, rows: list[tuple[int, ...]]) -> Formula:
    """The formula of this shape for all these constants, and possibly more."""
    moves: dict[tuple[int, ...], Linear[str]] = {}
    sums: list[Linear[str]] = []
    for column in zip(*rows, strict=True):
        step = gcd(*(c - column[0] for c in column))
        if step and next(c for c in column if c != column[0]) < column[0]:
            step = -step
        total: Linear[str] = Linear((), column[0])
        if step:
            way = tuple((c - column[0]) // step for c in column)
            total = total.plus(moves.setdefault(way, variable(f"move {len(moves)}")), step)
        sums.append(total)
    constants = iter(sums)
    limits = [limit for way, move in moves.items() for limit in _between(move, way)]
    for (way, move), (other, its) in combinations(moves.items(), 2):
        for sign in (1, -1):
            limits += _between(move.plus(its, sign), [a + sign * b for a, b in zip(way, other, strict=True)])
    return conjunction([_mapped(shape, lambda linear: linear.plus(next(constants))), *limits])


def _between(linear: Linear[str], values: Sequence[int]) -> tuple[Formula, Formula]:
    return Constraint(linear.shifted(-max(values))), Constraint(linear.scaled(-1).shifted(min(values)))


def _mapped(formula: Formula, change: Callable[[Linear[str]], Linear[str]]) -> Formula:
    """`formula` with its sums changed, nothing else."""
    match formula:
        case Constraint(linear, op):
            return Constraint(change(linear), op)
        case All(parts):
            return All(tuple(_mapped(p, change) for p in parts))
        case Some(parts):
            return Some(tuple(_mapped(p, change) for p in parts))
        case Not(part):
            return Not(_mapped(part, change))
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
        self._started: tuple[Builder, Solver] | None = None
        self._sums: dict[tuple[tuple[str, int], ...], Handle] = {}
        """Sums made before: most formulas of a session differ in their constants only."""
        self._made: dict[Formula, Handle] = {}

    def check(self, formula: Formula, rlimit: int | None = None) -> Answer:
        """Whether assumptions and `formula` hold for some integers."""
        builder, solver = self._start()
        solver.solver.push()
        try:
            solver.solver.add(self._translated(builder, formula).term)
            return solver.ask(rlimit or self._rlimit, lambda model: _integers(builder, model))
        finally:
            solver.solver.pop()

    def _start(self) -> tuple[Builder, Solver]:
        if self._started is None:
            builder = Builder()
            self._started = builder, builder.solver("QF_LIA")
            for assumption in self._assumptions:
                self._started[1].solver.add(self._translated(builder, assumption).term)
        return self._started

    def _translated(self, builder: Builder, formula: Formula) -> Handle:
        """Made once for each formula."""
        found = self._made.get(formula)
        if found is None:
            found = self._made[formula] = self._new(builder, formula)
        return found

    def _new(self, builder: Builder, formula: Formula) -> Handle:
        match formula:
            case Constraint(linear, op):
                total = self._sums.get(linear.terms)
                if total is None:
                    parts = [(c, builder.variable(n, INT)) for n, c in sorted(linear.terms)]
                    total = self._sums[linear.terms] = builder.sum(parts)
                bound = builder.constant(-linear.constant, INT)
                return builder.at_least(bound, total) if op == "<=" else builder.equal(total, bound)
            case All(parts):
                return builder.both([self._translated(builder, p) for p in parts])
            case Some(parts):
                return builder.either([self._translated(builder, p) for p in parts])
            case Not(part):
                return builder.negation(self._translated(builder, part))
            case _:
                assert_never(formula)


def _integers(builder: Builder, model: Any) -> dict[str, int]:
    return {name: int(value) for name, value in builder.values(model).items()}
