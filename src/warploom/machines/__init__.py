"""Machines as data: one row for each GPU architecture, boards, occupancy, and one count of the wavefronts of shared memory.

Takes the name of an architecture (`sm_90`). Gives its row (`Architecture`), the blocks that fit on a multiprocessor, the passes
that an access to shared memory takes, and the figures of a CPU core. Open `gpu.py` first: a new architecture is one row there.
"""

from warploom.machines.boards import Board, LargestBoard
from warploom.machines.figures import SOURCES, Figure, Quantity, RowError
from warploom.machines.gpu import (
    ARCHITECTURES,
    COMPILED,
    Architecture,
    Limits,
    Timing,
    architecture,
    compiled_architecture,
    nearest_architecture,
)
from warploom.machines.occupancy import occupancy, resident_warps

__all__ = [
    "ARCHITECTURES", "COMPILED", "SOURCES", "Architecture", "Board", "Figure", "LargestBoard", "Limits", "Quantity", "RowError",
    "Timing", "architecture", "compiled_architecture", "nearest_architecture", "occupancy", "resident_warps",
]  # fmt: skip
