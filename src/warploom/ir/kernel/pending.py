"""Asynchronous copies to one shared array that go on: which thread's copy still writes an element, and of which of its groups.

A copy is a store of its thread where it begins, and once more where the thread waits for its group: other threads need a barrier
after that. In between nobody may touch the element, the thread itself neither. Source: CUDA C++ Programming Guide, pipeline
primitives interface.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]

_NONE = -1


class Pending:
    """Copies to the elements [blocks, elements] of one array."""

    def __init__(self, blocks: int, elements: int) -> None:
        self._group = np.full((blocks, elements), _NONE, np.int64)
        self._thread = np.zeros((blocks, elements), np.int64)
        self._site = np.zeros((blocks, elements), np.int64)

    def begin(self, block: Ints, element: Ints, thread: Ints, group: Ints, site: int) -> None:
        """Threads begin one copy each, of the group with that number."""
        self._group[block, element], self._thread[block, element], self._site[block, element] = group, thread, site

    def goes_on(self, block: Ints, element: Ints) -> NDArray[np.bool_]:
        """Whether a copy to these elements goes on."""
        return self._group[block, element] != _NONE

    def complete(self, below: Ints) -> list[tuple[int, Ints, Ints, Ints]]:
        """Ends the copies of groups numbered below that of their block: by site, their blocks, elements and threads."""
        block, element = np.nonzero((self._group != _NONE) & (self._group < below[:, None]))
        thread, site = self._thread[block, element], self._site[block, element]
        self._group[block, element] = _NONE
        return [(int(s), block[site == s], element[site == s], thread[site == s]) for s in np.unique(site)]
