"""Estimates of a space's size say how far they may be off."""

import random

import pytest

from warploom.solve import Probe, tree_size
from warploom.tools.explore.size import Samples, covering


def probes(weights: list[float]) -> list[Probe]:
    return [Probe(w, 0.0, 0.0, 1) for w in weights]


@pytest.mark.parametrize(
    ("walks", "sweeps"),
    [
        pytest.param([1.7e12, 1.71e12, 1.69e12], [6.6e10, 6.5e10], id="sweeps far below"),
        pytest.param([6.6e10, 6.5e10, 6.7e10], [1.7e12, 1.6e12], id="sweeps far above"),
        pytest.param([0.0, 0.0], [5.0, 5.0], id="dead ends only"),
        pytest.param([3.0, 3.0], [3.0, 3.0], id="alike"),
    ],
)
def test_the_interval_covers_both_estimators(walks: list[float], sweeps: list[float]) -> None:
    found = covering(Samples(probes(walks), probes(sweeps)))
    for one in (walks, sweeps):
        assert found.low <= tree_size(probes(one)).leaves.mean <= found.high
    assert found.chen == tree_size(probes(sweeps)).leaves.mean


def test_heavy_weights_that_few_walks_meet_are_in_the_interval() -> None:
    """200 walks over lognormal weights whose mean is exp(18) see far less, and their usual interval does not reach it."""
    chance = random.Random(0)
    walks = probes([chance.lognormvariate(0.0, 6.0) for _ in range(200)])
    size = tree_size(walks).leaves
    assert size.mean + size.half_width < 2.718281828**18 < covering(Samples(walks, walks[:2])).high
