"""Reference interpreter of dataflow programs: plain Python over lists, the oracle for every answer of the engine.

Source: Swizzleflow, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import assert_never

import numpy as np

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.names import named_statements
from warploom.ir.dataflow.program import MISSING, NOUGHT, Block, FoldOver, Gathered, Literal, Program, Statement, Value
from warploom.ir.dataflow.values import folded
from warploom.ir.swizzle import IntArray


def run_program(program: Program, members: Mapping[str, IntArray]) -> dict[str, list[Value]]:
    """The values of every statement, row-major, under its name in `named_statements`.

    `members` gives each hole's gather by that name ([output elements before the fold] sources); sets with one member need none.
    KeyError if a hole has no gather, ValueError if a gather does not fit its statement.
    """
    run = _Run({id(statement): name for name, statement in named_statements(program)}, members)
    run.statements(program.statements, {})
    return run.values


def meets_goal(program: Program, members: Mapping[str, IntArray]) -> bool:
    """Does the last statement hold what the goal asks for, wherever it asks for something?"""
    name, _ = named_statements(program)[-1]
    reached = run_program(program, members)[name]
    return all(wanted in (MISSING, value) for value, wanted in zip(reached, program.goal.values, strict=True))


def only_member(choices: GatherSet) -> IntArray:
    """The gather of a set with one member; ValueError for other sets."""
    if not choices.is_single:
        raise ValueError(f"a set of up to {choices.members.size_bound} gathers")
    functions = choices.members.matching(np.ones((choices.members.points, choices.members.values), np.bool_))
    if functions is None:
        raise ValueError("a set that cannot be listed")
    return choices.gather(functions.tables[0].astype(np.int64))


class _Run:
    def __init__(self, names: Mapping[int, str], members: Mapping[str, IntArray]) -> None:
        self.names = names
        self.members = members
        self.values: dict[str, list[Value]] = {}

    def statements(self, statements: tuple[Statement, ...], outer: Mapping[str, list[Value]]) -> list[Value]:
        """The last statement's values."""
        scope = dict(outer)
        result: list[Value] = []
        for statement in statements:
            result = self.statement(statement, scope)
            scope[statement.name] = result
        return result

    def statement(self, statement: Statement, scope: Mapping[str, list[Value]]) -> list[Value]:
        name = self.names[id(statement)]
        match statement.value:
            case Literal(values):
                result = list(values)
            case Block(statements):
                result = self.statements(statements, scope)
            case Gathered() as gathered:
                result = _folded(self.gather(name, gathered, scope), statement.fold)
            case _:
                assert_never(statement.value)
        self.values[name] = result
        return result

    def gather(self, name: str, gathered: Gathered, scope: Mapping[str, list[Value]]) -> list[Value]:
        choices = gathered.choices
        if name not in self.members and not choices.is_single:
            raise KeyError(f"no gather for the hole {name}")
        sources: list[int] = (self.members[name] if name in self.members else only_member(choices)).tolist()
        if len(sources) != prod(choices.out):
            raise ValueError(f"{name}: expected {prod(choices.out)} sources, got {len(sources)}")
        elements = [value for argument in gathered.arguments for value in scope[argument]]
        if sources and not -2 <= min(sources) <= max(sources) < len(elements):
            raise ValueError(f"{name}: a source outside the {len(elements)} elements of its arguments")
        # UNDEFINED and ZERO are -2 and -1: they count from the end.
        elements += [MISSING, NOUGHT]
        return [elements[source] for source in sources]


def _folded(values: list[Value], fold: FoldOver | None) -> list[Value]:
    if fold is None:
        return values
    return [folded(fold.op, values[i : i + fold.length]) for i in range(0, len(values), fold.length)]
