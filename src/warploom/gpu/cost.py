"""A lower bound on the time of a kernel from the interpreter's counts: the busiest of a few pipes of one SM.

Goals: compare two kernels for the same job, say which resource bounds each. Non-goals: absolute times, caches, latencies that
too few warps cannot hide; integer arithmetic on indices is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.gpu.machine import Machine
from warploom.ir import Counts


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


def estimate(counts: Counts, machine: Machine) -> Cost:
    """Cost of an execution with these counts on `machine`."""
    operations = counts.arithmetic / machine.warp_lanes
    exchanges = counts.shuffles + counts.shared_wavefronts
    requests = counts.global_sectors * machine.sector_bytes / (machine.warp_lanes * 4)
    return Cost(
        issue_cycles=(operations + exchanges + requests) / machine.issue_per_cycle,
        arithmetic_cycles=counts.arithmetic / machine.float_lanes,
        exchange_cycles=counts.shuffles * machine.warp_lanes / machine.shuffle_lanes
        + counts.shared_wavefronts / machine.wavefronts_per_cycle,
        global_bytes=counts.global_sectors * machine.sector_bytes,
    )
