"""GPU boards as data: the fastest product of each architecture, around the multiprocessors of `gpu.MACHINES`.

Multiprocessors, boost clocks, memory bandwidth and the size of the second-level cache: the vendor's data sheets and architecture
white papers (Turing, GA100, GA102, AD102, GH100 with the memory of H200, Blackwell). Bytes per clock of the second level: its
slices, 64 bytes each, or the 64 bytes that a multiprocessor takes, whatever is larger, so that no program sees more. What it was
seen to deliver: microbenchmarks by Jia et al. (Turing) and Luo et al. (Ampere, Ada, Hopper); for sm_100 and sm_120 assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.core import Diagnostic, UserError


@dataclass(frozen=True, slots=True)
class Board:
    name: str
    arch: str
    multiprocessors: int
    clock_ghz: float
    """Boost."""
    memory_gb_s: float
    l1_kib: int
    """First-level cache and shared memory of a multiprocessor."""
    l2_mib: int
    l2_bytes_per_clock: int
    """At most."""
    l2_gb_s: float
    """As measured."""
    load_lanes: int
    """Lanes of loads and stores per multiprocessor and clock."""


BOARDS = (
    Board("TITAN RTX", "sm_75", 72, 1.77, 672.0, 64, 6, 4608, 2500.0, 16),
    Board("A100", "sm_80", 108, 1.41, 2039.0, 192, 40, 6912, 5120.0, 32),
    Board("RTX 3090 Ti", "sm_86", 84, 1.86, 1008.0, 128, 6, 5376, 3900.0, 32),
    Board("RTX 6000 Ada", "sm_89", 142, 2.52, 1008.0, 128, 96, 9088, 5500.0, 32),
    Board("H200", "sm_90", 132, 1.98, 4800.0, 256, 60, 8448, 5700.0, 32),
    Board("B200", "sm_100", 148, 1.97, 8000.0, 256, 126, 9472, 10000.0, 32),
    Board("RTX 5090", "sm_120", 170, 2.41, 1792.0, 128, 128, 10880, 8000.0, 32),
)


def board(arch: str) -> Board:
    """The board that stands for `arch`; UserError (UNKNOWN_ARCH)."""
    for one in BOARDS:
        if one.arch == arch:
            return one
    known = ", ".join(b.arch for b in BOARDS)
    raise UserError(Diagnostic("UNKNOWN_ARCH", f"expected one of {known}, got {arch}", fix="choose the nearest older one"))
