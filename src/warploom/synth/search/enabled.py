"""Accumulate statements that must stay: lower bounds on the objective and the sets of statements worth trying.

The objective counts accumulate statements whose guard is not false everywhere (paper section 4.3). Where every product of
operands must be taken by exactly one accumulator, one loop iteration of one lane admits few *patterns* (sets of statements
that fire together). A set of statements can work only if, in every lane, patterns inside it feed every accumulator that needs
terms. The patterns are computed with every hole free, so the bound holds in every search space. Where the products form grids
too large for listing patterns, the bound is how little the patterns of two kinds of iterations can differ (`grids`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from warploom.synth.network.network import BoolArray, Network
from warploom.synth.search.folds import FoldConstraint
from warploom.synth.search.grids import ProductGrids, closest, product_grids
from warploom.synth.search.propagation import Candidate, any_option, slot_options, unpack

MAX_PATTERNS = 64
MAX_UNIONS = 1 << 16
MAX_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class EnabledSets:
    """Sets of statements that need not fire; bit n = statement n."""

    sets: tuple[int, ...]
    """Sets worth trying, smallest first."""
    bound: int
    """Every answer has at least as many statements of the kind."""
    is_exhaustive: bool
    """In every answer the statements that add to a required accumulator, without the certain ones, are one of `sets`."""


def enabled_sets(network: Network, folds: FoldConstraint, root: Candidate) -> EnabledSets | None:
    """None when nothing is known up front (products that may go unused or cancel, or too many patterns to enumerate).

    `root`: propagated with every hole free.
    """
    certain = sum(1 << n for n, s in enumerate(network.statements) if s.is_certain)
    if folds.is_silent or not folds.products.used_once.all() or all(s.is_certain for s in network.statements):
        return None
    on = _open_rows(folds, root)
    grids = None if certain else product_grids(folds, on)
    if grids is not None:
        return _of_grids(grids)
    return _of_patterns(folds, root, on, certain)


def _open_rows(folds: FoldConstraint, root: Candidate) -> BoolArray:
    """[contributions]: whether they can be made at all."""
    rows = [any_option(slot_options(root, e.slots, (len(e.fold),)) & e.guard) for e in folds.entries]
    return np.concatenate(rows) if rows else np.zeros(0, np.bool_)


def _of_grids(grids: ProductGrids) -> EnabledSets | None:
    """Every block is taken in some iteration, in one of its orders."""
    if grids.orders * len(grids.blocks) <= MAX_PATTERNS:
        kinds = [grids.patterns(block) for block in grids.blocks]
        unions = _unions({pattern for found in kinds for pattern in found})
        if unions is not None:
            working = [u for u in unions if all(any(p & ~u == 0 for p in found) for found in kinds)]
            return _exhaustive(working)
    # Operands are interchangeable, so the first block is taken in the order in which it is written down, without loss.
    straight = tuple(range(grids.statements.shape[0])), tuple(range(grids.statements.shape[1]))
    bound = len(straight[0]) * len(straight[1])
    sets: set[int] = set()
    for first, second in combinations(grids.blocks, 2):
        alignment = closest(first, second)
        if alignment is None:
            continue
        bound = max(bound, len(straight[0]) * len(straight[1]) + alignment.different)
        if len(grids.blocks) == 2:
            patterns = [(grids.pattern(first, *straight), grids.pattern(second, *order)) for order in alignment.orders]
            sets |= {a | b for a, b in patterns if a is not None and b is not None}
    return EnabledSets(tuple(sorted(sets)), bound, is_exhaustive=False)


def _of_patterns(folds: FoldConstraint, root: Candidate, on: BoolArray, certain: int) -> EnabledSets | None:
    patterns = _Patterns(folds, root, on)
    found: set[tuple[frozenset[int], frozenset[frozenset[int]]]] = set()
    for component in np.unique(folds.products.component):
        of_component = patterns.of_component(int(component))
        if of_component is None:
            return None
        found.add(of_component)
    unions = _unions({kind for kinds, _ in found for kind in kinds})
    if unions is None or not found:
        return None
    working = {u & ~certain for u in unions if all(_feeds_all(u, kinds, feeds) for kinds, feeds in found)}
    return _exhaustive(working)


def _exhaustive(sets: Collection[int]) -> EnabledSets:
    smallest_first = tuple(sorted(sets, key=lambda u: (u.bit_count(), u)))
    return EnabledSets(smallest_first, smallest_first[0].bit_count() if sets else 0, is_exhaustive=True)


def _unions(kinds: set[int]) -> set[int] | None:
    """Every union of patterns; None for too many."""
    unions = {0}
    for kind in sorted(kinds):
        unions |= {u | kind for u in unions}
        if len(unions) > MAX_UNIONS:
            return None
    return unions


def _feeds_all(union: int, kinds: frozenset[int], feeds: frozenset[frozenset[int]]) -> bool:
    """Whether patterns inside `union` feed every fold of a component."""
    usable = [p for p in kinds if p & ~union == 0]
    return all(any(p >> s & 1 for p in usable for s in feeders) for feeders in feeds)


class _Patterns:
    def __init__(self, folds: FoldConstraint, root: Candidate, on: BoolArray) -> None:
        self.folds = folds
        self.values: list[list[int]] = [
            np.flatnonzero(row).tolist() for row in unpack(root.domains, len(folds.required.universe))
        ]
        self.rows_of_product: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for n, start in enumerate(folds.starts[:-1].tolist()):
            for row in np.flatnonzero(on[start : folds.starts[n + 1]]).tolist():
                self.rows_of_product[int(folds.products.of_row[start + row])].append((n, row))
        self.domains = root.domains
        self.known: dict[object, frozenset[int] | None] = {}
        self.partners: dict[tuple[int, int, int], list[tuple[int, ...]]] = {}

    def of_component(self, component: int) -> tuple[frozenset[int], frozenset[frozenset[int]]] | None:
        """(patterns, statements that feed each fold) of one connected set of folds."""
        products = np.flatnonzero(self.folds.products.component == component)
        feeders: dict[int, set[int]] = defaultdict(set)
        kinds: set[int] = set()
        for product in products.tolist():
            for n, row in self.rows_of_product[product]:
                entry = self.folds.entries[n]
                feeders[int(entry.fold[row])].add(entry.statement)
        for cluster in self._clusters(products.tolist()):
            found = self._of_cluster(cluster)
            if found is None:
                return None
            kinds |= found
            if len(kinds) > MAX_PATTERNS:
                return None
        return frozenset(kinds), frozenset(frozenset(s) for f, s in feeders.items() if self.folds.need[f])

    def _clusters(self, products: list[int]) -> list[list[int]]:
        """Products connected through shared operand cells, in an order where each shares a cell with an earlier one."""
        by_cell: dict[int, list[int]] = defaultdict(list)
        for product in products:
            for cell in self.folds.products.cells[product].tolist():
                by_cell[cell].append(product)
        left = set(products)
        clusters: list[list[int]] = []
        for first in products:
            if first not in left:
                continue
            left.discard(first)
            cluster = [first]
            for product in cluster:
                for cell in self.folds.products.cells[product].tolist():
                    for other in by_cell[cell]:
                        if other in left:
                            left.discard(other)
                            cluster.append(other)
            clusters.append(cluster)
        return clusters

    def _of_cluster(self, cluster: list[int]) -> frozenset[int] | None:
        cells, entries = self.folds.products.cells, self.folds.entries
        names: dict[int, int] = {}
        shape = tuple(
            (
                tuple(names.setdefault(c, len(names)) for c in cells[p].tolist()),
                tuple((entries[n].statement, int(entries[n].fold[row])) for n, row in self.rows_of_product[p]),
            )
            for p in cluster
        )
        key = (shape, tuple(self.domains[c].tobytes() for c in names))
        if key not in self.known:
            self.known[key] = self._enumerate(cluster)
        return self.known[key]

    def _enumerate(self, cluster: list[int]) -> frozenset[int] | None:
        held: dict[int, int] = {}
        found: set[int] = set()
        steps = 0
        cells = self.folds.products.cells
        possible = {int(c): set(self.values[int(c)]) for p in cluster for c in cells[p]}

        def visit(position: int, pattern: int) -> bool:
            nonlocal steps
            steps += 1
            if steps > MAX_STEPS:
                return False
            if position == len(cluster):
                found.add(pattern)
                return True
            product = cluster[position]
            operands = cells[product].tolist()
            for n, row in self.rows_of_product[product]:
                entry = self.folds.entries[n]
                for term in self._terms(int(entry.fold[row]), tuple(held.get(c, -1) for c in operands)):
                    for order in self.folds.orders[n]:
                        values = [term[p] for p in order]
                        if not all(held.get(c, v) == v and v in possible[c] for c, v in zip(operands, values, strict=True)):
                            continue
                        if len(set(zip(operands, values, strict=True))) > len(set(operands)):
                            continue  # one cell cannot hold two values
                        fresh = [c for c in operands if c not in held]
                        held.update(zip(operands, values, strict=True))
                        alive = visit(position + 1, pattern | 1 << entry.statement)
                        for cell in fresh:
                            held.pop(cell, None)
                        if not alive:
                            return False
            return True

        return frozenset(found) if visit(0, 0) else None

    def _terms(self, fold: int, held: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Required terms of a fold that contain the first value already held (all of them if none is)."""
        anchor = next((v for v in held if v >= 0), -1)
        key = (fold, anchor, 0)
        if key not in self.partners:
            real = self.folds.required.terms[fold][self.folds.real[fold]]
            chosen = real if anchor < 0 else real[(real == anchor).any(axis=1)]
            self.partners[key] = [tuple(t) for t in chosen.tolist()]
        return self.partners[key]
