"""Reductions within expressions, `sum(x * x for x in xs)`, as loops over the list; several of one list are one loop.

    any, all, max, min, prod, len([...]), xs.count(c), reduce(f, xs, start) alike
    re.fullmatch(P, text) is not None       the automaton of a pattern (`matching`)

What does not fit stays as it is, and `loop` refuses it at its place.
"""

from __future__ import annotations

import ast
import copy
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from warploom.scan.reading.matching import Match, Matches, accepted, begun, moved
from warploom.scan.reading.rewriting import Renamed, assigned, is_bound, loads, name_of, placed, stored
from warploom.scan.reading.source import Function


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
    """A body in which reductions within expressions are written out."""

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
        if found.matches.binds(statement):
            continue
        count = len(found.folds)
        made = found.visit(copy.deepcopy(statement))
        for one in found.folds[count:]:
            parts = [*one.start, *one.body, *one.tests]
            if any(loads(p, name) for p in parts for name in later):
                return None  # a second pass over the list
        if found.folds:
            after.append(made)
            later |= stored(statement)
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
        inner: list[ast.stmt] = [Renamed(names).visit(s) for s in one.body]
        tests = [Renamed(names).visit(t) for t in one.tests]
        for test in reversed(tests):
            inner = [ast.If(test, inner, [])]
        loop_body += inner
    fresh = {n: free(n) for n in stored(first.target) if n in function.locals or n in function.parameters}
    renamed = Renamed({n: name_of(f) for n, f in fresh.items()})
    target = renamed.visit(copy.deepcopy(first.target))
    loop = ast.For(target, first.over, [renamed.visit(s) for s in loop_body], [])
    starts = [s for one in found.folds for s in one.start]
    made = placed([*starts, loop], body[-1])
    elements = {n for n in stored(first.target) if n not in fresh}
    return Folds([*begin, *made, *after], elements, all(one.takes_none for one in found.folds))


def _paired(target: ast.expr, first: ast.expr) -> dict[str, ast.expr] | None:
    """Names of one target as those of the other; None where they have other shapes."""
    match target, first:
        case ast.Name(id=name), ast.Name(id=other):
            return {name: name_of(other)}
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
        self.matches = Matches(function)

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.If() | ast.IfExp():
                node.test = self._truth(node.test)
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self._truth(node.operand)
            case ast.Call(func=called, args=[one], keywords=[]) if self._is(called, bool):
                node.args = [self._truth(one)]
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]) if (
                asked := self.matches.match(left)
            ) is not None:
                found = self._matched(asked)
                return ast.copy_location(found if isinstance(op, ast.IsNot) else ast.UnaryOp(ast.Not(), found), node)
            case ast.expr() if (asked := self.matches.match(node)) is not None:
                self.matches.refuse(asked)
            case _:
                pass
        return super().visit(node)

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

    def _truth(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth is asked; that of a match is whether there is one."""
        if isinstance(node, ast.BoolOp):
            return ast.copy_location(ast.BoolOp(node.op, [self._truth(v) for v in node.values]), node)
        asked = self.matches.match(node)
        return node if asked is None else ast.copy_location(self._matched(asked), node)

    def _matched(self, asked: Match) -> ast.expr:
        """Whether there is such a match, which a loop of the pattern's automaton says."""
        found = self.matches.automaton(asked)
        state, target = self._free("state"), self._free("item")
        body = moved(found, state, target, is_bytes=isinstance(asked.pattern.pattern, bytes))
        self.folds.append(_Fold(ast.Name(target, ast.Store()), asked.over, begun(state), body, [], accepted(found, state)))
        return accepted(found, state)

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
                return ast.Name(target, ast.Store()), over, ast.Call(mapped, [name_of(target)], []), []
            case ast.Name(id=name) if name in self._function.parameters:
                target = self._free("item")
                return ast.Name(target, ast.Store()), node, name_of(target), []
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
                test = ast.Compare(name_of(target), [ast.Eq()], [one])
                return self._counted(ast.Name(target, ast.Store()), over, [test])
            case ast.Call(func=called, args=[mapped, ast.Name(id=name) as over, start], keywords=[]) if (
                self._is(called, functools.reduce) and name in self._function.parameters
            ):
                held, target = self._free("held"), self._free("item")
                value = _applied(mapped, [name_of(held), name_of(target)])
                return _Fold(
                    ast.Name(target, ast.Store()), over, [assigned(held, start)], [assigned(held, value)], [], name_of(held)
                )
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
        return _Fold(target, over, [assigned(count, ast.Constant(0))], body, tests, name_of(count))

    def _reduced(
        self, called: ast.expr, target: ast.expr, over: ast.expr, value: ast.expr, tests: list[ast.expr],
        rest: Sequence[ast.expr], named: Sequence[ast.keyword],
    ) -> _Fold | None:  # fmt: skip
        keys = {k.arg: k.value for k in named}
        if self._is(called, len) and not rest and not keys and tests:
            return self._counted(target, over, tests)
        for function, op, first in ((sum, ast.Add(), 0), (math.prod, ast.Mult(), 1)):
            if self._is(called, function) and not {*keys} - {"start"}:
                given = [*rest, *keys.values()]
                if len(given) > 1:
                    return None
                total = self._free("total" if function is sum else "product")
                begun = assigned(total, given[0] if given else ast.Constant(first))
                body: list[ast.stmt] = [ast.AugAssign(ast.Name(total, ast.Store()), op, value)]
                return _Fold(target, over, [begun], body, tests, name_of(total))
        for function, is_all in ((any, False), (all, True)):
            if self._is(called, function) and not rest and not keys:
                flag = self._free("every" if is_all else "some")
                test = ast.UnaryOp(ast.Not(), value) if is_all else value
                body = [ast.If(test, [assigned(flag, ast.Constant(not is_all))], [])]
                return _Fold(target, over, [assigned(flag, ast.Constant(is_all))], body, tests, name_of(flag))
        for function, sign in ((max, ast.Gt()), (min, ast.Lt())):
            if self._is(called, function) and not rest and not {*keys} - {"default"}:
                best, one = self._free("greatest" if function is max else "least"), self._free("value")
                is_none = ast.Compare(name_of(best), [ast.Is()], [ast.Constant(None)])
                better = ast.BoolOp(ast.Or(), [is_none, ast.Compare(name_of(one), [sign], [name_of(best)])])
                body = [assigned(one, value), ast.If(better, [assigned(best, name_of(one))], [])]
                default = keys.get("default")
                if default is None and tests:
                    return None  # it raises where no element passes
                result = name_of(best) if default is None else ast.IfExp(copy.deepcopy(is_none), default, name_of(best))
                start: list[ast.stmt] = [assigned(best, ast.Constant(None))]
                return _Fold(target, over, start, body, tests, result, takes_none=default is not None)
        return None


def _applied(function: ast.expr, arguments: list[ast.expr]) -> ast.expr:
    """The call, or its text where the function is a lambda."""
    match function:
        case ast.Lambda(args=ast.arguments(args=names, vararg=None, kwarg=None, kwonlyargs=[], posonlyargs=[]), body=body) if len(
            names
        ) == len(arguments):
            values = {n.arg: a for n, a in zip(names, arguments, strict=True)}
            return Renamed(values).visit(copy.deepcopy(body))
        case _:
            return ast.Call(function, arguments, [])


__all__ = ["Folds", "folded"]
