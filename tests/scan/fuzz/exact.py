"""Python in exact fractions: floats of a text are the decimal numbers that they are written as, `/` divides exactly.

And expressions of `warploom.scan`, evaluated by their definitions. Neither shares code with the reader.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

from warploom.scan import Expr, subexpressions


class NanError(Exception):
    """The difference of infinities, or their product with 0."""


class _Exact(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, float):
            return ast.copy_location(_call("__decimal", ast.Constant(str(node.value))), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(_call("__quotient", node.left, node.right), node) if isinstance(node.op, ast.Div) else node


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _decimal(text: str) -> Fraction:
    return Fraction(text)


def quotient(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b  # an infinity
    return Fraction(a) / Fraction(b)


def run(text: str, name: str, scope: Mapping[str, object] | None = None) -> Any:
    """The object called `name` of a module, in exact arithmetic."""
    tree = ast.fix_missing_locations(_Exact().visit(ast.parse(text)))
    made: dict[str, object] = {"__decimal": _decimal, "__quotient": quotient, **(scope or {})}
    exec(compile(tree, "<exact>", "exec"), made)
    return made[name]


def evaluate(expr: Expr, values: Mapping[Expr, Any]) -> Any:
    """Only what is reached: a condition guards its branches, an unguarded division by 0 raises."""
    known: dict[Expr, Any] = dict(values)
    return _value(expr, known)


def _value(expr: Expr, known: dict[Expr, Any]) -> Any:
    if expr not in known:
        known[expr] = _computed(expr, known)
    return known[expr]


def _computed(expr: Expr, known: dict[Expr, Any]) -> Any:
    def arg(n: int) -> Any:
        return _value(expr.args[n], known)

    match expr.op:
        case "const":
            return expr.value
        case "var":
            raise KeyError(str(expr.value))
        case "poly":
            return reduce(_sum, (reduce(_product, (_value(a, known) for a in m), c) for c, m in expr.terms))
        case "max" | "min":
            found = [_value(a, known) for a in expr.args]
            return max(found) if expr.op == "max" else min(found)
        case "ite":
            return arg(1) if arg(0) else arg(2)
        case "ge":
            return arg(0) >= 0
        case "gt":
            return arg(0) > 0
        case "eq":
            return arg(0) == arg(1)
        case "and":
            return all(_value(a, known) for a in expr.args)
        case "or":
            return any(_value(a, known) for a in expr.args)
        case "not":
            return not arg(0)
        case "floordiv":
            return math.floor(Fraction(arg(0), _int(expr.value)))
        case "mod":
            return arg(0) - math.floor(Fraction(arg(0), _int(expr.value))) * _int(expr.value)
        case "div":
            return 0 if expr.value and arg(1) == 0 else quotient(arg(0), arg(1))
        case "gcd":
            return math.gcd(*(_value(a, known) for a in expr.args))
        case "exp":
            return math.exp(arg(0))
        case "bitand":
            return reduce(lambda a, b: a & b, (_value(a, known) for a in expr.args))
        case "bitor":
            return reduce(lambda a, b: a | b, (_value(a, known) for a in expr.args))
        case "bitxor":
            return reduce(lambda a, b: a ^ b, (_value(a, known) for a in expr.args))
        case "maybe":
            return None if arg(0) else arg(1)


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _sum(a: Any, b: Any) -> Any:
    found = a + b
    if found != found:
        raise NanError
    return found


def _product(a: Any, b: Any) -> Any:
    found = a * b
    if found != found:
        raise NanError
    return found


def is_nan(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(is_nan(v) for v in value)
    return isinstance(value, float) and math.isnan(value)


def bit_expressions(expr: Expr) -> bool:
    return any(e.op.startswith("bit") for e in subexpressions(expr))
