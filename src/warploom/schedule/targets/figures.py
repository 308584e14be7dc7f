"""Rates of machines in use today, made of the rows of `machines`. Every figure is at least what the machine does at its rated
clock, and every latency at most, so that bounds made of them hold.

GPUs: the largest board of the architecture and units per multiprocessor. CPUs: the ports of a wide core of today at its highest
clock, caches as the system says; `schedule.cpu` measures the machine at hand and replaces them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.machines import (
    ARCHITECTURES,
    LINE_BYTES,
    PORTS,
    SECTOR_BYTES,
    WARP_LANES,
    WIDE_CORE,
    CacheLevel,
    Port,
    fastest,
    system_caches,
    usable_cores,
)
from warploom.operations import ROWS, Cost
from warploom.schedule.targets.rates import Rate, Rates

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True)
class Instructions:
    """Instructions of a warp on a GPU."""

    least: int
    """The fewest that any compiler needs, for bounds."""
    usual: int


INSTRUCTIONS: dict[Cost, Instructions] = {
    "free": Instructions(0, 0), "sum": Instructions(1, 1), "product": Instructions(1, 1), "fused": Instructions(1, 1),
    "special": Instructions(2, 2), "root": Instructions(2, 2), "tanh": Instructions(1, 1), "quotient": Instructions(6, 8),
}  # fmt: skip
"""By what an operation costs. Of several, one is for the special units."""
LOOP_INSTRUCTIONS = Instructions(1, 3)
"""Instructions of an iteration: add, compare, branch. Unrolling leaves the first two out."""


def least_cycles(name: str) -> float:
    """The least latency of that name that was measured on any GPU since Volta: no program of today waits less, since what a
    microbenchmark finds on one of them differs more between methods than between architectures."""
    figures = [getattr(row.timing, name) for row in ARCHITECTURES.values() if row.number >= 70]
    return min(float(f.value) for f in figures if f.standing == "literature")


def _operations(figures: Mapping[Cost, tuple[float, float]]) -> tuple[tuple[str, float, float], ...]:
    """Latency in cycles and instructions issued of each operation, by what it costs on this machine."""
    return tuple((row.name, *figures[row.cost]) for row in ROWS if row.cost in figures)


def _cuda_operations() -> tuple[tuple[str, float, float], ...]:
    add, special = least_cycles("arithmetic_cycles"), least_cycles("special_cycles")
    latencies: dict[Cost, float] = {
        "free": 0.0, "sum": add, "product": add, "fused": add, "special": special, "root": special, "tanh": special,
        "quotient": 30.0,
    }  # fmt: skip
    figures: dict[Cost, tuple[float, float]] = {cost: (latencies[cost], INSTRUCTIONS[cost].least) for cost in latencies}
    return (*_operations(figures), ("loop", 4.0, LOOP_INSTRUCTIONS.least), ("loop_alu", 0.0, 0.0))


def cuda_rates(arch: str) -> Rates:
    """Rates of an architecture that the compilers of today know."""
    on = ARCHITECTURES[arch]
    limits, largest, most = on.limits, on.bounds, fastest(on)
    clock, cores = largest.clock_ghz, largest.multiprocessors

    def rate(per_clock: float, thread: float = 1.0) -> Rate:
        return Rate(thread * clock, per_clock * clock, per_clock * clock * cores)

    sectors = most.l2_bytes / SECTOR_BYTES
    far = rate(sectors, sectors)
    return Rates(
        clock_ghz=clock,
        cores=cores,
        threads_per_core=on.max_threads,
        blocks_per_core=limits.max_blocks,
        registers_per_core=limits.registers,
        shared_bytes_per_core=limits.shared_bytes,
        warp_lanes=WARP_LANES,
        rates=(
            ("issue", rate(most.issue * WARP_LANES)),
            ("alu", rate(most.float_lanes)),
            ("memory", rate(most.load_lanes)),
            ("l2_lines_read", far),
            ("l2_lines_stored", far),
        ),
        shuffle_lanes=most.shuffle_lanes,
        bandwidth_bytes_per_ns=largest.memory_gb_s,
        caches=(
            CacheLevel("l1", largest.l1_kib * _KIB, LINE_BYTES, False),
            CacheLevel("l2", largest.l2_mib * _MIB, SECTOR_BYTES, True),
        ),
        latency_cycles=(
            ("l1", least_cycles("l1_cycles")), ("l2", least_cycles("l2_cycles")), ("shared", least_cycles("shared_cycles")),
            ("barrier", 8.0), ("loop", 4.0), ("loop_end", 0.0),
        ),
        operations=_cuda_operations(),
        product_lanes=tuple((name, most.float_lanes / rate) for name, rate in most.matrix_products.items()),
        launch_ns=1500.0,
        kept_registers=limits.max_registers,
        unrolled_rounds=64,
        overlapped_rounds=4.0,
    )  # fmt: skip


_CPU: dict[Cost, tuple[float, float]] = {
    "free": (0.0, 0.0), "sum": (2.0, 1.0), "product": (3.0, 1.0), "fused": (4.0, 1.0), "special": (8.0, 4.0), "root": (10.0, 2.0),
    "tanh": (8.0, 4.0), "quotient": (8.0, 2.0),
}  # fmt: skip
_CPU_OPERATIONS = (*_operations(_CPU), ("loop", 1.0, 1.0), ("loop_alu", 0.0, 0.0))


def cpu_rates(
    vector_bytes: int = WIDE_CORE.vector_bytes,
    cores: int | None = None,
    clock_ghz: float = WIDE_CORE.clock_ghz,
    bandwidth_bytes_per_ns: float = WIDE_CORE.memory_gb_s,
    caches: tuple[CacheLevel, ...] | None = None,
    near_bytes: int = 0,
    ports: tuple[Port, ...] | None = None,
) -> Rates:
    """Rates of a CPU: figures that are not given are those of a wide core of today. `alu`, `memory` and `stores` are per widest
    vector instruction; `ports` says what narrower ones count.

    `cores` defaults to those that this process may use.
    """
    count = cores or usable_cores()
    given = ports if ports is not None else tuple(p for p in PORTS if p.size_bytes <= vector_bytes)

    def widest(kind: str) -> float:
        return max((p.size_bytes, p.per_clock) for p in given if p.kind == kind)[1]

    def rate(per_clock: float) -> Rate:
        return Rate(per_clock * clock_ghz, per_clock * clock_ghz, per_clock * clock_ghz * count)

    return Rates(
        clock_ghz=clock_ghz,
        cores=count,
        rates=(
            ("issue", rate(WIDE_CORE.issue)),
            ("alu", rate(widest("fma"))),
            ("memory", rate(widest("load"))),
            ("stores", rate(widest("store"))),
            ("l1_lines", rate(WIDE_CORE.l1_lines)),
            ("l2_lines_read", rate(WIDE_CORE.l2_lines)),
        ),
        ports=given,
        bandwidth_bytes_per_ns=bandwidth_bytes_per_ns,
        caches=caches or system_caches(),
        near_bytes=near_bytes,
        latency_cycles=(("l2", 0.0), ("shared", 0.0), ("loop", 0.5)),
        operations=_CPU_OPERATIONS,
        kept_registers=48,
        unrolled_rounds=17,
    )
