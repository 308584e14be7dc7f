"""Expressions in two's-complement arithmetic, step by step in Python: replays what is said about wrapping.

Infinite values stay infinite: emitted code keeps them apart, too. Remainders and rounded quotients of sums are taken in 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Value

WIDTH = 32
LARGEST = 2 ** (WIDTH - 1) - 1


def wrap(value: int, width: int = WIDTH) -> int:
    """The word that the machine holds."""
    return (value + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)


def run(results: Sequence[Expr], values: Mapping[Expr, Value], width: int = WIDTH) -> tuple[Value, ...]:
    """Every sum and product wraps; comparisons compare wrapped sides as they are printed. ValueError: no machine form."""
    known: dict[Expr, Value] = dict(values)
    for expr in ex.subexpressions(*results):
        if expr not in known:
            known[expr] = _value(expr, known, width)
    return tuple(known[r] for r in results)


def _number(value: Value) -> int | float:
    return value if isinstance(value, float) else int(cast(int, value))


def _int(value: Value) -> int:
    return int(cast(int, value))


def _sum(expr: Expr, known: Mapping[Expr, Value], sign: int, width: int) -> int | float:
    """The terms of one sign."""
    total: int | float = 0
    for monomial, coefficient in ex.polynomial(expr).items():
        if coefficient * sign > 0:
            product: int | float = abs(int(coefficient))
            for atom in monomial:
                product = _wrapped(product * _number(known[atom]), width)
            total = _wrapped(total + product, width)
    return total


def _wrapped(value: float, width: int) -> int | float:
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("opposite infinities")
        return value
    return wrap(value, width)


def _difference(expr: Expr, known: Mapping[Expr, Value], width: int) -> int | float:
    return _wrapped(_sum(expr, known, 1, width) - _sum(expr, known, -1, width), width)


def _value(expr: Expr, known: Mapping[Expr, Value], width: int) -> Value:
    args = [known[a] for a in expr.args if a in known]
    match expr.op:
        case "const":
            value = expr.value
            return wrap(value, width) if isinstance(value, int) and not isinstance(value, bool) else value
        case "poly":
            return _difference(expr, known, width)
        case "max":
            return max(map(_number, args))
        case "min":
            return min(map(_number, args))
        case "ite":
            return args[1] if args[0] else args[2]
        case "ge" | "gt":
            return _compared(expr, known, width)
        case "eq":
            return args[0] == args[1]
        case "and":
            return all(args)
        case "or":
            return any(args)
        case "not":
            return not args[0]
        case "mod" | "floordiv":
            wide = _int(_difference(expr.args[0], known, 64)) if expr.args[0].op == "poly" else _int(args[0])
            divisor = _int(expr.value)
            return wrap(wide % divisor if expr.op == "mod" else wide // divisor, width)
        case "gcd":
            return wrap(math.gcd(*map(_int, args)), width)
        case "bitand":
            return reduce(lambda a, b: a & b, map(_int, args))
        case "bitor":
            return reduce(lambda a, b: a | b, map(_int, args))
        case "bitxor":
            return reduce(lambda a, b: a ^ b, map(_int, args))
        case "var" | "div" | "exp" | "log" | "sqrt" | "maybe":
            raise ValueError(f"no machine form of {expr.op}")


def _compared(expr: Expr, known: Mapping[Expr, Value], width: int) -> bool:
    terms = ex.polynomial(expr.args[0])
    strict = expr.op == "gt"
    difference = expr.args[0]
    if terms.get((), 0) == -1 and any(c < 0 for m, c in terms.items() if m):
        strict = True
        difference = ex.from_polynomial({m: c for m, c in terms.items() if m})
    left, right = _sum(difference, known, 1, width), _sum(difference, known, -1, width)
    return left > right if strict else left >= right
