"""A program as one list of statements: blocks opened, names resolved, holes numbered."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping
from dataclasses import dataclass

from warploom.ir.dataflow import Block, FoldOver, Gathered, GatherSet, Literal, Program, Shape, Statement, named_statements


@dataclass(frozen=True, eq=False, slots=True)
class FlatStatement:
    name: str
    """Name as in `named_statements`."""
    shape: Shape
    literal: Literal | None
    choices: GatherSet | None
    arguments: tuple[int, ...]
    """Numbers of earlier statements."""
    fold: FoldOver | None

    @property
    def is_hole(self) -> bool:
        return self.choices is not None and not self.choices.is_single


def flatten(program: Program) -> list[FlatStatement]:
    """The goal is about the last one."""
    names = {id(statement): name for name, statement in named_statements(program)}
    flat: list[FlatStatement] = []
    _append(program.statements, {}, names, flat)
    return flat


def _append(
    statements: tuple[Statement, ...], outer: MutableMapping[str, int], names: dict[int, str], flat: list[FlatStatement]
) -> int:
    """Number of the last statement's value."""
    numbers: ChainMap[str, int] = ChainMap({}, outer)
    last = -1
    for statement in statements:
        match statement.value:
            case Block(inner):
                last = _append(inner, numbers, names, flat)
            case Literal() as literal:
                flat.append(FlatStatement(names[id(statement)], statement.shape, literal, None, (), statement.fold))
                last = len(flat) - 1
            case Gathered(arguments, choices):
                sources = tuple(numbers[a] for a in arguments)
                flat.append(FlatStatement(names[id(statement)], statement.shape, None, choices, sources, statement.fold))
                last = len(flat) - 1
        numbers[statement.name] = last
    return last
