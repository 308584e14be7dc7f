"""A program as one list of statements: blocks opened, names resolved, holes numbered."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import MutableMapping
from dataclasses import dataclass

from warploom.ir.dataflow import Block, FoldOver, Gathered, GatherSet, Literal, Program, Shape, Statement


@dataclass(frozen=True, eq=False, slots=True)
class FlatStatement:
    name: str
    """Dotted inside of blocks; unique among holes."""
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
    flat: list[FlatStatement] = []
    _append(program.statements, "", {}, flat, Counter())
    return flat


def _append(
    statements: tuple[Statement, ...], prefix: str, outer: MutableMapping[str, int], flat: list[FlatStatement], seen: Counter[str]
) -> int:
    """Number of the last statement's value."""
    names: ChainMap[str, int] = ChainMap({}, outer)
    last = -1
    for statement in statements:
        name = prefix + statement.name
        match statement.value:
            case Block(inner):
                last = _append(inner, name + ".", names, flat, seen)
            case Literal() as literal:
                flat.append(FlatStatement(name, statement.shape, literal, None, (), statement.fold))
                last = len(flat) - 1
            case Gathered(arguments, choices):
                if not choices.is_single:
                    seen[name] += 1
                    name = name if seen[name] == 1 else f"{name}@{statement.span.line}"
                flat.append(
                    FlatStatement(name, statement.shape, None, choices, tuple(names[a] for a in arguments), statement.fold)
                )
                last = len(flat) - 1
        names[statement.name] = last
    return last
