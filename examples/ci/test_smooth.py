"""A CUDA kernel against NumPy, with all checks, without a GPU."""

from pathlib import Path

import numpy as np
import pytest

KERNEL = Path(__file__).parent / "smooth.cu"


@pytest.mark.parametrize("n", [1, 2, 127, 128, 300])
def test_smooth(warploom_launch, n: int) -> None:
    data, out = np.random.default_rng(n).random(n, np.float32), np.zeros(n, np.float32)
    warploom_launch(KERNEL, (n + 127) // 128, 128, out, data, n)
    wanted = data.copy()
    wanted[1:-1] = (data[:-2] + data[1:-1] + data[2:]) / 3
    np.testing.assert_allclose(out, wanted, rtol=1e-6)


def test_a_missing_barrier_fails(warploom_launch) -> None:
    data, out = np.ones(128, np.float32), np.zeros(128, np.float32)
    with pytest.raises(AssertionError, match="data-race"):
        warploom_launch(KERNEL, 1, 128, out, data, 128, defines=["WITHOUT_BARRIER"])
