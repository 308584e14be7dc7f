"""A run that also counts what warps issue: data operations, selects, requests to global memory, and sectors asked for again.

Counts are of the kernel as it is written, and no more than a compiler must make of it: index arithmetic, copies between registers
and branches are left out, and so are loops. An operation is issued once for a warp in which any lane takes part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, scalar_of, u32
from warploom.ir.kernel.counts import by_warps
from warploom.ir.kernel.evaluate import Mask, Where
from warploom.ir.kernel.memory import Element
from warploom.ir.kernel.nodes import Accumulate, Arith, Read, Stmt, Store, ValueExpr
from warploom.ir.kernel.running import KernelRun, Value
from warploom.machines import SECTOR_BYTES

_FUSED = {("+", "*"), ("^", "&"), ("|", "&"), ("^", "|"), ("&", "|"), ("&", "^"), ("|", "^")}
"""(operation of a sum, operation inside) that one instruction computes: a multiply-add, or any function of three words' bits."""

_MOST_SECTORS = 1 << 40
"""More than any array has."""


class IssuingRun(KernelRun):
    """Executes as any run does; the counts of instructions go to the findings' counts."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._loaded: dict[str, list[NDArray[np.int64]]] = {}
        """By array: (block, sector) of loads, as one number."""
        self._is_copy = False
        self._last: tuple[int, DType] = (0, u32)
        """Warps that issued the operation counted last, and the type of its data."""
        self._mask: tuple[Where, int] = (None, 0)
        """The threads that were counted last, with their warps: most operations are executed by the threads of the one before."""

    def run(self) -> None:
        super().run()
        for places in self._loaded.values():
            every = np.concatenate(places)
            self.counts.repeated_sectors += len(every) - len(np.unique(every))

    def _warps(self, where: Where) -> int:
        """Warps with an active thread."""
        warp = self.kernel.warp_size
        if where is None:
            return self.blocks * -(-self.threads // warp)
        if where is not self._mask[0]:
            rows = np.broadcast_to(where, (where.shape[0], self.threads))
            count = int(np.count_nonzero(by_warps(rows, warp, False).any(axis=1))) * (self.blocks // len(rows))
            self._mask = where, count
        return self._mask[1]

    def _operate(self, where: Where, dtype: DType, times: int = 1) -> None:
        super()._operate(where, dtype, times)
        self._issue(self._warps(where), dtype, times)

    def _issue(self, warps: int, dtype: DType, times: int) -> None:
        self._last = warps, dtype
        if scalar_of(dtype).is_float:
            self.counts.float_operations += warps * times
        else:
            self.counts.integer_operations += warps * times

    def _stmt(self, stmt: Stmt, where: Where) -> None:
        self._is_copy = isinstance(stmt, Store) and stmt.is_async
        super()._stmt(stmt, where)

    def _accumulate(self, node: Accumulate, where: Where) -> None:
        done = self.counts.accumulates
        super()._accumulate(node, where)
        is_fused = isinstance(node.value, Arith) and (self.accumulators[node.accumulator][1].op, node.value.op) in _FUSED
        if is_fused and self.counts.accumulates > done:
            self._issue(*self._last, -1)

    def _choose(self, test: bool | Mask, then: ValueExpr, other: ValueExpr, where: Where) -> Value:
        if isinstance(test, np.ndarray) and test.shape[1] > 1:
            self.counts.selects += self._warps(where)
        return super()._choose(test, then, other, where)

    # ------------------------------------------------------------ accesses

    def _sectors(self, node: Read | Store, element: Element, where: Where, size_bytes: int) -> int:
        found = super()._sectors(node, element, where, size_bytes)
        if not self.together:  # the other trips of a vector loop are part of the first one's request
            return found
        self.counts.global_requests += self._warps(where)
        if isinstance(node, Read) and not self._is_copy:
            self._loaded.setdefault(node.array, []).append(self._places(element, where, size_bytes))
        return found

    def _places(self, element: Element, where: Where, size_bytes: int) -> NDArray[np.int64]:
        """(block, sector) of every sector that each warp's request touches."""
        elements, active = self._spread(element, where)
        sectors = elements * size_bytes // SECTOR_BYTES
        warps = np.arange(self.threads) // self.kernel.warp_size + np.arange(self.blocks)[:, None] * self.threads
        warp, sector = np.divmod(np.unique(warps[active] * _MOST_SECTORS + sectors[active]), _MOST_SECTORS)
        return warp // self.threads * _MOST_SECTORS + sector

    def _registers(self, node: Read | Store, element: Element, where: Where) -> None:
        if isinstance(node, Read) and isinstance(element, np.ndarray) and element.shape[1] > 1:
            different = len(np.unique(element))
            self.counts.selects += self._warps(where) * (different - 1).bit_length()
        super()._registers(node, element, where)
