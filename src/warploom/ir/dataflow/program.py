"""Nodes of a dataflow program: arrays of fixed shape, gathers between them, folds, goals.

Source: Swizzleflow, section 2, figure 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from warploom.core import Span
from warploom.ir.dataflow.gather_set import GatherSet, Shape


@dataclass(frozen=True, slots=True)
class Folded:
    """A multiset of values under one operator; 0 never occurs in it and it is never empty (that is 0)."""

    op: str
    """`+`, `*`, `max`, ...; empty in a program whose folds name no operator. Folds of different operators never meet."""
    values: tuple[Value, ...]
    """Values, sorted by `value_key`."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """`zero`: the identity of every fold. Otherwise undefined: equal to no value a goal asks for."""

    is_zero: bool


NOUGHT, MISSING = Nothing(True), Nothing(False)

Value: TypeAlias = "int | Folded | Nothing"
"""An integer n is the symbol n."""


@dataclass(frozen=True, slots=True)
class Literal:
    values: tuple[Value, ...]
    """Row-major."""


@dataclass(frozen=True, eq=False, slots=True)
class Gathered:
    """One of `choices`, applied to earlier variables."""

    arguments: tuple[str, ...]
    choices: GatherSet
    source: str
    """The call as written, without the fold and the question mark."""


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """A block of statements, whose value is its last statement's; its names are its own, outer names may be read."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class FoldOver:
    op: str
    length: int
    """Length of the last axis, which is folded away."""


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    name: str
    shape: Shape
    """Shape after the fold."""
    value: Literal | Gathered | Block
    fold: FoldOver | None
    is_pruned: bool | None
    """`@prune`, `@noprune`, or neither. Kept for the printer: the engine needs no advice."""
    span: Span


@dataclass(frozen=True, slots=True)
class Goal:
    """The values that the last statement must hold."""

    shape: Shape
    values: tuple[Value, ...]
    """Row-major; `MISSING` where anything will do."""
    source: str
    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    statements: tuple[Statement, ...]
    goal: Goal
    definitions: tuple[str, ...] = ()
    """User definitions as written, for the printer."""
    notes: tuple[str, ...] = ()
    """Notes on text that was read otherwise than it is written."""
