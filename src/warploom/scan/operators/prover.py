"""Laws over expressions, decided by z3 for all values of their variables; infinities are exact.

A number that may be infinite is a finite number and whether it is minus infinity or infinity instead. Laws are stated with
bindings (this slot is that expression), which are composed in the solver's terms, so a law does not rest on the simplifications
that found the expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Literal, TypeAlias, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Value
from warploom.solve import BOOL, INT, REAL, Builder, Handle, Sat, SortError, Unknown, Unsat, word
from warploom.solve import Sort as SolverSort

RLIMIT = 6_000_000
"""z3's resource units for one law; about three seconds."""


@dataclass(frozen=True, slots=True)
class Number:
    """A translated value; without flags it is a finite number.

    `undefined`: it has no value, as the sum of opposite infinities has none; no claim holds of it.
    """

    term: Handle
    below: Handle | None = None
    above: Handle | None = None
    undefined: Handle | None = None


Bindings: TypeAlias = Mapping[Expr, Number]


@dataclass(frozen=True, slots=True)
class Holds:
    """The claim holds for all values of the variables."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The claim fails for these values, which the caller replays."""

    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Open:
    """The claim is not decided: never the same as either."""

    reason: str


Verdict: TypeAlias = Holds | Fails | Open


class UntranslatableError(Exception):
    """z3 has no form of this operation here."""


class Translator:
    """Expressions to terms of one `Builder`; variables appear with what their sorts say of them."""

    def __init__(self, width: int | None = None, *, opaque_products: bool = False) -> None:
        self.builder = Builder()
        self.whole = word(width) if width else INT
        """The sort of integers: words of `width` bits, or unbounded."""
        self._products: dict[ex.Monomial, Handle] | None = {} if opaque_products else None
        """With `opaque_products`, products of variables are variables of their own."""
        self._width = width
        self._variables: dict[Expr, Number] = {}
        self._texts: dict[str, int] = {}
        self._opaque: dict[Expr, Number] = {}
        self.known: list[Handle] = []
        """Facts that the sorts of the variables state."""

    def bound(self, values: Mapping[Expr, Expr], bindings: Bindings | None = None) -> dict[Expr, Number]:
        """Expressions as bindings."""
        memory: dict[Expr, Number] = {}
        return {k: self.number(e, bindings, memory) for k, e in values.items()}

    def number(self, expr: Expr, bindings: Bindings | None = None, memory: dict[Expr, Number] | None = None) -> Number:
        """Raises UntranslatableError."""
        found = {} if memory is None else memory
        for part in ex.subexpressions(expr):
            if part not in found:
                try:
                    found[part] = self._number(part, found, bindings or {})
                except SortError as error:
                    raise UntranslatableError(error.reason) from error
        return found[expr]

    def condition(self, expr: Expr, bindings: Bindings | None = None, memory: dict[Expr, Number] | None = None) -> Handle:
        """Whether it has a value, which is true."""
        found = self.number(expr, bindings, memory)
        return self._defined(found.term, found)

    def equal(self, left: Number, right: Number) -> Handle:
        """Whether both have a value, the same one."""
        return self._defined(self._same(left, right), left, right)

    def _same(self, left: Number, right: Number) -> Handle:
        a = self.builder
        finite = a.equal(left.term, right.term)
        if left.below is right.below is left.above is right.above is None:
            return finite
        no = a.constant(False, BOOL)
        lb, la, rb, ra = (x if x is not None else no for x in (left.below, left.above, right.below, right.above))
        none = a.negation(a.either([lb, la, rb, ra]))
        return a.either([a.both([none, finite]), a.both([lb, rb]), a.both([la, ra])])

    def _defined(self, condition: Handle, *values: Number) -> Handle:
        found = [v.undefined for v in values if v.undefined is not None]
        return self.builder.both([condition, *map(self.builder.negation, found)]) if found else condition

    def _undefined(self, *values: Number) -> Handle | None:
        found = [v.undefined for v in values if v.undefined is not None]
        return None if not found else found[0] if len(found) == 1 else self.builder.either(found)

    def _number(self, expr: Expr, known: Mapping[Expr, Number], bindings: Bindings) -> Number:
        a = self.builder
        args = [known[x] for x in expr.args]
        match expr.op:
            case "const":
                return self._constant(expr.value)
            case "var":
                return bindings[expr] if expr in bindings else self._variable(expr)
            case "poly":
                return self._polynomial(expr, known)
            case "max" | "min":
                result = args[0]
                for other in args[1:]:
                    first = self._at_least(result, other)
                    chosen = self._select(first, result, other) if expr.op == "max" else self._select(first, other, result)
                    result = replace(chosen, undefined=self._undefined(result, other))
                return result
            case "ite":
                chosen = self._select(args[0].term, args[1], args[2])
                return replace(chosen, undefined=self._undefined(args[0], chosen))
            case "ge":
                holds = self._sides(expr, known) if self._width else self._sign(args[0], strict=False)
                return Number(holds, undefined=self._undefined(args[0]))
            case "gt":
                holds = self._sides(expr, known) if self._width else self._sign(args[0], strict=True)
                return Number(holds, undefined=self._undefined(args[0]))
            case "eq":
                return Number(self._same(args[0], args[1]), undefined=self._undefined(*args))
            case "and":
                return Number(a.both([x.term for x in args]), undefined=self._undefined(*args))
            case "or":
                return Number(a.either([x.term for x in args]), undefined=self._undefined(*args))
            case "not":
                return Number(a.negation(args[0].term), undefined=self._undefined(*args))
            case "floordiv":
                return Number(a.floor_divide(self._finite(args[0]), int(cast(int, expr.value))), undefined=self._undefined(*args))
            case "mod":
                return Number(a.remainder(self._finite(args[0]), int(cast(int, expr.value))), undefined=self._undefined(*args))
            case "div":
                return Number(a.divide(self._finite(args[0]), self._finite(args[1])), undefined=self._undefined(*args))
            case "bitand" | "bitor" | "bitxor":
                if self._width is None:
                    raise UntranslatableError("bitwise operations on unbounded integers")
                sign: Literal["&", "|", "^"] = "&" if expr.op == "bitand" else "|" if expr.op == "bitor" else "^"
                joined = reduce(lambda x, y: a.bitwise(sign, x, y), (x.term for x in args))
                return Number(joined, undefined=self._undefined(*args))
            case "maybe":
                raise UntranslatableError("a result that may be None")
            case "gcd" | "exp" | "log" | "sqrt":
                if bindings:
                    raise UntranslatableError(expr.op)
                if expr not in self._opaque:
                    term = a.variable(f"{expr.op}#{len(self._opaque)}", self.whole if expr.op == "gcd" else REAL)
                    self._opaque[expr] = Number(term)
                    self.known += self._facts(expr, term, args)
                return self._opaque[expr]

    def _facts(self, expr: Expr, term: Handle, args: Sequence[Number]) -> list[Handle]:
        """Facts about a power of e or a common divisor that is a variable of its own."""
        a = self.builder
        zero, one = a.constant(0, self.whole), a.constant(1, self.whole)
        if expr.op == "exp":
            return [a.negation(a.at_least(zero, term))]
        if expr.op in ("log", "sqrt"):
            return []
        found = [a.at_least(term, zero)]
        for number in args:
            own = self._finite(number)
            within = a.either([a.at_least(own, term), a.at_least(a.multiply(a.constant(-1, self.whole), own), term)])
            found.append(a.either([a.equal(own, zero), a.both([a.at_least(term, one), within])]))
        return found

    def _sort(self, base: ex.Base) -> SolverSort:
        return BOOL if base == "bool" else REAL if base == "real" else self.whole

    def _constant(self, value: Value) -> Number:
        a = self.builder
        if isinstance(value, bool):
            return Number(a.constant(value, BOOL))
        if isinstance(value, str):
            return Number(a.constant(self._texts.setdefault(value, len(self._texts)), self.whole))
        if isinstance(value, float):
            yes, zero = a.constant(True, BOOL), a.constant(0, self.whole)
            return Number(zero, below=yes) if value < 0 else Number(zero, above=yes)
        return Number(a.constant(value, REAL if isinstance(value, Fraction) else self.whole))

    def _variable(self, expr: Expr) -> Number:
        if expr in self._variables:
            return self._variables[expr]
        a, name, sort = self.builder, str(expr.value), expr.sort
        term = a.variable(name, self._sort(sort.base))
        below = a.variable(f"{name} below", BOOL) if sort.below else None
        above = a.variable(f"{name} above", BOOL) if sort.above else None
        if below is not None and above is not None:
            self.known.append(a.negation(a.both([below, above])))
        if sort.values is not None:
            self.known.append(a.either([a.equal(term, a.constant(v, self.whole)) for v in sort.values]))
        if sort.bits is not None and (self._width is None or sort.bits < self._width):
            most = a.constant((1 << sort.bits) - 1, self.whole)
            self.known += [a.at_least(term, a.constant(0, self.whole)), a.at_least(most, term)]
        found = self._variables[expr] = Number(term, below, above)
        return found

    def value(self, expr: Expr, found: Sat[Value]) -> Value:
        """Value of a variable in a model."""
        name = str(expr.value)
        if found.model.get(f"{name} below"):
            return float("-inf")
        if found.model.get(f"{name} above"):
            return float("inf")
        value = found.model[name]
        if expr.sort.base == "text":
            return next((t for t, n in self._texts.items() if n == value), f"other {value}")
        return value

    def _polynomial(self, expr: Expr, known: Mapping[Expr, Number]) -> Number:
        a = self.builder
        total: Number | None = None
        for coefficient, monomial in expr.terms:
            part = self._product(coefficient, monomial, known)
            if total is None:
                total = part
                continue
            total = Number(
                a.add(total.term, part.term), self._any(total.below, part.below), self._any(total.above, part.above),
                self._undefined(total, part),
            )  # fmt: skip
        assert total is not None
        if total.below is not None and total.above is not None and len(expr.terms) > 1:
            opposite = a.both([total.below, total.above])
            return replace(total, undefined=self._any(total.undefined, opposite))
        return total

    def _product(self, coefficient: int | Fraction, monomial: ex.Monomial, known: Mapping[Expr, Number]) -> Number:
        a = self.builder
        scale = a.constant(coefficient, REAL if isinstance(coefficient, Fraction) else self.whole)
        if len(monomial) == 1:
            value = known[monomial[0]]
            term = value.term if coefficient == 1 else a.multiply(scale, value.term)
            below, above = (value.below, value.above) if coefficient > 0 else (value.above, value.below)
            return Number(term, below, above, value.undefined)
        if self._products is not None and len(monomial) > 1:
            return Number(
                a.multiply(scale, self._opaque_product(monomial, known)), undefined=self._undefined(*(known[x] for x in monomial))
            )
        term = scale if not monomial or coefficient != 1 else None
        for atom in monomial:
            factor = self._finite(known[atom])
            term = factor if term is None else a.multiply(term, factor)
        assert term is not None
        return Number(term, undefined=self._undefined(*(known[x] for x in monomial)))

    def _opaque_product(self, monomial: ex.Monomial, known: Mapping[Expr, Number]) -> Handle:
        """A variable whose sign is that of the product."""
        assert self._products is not None
        if len(monomial) == 1:
            return self._finite(known[monomial[0]])
        if monomial not in self._products:
            a = self.builder
            sort = REAL if any(x.sort.base == "real" for x in monomial) else self.whole
            term = self._products[monomial] = a.variable(f"product {len(self._products)}", sort)
            for position, atom in enumerate(monomial):
                rest = self._opaque_product((*monomial[:position], *monomial[position + 1 :]), known)
                self._know_sign(term, self._finite(known[atom]), rest)
        return self._products[monomial]

    def _know_sign(self, product: Handle, first: Handle, second: Handle) -> None:
        a = self.builder
        zero = a.constant(0, self.whole)

        def positive(x: Handle) -> Handle:
            return a.negation(a.at_least(zero, x))

        def negative(x: Handle) -> Handle:
            return a.negation(a.at_least(x, zero))

        rules = [([a.equal(x, zero)], a.equal(product, zero)) for x in (first, second)]
        rules += [([f(first), f(second)], positive(product)) for f in (positive, negative)]
        rules += [([f(first), g(second)], negative(product)) for f, g in ((positive, negative), (negative, positive))]
        self.known += [a.either([*map(a.negation, given), then]) for given, then in rules]

    def _any(self, left: Handle | None, right: Handle | None) -> Handle | None:
        if left is None or right is None:
            return left if right is None else right
        return self.builder.either([left, right])

    def _finite(self, value: Number) -> Handle:
        if value.below is not None or value.above is not None:
            raise UntranslatableError("the product of a value that may be infinite")
        return value.term

    def _sign(self, value: Number, *, strict: bool) -> Handle:
        a = self.builder
        zero = a.constant(0, self.whole)
        finite = a.negation(a.at_least(zero, value.term)) if strict else a.at_least(value.term, zero)
        if strict and value.below is not None and value.above is not None:
            # both: two equal infinities, of which neither is more
            return a.both([a.negation(value.below), a.either([value.above, finite])])
        if value.below is not None:
            finite = a.both([a.negation(value.below), finite])
        return finite if value.above is None else a.either([value.above, finite])

    def _sides(self, expr: Expr, known: Mapping[Expr, Number]) -> Handle:
        """A comparison of words as it is printed: what is added left, what is subtracted right, because differences wrap."""
        a = self.builder
        terms = ex.polynomial(expr.args[0])
        zero = a.constant(0, self.whole)
        left = right = zero
        strict = expr.op == "gt"
        for monomial, coefficient in terms.items():
            if not monomial and coefficient == -1 and any(c < 0 for m, c in terms.items() if m):
                strict = True
                continue
            part = self._product(abs(coefficient), monomial, known).term
            if coefficient > 0:
                left = part if left is zero else a.add(left, part)
            else:
                right = part if right is zero else a.add(right, part)
        return a.negation(a.at_least(right, left)) if strict else a.at_least(left, right)

    def _at_least(self, left: Number, right: Number) -> Handle:
        a = self.builder
        result = a.at_least(left.term, right.term)
        if left.below is not None:
            result = a.both([a.negation(left.below), result])
        if right.above is not None:
            result = a.both([a.negation(right.above), result])
        if right.below is not None:
            result = a.either([right.below, result])
        return result if left.above is None else a.either([left.above, result])

    def _select(self, condition: Handle, then: Number, otherwise: Number) -> Number:
        a = self.builder

        def flag(x: Handle | None, y: Handle | None) -> Handle | None:
            if x is None and y is None:
                return None
            no = a.constant(False, BOOL)
            return a.select(condition, no if x is None else x, no if y is None else y)

        term = a.select(condition, then.term, otherwise.term)
        return Number(
            term, flag(then.below, otherwise.below), flag(then.above, otherwise.above), flag(then.undefined, otherwise.undefined)
        )


def decide(
    translator: Translator, given: Sequence[Handle], claims: Iterable[Handle], asked: Iterable[Expr], rlimit: int = RLIMIT
) -> Verdict:
    """Whether the claims follow; a failure gives the values of `asked`."""
    a = translator.builder
    claim = a.both(list(claims))
    answer = a.check([*translator.known, *given, a.negation(claim)], rlimit)
    match answer:
        case Unsat():
            return Holds()
        case Unknown(reason):
            return Open(reason)
        case Sat():
            return Fails({str(v.value): translator.value(v, answer) for v in asked if str(v.value) in answer.model})
