"""Tokens of PTX (PTX ISA 4.2 to 4.5): one regular expression, and where a wrong character stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from warploom.core import Diagnostic, Span, UserError

TRIVIA = re.compile(r"(?:[ \t\r\n\f\v\0]++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/|\\\r?\n|#[ \t]*+[0-9][^\n]*+)*+")
"""White space, comments, continued lines, line markers of a preprocessor, and the zero bytes that C strings end with."""
NAME = r"(?:[A-Za-z][\w$]*+|[_$%][\w$]++|_)"
"""An identifier (PTX ISA 4.4), or the sink `_`."""
TOKEN = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]++|\\.)*+\")"
    r"|(?P<bits>0[fF][0-9a-fA-F]{8}(?![\w])|0[dD][0-9a-fA-F]{16}(?![\w]))"
    r"|(?P<float>(?:\d++\.\d*+|\.\d++)(?:[eE][+-]?\d++)?|\d++[eE][+-]?\d++)"
    r"|(?P<integer>0[xX][0-9a-fA-F]++U?|0[bB][01]++U?|\d++U?)"
    r"|(?P<dot>\.[A-Za-z0-9_$]++(?:::[A-Za-z0-9_$]++)*+)"
    rf"|(?P<name>{NAME})"
    r"|(?P<punct>&&|\|\||<<|>>|<=|>=|==|!=|[{}()\[\],;:=<>|!+\-*/%@?~&^])",
    re.A,
)
"""One token; the group's name is its kind."""
_LONG_LINE = 500
"""Columns; an error in a longer line shows no excerpt."""


@dataclass(slots=True)
class Source:
    """A text with its name; turns offsets into spans."""

    text: str
    file: str
    _starts: list[int] = field(default_factory=list[int])

    def span(self, start: int, end: int | None = None) -> Span:
        """Lines and columns of [start, end); one character when `end` is left out."""
        if not self._starts:
            self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        end = start + 1 if end is None else max(end, start + 1)
        line, end_line = bisect_right(self._starts, start), bisect_right(self._starts, min(end, len(self.text)))
        first = self._starts[line - 1]
        stop = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        excerpt = "" if stop - first > _LONG_LINE else _printable(self.text[first:stop].rstrip("\r"))
        return Span(self.file, line, start - first + 1, end_line, end - self._starts[end_line - 1] + 1, excerpt)

    def error(self, code: str, message: str, start: int, end: int | None = None, *, fix: str = "") -> UserError:
        return UserError(Diagnostic(code, message, self.span(start, end), fix=fix))


def _printable(text: str) -> str:
    """The text with a question mark for what is no character: bytes that are not UTF-8 (surrogate escapes), controls."""
    return "".join(c if c.isprintable() or c == "\t" else "?" for c in text)
