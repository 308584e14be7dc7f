"""No restriction lowers any part of the bound: with it, a partial bound is below that of every completion."""

import numpy as np
import pytest
from tests.schedule.bound.hand_views import LONG, LONG_TILES, SQUARE, SQUARE_TILES, Case, narrow_anything

CASES = {
    "axpy": ("axpy", LONG, LONG_TILES),
    "matmul": ("matmul", SQUARE, SQUARE_TILES),
    "matmul_strided": ("matmul_strided", SQUARE, SQUARE_TILES),
    "conv2d": ("conv2d", {}, {}),
    "matvec": ("matvec", {"m": 4096, "n": 4096}, {"m": ((2, 4, 8), (2, 4)), "n": ((8, 16, 32), (4, 8))}),
}


@pytest.mark.parametrize("on", ["k4000", "sm_90", "cpu"])
@pytest.mark.parametrize("name", list(CASES))
def test_parts_only_grow_along_random_restrictions(name: str, on: str) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        case = Case(*CASES[name], on)
        case.bound()
        for _ in range(300):
            totals, others = case.scratch.totals.copy(), case.scratch.others.copy()
            what = narrow_anything(case, rng)
            case.bound()
            assert (case.scratch.totals >= totals * (1 - 1e-9)).all(), what
            assert (case.scratch.others >= others * (1 - 1e-9)).all(), what
