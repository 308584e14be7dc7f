"""Runs a program on many choices of members at once: the check of everything that the engine reports.

Values are numbers: 0 and undefined have fixed ones, every symbol and every multiset that occurs gets the next. A fold sorts the
numbers of its elements; what is left without zeros is looked up whole, so equal numbers mean equal values, exactly.

Source: Swizzleflow, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.interp import only_member
from warploom.ir.dataflow.names import named_statements
from warploom.ir.dataflow.program import MISSING, Block, Folded, FoldOver, Gathered, Literal, Nothing, Program, Statement, Value
from warploom.ir.swizzle import BoolArray, IntArray

BATCH = 512
"""Solutions run at once."""

Numbers: TypeAlias = NDArray[np.int32]
"""[solutions or 1, elements] numbers of values; one row where all solutions hold the same."""

UNDEFINED_NUMBER, ZERO_NUMBER = 0, 1
"""Positions -2 and -1 of a gather's sources, moved up by two."""


def replays(program: Program, members: Sequence[Mapping[str, IntArray]]) -> BoolArray:
    """[solutions]: whether each choice of gathers meets the goal.

    A choice gives each hole's gather by its name in `named_statements` ([output elements before the fold] sources); sets with one
    member need none. KeyError if a hole has no gather, ValueError if a gather does not fit its statement.
    """
    values = _Values()
    goal = np.array([values.number(value) for value in program.goal.values], np.int32)
    asked = np.array([value != MISSING for value in program.goal.values], np.bool_)
    met = np.zeros(len(members), np.bool_)
    for start in range(0, len(members), BATCH):
        run = _Run(program, members[start : start + BATCH], values)
        reached = run.statements(program.statements, {})
        met[start : start + BATCH] = ((reached == goal) | ~asked).all(axis=1)
    return met


def is_member(choices: GatherSet, sources: IntArray) -> bool:
    """Whether the set has a gather with the given [output elements] sources.

    ValueError for a wrong number of sources, and if so many members have this one effect that they cannot be listed.
    """
    if sources.shape != (len(choices.point),):
        raise ValueError(f"expected {len(choices.point)} sources, got {sources.shape}")
    allowed = np.ones((choices.members.points, choices.members.values), np.bool_)
    np.logical_and.at(allowed, choices.point, choices.source == sources[:, None])
    functions = choices.members.matching(allowed)
    if functions is None:
        raise ValueError("more members with one effect than can be listed")
    return any(np.array_equal(choices.gather(table.astype(np.int64)), sources) for table in functions.tables)


class _Values:
    """Numbers of values, in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[int | tuple[str, tuple[int, ...]], int] = {}

    def _interned(self, key: int | tuple[str, tuple[int, ...]]) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 2)

    def number(self, value: Value) -> int:
        match value:
            case int(symbol):
                return self._interned(symbol)
            case Folded(op, parts):
                return self._interned((op, tuple(sorted(self.number(part) for part in parts))))
            case Nothing(is_zero):
                return ZERO_NUMBER if is_zero else UNDEFINED_NUMBER
            case _:
                assert_never(value)

    def fold(self, elements: Numbers, fold: FoldOver) -> Numbers:
        """[solutions, rows * length] -> [solutions, rows]"""
        rows = np.sort(elements.reshape(-1, fold.length), axis=1)
        keys: list[bytes] = rows.view(np.dtype((np.void, rows.itemsize * fold.length))).ravel().tolist()
        results = {key: self._folded(fold.op, np.frombuffer(key, np.int32)) for key in set(keys)}
        return np.array([results[key] for key in keys], np.int32).reshape(len(elements), -1)

    def _folded(self, op: str, parts: Numbers) -> int:
        if (parts == UNDEFINED_NUMBER).any():
            return UNDEFINED_NUMBER
        kept: list[int] = parts[parts != ZERO_NUMBER].tolist()
        return self._interned((op, tuple(kept))) if kept else ZERO_NUMBER


class _Run:
    def __init__(self, program: Program, members: Sequence[Mapping[str, IntArray]], values: _Values) -> None:
        self.names = {id(statement): name for name, statement in named_statements(program)}
        self.members = members
        self.values = values

    def statements(self, statements: tuple[Statement, ...], outer: Mapping[str, Numbers]) -> Numbers:
        """The last statement's values."""
        scope = dict(outer)
        for statement in statements:
            scope[statement.name] = self.statement(statement, scope)
        return scope[statements[-1].name]

    def statement(self, statement: Statement, scope: Mapping[str, Numbers]) -> Numbers:
        match statement.value:
            case Literal(values):
                return np.array([[self.values.number(value) for value in values]], np.int32)
            case Block(statements):
                return self.statements(statements, scope)
            case Gathered(arguments, choices):
                elements = self.gathered(self.names[id(statement)], choices, [scope[name] for name in arguments])
                return elements if statement.fold is None else self.values.fold(elements, statement.fold)
            case _:
                assert_never(statement.value)

    def gathered(self, name: str, choices: GatherSet, arguments: Sequence[Numbers]) -> Numbers:
        rows = max(len(argument) for argument in arguments)
        nothing = np.array([[UNDEFINED_NUMBER, ZERO_NUMBER]], np.int32)
        held = np.concatenate([np.broadcast_to(part, (rows, part.shape[1])) for part in (nothing, *arguments)], axis=1)
        sources = self.sources(name, choices)
        low, high = int(sources.min(initial=0)), int(sources.max(initial=0))
        if low < -2 or high >= held.shape[1] - 2:
            raise ValueError(f"{name}: expected sources from -2 to {held.shape[1] - 3}, got {low} to {high}")
        if rows == 1:
            return held[0, sources + 2]
        return np.take_along_axis(held, np.broadcast_to(sources + 2, (rows, sources.shape[1])), axis=1)

    def sources(self, name: str, choices: GatherSet) -> IntArray:
        """[solutions or 1, output elements]"""
        given = [choice[name] for choice in self.members if name in choice]
        if len(given) < len(self.members):
            if given or not choices.is_single:
                raise KeyError(f"no gather for the hole {name}")
            return only_member(choices)[None]
        if any(gather.shape != choices.point.shape for gather in given):
            raise ValueError(f"{name}: expected {len(choices.point)} sources in every gather")
        return np.stack(given)
