"""Tries all members of one hole at once: which of them leave the next holes something to be.

Deciding a hole whose sources are known makes known which cell holds which value. A cell that is needed must then be able to
read one of the values it may hold; a hole all of whose points are forced must have a member that takes the forced values. Both
are table lookups, done for thousands of members in one pass, on a few cells first and on all for those that are left. This is
the hash join of two holes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from warploom.ir.swizzle import BoolArray, Functions, IntArray, Tables
from warploom.synth.dataflow.composed import ComposedSet, is_among, row_hashes, same_rows
from warploom.synth.dataflow.readers import CHUNK, Holes, Keys, Reader, spread_keys
from warploom.synth.search.propagation import Candidate, Constraint, ElementConstraint, any_bits, unpack

MAX_FAMILIES = 16
FEW = 64
"""Fewer members are followed in full at once."""
MAX_LISTED = 400_000


Holders: TypeAlias = Callable[[IntArray, IntArray], tuple[IntArray, BoolArray]]
"""(members, values) -> `Ahead._holders`."""
Choose: TypeAlias = Callable[[IntArray, IntArray], IntArray | Tables]
"""(members, rows of the hole) -> [members, rows] the values that the members take there."""


class Ahead:
    """Filters the members of one hole below one candidate."""

    def __init__(self, candidate: Candidate, constraints: Sequence[Constraint], hole: int, model: Holes) -> None:
        self.model = model
        self.counters = model.counters
        self.universe = model.universe
        single = np.bitwise_count(candidate.domains).sum(axis=1) == 1
        value = np.full(len(candidate.domains), -1)
        cells = np.flatnonzero(single)
        value[cells] = unpack(candidate.domains[cells], self.universe).argmax(axis=1)
        value[~any_bits(candidate.domains)] = self.universe - 1  # nothing is as good as a value that nobody wants
        elements = [c for c in constraints if isinstance(c, ElementConstraint)]
        mine = [e for e in elements if e.holes == (hole,)]
        self.is_known = len(mine) == 1 and bool((value[mine[0].source] >= 0).all())
        """True if everything the hole may read is known."""
        if not self.is_known:
            return
        self.hole = hole
        self.out: IntArray = mine[0].out
        self.held: IntArray = value[mine[0].source]
        """[rows of the hole, values] value numbers."""
        self.points: IntArray = mine[0].slots.points[0]
        self.readers = self._readers(candidate, elements, mine[0], value, model)

    def _readers(
        self, candidate: Candidate, elements: list[ElementConstraint], mine: ElementConstraint, value: IntArray, model: Holes
    ) -> list[Reader]:
        """Gathers of open holes that read the hole's results, or those of such gathers, and otherwise known cells only."""
        place = np.full(len(value), -1)
        place[mine.out] = np.arange(len(mine.out))
        count = len(mine.out)
        left = [e for e in elements if e is not mine and len(e.slots.holes) == 1]
        found: list[Reader] = []
        while True:
            ready = [e for e in left if bool(((place[e.source] >= 0) | (value[e.source] >= 0)).all())]
            ready = [e for e in ready if bool((place[e.source] >= 0).any())]
            if not ready:
                return found
            for element in ready:
                left.remove(element)
                found.append(Reader(candidate, element, place, value, count, self.universe, model))
                place[element.out] = count + np.arange(len(element.out))
                count += len(element.out)

    # ------------------------------------------------------------ members

    def surviving(self, functions: Functions) -> IntArray:
        """Positions of the members that are not refuted."""
        self.counters.tested += len(functions)
        return self._tested(len(functions), self._chosen(functions.tables))

    def _chosen(self, tables: Tables) -> Choose:
        return lambda members, rows: tables[members][:, self.points[rows]]

    def _read(self, alive: IntArray, choose: Choose) -> IntArray:
        """Members under which every row that reads the hole's results may read a value it wants."""
        for reader in self.readers:
            if reader.reads_hole_only(len(self.points)):
                for sample in reader.samples():
                    alive = self._readable(reader, sample, alive, choose)
                if reader.takers is not None:
                    alive = alive[~self._unread(reader, alive, choose)]
        return alive

    def _unread(self, reader: Reader, members: IntArray, choose: Choose) -> BoolArray:
        """[members] whether some row of the reader finds nothing that it wants."""
        every = np.arange(len(self.points))
        step = max(1, CHUNK // reader.size)
        parts = [members[start : start + step] for start in range(0, len(members), step)]
        found = [reader.unread(self.held[every[None, :], choose(part, every)]) for part in parts]
        return np.concatenate([np.zeros(0, np.bool_), *found])

    def _tested(self, count: int, choose: Choose) -> IntArray:
        return self._follow(
            self._read(np.arange(count), choose), choose, lambda members, values: self._holders(choose, members, values)
        )

    def _follow(self, alive: IntArray, choose: Choose, holders: Holders) -> IntArray:
        """Members whose effect the readers can follow to the end."""
        if not self.readers or not len(alive):
            return alive
        if len(alive) > FEW and len(self.readers) == 2:
            alive = self._glanced(self.readers[0], self.readers[1], alive, holders)
        step = max(1, CHUNK // max(1, sum(r.size for r in self.readers)))
        return np.concatenate([self._followed(alive[n : n + step], choose) for n in range(0, len(alive), step)])

    def _readable(self, reader: Reader, sample: IntArray, alive: IntArray, choose: Choose) -> IntArray:
        """Members under which every sampled row may read a value it wants."""
        place = reader.place[sample]
        rows, back = np.unique(place[place >= 0], return_inverse=True)
        step = max(1, CHUNK // max(1, place.size))
        keep: list[IntArray] = [alive[:0]]
        for start in range(0, len(alive), step):
            members = alive[start : start + step]
            read = np.broadcast_to(reader.known[sample], (len(members), *place.shape)).copy()
            read[:, place >= 0] = self.held[rows[None, :], choose(members, rows)][:, back.reshape(-1)]
            readable: BoolArray = np.logical_or.reduce(reader.fits(sample, read), axis=2)
            keep.append(members[np.logical_and.reduce(readable, axis=1)])
        return np.concatenate(keep)

    def _holders(self, choose: Choose, members: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
        """([members, values] the row that holds a value, -1 for none, [members] whether some value has two)."""
        every = np.arange(len(self.points))
        step = max(1, CHUNK // (len(every) + self.universe))
        found: list[IntArray] = []
        shared: list[BoolArray] = []
        for start in range(0, len(members), step):
            held = self.held[every[None, :], choose(members[start : start + step], every)]
            place = np.full((len(held), self.universe), -1)
            at = np.arange(len(held))[:, None]
            place[at, held] = every
            shared.append(np.logical_or.reduce(place[at, held] != every, axis=1))
            found.append(place[:, values])
        return np.concatenate(found), np.concatenate(shared)

    def _glanced(self, near: Reader, far: Reader, alive: IntArray, holders: Holders) -> IntArray:
        """Members under which a few values reach the goal through both readers, by a pair that the far one's set has.

        A value with one holder must be read from there by the one row of the near reader that may read it and wants it.
        """
        pairs = self.model.sets[far.hole]
        if (
            far.single is None
            or far.functions is not None
            or not isinstance(pairs, ComposedSet)
            or len(far.points) != pairs.points
        ):
            return alive
        if (
            not len(near.rows)
            or not near.reads_hole_only(len(self.points))
            or (near.place < 0).any()
            or far.place.min() < len(self.points)
        ):
            return alive
        count = len(self.points)
        may_read = np.zeros((len(near.rows), count), np.float32)
        row, option = np.nonzero(near.options)
        may_read[row, near.place[row, option]] = 1
        wants = near.wanted[:, :-1].astype(np.float32)
        readers = may_read.T @ wants
        reader = ((may_read * np.arange(len(near.rows), dtype=np.float32)[:, None]).T @ wants).astype(np.int64)
        only = readers == 1
        rows = far.first[pairs.index.sample]
        values, option_of = far.single[0][rows], far.single[1][rows]
        low = int(far.place.min())
        keep: list[IntArray] = []
        step = max(1, CHUNK // (16 * len(values)))
        for start in range(0, len(alive), step):
            members = alive[start : start + step]
            holder, unclear = holders(members, values)
            lost = (holder < 0) | (readers[holder, values] == 0)
            unclear = unclear | ~(only[holder, values] | lost).all(axis=1)
            column = count + near.rows[np.where(only[holder, values], reader[holder, values], 0)] - low
            chosen = option_of[np.arange(len(rows))[None, :], column]
            lost |= chosen < 0
            self.counters.probes += len(members)
            fits = ~lost.any(axis=1) & is_among(row_hashes(chosen.astype(np.int16)), pairs.index.sampled)
            keep.append(members[fits | unclear])
        return np.concatenate(keep)

    def _followed(self, members: IntArray, choose: Choose) -> IntArray:
        """Members whose effect the readers can follow: where all points of a reader are forced, it has such a member."""
        rows = np.arange(len(self.points))
        values = self.held[rows[None, :], choose(members, rows)]
        refuted = np.zeros(len(members), np.bool_)
        for reader in self.readers:
            left = np.flatnonzero(~refuted)
            if not len(left):
                break
            refused, results = reader.follow(values[left])
            refuted[left] = refused
            grown = np.full((len(members), len(reader.out)), self.universe)
            grown[left] = results
            values = np.concatenate([values, grown], axis=1)
        return members[~refuted]

    def decided(self, functions: Functions, holes: frozenset[int], cells: IntArray) -> list[dict[int, Functions] | None]:
        """Per member: the only functions of all other holes, where they are forced and settle `cells` and `holes`."""
        reached = np.concatenate([self.out, *(r.out[r.rows] for r in self.readers)])
        if set(holes) - {r.hole for r in self.readers} != {self.hole} or not np.isin(cells, reached).all():
            return [None] * len(functions)
        rows = np.arange(len(self.points))
        values = self.held[rows[None, :], self._chosen(functions.tables)(np.arange(len(functions)), rows)]
        result: list[dict[int, Functions] | None] = [{} for _ in range(len(functions))]
        for reader in self.readers:
            refused, held, tables, forced = reader.followed(values)
            _, distinct, back = np.unique(same_rows(tables), return_index=True, return_inverse=True)
            found = reader.only(tables[distinct])
            for n, at in enumerate(back.reshape(-1).tolist()):
                mine, only = result[n], found[at]
                if mine is None or only is None or refused[n] or not forced[n]:
                    result[n] = None
                else:
                    mine[reader.hole] = only
            values = np.concatenate([values, held], axis=1)
        return result

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
        seconds = len(pairs.second)
        alive = np.arange(len(first))
        if len(families) <= MAX_FAMILIES:
            found = np.zeros(len(first), np.bool_)
            for row in families:
                rest = np.flatnonzero(~found)
                self.counters.probes += len(rest)
                found[self._read(rest, self._chosen(first.tables[:, pairs.places[row]]))] = True
            alive = np.flatnonzero(found)
        if len(alive) * seconds > MAX_LISTED:
            return None
        self.counters.tested += len(alive) * seconds
        tables = first.tables[alive]

        def choose(members: IntArray, rows: IntArray) -> Tables:
            return tables[members[:, None] // seconds, pairs.places[(members % seconds)[:, None], self.points[rows][None, :]]]

        left = np.arange(len(alive) * seconds)
        holders: Holders = partial(self._holders, choose)
        if len(families) == 1:
            left = np.flatnonzero(self._joined(pairs, families[0], tables).ravel())
            holders = self._pair_holders(pairs, families[0], tables) or holders
        else:
            left = self._read(left, choose)
        kept = self._follow(left, choose, holders)
        groups = [(row, first, alive[kept[kept % seconds == row] // seconds]) for row in range(seconds)]
        return pairs.listed([group for group in groups if len(group[2])])

    def _pair_holders(self, pairs: ComposedSet, row: int, tables: Tables) -> Holders | None:
        """Holders for members of the second hole that only permute the rows: holders under its member `row`, permuted."""
        codes = self._codes(pairs)
        order = np.argsort(codes[row])
        at = np.minimum(np.searchsorted(codes[row][order], codes), codes.shape[1] - 1)
        if (codes[row][order][at] != codes).any() or (np.sort(codes[row])[1:] == np.sort(codes[row])[:-1]).any():
            return None
        moved = np.argsort(order[at], axis=1)
        choose = self._chosen(tables[:, pairs.places[row]])
        seconds = len(pairs.second)

        def holders(members: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
            firsts, back = np.unique(members // seconds, return_inverse=True)
            place, shared = self._holders(choose, firsts, values)
            place = place[back.reshape(-1)]
            there = moved[(members % seconds)[:, None], np.maximum(place, 0)]
            return np.where(place >= 0, there, -1), shared[back.reshape(-1)]

        return holders

    def _codes(self, pairs: ComposedSet) -> IntArray:
        """[members of the second hole, rows] equal where rows show the same element whatever the first hole becomes."""
        fibre = np.unique(self.held, axis=0, return_inverse=True)[1].reshape(-1)
        return pairs.places[:, self.points] * (int(fibre.max()) + 1) + fibre

    def _joined(self, pairs: ComposedSet, row: int, tables: Tables) -> BoolArray:
        """[members of the first hole, of the second]: whether the readers have members for what the pair forces them to.

        Every member of the second permutes what the readers see under its member `row`, so one look at each member of the first
        gives the forced values under all: their hashes are one matrix product.
        """
        found = np.ones((len(tables), len(pairs.second)), np.bool_)
        for reader in self.readers:
            if reader.functions is None or not reader.reads_hole_only(len(self.points)) or not len(reader.rows):
                continue
            read = self._codes(pairs)[:, reader.place]
            same, order = _permutations(read, read[row], reader.wants, reader.options)
            choose = self._chosen(tables[:, pairs.places[row]])
            rows = np.arange(len(self.points))
            step = max(1, CHUNK // max(1, reader.place.size))
            weights = np.random.default_rng(3).integers(1, 1 << 30, len(reader.points)).astype(np.float64)
            spread = np.zeros((len(reader.rows), len(pairs.second)))
            for second in np.flatnonzero(same):
                np.add.at(spread[:, second], order[second][reader.first], weights)
            offers = np.unique(reader.functions.tables[:, reader.points].astype(np.float64) @ weights)
            for start in range(0, len(tables), step):
                members = np.arange(start, min(start + step, len(tables)))
                values = self.held[rows[None, :], choose(members, rows)]
                fits = reader.fits(np.arange(len(reader.rows)), values[:, reader.place])
                forced = (fits.sum(axis=2) == 1).all(axis=1)
                hashes = fits.argmax(axis=2).astype(np.float64) @ spread
                found[members] = is_among(hashes, offers) | ~forced[:, None] | ~same[None, :]
        return found

    def _families(self, pairs: ComposedSet) -> list[int]:
        """One member of the second hole for each way in which it matters to the readers."""
        codes = self._codes(pairs)
        weights: Keys = np.random.default_rng(0).integers(1, 1 << 62, int(codes.max()) + 1, dtype=np.uint64)
        keys: list[int] = []
        for row in range(len(pairs.second)):
            key = np.uint64(0)
            for reader in self.readers:
                if not reader.reads_hole_only(len(self.points)):
                    continue
                read = weights[codes[row][np.maximum(reader.place, 0)]]
                sets = np.where(reader.options & (reader.place >= 0), read, np.uint64(0)).sum(axis=1, dtype=np.uint64)
                key += spread_keys(sets + reader.wants).sum(dtype=np.uint64)
            keys.append(int(key))
        return list({key: row for row, key in enumerate(keys)}.values())


def _permutations(read: IntArray, base: IntArray, wants: Keys, options: BoolArray) -> tuple[BoolArray, IntArray]:
    """Flags of the rows of `base` ([rows, values]) that read what rows of each `read` ([seconds, rows, values]) do, with equal
    wants.

    ([seconds] whether every row has one, [seconds, rows] the rows).
    """
    weights: Keys = np.random.default_rng(4).integers(1, 1 << 62, int(base.shape[1]), dtype=np.uint64)
    wants = wants + spread_keys(options.astype(np.uint64) @ weights)
    keys = spread_keys((read.astype(np.uint64) + np.uint64(1)) @ weights + wants)
    mine = spread_keys((base.astype(np.uint64) + np.uint64(1)) @ weights + wants)
    order = np.argsort(mine)
    place = order[np.minimum(np.searchsorted(mine[order], keys), len(mine) - 1)]
    same: BoolArray = ((read == base[place]).all(axis=2) & (wants[place] == wants)).all(axis=1)
    same &= (options[place] == options).all(axis=2).all(axis=1)
    return same, place
