"""Sums that each have an index of their own, as sums over one index, so that one loop can serve them.

    top[i] = max(X[i, k], over=k)                 ->   top[i] = max(X[i, j], over=j)
    Y[i, j] = X[i, j] - top[i]                         Y[i, j] = X[i, j] - top[i]

The name of an index that is summed over has no meaning, but each name is a loop of its own. Goal: one name for what reads the
same elements of an array. Non-goals: sums that share no array, indices that are divided or stand in gathers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from warploom.core.linear import variable
from warploom.schedule.frontend.tree import (
    Definition,
    Expression,
    Gather,
    Local,
    Read,
    Reduction,
    Stage,
    Store,
    at_places,
    index_sums,
    indices_of,
    mapped,
)

_Owner = TypeVar("_Owner", Definition, Store)


def with_fewer_indices(stage: Stage) -> Stage:
    """The stage, where an index that is only summed over is named as an earlier one of the same range that reads the same."""
    stored = {name for store in stage.stores for name in store.indices}
    names = [name for name, _, _ in stage.ranges]
    fixed = stored | {name for part in stage.parts if isinstance(part, Gather) for name in indices_of(part)}
    fixed |= {digit.index for owner in stage.owners for place in index_sums(owner.value) for digit in place.digits}
    for number, name in enumerate(names):
        for other in names[:number] if name not in fixed else ():
            if _reads_alike(stage, name, other) and not _meet(stage, name, other):
                return with_fewer_indices(_renamed(stage, name, other))
    return stage


def _reads_alike(stage: Stage, name: str, other: str) -> bool:
    """Whether they have one range, and something is read at one index as at the other."""
    ranges = {index: size for index, size, _ in stage.ranges}
    reads = {part for part in stage.parts if isinstance(part, Read)}
    along = (read for read in reads if any(name in index.names for index in read.indices))
    return ranges[name] == ranges[other] and any(_with(read, name, other) in reads for read in along)


def _meet(stage: Stage, name: str, other: str) -> bool:
    """Whether some value depends on both, or is summed over both."""
    free = [set(owner.indices) for owner in stage.definitions]
    free += [set(indices_of(part)) for part in stage.parts]
    free += [set(part.over) for part in stage.parts if isinstance(part, Reduction)]
    return any({name, other} <= each for each in free)


def _renamed(stage: Stage, name: str, other: str) -> Stage:
    def renamed(owner: _Owner) -> _Owner:
        return replace(owner, indices=_names(owner.indices, {name: other}), value=_with(owner.value, name, other))

    ranges = tuple(r for r in stage.ranges if r[0] != name)
    return Stage(tuple(map(renamed, stage.definitions)), tuple(map(renamed, stage.stores)), ranges)


def _names(names: tuple[str, ...], renamed: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(renamed.get(name, name) for name in names)


def _with(expression: Expression, name: str, other: str) -> Expression:
    """The expression with an index by another name, also where it is summed over."""

    def change(part: Expression) -> Expression:
        match part:
            case Local(indices=indices):
                return replace(part, indices=_names(indices, {name: other}))
            case Reduction(operand=operand, over=over):
                return replace(part, operand=mapped(operand, change), over=_names(over, {name: other}))
            case _:
                return at_places(part, {name: variable(other)})

    return mapped(expression, change)
