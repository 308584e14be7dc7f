"""Parts of rewritings of a function's text: names, assignments, places."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence

from warploom.scan.reading.source import MISSING, Function


def is_bound(function: Function, node: ast.expr, value: object) -> bool:
    """Whether the expression is this object, by a name that the function does not set or as an attribute of a module."""
    match node:
        case ast.Name(id=name):
            return name not in function.locals and function.lookup(name) is value
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner not in function.locals:
            module = function.lookup(owner)
            return module is not MISSING and vars(module).get(name, MISSING) is value if hasattr(module, "__dict__") else False
        case _:
            return False


def name_of(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def placed(statements: Sequence[ast.stmt], place: ast.AST) -> list[ast.stmt]:
    """New statements at the place of what they stand for."""
    for statement in statements:
        for node in ast.walk(statement):
            if not hasattr(node, "lineno"):
                ast.copy_location(node, place)
        ast.fix_missing_locations(statement)
    return list(statements)


def loads(node: ast.AST, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def stores(node: ast.AST, name: str) -> int:
    """How often the name is set or deleted."""
    return sum(isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def stored(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


class Renamed(ast.NodeTransformer):
    """Names as other expressions."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        found = self._values.get(node.id)
        if found is None:
            return node
        if isinstance(found, ast.Name):
            return ast.copy_location(ast.Name(found.id, node.ctx), node)
        return copy.deepcopy(found) if isinstance(node.ctx, ast.Load) else node


def length_of(function: Function, node: ast.expr, lengths: Mapping[str, str]) -> str | None:
    """The parameter whose length the expression is; `lengths` are names that are the length of one."""
    match node:
        case ast.Name(id=name):
            return lengths.get(name)
        case ast.Call(func=called, args=[ast.Name(id=name)], keywords=[]) if is_bound(function, called, len):
            return name if name in function.parameters and name not in stored(function.node) else None
        case _:
            return None


__all__ = ["Renamed", "assigned", "is_bound", "length_of", "loads", "name_of", "placed", "stored", "stores"]
