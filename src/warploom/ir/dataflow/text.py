"""Text of dataflow programs (grammar in `syntax.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from warploom.core import UserError
from warploom.ir.dataflow.gather_set import Shape
from warploom.ir.dataflow.goals import builtin_goal
from warploom.ir.dataflow.program import Block, Gathered, Goal, Literal, Program, Statement, Value
from warploom.ir.dataflow.reader import read_builtin
from warploom.ir.dataflow.values import fold_text, operators_of, value_text

_WIDTH = 110
"""Longer arrays get a line per row."""


def program_text(program: Program) -> str:
    """The program's text, which `parse_program` reads back to the same program, spans and comments aside.

    Definitions come first. Programs built without the parser come back the same if every `Gathered.source` is a call that
    means its set. ValueError for shapes without axes.
    """
    lines = list(program.definitions)
    lines += [line for s in program.statements for line in _statement(s)]
    lines.append(_goal(program))
    return "\n".join(lines) + "\n"


def _statement(statement: Statement) -> list[str]:
    annotation = {None: [], True: ["@prune"], False: ["@noprune"]}[statement.is_pruned]
    shape = statement.shape if statement.fold is None else (*statement.shape, statement.fold.length)
    head = f"{statement.name}: {_shape(shape)} = "
    match statement.value:
        case Literal(values):
            return [*annotation, head + _literal(values, shape)]
        case Gathered(_, choices, source):
            fold = f"{fold_text(statement.fold.op)} " if statement.fold else ""
            return [*annotation, f"{head}{fold}{'' if choices.is_single else '?'}{source}"]
        case Block(statements):
            inner = [f"  {line}" for s in statements for text in _statement(s) for line in text.split("\n")]
            return [*annotation, f"{head}{{", *inner, "}"]
        case _:
            assert_never(statement.value)


def _goal(program: Program) -> str:
    goal = program.goal
    names_operators = any(operators_of(v) - {""} for v in goal.values)
    if _is_builtin(goal, names_operators):
        return f"goal: {_shape(goal.shape)} {goal.source}"
    return f"goal: {_shape(goal.shape)} = {_literal(goal.values, goal.shape)}"


def _is_builtin(goal: Goal, names_operators: bool) -> bool:
    """Whether the goal's source is a built-in goal that asks for the goal's values."""
    try:
        name, options = read_builtin(goal.source)
        return builtin_goal(name, options, goal.shape, names_operators) == goal.values
    except UserError:
        return False


def _literal(values: Sequence[Value], shape: Shape) -> str:
    first = values[0]
    if len(values) > 2 and isinstance(first, int) and tuple(values) == tuple(range(first, first + len(values))):
        return f"range({first}, {first + len(values)})"
    return _nested([value_text(v) for v in values], shape)


def _nested(elements: Sequence[str], shape: Shape) -> str:
    if len(shape) == 1:
        return f"[{', '.join(elements)}]"
    step = len(elements) // shape[0]
    rows = [_nested(elements[i : i + step], shape[1:]) for i in range(0, len(elements), step)]
    separator = ",\n " if sum(map(len, rows)) > _WIDTH else ", "
    return f"[{separator.join(rows)}]"


def _shape(shape: Shape) -> str:
    if not shape:
        raise ValueError("shapes have at least one axis")
    return str(list(shape))
