"""Trace of a run of the generic block: stores, demands, and the cells that a spec stores to."""

from __future__ import annotations

from dataclasses import dataclass, field

from warploom.core import Span
from warploom.core.linear import Linear
from warploom.solve import Formula
from warploom.terms import Term

Place = tuple[Linear[str], ...]
"""Index of an array element, one form per dimension."""


@dataclass(frozen=True, slots=True)
class Event:
    """One store of a kernel's thread to an output."""

    array: str
    thread: int
    place: Place
    value: Term
    guard: Formula
    span: Span


@dataclass(frozen=True, slots=True)
class OutputRead:
    """A kernel's thread takes the old content of an output element before it stores anything to that output.

    That is what it gets only if no other thread stores the element, in whatever order threads run: the thread itself must
    store it, and each element is stored once.
    """

    array: str
    thread: int
    place: Place
    guard: Formula
    span: Span


@dataclass(frozen=True, slots=True)
class Demand:
    """Something that must hold whenever `guard` does: `faulty` may not."""

    guard: Formula
    faulty: Formula
    text: str
    span: Span


@dataclass(slots=True)
class Cell:
    """An output element that a spec stores to in one iteration of its loops over sizes."""

    value: Term
    stored: Formula
    """Condition under which it is stored at all, loop ranges included; `value` counts only then."""
    iteration: tuple[str, ...]
    """Loop symbols in scope."""


@dataclass(slots=True)
class Trace:
    """Everything a run of the generic block found."""

    events: list[Event] = field(default_factory=list[Event])
    demands: list[Demand] = field(default_factory=list[Demand])
    output_reads: list[OutputRead] = field(default_factory=list[OutputRead])
    cells: dict[str, dict[Place, Cell]] = field(default_factory=dict[str, dict[Place, Cell]])
    initial_reads: list[tuple[str, Place, tuple[str, ...]]] = field(default_factory=list[tuple[str, Place, tuple[str, ...]]])
