"""The kernels of PolyBench and of neural networks that are measured: what their tensor functions say is what NumPy computes."""

import numpy as np
import pytest

from warploom.kernels.suites import NETWORKS, POLYBENCH
from warploom.schedule.backbone import evaluate

EVERY = {**POLYBENCH, **NETWORKS}


@pytest.mark.parametrize("name", EVERY)
def test_they_compute_what_numpy_does(name: str) -> None:
    kernel = EVERY[name].kernel
    sizes = {size: 5 + n for n, size in enumerate(EVERY[name].sizes["small"])}
    arrays = kernel.arrays(sizes)
    expected = kernel.reference(arrays)
    known = dict(arrays)
    for stage in kernel.program(sizes).stages:
        given = {r.name: known[r.name] for r in stage.regions if r.name in known}
        known |= evaluate(stage, given, dict(kernel.parameters))
    for array, values in expected.items():
        np.testing.assert_allclose(known[array].reshape(values.shape), values, rtol=2e-3, atol=2e-3)


def test_each_has_three_sizes() -> None:
    assert (len(POLYBENCH), len(NETWORKS)) == (15, 10)
    for suite in EVERY.values():
        points = [np.prod([float(n) for n in sizes.values()]) for sizes in suite.sizes.values()]
        assert len(points) == 3 and points == sorted(set(points))
