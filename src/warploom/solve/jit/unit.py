"""The functions that some entries reach, parsed, and how many axes their arrays have."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from warploom.solve.jit.kinds import Array, Record, signature

Function: TypeAlias = Callable[..., Any]
Place: TypeAlias = tuple[object, str]
"""Place of an array: a function and the name of its parameter or variable, or the class of a named tuple and the name of a
field."""

COMPILED: set[Function] = set()
"""All functions that compiled code may call."""


class Source:
    """One function."""

    def __init__(self, function: Function) -> None:
        tree = _functions_of(function.__code__.co_filename)[function.__name__]
        self.function, self.tree = function, tree
        self.parameters, self.result = signature(function)
        self.nodes = tuple(ast.walk(tree))
        self.calls = [n for n in self.nodes if isinstance(n, ast.Call)]
        self.subscripts = [n for n in self.nodes if isinstance(n, ast.Subscript)]
        stored = {n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.names = frozenset(self.parameters) | stored
        """Names of parameters and variables; all others are the module's."""
        self.c_name = f"{function.__module__.rpartition('.')[2]}_{function.__name__}"
        self.aliases: dict[str, ast.expr] = {}
        """Variables that stand for an array, by what they stand for."""
        for target, value in self._pairs():
            if isinstance(target, ast.Name) and self.array(value) is not None:
                self.aliases[target.id] = value

    def _pairs(self) -> Iterator[tuple[ast.expr, ast.expr]]:
        """Pairs of an assignment's target and its value, tuples one by one."""
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        yield from zip(target.elts, node.value.elts, strict=True)
                    else:
                        yield target, node.value

    def wrong(self, node: ast.AST, expected: str) -> TypeError:
        return TypeError(
            f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', 1)}: expected {expected}, got {ast.unparse(node)}"
        )

    def outside(self, name: str) -> Any:
        """The value of a name that is no variable of the function; None where there is none."""
        if name in self.names:
            return None
        return self.function.__globals__.get(name, getattr(builtins, name, None))

    def called(self, call: ast.Call) -> Function | None:
        """The compiled function that is called, None for others."""
        found = self.outside(call.func.id) if isinstance(call.func, ast.Name) else None
        return found if inspect.isfunction(found) and found in COMPILED else None

    def record(self, node: ast.expr) -> Record | None:
        found = self.parameters.get(node.id) if isinstance(node, ast.Name) else None
        return found if isinstance(found, Record) else None

    def array(self, node: ast.expr) -> tuple[Place, Array] | None:
        """The array that an expression without indices stands for."""
        if isinstance(node, ast.Attribute) and (record := self.record(node.value)) is not None:
            kind = record.fields.get(node.attr)
            return ((record.made_by, node.attr), kind) if isinstance(kind, Array) else None
        if isinstance(node, ast.Name):
            if node.id in self.aliases:
                return self.array(self.aliases[node.id])
            kind = self.parameters.get(node.id)
            return ((self.function, node.id), kind) if isinstance(kind, Array) else None
        return None


@cache
def _functions_of(file: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def indices_of(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


@cache
def unit_of(entries: tuple[Function, ...]) -> Unit:
    """The unit of these entries, made once: the calls of each entry and the text ask for it."""
    return Unit(entries)


class Unit:
    """Everything that is compiled together: `sources`, callees first where there is no recursion."""

    def __init__(self, entries: Sequence[Function]) -> None:
        self.sources: dict[Function, Source] = {}
        for function in entries:
            self._add(function)
        self.axes: dict[Place, int] = {}
        self.records = {
            kind.made_by: kind for s in self.sources.values() for kind in s.parameters.values() if isinstance(kind, Record)
        }
        while self._found_more():
            pass

    def axes_of(self, place: Place) -> int:
        return self.axes.get(place, 1)

    def _add(self, function: Function) -> None:
        if function in self.sources:
            return
        source = Source(function)
        self.sources[function] = source
        for node in source.calls:
            if (callee := source.called(node)) is not None:
                self._add(callee)

    def _found_more(self) -> bool:
        before = len(self.axes)
        for source in self.sources.values():
            rows: set[ast.expr] = set()
            for node in source.calls:
                if (callee := source.called(node)) is not None:
                    for name, given in zip(self.sources[callee].parameters, node.args, strict=True):
                        kind = self.sources[callee].parameters[name]
                        if isinstance(kind, Array):
                            rows.add(given)
                            self._join(source, given, (callee, name))
            for node in source.subscripts:
                if node not in rows and (found := source.array(node.value)) is not None:
                    indices = indices_of(node)
                    if not any(isinstance(i, ast.Slice) for i in indices):
                        self._know(found[0], len(indices))
        return len(self.axes) > before

    def _join(self, source: Source, given: ast.expr, place: Place) -> None:
        """An argument, with or without indices, has as many axes as the parameter."""
        taken = len(indices_of(given)) if isinstance(given, ast.Subscript) else 0
        found = source.array(given.value if isinstance(given, ast.Subscript) else given)
        if found is None:
            raise source.wrong(given, "an array")
        if found[0] in self.axes:
            self._know(place, self.axes[found[0]] - taken)
        elif place in self.axes:
            self._know(found[0], self.axes[place] + taken)

    def _know(self, place: Place, axes: int) -> None:
        known = self.axes.setdefault(place, axes)
        if known != axes:
            raise TypeError(f"expected {known} axes of {place[1]}, got {axes}")
