"""Backward through gathers whose sources are all needed: a cell holds a value that one of its readers may want.

Source: the backward direction of Swizzleflow's copy counts (section 4.1), exact where no copy can be spared.
"""

from __future__ import annotations

import numpy as np

from warploom.synth.network.network import IntArray
from warploom.synth.search.propagation import Candidate, Changes, ElementConstraint, narrow_cells, slot_options


class UsefulConstraint:
    """Sees that no value is held in vain: as many different values are wanted as there are cells in `cells`, and all of them
    pass through."""

    settled: frozenset[int] = frozenset()

    def __init__(self, reader: ElementConstraint, cells: IntArray, group_of: IntArray) -> None:
        self.reader = reader
        self.holes = reader.holes
        self.cells = cells
        self.group_of = group_of
        self.groups = frozenset({reader.out_group, *np.unique(group_of[cells]).tolist()})
        place = np.full(int(group_of.shape[0]), -1)
        place[cells] = np.arange(len(cells))
        at = place[reader.source.ravel()]
        order = np.argsort(at, kind="stable")
        self.order = order[at[order] >= 0]
        self.found, self.starts = np.unique(at[self.order], return_index=True)

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        reader = self.reader
        rows = len(reader.out)
        options = slot_options(candidate, reader.slots, (rows,)).reshape(rows, -1)
        wanted = np.where(options[:, :, None], candidate.domains[reader.out][:, None, :], np.uint64(0))
        wanted = wanted.reshape(-1, wanted.shape[-1])[self.order]
        keep = np.zeros((len(self.cells), wanted.shape[1]), np.uint64)
        keep[self.found] = np.bitwise_or.reduceat(wanted, self.starts, axis=0)
        narrow_cells(candidate, changes, self.group_of, self.cells, keep)
