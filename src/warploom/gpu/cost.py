"""A lower bound on the time of a kernel from the interpreter's counts: the busiest of a few pipes of one SM.

Goals: compare two kernels for the same job, say which resource bounds each. Non-goals: absolute times, caches, latencies that
too few warps cannot hide; integer arithmetic on indices is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ir import Counts
from warploom.machines import BANK_BYTES, SECTOR_BYTES, WARP_LANES, Architecture


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles of one SM that did all the work of the grid, pipe by pipe; divide by the number of SMs."""

    issue_cycles: float
    """Every counted warp instruction needs an issue slot."""
    arithmetic_cycles: float
    """Data operations on the f32 lanes."""
    exchange_cycles: float
    """Shuffles and shared-memory wavefronts share one pipe."""
    global_bytes: int
    """Sectors times their size: what crosses to L2 at least once."""

    @property
    def sm_cycles(self) -> float:
        """The busiest pipe."""
        return max(self.issue_cycles, self.arithmetic_cycles, self.exchange_cycles)

    @property
    def bound(self) -> str:
        """`issue`, `arithmetic` or `exchange`: the pipe that is busiest."""
        pipes = {"exchange": self.exchange_cycles, "arithmetic": self.arithmetic_cycles, "issue": self.issue_cycles}
        return max(pipes, key=pipes.__getitem__)


def estimate(counts: Counts, on: Architecture) -> Cost:
    """Cost of an execution with these counts."""
    operations = counts.arithmetic / WARP_LANES
    exchanges = counts.shuffles + counts.shared_wavefronts
    requests = counts.global_sectors * SECTOR_BYTES / (WARP_LANES * BANK_BYTES)
    return Cost(
        issue_cycles=(operations + exchanges + requests) / on.issue,
        arithmetic_cycles=counts.arithmetic / on.timing.float_lanes.value,
        exchange_cycles=counts.shuffles * WARP_LANES / on.timing.shuffle_lanes.value + counts.shared_wavefronts,
        global_bytes=counts.global_sectors * SECTOR_BYTES,
    )
