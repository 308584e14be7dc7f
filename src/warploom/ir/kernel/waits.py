"""A run that notes, in order, what the blocks may have to wait for: data from global memory, asynchronous copies, barriers.

Goals: events from which a model of time finds what passes while data is on its way. Non-goals: times, and which instruction of a
warp waits; that a block cannot pass a barrier before it has stored what it stores before, and the like, is the model's to say.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.counts import Counts
from warploom.ir.kernel.evaluate import Where
from warploom.ir.kernel.instructions import IssuingRun
from warploom.ir.kernel.memory import Element
from warploom.ir.kernel.nodes import (
    Accumulate,
    Accumulated,
    CommitCopies,
    IndexExpr,
    Read,
    SetValue,
    Stmt,
    Store,
    Sync,
    ValueExpr,
    ValueVar,
    WaitCopies,
)
from warploom.ir.kernel.running import Value
from warploom.machines import SECTOR_BYTES

NOTHING = -1
"""Number of no event."""


Happening: TypeAlias = Literal["load", "copy", "store", "commit", "wait", "barrier", "end"]
"""`load` and `copy`: data from global memory begins to move; `store`: to shared or global memory, but by no copy."""


@dataclass(frozen=True, eq=False, slots=True)
class Event:
    """One thing that some blocks of a run do."""

    what: Happening
    blocks: NDArray[np.bool_]
    """By number: whether the block does it."""
    counts: Counts
    """All that the blocks have done before."""
    number: int = NOTHING
    """`store`: the latest load whose data it needs, as its place among the events; `wait`: the groups that may go on."""
    is_new: NDArray[np.bool_] | None = None
    """Loads and copies, by block: whether data is moved that no block has asked for before, and no other asks for here."""


class NotingRun(IssuingRun):
    """Executes as any run does, and keeps the events."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.events: list[Event] = []
        self._needed = NOTHING
        """The latest load whose data the statement uses so far."""
        self._behind: dict[tuple[str, int], int] = {}
        """The latest load behind a register, a variable or an accumulator."""
        self._latest = NOTHING
        """The load made last."""
        self._element: Element = 0
        """That which was located last."""
        self._asked: dict[str, NDArray[np.bool_]] = {}
        """Sectors of arrays in global memory that some block has asked for."""

    def run(self) -> None:
        super().run()
        self._note("end", None)

    def _note(self, what: Happening, where: Where, number: int = NOTHING, is_new: NDArray[np.bool_] | None = None) -> None:
        blocks = np.logical_or.reduce(np.broadcast_to(True if where is None else where, self.shape), axis=1)
        self.events.append(Event(what, blocks, copy(self.counts), number, is_new))

    def _uses(self, name: str, element: Element = 0) -> None:
        """The data of a register is used: of one of several, that which was there first."""
        if isinstance(element, int):
            behind = self._behind.get((name, element), NOTHING)
        else:
            behind = min(self._behind.get((name, k), NOTHING) for k in range(int(element.min()), int(element.max()) + 1))
        self._needed = max(self._needed, behind)

    # ------------------------------------------------------------ accesses

    def _sectors(self, node: Read | Store, element: Element, where: Where, size_bytes: int) -> int:
        if isinstance(node, Store):
            self._note("store", where, self._needed)
        else:
            if self.together:  # the other trips of a vector loop take part of what the first one loads
                self._note("copy" if self._is_copy else "load", where, is_new=self._new(node.array, element, where, size_bytes))
                self._latest = len(self.events) - 1
            self._needed = self._latest
        return super()._sectors(node, element, where, size_bytes)

    def _new(self, name: str, element: Element, where: Where, size_bytes: int) -> NDArray[np.bool_]:
        elements, active = self._spread(element, where)
        count = math.prod(self.memory[name].extents) * size_bytes // SECTOR_BYTES + 1
        asked = self._asked.setdefault(name, np.zeros(count, np.bool_))
        rows = np.broadcast_to(np.arange(self.blocks)[:, None], self.shape)[active]
        pairs = np.unique(rows * count + elements[active] * size_bytes // SECTOR_BYTES)
        block, sector = np.divmod(pairs, count)
        _, place, askers = np.unique(sector, return_inverse=True, return_counts=True)
        found = np.zeros(self.blocks, np.bool_)
        found[block[~asked[sector] & (askers[place] == 1)]] = True
        asked[sector] = True
        return found

    def _wavefronts(self, node: Read | Store, element: Element, where: Where, size_bytes: int) -> int:
        if isinstance(node, Store) and not self._is_copy:
            self._note("store", where, self._needed)
        return super()._wavefronts(node, element, where, size_bytes)

    def _registers(self, node: Read | Store, element: Element, where: Where) -> None:
        if isinstance(node, Read):
            self._uses(node.array, element)
        elif isinstance(element, int):
            self._behind[node.array, element] = self._needed
        super()._registers(node, element, where)

    def _locate(self, name: str, extents: tuple[int, ...], index: tuple[IndexExpr, ...], where: Where) -> tuple[Element, Where]:
        found = super()._locate(name, extents, index, where)
        self._element = found[0]
        return found

    # ------------------------------------------------------------ values and statements

    def value(self, expr: ValueExpr, where: Where) -> Value:
        found = super().value(expr, where)
        if isinstance(expr, ValueVar):
            self._uses(expr.name)
        elif isinstance(expr, Accumulated):
            self._uses(expr.accumulator, self._element)
        return found

    def _stmt(self, stmt: Stmt, where: Where) -> None:
        self._needed = NOTHING
        match stmt:
            case Sync():
                self._note("barrier", where)
            case CommitCopies():
                self._note("commit", where)
            case WaitCopies(left):
                self._note("wait", where, left)
            case _:
                pass
        super()._stmt(stmt, where)
        match stmt:
            case SetValue(name):
                self._behind[name, 0] = self._needed
            case Accumulate(name) if isinstance(self._element, int):
                self._behind[name, self._element] = max(self._behind.get((name, self._element), NOTHING), self._needed)
            case _:
                pass
