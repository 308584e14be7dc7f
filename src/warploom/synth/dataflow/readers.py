"""Gathers that read what a hole under trial brings: what each of their rows wants, and what that forces them to choose."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle import BoolArray, Exact, Functions, FunctionSet, IntArray, Tables
from warploom.synth.dataflow.composed import is_among, row_hashes
from warploom.synth.dataflow.counters import Counters
from warploom.synth.search.propagation import Candidate, ElementConstraint, slot_options, unpack

Keys: TypeAlias = NDArray[np.uint64]
CHUNK = 1 << 22
"""Entries of the largest table that is made at once."""


class Holes(Protocol):
    """The functions of a model that a look ahead needs."""

    counters: Counters

    @property
    def sets(self) -> Sequence[FunctionSet]: ...

    @property
    def universe(self) -> int: ...


class Reader:
    """A further gather, with what its rows may hold."""

    def __init__(
        self,
        candidate: Candidate,
        element: ElementConstraint,
        place: IntArray,
        value: IntArray,
        count: int,
        universe: int,
        model: Holes,
    ) -> None:
        """`place`: [cells] column of the values tracked so far, -1 for known cells, whose `value` ([cells]) is given."""
        hole = element.slots.holes[0]
        self.out = element.out
        self.rows = np.flatnonzero(candidate.needed[element.out])
        """The rows that want anything."""
        options = slot_options(candidate, element.slots, (len(element.out),)).reshape(len(element.out), -1)
        self.options: BoolArray = options[self.rows]
        source = element.source[self.rows]
        self.place: IntArray = place[source]
        self.known: IntArray = value[source]
        self.wanted = np.ones((len(self.rows), universe + 1), np.bool_)
        self.wanted[:, :-1] = unpack(candidate.domains[element.out[self.rows]], universe)
        self.wanted[:, universe - 1] = False
        weights = np.random.default_rng(1).integers(1, 1 << 62, universe + 1, dtype=np.uint64)
        self.wants = self.wanted.astype(np.uint64) @ weights
        self.points, self.first, of_row = np.unique(element.slots.points[0][self.rows], return_index=True, return_inverse=True)
        self.lead: IntArray = self.first[of_row.reshape(-1)]
        """[rows] the first row with the same point."""
        self.universe = universe
        self.model = model
        self.hole = hole
        self.functions = candidate.functions[hole]
        self.single = self._single(count)

    @cached_property
    def takers(self) -> tuple[IntArray, IntArray, int] | None:
        """`_takers`; None also where all rows want one value."""
        return self._takers() if self.single is None else None

    @property
    def size(self) -> int:
        """Entries of the tables that one member takes."""
        return self.place.size if self.single is None and self.takers is None else self.universe + int(self.place.shape[0])

    def reads_hole_only(self, rows: int) -> bool:
        return bool((self.place < rows).all())

    def samples(self) -> list[IntArray]:
        """Rows to look at, few first: all of them, or a few where all are soon told by what takes them."""
        count = len(self.place)
        order = np.random.default_rng(2).permutation(count)
        parts = np.split(order, [c for c in (4, 16, 64) if c < count]) if count else []
        return parts if self.takers is None else parts[:2]

    def unread(self, values: IntArray) -> BoolArray:
        """[members] whether some row finds nothing that it wants, by the values of the places; only with `takers`."""
        return self._by_taker(values)[0]

    def fits(self, sample: IntArray, held: IntArray) -> BoolArray:
        """[members, sample, values]: whether the row wants the value and may read it."""
        wanted = self.wanted[sample]
        return wanted[np.arange(len(sample))[None, :, None], held] & self.options[sample][None]

    def follow(self, values: IntArray) -> tuple[BoolArray, IntArray]:
        """([members] refuted, [members, rows of the gather] the values that it must hold, `universe` where that is open)."""
        refuted, results, tables, forced = self.followed(values)
        members = np.flatnonzero(forced & ~refuted)
        refuted[members] = ~self._has(tables[members])
        return refuted, results

    def followed(self, values: IntArray) -> tuple[BoolArray, IntArray, Tables, BoolArray]:
        """([members] refuted by some row, [members, rows of the gather] what it holds, [members, points], [members] forced)."""
        results = np.full((len(values), len(self.out)), self.universe)
        if not len(self.rows):
            none = np.zeros(len(values), np.bool_)
            return none, results, np.zeros((len(values), 0), np.int16), none
        if self.single is not None:
            refuted, option, only, is_only = self._by_place(values)
        elif self.takers is not None:
            refuted, option, only, is_only = self._by_taker(values)
        else:
            refuted, option, only, is_only = self._by_option(values)
        # Rows that share a point read through one option.
        refuted = refuted | np.logical_or.reduce(is_only & is_only[:, self.lead] & (option != option[:, self.lead]), axis=1)
        results[:, self.rows] = np.where(is_only, only, self.universe)
        return refuted, results, option[:, self.first].astype(np.int16), np.logical_and.reduce(is_only, axis=1)

    def _by_option(self, values: IntArray) -> tuple[BoolArray, IntArray, IntArray, BoolArray]:
        """Refuted members; per row the first fitting option, its value, and whether no other fits."""
        held = np.where(self.place >= 0, values[:, np.maximum(self.place, 0)], self.known)
        fits = self.fits(np.arange(len(self.rows)), held)
        count: IntArray = np.count_nonzero(fits, axis=2)
        option: IntArray = fits.argmax(axis=2)
        only: IntArray = np.take_along_axis(held, option[:, :, None], axis=2)[:, :, 0]
        return np.logical_or.reduce(count == 0, axis=1), option, only, count == 1

    def _by_place(self, values: IntArray) -> tuple[BoolArray, IntArray, IntArray, BoolArray]:
        """The same where every row wants one value: look for the place that holds it, if only one does."""
        assert self.single is not None
        single, option_of = self.single
        members = np.arange(len(values))[:, None]
        place = np.full((len(values), self.universe + 1), -1)
        columns: IntArray = np.arange(int(values.shape[1]) - int(option_of.shape[1]), int(values.shape[1]))
        seen = values[:, columns]
        place[members, seen] = np.arange(len(columns))
        unique = np.logical_and.reduce(place[members, seen] == np.arange(len(columns)), axis=1) & (place[:, self.universe] < 0)
        at: IntArray = place[:, single]
        option: IntArray = np.where(at >= 0, option_of[np.arange(len(single))[None, :], np.maximum(at, 0)], -1)
        refuted: BoolArray = np.logical_or.reduce(option < 0, axis=1)
        only: IntArray = np.broadcast_to(single, option.shape).copy()
        is_only: BoolArray = np.ones(option.shape, np.bool_)
        again = np.flatnonzero(~unique)
        if len(again):
            refuted[again], option[again], only[again], is_only[again] = self._by_option(values[again])
        return refuted, np.maximum(option, 0), only, is_only

    def _by_taker(self, values: IntArray) -> tuple[BoolArray, IntArray, IntArray, BoolArray]:
        """The same where what a place holds is wanted by one row of those that may read it: each place looks for its row."""
        assert self.takers is not None
        taker, option_of, low = self.takers
        rows = len(self.rows)
        seen = values[:, low : low + len(taker)]
        row = taker[np.arange(len(taker))[None, :], seen]
        member, column = np.nonzero(row >= 0)
        at: IntArray = member * rows + row[member, column]
        count: IntArray = np.bincount(at, minlength=len(values) * rows).reshape(-1, rows)
        place: IntArray = np.zeros(count.size, np.int64)
        place[at] = column
        place = place.reshape(count.shape)
        option = np.maximum(option_of[np.arange(rows)[None, :], place], 0)
        only: IntArray = np.take_along_axis(seen, place, axis=1)
        refuted, is_only = np.logical_or.reduce(count == 0, axis=1), count == 1
        again = np.flatnonzero((seen == self.universe).any(axis=1))
        if len(again):
            refuted[again], option[again], only[again], is_only[again] = self._by_option(values[again])
        return refuted, option, only, is_only

    def _takers(self) -> tuple[IntArray, IntArray, int] | None:
        """([places, values] the only row that may read the place and wants the value, -1 for none, [rows, places] the option
        that reads a place, the first place), or None: where several rows want what a place holds, or read known cells.
        """
        row, option = np.nonzero(self.options)
        place = self.place[row, option]
        if not len(row) or (place < 0).any():
            return None
        low, rows = int(place.min()), len(self.rows)
        places = int(place.max()) - low + 1
        if places * max(rows, self.universe + 1) > CHUNK:
            return None
        option_of = np.full((rows, places), -1)
        option_of[row, place - low] = option
        if (option_of >= 0).sum() != len(row):
            return None
        wants = self.wanted.copy()
        wants[:, self.universe] = False
        of_row: IntArray = wants.sum(axis=1)
        wanted_value = np.nonzero(wants)[1]
        entries = of_row[row]
        if int(entries.sum()) > CHUNK:
            return None
        # Each place that a row reads, with each value that the row wants.
        pair = np.repeat(np.arange(len(row)), entries)
        nth = np.arange(len(pair)) - np.repeat(np.cumsum(entries) - entries, entries)
        value = wanted_value[(np.cumsum(of_row) - of_row)[row[pair]] + nth]
        at = (place[pair] - low) * wants.shape[1] + value
        taker = np.full(places * wants.shape[1], -1)
        if np.bincount(at, minlength=len(taker)).max(initial=0) > 1:
            return None
        taker[at] = row[pair]
        return taker.reshape(places, wants.shape[1]), option_of, low

    def _single(self, count: int) -> tuple[IntArray, IntArray] | None:
        """([rows] the only value each row wants, [rows, places] the option that reads a place, -1 for none), or None.

        It does where the rows read a block of places that ends at `count`, each place through one option at most.
        """
        wants: IntArray = self.wanted[:, :-1].sum(axis=1)
        if not len(self.rows) or (wants != 1).any() or (self.place < 0).any():
            return None
        low = int(self.place.min())
        if int(self.place.max()) != count - 1 or (count - low) * len(self.rows) > CHUNK:
            return None
        option_of = np.full((len(self.rows), count - low), -1)
        row, option = np.nonzero(self.options)
        option_of[row, self.place[row, option] - low] = option
        if (option_of >= 0).sum() != len(row):
            return None
        return self.wanted[:, :-1].argmax(axis=1), option_of

    def only(self, tables: Tables) -> list[Functions | None]:
        """Per table ([tables, points]): the hole's only function with these values at `points`."""
        members = self.model.sets[self.hole]
        found: list[Functions | None]
        if self.functions is not None:
            functions = self.functions
            found = [functions.select((functions.tables[:, self.points] == table).all(axis=1)) for table in tables]
        elif isinstance(members, Exact) and len(self.points) == members.points:
            found = [*members.equal_to(tables)]
        else:
            found = [None] * len(tables)
        return [f if f is not None and len(f) == 1 else None for f in found]

    def _has(self, tables: Tables) -> BoolArray:
        """[tables] whether the hole has a member with these values at `points`."""
        if self.functions is not None:
            return is_among(row_hashes(tables), np.unique(row_hashes(self.functions.tables[:, self.points])))
        members = self.model.sets[self.hole]
        if isinstance(members, Exact) and len(self.points) == members.points:
            return members.takes(tables)
        return np.ones(len(tables), np.bool_)


def spread_keys(keys: Keys) -> Keys:
    """Spreads sums so that sums of them do not cancel."""
    keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return keys ^ (keys >> np.uint64(29))
