"""The arrays of a running kernel: global ones, shared ones per block, register planes per thread.

Data of threads has shape [blocks, threads] (or 1 where blocks or threads agree), with the component axis of vectors last.
An element is named by its row-major number: an integer, or an array that broadcasts against [blocks, threads].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType
from warploom.ir.arithmetic import Arithmetic, Data
from warploom.ir.kernel.evaluate import Mask, Where, both
from warploom.ir.kernel.pending import Pending
from warploom.ir.kernel.races import GridStamps, Stamps

Element: TypeAlias = "int | NDArray[np.int64]"


def select(where: Where, then: Data, other: Data, dtype: DType) -> Data:
    """`then` in the threads of `where`, `other` elsewhere."""
    if where is None:
        return then
    return np.where(where[..., None] if dtype.lanes > 1 else where, then, other)


def zeros(shape: tuple[int, ...], dtype: DType, arithmetic: Arithmetic) -> Data:
    """Values 0, with the component axis."""
    full = shape if dtype.lanes == 1 else (*shape, dtype.lanes)
    return np.zeros(full, arithmetic.storage(dtype))


def spread(data: Data, shape: tuple[int, int], dtype: DType) -> Data:
    """`data` of every thread of `shape`."""
    return np.broadcast_to(data, shape if dtype.lanes == 1 else (*shape, dtype.lanes))


@dataclass(slots=True)
class Planes:
    """Per-thread array: one immutable plane of all threads per element, and where that is defined (None: everywhere)."""

    dtype: DType
    extents: tuple[int, ...]
    planes: list[Data]
    defined: list[Where]

    def read(self, element: Element, where: Where) -> tuple[Data, Where]:
        """The values, and the threads of `where` that read an undefined one (None: none)."""
        if isinstance(element, int):
            known = self.defined[element]
            return self.planes[element], None if known is None else both(where, ~known)
        low, high = int(element.min()), int(element.max())
        result, unknown = self.planes[low], np.zeros((1, 1), np.bool_)
        for k in range(low, high + 1):
            here = element == k
            result = result if k == low else select(here, self.planes[k], result, self.dtype)
            known = self.defined[k]
            if known is not None:
                unknown = unknown | (here & ~known)
        return result, both(where, unknown)

    def store(self, element: Element, value: Data, where: Where) -> None:
        """Writes in the threads of `where`."""
        if isinstance(element, int):
            self._store_plane(element, value, where)
            return
        for k in range(int(element.min()), int(element.max()) + 1):
            here = both(where, element == k)
            if here is not None and here.any():
                self._store_plane(k, value, here)

    def _store_plane(self, k: int, value: Data, where: Where) -> None:
        self.planes[k] = select(where, value, self.planes[k], self.dtype)
        known = self.defined[k]
        self.defined[k] = None if where is None or known is None else known | where


@dataclass(slots=True)
class SharedArray:
    """One copy per block."""

    dtype: DType
    extents: tuple[int, ...]
    data: Data
    """[blocks, elements]"""
    defined: Mask
    """[blocks, elements]"""
    stamps: Stamps | None
    pending: Pending | None
    """None where nothing is copied to asynchronously."""

    def _rows(self) -> NDArray[np.int64]:
        return np.arange(self.data.shape[0], dtype=np.int64)[:, None]

    def read(self, element: Element, where: Where) -> tuple[Data, Where]:
        rows = self._rows()
        return self.data[rows, element], both(where, ~self.defined[rows, element])

    def store(self, element: NDArray[np.int64], value: Data, where: Mask) -> None:
        """All arguments spread over [blocks, threads]."""
        rows = np.broadcast_to(self._rows(), where.shape)[where]
        columns = element[where]
        self.data[rows, columns] = value[where]
        self.defined[rows, columns] = True


@dataclass(slots=True)
class GridArray:
    """A kernel parameter, in global or constant space."""

    dtype: DType
    extents: tuple[int, ...]
    data: Data
    """[elements]"""
    is_constant: bool
    stamps: GridStamps | None
    """None where nothing can race: the kernel never stores to it, or races are not asked for."""

    def read(self, element: Element) -> Data:
        values = self.data[element]
        return values.reshape((1, 1, *values.shape)) if isinstance(element, int) else values

    def store(self, element: NDArray[np.int64], value: Data, where: Mask) -> None:
        """All arguments spread over [blocks, threads]."""
        self.data[element[where]] = value[where]
