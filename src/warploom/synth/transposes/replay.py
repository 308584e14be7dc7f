"""Checks printed steps of a transpose on every element: reads the notation by itself, computes with plain integers.

Shares nothing with the search or with `ir.swizzle`; see `ir.swizzle.compositions` for the notation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

_Map = Callable[[int, int], int]
_CALL = re.compile(r"(rot|fan|xor|cm2linear|group|unit)\(")


def replay(kind: str, m: int, n: int, steps: Sequence[str]) -> str:
    """The reason why the steps are no transpose of m registers by n lanes; empty when every element ends where it should."""
    registers, lanes = range(m), range(n)
    held = [[register * n + lane for lane in lanes] for register in registers]
    for number, text in enumerate(steps):
        try:
            step = _index_map(text)
            between_lanes = (number % 2 == 0) == (kind == "rcr")
            held = [
                [held[i][step(i, j)] if between_lanes else held[step(i, j)][j] for j in lanes] for i in registers
            ]  # fmt: skip
        except (ValueError, IndexError, KeyError, ZeroDivisionError) as error:
            return f"step {number + 1}, `{text}`: {error}"
    for lane in lanes:
        for register in registers:
            wanted = lane * m + register
            if kind == "sum":
                found = sorted(held[i][lane] for i in registers)
                if found != list(range(lane * m, lane * m + m)):
                    return f"lane {lane} sums elements {found}"
                break
            if held[register][lane] != wanted:
                return f"register {register} of lane {lane} holds element {held[register][lane]}, not {wanted}"
    return ""


def _index_map(text: str) -> _Map:
    """(i, j) to the index that the text computes; negative values, which Python would take for the end, are errors."""
    if text in ("i", "j"):
        return (lambda i, j: i) if text == "i" else (lambda i, j: j)
    head, _, start = text.rpartition("(")
    if start not in ("i)", "j)"):
        raise ValueError("expected (i) or (j) at the end")
    if head.startswith("(") and head.endswith(")"):
        head = head[1:-1]
    chain = [_primitive(part) for part in _split(head, " o ")]

    def evaluate(i: int, j: int) -> int:
        value, other = (i, j) if start == "i)" else (j, i)
        for step in reversed(chain):
            value = step(value, other)
        if value < 0:
            raise ValueError(f"negative index {value}")
        return value

    return evaluate


def _split(text: str, separator: str) -> list[str]:
    """Parts between separators outside of parentheses."""
    parts: list[str] = []
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and text.startswith(separator, place):
            parts.append(text[start:place])
            start = place + len(separator)
    return [*parts, text[start:]]


def _primitive(text: str) -> _Map:
    match = _CALL.match(text)
    if match is None:
        raise ValueError(f"no primitive: {text}")
    name = match[1]
    close = _closing(text, match.end() - 1)
    sizes = [part.strip() for part in _split(text[match.end() : close], ", ")]
    settings = text[close + 1 :].strip("()")
    given = {key: value for key, _, value in (part.partition("=") for part in settings.split(", ") if part)}
    number = {key: int(value) for key, value in given.items() if key != "k"}
    count = int(sizes[0])
    match name:
        case "rot":
            turn, period, constant = number.get("cr", 0), number.get("dr"), number.get("c", 0)
            # A negative period takes the quotient away.
            return lambda x, k: (
                (x + turn * k + ((-1 if period < 0 else 1) * (k // abs(period)) if period else 0) + constant) % count
            )
        case "fan":
            scale = number["cf"]
            run = count // math.gcd(scale, count)
            return lambda x, k: (x * scale + (x // run if run < count else 0)) % count
        case "xor":
            power = count & -count
            uses, period, constant = "k" in given, number.get("dr", 1), number.get("c", 0)
            return lambda x, k: x ^ ((k // period) % power if uses else 0) ^ constant
        case "cm2linear":
            modulus = int(sizes[1])
            return lambda x, k: (k * count + x) % modulus
        case "group":
            inner = _primitive(sizes[1])
            return lambda x, k: x // count * count + inner(x % count, k)
        case _:
            unit, inner = int(sizes[1]), _primitive(sizes[2])
            return lambda x, k: inner(x // unit, k) * unit + x % unit


def _closing(text: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    raise ValueError(f"unclosed parenthesis: {text}")
