"""Shorter ways to write a loop, written out before `forms` reads it; every rewriting keeps what CPython computes.

    match x: case 1 | 2: ...            if x == 1 or x == 2: ...
    if (total := total + x) > best      total = total + x, and if total > best
    square = lambda v: v * v            its text where it is called; a `def` inside the function of one return, too
    pairwise(xs)                        zip(xs, xs[1:])
    xs[0], in the loop or after it      a variable that is set before it
    for x in reversed(xs), xs[::-1]     a loop over the list from its last element, as `Loop.is_backward` says

What does not fit stays as it is.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.scan.reading.rewriting import Renamed, assigned, is_bound, length_of, loads, name_of, placed, stored, stores
from warploom.scan.reading.source import Function

# ------------------------------------------------------------ functions within the function


def inlined(function: Function, body: list[ast.stmt]) -> list[ast.stmt]:
    """Calls of lambdas, and of functions of one return, that the function makes before its loop, as their text."""
    made: dict[str, ast.Lambda] = {}
    kept: list[ast.stmt] = []
    whole = ast.Module(body, [])
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as found):
                pass
            case ast.FunctionDef(name=name, args=parameters, body=[*_, ast.Return(value=ast.expr() as value)] as own) if (
                not statement.decorator_list and all(_is_text(s) for s in own[:-1])
            ):
                found = ast.Lambda(parameters, value)
            case _:
                kept.append(statement)
                continue
        given = found.args
        plain = not (given.vararg or given.kwarg or given.kwonlyargs or given.defaults)
        binders = ast.Lambda | ast.NamedExpr | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp | ast.Yield
        if not plain or any(isinstance(n, binders) for n in ast.walk(found.body)) or _defined(whole, name) != 1:
            kept.append(statement)
            continue
        made[name] = found
    return [_Inlined(made).visit(s) for s in kept] if made else body


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _defined(whole: ast.AST, name: str) -> int:
    """How often the name is given a value."""
    by_def = sum(isinstance(n, ast.FunctionDef) and n.name == name for n in ast.walk(whole))
    return by_def + stores(whole, name)


class _Inlined(ast.NodeTransformer):
    def __init__(self, made: Mapping[str, ast.Lambda]) -> None:
        self._made = made
        self._depth = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        found = self._made.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if found is None or node.keywords or self._depth > 8:
            return node
        names = [a.arg for a in (*found.args.posonlyargs, *found.args.args)]
        if len(names) != len(node.args):
            return node
        body = Renamed(dict(zip(names, node.args, strict=True))).visit(copy.deepcopy(found.body))
        self._depth += 1
        body = self.visit(body)
        self._depth -= 1
        for part in ast.walk(body):
            ast.copy_location(part, node)
        return body


# ------------------------------------------------------------ match


def matched(node: ast.Match, free: Callable[[str], str], others: ast.AST) -> list[ast.stmt] | None:
    """The statement as conditionals; None where a pattern is another one than constants, names, and tuples of them.

    `others` is all that may read the names that a pattern binds.
    """
    start: list[ast.stmt] = []
    subject: ast.expr | list[ast.expr]
    match node.subject:
        case ast.Name() as one if one.id not in stored(ast.Module(list(node.cases), [])):  # type: ignore[arg-type]
            subject = one
        case ast.Tuple(elts=parts):
            subject = [name_of(free("subject")) for _ in parts]
            start = [assigned(n.id, p) for n, p in zip(subject, parts, strict=True) if isinstance(n, ast.Name)]
        case _:
            subject = name_of(free("subject"))
            start = [assigned(subject.id, node.subject)]
    chain: list[ast.stmt] = []
    bound = {n for n in _captured(node) if _is_of_cases(n, node, others)}
    for case in reversed(node.cases):
        found = _Pattern()
        if not found.read(case.pattern, subject):
            return None
        if not {*found.bound} <= bound:
            return None  # it would keep its value where the guard fails, or after the statement
        tests = found.tests
        if case.guard is not None:
            tests = [*tests, Renamed(found.bound).visit(copy.deepcopy(case.guard))]
        body = [*(assigned(name, copy.deepcopy(value)) for name, value in found.bound.items()), *case.body]
        if not tests:
            chain = body
            continue
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        chain = [ast.If(test, body, chain)]
    return placed([*start, *chain], node)


def _captured(node: ast.AST) -> set[str]:
    return {n.name for n in ast.walk(node) if isinstance(n, ast.MatchAs) and n.name is not None}


def _is_of_cases(name: str, node: ast.Match, others: ast.AST) -> bool:
    """Whether the name is set by patterns alone, and read only in cases whose pattern sets it."""
    own = sum(loads(c, name) for c in node.cases if name in _captured(c.pattern))
    return name not in stored(others) and own == loads(others, name)


@dataclass(slots=True)
class _Pattern:
    tests: list[ast.expr] = field(default_factory=list[ast.expr])
    bound: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])

    def read(self, pattern: ast.pattern, subject: ast.expr | list[ast.expr]) -> bool:
        if isinstance(subject, list):
            match pattern:
                case ast.MatchSequence(patterns=parts) if len(parts) == len(subject):
                    return all(self.read(p, s) for p, s in zip(parts, subject, strict=True))
                case ast.MatchAs(pattern=None, name=None):
                    return True
                case ast.MatchOr(patterns=options):
                    return self._either(options, subject)
                case _:
                    return False
        match pattern:
            case ast.MatchValue(value=value):
                self.tests.append(ast.Compare(copy.deepcopy(subject), [ast.Eq()], [value]))
                return True
            case ast.MatchSingleton(value=None):
                self.tests.append(ast.Compare(copy.deepcopy(subject), [ast.Is()], [ast.Constant(None)]))
                return True
            case ast.MatchAs(pattern=inner, name=name):
                if name is not None:
                    self.bound[name] = copy.deepcopy(subject)
                return inner is None or self.read(inner, subject)
            case ast.MatchOr(patterns=options):
                return self._either(options, subject)
            case _:
                return False

    def _either(self, options: Sequence[ast.pattern], subject: ast.expr | list[ast.expr]) -> bool:
        tests: list[ast.expr] = []
        for option in options:
            found = _Pattern()
            if not found.read(option, subject) or found.bound:
                return False
            if not found.tests:
                return True
            tests.append(found.tests[0] if len(found.tests) == 1 else ast.BoolOp(ast.And(), found.tests))
        self.tests.append(tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests))
        return True


# ------------------------------------------------------------ assignments within expressions


def _hoisted(statement: ast.stmt) -> list[ast.stmt]:
    """Assignments within an expression that is always read, before the statement."""
    whole = statement.test if isinstance(statement, ast.If) else getattr(statement, "value", None)
    if not isinstance(whole, ast.expr) or isinstance(statement, ast.AugAssign):
        return [statement]
    found = [n for n in ast.walk(whole) if isinstance(n, ast.NamedExpr)]
    if not found or len(found) > 1:
        return [statement]
    (one,) = found
    before = _before(whole, one)
    if before is None or any(loads(e, one.target.id) for e in before):
        return [statement]

    class Read(ast.NodeTransformer):
        def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
            return ast.copy_location(name_of(node.target.id), node)

    made = Read().visit(statement)
    return [*placed([assigned(one.target.id, one.value)], one), made]


def _before(whole: ast.expr, wanted: ast.expr) -> list[ast.expr] | None:
    """Operands that are read before this one; None where it is not always read."""
    if whole is wanted:
        return []
    match whole:
        case ast.BoolOp(values=[first, *_]):
            parts, always = [first], True
        case ast.Compare(left=left, comparators=[right, *_]):
            parts, always = [left, right], True
        case ast.IfExp(test=test):
            parts, always = [test], True
        case ast.BinOp(left=left, right=right):
            parts, always = [left, right], True
        case ast.UnaryOp(operand=operand):
            parts, always = [operand], True
        case ast.Call(args=arguments, keywords=[]):
            parts, always = list(arguments), True
        case ast.Tuple(elts=elements):
            parts, always = list(elements), True
        case _:
            parts, always = [], False
    for number, part in enumerate(parts):
        if always and any(n is wanted for n in ast.walk(part)):
            inner = _before(part, wanted)
            return None if inner is None else [*parts[:number], *inner]
    return None


# ------------------------------------------------------------ statements


def statements(body: Sequence[ast.stmt], free: Callable[[str], str], others: ast.AST) -> list[ast.stmt]:
    """The statements with `match` and assignments within expressions written out."""
    made: list[ast.stmt] = []
    for statement in body:
        match statement:
            case ast.Match():
                found = matched(statement, free, others)
                made += [statement] if found is None else statements(found, free, others)
            case ast.If():
                statement.body = statements(statement.body, free, others)
                statement.orelse = statements(statement.orelse, free, others)
                made += _hoisted(statement)
            case ast.For() | ast.While():
                statement.body = statements(statement.body, free, others)
                statement.orelse = statements(statement.orelse, free, others)
                made.append(statement)
            case _:
                made += _hoisted(statement)
    return made


# ------------------------------------------------------------ headers


def with_first(function: Function, loop: ast.For, after: list[ast.stmt], free: Callable[[str], str]) -> list[ast.stmt]:
    """`xs[0]` in the loop and after it, as a variable; what sets it before the loop is returned."""
    named = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name) and n.id in function.parameters}
    found = _First(dict.fromkeys(named - stored(function.node), ""), free)
    loop.body = [found.visit(s) for s in loop.body]
    after[:] = [found.visit(s) for s in after]
    made = [
        assigned(held, ast.Subscript(name_of(name), ast.Constant(0), ast.Load())) for name, held in found.names.items() if held
    ]
    return placed(made, loop)


class _First(ast.NodeTransformer):
    """`xs[0]` as a variable, for these lists."""

    def __init__(self, names: dict[str, str], free: Callable[[str], str]) -> None:
        self.names = names
        self._free = free

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0), ctx=ast.Load()) if name in self.names:
                self.names[name] = self.names[name] or self._free(f"first_of_{name}")
                return ast.copy_location(name_of(self.names[name]), node)
            case _:
                return self.generic_visit(node)


def paired(function: Function, loop: ast.For) -> None:
    """`pairwise(xs)` and `zip(xs[:-1], xs[1:])` as `zip(xs, xs[1:])`."""
    match loop.iter:
        case ast.Call(func=called, args=[ast.Name() as whole], keywords=[]) if is_bound(function, called, itertools.pairwise):
            pass
        case ast.Call(
            func=called,
            args=[
                ast.Subscript(
                    value=ast.Name() as whole,
                    slice=ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), step=None),
                ),
                ast.Subscript(value=ast.Name(id=again), slice=ast.Slice(lower=ast.Constant(value=1), upper=None, step=None)),
            ],
        ) if is_bound(function, called, zip) and again == whole.id:
            pass
        case _:
            return
    if function.lookup("zip") is not zip or "zip" in function.locals:
        return
    tail = ast.Subscript(name_of(whole.id), ast.Slice(ast.Constant(1), None, None), ast.Load())
    loop.iter = ast.copy_location(ast.Call(name_of("zip"), [name_of(whole.id), tail], []), loop.iter)
    placed([loop], loop)


def turned(function: Function, begin: list[ast.stmt], loop: ast.For, lengths: Mapping[str, str]) -> bool:
    """Makes a loop from the last element to the first one over the reversed list, if it is one; in `begin` then `xs[-1]` is the
    first element, `xs[0]`."""
    over = _turned(function, loop.iter)
    if over is None and (over := _counted_down(function, loop, lengths)) is None:
        return False
    reading = [n for s in begin for n in ast.walk(s) if isinstance(n, ast.Subscript)]
    for node in reading:
        if isinstance(node.value, ast.Name) and node.value.id in function.parameters:
            place = ast.Constant(0) if _is_last(function, node, lengths) else ast.UnaryOp(ast.USub(), ast.Constant(1))
            node.slice = ast.copy_location(place, node.slice)  # what is not the last one is refused, at its place
    loop.iter = ast.copy_location(over, loop.iter)
    placed([loop, *begin], loop)
    return True


def _is_last(function: Function, node: ast.Subscript, lengths: Mapping[str, str]) -> bool:
    assert isinstance(node.value, ast.Name)
    match node.slice:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
        case ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=1)):
            return length_of(function, length, lengths) == node.value.id
        case _:
            return False


def _turned(function: Function, node: ast.expr) -> ast.expr | None:
    """The list, or several, that is looped over from its last element on."""
    minus = ast.UnaryOp(ast.USub(), ast.Constant(1))
    match node:
        case ast.Call(func=called, args=[ast.Name(id=name) as whole], keywords=[]) if is_bound(function, called, reversed):
            return whole if name in function.parameters else None
        case ast.Call(
            func=called,
            args=[ast.Subscript(value=ast.Name(id=name) as whole, slice=ast.Slice(lower=None, upper=upper, step=None))],
            keywords=[],
        ) if is_bound(function, called, reversed) and upper is not None and ast.unparse(upper) == ast.unparse(minus):
            rest = ast.Subscript(whole, ast.Slice(ast.Constant(1), None, None), ast.Load())
            return rest if name in function.parameters else None
        case ast.Subscript(
            value=ast.Name(id=name) as whole, slice=ast.Slice(lower=None, upper=None, step=ast.expr() as step)
        ) if ast.unparse(step) == ast.unparse(minus):
            return whole if name in function.parameters else None
        case ast.Call(func=called, args=[inner, *rest], keywords=named) if is_bound(function, called, enumerate):
            found = _turned(function, inner)
            return None if found is None else ast.Call(called, [found, *rest], named)
        case ast.Call(func=called, args=[_, _, *_] as parts, keywords=named) if is_bound(function, called, zip):
            found_parts = [_turned(function, p) for p in parts]
            if any(not isinstance(p, ast.Name) for p in found_parts):
                return None
            return ast.Call(called, [p for p in found_parts if p is not None], named)
        case _:
            return None


def _counted_down(function: Function, loop: ast.For, lengths: Mapping[str, str]) -> ast.expr | None:
    """`for i in range(n - 1, -1, -1)` where i is only a place, `xs[i]`; or from `n - 2`, with `xs[i]` and `xs[i + 1]`."""
    match loop.iter, loop.target:
        case (
            ast.Call(
                func=called,
                args=[ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=(1 | 2) as begins)), end, step],
                keywords=[],
            ),
            ast.Name(id=index),
        ) if is_bound(function, called, range) and ast.unparse(end) == ast.unparse(step) == "-1":
            pass
        case _:
            return None
    name = length_of(function, length, lengths)
    if name is None or index in {n for s in loop.body for n in stored(s)} or type(begins) is not int:
        return None
    places = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Subscript) and loads(n.slice, index)]
    if sum(loads(n, index) for n in places) != sum(loads(s, index) for s in loop.body):
        return None
    for node in places:
        match node.slice:
            case ast.Name():
                pass
            case ast.BinOp(left=ast.Name(), op=ast.Add(), right=ast.Constant(value=1)) if begins == 2:
                node.slice = ast.copy_location(ast.BinOp(name_of(index), ast.Sub(), ast.Constant(1)), node.slice)
            case _:
                return None
    start: list[ast.expr] = [ast.Constant(1)] if begins == 2 else []
    return ast.Call(called, [*start, length], [])


__all__ = ["inlined", "matched", "paired", "statements", "turned", "with_first"]
