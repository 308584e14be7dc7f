"""Operators of accumulators: the built-in ones by their sign, declared ones by reading their body."""

from __future__ import annotations

import ast

from warploom import operations
from warploom.core import DType
from warploom.ir import Operator, ValueVar
from warploom.operations import FOLDS
from warploom.sketch.operands import Data
from warploom.sketch.operators import UserOperator
from warploom.sketch.parser.expressions import evaluate
from warploom.sketch.parser.numbers import adapt, check_operator
from warploom.sketch.parser.state import Frame, State
from warploom.sketch.source import written


def operator_name(state: State, op: object, dtype: DType, node: ast.AST) -> str:
    """The name in the kernel of `op`, a sign or a `UserOperator`, on data of type `dtype`."""
    if isinstance(op, UserOperator):
        return _declared(state, op, dtype)
    if op not in FOLDS:
        raise state.problem(
            "OPERATOR",
            f"expected one of {' '.join(FOLDS)} or a wl.operator, got {op!r}",
            node,
            "Declare it with wl.operator(...).",
        )
    check_operator(state, str(op), dtype, node)
    return str(op)


def identity_of(op: object, dtype: DType) -> int | float | None:
    """The neutral element of `op` on `dtype`; None if a declared operator has none."""
    if isinstance(op, UserOperator):
        return op.identity
    return operations.identity_of(str(op), dtype)


def _declared(state: State, op: UserOperator, dtype: DType) -> str:
    """Reads the body of `op` for `dtype`; one kernel operator for each pair."""
    key = (id(op), dtype.name)
    if key in state.operator_origins:
        return state.operator_origins[key]
    text = written(op.body)
    frame = Frame(op.name, text.source, text.resolve, text.known, {}, ())
    with state.framed(frame), state.collecting() as stmts:
        names = [a.arg for a in text.node.args.args]
        expression = sole_expression(text.node)
        if len(names) != 2 or expression is None:
            fix = "Write it as `lambda a, b: ...`."
            raise state.problem("OPERATOR", f"expected operator {op.name!r} to be one expression of two operands", text.node, fix)
        frame.scope.update({names[0]: Data(ValueVar("$a"), dtype), names[1]: Data(ValueVar("$b"), dtype)})
        span = state.span(text.node)
        body = adapt(state, evaluate(state, expression), dtype, expression, "the result")
        if stmts:
            raise state.problem(
                "OPERATOR", f"operator {op.name!r} may not call device functions", text.node, "Write it as one expression."
            )
    name = op.name if op.name not in state.operators else f"{op.name}_{dtype.name}"
    state.operators[name] = Operator(name, op.identity, body, span)
    state.operator_origins[key] = name
    return name


def sole_expression(node: ast.Lambda | ast.FunctionDef) -> ast.expr | None:
    """The expression of a lambda or of a `def` that is one `return` (a docstring aside)."""
    if isinstance(node, ast.Lambda):
        return node.body
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) == 1 and isinstance(body[0], ast.Return):
        return body[0].value
    return None
