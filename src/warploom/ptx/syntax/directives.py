"""Directives other than declarations, and debug sections (PTX ISA chapter 11)."""

from __future__ import annotations

import re

from warploom.ptx.syntax.constants import plain
from warploom.ptx.syntax.cursor import Cursor, found
from warploom.ptx.syntax.declarations import read_parenthesised
from warploom.ptx.syntax.nodes import Directive, Extent, Section
from warploom.ptx.syntax.tokens import TRIVIA

LABELLED = frozenset({"branchtargets", "calltargets", "callprototype"})
"""Directives that a label may stand before."""
_TERMINATED = LABELLED | {"pragma", "alias"}
"""Directives that end with a semicolon, on whatever line."""
_NO_ARGUMENTS = frozenset({"noreturn", "explicitcluster", "blocksareclusters"})
_SPACE = TRIVIA.pattern
_LINE = {
    name: (re.compile(pattern.replace(" ", _SPACE), re.A), what)
    for name, pattern, what in (
        ("version", r" \d++\.\d++", "a version such as 9.0"),
        ("target", r" [A-Za-z_]\w*+(?: , [A-Za-z_]\w*+)*+", "a target such as sm_90"),
        ("address_size", r" \d++", "32 or 64"),
        ("loc", r" \d++ \d++ \d++(?: , function_name [\w$]++(?: \+ \w++)?| , inlined_at \d++ \d++ \d++)*+",
         "file, line and column numbers"),
        ("file", r' \d++ "(?:[^"\\\n]++|\\.)*+"(?: , \d++)*+', 'a number and a name in quotes, such as 1 "a.cu"'),
    )
}  # fmt: skip
"""Directives that end where their arguments do."""
_SECTION_END = re.compile(r'(?:[^"/}]++|"(?:[^"\\\n]++|\\.)*+"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/|["/])*+\}')


def read_directive(cursor: Cursor, lead: int, start: int, *, label: str = "") -> Directive | Section:
    """A directive among items or statements; the next token is its name."""
    _, word, _, end = cursor.next()
    name = word[1:]
    if name == "section":
        return _section(cursor, lead, start)
    if name in _NO_ARGUMENTS:
        return Directive(name, "", label, extent=Extent(lead, start, end))
    if name in _LINE:
        return _line_directive(cursor, name, lead, start, end)
    if name in _TERMINATED:
        stop = _semicolon(cursor, name)
        arguments = plain(cursor.text[end : stop - 1])
        return Directive(name, arguments, label, terminated=True, extent=Extent(lead, start, stop))
    return _unknown_directive(cursor, name, lead, start, end)


def read_header_directive(cursor: Cursor, lead: int, start: int) -> Directive:
    """A directive between the name and the body of a function: numbers, strings and commas follow it."""
    _, word, _, end = cursor.next()
    name = word[1:]
    if name == "pragma":
        stop = _semicolon(cursor, name)
        return Directive(name, plain(cursor.text[end : stop - 1]), terminated=True, extent=Extent(lead, start, stop))
    if name == "attribute":
        arguments = read_parenthesised(cursor, "after .attribute")
        return Directive(name, arguments, extent=Extent(lead, start, cursor.position))
    while True:
        kind, word, _, stop = cursor.peek()
        if kind not in ("integer", "float", "string") and (kind != "punct" or word != ","):
            break
        cursor.position = stop
    return Directive(name, plain(cursor.text[end : cursor.position]), extent=Extent(lead, start, cursor.position))


def read_legacy_debug_line(cursor: Cursor, lead: int, start: int) -> Directive:
    """`@@DWARF ...` up to the end of the line (PTX ISA 11.5.1)."""
    stop = cursor.text.find("\n", start)
    stop = len(cursor.text) if stop < 0 else stop
    cursor.position = stop
    return Directive("@@", cursor.text[start + 2 : stop].strip(), extent=Extent(lead, start, stop))


def _semicolon(cursor: Cursor, name: str) -> int:
    """Moves past the semicolon that ends a directive."""
    while True:
        kind, word, at, stop = cursor.next()
        if kind == "punct" and word == ";":
            return stop
        if kind == "end" or (kind == "punct" and word in ("{", "}")):
            token = (kind, word, at, stop)
            raise cursor.fault(f"expected ';' after .{name}, found {found(token)}", at, stop, f"End .{name} with a semicolon.")


def _line_directive(cursor: Cursor, name: str, lead: int, start: int, end: int) -> Directive:
    pattern, what = _LINE[name]
    match = pattern.match(cursor.text, end)
    if match is None:
        begin = cursor.skip(end)
        line = cursor.text[begin : begin + 100].partition("\n")[0].rstrip()
        token = ("line" if line else "end", line, begin, begin + len(line))
        raise cursor.fault(f"expected {what} after .{name}, found {found(token)}", begin, token[3])
    cursor.position = stop = match.end()
    after = TRIVIA.match(cursor.text, stop)
    semicolon = after.end() if after is not None else stop
    terminated = cursor.text.startswith(";", semicolon)
    if terminated:
        cursor.position = semicolon + 1
    arguments = plain(cursor.text[end:stop])
    return Directive(name, arguments, terminated=terminated, extent=Extent(lead, start, cursor.position))


def _unknown_directive(cursor: Cursor, name: str, lead: int, start: int, end: int) -> Directive:
    """Reads to the semicolon on its line, or else to the end of the line; braces and parentheses may span lines."""
    depth = 0
    line_end = cursor.text.find("\n", end)
    line_end = len(cursor.text) if line_end < 0 else line_end
    stop = end
    while True:
        kind, word, at, after = cursor.peek()
        is_bracket = kind == "punct" and word in _BRACKETS
        if depth == 0 and (kind == "end" or at >= line_end or (kind == "punct" and word == "}")):
            extent = Extent(lead, start, stop)
            return Directive(name, plain(cursor.text[end:stop]), extent=extent)
        if kind == "end":
            raise cursor.fault(f"expected the end of .{name}, found the end of the file", start, end)
        cursor.position = stop = after
        if kind == "punct" and word == ";" and depth == 0:
            extent = Extent(lead, start, stop)
            return Directive(name, plain(cursor.text[end:at]), terminated=True, extent=extent)
        if is_bracket:
            depth += _BRACKETS[word]
            if depth == 0:
                line_end = cursor.text.find("\n", stop)
                line_end = len(cursor.text) if line_end < 0 else line_end


_BRACKETS = {"{": 1, "(": 1, "}": -1, ")": -1}


def _section(cursor: Cursor, lead: int, start: int) -> Section:
    token = cursor.next()
    if token[0] not in ("dot", "name"):
        raise cursor.fault(f"expected the name of a section such as .debug_str, found {found(token)}", token[2], token[3])
    opening = cursor.expect("{", "after the name of the section")
    match = _SECTION_END.match(cursor.text, opening)
    if match is None:
        raise cursor.fault("expected '}' at the end of the section, found the end of the file", opening - 1, opening)
    cursor.position = match.end()
    return Section(token[1], cursor.text[opening : match.end() - 1], Extent(lead, start, match.end()))
