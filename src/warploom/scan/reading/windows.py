"""Loops over positions with neighbours on both sides, or several before: a window of the last elements that the loop keeps.

    for i in range(1, len(xs) - 1):     xs[i - 1], xs[i], xs[i + 1]
    for i in range(2, n):               xs[i - 2], xs[i - 1], xs[i]
    for a, b, c in zip(xs, xs[1:], xs[2:])

Such a loop runs once for each element from a later one on. It is rewritten to a loop over all elements that keeps the last
ones in variables, counts the first ones, and does nothing until the window is full.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from warploom.scan.reading.rewriting import name_of
from warploom.scan.reading.source import MISSING, Function
from warploom.scan.reading.types import item_of

MOST = 4
"""Elements before the one at which a window is full."""
_START: dict[type, bool | int] = {int: 0, float: 0, bool: False}


@dataclass(slots=True)
class _Positions(ast.NodeTransformer):
    """`xs[i + c]` as a variable of the window."""

    name: str
    index: str
    nearest: int
    """The greatest c."""
    called: Callable[[int], str]
    back: set[int] = field(default_factory=set[int])
    """How far back from the newest element."""
    is_other: bool = False
    """True if the list is read in another way."""
    uses_index: bool = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not (isinstance(node.value, ast.Name) and node.value.id == self.name):
            return self.generic_visit(node)
        offset = offset_of(node.slice, self.index)
        if offset is None or offset > self.nearest or not isinstance(node.ctx, ast.Load):
            self.is_other = True
            return node
        self.back.add(self.nearest - offset)
        return ast.copy_location(ast.Name(self.called(self.nearest - offset), ast.Load()), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.is_other |= node.id == self.name or (node.id == self.index and not isinstance(node.ctx, ast.Load))
        self.uses_index |= node.id == self.index
        return node


def offset_of(node: ast.expr, index: str) -> int | None:
    """c of `i + c`, `i - c`, or `i`."""
    match node:
        case ast.Name(id=name) if name == index:
            return 0
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant(value=int() as c)) if name == index:
            return c if type(c) is int else None
        case ast.BinOp(left=ast.Name(id=name), op=ast.Sub(), right=ast.Constant(value=int() as c)) if name == index:
            return -c if type(c) is int else None
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Windowed:
    """Statements to put before the loop, and those that every iteration runs first."""

    begin: list[ast.stmt]
    shifts: list[ast.stmt]


def windowed(
    function: Function, loop: ast.For, free: Callable[[str], str], measured: Callable[[ast.expr], str | None]
) -> Windowed | None:
    """Statements that the loop, which is changed in place, needs beside its own; None where it takes no windows.

    `free` gives names that the function does not have; `measured` the parameter whose length an expression is.
    """
    if any(function.lookup(b.__name__) is not b or b.__name__ in function.locals for b in (len, range, enumerate, zip)):
        return None
    zipped = _zipped(function, loop, measured)
    ranged = _ranged(loop, measured) if zipped is None else None
    names: dict[int, str] = {}

    def called(back: int) -> str:
        return names.setdefault(back, free(f"back{back}"))

    binds: list[ast.stmt] = []
    if zipped is not None:
        name, targets = zipped
        full = len(targets) - 1
        binds = [_set(t, ast.Name(called(full - n), ast.Load()), loop.iter) for n, t in enumerate(targets)]
        found = _Positions(name, "", 0, called, {*range(full + 1)})
        body = [found.visit(s) for s in loop.body]
        index = ""
    elif ranged is not None:
        name, first, short, index = ranged
        full = first + short
        if not 1 < full <= MOST:
            return None
        found = _Positions(name, index, short, called)
        body = [found.visit(s) for s in loop.body]
        if not found.back or max(found.back) > full:
            return None
    else:
        return None
    start = _start_of(function, name)
    if found.is_other or full > MOST or start is None:
        return None
    place = loop.iter
    most = max(found.back)
    for back in range(most + 1):
        called(back)
    seen = free("seen")
    made = [_set(_stored(seen), ast.Constant(0), place)]
    made += [_set(_stored(names[b]), ast.Constant(start), place) for b in range(most + 1)]
    shifts = [_set(_stored(names[b]), name_of(names[b - 1]), place) for b in range(most, 0, -1)]
    newest = names[0]
    element = free("element")
    shifts.append(_set(_stored(newest), name_of(element), place))
    counted: ast.expr = ast.Constant(full)
    for value in range(full - 2, -1, -1):
        counted = ast.IfExp(ast.Compare(name_of(seen), [ast.Eq()], [ast.Constant(value)]), ast.Constant(value + 1), counted)
    wait = ast.If(
        ast.Compare(name_of(seen), [ast.NotEq()], [ast.Constant(full)]),
        [_set(_stored(seen), counted, place), ast.copy_location(ast.Continue(), place)],
        [],
    )
    if index and found.uses_index:
        at = free("position")
        binds = [_set(_stored(index), ast.BinOp(name_of(at), ast.Sub(), ast.Constant(ranged[2] if ranged else 0)), place)]
        over: ast.expr = ast.Call(name_of("enumerate"), [name_of(name)], [])
        target: ast.expr = ast.Tuple([_stored(at), _stored(element)], ast.Store())
    else:
        over, target = name_of(name), _stored(element)
    loop.iter, loop.target = ast.copy_location(over, place), ast.copy_location(target, loop.target)
    loop.body = [*binds, *body]
    return Windowed(made, [*shifts, ast.copy_location(wait, place)])


def _ranged(loop: ast.For, measured: Callable[[ast.expr], str | None]) -> tuple[str, int, int, str] | None:
    """The list, the first index, by how much the last one is less than that of the list, and the index's name."""
    match loop.iter, loop.target:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]), ast.Name(id=index) if 1 <= len(args) <= 2:
            first = args[0] if len(args) == 2 else ast.Constant(0)
            length = args[-1]
        case _:
            return None
    short = 0
    match length:
        case ast.BinOp(left=whole, op=ast.Sub(), right=ast.Constant(value=int() as less)) if type(less) is int and less >= 0:
            length, short = whole, less
        case _:
            pass
    name = measured(length)
    if name is None or not isinstance(first, ast.Constant) or type(first.value) is not int or first.value < 0:
        return None
    return name, first.value, short, index


def _zipped(function: Function, loop: ast.For, measured: Callable[[ast.expr], str | None]) -> tuple[str, list[ast.expr]] | None:
    """The list, and the variables, of `zip(xs, xs[1:], xs[2:])`."""
    match loop.iter, loop.target:
        case ast.Call(func=ast.Name(id="zip"), args=[ast.Name(id=name), *rest], keywords=[]), ast.Tuple(elts=targets):
            pass
        case _:
            return None
    if len(rest) < 2 or len(targets) != len(rest) + 1:
        return None
    for number, node in enumerate(rest, 1):
        match node:
            case ast.Subscript(
                value=ast.Name(id=other), slice=ast.Slice(lower=ast.Constant(value=begin), upper=None, step=None)
            ) if other == name and type(begin) is int and begin == number:
                pass
            case _:
                return None
    length = ast.Call(name_of("len"), [name_of(name)], [])
    return (name, targets) if measured(length) == name else None


def _start_of(function: Function, name: str) -> bool | int | None:
    """Value of a variable for an element before there is one; None for elements that are not single numbers."""
    hint = function.annotation(name)
    if hint is MISSING:
        return 0
    is_list, item = item_of(hint)
    return _START.get(item) if is_list and isinstance(item, type) else None


def _stored(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _set(target: ast.expr, value: ast.expr, place: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Assign([target], value), place)
