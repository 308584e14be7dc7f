"""Functions of data that a plain spec may use besides arithmetic: those of `math` and NumPy, `abs`, choices by comparisons.

A choice on data cannot be followed by Python, so a spec's text is read once more: `x if a < b else y` and an `if` whose branches
assign to one place become selections, in which both sides are computed and the comparison says which one counts.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from warploom.core import BY_NAME, DType
from warploom.operations import COMPARISONS, FUNCTIONS, SIGN_OF_COMPARISON
from warploom.terms import Term, apply

_SELECT, _WHOLE = "_warploom_select", "_warploom_whole"
_GUARDED, _KEPT, _VALUE = "_warploom_guarded", "_warploom_kept", "_warploom_value"

TYPES = {
    f"{word}{bits}": BY_NAME[f"{letter}{bits}"]
    for word, letter in (("int", "i"), ("uint", "u"), ("float", "f"))
    for bits in (8, 16, 32, 64)
    if f"{letter}{bits}" in BY_NAME
}
"""NumPy's words for types."""


def readable(spec: Callable[..., Any], converted: Callable[[Term, DType], Term]) -> Callable[..., Any]:
    """The spec with functions and choices that know data; itself where its text cannot be had.

    converted: data as another type, for `np.int64(x)`.
    """
    if not isinstance(spec, FunctionType):
        return spec
    found = _with_choices(spec)
    words: dict[str, Any] = {_SELECT: _select, _WHOLE: _whole, _GUARDED: _guarded, _KEPT: _Kept}
    for name, value in spec.__globals__.items():
        if value is math or value is np:
            words[name] = _Functions(value, converted)
        elif (own := getattr(value, "__name__", "")) and any(value is getattr(m, own, None) for m in (math, np)):
            words[name] = getattr(_Functions(math if value is getattr(math, own, None) else np, converted), own)
    made = FunctionType(found.__code__, {**spec.__globals__, **words}, spec.__name__, spec.__defaults__, spec.__closure__)
    made.__kwdefaults__ = spec.__kwdefaults__
    made.__annotations__ = spec.__annotations__
    return made


def absolute(value: Any) -> Any:
    """The builtin `abs`, of data, too."""
    return apply("abs", value) if isinstance(value, Term) else abs(value)


class _Functions:
    """A module whose functions take data, too."""

    def __init__(self, module: ModuleType, converted: Callable[[Term, DType], Term]) -> None:
        self._module, self._converted = module, converted

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name in FUNCTIONS:
            return _function(partial(apply, FUNCTIONS[name].sign), found)
        dtype = TYPES.get(name)
        return found if dtype is None else _function(partial(self._converted_to, dtype), found)

    def _converted_to(self, dtype: DType, term: Term) -> Term:
        return self._converted(term, dtype)


def _function(of_data: Callable[[Term], Term], plain: Callable[..., Any]) -> Callable[..., Any]:
    def run(value: Any, *more: Any, **options: Any) -> Any:
        return of_data(value) if isinstance(value, Term) and not more and not options else plain(value, *more, **options)

    return run


def _select(test: str, a: Any, b: Any, chosen: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """`chosen` where the comparison holds; on data a term of both."""
    if not (isinstance(a, Term) or isinstance(b, Term)):
        return chosen() if COMPARISONS[test].holds(a, b) else other()
    return apply(f"select {test}", a, b, _resolved(chosen()), _resolved(other()))


class _Kept:
    """The value that stands where nothing may be assigned: read only if data decide."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self.read = read


def _resolved(value: Any) -> Any:
    return value.read() if isinstance(value, _Kept) else value


def _guarded(value: Any) -> list[Any]:
    """The value that is to be assigned, if any."""
    return [] if isinstance(value, _Kept) else [value]


def _whole(value: Any, chosen: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The choice that Python makes; data alone is no condition, and an error says so."""
    return chosen() if value else other()


# ---------------------------------------------------------------- reading the text once more


def _with_choices(spec: FunctionType) -> FunctionType:
    try:
        text = textwrap.dedent(inspect.getsource(spec.__code__))  # of this function, not of one that it says it wraps
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, IndentationError):
        return spec
    body = tree.body[0]
    if (
        not isinstance(body, ast.FunctionDef)
        or spec.__closure__
        or not any(isinstance(n, ast.If | ast.IfExp) for n in ast.walk(body))
    ):
        return spec
    if not _is_text_of(tree, spec.__code__):
        return spec
    body.decorator_list = []
    body.args.defaults, body.args.kw_defaults = [], [None] * len(body.args.kwonlyargs)
    for argument in ast.walk(body.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    body.returns = None
    ast.fix_missing_locations(_Choices().visit(tree))
    ast.increment_lineno(tree, spec.__code__.co_firstlineno - 1)
    made: dict[str, Any] = {}
    exec(compile(tree, spec.__code__.co_filename, "exec"), made)
    found = made[body.name]
    return found if isinstance(found, FunctionType) else spec


def _is_text_of(tree: ast.Module, code: CodeType) -> bool:
    """Whether the function was made from this text: a file may have changed since."""
    made = compile(tree, code.co_filename, "exec")
    found = [c for c in made.co_consts if isinstance(c, CodeType) and c.co_name == code.co_name]
    return any(_told(c) == _told(code) for c in found)


def _told(code: CodeType) -> tuple[object, ...]:
    inner = [_told(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, inner


class _Choices(ast.NodeTransformer):
    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return node if _binds(node) else ast.copy_location(_chosen(node.test, node.body, node.orelse), node)

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        found = None if _binds(node) else _assignment(node)
        return node if found is None else ast.copy_location(found, node)


def _chosen(test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
    """Evaluation order stays: the test first, then one side where no data decide."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SIGN_OF_COMPARISON:
            return _call(_SELECT, ast.Constant(SIGN_OF_COMPARISON[type(op)]), left, right, _later(yes), _later(no))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _chosen(inner, no, yes)
        case ast.BoolOp(op=ast.And(), values=[first, *rest]):
            return _chosen(first, _chosen(_joined(ast.And(), rest), yes, no), no)
        case ast.BoolOp(op=ast.Or(), values=[first, *rest]):
            return _chosen(first, yes, _chosen(_joined(ast.Or(), rest), yes, no))
        case _:
            return _call(_WHOLE, test, _later(yes), _later(no))


def _joined(op: ast.boolop, values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op, values)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _later(value: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, value)


def _assignment(node: ast.If) -> ast.stmt | None:
    """`if c: t = x` or `else: t = y` as one assignment of a choice; None for other statements."""
    yes, no = _assigned(node.body), _assigned(node.orelse)
    if yes is None or (node.orelse and no is None):
        return None
    target, value = yes
    if no is not None and ast.dump(no[0]) != ast.dump(target):
        return None
    if no is None and not (isinstance(target, ast.Subscript) and _is_pure(target)):
        return None  # the name may have no value yet, or looking up the place again be another one
    if no is not None:
        return ast.Assign([target], _chosen(node.test, value, no[1]))
    made = _chosen(node.test, value, _call(_KEPT, _later(_loaded(target))))
    assignment = ast.Assign([target], ast.Name(_VALUE, ast.Load()))
    return ast.For(ast.Name(_VALUE, ast.Store()), _call(_GUARDED, made), [assignment], [])


def _assigned(body: list[ast.stmt]) -> tuple[ast.expr, ast.expr] | None:
    match body:
        case [ast.Assign(targets=[ast.Name() | ast.Subscript() as target], value=value)]:
            return target, value
        case [ast.AugAssign(target=ast.Name() | ast.Subscript() as target, op=op, value=value)] if _is_pure(target):
            return target, ast.BinOp(_loaded(target), op, value)
        case [ast.For(target=ast.Name(id=name), iter=ast.Call(args=[value]), body=[ast.Assign(targets=[target])])] if (
            name == _VALUE
        ):
            return target, value
        case _:
            return None


def _binds(node: ast.AST) -> bool:
    """Whether a part means something else in a function of its own, as the sides of a choice are."""
    return any(isinstance(n, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for n in ast.walk(node))


def _is_pure(target: ast.expr) -> bool:
    """Whether a place may be looked up twice."""
    return not any(isinstance(n, ast.Call) for n in ast.walk(target))


def _loaded(target: ast.expr) -> ast.expr:
    """The target as a value; its own text again."""
    return ast.parse(ast.unparse(target), mode="eval").body
