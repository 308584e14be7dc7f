"""Words and signs of a description, with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from warploom.core import Diagnostic, Span, UserError

Kind: TypeAlias = Literal["name", "object", "number", "code", "sign", "end"]
_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*)|(?P<code>"[^"\n]*")|(?P<object>\$\s?[A-Za-z_]\w*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+)"""
    r"""|(?P<sign>\.\.\.|->|\|\||&&|==|!=|<=|>=|[<>=():,|!/.])"""
)
MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    span: Span

    @property
    def shown(self) -> str:
        return "the end of the text" if self.kind == "end" else repr(self.text)


def wrong(span: Span, message: str, fix: str = "", code: str = "SYNTAX") -> NoReturn:
    raise UserError(Diagnostic(code, message, span, fix))


def tokens(text: str, file: str) -> list[Token]:
    """Raises UserError at a character that no word begins with."""
    lines = text.split("\n")
    found: list[Token] = []
    at, line, begin = 0, 1, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        column = at - begin + 1
        if match is None:
            where = Span(file, line, column, line, column + 1, lines[line - 1])
            fix = 'Close the code on its line: "$dim.size()".' if text[at] == '"' else "Remove it."
            wrong(where, f"expected a name, a number, code or a sign, got {text[at]!r}", fix)
        span = Span(file, line, column, line, column + len(match[0]), lines[line - 1])
        kind = match.lastgroup
        if kind == "number" and len(match[0]) > MAX_DIGITS:
            wrong(span, f"expected a number of at most {MAX_DIGITS} digits, got {len(match[0])}", "Use a smaller number.")
        if kind == "blank":
            newlines = match[0].count("\n")
            if newlines:
                line += newlines
                begin = at + match[0].rindex("\n") + 1
        elif kind in ("name", "object", "number", "code", "sign"):
            shown = re.sub(r"\s", "", match[0]) if kind == "object" else match[0]
            found.append(Token(kind, shown, span))
        at = match.end()
    last = lines[-1]
    found.append(Token("end", "", Span(file, len(lines), len(last) + 1, len(lines), len(last) + 1, last)))
    return found
