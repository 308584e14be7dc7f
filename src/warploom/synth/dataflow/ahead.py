"""Tries all members of one hole at once: which of them leave the next holes something to be.

Deciding a hole whose sources are known makes known which cell holds which value. A cell that is needed must then be able to
read one of the values it may hold; a hole all of whose points are forced must have a member that takes the forced values. Both
are table lookups, done for thousands of members in one pass, on a few cells first and on all for those that are left. This is
the hash join of two holes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from warploom.ir.swizzle import BoolArray, Functions, IntArray, Tables
from warploom.synth.dataflow.composed import ComposedSet, row_hashes
from warploom.synth.dataflow.counters import Counters
from warploom.synth.propagation import Candidate, Constraint, ElementConstraint, any_bits, slot_options, unpack

_CHUNK = 1 << 22
MAX_FAMILIES = 16
MAX_LISTED = 400_000


class Ahead:
    """Filters the members of one hole below one candidate."""

    def __init__(self, candidate: Candidate, constraints: Sequence[Constraint], hole: int, universe: int, counters: Counters) -> None:
        self.candidate = candidate
        self.counters = counters
        self.universe = universe
        single = np.bitwise_count(candidate.domains).sum(axis=1) == 1
        self.value = np.full(len(candidate.domains), -1)
        cells = np.flatnonzero(single)
        self.value[cells] = unpack(candidate.domains[cells], universe).argmax(axis=1)
        self.value[~any_bits(candidate.domains)] = universe - 1  # nothing is as good as a value that nobody wants
        elements = [c for c in constraints if isinstance(c, ElementConstraint)]
        self.mine = [e for e in elements if e.holes == (hole,)]
        self.out = np.concatenate([e.out for e in self.mine]) if self.mine else np.zeros(0, np.int64)
        self.place = np.full(len(self.value), -1)
        self.place[self.out] = np.arange(len(self.out))
        self.is_known = bool(self.mine) and all(bool((self.value[e.source] >= 0).all()) for e in self.mine)
        """Whether everything the hole may read is known."""
        if not self.is_known:
            return
        self.held: IntArray = np.concatenate([self.value[e.source] for e in self.mine])
        """[rows of the hole, values] value numbers."""
        self.points: IntArray = np.concatenate([e.slots.points[0] for e in self.mine])
        self.readers = [self._reader(e) for e in elements if hole not in e.holes and self._reads(e)]

    def _reads(self, element: ElementConstraint) -> bool:
        """Whether it reads this hole's results and otherwise known cells only, through a hole of its own."""
        mine = self.place[element.source] >= 0
        known = self.value[element.source] >= 0
        return len(element.slots.holes) == 1 and bool(mine.any()) and bool((mine | known).all())

    def _reader(self, element: ElementConstraint) -> _Reader:
        candidate = self.candidate
        rows = np.flatnonzero(candidate.needed[element.out])
        options = slot_options(candidate, element.slots, (len(element.out),)).reshape(len(element.out), -1)[rows]
        source = element.source[rows]
        wanted = unpack(candidate.domains[element.out[rows]], self.universe)
        wanted[:, -1] = False
        hole = element.slots.holes[0]
        return _Reader(
            self.place[source], self.value[source], options, wanted, element.slots.points[0][rows], candidate.functions[hole]
        )

    # ------------------------------------------------------------ members

    def surviving(self, functions: Functions) -> IntArray:
        """Positions of the members that are not refuted."""
        self.counters.tested += len(functions)
        return self._surviving(functions.tables)

    def _surviving(self, tables: Tables) -> IntArray:
        return self._tested(len(tables), lambda keep, rows: tables[keep][:, self.points[rows]])

    def _tested(self, count: int, choose: Callable[[IntArray, IntArray], IntArray]) -> IntArray:
        """`choose(members, rows)` -> [members, rows] the values that members take at rows of the hole."""
        alive = np.arange(count)
        for reader in self.readers:
            for sample in reader.samples():
                if not len(alive):
                    return alive
                alive = self._readable(reader, sample, alive, choose)
            alive = self._offered(reader, alive, choose)
        return alive

    def _held(self, reader: _Reader, sample: IntArray, members: IntArray, choose: Callable[[IntArray, IntArray], IntArray]) -> IntArray:
        """[members, sample, values] value numbers that the reader's rows may read."""
        place = reader.place[sample]
        rows, back = np.unique(place[place >= 0], return_inverse=True)
        chosen = choose(members, rows)
        values = self.held[rows[None, :], chosen]
        result = np.broadcast_to(reader.known[sample], (len(members), *place.shape)).copy()
        result[:, place >= 0] = values[:, back.reshape(-1)]
        return result

    def _readable(
        self, reader: _Reader, sample: IntArray, alive: IntArray, choose: Callable[[IntArray, IntArray], IntArray]
    ) -> IntArray:
        step = max(1, _CHUNK // max(1, reader.place[sample].size))
        keep: list[IntArray] = []
        for start in range(0, len(alive), step):
            members = alive[start : start + step]
            fits = reader.fits(sample, self._held(reader, sample, members, choose))
            keep.append(members[fits.any(axis=2).all(axis=1)])
        return np.concatenate(keep)

    def _offered(self, reader: _Reader, alive: IntArray, choose: Callable[[IntArray, IntArray], IntArray]) -> IntArray:
        """Members for which the reading hole has a member that takes the only fitting value at every point, where it is one."""
        if reader.functions is None or not len(alive) or not len(reader.place):
            return alive
        rows = np.arange(len(reader.place))
        distinct, first = np.unique(reader.points, return_index=True)
        offers = row_hashes(reader.functions.tables[:, distinct])
        step = max(1, _CHUNK // max(1, reader.place.size))
        keep: list[IntArray] = []
        for start in range(0, len(alive), step):
            members = alive[start : start + step]
            fits = reader.fits(rows, self._held(reader, rows, members, choose))
            forced = fits.argmax(axis=2)[:, first].astype(np.int16)
            is_forced = (fits.sum(axis=2) == 1).all(axis=1)
            keep.append(members[~is_forced | np.isin(row_hashes(forced), offers)])
        return np.concatenate(keep)

    # ------------------------------------------------------------ pairs

    def surviving_pairs(self, pairs: ComposedSet) -> Functions | None:
        """The pairs that are not refuted, of a set too large to list; None when even this way too many are left.

        The first hole's members are tried alone where the second's do not matter to the readers: members of the second under
        which the same sets of cells are read by the same wanting rows are one.
        """
        first = pairs.first.matching(np.ones((pairs.first.points, pairs.values), np.bool_))
        if first is None:
            return None
        families = self._families(pairs)
        alive = np.arange(len(first))
        if len(families) <= MAX_FAMILIES:
            found = np.zeros(len(first), np.bool_)
            for row in families:
                rest = np.flatnonzero(~found)
                self.counters.probes += len(rest)
                found[rest[self._surviving(first.tables[rest][:, pairs.places[row]])]] = True
            alive = np.flatnonzero(found)
        seconds = len(pairs.second)
        if len(alive) * seconds > MAX_LISTED:
            return None
        self.counters.tested += len(alive) * seconds
        tables = first.tables[alive]

        def choose(members: IntArray, rows: IntArray) -> IntArray:
            return tables[members[:, None] // seconds, pairs.places[(members % seconds)[:, None], self.points[rows][None, :]]]

        kept = self._tested(len(alive) * seconds, choose)
        groups = [(row, first, alive[kept[kept % seconds == row] // seconds]) for row in range(seconds)]
        return pairs.listed([group for group in groups if len(group[2])])

    def _families(self, pairs: ComposedSet) -> list[int]:
        """One member of the second hole for each way in which it matters to the readers."""
        rng = np.random.default_rng(0)
        weights = rng.integers(1, 1 << 62, pairs.first.points, dtype=np.uint64)
        keys: list[int] = []
        for row in range(len(pairs.second)):
            key = np.uint64(0)
            for reader in self.readers:
                read = weights[pairs.places[row][self.points[np.maximum(reader.place, 0)]]]
                sets = np.where(reader.options & (reader.place >= 0), read, np.uint64(0)).sum(axis=1, dtype=np.uint64)
                key += _mixed(sets + reader.wants).sum(dtype=np.uint64)
            keys.append(int(key))
        return list({key: row for row, key in enumerate(keys)}.values())


class _Reader:
    """Rows of a further gather, with what they may hold."""

    def __init__(
        self, place: IntArray, known: IntArray, options: BoolArray, wanted: BoolArray, points: IntArray, functions: Functions | None
    ) -> None:
        """`place`: [rows, values] row of the hole that is read, -1 where `known` ([rows, values]) is the value number.

        `wanted`: [rows, universe].
        """
        self.place = place
        self.known = known
        self.options = options
        self.wanted = wanted
        self.points = points
        self.functions = functions
        weights = np.random.default_rng(1).integers(1, 1 << 62, wanted.shape[1], dtype=np.uint64)
        self.wants = wanted.astype(np.uint64) @ weights

    def samples(self) -> list[IntArray]:
        """Rows to look at, few first."""
        count = len(self.place)
        order = np.random.default_rng(2).permutation(count)
        cuts = [c for c in (4, 16, 64) if c < count]
        return np.split(order, cuts) if count else []

    def fits(self, sample: IntArray, held: IntArray) -> BoolArray:
        """[members, sample, values]: whether the row wants the value and may read it."""
        wanted = self.wanted[sample]
        return wanted[np.arange(len(sample))[None, :, None], held] & self.options[sample][None]


def _mixed(keys: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """Spreads sums so that sums of them do not cancel."""
    keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return keys ^ (keys >> np.uint64(29))
