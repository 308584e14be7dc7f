"""Cost estimate of counted executions."""

import numpy as np

from warploom.gpu import estimate
from warploom.ir import fill, run
from warploom.kernels import find
from warploom.machines import architecture


def test_cost_grows_with_what_the_interpreter_counts() -> None:
    costs = []
    for taps in (3, 9):
        kernel = find(f"conv1d-{taps}").baseline.kernel
        sizes = {"n": 512}
        arrays = {"x": np.ones(512 + taps - 1, np.float32), "w": np.ones(taps, np.float32)}
        costs.append(estimate(run(fill(kernel, {}), arrays, sizes).counts, architecture("sm_80")))
    small, large = costs
    assert large.sm_cycles > small.sm_cycles > 0
    assert large.bound in ("issue", "arithmetic", "exchange")
    assert small.global_bytes % 32 == 0
