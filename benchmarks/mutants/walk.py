"""Walks a module and says for each node where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_PLAIN = ("__repr__", "__str__", "_repr_html_", "__init_subclass__")
"""Functions whose answers are for people."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node that may be edited."""

    node: ast.expr | ast.stmt
    scope: str
    statement: ast.stmt
    """The innermost statement around the node (itself, if it is one)."""
    function: ast.FunctionDef | ast.AsyncFunctionDef | None


def places(tree: ast.Module) -> Iterator[Place]:
    """All statements and expressions that decide something: no annotations, docstrings, messages, decorators or `__all__`."""
    yield from _statements(tree.body, "", None)


def _statements(
    body: list[ast.stmt], scope: str, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[Place]:  # fmt: skip
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if statement.name in _PLAIN or _is_stub(statement):
                    continue
                yield from _statements(statement.body, _join(scope, statement.name), statement)
            case ast.ClassDef():
                yield from _statements(statement.body, _join(scope, statement.name), None)
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Raise() | ast.Global() | ast.Nonlocal() | ast.Pass():
                # The condition in front of a `raise` is edited, not the message.
                yield Place(statement, scope, statement, function)
            case ast.Assign() if any(isinstance(t, ast.Name) and t.id == "__all__" for t in statement.targets):
                continue
            case ast.If() if "TYPE_CHECKING" in ast.dump(statement.test):
                continue
            case ast.AnnAssign() if statement.value is None or "TypeAlias" in ast.dump(statement.annotation):
                continue
            case ast.Expr(ast.Constant()):
                continue
            case _:
                yield Place(statement, scope, statement, function)
                for name, value in ast.iter_fields(statement):
                    if name in ("annotation", "decorator_list", "returns", "type_comment"):
                        continue
                    yield from _field(value, scope, statement, function)


def _field(
    value: object, scope: str, statement: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[Place]:  # fmt: skip
    if isinstance(value, list):
        items: list[object] = value
        if items and isinstance(items[0], ast.stmt):
            yield from _statements([i for i in items if isinstance(i, ast.stmt)], scope, function)
            return
        for item in items:
            yield from _field(item, scope, statement, function)
    elif isinstance(value, ast.ExceptHandler):
        yield from _statements(value.body, scope, function)
    elif isinstance(value, ast.match_case):
        if value.guard:
            yield from _expression(value.guard, scope, statement, function)
        yield from _statements(value.body, scope, function)
    elif isinstance(value, ast.expr):
        yield from _expression(value, scope, statement, function)
    elif isinstance(value, ast.AST) and not isinstance(value, ast.pattern):
        for _, inner in ast.iter_fields(value):
            yield from _field(inner, scope, statement, function)


def _expression(
    node: ast.expr, scope: str, statement: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[Place]:  # fmt: skip
    if isinstance(node, ast.JoinedStr) or _is_message(node):
        return
    yield Place(node, scope, statement, function)
    for name, value in ast.iter_fields(node):
        if isinstance(node, ast.Call) and name == "keywords":
            for keyword in node.keywords:
                if keyword.arg not in ("key", "default", "help", "message", "fix", "reason", "doc"):
                    yield from _expression(keyword.value, scope, statement, function)
            continue
        yield from _field(value, scope, statement, function)


_MESSAGES = ("UserError", "Diagnostic", "unsupported", "wrong", "problem", "fault", "cast", "TypeVar", "ParamSpec", "NewType",
             "echo", "print", "UsageError", "BadParameter", "option", "argument", "command", "warn", "field")  # fmt: skip


def _is_message(node: ast.expr) -> bool:
    """Calls whose arguments are text for people, or types."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    return name.lstrip("_") in _MESSAGES or name.endswith("Error")


def _is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Protocol methods and overloads."""
    rest = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return not rest


def _join(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
