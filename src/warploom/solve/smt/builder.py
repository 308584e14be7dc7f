"""Terms of z3 with sorts, built step by step, and whether conditions on them can hold together.

    sort := bool | int | real | word of some number of bits

The caller keeps opaque `Handle`s, so no expression language of its own is needed here. Every step looks at the sorts of its
operands: a whole number beside a real one becomes real, which is exact; all else that does not fit raises `SortError`. Words
wrap, in two's complement. Division and remainder by a positive constant round to minus infinity, as Python's do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, Literal, TypeAlias

from warploom.core import Diagnostic, UnsupportedError
from warploom.solve.smt.asking import Sat, Solver, Unknown, Unsat
from warploom.solve.smt.contexts import new_context

Number = bool | int | Fraction
Bitwise: TypeAlias = Literal["&", "|", "^"]
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "/": lambda a, b: a / b,
}


@dataclass(frozen=True, slots=True)
class Sort:
    kind: Literal["bool", "int", "real", "word"]
    bits: int = 0
    """Bits of a word; 0 for other sorts."""

    def __str__(self) -> str:
        return f"{self.bits}-bit word" if self.kind == "word" else self.kind


BOOL, INT, REAL = Sort("bool"), Sort("int"), Sort("real")


def word(bits: int) -> Sort:
    return Sort("word", bits)


class SortError(UnsupportedError):
    """An operation on terms whose sorts it does not take."""

    def __init__(self, wanted: str, *got: Handle) -> None:
        message = f"expected {wanted} in a question for z3, got {' and '.join(str(h.sort) for h in got)}"
        super().__init__(Diagnostic("SOLVER_SORTS", message, fix="Keep whole numbers, reals, words and truth values apart."))
        self.reason = message


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """A term of one `Builder`; not to be mixed with another's."""

    term: Any
    sort: Sort

    def __str__(self) -> str:
        return str(self.term)


class Builder:
    """Builds terms and decides conditions; deterministic, because its budget is counted in z3's resource units."""

    def __init__(self) -> None:
        self._z3: Any = import_module("z3")  # here, because it takes longer to load than most questions to answer
        self._context: Any = new_context(self._z3)
        self._variables: dict[str, Handle] = {}
        self.true = Handle(self._z3.BoolVal(True, self._context), BOOL)
        self.false = Handle(self._z3.BoolVal(False, self._context), BOOL)

    # ------------------------------------------------------------ leaves

    def variable(self, name: str, sort: Sort) -> Handle:
        """The variable called `name`; the same term every time."""
        found = self._variables.get(name)
        if found is None:
            found = self._variables[name] = Handle(self._made(name, sort), sort)
        if found.sort != sort:
            raise SortError(f"{name} as {sort}", found)
        return found

    def _made(self, name: str, sort: Sort) -> Any:
        match sort.kind:
            case "bool":
                return self._z3.Bool(name, self._context)
            case "int":
                return self._z3.Int(name, self._context)
            case "real":
                return self._z3.Real(name, self._context)
            case "word":
                return self._z3.BitVec(name, sort.bits, self._context)

    def constant(self, value: Number, sort: Sort) -> Handle:
        """A number; a word keeps its lowest bits."""
        match sort.kind:
            case "bool":
                return self.true if value else self.false
            case "int":
                return Handle(self._z3.IntVal(int(value), self._context), INT)
            case "real":
                return Handle(self._z3.RealVal(str(Fraction(value)), self._context), REAL)
            case "word":
                return Handle(self._z3.BitVecVal(int(value), sort.bits, self._context), sort)

    # ------------------------------------------------------------ numbers

    def add(self, left: Handle, right: Handle) -> Handle:
        return self._numeric(operator.add, left, right)

    def subtract(self, left: Handle, right: Handle) -> Handle:
        return self._numeric(operator.sub, left, right)

    def multiply(self, left: Handle, right: Handle) -> Handle:
        return self._numeric(operator.mul, left, right)

    def negate(self, operand: Handle) -> Handle:
        self._need("a number", operand.sort.kind != "bool", operand)
        return Handle(-operand.term, operand.sort)

    def sum(self, parts: Sequence[tuple[int, Handle]]) -> Handle:
        """Sum of coefficient * whole number; of nothing: 0."""
        self._need("whole numbers", all(h.sort == INT for _, h in parts), *(h for _, h in parts))
        return Handle(self._z3.Sum(*(c * h.term for c, h in parts)), INT) if parts else self.constant(0, INT)

    def divide(self, left: Handle, right: Handle) -> Handle:
        """The exact quotient of reals."""
        self._need("numbers", all(h.sort.kind in ("int", "real") for h in (left, right)), left, right)
        return Handle(self._real(left) / self._real(right), REAL)

    def floor_divide(self, left: Handle, divisor: int) -> Handle:
        """Quotient by a positive constant, rounded down."""
        rest = self.remainder(left, divisor)
        if left.sort == INT:
            return Handle(left.term / divisor, INT)
        return Handle((left.term - rest.term) / self.constant(divisor, left.sort).term, left.sort)

    def remainder(self, left: Handle, divisor: int) -> Handle:
        """Remainder by a positive constant; never negative."""
        self._need("a whole number or a word", left.sort.kind in ("int", "word"), left)
        return Handle(left.term % (divisor if left.sort == INT else self.constant(divisor, left.sort).term), left.sort)

    def at_least(self, left: Handle, right: Handle) -> Handle:
        """`left >= right`, signed."""
        return Handle(self._numeric(operator.ge, left, right).term, BOOL)

    def less(self, left: Handle, right: Handle, *, is_signed: bool = True) -> Handle:
        """`left < right`; words without a sign, too."""
        if is_signed:
            return Handle(self._numeric(operator.lt, left, right).term, BOOL)
        return Handle(self._words(self._z3.ULT, left, right).term, BOOL)

    # ------------------------------------------------------------ words

    def bitwise(self, sign: Bitwise, left: Handle, right: Handle) -> Handle:
        """A bitwise operation on words or on truth values."""
        if left.sort == right.sort == BOOL:
            match sign:
                case "&":
                    return self.both([left, right])
                case "|":
                    return self.either([left, right])
                case "^":
                    return Handle(self._z3.Xor(left.term, right.term), BOOL)
        return self._words(_OPERATORS[sign], left, right)

    def invert(self, operand: Handle) -> Handle:
        """Every bit the other way."""
        self._need("a word", operand.sort.kind == "word", operand)
        return Handle(~operand.term, operand.sort)

    def shift_left(self, left: Handle, by: Handle) -> Handle:
        """By at least the width: 0."""
        return self._words(_OPERATORS["<<"], left, by)

    def shift_right(self, left: Handle, by: Handle, *, is_signed: bool) -> Handle:
        """By at least the width: 0, or the sign."""
        return self._words(_OPERATORS[">>"] if is_signed else self._z3.LShR, left, by)

    def word_quotient(self, left: Handle, right: Handle, *, is_signed: bool) -> Handle:
        """Rounded to zero. The quotient by zero is SMT-LIB's, not the machine's: the caller keeps it out."""
        return self._words(_OPERATORS["/"] if is_signed else self._z3.UDiv, left, right)

    def extended(self, operand: Handle, bits: int, *, is_signed: bool) -> Handle:
        """A word of at least as many bits with the same value."""
        self._need(f"a word of at most {bits} bits", operand.sort.kind == "word" and operand.sort.bits <= bits, operand)
        extra = bits - operand.sort.bits
        return Handle((self._z3.SignExt if is_signed else self._z3.ZeroExt)(extra, operand.term), word(bits))

    def bits(self, operand: Handle, low: int, count: int) -> Handle:
        """`count` bits from bit `low` on."""
        fits = operand.sort.kind == "word" and low >= 0 and count > 0 and low + count <= operand.sort.bits
        self._need(f"a word with bits {low} to {low + count - 1}", fits, operand)
        return Handle(self._z3.Extract(low + count - 1, low, operand.term), word(count))

    # ------------------------------------------------------------ truth values and choices

    def equal(self, left: Handle, right: Handle) -> Handle:
        first, second, _ = self._alike(left, right)
        return Handle(first == second, BOOL)

    def select(self, condition: Handle, then: Handle, otherwise: Handle) -> Handle:
        test = self._truth(condition)
        if self._z3.is_true(test):
            return then
        if self._z3.is_false(test):
            return otherwise
        first, second, sort = self._alike(then, otherwise)
        return Handle(self._z3.If(test, first, second), sort)

    def both(self, parts: Sequence[Handle]) -> Handle:
        """All parts hold; of nothing: true."""
        terms = [t for t in map(self._truth, parts) if not self._z3.is_true(t)]
        if any(self._z3.is_false(t) for t in terms):
            return self.false
        return self.true if not terms else Handle(terms[0] if len(terms) == 1 else self._z3.And(*terms), BOOL)

    def either(self, parts: Sequence[Handle]) -> Handle:
        """Some part holds; of nothing: false."""
        terms = [t for t in map(self._truth, parts) if not self._z3.is_false(t)]
        if any(self._z3.is_true(t) for t in terms):
            return self.true
        return self.false if not terms else Handle(terms[0] if len(terms) == 1 else self._z3.Or(*terms), BOOL)

    def negation(self, part: Handle) -> Handle:
        term = self._truth(part)
        if self._z3.is_true(term):
            return self.false
        if self._z3.is_false(term):
            return self.true
        return Handle(self._z3.Not(term), BOOL)

    # ------------------------------------------------------------ questions

    def solver(self, logic: str = "") -> Solver:
        """A solver for terms of this builder; `logic` is SMT-LIB's name of the terms that it takes."""
        make = self._z3.SolverFor
        return Solver(make(logic, ctx=self._context) if logic else self._z3.Solver(ctx=self._context))

    def check(self, conditions: Sequence[Handle], rlimit: int, logic: str = "") -> Sat[Number] | Unsat | Unknown:
        """Whether all conditions hold for some values of the variables; `rlimit` for each of up to two solvers."""
        terms = [self._truth(c) for c in conditions]
        spent, reason = 0, "no solver"
        for solver in [self.solver(logic)] if logic else self._solvers():
            for term in terms:
                solver.solver.add(term)
            match solver.ask(rlimit, self.values):
                case Unknown() as answer:
                    spent, reason = spent + answer.spent, answer.reason
                case answer:
                    return answer
        return Unknown(reason, spent)

    def _solvers(self) -> Iterator[Solver]:
        """The older simplex is several times faster on short linear problems with many cases; it gives up on others."""
        if not any(h.sort.kind == "word" for h in self._variables.values()):
            quick = self._z3.SimpleSolver(ctx=self._context)
            quick.set("arith.solver", 2)
            yield Solver(quick)
        yield self.solver()

    def values(self, model: Any) -> dict[str, Number]:
        """The value of each variable in a model of z3's; words have a sign."""
        return {name: self._value(model.eval(h.term, model_completion=True), h.sort) for name, h in self._variables.items()}

    def _value(self, value: Any, sort: Sort) -> Number:
        match sort.kind:
            case "bool":
                return bool(self._z3.is_true(value))
            case "int":
                return int(value.as_long())
            case "word":
                return int(value.as_signed_long())
            case "real":
                if self._z3.is_algebraic_value(value):
                    value = value.approx(20)
                return Fraction(value.numerator_as_long(), value.denominator_as_long())

    # ------------------------------------------------------------ sorts

    @staticmethod
    def _need(wanted: str, fits: bool, *got: Handle) -> None:
        if not fits:
            raise SortError(wanted, *got)

    def _truth(self, handle: Handle) -> Any:
        self._need("a truth value", handle.sort == BOOL, handle)
        return handle.term

    def _real(self, handle: Handle) -> Any:
        return self._z3.ToReal(handle.term) if handle.sort == INT else handle.term

    def _alike(self, left: Handle, right: Handle) -> tuple[Any, Any, Sort]:
        """Both as terms of one sort."""
        if left.sort == right.sort:
            return left.term, right.term, left.sort
        self._need("two terms of one sort", {left.sort, right.sort} == {INT, REAL}, left, right)
        return self._real(left), self._real(right), REAL

    def _numeric(self, combine: Callable[[Any, Any], Any], left: Handle, right: Handle) -> Handle:
        self._need("numbers", left.sort != BOOL and right.sort != BOOL, left, right)
        first, second, sort = self._alike(left, right)
        return Handle(combine(first, second), sort)

    def _words(self, combine: Callable[[Any, Any], Any], left: Handle, right: Handle) -> Handle:
        self._need("words of one width", left.sort == right.sort and left.sort.kind == "word", left, right)
        return Handle(combine(left.term, right.term), left.sort)
