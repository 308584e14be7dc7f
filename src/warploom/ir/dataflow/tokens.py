"""Tokens of the dataflow language, and the cursor that its readers share."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from warploom.core import Diagnostic, Span, UserError

TokenKind = Literal["name", "int", "string", "sign", "end"]

_TOKEN = re.compile(
    r"(?P<skip>[ \t\r\n\f\ufeff]+|#[^\n]*)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<int>[0-9]+)|(?P<string>\"[^\"\n]*\")"
    r"|(?P<sign>\.\.\.|->|==|!=|<=|>=|<<|>>|//|[][(){}:=,?@+\-*/%<>.&|^\\])"
)
_MAX_DIGITS = 15
"""Most digits of an integer: symbols and indexes must fit 64-bit arrays with room for sums."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text with its lines, for spans."""

    text: str
    file: str
    starts: tuple[int, ...]
    """Offset of each line's first character."""

    def span(self, start: int, end: int) -> Span:
        """The half-open range of offsets as lines and columns."""
        line, end_line = bisect_right(self.starts, start), bisect_right(self.starts, end)
        first = self.starts[line - 1]
        newline = self.text.find("\n", first)
        shown = self.text[first : newline if newline >= 0 else len(self.text)]
        return Span(self.file, line, start - first + 1, end_line, end - self.starts[end_line - 1] + 1, shown.rstrip("\r"))


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    """Text without the quotes of a string; empty at the end."""
    start: int
    end: int


def source_of(text: str, file: str) -> Source:
    return Source(text, file, (0, *(m.end() for m in re.finditer("\n", text))))


def syntax_error(span: Span, expected: str, got: str, fix: str = "") -> UserError:
    return UserError(Diagnostic("DATAFLOW_SYNTAX", f"expected {expected}, got {got}", span, fix))


def tokenize(source: Source) -> tuple[Token, ...]:
    """All tokens and one of kind `end`; UserError (DATAFLOW_SYNTAX) at the first character that starts none."""
    tokens: list[Token] = []
    at = 0
    while at < len(source.text):
        match = _TOKEN.match(source.text, at)
        if match is None:
            got = source.text[at]
            if _in_comment(tokens, source.text, at):
                tokens.append(Token("sign", got, at, at + 1))
                at = source.text.find("\n", at) % (len(source.text) + 1)
                continue
            span = source.span(at, at + 1)
            if got == '"':
                raise syntax_error(span, "a closing quote on the same line", "the end of the line", 'close the string with `"`')
            raise syntax_error(span, "a name, number, bracket or operator", f"the character {got!r}", "remove the character")
        at = match.end()
        text = match.group()
        match match.lastgroup:
            case "name" | "sign" as kind:
                tokens.append(Token(kind, text, match.start(), at))
            case "int":
                if len(text) > _MAX_DIGITS:
                    raise syntax_error(source.span(match.start(), at), f"at most {_MAX_DIGITS} digits", f"{len(text)} digits")
                tokens.append(Token("int", text, match.start(), at))
            case "string":
                tokens.append(Token("string", text[1:-1], match.start(), at))
            case _:
                pass
    end = len(source.text.rstrip())
    tokens.append(Token("end", "", end, end))
    return tuple(tokens)


def _in_comment(tokens: list[Token], text: str, at: int) -> bool:
    """Whether `//` stands before on the line. Then the line ends here for the reader: where `//` divides, the character that no
    rule takes is an error; where it follows a whole statement, all to the end of the line is a comment."""
    first = text.rfind("\n", 0, at) + 1
    line = takewhile(lambda t: t.start >= first, reversed(tokens))
    return any(t.kind == "sign" and t.text == "//" for t in line)


class Cursor:
    """A position in the tokens of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.at = 0

    def peek(self, ahead: int = 0) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def sees(self, *signs: str, ahead: int = 0) -> bool:
        """Whether the token there is one of these signs or words (never a string)."""
        token = self.peek(ahead)
        return token.kind in ("sign", "name") and token.text in signs

    def next(self) -> Token:
        token = self.peek()
        self.at += token.kind != "end"
        return token

    def accept(self, sign: str) -> bool:
        """Steps over the sign or word if it is next."""
        found = self.sees(sign)
        self.at += found
        return found

    def skip_line(self) -> None:
        """Steps over the next token and all that follow it on its line."""
        end = self.source.text.find("\n", self.peek().start)
        while self.peek().kind != "end" and (end < 0 or self.peek().start < end):
            self.at += 1

    def expect(self, sign: str, fix: str = "") -> Token:
        if not self.sees(sign):
            raise self.wrong(f"`{sign}`", fix)
        return self.next()

    def expect_kind(self, kind: TokenKind, expected: str, fix: str = "") -> Token:
        if self.peek().kind != kind:
            raise self.wrong(expected, fix)
        return self.next()

    def integer(self, expected: str = "an integer") -> int:
        """Reads an integer of any sign."""
        if self.accept("-"):
            return -int(self.expect_kind("int", expected).text)
        return int(self.expect_kind("int", expected).text)

    def wrong(self, expected: str, fix: str = "") -> UserError:
        """An error at the next token."""
        token = self.peek()
        got = "the end of the text" if token.kind == "end" else f"`{self.source.text[token.start : token.end]}`"
        return syntax_error(self.span_of(token), expected, got, fix)

    def span_of(self, token: Token) -> Span:
        return self.source.span(token.start, max(token.end, token.start + 1) if token.kind != "end" else token.end)

    def span_from(self, start: int) -> Span:
        """Span from an offset to the end of the token before the cursor."""
        return self.source.span(start, self.tokens[self.at - 1].end if self.at else start)
