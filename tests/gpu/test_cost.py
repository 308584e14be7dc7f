"""Work of counted executions."""

import numpy as np

from warploom.gpu import counted_work
from warploom.ir import fill, run
from warploom.kernels import find
from warploom.machines import Work, architecture, joined, usual


def test_work_grows_with_what_the_interpreter_counts() -> None:
    found: list[Work] = []
    for taps in (3, 9):
        kernel = find(f"conv1d-{taps}").baseline.kernel
        sizes = {"n": 512}
        arrays = {"x": np.ones(512 + taps - 1, np.float32), "w": np.ones(taps, np.float32)}
        found.append(counted_work(run(fill(kernel, {}), arrays, sizes).counts))
    small, large = (usual(architecture("sm_80")).cycles(work) for work in found)
    assert joined(large.values()) > joined(small.values()) > 0
    assert all(large[unit] >= small[unit] for unit in large)
    assert found[0].l2_bytes % 32 == 0
