"""Machine table and cost estimate."""

import numpy as np
import pytest

from warploom.core import UserError
from warploom.gpu import MACHINES, estimate, machine
from warploom.ir import fill, run
from warploom.kernels import find


def test_resident_warps_follow_the_scarcest_resource() -> None:
    hopper = machine("sm_90")
    assert hopper.resident_warps(32, 0, 128) == 64
    assert hopper.resident_warps(64, 0, 128) == 32
    assert hopper.resident_warps(255, 0, 128) == 8
    assert hopper.resident_warps(32, 100 * 1024, 128) == 8
    assert machine("sm_75").resident_warps(16, 0, 32) == 16


def test_registers_belong_to_the_four_partitions() -> None:
    # 176 registers are 5632 per warp: two in each partition, although eleven would fit the whole file.
    assert machine("sm_90").resident_warps(176, 0, 32) == 8
    assert machine("sm_90").resident_warps(64, 300 * 1024, 32) == 0


def test_unknown_architecture() -> None:
    with pytest.raises(UserError, match="UNKNOWN_ARCH"):
        machine("sm_35")


def test_all_machines_are_described() -> None:
    assert list(MACHINES) == ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
    assert all(m.max_warps * 32 >= 1024 and m.shared_bytes >= m.shared_bytes_per_block for m in MACHINES.values())


def test_cost_grows_with_what_the_interpreter_counts() -> None:
    costs = []
    for taps in (3, 9):
        kernel = find(f"conv1d-{taps}").baseline.kernel
        sizes = {"n": 512}
        arrays = {"x": np.ones(512 + taps - 1, np.float32), "w": np.ones(taps, np.float32)}
        costs.append(estimate(run(fill(kernel, {}), arrays, sizes).counts, machine("sm_80")))
    small, large = costs
    assert large.sm_cycles > small.sm_cycles > 0
    assert large.bound in ("issue", "arithmetic", "exchange")
    assert small.global_bytes % 32 == 0
