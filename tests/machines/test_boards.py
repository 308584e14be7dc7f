"""The board that stands for an architecture against products of it."""

import pytest

from warploom.machines import ARCHITECTURES

PRODUCTS = [
    ("T4", "sm_75", 40, 1.59, 320, 4), ("RTX 2080 Super", "sm_75", 48, 1.815, 496, 4), ("TITAN RTX", "sm_75", 72, 1.77, 672, 6),
    ("A100 80 GB", "sm_80", 108, 1.41, 2039, 40), ("A30", "sm_80", 56, 1.44, 933, 24),
    ("A40", "sm_86", 84, 1.74, 696, 6), ("RTX 3090 Ti", "sm_86", 84, 1.86, 1008, 6),
    ("RTX 4070 Ti", "sm_89", 60, 2.61, 504, 48), ("RTX 4090", "sm_89", 128, 2.52, 1008, 72),
    ("RTX 6000 Ada", "sm_89", 142, 2.505, 960, 96), ("L40S", "sm_89", 142, 2.52, 864, 96),
    ("H100 SXM", "sm_90", 132, 1.98, 3350, 50), ("H200", "sm_90", 132, 1.98, 4800, 50), ("B200", "sm_100", 148, 1.965, 8000, 126),
    ("B300", "sm_103", 148, 1.965, 8000, 126),
    ("RTX 5090", "sm_120", 170, 2.407, 1792, 96), ("RTX PRO 6000 Blackwell", "sm_120", 188, 2.617, 1792, 128),
]  # fmt: skip


@pytest.mark.parametrize(("arch", "multiprocessors", "clock_ghz", "memory_gb_s", "l2_mib"), [p[1:] for p in PRODUCTS],
                         ids=[p[0] for p in PRODUCTS])  # fmt: skip
def test_no_product_exceeds_its_board(arch: str, multiprocessors: int, clock_ghz: float, memory_gb_s: float, l2_mib: int) -> None:
    largest = ARCHITECTURES[arch].bounds
    assert multiprocessors <= largest.multiprocessors and clock_ghz <= largest.clock_ghz
    assert memory_gb_s <= largest.memory_gb_s and l2_mib <= largest.l2_mib
