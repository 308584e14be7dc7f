"""Expressions and functions as Python source."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import cast

from warploom.scan.operators.exact import exactly
from warploom.scan.operators.expression import (
    TRUE,
    Expr,
    Monomial,
    UndefinedError,
    Value,
    negate,
    negation,
    polynomial,
    subexpressions,
    subtract,
)

_TERNARY, _OR, _AND, _NOT, _COMPARE, _BITOR, _BITXOR, _BITAND, _SUM, _PRODUCT, _ATOM = range(11)
_SIGNS = {"bitand": (" & ", _BITAND), "bitor": (" | ", _BITOR), "bitxor": (" ^ ", _BITXOR)}
RESERVED = frozenset({"max", "min", "gcd", "exp", "inf", "math", "Fraction", "element", "TypeError"})
"""Names that printed functions use: no variable may have one."""
WIDEST = 88
"""Characters of a result that still go on one line."""
_MANY = 100
"""Parts of an expression that surely is as wide as the next says."""
_WIDE = 24
"""Characters from which a repeated sub-expression gets a name."""


def python(expr: Expr, names: Mapping[Expr, str] | None = None) -> str:
    """Python source of `expr`; sub-expressions in `names` are written by name."""
    return _Printer(names or {}).text(expr, _TERNARY)


def literal(value: Value) -> str:
    match value:
        case float():
            return "inf" if value > 0 else "-inf"
        case Fraction() if _is_decimal(value):
            return repr(float(value))
        case Fraction():
            return f"Fraction({value.numerator}, {value.denominator})"
        case _:
            return repr(value)


def _is_decimal(value: Fraction) -> bool:
    try:
        return Fraction(str(float(value))) == value
    except OverflowError:  # no float holds it
        return False


class _Printer:
    def __init__(self, names: Mapping[Expr, str]) -> None:
        self._names = names
        self._facts: list[Expr] = []
        """Conditions that hold where the text stands that is being written."""

    @contextmanager
    def _where(self, *facts: Expr) -> Generator[None]:
        before = len(self._facts)
        self._facts += facts
        yield
        del self._facts[before:]

    def text(self, expr: Expr, level: int) -> str:
        """Parenthesised where it binds less tightly than `level` needs."""
        if expr in self._names:
            return self._names[expr]
        source, own = self._source(expr)
        return f"({source})" if own < level else source

    def _source(self, expr: Expr) -> tuple[str, int]:
        match expr.op:
            case "const":
                source = literal(expr.value)
                return source, _SUM if source.startswith("-") else _ATOM
            case "var":
                return str(expr.value), _ATOM
            case "poly":
                return self._sum(polynomial(expr))
            case "max" | "min" | "gcd":
                return f"{expr.op}({', '.join(self.text(a, _TERNARY) for a in expr.args)})", _ATOM
            case "exp":
                return f"exp({self.text(expr.args[0], _TERNARY)})", _ATOM
            case "log" | "sqrt":
                return f"math.{expr.op}({self.text(expr.args[0], _TERNARY)})", _ATOM
            case "ite":
                condition, then, otherwise = expr.args
                with self._where(condition):
                    first = self.text(then, _OR)
                with self._where(negation(condition)):
                    second = self.text(otherwise, _TERNARY)
                return f"{first} if {self.text(condition, _OR)} else {second}", _TERNARY
            case "maybe":
                if expr.args[0] is TRUE:
                    return "None", _ATOM
                return f"None if {self.text(expr.args[0], _OR)} else {self.text(expr.args[1], _TERNARY)}", _TERNARY
            case "ge" | "gt":
                return self._comparison(expr, ">=" if expr.op == "ge" else ">"), _COMPARE
            case "eq":
                return f"{self.text(expr.args[0], _BITOR)} == {self.text(expr.args[1], _BITOR)}", _COMPARE
            case "and":
                return self._conjunction(expr), _AND
            case "or":
                return " or ".join(self._operands(expr.args, _AND, negation)), _OR
            case "not":
                return self._negation(expr.args[0])
            case "floordiv":
                return f"{self.text(expr.args[0], _ATOM)} // {expr.value}", _PRODUCT
            case "mod":
                return f"{self.text(expr.args[0], _ATOM)} % {expr.value}", _PRODUCT
            case "div":
                above, below = expr.args
                text = f"{self.text(above, _PRODUCT)} / {self.text(below, _ATOM)}"
                if not expr.value or any(_excludes_zero(f, below) for f in self._facts):
                    return text, _PRODUCT
                return f"{text} if {self.text(below, _BITOR)} != 0 else 0", _TERNARY
            case "bitand" | "bitor" | "bitxor":
                sign, level = _SIGNS[expr.op]
                return sign.join(self.text(a, level + 1) for a in expr.args), level

    def _negation(self, inner: Expr) -> tuple[str, int]:
        if inner.op in ("ge", "gt"):
            return self._comparison(inner, "<" if inner.op == "ge" else "<="), _COMPARE
        if inner.op == "eq":
            return f"{self.text(inner.args[0], _BITOR)} != {self.text(inner.args[1], _BITOR)}", _COMPARE
        return f"not {self.text(inner, _NOT)}", _NOT

    def _operands(self, parts: Sequence[Expr], level: int, known: Callable[[Expr], Expr]) -> list[str]:
        """Operands of `and` and `or`: what divides stands behind what guards it; `known` is what an operand says to those
        behind it."""
        ordered = sorted(parts, key=lambda p: any(e.op == "div" for e in subexpressions(p)))
        texts: list[str] = []
        for number, part in enumerate(ordered):
            with self._where(*map(known, ordered[:number])):
                texts.append(self.text(part, level))
        return texts

    def _conjunction(self, expr: Expr) -> str:
        """Pairs `p >= 0 and p < 1` are equalities."""
        parts: list[str] = []
        upper = {a.args[0].args[0]: a for a in expr.args if a.op == "not" and a.args[0].op == "ge"}
        used: set[Expr] = set()
        for part in expr.args:
            if part.op != "ge":
                continue
            for difference, bound in upper.items():
                gap = {
                    m: polynomial(part.args[0]).get(m, 0) - polynomial(difference).get(m, 0)
                    for m in {*polynomial(part.args[0]), *polynomial(difference)}
                }
                if {m: c for m, c in gap.items() if c} == {(): 1} and part.args[0].sort.base == "int" and bound not in used:
                    parts.append(self._comparison(part, "=="))
                    used |= {part, bound}
        with self._where(*used):
            rest = self._operands([a for a in expr.args if a not in used], _NOT, lambda part: part)
        return " and ".join(parts + rest)

    def _comparison(self, expr: Expr, sign: str) -> str:
        """`sum >= 0` with the negative terms moved to the right."""
        terms = polynomial(expr.args[0])
        right = {m: -c for m, c in terms.items() if c < 0}
        left = {m: c for m, c in terms.items() if c > 0}
        if sign in (">=", "<") and right.get((), 0) == 1 and len(right) > 1:
            # a - b - 1 >= 0 is a > b
            right.pop(())
            sign = {">=": ">", "<": "<="}[sign]
        elif sign in (">=", "<") and left.get((), 0) == 1 and len(left) > 1 and expr.args[0].sort.base == "int":
            # a + 1 >= b: b <= a
            pass
        return f"{self._sum(left)[0]} {sign} {self._sum(right)[0]}"

    def _sum(self, terms: Mapping[Monomial, int | Fraction]) -> tuple[str, int]:
        ordered = sorted(terms.items(), key=lambda t: (not t[0], t[1] < 0))
        if not ordered:
            return "0", _ATOM
        text = ""
        for monomial, coefficient in ordered:
            magnitude = abs(coefficient)
            factors = [] if magnitude == 1 and monomial else [literal(magnitude)]
            counts = Counter(monomial)
            factors += [
                f"{self.text(a, _ATOM)} ** {n}" if n > 3 else " * ".join([self.text(a, _ATOM)] * n) for a, n in counts.items()
            ]
            product = " * ".join(factors)
            if text:
                text += f" {'-' if coefficient < 0 else '+'} {product}"
            else:
                text = f"-{product}" if coefficient < 0 else product
        lone = len(ordered) == 1 and ordered[0][1] > 0
        return text, (_ATOM if lone and len(ordered[0][0]) <= 1 and ordered[0][1] == 1 else _PRODUCT) if lone else _SUM


def _excludes_zero(fact: Expr, value: Expr) -> bool:
    """Whether a condition plainly says that `value` is not 0."""
    match fact.op:
        case "and":
            return any(_excludes_zero(a, value) for a in fact.args)
        case "or":
            return all(_excludes_zero(a, value) for a in fact.args)
        case "ge" | "gt":
            return _bounds_away(fact.args[0], value, strict=fact.op == "gt")
        case "not" if fact.args[0].op in ("ge", "gt"):
            # not p >= 0 is -p > 0
            return _bounds_away(negate(fact.args[0].args[0]), value, strict=fact.args[0].op == "ge")
        case _:
            return False


def _bounds_away(known: Expr, value: Expr, *, strict: bool) -> bool:
    """Whether `known >= 0` (> 0 if strict) is a bound of `value`, or of its negative, that leaves 0 out."""
    for signed in (value, negate(value)):
        try:
            gap = polynomial(subtract(known, signed))
        except UndefinedError:
            continue
        if not {*gap} - {()}:
            # value = known - gap >= -gap
            bound = -gap.get((), 0)
            if bound > 0 or (bound == 0 and strict):
                return True
    return False


def packed(names: Sequence[str], trailing: bool = True) -> str:
    """A tuple pattern or display; one name alone stands for itself."""
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def function(
    name: str,
    parameters: Sequence[str],
    unpacked: Sequence[tuple[str, Sequence[str]]],
    results: Sequence[Expr],
    renamed: Mapping[Expr, str] | None = None,
    as_tuple: bool = False,
    first: Sequence[str] = (),
) -> str:
    """A `def`: `unpacked` takes tuples apart; repeated wide sub-expressions are named; `renamed` are variables.

    `first` are lines before anything but the unpacking is computed.
    """
    lines = [f"def {name}({', '.join(parameters)}):"]
    lines += [f"    {', '.join(parts)} = {whole}" for whole, parts in unpacked if len(parts) > 1]
    lines += list(first)
    named = _repeated(results)
    names: dict[Expr, str] = dict(renamed or {})
    taken = {*parameters, *names.values(), *(p for _, parts in unpacked for p in parts)}
    number = 0
    for expr in named:
        number += 1
        while f"t{number}" in taken:
            number += 1
        lines.append(f"    t{number} = {python(expr, names)}")
        names[expr] = f"t{number}"
    parts = [python(r, names) for r in results]
    returned = ", ".join(parts) or "()"
    if len(returned) > WIDEST and len(parts) > 1:
        return "\n".join([*lines, "    return (", *(f"        {p}," for p in parts), "    )"])
    is_packed = as_tuple and len(results) > 0
    lines.append(f"    return ({returned}{',' if len(results) == 1 else ''})" if is_packed else f"    return {returned}")
    return "\n".join(lines)


def _repeated(results: Iterable[Expr]) -> list[Expr]:
    """Sub-expressions worth a name, inner ones first."""
    uses: Counter[Expr] = Counter()
    every = subexpressions(*results)
    for expr in every:
        for argument in expr.args:
            uses[argument] += 1
    uses.update(results)
    sizes: dict[Expr, int] = {}
    for expr in every:
        sizes[expr] = 1 + sum(sizes[a] for a in expr.args)

    def is_wide(expr: Expr) -> bool:
        return sizes[expr] > _MANY or expr.op in ("gcd", "exp", "log", "sqrt") or len(python(expr)) >= _WIDE

    return [e for e in every if uses[e] > 1 and e.op not in ("const", "var") and is_wide(e)]


def compiled(parameters: Sequence[Expr], results: Sequence[Expr]) -> Callable[..., tuple[Value, ...]]:
    """A function from the parameters' values, in order, to a tuple of the results; decimal numbers are meant exactly."""
    names = [f"v{n}" for n in range(len(parameters))]
    source = function("run", names, [], results, dict(zip(parameters, names, strict=True)), as_tuple=True)
    made = cast("Callable[..., tuple[Value, ...]]", evaluated(source, "run"))
    return cast("Callable[..., tuple[Value, ...]]", exactly(made))


def evaluated(source: str, name: str) -> object:
    """The function `name` of Python source that this module printed."""
    scope: dict[str, object] = {"inf": math.inf, "Fraction": Fraction, "gcd": math.gcd, "exp": math.exp}
    scope["math"] = math
    exec(compile(source, f"<{name}>", "exec"), scope)
    return scope[name]
