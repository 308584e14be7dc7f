"""What the model of decided kernels takes from the row of an architecture."""

import pytest

from warploom.machines import ARCHITECTURES
from warploom.schedule.cost.time import _pipes, latencies_of
from warploom.schedule.cost.work import Work


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


@pytest.mark.parametrize(("arch", "cycles"), [("sm_80", 2), ("sm_90", 2), ("sm_103", 1)])
def test_exponentials_go_through_their_own_units(arch: str, cycles: float) -> None:
    """16 lanes since Volta, 32 in Blackwell Ultra; the model once took a quarter of the f32 lanes, 32 on sm_90."""
    assert _pipes(Work(special=1.0), ARCHITECTURES[arch])["arithmetic"] == cycles


def test_load_units_bound_what_a_small_chip_loads() -> None:
    cycles = {arch: _pipes(Work(loads=1.0), ARCHITECTURES[arch])["loads, stores and shuffles"] for arch in ("sm_80", "sm_86")}
    assert cycles == {"sm_80": 1, "sm_86": 2}
