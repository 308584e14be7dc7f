"""The value of a term for given numbers: for showing that two terms differ, whatever their canonical forms say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from warploom.core import DType
from warploom.terms.term import Number, Term


def _exact(op: str, values: list[Number]) -> Number | None:
    match op, values:
        case "+", [a, b]:
            return a + b
        case "-", [a, b]:
            return a - b
        case "*", [a, b]:
            return a * b
        case "/", [a, b]:
            return Fraction(a) / Fraction(b)
        case "neg", [a]:
            return -a
        case "min", [a, b]:
            return min(a, b)
        case "max", [a, b]:
            return max(a, b)
        case _:
            return None


def _on_words(op: str, values: list[int]) -> int | None:
    match op, values:
        case "&", [a, b]:
            return a & b
        case "|", [a, b]:
            return a | b
        case "^", [a, b]:
            return a ^ b
        case "~", [a]:
            return ~a
        case "<<", [a, b]:
            return a << b
        case ">>", [a, b]:
            return a >> b
        case _:
            return None


def evaluate(roots: Iterable[Term], dtype: DType, value_of: Callable[[Term], Number]) -> list[Number] | None:
    """Values of `roots` over integers wrapped to `dtype`, or over exact rationals for a float type.

    `value_of` gives each element (atom or component) a number. None when a term has an operator without known meaning (a cast, a
    user's operator, division of integers), divides by zero, or holds a number that is not finite.
    """
    roots = list(roots)
    done: dict[Term, Number] = {}
    for term in _ordered(roots):
        arguments = [done[a] for a in term.args] if term.op != "component" else []
        try:
            if term.op in ("atom", "component"):
                value: Number = value_of(term)
            elif term.op == "constant":
                value = Fraction(term.data[0])
                value = int(value) if value.denominator == 1 else value
            else:
                found = _exact(term.op, arguments) if term.op != "/" or dtype.is_float else None
                if found is None:
                    found = _on_words(term.op, [int(a) for a in arguments])
                if found is None:
                    return None
                value = found
        except (ArithmeticError, ValueError, TypeError):
            return None
        done[term] = value if dtype.is_float else _wrapped(int(value), dtype)
    return [done[r] for r in roots]


def _ordered(roots: list[Term]) -> list[Term]:
    seen: set[Term] = set()
    stack = list(roots)
    while stack:
        term = stack.pop()
        if term not in seen:
            seen.add(term)
            if term.op != "component":
                stack.extend(term.args)
    return sorted(seen, key=lambda t: t.serial)


def _wrapped(value: int, dtype: DType) -> int:
    value %= 1 << dtype.bits
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value
