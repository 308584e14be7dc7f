"""The value of what a kernel computed, for given numbers: for showing that it differs from what is wanted.

Unlike `terms.evaluate` this knows the runner's own operators (choices by data, cut words) and the kind of every term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite

from warploom.core import BY_NAME, DType
from warploom.operations import COMPARISONS
from warploom.terms import Number, Term, iterate_post


def value_of(
    root: Term,
    kinds: Mapping[Term, DType],
    number_of: Callable[[Term], Number],
    element_of: Callable[[str, list[int]], Term | None] | None = None,
) -> Number | None:
    """`root` for the elements' numbers, floats as exact rationals; None where an operator has no meaning here.

    element_of: the element that a read at an index from data stands for.
    """
    done: dict[Term, Number | None] = {}
    for term in iterate_post(root):
        if term.op == "atom" and term.data[2] > 1:
            continue
        if term.op == "constant" and not isfinite(term.data[0]):
            return None
        if term.op == "constant":
            value = Fraction(term.data[0])
            done[term] = int(value) if value.denominator == 1 else value
        elif term.op in ("atom", "component"):
            done[term] = number_of(term)
        elif term.op.startswith("read.") and element_of is not None:
            words = [done[a] for a in term.args]
            element = element_of(term.op, [int(w) for w in words if w is not None]) if None not in words else None
            if element is None:
                return None
            done[term] = number_of(element)
        else:
            kind = kinds.get(term)
            values = [done[a] for a in term.args]
            known: list[Number] = [v for v in values if v is not None]
            if kind is None or len(known) < len(values):
                return None
            if not kind.is_float:
                if any(v != int(v) for v in known):
                    return None
                known = [  # a number of the text stands for itself, in whatever type it is compared
                    int(v) if a.op == "constant" else wrapped(int(v), kinds.get(a, kind))
                    for v, a in zip(known, term.args, strict=True)
                ]
            done[term] = _applied(term.op, known, kind, [kinds.get(a, kind) for a in term.args])
    return done[root]


def _applied(op: str, values: list[Number], kind: DType, sources: list[DType]) -> Number | None:
    words = op.split(".")
    if words[0] == "cast":
        source = BY_NAME[words[1]]
        if source.is_float:
            return None
        number = wrapped(int(values[0]), source)  # the operand's bits, read as the conversion reads them
        return number if kind.is_float else wrapped(number, kind)
    if words[0] == "slice":
        word = int(values[0]) & ((1 << sources[0].bits) - 1)
        return word >> int(words[1]) & ((1 << int(words[2])) - 1)
    if words[0] in ("div", "rem") or op.startswith("mul.hi."):
        a, b = (int(v) for v in values)
        if words[0] == "mul":
            return wrapped(a * b >> kind.bits, kind)
        if b == 0 or (b == -1 and kind.kind == "int" and a == -(1 << (kind.bits - 1))):
            return None
        whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return whole if words[0] == "div" else a - whole * b
    if words[0] == "floordiv":
        return int(values[0]) // int(values[1]) if values[1] else None
    if op.startswith("select "):
        a, b, x, y = values
        return x if COMPARISONS[op.removeprefix("select ")].holds(a, b) else y
    match op, values:
        case "/", [a, b] if b and kind.is_float:
            return Fraction(a) / Fraction(b)
        case (("min" | "max"), [a, b]):
            return min(a, b) if op == "min" else max(a, b)
        case "neg", [a]:
            value = -a
        case "abs", [a]:
            value = abs(a)
        case "+", [a, b]:
            value = a + b
        case "-", [a, b]:
            value = a - b
        case "*", [a, b]:
            value = a * b
        case _:
            if kind.is_float:
                return None
            return _of_words(op, [int(v) for v in values], kind)
    return value if kind.is_float else wrapped(int(value), kind)


def _of_words(op: str, values: list[int], kind: DType) -> int | None:
    match op, values:
        case "&", [a, b]:
            value = a & b
        case "|", [a, b]:
            value = a | b
        case "^", [a, b]:
            value = a ^ b
        case "~", [a]:
            value = ~a
        case (("<<" | ">>"), [_, b]) if not 0 <= b < 1024:
            return None
        case "<<", [a, b]:
            value = a << b
        case ">>", [a, b]:
            value = a >> b
        case _:
            return None
    return wrapped(value, kind)


def wrapped(value: int, kind: DType) -> int:
    """The number of integer type `kind` with these bits."""
    value &= (1 << kind.bits) - 1
    return value - (1 << kind.bits) if kind.kind == "int" and value >> (kind.bits - 1) else value
