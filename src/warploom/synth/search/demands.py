"""Tries all functions of one hole at once, backwards: what their results must hold, they must read.

Deciding a hole makes known which cell each needed value is read from, and so what that cell must hold; where one option of
another hole can bring it there, that option is taken and the cell behind it wants the value in turn. A function is refuted where
a cell must hold two values, where none of its sources may hold what it must, or where no function of the other hole takes the
options. This is what `ElementConstraint` finds, for thousands of functions in a few NumPy passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from warploom.ir.swizzle import Tables
from warploom.synth.network.network import UNDEFINED, BoolArray, IntArray
from warploom.synth.search.propagation import Candidate, Constraint, ElementConstraint, Words, unpack

NO_OPTION, ANY_OPTION = -1, -2
"""No value will do; no conclusion."""
NOTHING = -1
"""No known value is wanted of the cell."""
_TABLE_CELLS = 1 << 27
"""Rows times options times values of a gather; of a larger one nothing is concluded."""
_BLOCK_CELLS = 1 << 23
_GLANCES = (4, 32)
"""Rows of a gather that are looked at before all of them."""

Chosen = Callable[[ElementConstraint, Tables], IntArray]
"""[functions, rows] the source cell of each row of a gather whose holes are all decided."""
Meets = Callable[[int, IntArray, IntArray], BoolArray]
"""Whether the hole has a function with these values ([functions, rows]) at these points, for each function."""
Told = tuple[ElementConstraint, IntArray, IntArray]
"""Some rows of a gather, and the options ([functions, rows]) that are known to bring what these must hold."""


@dataclass(frozen=True, eq=False, slots=True)
class _Gather:
    """Rows of a constraint whose results may be wanted."""

    constraint: ElementConstraint
    is_decided: bool
    only: IntArray | None = None
    """[rows, values] the only option that may bring a value; None where that depends on what the hole is decided to be."""
    allowed: BoolArray | None = None
    """[rows, options] of these."""


class Demands:
    """The demands of one hole's functions on the gathers before it and behind it, below one candidate."""

    def __init__(
        self,
        candidate: Candidate,
        constraints: Sequence[Constraint],
        hole: int,
        decided: set[int],
        value: IntArray,
        universe: int,
    ) -> None:
        """`decided`: holes with one function left; `value`: [cells] the only value that a cell may hold, or -1."""
        self.domains = candidate.domains
        known = (value >= 0) & candidate.needed
        self.wanted: IntArray = np.where(known, value, NOTHING)
        self.gathers: list[_Gather] = []
        elements = [c for c in constraints if isinstance(c, ElementConstraint)]
        self.own = [e for e in elements if hole in e.holes and set(e.holes) <= decided | {hole}]
        of_own = np.zeros(len(value), np.bool_)
        for element in self.own:
            of_own[element.out] = True
        of_own[UNDEFINED] = False
        reached = self._below(elements, of_own, known)
        for element in reversed(elements):
            gather = _gather(candidate, element, element in self.own, hole, decided, known, reached, of_own, universe)
            if gather is not None:
                self.gathers.append(gather)
                reached[gather.constraint.source] = True
                reached[UNDEFINED] = False

    def _below(self, elements: Sequence[ElementConstraint], of_own: BoolArray, known: BoolArray) -> BoolArray:
        """[cells] that known results may read at two gathers or more behind the hole's own: what is read there is told."""
        after, below = of_own.copy(), np.zeros_like(of_own)
        for element in elements:
            if element not in self.own:
                if len(element.slots.holes) == 1 and not of_own[element.source].any() and after[element.source].any():
                    below[element.source[known[element.out]]] = True
                after[element.out] |= after[element.source].any(axis=1)
        below[UNDEFINED] = False
        return below

    def surviving(self, tables: Tables, chosen: Chosen, meets: Meets, told: Sequence[Told] = ()) -> BoolArray:
        """[functions]: those that are not refuted."""
        wanted: IntArray = np.repeat(self.wanted[None, :], len(tables), axis=0)
        origin: IntArray = np.repeat(np.arange(len(self.wanted))[None, :], len(tables), axis=0)
        for element in self.own:
            origin[:, element.out] = chosen(element, tables)
        left = np.arange(len(tables))
        for element, rows, option in told:
            asked = np.where(option[left] >= 0, self.wanted[element.out[rows]], NOTHING)
            source = element.source[rows[None, :], np.maximum(option[left], 0)]
            left = left[self._agree(wanted, left, source, asked)]
        for gather in self.gathers:
            element = gather.constraint
            if gather.is_decided:
                asked = wanted[left][:, element.out]
                source = chosen(element, tables[left])
            else:
                if gather.only is None:
                    for count in _GLANCES:
                        left = left[(self._options(gather, wanted, origin, left, count)[1] != NO_OPTION).all(axis=1)]
                    asked, option = self._options(gather, wanted, origin, left, None)
                else:
                    asked = wanted[left][:, element.out]
                    option = np.where(asked >= 0, gather.only[np.arange(len(element.out))[None, :], asked], ANY_OPTION)
                fits = meets(element.slots.holes[0], element.slots.points[0], option)
                left, asked, option = left[fits], asked[fits], option[fits]
                asked = np.where(option >= 0, asked, NOTHING)
                source = element.source[np.arange(len(element.out))[None, :], np.maximum(option, 0)]
            left = left[self._agree(wanted, left, source, asked)]
            if not len(left):
                break
        alive = np.zeros(len(tables), np.bool_)
        alive[left] = True
        return alive

    def _options(
        self, gather: _Gather, wanted: IntArray, origin: IntArray, left: IntArray, count: int | None
    ) -> tuple[IntArray, IntArray]:
        """[functions, rows] what some rows (None: all) ask for, and the only option that may bring it."""
        assert gather.allowed is not None
        rows = spread(np.arange(len(gather.constraint.out)), count)
        asked: IntArray = wanted[left][:, gather.constraint.out[rows]]
        source = gather.constraint.source[rows]
        option = np.empty(asked.shape, np.int64)
        step = max(1, _BLOCK_CELLS // max(1, source.size))
        for start in range(0, len(left), step):
            part = slice(start, start + step)
            behind = origin[left[part]][:, source]
            value = np.maximum(asked[part], 0)[:, :, None]
            fits = gather.allowed[rows] & self._may_hold(source[None], value) & self._may_hold(behind, value)
            option[part] = only_option(fits)
        return asked, np.where(asked >= 0, option, ANY_OPTION)

    def _may_hold(self, cell: IntArray, value: IntArray) -> BoolArray:
        word = self.domains[cell, value >> 6]
        return (word >> (value & 63).astype(np.uint64) & np.uint64(1)).astype(np.bool_)

    def _agree(self, wanted: IntArray, left: IntArray, source: IntArray, asked: IntArray) -> BoolArray:
        """Lets the sources want what is asked of them; whether each may hold it, and no other value is wanted of it."""
        row, column = np.nonzero(asked >= 0)
        cell, value, function = source[row, column], asked[row, column], left[row]
        is_right = self._may_hold(cell, value)
        before = wanted[function, cell]
        is_right &= (before < 0) | (before == value)
        wanted[function, cell] = value
        is_right &= wanted[function, cell] == value
        agree = np.ones(len(left), np.bool_)
        agree[row[~is_right]] = False
        return agree


def _gather(
    candidate: Candidate,
    element: ElementConstraint,
    is_own: bool,
    hole: int,
    decided: set[int],
    known: BoolArray,
    reached: BoolArray,
    of_own: BoolArray,
    universe: int,
) -> _Gather | None:
    """The part of a gather that is to be followed; None: nothing."""
    is_decided = set(element.holes) <= decided | {hole}
    if not is_decided and (hole in element.holes or len(element.slots.holes) > 1):
        return None
    # Earlier demands are followed already, except where the hole now says what is read.
    rows = reached[element.out]
    if is_own:
        rows = rows | known[element.out]
    behind = not is_decided and bool((known[element.out] & of_own[element.source].any(axis=1)).any())
    if behind:
        rows = rows | known[element.out]
    if not rows.any():
        return None
    part = element.restricted(np.flatnonzero(rows))
    if is_decided:
        return _Gather(part, True)
    if behind:
        return _Gather(part, False, allowed=candidate.allowed[part.slots.holes[0]][part.slots.points[0]])
    only = _only_options(candidate, part, universe)
    return None if only is None else _Gather(part, False, only)


def _only_options(candidate: Candidate, part: ElementConstraint, universe: int) -> IntArray | None:
    """[rows, values] the option that may bring a value, `NO_OPTION` or, where several may, `ANY_OPTION`."""
    rows, options = part.source.shape
    if rows * options * universe > _TABLE_CELLS:
        return None
    allowed = candidate.allowed[part.slots.holes[0]][part.slots.points[0]]
    only = np.empty((rows, universe), np.int64)
    step = max(1, _BLOCK_CELLS // max(1, options * universe))
    for start in range(0, rows, step):
        source = part.source[start : start + step]
        domains: Words = candidate.domains[source.ravel()]
        holds = unpack(domains, universe).reshape(*source.shape, universe)
        only[start : start + step] = only_option(np.moveaxis(holds & allowed[start : start + step, :, None], 1, 2))
    return only


def only_option(fits: BoolArray) -> IntArray:
    """[..., options] -> the option that fits, `NO_OPTION` or, where several do, `ANY_OPTION`."""
    count = fits.sum(axis=-1)
    return np.where(count == 1, fits.argmax(axis=-1), np.where(count == 0, NO_OPTION, ANY_OPTION))


def spread(rows: IntArray, count: int | None) -> IntArray:
    """So many of the rows (None: all), from the first to the last."""
    if count is None or len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]
