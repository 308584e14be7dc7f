"""Loops over an index: lists of results that are filled by position, the element before, the first element before the loop.

    n = len(xs)
    out = [0] * n              out = [0 for _ in range(n)]
    out[0] = xs[0]             the first result, where the loop begins at 1
    for i in range(1, n):      range(n), range(0, n), range(len(xs)), enumerate(xs)
        out[i] = out[i - 1] + xs[i]

A list of results becomes a variable of the loop, called like the list: at the start of an iteration it holds the result before.
The text is rewritten to that: the variable is set to the list's first content, `out[i]` is the variable, and `out[i - 1]` a
subscript of `out[-1]`, which is no name of Python; `loop` knows its meaning.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from warploom.scan.reading.source import Function

BEFORE = "[-1]"
"""After a list's name: the element of an iteration before."""


@dataclass(slots=True)
class Arrays:
    """Facts from the statements before the loop, about lengths and lists of results."""

    function: Function
    lengths: dict[str, str] = field(default_factory=dict[str, str])
    """Names of lengths: the list that each is the length of."""
    contents: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    """Lists of results: what every position holds at first."""
    sets_first: bool = False
    """True if a position is set before the loop."""

    def is_builtin(self, node: ast.expr, builtin: object) -> bool:
        """Whether a name means this object when the function runs."""
        return isinstance(node, ast.Name) and node.id not in self.function.locals and self.function.lookup(node.id) is builtin

    def takes(self, statement: ast.stmt) -> bool:
        """Notes the statement if it names a length or makes a list of results of the length of a list."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._stores(name) == 1:
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if self._stores(name) == 1:
                pass
            case _:
                return False
        measured = self.measured(value)
        content = self._content(value)
        if measured is not None and not isinstance(value, ast.Name):
            self.lengths[name] = measured
            self._check_length(name)
        elif content is not None:
            own = [n for n in ast.walk(content) if isinstance(n, ast.Name) and n.id in self.function.locals]
            if own:
                message = f"expected a constant as what {name} holds at first, got {ast.unparse(content)}"
                self._wrong(content, message, f"Write: {name} = [0] * n")
            self.contents[name] = content
        return name in self.lengths or name in self.contents

    def _check_length(self, name: str) -> None:
        """Refuses a length that is used for more than positions."""
        nodes = list(ast.walk(self.function.node))
        served = [a for n in nodes if isinstance(n, ast.Call) and self.is_builtin(n.func, range) for a in n.args]
        served += [s for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) for s in (n.left, n.right)]
        for node in nodes:
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node not in served:
                message = f"expected {name}, a length, in range(...) and [0] * {name} only, got it elsewhere"
                self._wrong(node, message, "Count the elements in a variable: count += 1.")

    def measured(self, node: ast.expr) -> str | None:
        """The list whose length the expression is."""
        match node:
            case ast.Name(id=name):
                return self.lengths.get(name)
            case ast.Call(func=called, args=[ast.Name(id=name)], keywords=[]) if self.is_builtin(called, len):
                return name if name in self.function.parameters else None
            case _:
                return None

    def _content(self, node: ast.expr) -> ast.expr | None:
        match node:
            case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=length):
                return one if self.measured(length) else None
            case ast.BinOp(left=length, op=ast.Mult(), right=ast.List(elts=[one])):
                return one if self.measured(length) else None
            case ast.ListComp(elt=one, generators=[over]) if not over.ifs:
                counted = self.counted(over.iter)
                named = {n.id for n in ast.walk(over.target) if isinstance(n, ast.Name)}
                if named & {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}:
                    return None
                return one if counted is not None and counted[1] == 0 else None
            case _:
                return None

    def counted(self, node: ast.expr) -> tuple[str, int] | None:
        """The list whose positions the `range` counts, and the first of them, 0 or 1."""
        match node:
            case ast.Call(func=called, args=[*start, stop], keywords=[]) if self.is_builtin(called, range):
                begins = next((n for n in (0, 1) if all(ast.unparse(s) == str(n) for s in start)), None)
                name = self.measured(stop)
                return None if name is None or begins is None or len(start) > 1 else (name, begins)
            case _:
                return None

    def _stores(self, name: str) -> int:
        nodes = ast.walk(self.function.node)
        return sum(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name for n in nodes)

    def before_loop(self, statements: Sequence[ast.stmt], begins: int) -> list[ast.stmt]:
        """The statements before the loop, `out[0]` as the variable, where the loop begins at position 1."""
        meaning = {"0": ""} if begins else {}
        stored = (n for s in statements for n in ast.walk(s) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name))
        self.sets_first = any(isinstance(n.value, ast.Name) and n.value.id in self.contents for n in stored)
        made = [_assigned(name, content, content) for name, content in self.contents.items()]
        return made + [_Positions(self, meaning, _FIRST).visit(copy.deepcopy(s)) for s in statements]

    def body(self, statements: Sequence[ast.stmt], index: str | None) -> list[ast.stmt]:
        """The body of the loop over `index`, positions of results as variables."""
        if not self.contents:
            return list(statements)
        if index is not None and any(
            isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == index for s in statements for n in ast.walk(s)
        ):
            self._wrong(
                statements[0], f"expected an index that only the loop sets, got {index!r}, which its body sets", "Rename it."
            )
        begin: list[ast.stmt] = []
        for name, content in self.contents.items():
            begin += [_assigned(before(name), ast.Name(name, ast.Load()), content), _assigned(name, content, content)]
        meaning = {} if index is None else {index: "", f"{index} - 1": BEFORE}
        return begin + [_Positions(self, meaning, _INSIDE).visit(s) for s in statements]

    def _wrong(self, node: ast.AST, message: str, fix: str) -> NoReturn:
        self.function.module.unsupported(node, message, fix)


_FIRST = "Set only out[0] before the loop, which then begins at 1: for i in range(1, n)."
_INSIDE = "Set out[i] and read out[i] and out[i - 1], with the index i of the loop: for i in range(1, n)."


def before(name: str) -> str:
    """The variable that keeps what the list's variable held when the iteration began."""
    return f"{name}{BEFORE}="


def _assigned(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    made = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), place)
    return ast.fix_missing_locations(made)


class _Positions(ast.NodeTransformer):
    """Positions of lists of results as variables; refuses any other use of such a list."""

    def __init__(self, arrays: Arrays, meaning: Mapping[str, str], fix: str) -> None:
        self._arrays = arrays
        self._meaning = meaning
        self._fix = fix

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # the name is the module's
        match node:
            case ast.Subscript(value=ast.Name(id=name) as named) if name in self._arrays.contents:
                position = ast.unparse(node.slice)
                meant = self._meaning.get(position)
                if meant is None or (meant and not isinstance(node.ctx, ast.Load)):
                    self._wrong(node, f"{name}[{position}]")
                if not meant:
                    return ast.copy_location(ast.Name(name, node.ctx), node)
                named.id = f"{name}{meant}"
                return node
            case _:
                return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._arrays.contents:
            self._wrong(node, node.id)
        return node

    def _wrong(self, node: ast.expr, got: str) -> NoReturn:
        message = f"expected a position of a list of results that stands here, got {got}"
        self._arrays.function.module.unsupported(node, message, self._fix)


def is_before(node: ast.expr, index: str) -> bool:
    """Whether it is the position before `index`."""
    return ast.unparse(node) == f"{index} - 1"
