"""Expressions in another language, by its table.

Whole numbers without infinities have their least and greatest number stand for them: sums say so where a term may be infinite.
Which terms may be is found out here, not read from the sorts: the identity is among the values that kernels combine, and it may
be infinite where no list's value is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias, cast

from warploom.core import Diagnostic, UnsupportedError
from warploom.ctext import Text
from warploom.scan.emit.dialect import Dialect, Scalar, Spelling, Types
from warploom.scan.operators.expression import Expr, Monomial, Sort, Value, polynomial, subexpressions

Ends: TypeAlias = tuple[bool, bool]
"""The first is true if a number may be minus infinity, the second if it may be infinity."""
_FINITE: Ends = (False, False)
_WIDE = 3
"""Operations from which a repeated expression gets a name."""


def scalar_of(sort: Sort, types: Types) -> Scalar:
    """The machine type; text is one character, as its code."""
    match sort.base:
        case "bool":
            return "bool"
        case "real":
            return types.real
        case "int":
            return types.whole
        case "text":
            return "int32"


def unserved(what: str, target: str, fix: str = "Try another target.") -> UnsupportedError:
    return UnsupportedError(
        Diagnostic("EMIT_UNSUPPORTED", f"expected an operator that {target} can express, got {what}", fix=fix)
    )


@dataclass(slots=True)
class Printer:
    """Texts over the variables in `names`."""

    dialect: Dialect
    types: Types
    names: Mapping[Expr, str]
    infinite: Mapping[Expr, Ends]
    """Variables that may be infinite."""
    _named: dict[Expr, str] = field(default_factory=dict[Expr, str])
    _ends: dict[Expr, Ends] = field(default_factory=dict[Expr, Ends])

    def named(self, expr: Expr, name: str) -> None:
        """Writes the expression by name from now on."""
        self._named[expr] = name

    def text(self, expr: Expr, level: int = 0, wanted: Scalar | None = None) -> str:
        """Parenthesised where it binds less tightly than `level`; of type `wanted` where that is given."""
        return self._converted(expr, wanted or self.scalar(expr)).at(level)

    def scalar(self, expr: Expr) -> Scalar:
        return scalar_of(expr.sort, self.types)

    def _converted(self, expr: Expr, wanted: Scalar) -> Text:
        own = self.scalar(expr)
        if own == wanted or expr.op == "const":
            return self._source(expr, wanted)
        if own == "bool":
            ready = self._spelling("select", wanted, [expr])
            one, zero = (self.dialect.number(n, wanted).text for n in (1, 0))
            return self._filled(ready, wanted, [self.text(expr, ready.inner), one, zero])
        cast_form = self._spelling("cast", wanted, [expr])
        written = self._filled(cast_form, wanted, [self.text(expr, cast_form.inner)])
        below, above = self.ends(expr)
        if wanted not in ("float32", "float64") or self.dialect.infinities == "numbers":
            return written
        for is_possible, sentinels in ((below, self.dialect.below), (above, self.dialect.above)):
            if is_possible:
                same = self._spelling("==", "bool", [])
                test = self._filled(same, "bool", [self.text(expr, same.inner), sentinels[own]])
                written = self._select(test, self._atom(sentinels[wanted]), written, wanted)
        return written

    def _atom(self, text: str) -> Text:
        return Text(text, self.dialect.levels.atom)

    def _source(self, expr: Expr, wanted: Scalar) -> Text:
        if expr in self._named:
            return self._atom(self._named[expr])
        if expr in self.names:
            return self._atom(self.names[expr])
        dialect = self.dialect
        match expr.op:
            case "const":
                return self._atom(self.constant(expr.value, wanted))
            case "var":
                raise unserved(f"the name {expr.value}", dialect.name)
            case "poly":
                return self._sum(polynomial(expr), wanted)
            case "max" | "min" | "gcd":
                found = self._converted(expr.args[0], wanted)
                for argument in expr.args[1:]:
                    ready = self._spelling(expr.op, wanted, [expr])
                    texts = [found.at(ready.inner), self.text(argument, ready.inner, wanted)]
                    found = self._filled(ready, wanted, texts)
                return found
            case "ite":
                condition, then, otherwise = expr.args
                return self._select(
                    self._converted(condition, "bool"), self._converted(then, wanted), self._converted(otherwise, wanted), wanted
                )
            case "ge" | "gt":
                return self._comparison(expr, ">=" if expr.op == "ge" else ">")
            case "eq":
                return self._equality(expr, "==")
            case "and" | "or" | "bitand" | "bitor" | "bitxor":
                join = dialect.joins[expr.op]
                return Text(join.sign.join(self.text(a, join.inner) for a in expr.args), join.level)
            case "not":
                return self._negation(expr.args[0])
            case "floordiv" | "mod":
                divisor = cast("int", expr.value)
                ready = self._spelling(expr.op, wanted, [expr])
                inner: Scalar = "int64" if wanted == "int32" and self._may_widen(expr) else wanted
                argument = self.text(expr.args[0], ready.inner, inner if expr.args[0].op != "poly" else wanted)
                if expr.args[0].op == "poly" and inner != wanted:
                    argument = self._sum(polynomial(expr.args[0]), inner).at(ready.inner)
                return self._filled(ready, inner, [argument, dialect.number(divisor, inner).at(ready.inner)])
            case "div":
                ready = self._spelling("div", wanted, [expr])
                written = self._filled(ready, wanted, [self.text(a, ready.inner, wanted) for a in expr.args])
                if not expr.value:
                    return written
                # it may be computed where its guard does not hold: as vectors, or moved
                form, below = self._spelling("!=", "bool", []), expr.args[1]
                zero = self.dialect.number(0, wanted)
                test = self._filled(form, "bool", [self.text(below, form.inner), self.dialect.number(0, self.scalar(below)).text])
                return self._select(test, written, zero, wanted)
            case "maybe":
                fix = "Return a number where the list is empty, such as `return 0.0 if mean is None else mean`."
                raise unserved("a result that may be None", dialect.name, fix)
            case "exp" | "log" | "sqrt":
                ready = self._spelling(expr.op, wanted, [expr])
                return self._filled(ready, wanted, [self.text(expr.args[0], ready.inner, wanted)])

    def _may_widen(self, quotient: Expr) -> bool:
        """Whether what is divided may be beyond 32 bits, where 64 are had for the asking."""
        if self.dialect.name == "jax":
            return (
                any(e.op == "poly" for e in subexpressions(quotient)) or not -(1 << 31) <= cast("int", quotient.value) < 1 << 31
            )
        return self.dialect.name != "numpy"

    def constant(self, value: Value, wanted: Scalar) -> str:
        match value:
            case bool():
                if wanted != "bool":
                    return self.dialect.number(int(value), wanted).at(self.dialect.levels.atom)
                return self.dialect.true if value else self.dialect.false
            case str():
                if len(value) > 1:
                    raise unserved(f"the text {value!r} (one character is its code)", self.dialect.name)
                return str(ord(value) if value else 0)
            case float():
                return (self.dialect.below if value == -math.inf else self.dialect.above)[wanted]
            case _:
                return self.dialect.number(value, wanted).at(self.dialect.levels.atom)

    def _spelling(self, op: str, wanted: Scalar, exprs: Sequence[Expr]) -> Spelling:
        found = self.dialect.spellings.get(op)
        if op == "select" and wanted in ("int32", "int64"):
            found = self.dialect.spellings.get("select_whole", found)
        if op == "div" and all(a.op == "const" for e in exprs for a in e.args):
            found = self.dialect.spellings.get("div_numbers", found)
        if found is None:
            raise unserved(op, self.dialect.name)
        return found

    def _filled(self, ready: Spelling, wanted: Scalar, texts: Sequence[str]) -> Text:
        return Text(ready.text.format(*texts, T=self.dialect.types[wanted]), ready.level)

    def _select(self, test: Text, then: Text, otherwise: Text, wanted: Scalar) -> Text:
        ready = self._spelling("select", wanted, [])
        # an operator's last operand may be a choice itself
        texts = [test.at(ready.inner), then.at(ready.inner), otherwise.at(min(ready.level, ready.inner))]
        return self._filled(ready, wanted, texts)

    def _negation(self, inner: Expr) -> Text:
        match inner.op:
            case "ge":
                return self._comparison(inner, "<")
            case "gt":
                return self._comparison(inner, "<=")
            case "eq":
                return self._equality(inner, "!=")
            case _:
                ready = self._spelling("not", "bool", [])
                return self._filled(ready, "bool", [self.text(inner, ready.inner)])

    def _equality(self, expr: Expr, sign: str) -> Text:
        one, other = expr.args
        if one.op == "const":
            one, other = other, one
        wanted = self.scalar(one)
        ready = self._spelling(sign, "bool", [])
        return self._filled(ready, "bool", [self.text(one, ready.inner, wanted), self.text(other, ready.inner, wanted)])

    def _comparison(self, expr: Expr, sign: str) -> Text:
        """`sum >= 0` with the negative terms moved to the right, so that infinities compare as they should."""
        terms = polynomial(expr.args[0])
        right = {m: -c for m, c in terms.items() if c < 0}
        left = {m: c for m, c in terms.items() if c > 0}
        if sign in (">=", "<") and right.get((), 0) == 1 and len(right) > 1 and expr.args[0].sort.base == "int":
            right.pop(())
            sign = {">=": ">", "<": "<="}[sign]
        wanted = self.scalar(expr.args[0])
        ready = self._spelling(sign, "bool", [])
        texts = [self._sum(side, wanted).at(ready.inner) for side in (left, right)]
        return self._filled(ready, "bool", texts)

    def _sum(self, terms: Mapping[Monomial, int | Fraction], wanted: Scalar) -> Text:
        levels = self.dialect.levels
        if not terms:
            return self.dialect.number(0, wanted)
        ordered = sorted(terms.items(), key=lambda t: (not t[0], t[1] < 0))
        text = ""
        for monomial, coefficient in ordered:
            magnitude = abs(coefficient)
            factors = [self.text(atom, levels.factor, wanted) for atom in monomial]
            if magnitude != 1 or not monomial:
                factors.insert(0, self.dialect.number(magnitude, wanted).at(levels.factor))
            product = " * ".join(factors)
            if text:
                text += f" {'-' if coefficient < 0 else '+'} {product}"
            else:
                text = f"-{product}" if coefficient < 0 else product
        lone = len(ordered) == 1 and ordered[0][1] > 0
        level = levels.sum if not lone else levels.product
        if lone and ((len(ordered[0][0]) <= 1 and ordered[0][1] == 1) or not ordered[0][0]):
            level = levels.factor
        return self._guarded(terms, Text(text, level), wanted)

    def _guarded(self, terms: Mapping[Monomial, int | Fraction], written: Text, wanted: Scalar) -> Text:
        """A sum of whole numbers is infinite where one of its terms is."""
        alone = len(terms) == 1 and next(iter(terms.values())) == 1 and len(next(iter(terms))) == 1
        if self.dialect.infinities == "numbers" or wanted not in ("int32", "int64") or alone:
            return written
        for monomial, coefficient in reversed(list(terms.items())):
            for atom in monomial:
                below, above = self.ends(atom)
                if not (below or above):
                    continue
                if len(monomial) > 1:
                    raise unserved("a product with what may be infinite", self.dialect.name)
                for is_possible, name, opposite in (
                    (below, self.dialect.below, self.dialect.above), (above, self.dialect.above, self.dialect.below),
                ):  # fmt: skip
                    if is_possible:
                        form = self._spelling("==", "bool", [])
                        test = self._filled(form, "bool", [self.text(atom, form.inner, wanted), name[wanted]])
                        value = name[wanted] if coefficient > 0 else opposite[wanted]
                        written = self._select(test, self._atom(value), written, wanted)
        return written

    def ends(self, expr: Expr) -> Ends:
        """Whether it may be infinite."""
        known = self._ends.get(expr)
        if known is None:
            known = self._ends[expr] = ends_of(expr, self.infinite, self._ends)
        return known


def ends_of(expr: Expr, infinite: Mapping[Expr, Ends], memory: dict[Expr, Ends]) -> Ends:
    """Whether it may be infinite where the variables may be as `infinite` says."""
    for part in subexpressions(expr):
        if part not in memory:
            memory[part] = _ends(part, infinite, memory)
    return memory[expr]


def _ends(expr: Expr, infinite: Mapping[Expr, Ends], memory: Mapping[Expr, Ends]) -> Ends:
    parts = [memory[a] for a in expr.args]
    match expr.op:
        case "const":
            return (expr.value == -math.inf, expr.value == math.inf) if isinstance(expr.value, float) else _FINITE
        case "var":
            return infinite.get(expr, _FINITE)
        case "poly":
            below = above = False
            for coefficient, monomial in expr.terms:
                for atom in monomial:
                    low, high = memory[atom] if coefficient > 0 else memory[atom][::-1]
                    below, above = below or low, above or high
            return below, above
        case "max":
            return all(p[0] for p in parts), any(p[1] for p in parts)
        case "min":
            return any(p[0] for p in parts), all(p[1] for p in parts)
        case "ite":
            return parts[1][0] or parts[2][0], parts[1][1] or parts[2][1]
        case _:
            return _FINITE


def repeated(results: Iterable[Expr], also: Sequence[Literal["gcd", "exp"]] = ("gcd", "exp")) -> list[Expr]:
    """Expressions worth a name of their own, inner ones first; conditions' branches are evaluated even if not taken."""
    results = list(results)
    uses: Counter[Expr] = Counter(results)
    every = subexpressions(*results)
    for expr in every:
        uses.update(expr.args)
    return [e for e in every if uses[e] > 1 and e.args and (len(subexpressions(e)) > _WIDE or e.op in also)]
