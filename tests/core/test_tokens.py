"""Tokens of small languages: places, limits, what no token begins with."""

from __future__ import annotations

import re

import pytest

from warploom.core import UserError
from warploom.core.tokens import Cursor, tokens

PATTERN = re.compile(r"(?P<blank>\s+|#[^\n]*)|(?P<name>[a-z]+)|(?P<number>\d+\.\d*|\d+)|(?P<sign>[+-])")


def test_places_are_lines_and_columns() -> None:
    found = tokens("a # x\n\n  12 +", "F", PATTERN, "a name", {})
    assert [(t.kind, t.text, str(t.span)) for t in found] == [
        ("name", "a", "F:1:1"), ("number", "12", "F:3:3"), ("sign", "+", "F:3:6"), ("end", "", "F:3:7"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "place", "message", "fix"),
    [
        ("a\n ?", "F:2:2", "expected a name, got '?'", "Remove it."),
        ("a $", "F:1:3", "expected a name, got '$'", "Write a name."),
        ("a " + "1" * 19, "F:1:3", "expected a number of at most 18 digits, got 19", "Use a smaller number."),
    ],
)
def test_what_is_no_token(text: str, place: str, message: str, fix: str) -> None:
    with pytest.raises(UserError) as raised:
        tokens(text, "F", PATTERN, "a name", {"$": "Write a name."})
    (found,) = raised.value.diagnostics
    assert (str(found.span), found.message, found.fix) == (place, message, fix)


def test_digits_after_the_point_are_as_many_as_one_likes() -> None:
    assert tokens("0." + "1" * 40, "F", PATTERN, "a name", {})[0].kind == "number"


class _Sum(Cursor):
    def read(self) -> list[str]:
        found = [self._word("a name").text]
        while self._taken("+"):
            found.append(self._word("a name").text)
        self._expect("-", "Close it.")
        return found


def test_a_cursor_stays_at_the_end() -> None:
    assert _Sum(tokens("a + b -", "F", PATTERN, "", {})).read() == ["a", "b"]
    for text, message in (("a +", "expected a name, got the end of the text"), ("a b", "expected '-', got 'b'")):
        with pytest.raises(UserError, match=re.escape(message)):
            _Sum(tokens(text, "F", PATTERN, "", {})).read()
