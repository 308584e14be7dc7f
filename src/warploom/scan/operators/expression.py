"""Expressions over a loop's values, simplified as they are built and interned, so that equal ones are one object.

expr := number | truth value | text | variable
      | polynomial over atoms (what is not a polynomial itself) with rational coefficients
      | max(expr, ...) | min(expr, ...) | expr if expr else expr
      | expr >= 0 | expr > 0 | expr == expr | expr and ... | expr or ... | not expr
      | None if expr else expr
      | expr // n | expr % n | expr / expr | gcd(expr, expr) | exp(expr) | expr & expr | expr "|" expr | expr ^ expr

Two expressions that are the same polynomial of the same atoms are the same object; so are a comparison and the negation of its
negation. Infinite numbers stand for "no value yet" below `max` and `min`; adding opposite infinities raises `UndefinedError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from hashlib import blake2b
from typing import Literal, TypeAlias, cast

from warploom.core.interned import Interned

Value: TypeAlias = bool | int | Fraction | float | str
"""Constants; a float is an infinity."""
Base = Literal["int", "real", "bool", "text"]
Op = Literal[
    "const", "var", "poly", "max", "min", "ite", "ge", "gt", "eq", "and", "or", "not", "floordiv", "mod", "div", "gcd", "exp",
    "bitand", "bitor", "bitxor", "maybe",
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


def _make(
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
        return _make("const", value=value, sort=BOOL)
    if isinstance(value, str):
        return _make("const", value=value, sort=TEXT)
    if isinstance(value, float):
        if math.isinf(value):
            return _make("const", value=value, sort=Sort("int", below=value < 0, above=value > 0))
        value = Fraction(value).limit_denominator(10**12)
    if isinstance(value, Fraction):
        if value.denominator != 1:
            return _make("const", value=value, sort=REAL)
        value = int(value)
    return _make("const", value=value, sort=Sort("int", values=(value,)))


TRUE, FALSE, ZERO, ONE = constant(True), constant(False), constant(0), constant(1)
INFINITY, MINUS_INFINITY = constant(math.inf), constant(-math.inf)


def variable(name: str, sort: Sort) -> Expr:
    return _make("var", value=name, sort=sort)


def is_infinite(expr: Expr) -> bool:
    return expr.op == "const" and isinstance(expr.value, float)


def _sort_of(parts: Iterable[Expr]) -> Sort:
    """Sort of a number computed from numbers."""
    sorts = [p.sort for p in parts]
    base: Base = "real" if any(s.base == "real" for s in sorts) else "int"
    return Sort(base, any(s.below for s in sorts), any(s.above for s in sorts))


def polynomial(expr: Expr) -> dict[Monomial, int | Fraction]:
    """Coefficients by monomial."""
    if expr.op == "poly":
        return {m: c for c, m in expr.terms}
    if expr.op == "const" and not isinstance(expr.value, float | str):
        return {(): expr.value if isinstance(expr.value, Fraction) else int(expr.value)} if expr.value else {}
    return {(expr,): 1}


def from_polynomial(coefficients: Mapping[Monomial, int | Fraction]) -> Expr:
    found = [(c, m) for m, c in coefficients.items() if c]
    if not found:
        return ZERO
    found.sort(key=lambda t: (len(t[1]), [a.order for a in t[1]]))
    if len(found) == 1:
        coefficient, monomial = found[0]
        if not monomial:
            return constant(coefficient)
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    atoms = tuple(dict.fromkeys(a for _, m in found for a in m))
    sort = _sort_of(atoms)
    if any(isinstance(c, Fraction) and c.denominator != 1 for c, _ in found):
        sort = replace(sort, base="real")
    below = above = False
    for coefficient, monomial in found:
        for atom in monomial:
            below |= atom.sort.below if coefficient > 0 else atom.sort.above
            above |= atom.sort.above if coefficient > 0 else atom.sort.below
    sort = Sort(sort.base, below, above, _few_values(found))
    tidy = tuple((int(c) if isinstance(c, Fraction) and c.denominator == 1 else c, m) for c, m in found)
    return _make("poly", atoms, terms=tidy, sort=sort)


def _few_values(terms: Iterable[tuple[int | Fraction, Monomial]]) -> tuple[int, ...] | None:
    """The values of a polynomial whose atoms have few."""
    total = {0}
    for coefficient, monomial in terms:
        product_of = {coefficient}
        for atom in monomial:
            if atom.sort.values is None:
                return None
            product_of = {p * v for p in product_of for v in atom.sort.values}
        total = {t + p for t in total for p in product_of if isinstance(p, int)}
        if len(total) > MAX_CASES or not all(isinstance(p, int) for p in product_of):
            return None
    return tuple(sorted(total))


def add(*parts: Expr) -> Expr:
    endless = [p for p in parts if is_infinite(p)]
    if endless:
        if any(p is not endless[0] for p in endless):
            raise UndefinedError("the sum of opposite infinities")
        return endless[0]
    total: dict[Monomial, int | Fraction] = {}
    for part in parts:
        for monomial, coefficient in polynomial(part).items():
            before = total.get(monomial, 0)
            if before * coefficient < 0 and any(a.sort.is_infinite for a in monomial):
                raise UndefinedError("the difference of values that may be infinite")
            total[monomial] = before + coefficient
    return from_polynomial(total)


def negate(expr: Expr) -> Expr:
    return multiply(constant(-1), expr)


def subtract(left: Expr, right: Expr) -> Expr:
    return add(left, negate(right))


def multiply(left: Expr, right: Expr) -> Expr:
    for one, other in ((left, right), (right, left)):
        if is_infinite(one):
            if other.op == "const" and other.value:
                sign = cast(float, other.value)
                return one if sign > 0 else constant(-cast(float, one.value))
            raise UndefinedError("the product of an infinity")
    if left is ONE or right is ONE:
        return right if left is ONE else left
    total: dict[Monomial, int | Fraction] = {}
    for first, a in polynomial(left).items():
        for second, b in polynomial(right).items():
            monomial, factor = _product(first, second)
            total[monomial] = total.get(monomial, 0) + a * b * factor
    return from_polynomial(total)


def _product(first: Monomial, second: Monomial) -> tuple[Monomial, int]:
    if not first or not second:
        return first or second, 1
    atoms = sorted((*first, *second), key=lambda a: a.order)
    powers = [a for a in atoms if a.op == "exp"]
    if len(powers) > 1:
        merged = exponential(add(*(p.args[0] for p in powers)))
        rest = [a for a in atoms if a.op != "exp"]
        if merged is ONE:
            return tuple(rest), 1
        return tuple(sorted((*rest, merged), key=lambda a: a.order)), 1
    return tuple(atoms), 1


def exponential(argument: Expr) -> Expr:
    """e to the power; `exp(a) * exp(b)` is kept as `exp(a + b)`."""
    return ONE if argument is ZERO else _make("exp", (argument,), sort=REAL)


def maximum(*parts: Expr) -> Expr:
    return _extremum("max", parts)


def minimum(*parts: Expr) -> Expr:
    return _extremum("min", parts)


def _extremum(op: Literal["max", "min"], parts: Iterable[Expr]) -> Expr:
    neutral, absorbing = (MINUS_INFINITY, INFINITY) if op == "max" else (INFINITY, MINUS_INFINITY)
    flat: dict[Expr, None] = {}
    for part in parts:
        for inner in part.args if part.op == op else (part,):
            flat[inner] = None
    if absorbing in flat:
        return absorbing
    kept: list[Expr] = []
    for part in (p for p in flat if p is not neutral):
        for position, other in enumerate(kept):
            known = _constant_difference(part, other)
            if known is not None:
                if (known > 0) == (op == "max"):
                    kept[position] = part
                break
        else:
            kept.append(part)
    if not kept:
        return neutral
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=lambda e: e.order)
    dual = "min" if op == "max" else "max"
    kept = [k for k in kept if not (k.op == dual and any(o is not k and {*_parts(o, dual)} <= {*k.args} for o in kept))]
    if len(kept) == 1:
        return kept[0]
    base: Base = "real" if any(k.sort.base == "real" for k in kept) else "int"
    decide = all if op == "max" else any
    below, above = decide(k.sort.below for k in kept), (any if op == "max" else all)(k.sort.above for k in kept)
    sort = Sort(base, below, above, reduce(Sort.joined, (k.sort for k in kept)).values)
    return _make(op, tuple(kept), sort=sort)


def _parts(expr: Expr, op: Op) -> tuple[Expr, ...]:
    return expr.args if expr.op == op else (expr,)


def _constant_difference(left: Expr, right: Expr) -> int | Fraction | None:
    total = dict(polynomial(left))
    for monomial, coefficient in polynomial(right).items():
        total[monomial] = total.get(monomial, 0) - coefficient
    if any(c for m, c in total.items() if m):
        return None
    return total.get((), 0)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """`then if condition else otherwise`."""
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if condition.op == "not":
        return select(condition.args[0], otherwise, then)
    if "maybe" in (then.op, otherwise.op):
        (no_then, first), (no_other, second) = (e.args if e.op == "maybe" else (FALSE, e) for e in (then, otherwise))
        first, second = second if no_then is TRUE else first, first if no_other is TRUE else second
        return optional(select(condition, no_then, no_other), select(condition, first, second))
    if then.sort.base == "bool":
        return either(both(condition, then), both(negation(condition), otherwise))
    if then.op == "ite" and then.args[0] is condition:
        then = then.args[1]
    if otherwise.op == "ite" and otherwise.args[0] is condition:
        otherwise = otherwise.args[2]
    if then is otherwise:
        return then
    if then.op == "ite" and then.args[2] is otherwise:
        return select(both(condition, then.args[0]), then.args[1], otherwise)
    if otherwise.op == "ite" and otherwise.args[1] is then:
        return select(either(condition, otherwise.args[0]), then, otherwise.args[2])
    if condition.op in ("ge", "gt") and then.sort.is_numeric:
        extreme = _as_extremum(condition.args[0], then, otherwise)
        if extreme is not None:
            return extreme
    return _make("ite", (condition, then, otherwise), sort=then.sort.joined(otherwise.sort))


def _as_extremum(difference: Expr, then: Expr, otherwise: Expr) -> Expr | None:
    """`a if a - b >= 0 else b` is a maximum; among integers the comparison may be off by one, where both are equal.

    The gap from an infinity is one, which no comparison is about.
    """
    try:
        gap = subtract(then, otherwise)
    except UndefinedError:
        return None
    for sign, extreme in ((1, maximum), (-1, minimum)):
        off = _constant_difference(difference, multiply(constant(sign), gap))
        if off == 0 or (off == -1 and difference.sort.base == "int"):
            return extreme(then, otherwise)
    return None


def at_least(left: Expr, right: Expr) -> Expr:
    """`left >= right`."""
    return _compared(left, right, strict=False)


def more_than(left: Expr, right: Expr) -> Expr:
    return _compared(left, right, strict=True)


def _compared(left: Expr, right: Expr, *, strict: bool) -> Expr:
    if left is right:
        return constant(not strict)
    if is_infinite(left) or is_infinite(right):
        return _compared_with_infinity(left, right, strict=strict)
    difference: dict[Monomial, int | Fraction] = dict(polynomial(left))
    for monomial, coefficient in polynomial(right).items():
        if monomial in difference and any(a.sort.is_infinite for a in monomial):
            raise UndefinedError("a comparison of values that may be infinite")
        difference[monomial] = difference.get(monomial, 0) - coefficient
    return _sign(from_polynomial(difference), strict=strict)


def _compared_with_infinity(left: Expr, right: Expr, *, strict: bool) -> Expr:
    if is_infinite(left) and is_infinite(right):
        a, b = cast(float, left.value), cast(float, right.value)
        return constant(a > b if strict else a >= b)
    if right is MINUS_INFINITY:
        return TRUE if not strict else negation(equal(left, right)) if left.sort.below else TRUE
    if left is INFINITY:
        return TRUE if not strict else negation(equal(right, left)) if right.sort.above else TRUE
    if right is INFINITY:
        return FALSE if strict or not left.sort.above else equal(left, right)
    return FALSE if strict or not right.sort.below else equal(right, left)


def _sign(difference: Expr, *, strict: bool) -> Expr:
    """`difference >= 0` or `> 0`."""
    if difference.op == "const":
        number = cast(Fraction, difference.value)
        return constant(bool(number > 0 if strict else number >= 0))
    rounded = _rounded(difference)
    if rounded is not None:
        return _sign(rounded, strict=False)
    whole = difference.sort.base == "int"
    if whole and strict and not difference.sort.is_infinite:
        return _sign(add(difference, constant(-1)), strict=False)
    few = difference.sort.values
    if few is not None:
        if all(v > 0 or (v == 0 and not strict) for v in few):
            return TRUE
        if all(v < 0 or (v == 0 and strict) for v in few):
            return FALSE
    if few is not None:
        for atom in difference.args if difference.op == "poly" else (difference,):
            if atom.op == "ite" and all(a.op == "const" for a in atom.args[1:]):
                then, otherwise = (_sign(substituted(difference, {atom: a}), strict=strict) for a in (atom.args[1], atom.args[2]))
                return select(atom.args[0], then, otherwise)
    terms = polynomial(difference)
    lead = next(c for m, c in sorted(terms.items(), key=lambda t: (len(t[0]), [a.order for a in t[0]])) if m)
    scale = abs(lead) if not whole else _common_factor(terms)
    if scale != 1:
        difference = from_polynomial({m: _scaled(c, scale, whole and not m) for m, c in terms.items()})
    if lead < 0:
        if whole and not difference.sort.is_infinite:
            return negation(_sign(subtract(constant(-1), difference), strict=False))
        return negation(_sign(negate(difference), strict=not strict))
    return _make("gt" if strict else "ge", (difference,), sort=BOOL)


def _rounded(difference: Expr) -> Expr | None:
    """A sum of whole numbers and a fraction, with the next whole number below in its place, which has the same sign or is 0 where
    that is positive; None of other sums."""
    terms = polynomial(difference)
    if difference.sort.base != "real" or any(a.sort.base != "int" for m in terms for a in m):
        return None
    scale = abs(next(c for m, c in sorted(terms.items(), key=lambda t: (len(t[0]), [a.order for a in t[0]])) if m))
    scaled = {m: Fraction(c) / scale for m, c in terms.items()}
    rest = scaled.pop((), Fraction(0))
    if rest.denominator == 1 or any(c.denominator != 1 for c in scaled.values()):
        return None
    return from_polynomial({**scaled, (): math.floor(rest)})


def _common_factor(terms: Mapping[Monomial, int | Fraction]) -> int:
    return math.gcd(*(int(c) for m, c in terms.items() if m))


def _scaled(coefficient: int | Fraction, scale: int | Fraction, floor: bool) -> int | Fraction:
    quotient = Fraction(coefficient) / scale
    return math.floor(quotient) if floor else int(quotient) if quotient.denominator == 1 else quotient


def equal(left: Expr, right: Expr) -> Expr:
    if left is right:
        return TRUE
    if left.sort.base == "bool" and right.sort.base == "bool":
        return either(both(left, right), both(negation(left), negation(right)))
    if left.op == "const" and right.op == "const":
        return constant(left.value == right.value)
    if left.sort.base == "text" or right.sort.base == "text":
        for one, other in ((left, right), (right, left)):
            if one.op == "ite":
                return select(one.args[0], equal(one.args[1], other), equal(one.args[2], other))
        return _make("eq", tuple(sorted((left, right), key=lambda e: e.order)), sort=BOOL)
    for one, other in ((left, right), (right, left)):
        if is_infinite(one):
            if not (other.sort.below if one is MINUS_INFINITY else other.sort.above):
                return FALSE
            return _make("eq", (one, other), sort=BOOL)
    if left.sort.base == "bool" or right.sort.base == "bool":
        left, right = as_number(left), as_number(right)
    return both(at_least(left, right), at_least(right, left))


def as_number(expr: Expr) -> Expr:
    """A truth value as 1 or 0."""
    return select(expr, ONE, ZERO) if expr.sort.base == "bool" else expr


def as_condition(expr: Expr) -> Expr:
    """A number as whether it is not zero, a text as whether it is not empty."""
    if expr.sort.base == "bool":
        return expr
    return negation(equal(expr, constant("") if expr.sort.base == "text" else ZERO))


def negation(expr: Expr) -> Expr:
    match expr.op:
        case "const":
            return constant(not expr.value)
        case "not":
            return expr.args[0]
        case "and":
            return either(*(negation(a) for a in expr.args))
        case "or":
            return both(*(negation(a) for a in expr.args))
        case _:
            return _make("not", (expr,), sort=BOOL)


def both(*parts: Expr) -> Expr:
    return _connected("and", parts)


def either(*parts: Expr) -> Expr:
    return _connected("or", parts)


def _connected(op: Literal["and", "or"], parts: Iterable[Expr]) -> Expr:
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    flat: dict[Expr, None] = {}
    for part in parts:
        for inner in part.args if part.op == op else (part,):
            flat[inner] = None
    flat.pop(neutral, None)
    if absorbing in flat or any(p.op == "not" and p.args[0] in flat for p in flat):
        return absorbing
    if not flat:
        return neutral
    dual = "or" if op == "and" else "and"
    kept: list[Expr] = []
    for part in flat:
        if part.op == dual:
            if any(a in flat for a in part.args):
                continue  # absorbed: a and (a or b)
            rest = tuple(a for a in part.args if negation(a) not in flat)  # a and (not a or b) = a and b
            if len(rest) < len(part.args):
                others = [p for p in flat if p is not part]
                return _connected(op, (*others, _connected(dual, rest)))
        kept.append(part)
    kept = _without_implied(kept, op)
    if kept and kept[0] is absorbing:
        return absorbing
    if len(kept) == 1:
        return kept[0]
    if op == "or" and len(kept) == 2:
        merged = _resolved(kept[0], kept[1])
        if merged is not None:
            return merged
    kept.sort(key=lambda e: e.order)
    return _make(op, tuple(kept), sort=BOOL)


def _resolved(first: Expr, second: Expr) -> Expr | None:
    """`a and b or not a and b` is b."""
    a = set(first.args) if first.op == "and" else {first}
    b = set(second.args) if second.op == "and" else {second}
    only_a, only_b = a - b, b - a
    if len(only_a) == len(only_b) == 1 and negation(next(iter(only_a))) is next(iter(only_b)):
        return both(*sorted(a & b, key=lambda e: e.order))
    return None


def _bound(expr: Expr) -> tuple[tuple[tuple[int | Fraction, Monomial], ...], bool, int | Fraction] | None:
    """Parts of a comparison `p + c >= 0` or its negation: p, whether it is negated, c."""
    inner = expr.args[0] if expr.op == "not" else expr
    if inner.op != "ge" or inner.args[0].sort.base != "int":
        return None
    terms = polynomial(inner.args[0])
    shape = tuple(sorted(((c, m) for m, c in terms.items() if m), key=lambda t: [a.order for a in t[1]]))
    return shape, expr.op == "not", terms.get((), 0)


def _without_implied(parts: list[Expr], op: Literal["and", "or"]) -> list[Expr]:
    """Comparisons of the same polynomial: only the stronger (weaker) ones."""
    best: dict[tuple[object, bool], tuple[int | Fraction, Expr]] = {}
    kept: list[Expr] = []
    for part in parts:
        bound = _bound(part)
        if bound is None:
            kept.append(part)
            continue
        shape, negated, offset = bound
        key = (shape, negated)
        known = best.get(key)
        stronger = known is None or ((offset < known[0]) != negated) == (op == "and")
        if known is not None:
            if not stronger:
                continue
            kept.remove(known[1])
        best[key] = (offset, part)
        kept.append(part)
    for (shape, negated), (offset, _) in list(best.items()):
        other = best.get((shape, not negated))
        if not negated and other is not None:
            # p >= -offset with p < -other (and), or without (or)
            if op == "and" and -offset > -other[0] - 1:
                return [FALSE]
            if op == "or" and -offset <= -other[0]:
                return [TRUE]
    return kept


def remainder(expr: Expr, divisor: int) -> Expr:
    """`expr % divisor`, divisor > 0; remainders by the same divisor inside sums and products are dropped."""
    if is_infinite(expr):
        raise UndefinedError("the remainder of an infinity")
    if expr.op == "ite":
        return select(expr.args[0], remainder(expr.args[1], divisor), remainder(expr.args[2], divisor))
    total: dict[Monomial, int | Fraction] = {}
    again = False
    parts: list[Expr] = []
    for monomial, coefficient in polynomial(expr).items():
        if not isinstance(coefficient, int):
            return _make("mod", (expr,), divisor, sort=REAL)
        if any(a.op == "mod" and isinstance(a.value, int) and a.value % divisor == 0 for a in monomial):
            again = True
            inner = (a.args[0] if a.op == "mod" and cast(int, a.value) % divisor == 0 else a for a in monomial)
            parts.append(reduce(multiply, inner, constant(coefficient)))
        elif coefficient % divisor:
            total[monomial] = coefficient % divisor
    if again:
        return remainder(add(from_polynomial(total), *parts), divisor)
    reduced = from_polynomial(total)
    if reduced.op == "const":
        return constant(int(cast(int, reduced.value)) % divisor)
    few = reduced.sort.values
    if few is not None and all(0 <= v < divisor for v in few):
        return reduced
    values = tuple(range(divisor)) if divisor <= MAX_CASES else None
    if few is not None:
        values = tuple(sorted({v % divisor for v in few}))
    return _make("mod", (reduced,), divisor, sort=Sort("int", values=values))


def floor_quotient(expr: Expr, divisor: int) -> Expr:
    """`expr // divisor`, divisor > 0."""
    if divisor == 1:
        return expr
    if expr.op == "const":
        return constant(int(cast(int, expr.value)) // divisor)
    return _make("floordiv", (expr,), divisor, sort=INT)


def quotient(left: Expr, right: Expr, *, is_guarded: bool = False) -> Expr:
    """`left / right`, exact; a guarded one is also computed where `right` is 0, and nothing rests on its value there."""
    if right.op == "const" and not isinstance(right.value, float | str) and right.value:
        return multiply(left, constant(1 / Fraction(right.value)))
    return _make("div", (left, right), int(is_guarded), sort=REAL)


def greatest_common_divisor(left: Expr, right: Expr) -> Expr:
    """Greatest common divisor as in `math.gcd`: never negative; gcd(a, 0) is the absolute value of a."""
    flat: dict[Expr, None] = {}
    for part in (left, right):
        for inner in part.args if part.op == "gcd" else (part,):
            if inner is not ZERO:
                flat[inner] = None
    if all(p.op == "const" for p in flat):
        return constant(math.gcd(*(int(cast(int, p.value)) for p in flat)))
    return _make("gcd", tuple(sorted(flat, key=lambda e: e.order)), sort=INT)


def bitwise(op: Literal["bitand", "bitor", "bitxor"], left: Expr, right: Expr) -> Expr:
    if left.sort.base == "bool" and right.sort.base == "bool":
        match op:
            case "bitand":
                return both(left, right)
            case "bitor":
                return either(left, right)
            case "bitxor":
                return negation(equal(left, right))
    flat = [p for part in (left, right) for p in (part.args if part.op == op else (part,))]
    known = [int(cast(int, p.value)) for p in flat if p.op == "const"]
    others = [p for p in flat if p.op != "const"]
    if op == "bitxor":
        others = [p for n, p in enumerate(others) if others.count(p) % 2 and p not in others[:n]]
    meaning = BITS[op]
    number = reduce(meaning, known, -1 if op == "bitand" else 0)
    if number == (0 if op == "bitand" else -1) and op != "bitxor":
        return constant(number)
    if number != (-1 if op == "bitand" else 0) or not others:
        others.append(constant(number))
    kept = tuple(sorted(dict.fromkeys(others), key=lambda e: e.order))
    return as_number(kept[0]) if len(kept) == 1 else _make(op, kept, sort=_sort_of_bits(meaning, kept))


def _sort_of_bits(meaning: Callable[[int, int], int], parts: Sequence[Expr]) -> Sort:
    """The values of a combination of numbers that have few."""
    found = {0, 1} if parts[0].sort.base == "bool" else set(parts[0].sort.values or ())
    for part in parts[1:]:
        found = {meaning(a, b) for a in found for b in ((0, 1) if part.sort.base == "bool" else part.sort.values or ())}
    return Sort("int", values=tuple(sorted(found)) if 0 < len(found) <= MAX_CASES else None)


def optional(is_none: Expr, value: Expr) -> Expr:
    """None where the condition holds, else the value; of results only."""
    return value if is_none is FALSE else _make("maybe", (is_none, value), sort=value.sort)


BITS: Mapping[str, Callable[[int, int], int]] = {
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
}


Rebuild: TypeAlias = Callable[[Expr, tuple[Expr, ...]], Expr]


def rebuilt(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """`expr` with other arguments, simplified again."""
    match expr.op:
        case "const" | "var":
            return expr
        case "poly":
            value = dict(zip(expr.args, args, strict=True))
            return add(*(reduce(multiply, (value[a] for a in m), constant(c)) for c, m in expr.terms))
        case "max" | "min":
            return _extremum(expr.op, args)
        case "ite":
            return select(args[0], args[1], args[2])
        case "ge":
            return at_least(args[0], ZERO)
        case "gt":
            return more_than(args[0], ZERO)
        case "eq":
            return equal(args[0], args[1])
        case "and" | "or":
            return _connected(expr.op, args)
        case "not":
            return negation(args[0])
        case "floordiv":
            return floor_quotient(args[0], cast(int, expr.value))
        case "mod":
            return remainder(args[0], cast(int, expr.value))
        case "div":
            return quotient(args[0], args[1], is_guarded=bool(expr.value))
        case "gcd":
            return reduce(greatest_common_divisor, args, ZERO)
        case "exp":
            return exponential(args[0])
        case "bitand" | "bitor" | "bitxor":
            op = expr.op
            return reduce(lambda a, b: bitwise(op, a, b), args)
        case "maybe":
            return optional(args[0], args[1])


def substituted(expr: Expr, values: Mapping[Expr, Expr], known: dict[Expr, Expr] | None = None) -> Expr:
    """`expr` with sub-expressions replaced; `known` is a memory that calls with the same values may share."""
    memory = {} if known is None else known
    stack = [expr]
    while stack:
        top = stack[-1]
        if top in memory:
            stack.pop()
            continue
        if top in values:
            memory[top] = values[top]
            stack.pop()
            continue
        waiting = [a for a in top.args if a not in memory]
        if waiting:
            stack += waiting
            continue
        args = tuple(memory[a] for a in top.args)
        unchanged = all(a is b for a, b in zip(args, top.args, strict=True))
        memory[top] = top if unchanged else rebuilt(top, args)
        stack.pop()
    return memory[expr]


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
