"""Functions of a user's Python file: read as text, never run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from warploom.core import Diagnostic, Span, UnsupportedError, UserError

HOLE = "__"
"""What `??` in a template is read as: a name of the same width, so that places stay right."""


@dataclass(frozen=True, slots=True)
class Module:
    """One file's text and what it defines at the top."""

    file: str
    text: str
    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, ast.expr]

    def span(self, node: ast.AST) -> Span:
        """Where `node` stands."""
        line: int = getattr(node, "lineno", 1)
        start: int = getattr(node, "col_offset", 0)
        end_line: int = getattr(node, "end_lineno", None) or line
        end: int = getattr(node, "end_col_offset", None) or start
        lines = self.text.splitlines()
        source = lines[line - 1] if 0 < line <= len(lines) else ""
        return Span(self.file, line, start + 1, end_line, end + 1, source)

    def function(self, name: str) -> ast.FunctionDef:
        """Raises UserError if there is none of this name."""
        if name not in self.functions:
            known = ", ".join(self.functions) or "none"
            raise UserError(
                Diagnostic(
                    "UNKNOWN_FUNCTION",
                    f"expected a function called {name!r}, the file defines: {known}",
                    Span(self.file, 1, 1, 1, 1),
                    "Use the name of a function at the top level of the file.",
                )
            )
        return self.functions[name]

    def unsupported(self, node: ast.AST, message: str, fix: str) -> NoReturn:
        raise UnsupportedError(Diagnostic("LOOP_UNSUPPORTED", message, self.span(node), fix))

    def wrong(self, node: ast.AST, code: str, message: str, fix: str) -> NoReturn:
        raise UserError(Diagnostic(code, message, self.span(node), fix))


def parse_module(text: str, file: str = "<text>") -> Module:
    """`??` in the text stands for an unknown constant. Raises UserError if it is not Python."""
    readable = text.replace("??", HOLE)
    try:
        tree = ast.parse(readable)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        where = Span(file, line, column, line, column + 1, (error.text or "").rstrip("\n"))
        raise UserError(Diagnostic("SYNTAX", f"invalid Python: {error.msg}", where, "Correct the syntax.")) from error
    functions: dict[str, ast.FunctionDef] = {}
    constants: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case ast.FunctionDef():
                functions[node.name] = node
            case (
                ast.Assign(targets=[ast.Name(name)], value=value)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            ):
                constants[name] = value
            case _:
                pass
    return Module(file, readable, functions, constants)


def read_module(path: str | Path) -> Module:
    """Raises UserError if the file cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(
            Diagnostic("FILE_NOT_FOUND", f"expected a Python file, cannot read {path}: {reason}", fix="Check the path.")
        ) from error
    return parse_module(text, str(path))
