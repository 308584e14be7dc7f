"""The value of a term for given values of its leaves."""

from __future__ import annotations

from collections.abc import Callable

from warploom.ptx.symbolic.term import Term, linear, signed, subterms


def evaluate(term: Term, leaf: Callable[[Term, tuple[int, ...]], int]) -> int:
    """Unsigned value; `leaf(term, argument values)` gives leaves, loads, functions and quotients by zero."""
    values: dict[Term, int] = {}
    for part in subterms(term):
        values[part] = _value(part, [values[a] for a in part.args], leaf) & ((1 << part.width) - 1)
    return values[term]


def _value(term: Term, args: list[int], leaf: Callable[[Term, tuple[int, ...]], int]) -> int:
    width = term.width

    def as_signed(n: int) -> int:
        return signed(args[n], term.args[n].width)

    match term.op:
        case "const" | "sum":
            constant, parts = linear(term)
            return constant + sum(c * v for (_, c), v in zip(parts, args, strict=True))
        case "product":
            result = 1
            for value in args:
                result *= value
            return result
        case "zext" | "trunc":
            return args[0]
        case "sext":
            return as_signed(0)
        case "high":
            return args[0] >> int(term.data[0])
        case "and":
            result = (1 << width) - 1
            for value in args:
                result &= value
            return result
        case "or":
            return args[0] | args[1]
        case "xor":
            return args[0] ^ args[1]
        case "shl":
            return args[0] << args[1] if args[1] < width else 0
        case "lshr":
            return args[0] >> min(args[1], width)
        case "ashr":
            return as_signed(0) >> min(args[1], width)
        case "udiv" if args[1]:
            return args[0] // args[1]
        case "sdiv" if args[1]:
            quotient = abs(as_signed(0)) // abs(as_signed(1))
            return quotient if (as_signed(0) < 0) == (as_signed(1) < 0) else -quotient
        case "select":
            return args[1] if args[0] else args[2]
        case "eq":
            return int(args[0] == 0)
        case "ult":
            return int(args[0] < args[1])
        case "slt":
            return int(as_signed(0) < as_signed(1))
        case "umin":
            return min(args)
        case "umax":
            return max(args)
        case "smin":
            return min(as_signed(0), as_signed(1))
        case "smax":
            return max(as_signed(0), as_signed(1))
        case _:
            return leaf(term, tuple(args))
