"""Statements of a Python function that make it a running result: an element that waits for the one before."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence

from warploom.core import UserError
from warploom.sketch import written


def is_recurrence(function: Callable[..., object]) -> bool:
    """Whether a statement of the function reads what it stores at another element, or a loop goes on with a name from before
    it. False for what has no source."""
    try:
        node = written(function).node
    except UserError:
        return False
    return not isinstance(node, ast.Lambda) and any(runs(s) for s in in_order(node.body))


def in_order(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements and all inside of them."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.For | ast.If):
            yield from in_order([*statement.body, *statement.orelse])


def runs(statement: ast.stmt) -> bool:
    """Whether a statement reads what another iteration of it has made."""
    if isinstance(statement, ast.For):
        stored = {n.id for s in in_order(statement.body) for n in targets_of(s) if isinstance(n, ast.Name)}
        return bool(stored & _read_first(statement.body))
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return False
    for target in targets_of(statement):
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            reads = (part for part in ast.walk(statement.value) if isinstance(part, ast.Subscript))
            if any(base_of(part) == target.value.id and _places(part) != _places(target) for part in reads):
                return True
    return False


def without_loop(body: Sequence[ast.stmt], name: str, index: str) -> tuple[str, str] | None:
    """For the only statement of loops, which joins the element of the array before with another value by an operator or by `max`
    or `min`: how the first element is stored, and the statement alone. None where the function is another one."""
    kept = [s for s in in_order(body) if not isinstance(s, ast.For | ast.Pass) and targets_of(s)]
    match kept:
        case [ast.Assign(targets=[ast.Subscript() as target], value=ast.BinOp(left=one, right=other)) as statement]:
            pass
        case [ast.Assign(targets=[ast.Subscript() as target], value=ast.Call(args=[one, other])) as statement]:
            pass
        case _:
            return None
    is_before = [isinstance(side, ast.Subscript) and base_of(side) == name for side in (one, other)]
    if base_of(target) != name or is_before.count(True) != 1:
        return None
    rest = other if is_before[0] else one
    return f"{_at_zero(target, index)} = {_at_zero(rest, index)}", ast.unparse(statement)


def _at_zero(node: ast.expr, index: str) -> str:
    class Zero(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.Constant(0) if node.id == index else node

    return ast.unparse(Zero().visit(copy.deepcopy(node)))


def _places(node: ast.Subscript) -> str:
    return ast.unparse(node.slice)


def base_of(node: ast.Subscript) -> str:
    """Name of the array, also inside of `pad`."""
    match node.value:
        case ast.Name(id=name) | ast.Call(args=[ast.Name(id=name), *_]):
            return name
        case _:
            return ""


def targets_of(statement: ast.stmt) -> list[ast.expr]:
    """The left sides of an assignment; none of other statements."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)]) | ast.Assign(targets=targets):
            return targets
        case ast.AugAssign(target=target):
            return [target]
        case _:
            return []


def _read_first(body: Sequence[ast.stmt]) -> set[str]:
    """Names that the statements read before they assign them."""
    assigned: set[str] = set()
    found: set[str] = set()
    for statement in in_order(body):
        if isinstance(statement, ast.For):
            continue
        for part in ast.walk(statement.test if isinstance(statement, ast.If) else statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in assigned:
                found.add(part.id)
        targets = [t.id for t in targets_of(statement) if isinstance(t, ast.Name)]
        if isinstance(statement, ast.AugAssign):
            found |= {t for t in targets if t not in assigned}
        assigned |= {*targets}
    return found
