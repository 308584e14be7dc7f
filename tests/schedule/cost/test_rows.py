"""The model of decided kernels takes its figures from the row of an architecture."""

import pytest

from warploom.machines import ARCHITECTURES
from warploom.schedule.cost.time import latencies_of


@pytest.mark.parametrize(
    ("arch", "near", "far", "shared"), [("sm_75", 188, 296, 19), ("sm_90", 263, 478.8, 29), ("sm_103", 300, 478.8, 29)]
)
def test_latencies_are_those_of_the_row(arch: str, near: float, far: float, shared: float) -> None:
    """The model once took 266, 560 and 20 cycles of every architecture."""
    row = ARCHITECTURES[arch]
    assert latencies_of(row, 4, is_near=True).far == near and latencies_of(row, 4, is_near=False).far == far
    found = latencies_of(row, 4, is_near=True)
    assert (found.shared, found.barrier, found.arithmetic, found.special) == (shared, 28, 4, 18)
    assert found.shuffle == row.timing.shuffle_cycles.value
