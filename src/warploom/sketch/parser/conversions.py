"""Operands as what their context wants, or a located refusal."""

from __future__ import annotations

import ast

from warploom.ir import IndexExpr
from warploom.sketch.operands import Data, Index, Operand, describe
from warploom.sketch.parser.state import Problem, State
from warploom.sketch.subset import REFUSED


def as_index(state: State, operand: Operand, node: ast.AST, what: str = "an index") -> IndexExpr:
    match operand:
        case Index(expr=expr, is_bool=False):
            return expr
        case Index():
            raise state.problem("INDEX_EXPECTED", f"expected {what}, got a condition", node, "Write `1 if condition else 0`.")
        case Data():
            raise state.problem(
                "INDEX_FROM_DATA",
                f"expected {what} known before the run, got {describe(operand)}",
                node,
                "Compute it from ids, loop variables, sizes and holes only.",
            )
        case _:
            raise state.problem(
                "INDEX_EXPECTED", f"expected {what}, got {describe(operand)}", node, "Write an integer expression."
            )


def as_static_int(state: State, operand: Operand, node: ast.AST, what: str) -> int:
    value = state.facts.constant(as_index(state, operand, node, what))
    if value is None:
        raise state.problem("NOT_CONSTANT", f"expected {what} known at compile time", node, "Use an integer constant.")
    return value


def unsupported(state: State, node: ast.AST, what: str = "", fix: str = "") -> Problem:
    """The problem to raise at a piece of Python that the language does not have."""
    name, default_fix = REFUSED.get(type(node), (f"`{type(node).__name__.lower()}`", "Write it with loops, ifs and scalars."))
    message = f"{what or name} is not part of the {'sketch language' if state.mode == 'sketch' else 'language of specs'}"
    return state.problem("UNSUPPORTED_PYTHON", message, node, fix or default_fix)
