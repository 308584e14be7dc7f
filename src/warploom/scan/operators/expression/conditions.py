"""Choices, comparisons, truth values and remainders of expressions; expressions rebuilt with other parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Literal, cast

from warploom.scan.operators.expression.expr import (
    BOOL,
    FALSE,
    INFINITY,
    MAX_CASES,
    MINUS_INFINITY,
    ONE,
    REAL,
    TRUE,
    ZERO,
    Expr,
    Monomial,
    Sort,
    UndefinedError,
    constant,
    is_infinite,
    make,
)
from warploom.scan.operators.expression.numbers import (
    add,
    constant_difference,
    exponential,
    extremum,
    floor_quotient,
    from_polynomial,
    greatest_common_divisor,
    maximum,
    minimum,
    multiply,
    negate,
    of_real,
    polynomial,
    quotient,
    subtract,
)

BITS: Mapping[str, Callable[[int, int], int]] = {
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
}


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
    return make("ite", (condition, then, otherwise), sort=then.sort.joined(otherwise.sort))


def _as_extremum(difference: Expr, then: Expr, otherwise: Expr) -> Expr | None:
    """`a if a - b >= 0 else b` is a maximum; among integers the comparison may be off by one, where both are equal.

    The gap from an infinity is one, which no comparison is about.
    """
    try:
        gap = subtract(then, otherwise)
    except UndefinedError:
        return None
    for sign, extreme in ((1, maximum), (-1, minimum)):
        off = constant_difference(difference, multiply(constant(sign), gap))
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
    return make("gt" if strict else "ge", (difference,), sort=BOOL)


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
        return make("eq", tuple(sorted((left, right), key=lambda e: e.order)), sort=BOOL)
    for one, other in ((left, right), (right, left)):
        if is_infinite(one):
            if not (other.sort.below if one is MINUS_INFINITY else other.sort.above):
                return FALSE
            return make("eq", (one, other), sort=BOOL)
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
            return make("not", (expr,), sort=BOOL)


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
    return make(op, tuple(kept), sort=BOOL)


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
            return make("mod", (expr,), divisor, sort=REAL)
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
    return make("mod", (reduced,), divisor, sort=Sort("int", values=values))


def bitwise(op: Literal["bitand", "bitor", "bitxor"], left: Expr, right: Expr) -> Expr:
    if left.sort.base == "bool" and right.sort.base == "bool":
        match op:
            case "bitand":
                return both(left, right)
            case "bitor":
                return either(left, right)
            case "bitxor":
                return negation(equal(left, right))
    if left.sort.is_infinite or right.sort.is_infinite:
        raise UndefinedError("bits of an infinity")
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
    return as_number(kept[0]) if len(kept) == 1 else make(op, kept, sort=_sort_of_bits(meaning, kept))


def _sort_of_bits(meaning: Callable[[int, int], int], parts: Sequence[Expr]) -> Sort:
    """The values of a combination of numbers that have few."""
    found = {0, 1} if parts[0].sort.base == "bool" else set(parts[0].sort.values or ())
    for part in parts[1:]:
        found = {meaning(a, b) for a in found for b in ((0, 1) if part.sort.base == "bool" else part.sort.values or ())}
    return Sort("int", values=tuple(sorted(found)) if 0 < len(found) <= MAX_CASES else None)


def optional(is_none: Expr, value: Expr) -> Expr:
    """None where the condition holds, else the value; of results only."""
    return value if is_none is FALSE else make("maybe", (is_none, value), sort=value.sort)


def rebuilt(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """`expr` with other arguments, simplified again."""
    match expr.op:
        case "const" | "var":
            return expr
        case "poly":
            value = dict(zip(expr.args, args, strict=True))
            return add(*(reduce(multiply, (value[a] for a in m), constant(c)) for c, m in expr.terms))
        case "max" | "min":
            return extremum(expr.op, args)
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
        case "log" | "sqrt":
            return of_real(expr.op, args[0])
        case "bitand" | "bitor" | "bitxor":
            op = expr.op
            return reduce(lambda a, b: bitwise(op, a, b), args)
        case "maybe":
            return optional(args[0], args[1])


def leaves(expr: Expr) -> list[Expr]:
    """The values that nested choices (`ite`) choose from."""
    return [*leaves(expr.args[1]), *leaves(expr.args[2])] if expr.op == "ite" else [expr]


def with_leaves(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """Nested choices with other values to choose from."""
    if expr.op != "ite":
        return leaf(expr)
    return select(expr.args[0], with_leaves(expr.args[1], leaf), with_leaves(expr.args[2], leaf))


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
