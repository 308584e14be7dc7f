"""A few accumulators and what they are computed from: a small network that refutes most wrong decisions cheaply.

Its constraints are rows of the whole network's constraints, so what they refute is refuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from warploom.synth.network.network import Slots
from warploom.synth.network.requirements import Requirements, StatementEntries
from warploom.synth.search.folds import FoldConstraint
from warploom.synth.search.propagation import Candidate, Constraint, ElementConstraint, slot_options

PARTS = 3
"""Connected sets of folds that a sample has: the first, the last and some between."""
WORTH_IT = 1 << 14
"""Contributions times terms; fewer are counted quickly enough as a whole."""


class Sample:
    """The accumulators of a sample; what they are computed from depends on the candidate."""

    def __init__(self, counting: FoldConstraint, elements: list[ElementConstraint]) -> None:
        self.counting = counting
        self.elements = elements
        self.read = np.unique(np.concatenate([f for e in counting.entries for f in e.factors]))

    def below(self, candidate: Candidate) -> list[Constraint]:
        """Constraints on what the accumulators may still read, in the order of the whole network's."""
        read = np.zeros(len(candidate.domains), np.bool_)
        read[self.read] = True
        found: list[Constraint] = [self.counting]
        for element in reversed(self.elements):
            rows = np.flatnonzero(read[element.out])
            if len(rows):
                part = element.restricted(rows)
                options = slot_options(candidate, part.slots, (len(rows),)).reshape(len(rows), -1)
                read[part.source[np.broadcast_to(options, part.source.shape)]] = True
                found.append(part)
        return found[::-1]


def sampled(required: Requirements, folds: FoldConstraint, constraints: Sequence[Constraint]) -> Sample | None:
    """None where it would not be much smaller than the whole, or cannot be taken."""
    parts = np.unique(folds.products.component)
    others = [c for c in constraints if c is not folds]
    elements = [c for c in others if isinstance(c, ElementConstraint)]
    if len(parts) < 2 * PARTS or folds.rows * folds.real.shape[1] < WORTH_IT or len(elements) < len(others):
        return None
    chosen = parts[np.linspace(0, len(parts) - 1, PARTS).round().astype(np.int64)]
    rows = np.isin(folds.products.component[folds.products.of_row], chosen)
    kept = np.unique(folds.fold[rows])
    number = np.full(required.folds, -1)
    number[kept] = np.arange(len(kept))
    entries: list[StatementEntries] = []
    orders: list[list[tuple[int, ...]]] = []
    for entry, mine, start in zip(folds.entries, folds.orders, folds.starts, strict=False):
        here = np.flatnonzero(rows[start : start + len(entry.fold)])
        if len(here):
            slots = Slots(entry.slots.holes, tuple(p[here] for p in entry.slots.points))
            factors = tuple(f[here] for f in entry.factors)
            entries.append(StatementEntries(entry.statement, number[entry.fold[here]], factors, slots, entry.guard[here]))
            orders.append(mine)
    few = replace(
        required,
        folds=len(kept),
        terms=required.terms[kept],
        multiplicity=required.multiplicity[kept],
        entries=tuple(entries),
    )
    counting = FoldConstraint(few, folds.group_of)
    counting.orders = orders
    return Sample(counting, elements)
