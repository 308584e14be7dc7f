"""The gathers of a solved program that are made: two in a row that both stay inside lanes, or both keep registers, are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from warploom.ir.dataflow import ZERO, Shape
from warploom.ir.swizzle import IntArray
from warploom.synth.dataflow.flat import FlatStatement


@dataclass(frozen=True, eq=False, slots=True)
class Move:
    statement: int
    """Number of the statement whose array it fills."""
    arguments: tuple[int, ...]
    shapes: tuple[Shape, ...]
    """Shapes of the arguments."""
    sources: IntArray
    """[elements before a fold] as in `GatherSet.gather`."""


def moves_of(flat: Sequence[FlatStatement], gathers: Mapping[str, IntArray]) -> list[Move]:
    """In order; `gathers`: sources by name of the hole."""
    used = Counter(argument for statement in flat for argument in statement.arguments)
    found: dict[int, Move] = {}
    for number, statement in enumerate(flat):
        choices = statement.choices
        if choices is None:
            continue
        sources = gathers.get(statement.name)
        if sources is None:
            sources = choices.gather(np.zeros(choices.members.points, np.int64))
        move = Move(number, statement.arguments, choices.arguments, sources)
        if len(move.arguments) == 1:
            before = found.get(move.arguments[0])
            if before is not None and used[before.statement] == 1 and _is_one(flat, before, move):
                del found[before.statement]
                joined = np.where(sources >= 0, before.sources[np.maximum(sources, 0)], sources)
                move = Move(number, before.arguments, before.shapes, joined)
        found[number] = move
    return list(found.values())


def _is_one(flat: Sequence[FlatStatement], before: Move, after: Move) -> bool:
    if flat[before.statement].fold is not None or len(before.arguments) != 1 or flat[before.arguments[0]].literal is not None:
        return False
    first, second = _places(before, flat[before.statement].shape), _places(after, flat[after.statement].shape)
    if first is None or second is None:
        return False
    return any(first[kind] and second[kind] for kind in (0, 1))


def _places(move: Move, shape: Shape) -> tuple[bool, bool] | None:
    """Whether every element comes from its own lane, and from its own register; None where something is no element."""
    lanes, sources = shape[0] if shape else 0, move.sources
    elements = prod(move.shapes[0])
    if not lanes or move.shapes[0][:1] != (lanes,) or (sources <= ZERO).any() or len(sources) % lanes:
        return None
    lane, register = np.divmod(sources.reshape(lanes, -1), elements // lanes)
    own, place = np.indices(lane.shape)
    return bool((lane == own).all()), bool((register == place).all())
