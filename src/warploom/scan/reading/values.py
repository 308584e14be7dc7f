"""Values of Python while a function is read: expressions, whole numbers that Python holds as floats, and tuples of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr

MAX_BITS = 4096
"""Most bits of a number in an expression."""
MAX_TERMS = 2000
"""Most terms of a sum."""


@dataclass(frozen=True, slots=True)
class Floating:
    """A number that is whole, but a float: `//`, `%`, shifts and bits of it are not those of integers."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class Maybe:
    """None, or a value."""

    is_none: Expr
    value: Value | None
    """None: it is always None."""


@dataclass(frozen=True, slots=True)
class Character:
    """A character, or the empty text, by its code; no number of Python."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class Record:
    """A dictionary with constant keys, or an object of a dataclass, that one variable alone holds."""

    kind: type
    parts: Mapping[str | int, Value]
    """By key or name of the field."""

    def is_like(self, other: Record) -> bool:
        """Whether it has the same parts."""
        return self.kind is other.kind and self.parts.keys() == other.parts.keys()


Value: TypeAlias = "Expr | Floating | Character | Maybe | Record | tuple[Value, ...]"
Scalar: TypeAlias = Expr | Floating
NONE = Maybe(ex.TRUE, None)


def bare(value: Value) -> Expr:
    """Expression of a scalar."""
    found = value.expr if isinstance(value, Floating) else value
    assert isinstance(found, Expr), "the reader has taken tuples apart and refused what may be None"
    return found


def is_float(value: Value) -> bool:
    """Whether Python may hold it as a float (or as a Fraction); an infinity alone is none: `min` and `max` drop it."""
    return isinstance(value, Floating) or (isinstance(value, Expr) and value.sort.base == "real")


def floating(expr: Expr) -> Scalar:
    return expr if expr.sort.base == "real" or ex.is_infinite(expr) else Floating(expr)


def flat(value: Value) -> list[Expr]:
    """Its expressions."""
    match value:
        case tuple():
            return [f for part in value for f in flat(part)]
        case Maybe():
            return [value.is_none, *([] if value.value is None else flat(value.value))]
        case Record():
            return [f for part in value.parts.values() for f in flat(part)]
        case Character():
            return [value.expr]
        case _:
            return [bare(value)]


def maybe(is_none: Expr, value: Value | None) -> Value:
    """None where `is_none`, else the value."""
    return value if is_none is ex.FALSE and value is not None else Maybe(is_none, value)


def constant_of(value: object) -> Value | None:
    """A constant of Python as a value; None: not served. A float is the decimal number that it is written as."""
    if type(value) in (tuple, list):
        parts = [constant_of(v) for v in cast("tuple[object, ...]", value)]
        return None if any(p is None for p in parts) else tuple(p for p in parts if p is not None)
    if type(value) is float:
        if math.isnan(value):
            return None
        return ex.constant(value) if math.isinf(value) else floating(ex.constant(Fraction(str(value))))
    if isinstance(value, bool | int | str | Fraction) and type(value) in (bool, int, str, Fraction):
        return ex.constant(value) if is_small(value) else None
    return None


def is_small(value: object) -> bool:
    """Whether a number has few enough digits to be computed with."""
    match value:
        case Fraction():
            return max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS
        case bool() | float() | str():
            return True
        case int():
            return value.bit_length() <= MAX_BITS
        case _:
            return False


def is_moderate(expr: Expr) -> bool:
    """Whether a result is small enough to go on with."""
    if expr.op == "poly":
        return len(expr.terms) <= MAX_TERMS and all(is_small(c) for c, _ in expr.terms)
    return expr.op != "const" or is_small(expr.value)


def chosen(condition: Expr, first: Expr, second: Expr) -> Expr:
    """A choice; `x > 0 and x > best` chooses between `max(x, best)` and `best` where `x > 0`."""
    for part in condition.args if condition.op == "and" else ():
        extreme = ex.select(part, first, second)
        if extreme.op in ("max", "min"):
            return ex.select(ex.both(*(a for a in condition.args if a is not part)), extreme, second)
    return ex.select(condition, first, second)
