"""A place in a PTX text that moves from token to token."""

from __future__ import annotations

from typing import TypeAlias

from warploom.core import UserError
from warploom.ptx.syntax.tokens import TOKEN, TRIVIA, Source

Token: TypeAlias = tuple[str, str, int, int]
"""Kind, text, start, end; kind `end` at the end of the file."""
MAX_DEPTH = 100
"""Most levels of braces, brackets and parentheses."""
_SHOWN = 60
"""Characters of a wrong token in a message."""


class Cursor:
    """Reads tokens of one text; all it raises is UserError (PTX_SYNTAX) with the place."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.position = 0
        """Position where the white space before the next token starts."""
        self.depth = 0

    def fault(self, message: str, start: int, end: int | None = None, fix: str = "") -> UserError:
        """The error for wrong text in [start, end)."""
        return self.source.error("PTX_SYNTAX", message, start, end, fix=fix)

    def skip(self, position: int) -> int:
        """The first offset from `position` on that is neither white space nor comment."""
        match = TRIVIA.match(self.text, position)
        end = match.end() if match else position
        if self.text.startswith("/*", end):
            raise self.fault("expected the end of the comment, found the end of the file", end, end + 2, "Close it with */.")
        return end

    def token_at(self, position: int) -> Token:
        """The token after the white space at `position`."""
        start = self.skip(position)
        match = TOKEN.match(self.text, start)
        if match is not None:
            return match.lastgroup or "", match.group(), start, match.end()
        if start >= len(self.text):
            return "end", "", start, start
        if self.text[start] == '"':
            raise self.fault("expected '\"' at the end of the string, found the end of the line", start, fix="Close the string.")
        raise self.fault(f"expected a PTX token, found {self.text[start]!r}", start)

    def peek(self) -> Token:
        """The next token."""
        return self.token_at(self.position)

    def next(self) -> Token:
        """The next token, moving past it."""
        token = self.token_at(self.position)
        self.position = token[3]
        return token

    def is_next(self, text: str) -> bool:
        """Whether the next token is this punctuation, directive or name."""
        token = self.peek()
        return token[1] == text and token[0] in ("punct", "dot", "name")

    def take(self, text: str) -> bool:
        """Moves past the next token if it is `text`."""
        token = self.peek()
        if token[1] == text and token[0] in ("punct", "dot", "name"):
            self.position = token[3]
            return True
        return False

    def expect(self, text: str, what: str, fix: str = "") -> int:
        """Moves past the token `text`; the offset after it."""
        token = self.next()
        if token[1] != text or token[0] not in ("punct", "dot", "name"):
            raise self.fault(f"expected {text!r} {what}, found {found(token)}", token[2], token[3], fix)
        return token[3]

    def identifier(self, what: str) -> str:
        token = self.next()
        if token[0] != "name":
            raise self.fault(f"expected {what}, found {found(token)}", token[2], token[3])
        return token[1]

    def enter(self) -> None:
        """One level deeper; `depth` is to be lowered on the way out."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            start = self.skip(self.position)
            raise self.fault(f"expected at most {MAX_DEPTH} levels of braces, brackets and parentheses, found more", start)


def found(token: Token) -> str:
    """The token in a message."""
    if token[0] == "end":
        return "the end of the file"
    text = token[1]
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
