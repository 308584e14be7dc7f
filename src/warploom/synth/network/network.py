"""The array/gather/fold form of a bounded sketch: cells, what each may hold, and how open indices connect them.

A *cell* is one value at one place and time: an input element, what a lane received at one loop iteration, an accumulator's
result. Every statement executed for all lanes and iterations becomes one batch of rows:

    Elements   out[row] = the cell that an open index selects        (register choice, shuffle, indirect read)
    Placements the cell that an open index selects = source[row]     (store through an open index: the reverse)
    Arithmetic out[row] = op(operands[0][row], operands[1][row], ...)
    Folds      out[row] = init op entries...; an entry adds a cell if its open guard holds

An open index or guard is a table over the values of at most a few *slots*; a slot is one point of one hole. A completion
chooses a function for each hole, hence a value for each slot. Source: Swizzle Inventor, section 4.3 (predicated state);
Swizzleflow, section 3 (gathers and folds).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Span
from warploom.ir import Hole
from warploom.terms import Term

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

UNDEFINED = 0
"""Number of the cell that nothing was ever written to: it holds no value, so a needed cell never equals it."""


@dataclass(frozen=True, eq=False, slots=True)
class Slots:
    """Points on which the open expression of each row depends."""

    holes: tuple[int, ...]
    """Hole numbers, one per slot."""
    points: tuple[IntArray, ...]
    """Per slot: [rows] point numbers."""


@dataclass(frozen=True, eq=False, slots=True)
class Elements:
    out: IntArray
    """[rows] cells."""
    slots: Slots
    source: IntArray
    """[rows, values of slot 0, values of slot 1, ...] cells."""


@dataclass(frozen=True, eq=False, slots=True)
class Placements:
    source: IntArray
    """[rows] cells."""
    slots: Slots
    target: IntArray
    """[rows, values of slot 0, ...] cells; `UNDEFINED` where the store goes nowhere (guard false)."""
    array: int
    """Number of the open store: rows of one store never share a target."""


@dataclass(frozen=True, eq=False, slots=True)
class Retained:
    """Cells of an array after an open store: they keep `old` where no placement reaches them."""

    out: IntArray
    old: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Arithmetic:
    out: IntArray
    op: str
    operands: tuple[IntArray, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Entries:
    """One accumulate statement's contributions to one batch of folds."""

    statement: int
    fold: IntArray
    """[rows] position in `Folds.out`."""
    value: IntArray
    """[rows] cells."""
    slots: Slots
    guard: BoolArray
    """[rows, values of slot 0, ...]: whether the contribution is made; no slots: made."""


@dataclass(frozen=True, eq=False, slots=True)
class Folds:
    out: IntArray
    op: str
    init: Term
    entries: tuple[Entries, ...]


Batch = Elements | Placements | Retained | Arithmetic | Folds


@dataclass(frozen=True, eq=False, slots=True)
class HoleUses:
    """A hole and the distinct argument tuples it is used with."""

    hole: Hole
    points: IntArray
    """[points, arguments]."""
    values: int


@dataclass(frozen=True, eq=False, slots=True)
class AccumulateStatement:
    span: Span
    is_certain: bool
    """True if the guard holds somewhere whatever the holes become. Without that and without `GuardRows` the statement never
    fires."""


@dataclass(frozen=True, eq=False, slots=True)
class GuardRows:
    """The open guard of one execution of an accumulate statement."""

    statement: int
    slots: Slots
    holds: BoolArray
    """[rows, values of slot 0, ...]: whether the statement fires; one row per active thread."""


@dataclass(frozen=True, eq=False, slots=True)
class Forbidden:
    """Values of holes under which a thread would store outside of an array."""

    slots: Slots
    outside: BoolArray
    """[rows, values of slot 0, ...]."""


Priced: TypeAlias = Literal["wavefronts", "sectors", "shuffles", "registers"]
"""Costs of what a warp does at once, which depend on indices; registers: how many different ones its lanes take from."""


@dataclass(frozen=True, eq=False, slots=True)
class OpenRequest:
    """One execution, by all threads, of an access or a shuffle whose index is open."""

    kind: Priced
    array: str
    """Empty for a shuffle."""
    span: Span
    size_bytes: int
    slots: Slots
    """[threads]."""
    places: IntArray
    """[threads, values of slot 0, ...]: number of the element (of registers: in its thread); for shuffles of the thread whose
    value it takes; -1: none."""
    moved: IntArray
    """[threads] cells that hold what is read or stored; `UNDEFINED` in threads that take no part."""
    is_load: bool
    is_certain: bool
    """No open condition decides which threads take part."""


@dataclass(frozen=True, eq=False, slots=True)
class Network:
    """A lowered sketch on one bounded instance."""

    holes: tuple[HoleUses, ...]
    cells: int
    known: dict[int, Term]
    """Cells that hold a known term whatever the holes become."""
    batches: tuple[Batch, ...]
    """Every batch comes after the batches that write the cells it reads."""
    outputs: dict[str, IntArray]
    """Output array -> flat cells."""
    statements: tuple[AccumulateStatement, ...]
    guards: tuple[GuardRows, ...]
    operators: frozenset[str]
    """The user's own."""
    forbidden: tuple[Forbidden, ...] = ()
    requests: tuple[OpenRequest, ...] = ()
    """Requests of the kinds that were asked for, at the first of the instances."""
