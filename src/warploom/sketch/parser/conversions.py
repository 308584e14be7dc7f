"""Operands as what their context wants, or a located refusal."""

from __future__ import annotations

import ast

from warploom.ir import IndexExpr
from warploom.sketch.operands import Data, Index, Operand, describe
from warploom.sketch.parser.state import Problem, State


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
    """What to raise at a piece of Python that the language does not have."""
    name, default_fix = _UNSUPPORTED.get(
        type(node), (f"`{type(node).__name__.lower()}`", "Write it with loops, ifs and scalars.")
    )
    message = f"{what or name} is not part of the {'sketch language' if state.mode == 'sketch' else 'language of specs'}"
    return state.problem("UNSUPPORTED_PYTHON", message, node, fix or default_fix)


_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.AnnAssign: ("a declaration without a value", "Assign a value, or remove it."),
    ast.While: ("`while`", "Write `for i in range(...)` with bounds known at compile time."),
    ast.Try: ("`try`", "Remove it: a kernel raises nothing."),
    ast.With: ("`with`", "Remove it."),
    ast.Raise: ("`raise`", "Remove it: a kernel raises nothing."),
    ast.Assert: ("`assert`", "Remove it."),
    ast.ListComp: ("a list comprehension", "Write a `for` loop over a register array."),
    ast.SetComp: ("a set comprehension", "Write a `for` loop."),
    ast.DictComp: ("a dict comprehension", "Write a `for` loop."),
    ast.GeneratorExp: ("a generator expression", "Write a `for` loop with an accumulator or a scalar."),
    ast.Dict: ("a dict", "Use scalars and arrays."),
    ast.Set: ("a set", "Use scalars and arrays."),
    ast.JoinedStr: ("an f-string", "Write the text out."),
    ast.NamedExpr: ("`:=`", "Assign in a statement of its own."),
    ast.Starred: ("`*`", "Write the items out."),
    ast.Slice: ("a slice", "Write a `for` loop over the elements."),
    ast.Break: ("`break`", "Guard the rest of the loop body with an `if`."),
    ast.Continue: ("`continue`", "Guard the rest of the loop body with an `if`."),
    ast.Global: ("`global`", "Pass the value in or return it."),
    ast.Nonlocal: ("`nonlocal`", "Pass the value in or return it."),
    ast.Import: ("`import`", "Import at the top of the file."),
    ast.ImportFrom: ("`import`", "Import at the top of the file."),
    ast.ClassDef: ("`class`", "Use scalars and arrays."),
    ast.Delete: ("`del`", "Remove it."),
    ast.Yield: ("`yield`", "Store to an array."),
    ast.Await: ("`await`", "Remove it."),
    ast.AsyncFunctionDef: ("`async def`", "Write a plain `def`."),
    ast.Match: ("`match`", "Write `if`, `elif`, `else`."),
}
