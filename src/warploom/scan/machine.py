"""Expressions in 32-bit two's-complement arithmetic, step by step in Python: replays what a solver says about wrapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from warploom.scan import expression as ex
from warploom.scan.expression import Expr, Value

WIDTH = 32
LARGEST = 2 ** (WIDTH - 1) - 1


def wrap(value: int) -> int:
    """The 32-bit word that the machine holds."""
    return (value + 2 ** (WIDTH - 1)) % 2**WIDTH - 2 ** (WIDTH - 1)


def run(results: Sequence[Expr], values: Mapping[Expr, Value]) -> tuple[Value, ...]:
    """Every sum and product wraps; comparisons compare wrapped sides as they are printed."""
    known: dict[Expr, Value] = dict(values)
    for expr in ex.subexpressions(*results):
        if expr not in known:
            known[expr] = _value(expr, known)
    return tuple(known[r] for r in results)


def _int(value: Value) -> int:
    return int(cast(int, value))


def _sum(expr: Expr, known: Mapping[Expr, Value], sign: int) -> int:
    """The terms of one sign."""
    total = 0
    for monomial, coefficient in ex.polynomial(expr).items():
        if coefficient * sign > 0:
            product = abs(int(coefficient))
            for atom in monomial:
                product = wrap(product * _int(known[atom]))
            total = wrap(total + product)
    return total


def _value(expr: Expr, known: Mapping[Expr, Value]) -> Value:
    args = [known[a] for a in expr.args]
    match expr.op:
        case "const":
            return expr.value
        case "poly":
            return wrap(_sum(expr, known, 1) - _sum(expr, known, -1))
        case "max":
            return max(map(_int, args))
        case "min":
            return min(map(_int, args))
        case "ite":
            return args[1] if args[0] else args[2]
        case "ge" | "gt":
            return _compared(expr, known)
        case "eq":
            return args[0] == args[1]
        case "and":
            return all(args)
        case "or":
            return any(args)
        case "not":
            return not args[0]
        case "mod":
            return _int(args[0]) % _int(expr.value)
        case "floordiv":
            return _int(args[0]) // _int(expr.value)
        case "bitand":
            return _int(args[0]) & _int(args[1])
        case "bitor":
            return _int(args[0]) | _int(args[1])
        case "bitxor":
            return _int(args[0]) ^ _int(args[1])
        case "var" | "div" | "gcd" | "exp":
            raise ValueError(f"no machine form of {expr.op}")


def _compared(expr: Expr, known: Mapping[Expr, Value]) -> bool:
    terms = ex.polynomial(expr.args[0])
    strict = expr.op == "gt"
    difference = expr.args[0]
    if terms.get((), 0) == -1 and any(c < 0 for m, c in terms.items() if m):
        strict = True
        difference = ex.from_polynomial({m: c for m, c in terms.items() if m})
    left, right = _sum(difference, known, 1), _sum(difference, known, -1)
    return left > right if strict else left >= right
