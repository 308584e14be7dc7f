"""Reachability of each location by itself: which values may arrive there, and whether the goal's is among them.

Weaker than `synth.search.propagation` on purpose: it is what the other ideas are measured against.
Source: Swizzleflow, section 3.1, algorithm 2 (`VIABLE_SCALAR`).
"""

from __future__ import annotations

import numpy as np

from warploom.synth.network.network import Elements
from warploom.synth.search.folds import FoldConstraint
from warploom.synth.search.propagation import Candidate, Changes, ConflictError, ElementConstraint, any_bits, slot_options


class ForwardElements(ElementConstraint):
    """An output may hold what some source that its hole may choose holds; holes and sources learn nothing."""

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        options = slot_options(candidate, self.slots, (len(self.out),)).reshape(len(self.out), -1)
        row, option = np.nonzero(options)
        before = candidate.domains[self.out]
        reachable = np.zeros_like(before)
        found, starts = np.unique(row, return_index=True)
        reachable[found] = np.bitwise_or.reduceat(candidate.domains[self.source[row, option]], starts, axis=0)
        after = before & reachable
        if (candidate.needed[self.out] & ~any_bits(after)).any():
            raise ConflictError
        if (after != before).any():
            candidate.domains[self.out] = after
            changes.groups.add(self.out_group)


def forward(constraint: ElementConstraint) -> ForwardElements:
    """The same gathers."""
    source = constraint.source.reshape(len(constraint.out), *constraint.shape)
    return ForwardElements(Elements(constraint.out, constraint.slots, source), constraint.group_of)


class CheckedFolds:
    """Folds with a required result refute a candidate, and tell nobody else."""

    settled: frozenset[int] = frozenset()

    def __init__(self, folds: FoldConstraint) -> None:
        self.folds = folds
        self.holes = folds.holes
        self.groups = folds.groups

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        self.folds.narrow(candidate.copy(), Changes(set(), set()))
