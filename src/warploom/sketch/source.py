"""The text a Python function was written as: its syntax tree with the line and column numbers of the user's file."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass

from warploom.core import NOWHERE, Diagnostic, Span, UserError


class Missing:
    """The answer of a resolver for a name that is bound nowhere."""


MISSING = Missing()
Resolver = Callable[[str], object]


_Function = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file."""

    file: str
    lines: tuple[str, ...]

    def span(self, node: ast.AST) -> Span:
        """Place of `node` (of a tree of this file); columns count characters, not bytes."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        start: int = getattr(node, "col_offset", 0)
        end: int = getattr(node, "end_col_offset", None) or start
        text = self._line(line)
        return Span(
            self.file, line, _characters(text, start) + 1, end_line, _characters(self._line(end_line), end) + 1, text.rstrip("\n")
        )

    def place(self, node: ast.AST) -> str:
        """`line:col` of `node`."""
        span = self.span(node)
        return f"{span.line}:{span.column}"

    def _line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


def _characters(line: str, byte_offset: int) -> int:
    return len(line.encode()[:byte_offset].decode(errors="ignore"))


@dataclass(frozen=True, slots=True)
class Written:
    """A function together with its text."""

    source: Source
    node: _Function
    resolve: Resolver
    """Value of a name that the function does not bind itself: closure, module, built-in."""
    known: tuple[str, ...]
    """Names of the closure and the module, for suggestions."""


_parsed: dict[str, tuple[tuple[str, ...], list[_Function]]] = {}
"""The lines and the functions of each file."""


def written(function: Callable[..., object]) -> Written:
    """The text of `function`, a `def` or a lambda.

    Raises UserError if its source cannot be read (typed into an interpreter), or if a decorator put another function in its
    place: then its text is not what runs.
    """
    plain = function
    if hasattr(plain, "__wrapped__"):
        inner = inspect.unwrap(function)
        code = getattr(inner, "__code__", None)
        where = Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1) if code else None
        name = getattr(inner, "__name__", repr(inner))
        message = f"expected a function as it is written, got {name!r} under a decorator that runs something else"
        raise UserError(Diagnostic("DECORATED", message, where or NOWHERE, "Remove the decorator, or write out what it does."))
    if not isinstance(plain, types.FunctionType):
        raise UserError(
            Diagnostic("NOT_A_FUNCTION", f"expected a Python function, got {function!r}", fix="Pass a `def` or a lambda.")
        )
    code = plain.__code__
    try:
        lines = tuple(inspect.findsource(plain)[0])
        if code.co_filename not in _parsed or _parsed[code.co_filename][0] != lines:
            _parsed[code.co_filename] = (lines, [n for n in ast.walk(ast.parse("".join(lines))) if isinstance(n, _Function)])
        functions = _parsed[code.co_filename][1]
    except (OSError, SyntaxError):
        functions, lines = [], ()
    found = [node for node in functions if _name(node) == plain.__name__ and _first_line(node) == code.co_firstlineno]
    if len(found) > 1:
        found = [node for node in found if _holds(node, code)]
    if not found:
        where = Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1)
        raise UserError(
            Diagnostic(
                "SOURCE_UNAVAILABLE",
                f"the source of {plain.__name__!r} cannot be read",
                where,
                "Put the function into a file; functions are read from their source, not run.",
            )
        )
    closure = dict(zip(code.co_freevars, plain.__closure__ or (), strict=True))

    def resolve(name: str) -> object:
        if name in closure:
            try:
                return closure[name].cell_contents
            except ValueError:
                return MISSING
        if name in plain.__globals__:
            return plain.__globals__[name]
        return getattr(builtins, name, MISSING)

    return Written(Source(code.co_filename, lines), found[0], resolve, (*closure, *plain.__globals__))


def _name(node: _Function) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


def _first_line(node: _Function) -> int:
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return node.decorator_list[0].lineno
    return node.lineno


def _holds(node: _Function, code: types.CodeType) -> bool:
    """Whether the instructions of `code` come from the body of `node`: tells lambdas on one line apart."""
    if isinstance(node, ast.FunctionDef):
        return True
    start, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno or 0, node.body.end_col_offset or 0)
    for line, end_line, column, end_column in code.co_positions():
        # the entry instruction carries an empty range at column 0
        if line is None or end_line is None or column is None or not end_column:
            continue
        if not (start <= (line, column) and (end_line, end_column) <= end):
            return False
    return True
