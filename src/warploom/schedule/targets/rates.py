"""Rates of a machine as the lower bound knows them: rates and latencies per thread, core and machine, caches, bandwidth.

A core is a multiprocessor (SM) of a GPU or a core of a CPU. Rates are per nanosecond. Source of the Kepler figures: measured
characterization of a Quadro K4000 (compute capability 3.0) with chains of dependent instructions and pointer chases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from warploom.machines import SECTOR_BYTES, CacheLevel, Port, Speeds


@dataclass(frozen=True, slots=True)
class Rate:
    """Amounts per nanosecond."""

    thread: float
    core: float
    machine: float


@dataclass(frozen=True, slots=True)
class Rates:
    clock_ghz: float
    cores: int
    threads_per_core: int = 1
    """Resident."""
    blocks_per_core: int = 1
    """Resident."""
    registers_per_core: int = 0
    shared_bytes_per_core: int = 0
    warp_lanes: int = 1
    rates: tuple[tuple[str, Rate], ...] = ()
    """By resource: issue, alu, sync, memory, l1_lines, l2_lines_read, l2_lines_stored."""
    shuffle_lanes: float = 0.0
    """Lanes of shuffles per cycle of a core; 0: as of accesses."""
    ports: tuple[Port, ...] = ()
    """Ports of a CPU: what `alu`, `memory` and `stores` mean for instructions of each kind and width; empty: all are alike."""
    bandwidth_bytes_per_ns: float = 0.0
    caches: tuple[CacheLevel, ...] = ()
    """Innermost first."""
    near_bytes: int = 0
    """Bytes of all cores' caches that are read faster than memory; 0: all are."""
    latency_cycles: tuple[tuple[str, float], ...] = ()
    """By event: l2, dram, shared, barrier, loop, loop_end."""
    operations: tuple[tuple[str, float, float], ...] = ()
    """(operator, latency in cycles, instructions issued); `loop` and `loop_alu`: what one iteration of a loop issues."""
    launch_ns: float = 0.0
    """Nanoseconds from one kernel to the next, with nothing to do; 0: times are without launches."""
    kept_registers: int = 0
    """Values that a compiler may keep in registers of a thread from one use to a later one; 0: loads and products are as the nest
    says."""
    unrolled_rounds: int = 0
    """Iterations of a sequential loop that a compiler may write out, at most."""
    overlapped_rounds: float = 1.0
    """Iterations of a longer loop that a compiler may join."""
    product_lanes: tuple[tuple[str, float], ...] = ()
    """By the type of the factors: instructions of a thread for a product that whole warps make, as a share of one of `alu`."""
    replays_issue: bool = False
    """An access that moves several lines issues once per line (GPUs before Maxwell)."""

    def rate(self, resource: str) -> Rate:
        return dict(self.rates)[resource]

    @property
    def speeds(self) -> Speeds:
        """Speeds of one GPU multiprocessor, per cycle: all arithmetic runs at the speed of `alu`, all work of the load and store
        units at that of `memory`."""

        def per_cycle(resource: str) -> float:
            return self.rate(resource).core / self.clock_ghz

        arithmetic, moved = per_cycle("alu"), per_cycle("memory")
        return Speeds(
            issue=per_cycle("issue") / self.warp_lanes, float_lanes=arithmetic, double_lanes=arithmetic, special_lanes=arithmetic,
            load_lanes=moved, shuffle_lanes=self.shuffle_lanes or moved, l1_sectors=math.inf, nc_sectors=math.inf,
            nc_is_texture=False,
            l2_bytes=per_cycle("l2_lines_read") * SECTOR_BYTES,
            memory_bytes=self.bandwidth_bytes_per_ns / self.clock_ghz / self.cores,
            clock_ghz=self.clock_ghz, launch_ns=self.launch_ns,
        )  # fmt: skip


NO_RATES = Rates(clock_ghz=1.0, cores=1)


K4000_RATES = Rates(
    clock_ghz=0.8105,
    cores=4,
    threads_per_core=2048,
    blocks_per_core=16,
    registers_per_core=65536,
    shared_bytes_per_core=48 * 1024,
    warp_lanes=32,
    rates=(
        ("issue", Rate(1.621, 207.5, 830.0)),
        ("alu", Rate(4.863, 155.6, 622.5)),
        ("sync", Rate(3.242, 103.7, 415.0)),
        ("memory", Rate(0.8105, 25.9, 103.7)),
        ("l1_lines", Rate(0.327, 0.327, 1.309)),
        ("l2_lines_read", Rate(0.813, 0.813, 3.254)),
        ("l2_lines_stored", Rate(0.810, 0.810, 3.240)),
    ),
    bandwidth_bytes_per_ns=134.784,
    caches=(CacheLevel("l1", 16 * 1024, 128, False), CacheLevel("l2", 384 * 1024, 32, True)),
    latency_cycles=(("l2", 167.0), ("dram", 275.0), ("shared", 24.0), ("barrier", 23.0), ("loop", 52.0), ("loop_end", 22.0)),
    operations=(
        ("add", 10.0, 1.0), ("sub", 10.0, 1.0), ("mul", 10.0, 1.0), ("fma", 10.0, 1.0), ("max", 10.0, 1.0), ("min", 10.0, 1.0),
        ("div", 544.0, 51.0), ("loop", 52.0, 3.0), ("loop_alu", 0.0, 2.0),
    ),
    replays_issue=True,
)  # fmt: skip
