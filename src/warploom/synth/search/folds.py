"""Propagation through accumulators: which contribution supplies which required term, by counting.

For every required fold the terms it must hold are known with their multiplicity. A contribution (one accumulate statement at
one lane and iteration) can supply a term if its operands can still hold the term's factors. Too few suppliers, too many sure
contributions, a term with a single supplier: each narrows operands, guards, or refutes.

Source: Swizzleflow, section 4 (copy counts), extended to both directions, to guards, and to products that several
accumulators could take but only one may.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from warploom.synth.network.network import BoolArray, IntArray
from warploom.synth.network.requirements import Requirements, StatementEntries
from warploom.synth.search.propagation import (
    Candidate,
    Changes,
    ConflictError,
    Words,
    any_bits,
    any_option,
    narrow_cells,
    narrow_slots,
    need_cells,
    pack,
    slot_options,
)


@dataclass(frozen=True, eq=False, slots=True)
class Products:
    """Contributions with the same operand cells are one product; at most one fold may take it where `used_once`."""

    of_row: IntArray
    """[all rows] product number."""
    cells: IntArray
    """[products, factors]."""
    used_once: BoolArray
    """[products]: as many products as terms are required, and no term in two folds: every product must be taken once."""
    component: IntArray
    """[products] number of the set of folds connected through products."""


class FoldConstraint:
    """All required folds of a sketch at once."""

    def __init__(self, required: Requirements, group_of: IntArray) -> None:
        self.required = required
        self.group_of = group_of
        self.entries = required.entries
        self.starts = np.cumsum([0] + [len(e.fold) for e in self.entries])
        self.rows = int(self.starts[-1])
        self.fold = np.concatenate([e.fold for e in self.entries]) if self.entries else np.zeros(0, np.int64)
        self.need = required.multiplicity.sum(axis=1)
        self.real = required.multiplicity > 0
        self.terms = np.maximum(required.terms, 0)
        self.products = _products(required, self.fold)
        self.orders = [self._orders(e) for e in self.entries]
        self.holes = tuple(sorted({h for e in self.entries for h in e.slots.holes}))
        cells = np.concatenate([f for e in self.entries for f in e.factors]) if self.entries else np.zeros(0, np.int64)
        self.groups = frozenset(np.unique(group_of[cells]).tolist())
        self.settled: frozenset[int] = frozenset()
        self.strict = required.counting == "exact" or (
            required.counting == "parity" and bool(self.products.used_once.all()) and self._meets_once()
        )
        """Every contribution counts: none may be made in vain or cancelled by another."""
        self.is_silent = required.counting == "parity" and not self.strict
        """Terms may cancel: nothing can be concluded before everything is decided."""

    def _meets_once(self) -> bool:
        """Whether no product has two ways into one fold."""
        pairs = np.stack([self.products.of_row, self.fold])
        return self.rows > 0 and np.unique(pairs, axis=1).shape[1] == self.rows

    def _orders(self, entry: StatementEntries) -> list[tuple[int, ...]]:
        return list(permutations(range(len(entry.factors))))

    @contextmanager
    def counting_exactly(self) -> Generator[None]:
        """Prune as if no two contributions could cancel: what is found is an answer, what is not may still be one."""
        strict, silent = self.strict, self.is_silent
        self.strict, self.is_silent = True, False
        try:
            yield
        finally:
            self.strict, self.is_silent = strict, silent

    def restrict_orders(self, candidate: Candidate) -> None:
        """Forget the orders of factors that no contribution can have (root domains)."""
        words = candidate.domains.shape[1]
        held = np.zeros((len(self.real), self.terms.shape[2], len(self.required.universe)), np.bool_)
        fold, term = np.nonzero(self.real)
        for position in range(self.terms.shape[2]):
            held[fold, position, self.terms[fold, term, position]] = True
        factors = pack(held.reshape(-1, held.shape[2]), words).reshape(*held.shape[:2], words)
        for n, entry in enumerate(self.entries):
            orders = [o for o in self.orders[n] if self._may_supply(candidate, entry, o, factors)]
            self.orders[n] = orders or self.orders[n][:1]

    def _may_supply(self, candidate: Candidate, entry: StatementEntries, order: tuple[int, ...], factors: Words) -> bool:
        """Whether some contribution can have this order. `factors`: [folds, positions, words] values of the terms' factors."""
        for position, cells in zip(order, entry.factors, strict=True):
            if not any_bits(candidate.domains[cells] & factors[entry.fold, position]).any():
                return False
        rows = np.arange(len(entry.fold))
        return any(self._supplies(candidate, entry, rows[n : n + 64], order).any() for n in range(0, len(rows), 64))

    def _supplies(self, candidate: Candidate, entry: StatementEntries, rows: IntArray, order: tuple[int, ...]) -> BoolArray:
        """[rows, terms]: whether the operands can hold the term's factors in this order."""
        fold = entry.fold[rows]
        result = self.real[fold].copy()
        for position, cells in zip(order, entry.factors, strict=True):
            value = self.terms[fold, :, position]
            word = candidate.domains[cells[rows][:, None], value >> 6]
            result &= (word >> (value & 63).astype(np.uint64)) & np.uint64(1) != 0
        return result

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        if self.is_silent:
            return
        state = _State(self, candidate)
        if self.strict:
            state.count_exactly()
        else:
            state.cover()
        state.apply(changes)


class _State:
    """One pass over all contributions."""

    def __init__(self, constraint: FoldConstraint, candidate: Candidate) -> None:
        c = self.c = constraint
        self.candidate = candidate
        self.live: list[tuple[int, StatementEntries, BoolArray]] = []
        """Statements that may still fire anywhere: number, entries, allowed slot values."""
        fires: list[BoolArray] = []
        for number, entry in enumerate(c.entries):
            options = slot_options(candidate, entry.slots, (len(entry.fold),))
            on = any_option(options & entry.guard)
            if on.any():
                self.live.append((number, entry, options))
                fires.append(on)
        self.starts = np.cumsum([0] + [len(f) for f in fires])
        total = int(self.starts[-1])
        self.on = np.concatenate(fires) if fires else np.zeros(0, np.bool_)
        spans = [np.arange(int(c.starts[n]), int(c.starts[n + 1])) for n, _, _ in self.live]
        every: IntArray = np.concatenate(spans) if spans else np.zeros(0, np.int64)
        self.fold = c.fold[every]
        self.of_row = c.products.of_row[every]
        self.off = np.zeros(total, np.bool_)
        self.zero = np.zeros(total, np.bool_)
        self.supply = np.zeros((total, c.real.shape[1]), np.bool_)
        self.by_order: list[list[tuple[tuple[int, ...], IntArray, BoolArray]]] = []
        for (number, entry, options), start in zip(self.live, self.starts, strict=False):
            rows = len(entry.fold)
            orders = c.orders[number]
            span = slice(int(start), int(start) + rows)
            self.off[span] = any_option(options & ~entry.guard)
            live = np.flatnonzero(self.on[span])
            found: list[tuple[tuple[int, ...], IntArray, BoolArray]] = []
            for order in orders:
                supplies = c._supplies(candidate, entry, live, order)  # pyright: ignore[reportPrivateUsage]
                self.supply[span.start + live] |= supplies
                found.append((order, live, supplies))
            self.by_order.append(found)
            if c.required.zero >= 0:
                word, bit = c.required.zero >> 6, np.uint64(c.required.zero & 63)
                for cells in entry.factors:
                    self.zero[span] |= (candidate.domains[cells, word] >> bit) & np.uint64(1) != 0
        self.sure = ~self.off
        """Contributions that are certainly made, with a required term."""

    def _per_fold(self, rows: BoolArray) -> IntArray:
        return np.bincount(self.fold[rows], minlength=len(self.c.need))

    def _per_term(self, rows: BoolArray) -> IntArray:
        row, term = np.nonzero(self.supply & rows[:, None])
        width = self.supply.shape[1]
        return np.bincount(self.fold[row] * width + term, minlength=self.c.real.size).reshape(self.c.real.shape)

    def count_exactly(self) -> None:
        c = self.c
        can = self.on & self.supply.any(axis=1)
        if (self.sure & ~can & ~self.zero).any():
            raise ConflictError
        self.sure &= ~self.zero
        may = self._per_fold(can)
        if (may < c.need).any():
            raise ConflictError
        self.sure |= can & (may == c.need)[self.fold]
        self._use_products_once(can)
        supply = self._per_term(can)
        if (supply < c.required.multiplicity).any():
            raise ConflictError
        self._give_lone_suppliers(supply == c.required.multiplicity)
        sure = self._per_fold(self.sure)
        if (sure > c.need).any():
            raise ConflictError
        full = (sure == c.need)[self.fold] & ~self.sure
        self.supply[full] = False
        self._refute_crowds()
        decided = self.sure & (self.supply.sum(axis=1) == 1)
        taken = self._per_term(decided)
        if (taken > c.required.multiplicity).any():
            raise ConflictError
        exhausted = (taken == c.required.multiplicity)[self.fold]
        self.supply &= ~(exhausted & ~decided[:, None])
        if (self.sure & ~self.supply.any(axis=1)).any():
            raise ConflictError

    def _use_products_once(self, can: BoolArray) -> None:
        products = self.c.products
        if not products.used_once.any():
            return
        once = products.used_once[self.of_row]
        count = np.bincount(self.of_row[can & once], minlength=len(products.used_once))
        if ((count == 0) & products.used_once).any():
            raise ConflictError
        self.sure |= can & once & (count == 1)[self.of_row]
        made = np.zeros(len(products.used_once), np.int64)
        np.add.at(made, self.of_row[self.sure], 1)
        if ((made > 1) & products.used_once).any():
            raise ConflictError
        spare = once & (made == 1)[self.of_row] & ~self.sure
        self.supply[spare] = False
        can &= ~spare

    def _give_lone_suppliers(self, lone: BoolArray) -> None:
        """A term with no more suppliers than it needs gets them all, and they supply nothing else."""
        bound = self.supply & lone[self.fold] & self.on[:, None]
        rows = bound.any(axis=1)
        if (bound.sum(axis=1) > 1).any():
            raise ConflictError
        self.supply[rows] = bound[rows]
        self.sure |= rows

    def _refute_crowds(self) -> None:
        """More sure contributions than terms, where they all can supply the same terms only."""
        rows = np.flatnonzero(self.sure)
        supply = np.packbits(self.supply[rows], axis=1)
        words = np.zeros((len(rows), -(-supply.shape[1] // 8) * 8), np.uint8)
        words[:, : supply.shape[1]] = supply
        keys: Words = np.column_stack([self.fold[rows].astype(np.uint64), words.view(np.uint64)])
        weights = np.random.default_rng(0).integers(1, 1 << 62, int(keys.shape[1]), dtype=np.uint64)
        mixed: Words = np.add.reduce(keys * weights, axis=1)
        _, first, inverse, count = np.unique(mixed, return_index=True, return_inverse=True, return_counts=True)
        if (keys != keys[first[inverse]]).any():
            return  # different supplies under one sum: no conclusion this time
        lead = rows[first]
        room = (self.supply[lead] * self.c.required.multiplicity[self.fold[lead]]).sum(axis=1)
        if (count > room).any():
            raise ConflictError

    def cover(self) -> None:
        c = self.c
        if (self.sure & ~self.supply.any(axis=1) & ~self.zero).any():
            raise ConflictError
        self.sure &= ~self.zero
        supply = self._per_term(self.on)
        if ((supply == 0) & c.real).any():
            raise ConflictError
        lone = self.supply & (supply == 1)[self.fold] & self.on[:, None]
        if c.real.shape[1] and (lone.sum(axis=1) > 1).any():
            raise ConflictError
        rows = lone.any(axis=1)
        self.supply[rows] = lone[rows]
        self.sure |= rows

    def apply(self, changes: Changes) -> None:
        """Write the conclusions back: guards, operand domains, neededness."""
        c, candidate = self.c, self.candidate
        useless: BoolArray = ~np.logical_or.reduce(self.supply, axis=1) & ~self.zero
        for (_, entry, options), start, found in zip(self.live, self.starts, self.by_order, strict=False):
            span = slice(int(start), int(start) + len(entry.fold))
            sure, never = self.sure[span], self.on[span] & useless[span]
            forced = (sure & self.off[span]) | (never & self.off[span])
            if (never & ~self.off[span]).any():
                raise ConflictError
            if forced.any():
                rows = np.flatnonzero(forced)
                wanted = np.where(sure.reshape((-1,) + (1,) * (entry.guard.ndim - 1)), entry.guard, ~entry.guard)
                narrow_slots(candidate, changes, entry.slots, (options & wanted)[rows], rows)
            if sure.any():
                rows = np.flatnonzero(sure)
                self._narrow_factors(entry, rows, np.arange(len(rows)), rows, found, span, changes)
        if c.products.used_once.any():
            self._narrow_products(changes)

    def _narrow_factors(
        self,
        entry: StatementEntries,
        rows: IntArray,
        keys: IntArray,
        cells_rows: IntArray,
        found: list[tuple[tuple[int, ...], IntArray, BoolArray]],
        span: slice,
        changes: Changes,
    ) -> None:
        size, words = len(self.c.required.universe), self.candidate.domains.shape[1]
        position = np.full(len(entry.fold), -1)
        position[rows] = keys
        for factor, cells in enumerate(entry.factors):
            bits = np.zeros((len(rows), size), np.bool_)
            for order, live, supplies in found:
                kept = supplies & self.supply[span.start + live]
                row, term = np.nonzero(kept & (position[live] >= 0)[:, None])
                bits[position[live[row]], self.c.terms[entry.fold[live[row]], term, order[factor]]] = True
            mine = cells[cells_rows]
            narrow_cells(self.candidate, changes, self.c.group_of, mine, pack(bits, words))
            need_cells(self.candidate, changes, self.c.group_of, mine)

    def _narrow_products(self, changes: Changes) -> None:
        """A product that some fold must take holds one of the terms that its takers can still supply."""
        products, c = self.c.products, self.c
        size, words = len(c.required.universe), self.candidate.domains.shape[1]
        numbers = np.flatnonzero(products.used_once)
        for factor in range(products.cells.shape[1]):
            bits = np.zeros((len(products.used_once), size), np.bool_)
            for (_, entry, _), start, found in zip(self.live, self.starts, self.by_order, strict=False):
                for order, live, supplies in found:
                    row, term = np.nonzero(supplies & self.supply[int(start) + live])
                    number = self.of_row[int(start) + live[row]]
                    bits[number, c.terms[entry.fold[live[row]], term, order[factor]]] = True
            cells = products.cells[numbers, factor]
            narrow_cells(self.candidate, changes, c.group_of, cells, pack(bits[numbers], words))
            need_cells(self.candidate, changes, c.group_of, cells)


def _products(required: Requirements, fold: IntArray) -> Products:
    if not required.entries:
        return Products(fold, np.zeros((0, 1), np.int64), np.zeros(0, np.bool_), np.zeros(0, np.int64))
    table = np.concatenate([np.stack(e.factors, axis=1) for e in required.entries])
    cells, of_row = np.unique(table, axis=0, return_inverse=True)
    of_row = of_row.reshape(-1)
    component = _components(required.folds, fold, of_row, len(cells))
    used_once = np.zeros(len(cells), np.bool_)
    for number in np.unique(component):
        mine = component == number
        folds = np.unique(fold[mine[of_row]])
        terms = np.concatenate([required.terms[f][required.multiplicity[f] > 0] for f in folds])
        distinct = len(np.unique(np.sort(terms, axis=1), axis=0)) == len(terms)
        repeated = (required.multiplicity[folds] > 1).any()
        used_once[mine] = distinct and not repeated and len(terms) == int(mine.sum())
    return Products(of_row, cells, used_once, component)


def _components(folds: int, fold: IntArray, product: IntArray, products: int) -> IntArray:
    """[products] number of the connected component of folds and products (edges: contributions)."""
    label = np.arange(folds)
    mine = np.zeros(products, np.int64)
    while True:
        mine = np.full(products, folds)
        np.minimum.at(mine, product, label[fold])
        lowered = label.copy()
        np.minimum.at(lowered, fold, mine[product])
        if (lowered == label).all():
            return mine
        label = lowered
