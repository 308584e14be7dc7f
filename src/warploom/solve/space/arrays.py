"""Typed arrays out of lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warploom.solve.space.engine import Ints, Masks
from warploom.solve.space.nodes import MAX_VALUES

WIDTH = 4
"""Quantified objects of a form."""


def ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def grid(rows: Sequence[Sequence[int]], width: int = WIDTH) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def masks(values: Sequence[int]) -> Masks:
    full = (1 << MAX_VALUES) - 1
    return np.array([value & full for value in values], dtype=np.uint64)
