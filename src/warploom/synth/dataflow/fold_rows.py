"""Constraints between a fold's result and its elements where the goal does not yet fix the result.

Source: Swizzleflow, section 4, where any element may hold any part of a result; here small folds are matched element by element.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from warploom.synth.dataflow.lower import FoldRows
from warploom.synth.dataflow.numbers import ZERO_NUMBER, ValueNumbers
from warploom.synth.network.network import BoolArray, IntArray
from warploom.synth.search.propagation import Candidate, Changes, narrow_cells, need_cells, pack, unpack

MATCHED = 3
"""Folds of more elements are only checked for membership."""


class FoldRowsConstraint:
    """out[row] = the multiset of what elements[row] hold, zeros dropped."""

    holes: tuple[int, ...] = ()

    def __init__(self, rows: FoldRows, numbers: ValueNumbers, group_of: IntArray, needs_elements: bool = True) -> None:
        """`needs_elements`: what is wanted of a result is wanted of the elements."""
        self.rows = rows
        self.needs_elements = needs_elements
        self.numbers = numbers
        self.group_of = group_of
        of_op = np.array([o == rows.op for o in numbers.operators], np.bool_)
        count = (numbers.members >= 0).sum(axis=1)
        fits = np.flatnonzero(of_op & (count <= rows.elements.shape[1])) if len(of_op) else np.zeros(0, np.int64)
        self.composites = numbers.composites[fits]
        self.members = numbers.members[fits]
        self.out_group = int(group_of[rows.out[0]])
        self.groups = frozenset(np.unique(group_of[rows.elements]).tolist()) | {self.out_group}
        self.settled: frozenset[int] = frozenset()
        self.size = len(numbers)
        n = rows.elements.shape[1]
        self.orders = list(permutations(range(n))) if n <= MATCHED else []
        padded = np.full((len(fits), n), ZERO_NUMBER, np.int64)
        width = min(n, self.members.shape[1])
        padded[:, :width] = np.where(self.members[:, :width] >= 0, self.members[:, :width], ZERO_NUMBER)
        self.padded = padded
        """[composites, n] what the elements hold in some order."""

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        out, elements = self.rows.out, self.rows.elements
        words = candidate.domains.shape[1]
        mine = unpack(candidate.domains[out], self.size)
        held = unpack(candidate.domains[elements.ravel()], self.size).reshape(*elements.shape, self.size)
        needed = candidate.needed[out]
        wanted: BoolArray = mine[:, self.composites]
        possible, used = self._matched(held, wanted) if self.orders else self._contained(held, wanted)
        kept = np.zeros_like(mine)
        kept[:, self.composites] = possible
        empty: BoolArray = np.logical_and.reduce(held[:, :, ZERO_NUMBER], axis=1)
        kept[:, ZERO_NUMBER] = empty
        known: BoolArray = np.logical_and.reduce(np.count_nonzero(held, axis=2) == 1, axis=1)
        kept[:, -1] = ~(known & (empty | np.logical_or.reduce(possible, axis=1)))
        narrow_cells(candidate, changes, self.group_of, out, pack(kept & mine, words))
        rows = np.flatnonzero(needed)
        if not len(rows) or not self.needs_elements:
            return
        # The empty fold asks for zeros everywhere.
        may_be_empty = mine[rows, ZERO_NUMBER] & empty[rows]
        used = used[rows]
        used[:, :, ZERO_NUMBER] |= may_be_empty[:, None]
        cells = elements[rows].ravel()
        narrow_cells(candidate, changes, self.group_of, cells, pack(used.reshape(-1, self.size), words))
        need_cells(candidate, changes, self.group_of, cells)

    def _matched(self, held: BoolArray, wanted: BoolArray) -> tuple[BoolArray, BoolArray]:
        """([rows, composites] possible, [rows, elements, values] used by a possible one): every order is tried."""
        possible = np.zeros_like(wanted)
        used = np.zeros_like(held)
        row, composite = np.nonzero(wanted)
        parts = self.padded[composite]
        for order in self.orders:
            fits = np.ones(len(row), np.bool_)
            for element, place in enumerate(order):
                fits &= held[row, element, parts[:, place]]
            found = np.flatnonzero(fits)
            possible[row[found], composite[found]] = True
            for element, place in enumerate(order):
                used[row[found], element, parts[found, place]] = True
        return possible, used

    def _count(self, held: BoolArray, possible: BoolArray) -> None:
        """Decides by counting: where every element is known, the result is exactly what they make."""
        known = np.flatnonzero((np.count_nonzero(held, axis=2) == 1).all(axis=1))
        values = np.sort(held[known].argmax(axis=2), axis=1)
        for row, content in zip(known, values, strict=True):
            content = content[content != ZERO_NUMBER]
            exact = np.full(self.members.shape[1], -1)
            if len(content) <= len(exact):
                exact[: len(content)] = content
                possible[row] &= (self.members == exact).all(axis=1)
            else:
                possible[row] = False

    def _contained(self, held: BoolArray, wanted: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Like `_matched`, but every part must merely be in some element, and every element hold a part or 0."""
        row, composite = np.nonzero(wanted)
        parts = np.zeros((len(self.composites), self.size), np.bool_)
        at, place = np.nonzero(self.members >= 0)
        parts[at, self.members[at, place]] = True
        somewhere: BoolArray = np.logical_or.reduce(held, axis=1)
        fits: BoolArray = ~np.logical_or.reduce(parts[composite] & ~somewhere[row], axis=1)
        parts[:, ZERO_NUMBER] = True
        held_parts: BoolArray = np.logical_or.reduce(held[row] & parts[composite][:, None, :], axis=2)
        fits &= np.logical_and.reduce(held_parts, axis=1)
        possible = np.zeros_like(wanted)
        possible[row[fits], composite[fits]] = True
        self._count(held, possible)
        union = np.zeros((len(held), self.size), np.bool_)
        np.logical_or.at(union, row[fits], parts[composite[fits]])
        return possible, held & union[:, None, :]
