"""Operands of instructions (PTX ISA chapter 6): usual forms through a table of words, all forms token by token."""

from __future__ import annotations

import re

from warploom.ptx.syntax.constants import OPERATORS, float_literal, integer_literal, negated, read_constant, read_number
from warploom.ptx.syntax.cursor import Cursor, found
from warploom.ptx.syntax.nodes import (
    Address,
    Group,
    Integer,
    Name,
    Negation,
    Operand,
    Pair,
    Subscript,
    Sum,
    Vector,
)
from warploom.ptx.syntax.tokens import NAME

_SIMPLE_NAME = re.compile(rf"{NAME}(?:\.[a-z0-9]+)?\Z", re.A)
_SIMPLE_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|\d+)\Z", re.A)
_SIMPLE_ADDRESS = re.compile(rf"\[({NAME})(?:\+(-?\d{{1,18}}))?\]\Z", re.A)
_BITS = re.compile(r"0(?:[fF][0-9a-fA-F]{8}|[dD][0-9a-fA-F]{16})\Z")
_PART = re.compile(
    r"[ \t]*+(?:\{([^{}()\[\]]*+)\}[ \t]*+|\(([^{}()\[\]]*+)\)[ \t]*+|(\[[^\[\]{},]*+\][ \t]*+|[^,{}()\[\]]*+))(?:,|(\Z))"
)


class OperandTable:
    """Operands of usual forms by their text; equal texts give the same node."""

    def __init__(self) -> None:
        self._words: dict[str, Operand | None] = {}

    def operands(self, text: str) -> tuple[Operand, ...] | None:
        """The operands; None asks for the reader that goes token by token."""
        if "{" in text or "(" in text:
            return self._with_lists(text)
        found: list[Operand] = []
        words = self._words
        for part in text.split(","):
            word = part.strip()
            operand = words.get(word)
            if operand is None:
                operand = self._word(word)
                if operand is None:
                    return None
            found.append(operand)
        return tuple(found)

    def _word(self, word: str) -> Operand | None:
        operand = self._words[word] = _simple(word)
        return operand

    def _with_lists(self, text: str) -> tuple[Operand, ...] | None:
        found: list[Operand] = []
        position = 0
        while True:
            match = _PART.match(text, position)
            if match is None:
                return None
            vector, group, other, at_end = match.groups()
            if other is not None:
                word = other.strip()
                operand = self._words.get(word) or self._word(word)
                if operand is None:
                    return None
                found.append(operand)
            else:
                inner = vector if vector is not None else group
                elements = self.operands(inner) if inner.strip() else ()
                if elements is None:
                    return None
                found.append(Vector(elements) if vector is not None else Group(elements))
            if at_end is not None:
                return tuple(found)
            position = match.end()


def _simple(word: str) -> Operand | None:
    if _SIMPLE_NAME.match(word):
        return Name(word)
    match = _SIMPLE_ADDRESS.match(word)
    if match is not None and match[1] != "WARP_SZ":
        return Address(Name(match[1]), int(match[2] or 0))
    match = _SIMPLE_INTEGER.match(word)
    if match is not None:
        value = integer_literal(match[2])
        if value is None:
            return None
        return Integer((negated(value) if match[1] else value)[0], word)
    if _BITS.match(word):
        return float_literal(word)
    return None


def read_operand(cursor: Cursor) -> Operand:
    """One operand, or two with `|` between."""
    first = _plain(cursor)
    if cursor.take("|"):
        return Pair(first, _plain(cursor))
    return first


def _plain(cursor: Cursor) -> Operand:
    kind, word, start, end = cursor.peek()
    if kind == "punct":
        match word:
            case "[":
                return _address(cursor)
            case "{":
                return Vector(_sequence(cursor, "{", "}"))
            case "(" if not _is_constant_expression(cursor, end):
                return Group(_sequence(cursor, "(", ")"))
            case "!" if _is_name_at(cursor, end):
                cursor.position = end
                return Negation(_plain(cursor))
            case "-" if _is_name_at(cursor, end):
                raise cursor.fault(
                    "expected a register or a constant, found a minus before a name", start, end,
                    "Negate the register by an instruction: neg.",
                )  # fmt: skip
            case "-" | "+" | "(" | "~" | "!":
                return read_number(cursor)
            case _:
                pass
    if kind == "name":
        return _named(cursor, word, end)
    if kind in ("integer", "bits", "float", "dot"):
        return read_number(cursor)
    raise cursor.fault(f"expected an operand, found {found((kind, word, start, end))}", start, end)


def _is_name_at(cursor: Cursor, position: int) -> bool:
    kind, word, _, _ = cursor.token_at(position)
    return kind == "name" and word != "WARP_SZ"


_LOOKAHEAD = 100
"""Tokens after an opening parenthesis that are looked at."""


def _is_constant_expression(cursor: Cursor, position: int) -> bool:
    """Whether the parenthesis before `position` holds a constant expression rather than the arguments of a call."""
    kind, word = "punct", "("
    for _ in range(_LOOKAHEAD):
        kind, word, _, position = cursor.token_at(position)
        if kind != "punct" or word not in ("(", "-", "~", "!", "+"):
            break
    if kind == "dot" and word in (".s64", ".u64"):
        return True
    if kind != "integer" and word != "WARP_SZ":
        return False
    following = cursor.token_at(position)
    if following[1] == ")":
        return cursor.token_at(following[3])[1] in OPERATORS
    return following[1] != ","


def _sequence(cursor: Cursor, opening: str, closing: str) -> tuple[Operand, ...]:
    cursor.expect(opening, "before a list")
    cursor.enter()
    found: list[Operand] = []
    while not cursor.take(closing):
        found.append(read_operand(cursor))
        if not cursor.take(","):
            cursor.expect(closing, "after the list")
            break
    cursor.depth -= 1
    return tuple(found)


def _named(cursor: Cursor, word: str, end: int) -> Operand:
    if word == "WARP_SZ" and cursor.token_at(end)[1] in OPERATORS:
        return read_constant(cursor, "a constant")
    text = word
    while True:
        kind, component, _, stop = cursor.token_at(end)
        if kind != "dot":
            break
        text += component
        end = stop
    cursor.position = end
    name = Name(text)
    if cursor.take("["):
        cursor.enter()
        index = read_operand(cursor)
        cursor.expect("]", "after the index")
        cursor.depth -= 1
        return Subscript(name, index)
    offset = read_offset(cursor)
    return Sum(name, offset) if offset else name


def read_offset(cursor: Cursor) -> int:
    """`+n`, `-n` or nothing."""
    if cursor.take("+"):
        return read_constant(cursor, "an offset").value
    if cursor.take("-"):
        return -read_constant(cursor, "an offset").value
    return 0


def _address(cursor: Cursor) -> Operand:
    cursor.expect("[", "before an address")
    cursor.enter()
    base = _plain(cursor)
    offset = 0
    if isinstance(base, Sum):
        base, offset = base.base, base.offset
    rest: list[Operand] = []
    while cursor.take(","):
        rest.append(read_operand(cursor))
    cursor.expect("]", "after the address")
    cursor.depth -= 1
    return Address(base, offset, tuple(rest))
