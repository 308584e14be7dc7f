"""The value of a term for given numbers: for showing that two terms differ, whatever their canonical forms say."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from fractions import Fraction

from warploom.core import DType
from warploom.terms.casts import cast_types, comparison_types, converted, operand_type
from warploom.terms.mixed import control_of
from warploom.terms.mixed import value_of as mixed_value
from warploom.terms.term import Number, Term, component

_QUOTIENTS = frozenset({"/", "//", "%"})
COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MOST_BITS = 256
"""More bits than any word has: a shift by more has no meaning on a machine."""


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
        case "/", [a, b]:
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case "//", [a, b]:
            return a // b
        case "%", [a, b]:
            return a % b
        case "<<", [a, b] if b < _MOST_BITS:
            return a << b
        case ">>", [a, b]:
            return a >> b
        case _:
            return None


def evaluate(
    roots: Iterable[Term], dtype: DType, value_of: Callable[[Term], Number], *, casts: bool = False
) -> list[Number] | None:
    """Values of `roots` over integers wrapped to `dtype`, or over exact rationals for a float type.

    `value_of` gives each element (atom, or component of one) a number. casts: conversions `cast.<source>.<target>` have their
    machine's meaning, what they convert being computed in its own type; the numbers must then lie in the elements' types. None
    when a term has an operator without known meaning (a user's operator), divides by zero or the least integer by -1, or holds a
    number that is not finite or not representable.
    """
    roots = list(roots)
    done: dict[tuple[Term, DType], Number] = {}
    for term, context in _ordered(roots, dtype):
        children = _children(term, context)
        arguments = [done[c] for c in children]
        try:
            if term.op == "atom" or (term.op == "component" and term.args[0].op == "atom"):
                value: Number = value_of(term)
            elif term.op == "constant":
                value = Fraction(term.data[0])
                if value.denominator != 1 and not context.is_float:
                    return None
                value = int(value) if value.denominator == 1 else value
            elif types := cast_types(term):
                found = converted(arguments[0], *types) if casts else None
                if found is None:
                    return None
                value = found
            elif compared := comparison_types(term):
                value = int(COMPARISONS[compared[1]](*arguments))
            elif mixing := control_of(term):
                value = mixed_value(*mixing, [int(a) & 0xFFFFFFFF for a in arguments])
            elif term.op == "popc":
                value = (int(arguments[0]) & ((1 << context.bits) - 1)).bit_count()
            else:
                op = term.args[0].op if term.op == "component" else term.op
                found = _exact(op, arguments) if op != "/" or context.is_float else None
                if found is None and not (context.is_float and op in ("//", "%")):
                    found = _on_words(op, [int(a) for a in arguments])
                if found is None or (op in _QUOTIENTS and not context.is_float and _wrapped(int(found), context) != found):
                    return None
                value = found
        except (ArithmeticError, ValueError, TypeError):
            return None
        done[term, context] = value if context.is_float else _wrapped(int(value), context)
    return [done[r, dtype] for r in roots]


def _children(term: Term, context: DType) -> list[tuple[Term, DType]]:
    """The operands of `term`, each with the type that it is computed in."""
    if term.op == "component":
        vector, position = term.args[0], term.data[0]
        return [(a if a.op == "constant" else component(a, position), context) for a in vector.args]
    inside = operand_type(term) or context
    return [(a, inside) for a in term.args]


def _ordered(roots: list[Term], dtype: DType) -> list[tuple[Term, DType]]:
    """Every subterm in its context, once, after what it is computed from."""
    order: dict[tuple[Term, DType], None] = {}
    stack = [((root, dtype), False) for root in roots]
    while stack:
        node, is_ready = stack.pop()
        if node in order:
            continue
        if is_ready:
            order[node] = None
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in _children(*node))
    return list(order)


def _wrapped(value: int, dtype: DType) -> int:
    value %= 1 << dtype.bits
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value
