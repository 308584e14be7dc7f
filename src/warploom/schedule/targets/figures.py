"""Rates of machines in use today. Every figure is at least what the machine does at its rated clock, so that bounds made of them
hold.

GPUs: `boards` (data sheets, the largest of all products) and `gpu.MACHINES` (units per multiprocessor). CPUs: the ports of a wide
core of today at its highest clock, caches as the system says; `schedule.cpu` measures the machine at hand and replaces them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from warploom.gpu import MACHINES
from warploom.operations import ROWS, Cost
from warploom.schedule.targets.boards import board
from warploom.schedule.targets.rates import CacheLevel, Port, Rate, Rates

_KIB = 1024
_MIB = 1024 * _KIB


def _operations(figures: Mapping[Cost, tuple[float, float]]) -> tuple[tuple[str, float, float], ...]:
    """Latency in cycles and instructions issued of each operation, by what it costs on this machine."""
    return tuple((row.name, *figures[row.cost]) for row in ROWS if row.cost in figures)


_CUDA: dict[Cost, tuple[float, float]] = {
    "free": (0.0, 0.0), "sum": (4.0, 1.0), "product": (4.0, 1.0), "fused": (4.0, 1.0), "special": (18.0, 2.0),
    "root": (18.0, 2.0), "tanh": (18.0, 1.0), "quotient": (30.0, 6.0),
}  # fmt: skip
_CUDA_OPERATIONS = (*_operations(_CUDA), ("loop", 4.0, 1.0), ("loop_alu", 0.0, 0.0))


def cuda_rates(arch: str) -> Rates:
    """Rates of an architecture of `gpu.MACHINES`."""
    machine, largest = MACHINES[arch], board(arch)
    clock, cores = largest.clock_ghz, largest.multiprocessors

    def rate(per_clock: float, thread: float = 1.0) -> Rate:
        return Rate(thread * clock, per_clock * clock, per_clock * clock * cores)

    sectors = largest.l2_bytes_per_clock / machine.sector_bytes * clock
    far = Rate(2.0 * clock, 2.0 * clock, min(sectors, 2.0 * clock * cores))
    return Rates(
        clock_ghz=clock,
        cores=cores,
        threads_per_core=machine.max_warps * machine.warp_lanes,
        blocks_per_core=machine.max_blocks,
        registers_per_core=machine.registers,
        shared_bytes_per_core=machine.shared_bytes,
        warp_lanes=machine.warp_lanes,
        bank_bytes=machine.bank_bytes,
        banks=machine.banks,
        rates=(
            ("issue", rate(machine.issue_per_cycle * machine.warp_lanes)),
            ("alu", rate(machine.float_lanes)),
            ("memory", rate(largest.load_lanes)),
            ("l2_lines_read", far),
            ("l2_lines_stored", far),
        ),
        bandwidth_bytes_per_ns=largest.memory_gb_s,
        caches=(
            CacheLevel("l1", largest.l1_kib * _KIB, 128, False),
            CacheLevel("l2", largest.l2_mib * _MIB, machine.sector_bytes, True),
        ),
        latency_cycles=(
            ("l1", 28.0), ("l2", 190.0), ("dram", 400.0), ("shared", 20.0), ("barrier", 8.0), ("loop", 4.0), ("loop_end", 0.0),
        ),
        operations=_CUDA_OPERATIONS,
        launch_ns=1500.0,
        kept_registers=machine.max_registers_per_thread,
        unrolled_rounds=64,
        overlapped_rounds=4.0,
    )  # fmt: skip


_CPU: dict[Cost, tuple[float, float]] = {
    "free": (0.0, 0.0), "sum": (2.0, 1.0), "product": (3.0, 1.0), "fused": (4.0, 1.0), "special": (8.0, 4.0), "root": (10.0, 2.0),
    "tanh": (8.0, 4.0), "quotient": (8.0, 2.0),
}  # fmt: skip
_CPU_OPERATIONS = (*_operations(_CPU), ("loop", 1.0, 1.0), ("loop_alu", 0.0, 0.0))


_PORTS = (
    *(Port(kind, size, 2.0 if size == 64 else 4.0) for kind in ("fma", "mul", "add", "max", "load") for size in (4, 16, 32, 64)),
    *(Port("store", size, 1.0 if size == 64 else 2.0) for size in (4, 16, 32, 64)),
    Port("load_word", 8, 4.0),
    Port("store_word", 8, 4.0),
)


def cpu_rates(
    vector_bytes: int = 32,
    cores: int | None = None,
    clock_ghz: float = 5.0,
    bandwidth_bytes_per_ns: float = 100.0,
    caches: tuple[CacheLevel, ...] | None = None,
    ports: tuple[Port, ...] | None = None,
) -> Rates:
    """Rates of a CPU: figures that are not given are those of a wide core of today. `alu`, `memory` and `stores` are per widest
    vector instruction; `ports` says what narrower ones count.

    `cores` defaults to those that this process may use.
    """
    count = cores or usable_cores()
    given = ports if ports is not None else tuple(p for p in _PORTS if p.size_bytes <= vector_bytes)

    def widest(kind: str) -> float:
        return max((p.size_bytes, p.per_clock) for p in given if p.kind == kind)[1]

    def rate(per_clock: float) -> Rate:
        return Rate(per_clock * clock_ghz, per_clock * clock_ghz, per_clock * clock_ghz * count)

    return Rates(
        clock_ghz=clock_ghz,
        cores=count,
        rates=(
            ("issue", rate(12.0)),
            ("alu", rate(widest("fma"))),
            ("memory", rate(widest("load"))),
            ("stores", rate(widest("store"))),
            ("l1_lines", rate(1.0)),
            ("l2_lines_read", rate(0.5)),
        ),
        ports=given,
        bandwidth_bytes_per_ns=bandwidth_bytes_per_ns,
        caches=caches or system_caches(),
        latency_cycles=(("l2", 0.0), ("shared", 0.0), ("loop", 0.5)),
        operations=_CPU_OPERATIONS,
        kept_registers=48,
        unrolled_rounds=17,
    )


def usable_cores() -> int:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_CACHES = (
    CacheLevel("l1", 48 * _KIB, 64, False),
    CacheLevel("l2", 2 * _MIB, 64, False),
    CacheLevel("l3", 64 * _MIB, 64, True),
)


def system_caches(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> tuple[CacheLevel, ...]:
    """Data caches, innermost first, as Linux says; elsewhere those of a large core of today."""
    found: dict[int, CacheLevel] = {}
    for folder in sorted(root.glob("index*")):
        try:
            words = {name: (folder / name).read_text().strip() for name in ("level", "type", "size", "coherency_line_size")}
            level, size = int(words["level"]), int(words["size"].removesuffix("K")) * _KIB
            line = int(words["coherency_line_size"])
        except (OSError, KeyError, ValueError):
            continue
        if words["type"] != "Instruction":
            found[level] = CacheLevel(f"l{level}", size, line, level > 2)
    kept = tuple(found.get(level + 1, usual) for level, usual in enumerate(_CACHES))
    return kept if found else _CACHES
