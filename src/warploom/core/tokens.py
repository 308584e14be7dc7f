"""Words and signs of a small language with their places, and the position that its parser moves."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warploom.core.diagnostics import Diagnostic, UserError
from warploom.core.spans import Span

MAX_DIGITS = 18
"""Most digits of a whole number: it fits 64 bits."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    """Name of the pattern's group, or `end`."""
    text: str
    span: Span

    @property
    def shown(self) -> str:
        return "the end of the text" if self.kind == "end" else repr(self.text)


def wrong(span: Span, message: str, fix: str = "", code: str = "SYNTAX") -> UserError:
    return UserError(Diagnostic(code, message, span, fix))


def tokens(text: str, file: str, pattern: re.Pattern[str], expected: str, fixes: dict[str, str]) -> list[Token]:
    """All tokens and one of kind `end`. Groups of the pattern are the kinds; what its group `blank` matches is left out, and
    a `number` has at most MAX_DIGITS digits before its point.

    `expected` says what may stand anywhere, `fixes` what to do about a character that starts no token. Raises UserError at such
    a character.
    """
    lines = text.split("\n")
    found: list[Token] = []
    at, line, begin = 0, 1, 0
    while at < len(text):
        match = pattern.match(text, at)
        column = at - begin + 1
        if match is None:
            where = Span(file, line, column, line, column + 1, lines[line - 1])
            raise wrong(where, f"expected {expected}, got {text[at]!r}", fixes.get(text[at], "Remove it."))
        kind = str(match.lastgroup)
        if kind == "blank":
            newlines = match[0].count("\n")
            if newlines:
                line += newlines
                begin = at + match[0].rindex("\n") + 1
        else:
            span = Span(file, line, column, line, column + len(match[0]), lines[line - 1])
            if kind == "number" and (digits := len(match[0].partition(".")[0])) > MAX_DIGITS:
                raise wrong(span, f"expected a number of at most {MAX_DIGITS} digits, got {digits}", "Use a smaller number.")
            found.append(Token(kind, match[0], span))
        at = match.end()
    last = lines[-1]
    found.append(Token("end", "", Span(file, len(lines), len(last) + 1, len(lines), len(last) + 1, last)))
    return found


class Cursor:
    """A position in tokens that end with one of kind `end`."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _is(self, text: str, ahead: int = 0) -> bool:
        """Whether this sign or word is there."""
        token = self._peek(ahead)
        return token.text == text and token.kind in ("sign", "name")

    def _taken(self, text: str) -> bool:
        """Steps over the sign or word if it is next."""
        found = self._is(text)
        self._at += found
        return found

    def _expect(self, text: str, fix: str = "") -> Token:
        if not self._is(text):
            raise wrong(self._next.span, f"expected {text!r}, got {self._next.shown}", fix)
        return self._take()

    def _word(self, what: str, kind: str = "name") -> Token:
        if self._next.kind != kind:
            raise wrong(self._next.span, f"expected {what}, got {self._next.shown}")
        return self._take()
