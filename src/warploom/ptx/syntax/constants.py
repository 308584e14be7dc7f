"""Numbers and constant expressions (PTX ISA 4.5): 64-bit integers that wrap, evaluated while reading."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeAlias

from warploom.ptx.syntax.cursor import Cursor, found
from warploom.ptx.syntax.nodes import Float, Integer
from warploom.ptx.syntax.tokens import TOKEN, TRIVIA

Value: TypeAlias = tuple[int, bool]
"""The number, and whether it is unsigned."""
_LONGEST = 80
"""Digits of an integer literal at most."""


def read_constant(cursor: Cursor, what: str) -> Integer:
    """An integer constant expression."""
    begin = cursor.skip(cursor.position)
    value, _ = _expression(cursor, what, 0)
    return Integer(value, plain(cursor.text[begin : cursor.position]))


def read_number(cursor: Cursor) -> Integer | Float:
    """An integer constant expression or a floating-point literal, perhaps with a minus."""
    kind, word, start, end = cursor.peek()
    negative = kind == "punct" and word == "-"
    if negative:
        kind, word, _, end = cursor.token_at(end)
    if kind not in ("bits", "float", "dot"):
        return read_constant(cursor, "a constant")
    literal = float_literal(word)
    if literal is None:
        raise cursor.fault(f"expected an operand, found {found((kind, word, start, end))}", start, end)
    cursor.position = end
    if negative:
        bits = literal.bits ^ 1 << (literal.width - 1)
        return Float(bits, literal.width, plain(cursor.text[start:end]))
    return literal


def float_literal(word: str) -> Float | None:
    """`0f3F800000`, `0d...`, `1.5e3`."""
    if word[:2] in ("0f", "0F", "0d", "0D"):
        return Float(int(word[2:], 16), 32 if word[1] in "fF" else 64, word)
    try:
        return Float(struct.unpack("<Q", struct.pack("<d", float(word)))[0], 64, word)
    except ValueError:
        return None


def integer_literal(word: str) -> Value | None:
    """Decimal, hexadecimal, octal or binary, perhaps with `U`; None: not such a literal, or more than 64 bits."""
    unsigned = word.endswith("U")
    digits = word[:-1] if unsigned else word
    if len(digits) > _LONGEST:
        return None
    is_octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xXbB"
    try:
        value = int(digits, 8 if is_octal else 0)
    except ValueError:
        return None
    return (value, unsigned or value >= 1 << 63) if value < 1 << 64 else None


def negated(value: Value) -> Value:
    """Unary minus; minus the literal 2**63 is the smallest signed number."""
    return wrapped(-value[0], value[1] and value[0] != 1 << 63)


def wrapped(value: int, unsigned: bool) -> Value:
    value &= (1 << 64) - 1
    return value if unsigned or value < 1 << 63 else value - (1 << 64), unsigned


def plain(text: str) -> str:
    """The text without comments, with one space where there was any and behind commas, none inside parentheses."""
    pieces: list[str] = []
    position = 0
    while position < len(text):
        trivia = TRIVIA.match(text, position)
        after = trivia.end() if trivia is not None else position
        token = TOKEN.match(text, after)
        end = token.end() if token is not None else after + 1
        word = text[after:end]
        is_tight = word in (",", ")", "") or (pieces and pieces[-1] == "(")
        if pieces and (after > position or pieces[-1] == ",") and not is_tight:
            pieces.append(" ")
        if word:
            pieces.append(word)
        position = end
    return "".join(pieces)


_PRECEDENCE = {
    "?": 0, "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
OPERATORS = frozenset(_PRECEDENCE) - {"|", ">"}
"""Binary operators that cannot follow an operand in another meaning."""
_STARTS = frozenset({"(", "-", "+", "~", "!"})


def _expression(cursor: Cursor, what: str, level: int) -> Value:
    """Binary operators by precedence climbing."""
    cursor.enter()
    left = _unary(cursor, what)
    while True:
        kind, word, start, end = cursor.peek()
        power = _PRECEDENCE.get(word) if kind == "punct" else None
        if power is None or power < level or (word in (">", "|") and level == 0 and not _is_operand_at(cursor, end)):
            break
        cursor.position = end
        if word == "?":
            then = _expression(cursor, what, 0)
            cursor.expect(":", "in the conditional constant")
            other = _expression(cursor, what, power)
            left = then if left[0] else other
            continue
        right = _expression(cursor, what, power + 1)
        if word in ("/", "%") and right[0] == 0:
            raise cursor.fault("expected a divisor other than 0, found 0", start, cursor.position)
        left = _binary(word, left, right)
    cursor.depth -= 1
    return left


def _is_operand_at(cursor: Cursor, position: int) -> bool:
    kind, word, _, _ = cursor.token_at(position)
    return kind == "integer" or word == "WARP_SZ" or (kind == "punct" and word in _STARTS)


def _unary(cursor: Cursor, what: str) -> Value:
    kind, word, start, end = cursor.next()
    if kind == "integer":
        value = integer_literal(word)
        if value is None:
            raise cursor.fault(f"expected {what} of at most 64 bits, found {found((kind, word, start, end))}", start, end)
        return value
    if kind == "name" and word == "WARP_SZ":
        return 32, False
    if kind == "punct" and word == "(":
        return _parenthesis(cursor, what)
    if kind == "punct" and word in _STARTS:
        cursor.enter()
        value = _unary(cursor, what)
        cursor.depth -= 1
        match word:
            case "-":
                return negated(value)
            case "~":
                return wrapped(~value[0], value[1])
            case "!":
                return int(value[0] == 0), False
            case _:
                return value
    raise cursor.fault(f"expected {what}, found {found((kind, word, start, end))}", start, end)


def _parenthesis(cursor: Cursor, what: str) -> Value:
    kind, word, _, end = cursor.peek()
    if kind == "dot" and word in (".s64", ".u64"):
        cursor.position = end
        cursor.expect(")", "after the cast")
        cursor.enter()
        value, _ = _unary(cursor, what)
        cursor.depth -= 1
        return wrapped(value, word == ".u64")
    value = _expression(cursor, what, 0)
    cursor.expect(")", "after the constant expression")
    return value


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "&&": lambda a, b: bool(a and b), "||": lambda a, b: bool(a or b),
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}  # fmt: skip


def _binary(word: str, left: Value, right: Value) -> Value:
    """Operands are converted to unsigned when one of them is, as in C."""
    unsigned = left[1] or right[1]
    if word in ("<<", ">>"):
        shift = right[0] & 63
        return wrapped(left[0] << shift if word == "<<" else left[0] >> shift, left[1])
    a, b = wrapped(left[0], unsigned)[0], wrapped(right[0], unsigned)[0]
    if word in ("/", "%"):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return wrapped(quotient if word == "/" else a - b * quotient, unsigned)
    if word in _COMPARE:
        return int(_COMPARE[word](a, b)), False
    return wrapped(_ARITHMETIC[word](a, b), unsigned)
