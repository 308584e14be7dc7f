"""Formulas over integers, reals, truth values and machine words, built step by step and decided by z3.

The caller keeps opaque `Handle`s, so no expression language of its own is needed here. With `width`, integers are words of that
many bits in two's complement and every operation wraps; without it they are unbounded. Division and remainder round to minus
infinity, as Python's do, for a positive divisor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import Any, Literal, NewType

from warploom.solve.smt.asking import ask
from warploom.solve.smt.clauses import Unknown, Unsat
from warploom.solve.smt.contexts import new_context

Handle = NewType("Handle", object)
"""A term of one `Arithmetic`; not to be mixed with another's."""
Kind = Literal["int", "real", "bool"]
Number = bool | int | Fraction


@dataclass(frozen=True, slots=True)
class Found:
    """A value for every variable."""

    values: Mapping[str, Number]


class Arithmetic:
    """Builds terms and decides formulas; deterministic, because its budget is counted in z3's resource units."""

    def __init__(self, width: int | None = None) -> None:
        self._z3: Any = import_module("z3")
        self._context: Any = new_context(self._z3)
        self._width = width
        self._variables: dict[str, tuple[Any, Kind]] = {}
        self._true: Any = self._z3.BoolVal(True, self._context)
        self._false: Any = self._z3.BoolVal(False, self._context)

    def variable(self, name: str, kind: Kind) -> Handle:
        """The variable called `name`; the same term every time."""
        if name not in self._variables:
            match kind:
                case "int" if self._width:
                    term = self._z3.BitVec(name, self._width, self._context)
                case "int":
                    term = self._z3.Int(name, self._context)
                case "real":
                    term = self._z3.Real(name, self._context)
                case "bool":
                    term = self._z3.Bool(name, self._context)
            self._variables[name] = (term, kind)
        return Handle(self._variables[name][0])

    def constant(self, value: Number, kind: Kind) -> Handle:
        if kind == "bool":
            return Handle(self._true if value else self._false)
        if kind == "real":
            return Handle(self._z3.RealVal(str(Fraction(value)), self._context))
        if self._width:
            return Handle(self._z3.BitVecVal(int(value), self._width, self._context))
        return Handle(self._z3.IntVal(int(value), self._context))

    def add(self, left: Handle, right: Handle) -> Handle:
        return self._numeric(left, right, operator.add)

    def subtract(self, left: Handle, right: Handle) -> Handle:
        return self._numeric(left, right, operator.sub)

    def multiply(self, left: Handle, right: Handle) -> Handle:
        return self._numeric(left, right, operator.mul)

    def divide(self, left: Handle, right: Handle) -> Handle:
        """The exact quotient of reals."""
        return Handle(self._real(left) / self._real(right))

    def floor_divide(self, left: Handle, divisor: int) -> Handle:
        """Quotient by a positive constant, rounded down."""
        if self._width:
            term, unit = self._any(left), self._any(self.constant(divisor, "int"))
            exact = term - self._any(self.remainder(left, divisor))
            return Handle(exact / unit)
        return Handle(self._any(left) / divisor)

    def remainder(self, left: Handle, divisor: int) -> Handle:
        """Remainder by a positive constant; never negative."""
        if self._width:
            return Handle(self._any(left) % self._any(self.constant(divisor, "int")))
        return Handle(self._any(left) % divisor)

    def bitwise(self, sign: Literal["&", "|", "^"], left: Handle, right: Handle) -> Handle:
        """A bitwise operation on words or on truth values."""
        first, second = self._any(left), self._any(right)
        if self._z3.is_bool(first):
            match sign:
                case "&":
                    return self.both([left, right])
                case "|":
                    return self.either([left, right])
                case "^":
                    return Handle(self._z3.Xor(first, second))
        match sign:
            case "&":
                return Handle(first & second)
            case "|":
                return Handle(first | second)
            case "^":
                return Handle(first ^ second)

    def at_least(self, left: Handle, right: Handle) -> Handle:
        """`left >= right`, signed."""
        return self._numeric(left, right, operator.ge)

    def equal(self, left: Handle, right: Handle) -> Handle:
        return self._numeric(left, right, operator.eq)

    def select(self, condition: Handle, then: Handle, otherwise: Handle) -> Handle:
        test = self._any(condition)
        if self._z3.is_true(test):
            return then
        if self._z3.is_false(test):
            return otherwise
        return self._numeric(then, otherwise, partial(self._z3.If, test))

    def both(self, parts: Sequence[Handle]) -> Handle:
        """All parts hold; of nothing: true."""
        terms = [t for t in map(self._any, parts) if not self._z3.is_true(t)]
        if any(self._z3.is_false(t) for t in terms):
            return Handle(self._false)
        return Handle(self._true if not terms else terms[0] if len(terms) == 1 else self._z3.And(*terms))

    def either(self, parts: Sequence[Handle]) -> Handle:
        """Some part holds; of nothing: false."""
        terms = [t for t in map(self._any, parts) if not self._z3.is_false(t)]
        if any(self._z3.is_true(t) for t in terms):
            return Handle(self._true)
        return Handle(self._false if not terms else terms[0] if len(terms) == 1 else self._z3.Or(*terms))

    def negation(self, part: Handle) -> Handle:
        term = self._any(part)
        if self._z3.is_true(term):
            return Handle(self._false)
        if self._z3.is_false(term):
            return Handle(self._true)
        return Handle(self._z3.Not(term))

    def check(self, formulas: Sequence[Handle], rlimit: int) -> Found | Unsat | Unknown:
        """Whether all formulas hold for some values of the variables; `rlimit` for each of up to two solvers."""
        spent = 0
        reason = "no solver"
        for solver in self._solvers():
            solver.set("rlimit", rlimit)
            for formula in formulas:
                solver.add(self._any(formula))
            outcome, reason = ask(solver)
            if outcome == "unsat":
                return Unsat()
            if outcome == "sat":
                model = solver.model()
                return Found({name: self._value(model, term, kind) for name, (term, kind) in self._variables.items()})
            statistics = solver.statistics()
            spent += int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118
        return Unknown(reason, spent)

    def _solvers(self) -> Iterator[Any]:
        """The older simplex is several times faster on short linear problems with many cases; it gives up on others."""
        if not self._width:
            quick = self._z3.SimpleSolver(ctx=self._context)
            quick.set("arith.solver", 2)
            yield quick
        yield self._z3.Solver(ctx=self._context)

    def _value(self, model: Any, term: Any, kind: Kind) -> Number:
        value = model.eval(term, model_completion=True)
        if kind == "bool":
            return bool(self._z3.is_true(value))
        if kind == "int":
            return int(value.as_signed_long() if self._width else value.as_long())
        if self._z3.is_algebraic_value(value):
            value = value.approx(20)
        return Fraction(value.numerator_as_long(), value.denominator_as_long())

    @staticmethod
    def _any(handle: Handle) -> Any:
        return handle

    def _real(self, handle: Handle) -> Any:
        term = self._any(handle)
        return self._z3.ToReal(term) if self._z3.is_int(term) else term

    def _numeric(self, left: Handle, right: Handle, combine: Callable[[Any, Any], object]) -> Handle:
        first, second = self._any(left), self._any(right)
        if not self._width and not self._z3.is_bool(first) and self._z3.is_int(first) != self._z3.is_int(second):
            first, second = self._real(left), self._real(right)
        return Handle(combine(first, second))
