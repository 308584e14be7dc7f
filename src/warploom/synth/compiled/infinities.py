"""Infinities and NaN among the numbers that a kernel computes with: known operands, where all data are finite."""

from __future__ import annotations

from math import isfinite, isnan

from warploom.terms import Term


def has_no_number(*terms: Term) -> bool:
    """Whether an infinity or NaN is among the terms themselves."""
    return any(t.op == "constant" and isinstance(t.data[0], float) and not isfinite(t.data[0]) for t in terms)


def is_nan(term: Term) -> bool:
    return term.op == "constant" and isinstance(term.data[0], float) and isnan(term.data[0])


def at_infinity(op: str, terms: list[Term]) -> Term | float | None:
    """`op` with infinities among its operands, where all data are finite; None where no rule is known."""
    if any(map(is_nan, terms)):
        return None
    sizes = [t.data[0] if has_no_number(t) else None for t in terms]
    finite = [t for t, size in zip(terms, sizes, strict=True) if size is None]
    match op, sizes:
        case (("max" | "min"), [float() as a, float() as b]):
            return max(a, b) if op == "max" else min(a, b)
        case (("max" | "min"), ([float() as a, None] | [None, float() as a])):
            return a if (a > 0) == (op == "max") else finite[0]
        case "+", ([float() as a, None] | [None, float() as a]):
            return a
        case "+", [float() as a, float() as b] if a == b:
            return a
        case "-", [float() as a, None]:
            return a
        case "-", [None, float() as a]:
            return -a
        case "*", ([float() as a, None] | [None, float() as a]) if finite[0].op == "constant" and finite[0].data[0] != 0:
            return a if finite[0].data[0] > 0 else -a
        case "fma", [None, None, float() as a]:
            return a
        case "/", [None, float()]:
            return 0.0
        case (("ex2" | "exp"), [float() as a]):
            return a if a > 0 else 0.0
        case _:
            return None
