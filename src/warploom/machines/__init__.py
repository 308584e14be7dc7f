"""Machines as data: one row for each GPU architecture, boards, occupancy, and one count of the wavefronts of shared memory.

Takes the name of an architecture (`sm_90`). Gives its row (`Architecture`), the blocks that fit on a multiprocessor, the passes
that an access to shared memory takes, the cycles that counted `Work` takes (`Speeds`), and the figures of a CPU core. Open
`gpu.py` first: a new architecture is one row there; `shared_memory.py` has the banks of other vendors, too.
"""

from warploom.machines.banks import (
    BANK_BYTES,
    BANKS,
    LINE_BYTES,
    SECTOR_BYTES,
    WIDEST_BYTES,
    go_in_pairs,
    least_each,
    lines,
    lines_each,
    passes,
    wavefronts,
    wavefronts_each,
    ways_each,
)
from warploom.machines.boards import Board, LargestBoard
from warploom.machines.cpu import PORTS, TURNED_BYTES, WIDE_CORE, CacheLevel, Port, system_caches, usable_cores
from warploom.machines.figures import SOURCES, Figure, Quantity, RowError
from warploom.machines.gpu import (
    ARCHITECTURES,
    COMPILED,
    MAX_BLOCK_THREADS,
    WARP_LANES,
    Architecture,
    Limits,
    Timing,
    architecture,
    compiled_architecture,
    nearest_architecture,
)
from warploom.machines.matrices import LANES_OF_A_ROW, MATRIX_INSTRUCTIONS, MatrixInstruction, matrix_instruction
from warploom.machines.occupancy import occupancy, resident_warps
from warploom.machines.shared_memory import NVIDIA, OTHERS, SharedMemory, shared_memory
from warploom.machines.tiles import (
    MOST_TOTALS,
    TILE_CYCLES,
    TILE_INSTRUCTIONS,
    TILE_LOAD_CYCLES,
    TILE_ROW_BYTES,
    TILE_ROWS,
    TILE_WORDS,
    TILES,
    TileInstruction,
    tile_instruction,
)
from warploom.machines.work import Requests, Speeds, Unit, Work, fastest, joined, usual

__all__ = [
    "ARCHITECTURES",
    "BANKS",
    "BANK_BYTES",
    "COMPILED",
    "LANES_OF_A_ROW",
    "LINE_BYTES",
    "MATRIX_INSTRUCTIONS",
    "MAX_BLOCK_THREADS",
    "MOST_TOTALS",
    "NVIDIA",
    "OTHERS",
    "PORTS",
    "SECTOR_BYTES",
    "SOURCES",
    "TILES",
    "TILE_CYCLES",
    "TILE_INSTRUCTIONS",
    "TILE_LOAD_CYCLES",
    "TILE_ROWS",
    "TILE_ROW_BYTES",
    "TILE_WORDS",
    "TURNED_BYTES",
    "WARP_LANES",
    "WIDEST_BYTES",
    "WIDE_CORE",
    "Architecture",
    "Board",
    "CacheLevel",
    "Figure",
    "LargestBoard",
    "Limits",
    "MatrixInstruction",
    "Port",
    "Quantity",
    "Requests",
    "RowError",
    "SharedMemory",
    "Speeds",
    "TileInstruction",
    "Timing",
    "Unit",
    "Work",
    "architecture",
    "compiled_architecture",
    "fastest",
    "go_in_pairs",
    "joined",
    "least_each",
    "lines",
    "lines_each",
    "matrix_instruction",
    "nearest_architecture",
    "occupancy",
    "passes",
    "resident_warps",
    "shared_memory",
    "system_caches",
    "tile_instruction",
    "usable_cores",
    "usual",
    "wavefronts",
    "wavefronts_each",
    "ways_each",
]  # fmt: skip
