"""Shorter ways to write a loop, written out before `forms` reads it; every rewriting keeps what CPython computes.

    return sum(x * x for x in xs)       total = 0, for x in xs: total += x * x
    any, all, max, min, prod, len([...]), xs.count(c), reduce(f, xs, start) alike, also several over one list
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
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _placed(statements: Sequence[ast.stmt], place: ast.AST) -> list[ast.stmt]:
    """New statements at the place of what they stand for."""
    for statement in statements:
        for node in ast.walk(statement):
            if not hasattr(node, "lineno"):
                ast.copy_location(node, place)
        ast.fix_missing_locations(statement)
    return list(statements)


def _loads(node: ast.AST, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def _stored(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


class _Renamed(ast.NodeTransformer):
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
    return by_def + sum(isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(whole))


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
        body = _Renamed(dict(zip(names, node.args, strict=True))).visit(copy.deepcopy(found.body))
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
        case ast.Name() as one if one.id not in _stored(ast.Module(list(node.cases), [])):  # type: ignore[arg-type]
            subject = one
        case ast.Tuple(elts=parts):
            subject = [_name(free("subject")) for _ in parts]
            start = [_set(n.id, p) for n, p in zip(subject, parts, strict=True) if isinstance(n, ast.Name)]
        case _:
            subject = _name(free("subject"))
            start = [_set(subject.id, node.subject)]
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
            tests = [*tests, _Renamed(found.bound).visit(copy.deepcopy(case.guard))]
        body = [*(_set(name, copy.deepcopy(value)) for name, value in found.bound.items()), *case.body]
        if not tests:
            chain = body
            continue
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        chain = [ast.If(test, body, chain)]
    return _placed([*start, *chain], node)


def _captured(node: ast.AST) -> set[str]:
    return {n.name for n in ast.walk(node) if isinstance(n, ast.MatchAs) and n.name is not None}


def _is_of_cases(name: str, node: ast.Match, others: ast.AST) -> bool:
    """Whether the name is set by patterns alone, and read only in cases whose pattern sets it."""
    own = sum(_loads(c, name) for c in node.cases if name in _captured(c.pattern))
    return name not in _stored(others) and own == _loads(others, name)


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
    if before is None or any(_loads(e, one.target.id) for e in before):
        return [statement]

    class Read(ast.NodeTransformer):
        def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
            return ast.copy_location(_name(node.target.id), node)

    made = Read().visit(statement)
    return [*_placed([_set(one.target.id, one.value)], one), made]


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


# ------------------------------------------------------------ reductions within expressions


@dataclass(slots=True)
class _Fold:
    """One reduction over a list within an expression."""

    target: ast.expr
    over: ast.expr
    start: list[ast.stmt]
    body: list[ast.stmt]
    tests: list[ast.expr]
    result: ast.expr
    takes_none: bool = True
    """False: it raises for an empty list."""


@dataclass(slots=True)
class Folds:
    """What reductions within expressions were written out as."""

    body: list[ast.stmt]
    elements: set[str] = field(default_factory=set[str])
    """Names that elements have."""
    takes_none: bool = True


def folded(function: Function, body: list[ast.stmt], free: Callable[[str], str]) -> Folds | None:
    """The function's body with a loop in place of reductions within expressions; None where there are none to write out."""
    if any(isinstance(n, ast.For | ast.While) for s in body for n in ast.walk(s)):
        return None
    found = _Folded(function, free)
    after: list[ast.stmt] = []
    begin: list[ast.stmt] = []
    later: set[str] = set()
    for statement in body:
        count = len(found.folds)
        made = found.visit(copy.deepcopy(statement))
        for one in found.folds[count:]:
            parts = [*one.start, *one.body, *one.tests]
            if any(_loads(p, name) for p in parts for name in later):
                return None  # a second pass over the list
        if found.folds:
            after.append(made)
            later |= _stored(statement)
        else:
            begin.append(statement)
    if not found.folds:
        return None
    first = found.folds[0]
    loop_body: list[ast.stmt] = []
    for one in found.folds:
        if ast.unparse(one.over) != ast.unparse(first.over):
            return None
        names = _paired(one.target, first.target)
        if names is None:
            return None
        inner = [_Renamed(names).visit(s) for s in one.body]
        tests = [_Renamed(names).visit(t) for t in one.tests]
        for test in reversed(tests):
            inner = [ast.If(test, inner, [])]
        loop_body += inner
    fresh = {n: free(n) for n in _stored(first.target) if n in function.locals or n in function.parameters}
    renamed = _Renamed({n: _name(f) for n, f in fresh.items()})
    target = renamed.visit(copy.deepcopy(first.target))
    loop = ast.For(target, first.over, [renamed.visit(s) for s in loop_body], [])
    starts = [s for one in found.folds for s in one.start]
    made = _placed([*starts, loop], body[-1])
    elements = {n for n in _stored(first.target) if n not in fresh}
    return Folds([*begin, *made, *after], elements, all(one.takes_none for one in found.folds))


def _paired(target: ast.expr, first: ast.expr) -> dict[str, ast.expr] | None:
    """Names of one target as those of the other; None where they have other shapes."""
    match target, first:
        case ast.Name(id=name), ast.Name(id=other):
            return {name: _name(other)}
        case ast.Tuple(elts=parts), ast.Tuple(elts=others) if len(parts) == len(others):
            found: dict[str, ast.expr] = {}
            for part, other in zip(parts, others, strict=True):
                inner = _paired(part, other)
                if inner is None:
                    return None
                found |= inner
            return found
        case _:
            return None


class _Folded(ast.NodeTransformer):
    def __init__(self, function: Function, free: Callable[[str], str]) -> None:
        self._function = function
        self._free = free
        self.folds: list[_Fold] = []

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = self._fold(node)
        if found is None:
            return self.generic_visit(node)
        self.folds.append(found)
        return ast.copy_location(found.result, node)

    def _is(self, node: ast.expr, value: object) -> bool:
        return is_bound(self._function, node, value)

    def _iterated(self, node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr, list[ast.expr]] | None:
        """Target, list, element's value and filters."""
        match node:
            case ast.GeneratorExp(elt=value, generators=[one]) | ast.ListComp(elt=value, generators=[one]) if not one.is_async:
                return one.target, one.iter, value, one.ifs
            case ast.Call(func=called, args=[mapped, ast.Name(id=name) as over], keywords=[]) if (
                self._is(called, map) and name in self._function.parameters
            ):
                target = self._free("item")
                return ast.Name(target, ast.Store()), over, ast.Call(mapped, [_name(target)], []), []
            case ast.Name(id=name) if name in self._function.parameters:
                target = self._free("item")
                return ast.Name(target, ast.Store()), node, _name(target), []
            case _:
                return None

    def _fold(self, node: ast.Call) -> _Fold | None:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as over, attr="count"), args=[one], keywords=[]) if (
                name in self._function.parameters and isinstance(one, ast.Constant)
            ):
                if isinstance(one.value, str) and len(one.value) != 1:
                    return None
                target = self._free("item")
                test = ast.Compare(_name(target), [ast.Eq()], [one])
                return self._counted(ast.Name(target, ast.Store()), over, [test])
            case ast.Call(func=called, args=[mapped, ast.Name(id=name) as over, start], keywords=[]) if (
                self._is(called, functools.reduce) and name in self._function.parameters
            ):
                held, target = self._free("held"), self._free("item")
                value = _applied(mapped, [_name(held), _name(target)])
                return _Fold(ast.Name(target, ast.Store()), over, [_set(held, start)], [_set(held, value)], [], _name(held))
            case ast.Call(func=called, args=[inner, *rest], keywords=named):
                found = self._iterated(inner)
                if found is None or (len(rest) > 1 or len(named) > 1):
                    return None
                return self._reduced(called, *found, rest, named)
            case _:
                return None

    def _counted(self, target: ast.expr, over: ast.expr, tests: list[ast.expr]) -> _Fold:
        count = self._free("count")
        body: list[ast.stmt] = [ast.AugAssign(ast.Name(count, ast.Store()), ast.Add(), ast.Constant(1))]
        return _Fold(target, over, [_set(count, ast.Constant(0))], body, tests, _name(count))

    def _reduced(
        self, called: ast.expr, target: ast.expr, over: ast.expr, value: ast.expr, tests: list[ast.expr],
        rest: Sequence[ast.expr], named: Sequence[ast.keyword],
    ) -> _Fold | None:  # fmt: skip
        keys = {k.arg: k.value for k in named}
        if self._is(called, len) and not rest and not keys and tests:
            return self._counted(target, over, tests)
        for function, op, first in ((sum, ast.Add(), 0), (math.prod, ast.Mult(), 1)):
            if self._is(called, function) and not {*keys} - {"start"}:
                start = [*rest, *keys.values()]
                if len(start) > 1:
                    return None
                total = self._free("total" if function is sum else "product")
                begun = _set(total, start[0] if start else ast.Constant(first))
                body: list[ast.stmt] = [ast.AugAssign(ast.Name(total, ast.Store()), op, value)]
                return _Fold(target, over, [begun], body, tests, _name(total))
        for function, is_all in ((any, False), (all, True)):
            if self._is(called, function) and not rest and not keys:
                flag = self._free("every" if is_all else "some")
                test = ast.UnaryOp(ast.Not(), value) if is_all else value
                body = [ast.If(test, [_set(flag, ast.Constant(not is_all))], [])]
                return _Fold(target, over, [_set(flag, ast.Constant(is_all))], body, tests, _name(flag))
        for function, sign in ((max, ast.Gt()), (min, ast.Lt())):
            if self._is(called, function) and not rest and not {*keys} - {"default"}:
                best, one = self._free("greatest" if function is max else "least"), self._free("value")
                is_none = ast.Compare(_name(best), [ast.Is()], [ast.Constant(None)])
                better = ast.BoolOp(ast.Or(), [is_none, ast.Compare(_name(one), [sign], [_name(best)])])
                body = [_set(one, value), ast.If(better, [_set(best, _name(one))], [])]
                default = keys.get("default")
                if default is None and tests:
                    return None  # it raises where no element passes
                result = _name(best) if default is None else ast.IfExp(copy.deepcopy(is_none), default, _name(best))
                start: list[ast.stmt] = [_set(best, ast.Constant(None))]
                return _Fold(target, over, start, body, tests, result, takes_none=default is not None)
        return None


def _applied(function: ast.expr, arguments: list[ast.expr]) -> ast.expr:
    """The call, or its text where the function is a lambda."""
    match function:
        case ast.Lambda(args=ast.arguments(args=names, vararg=None, kwarg=None, kwonlyargs=[], posonlyargs=[]), body=body) if len(
            names
        ) == len(arguments):
            values = {n.arg: a for n, a in zip(names, arguments, strict=True)}
            return _Renamed(values).visit(copy.deepcopy(body))
        case _:
            return ast.Call(function, arguments, [])


# ------------------------------------------------------------ headers


def with_first(function: Function, loop: ast.For, after: list[ast.stmt], free: Callable[[str], str]) -> list[ast.stmt]:
    """`xs[0]` in the loop and after it, as a variable; what sets it before the loop is returned."""
    named = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name) and n.id in function.parameters}
    found = _First({n: "" for n in named - _stored(function.node)}, free)
    loop.body = [found.visit(s) for s in loop.body]
    after[:] = [found.visit(s) for s in after]
    made = [
        _set(held, ast.Subscript(_name(name), ast.Constant(0), ast.Load())) for name, held in found.names.items() if held
    ]
    return _placed(made, loop)


class _First(ast.NodeTransformer):
    """`xs[0]` as a variable, for these lists."""

    def __init__(self, names: dict[str, str], free: Callable[[str], str]) -> None:
        self.names = names
        self._free = free

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0), ctx=ast.Load()) if name in self.names:
                self.names[name] = self.names[name] or self._free(f"first_of_{name}")
                return ast.copy_location(_name(self.names[name]), node)
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
    tail = ast.Subscript(_name(whole.id), ast.Slice(ast.Constant(1), None, None), ast.Load())
    loop.iter = ast.copy_location(ast.Call(_name("zip"), [_name(whole.id), tail], []), loop.iter)
    _placed([loop], loop)


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
    _placed([loop, *begin], loop)
    return True


def _is_last(function: Function, node: ast.Subscript, lengths: Mapping[str, str]) -> bool:
    assert isinstance(node.value, ast.Name)
    match node.slice:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
        case ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=1)):
            return _measured(function, length, lengths) == node.value.id
        case _:
            return False


def _measured(function: Function, node: ast.expr, lengths: Mapping[str, str]) -> str | None:
    match node:
        case ast.Name(id=name):
            return lengths.get(name)
        case ast.Call(func=called, args=[ast.Name(id=name)], keywords=[]) if is_bound(function, called, len):
            return name if name in function.parameters else None
        case _:
            return None


def _turned(function: Function, node: ast.expr) -> ast.expr | None:
    """What is looped over in the other direction."""
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
    name = _measured(function, length, lengths)
    if name is None or index in {n for s in loop.body for n in _stored(s)} or type(begins) is not int:
        return None
    places = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Subscript) and _loads(n.slice, index)]
    if sum(_loads(n, index) for n in places) != sum(_loads(s, index) for s in loop.body):
        return None
    for node in places:
        match node.slice:
            case ast.Name():
                pass
            case ast.BinOp(left=ast.Name(), op=ast.Add(), right=ast.Constant(value=1)) if begins == 2:
                node.slice = ast.copy_location(ast.BinOp(_name(index), ast.Sub(), ast.Constant(1)), node.slice)
            case _:
                return None
    start: list[ast.expr] = [ast.Constant(1)] if begins == 2 else []
    return ast.Call(called, [*start, length], [])


__all__ = ["Folds", "folded", "inlined", "is_bound", "matched", "paired", "statements", "turned", "with_first"]
