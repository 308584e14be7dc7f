"""Compiled constraints: forms over quantified objects, whose slots are the variables that they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from warploom.solve.space.nodes import (
    Applied,
    Argument,
    Choice,
    Comparator,
    EnumChoice,
    FactLiteral,
    Literal,
    Number,
    Quantified,
    Quantity,
)

Relation = NDArray[np.bool_]
_ZERO = Number(0)


class FormKind(IntEnum):
    RELATION = 0
    """The slots' values are in a relation, for each tuple."""
    CLAUSE = 1
    """One of the literals holds, for each tuple."""
    TRIGGER = 2
    COUNTER = 3
    COVER = 4
    QUOTIENT = 5


class LiteralKind(IntEnum):
    IN_MASK = 0
    COMPARE = 1
    """Two integer choices."""
    IN_RANGE = 2
    """A counter."""


class Part(IntEnum):
    """The subject of a literal of a quotient set."""

    MEMBER = 0
    BY = 1
    OTHER = 2


@dataclass(frozen=True, slots=True)
class FormLiteral:
    kind: LiteralKind
    slot: int
    mask: int = 0
    """Allowed values of an enum choice."""
    other_slot: int = -1
    comparator: Comparator = Comparator.EQ
    constant: Quantity | None = None
    """The quantity that an integer choice or counter is compared with."""
    part: Part = Part.MEMBER


@dataclass(frozen=True, slots=True)
class Wake:
    """A changed variable of this slot's choice calls the form."""

    slot: int
    is_twofold: bool
    """Both directions of a mirrored choice must be looked at."""
    idle_mask: int = 0
    """While one of these values is possible, the change has no effect through this slot."""


@dataclass(frozen=True, slots=True)
class Form:
    name: str
    kind: FormKind
    over: tuple[Quantified, ...]
    slots: tuple[Applied, ...]
    wakes: tuple[Wake, ...]
    guards: tuple[FactLiteral, ...] = ()
    """The form takes no account of a tuple unless these facts hold."""
    parameters: int = 0
    """The leading quantified objects that number the form's instances (counters, covers, quotient sets)."""
    literals: tuple[FormLiteral, ...] = ()
    relation: Relation | None = None
    """[values of slot 0, of slot 1, ...]."""
    parts: tuple[tuple[str, Relation], ...] = ()
    """The constraints that a relation joins, each with the tuples that it allows."""
    is_triangle: bool = False
    """The slots are one mirrored choice of (0, 1), (1, 2), (0, 2), and the relation is the same for all orders of the objects."""
    is_product: bool = False
    value: Quantity = _ZERO
    """Value of a counter: the slot, or a constant."""
    start: Quantity = _ZERO
    """Start of a counter; for a cover, the total."""
    exact: FactLiteral | bool = False


def facts_of(literals: Sequence[Literal]) -> tuple[FactLiteral, ...]:
    return tuple(literal for literal in literals if isinstance(literal, FactLiteral))


def flipped(mask: int, mirror: Sequence[int]) -> int:
    """The mask for the arguments exchanged."""
    return sum(1 << opposite for value, opposite in enumerate(mirror) if mask >> value & 1)


def upright(applied: Applied, choice: Choice) -> tuple[Applied, bool]:
    """One of the two directions of a mirrored choice, and whether it is the other one."""
    if not isinstance(choice, EnumChoice) or not choice.mirror:
        return applied, False
    first, second = applied.arguments
    key = (first.functions, first.name), (second.functions, second.name)
    return (Applied(applied.name, (second, first)), True) if key[1] < key[0] else (applied, False)


def renamed(applied: Applied, names: dict[str, str]) -> Applied:
    return Applied(applied.name, tuple(Argument(names[a.name], a.functions) for a in applied.arguments))
