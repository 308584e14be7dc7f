"""Exact race detection, element by element: who last wrote and read it since the last barrier.

Two accesses to one element race if different threads make them, at least one is a store, and no barrier of their block lies
between; threads of one warp are not ordered, and blocks never are. Two readers are kept per element: enough, since a
writer differs from at least one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Found: TypeAlias = Callable[[int, int, int, int], None]
"""Takes element, the earlier access's site, its thread, and the later one's thread."""

_NONE = -1


class Stamps:
    """The accesses to the elements of one array since the last barrier, all blocks together."""

    def __init__(self, elements: int) -> None:
        self.writer, self.write_site = np.full(elements, _NONE, np.int64), np.zeros(elements, np.int32)
        self.reader, self.read_site = np.full(elements, _NONE, np.int64), np.zeros(elements, np.int32)
        self.second, self.second_site = np.full(elements, _NONE, np.int64), np.zeros(elements, np.int32)
        self._dirty = False

    def forget(self, elements: Any = slice(None)) -> None:
        """A barrier has been passed by the owners of `elements`."""
        if self._dirty:
            self.writer[elements] = self.reader[elements] = self.second[elements] = _NONE
            self._dirty = not isinstance(elements, slice)

    def read(self, element: Ints, thread: Ints, site: int, found: Found) -> None:
        """Threads (ids that start at 0) read one element each."""
        self._dirty = True
        _compare(self.writer, self.write_site, element, thread, found)
        fresh = self.reader[element] == _NONE
        self.reader[element[fresh]], self.read_site[element[fresh]] = thread[fresh], site
        other = self.reader[element] != thread
        self.second[element[other]], self.second_site[element[other]] = thread[other], site

    def write(self, element: Ints, thread: Ints, site: int, found: Found) -> None:
        """Threads write one element each, in no order."""
        self._dirty = True
        _compare(self.writer, self.write_site, element, thread, found)
        _compare(self.reader, self.read_site, element, thread, found)
        _compare(self.second, self.second_site, element, thread, found)
        self.writer[element], self.write_site[element] = thread, site
        _compare(self.writer, self.write_site, element, thread, found)  # two of these threads write one element


def _compare(owner: Ints, site: NDArray[np.int32], element: Ints, thread: Ints, found: Found) -> None:
    before = owner[element]
    bad = (before != _NONE) & (before != thread)
    if bad.any():
        k = int(np.argmax(bad))
        found(int(element[k]), int(site[element[k]]), int(before[k]), int(thread[k]))


class GridStamps:
    """Stamps of a global array: barriers order the threads of a block, nothing orders two blocks."""

    def __init__(self, elements: int, threads: int) -> None:
        self.threads = threads
        self.blocks = Stamps(elements)
        """Accesses by block, never forgotten."""
        self.inside = Stamps(elements)
        """Accesses by thread, forgotten at the owner's barriers."""

    def read(self, element: Ints, thread: Ints, site: int, found: Found, found_blocks: Found) -> None:
        self.inside.read(element, thread, site, found)
        self.blocks.read(element, thread // self.threads, site, found_blocks)

    def write(self, element: Ints, thread: Ints, site: int, found: Found, found_blocks: Found) -> None:
        self.inside.write(element, thread, site, found)
        self.blocks.write(element, thread // self.threads, site, found_blocks)

    def barrier(self, block_passes: NDArray[np.bool_] | None, first_block: int) -> None:
        """The blocks from `first_block` on that pass a barrier (None: all)."""
        if block_passes is None:
            self.inside.forget()
            return
        for owner in (self.inside.writer, self.inside.reader, self.inside.second):
            block = owner // self.threads - first_block
            mine = (owner != _NONE) & (block >= 0) & (block < len(block_passes))
            mine[mine] = block_passes[block[mine]]
            owner[mine] = _NONE
