"""Parts of the lowering of dataflow programs, each by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from warploom.synth.dataflow.lower import ZERO_CELL, Lowering


def test_cells_that_hold_another_cell_or_nothing() -> None:
    gather: Any = SimpleNamespace(source=np.array([[ZERO_CELL, 5], [5, 5], [0, 5], [3, 5]]), out=np.array([10, 11, 12, 13]))
    lowering: Any = SimpleNamespace(cells=100)
    found = Lowering._guarded(lowering, [gather])
    assert {cell: (row, other) for cell, (_, row, other) in found.items()} == {10: (0, 5), 11: (1, 5)}
