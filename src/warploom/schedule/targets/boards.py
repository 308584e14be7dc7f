"""GPU boards as data, around the multiprocessors of `gpu.MACHINES`: of each architecture one that no product exceeds.

No such board is sold: each figure is the largest among the products, so that a bound holds for all of them. Multiprocessors,
rated boost clocks, memory bandwidth and the size of the caches: the vendor's data sheets and white papers. The largest are of

- sm_75: TITAN RTX and Quadro RTX 8000; the clock of RTX 2080 Super
- sm_80: A100 80 GB; the clock of A30
- sm_86: RTX 3090 Ti
- sm_89: RTX 6000 Ada and L40S; the memory of RTX 4090, the clock of RTX 4070 Ti
- sm_90: H200; the memory of GH200 with HBM3e
- sm_100: the GPU of GB200, with more multiprocessors and a higher clock than B200
- sm_120: RTX PRO 6000 Blackwell

A board that is cool or overclocked may run faster than its rated boost. Bytes per clock of the second level: its slices, 64 bytes
each, or the 64 bytes that a multiprocessor takes, whatever is larger, so that no program sees more. What it was seen to deliver,
for models and not for bounds: microbenchmarks by Jia et al. (Turing) and Luo et al. (Ampere, Ada, Hopper); for sm_100 and sm_120
assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.core import Diagnostic, UserError


@dataclass(frozen=True, slots=True)
class Board:
    arch: str
    multiprocessors: int
    clock_ghz: float
    """Rated boost."""
    memory_gb_s: float
    l1_kib: int
    """First-level cache and shared memory of a multiprocessor."""
    l2_mib: int
    l2_bytes_per_clock: int
    """Upper limit of the bytes per clock."""
    l2_gb_s: float
    """Measured bandwidth of the second-level cache."""
    load_lanes: int
    """Lanes of loads and stores per multiprocessor and clock."""


BOARDS = (
    Board("sm_75", 72, 1.815, 672.0, 96, 6, 4608, 2500.0, 16),
    Board("sm_80", 108, 1.44, 2039.0, 192, 40, 6912, 5120.0, 32),
    Board("sm_86", 84, 1.86, 1008.0, 128, 6, 5376, 3900.0, 32),
    Board("sm_89", 142, 2.61, 1008.0, 128, 96, 9088, 5500.0, 32),
    Board("sm_90", 132, 1.98, 4900.0, 256, 60, 8448, 5700.0, 32),
    Board("sm_100", 152, 2.07, 8000.0, 256, 126, 9728, 10000.0, 32),
    Board("sm_120", 188, 2.62, 1792.0, 128, 128, 12032, 8000.0, 32),
)


def board(arch: str) -> Board:
    """The board that stands for `arch`; UserError (UNKNOWN_ARCH)."""
    for one in BOARDS:
        if one.arch == arch:
            return one
    known = ", ".join(b.arch for b in BOARDS)
    raise UserError(Diagnostic("UNKNOWN_ARCH", f"expected one of {known}, got {arch}", fix="choose the nearest older one"))
