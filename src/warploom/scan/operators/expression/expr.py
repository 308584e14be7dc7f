"""Expressions as interned nodes: equal ones are one object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import Literal, TypeAlias

from warploom.core.interned import Interned

Value: TypeAlias = bool | int | Fraction | float | str
"""Constants; a float is an infinity."""
Base = Literal["int", "real", "bool", "text"]
Op = Literal[
    "const", "var", "poly", "max", "min", "ite", "ge", "gt", "eq", "and", "or", "not", "floordiv", "mod", "div", "gcd", "exp",
    "log", "sqrt", "bitand", "bitor", "bitxor", "maybe",
]  # fmt: skip
Monomial: TypeAlias = tuple["Expr", ...]
"""Atoms of a product, in order of creation, repeated for powers."""
MAX_CASES = 64
"""Possible values of an expression that are kept apart."""
MOST_BITS = 8192
"""Most bits of a number. Python prints no more than 14,000, and what has more comes from a mistake."""


class UndefinedError(Exception):
    """An expression that has no value, such as the difference of infinities."""


@dataclass(frozen=True, slots=True)
class Sort:
    """Sort of a value; text is only compared for equality."""

    base: Base
    below: bool = False
    """May be minus infinity."""
    above: bool = False
    """May be infinity."""
    values: tuple[int, ...] | None = None
    """The only values, ascending, where they are few and known."""
    bits: int | None = None
    """A whole number from 0 to 2**bits - 1, where that is known of a variable."""

    @property
    def is_numeric(self) -> bool:
        return self.base in ("int", "real")

    @property
    def is_infinite(self) -> bool:
        return self.below or self.above

    def joined(self, other: Sort) -> Sort:
        """The least sort of both."""
        values = None
        if self.values is not None and other.values is not None:
            union = tuple(sorted({*self.values, *other.values}))
            values = union if len(union) <= MAX_CASES else None
        base: Base = "real" if "real" in (self.base, other.base) else self.base
        return Sort(base, self.below or other.below, self.above or other.above, values)


INT, REAL, BOOL, TEXT = Sort("int"), Sort("real"), Sort("bool"), Sort("text")


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """Built by this module's functions only."""

    op: Op
    args: tuple[Expr, ...]
    value: Value
    """Value of a constant; of a variable its name; of a remainder or rounded quotient the divisor; of a quotient if it is
    guarded."""
    terms: tuple[tuple[int | Fraction, Monomial], ...]
    """Terms of a polynomial."""
    sort: Sort
    order: tuple[int, str]
    """The same in every process: what sums and maxima are ordered by."""

    def __repr__(self) -> str:
        """For debuggers; `printing.python` is the text for people."""
        return f"<{self.op} {self.value!r}>" if self.op in ("const", "var") else f"<{self.op} of {len(self.args)}>"


_Fields: TypeAlias = tuple[Op, tuple[Expr, ...], type, Value, tuple[tuple[int | Fraction, Monomial], ...], Sort]


def _made(fields: _Fields, _: int) -> Expr:
    op, args, _kind, value, terms, sort = fields
    for number in (value, *(c for c, _ in terms)):
        if isinstance(number, int | Fraction) and max(number.numerator, number.denominator, key=abs).bit_length() > MOST_BITS:
            raise UndefinedError(f"a number of more than {MOST_BITS} bits")
    return Expr(op, args, value, terms, sort, _order(op, args, value, terms))


_interned: Interned[_Fields, Expr] = Interned(_made)


def make(
    op: Op,
    args: tuple[Expr, ...] = (),
    value: Value = 0,
    terms: tuple[tuple[int | Fraction, Monomial], ...] = (),
    sort: Sort = INT,
) -> Expr:
    return _interned[op, args, type(value), value, terms, sort]


def _order(op: Op, args: tuple[Expr, ...], value: Value, terms: tuple[tuple[int | Fraction, Monomial], ...]) -> tuple[int, str]:
    if op in ("const", "var"):
        return (0 if op == "const" else 1), str(value)
    text = f"{op} {value} {[a.order for a in args]} {[(c, *(a.order for a in m)) for c, m in terms]}"
    return 2, blake2b(text.encode(), digest_size=8).hexdigest()


def constant(value: Value) -> Expr:
    if isinstance(value, bool):
        return make("const", value=value, sort=BOOL)
    if isinstance(value, str):
        return make("const", value=value, sort=TEXT)
    if isinstance(value, float):
        if math.isinf(value):
            return make("const", value=value, sort=Sort("int", below=value < 0, above=value > 0))
        value = Fraction(value).limit_denominator(10**12)
    if isinstance(value, Fraction):
        if value.denominator != 1:
            return make("const", value=value, sort=REAL)
        value = int(value)
    return make("const", value=value, sort=Sort("int", values=(value,)))


TRUE, FALSE, ZERO, ONE = constant(True), constant(False), constant(0), constant(1)
INFINITY, MINUS_INFINITY = constant(math.inf), constant(-math.inf)


def variable(name: str, sort: Sort) -> Expr:
    return make("var", value=name, sort=sort)


def is_infinite(expr: Expr) -> bool:
    return expr.op == "const" and isinstance(expr.value, float)


def subexpressions(*exprs: Expr) -> list[Expr]:
    """Each once, arguments before what uses them."""
    seen: dict[Expr, None] = {}
    stack = [(e, False) for e in reversed(exprs)]
    while stack:
        top, ready = stack.pop()
        if top in seen:
            continue
        if ready:
            seen[top] = None
            continue
        stack.append((top, True))
        stack += [(a, False) for a in top.args if a not in seen]
    return list(seen)


def variables(*exprs: Expr) -> list[Expr]:
    return [e for e in subexpressions(*exprs) if e.op == "var"]
