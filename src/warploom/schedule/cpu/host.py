"""This machine as a target: its limits, and the rates that were measured on it."""

from __future__ import annotations

from dataclasses import replace

from warploom.schedule.cpu.calibration import Calibration, calibrate
from warploom.schedule.targets import CacheLevel, Target, cpu, cpu_rates

SLACK = 1.15
"""How much faster than measured the machine may be: a bound must not exceed the time of a run in a quieter moment."""


def host(threads: int = 1) -> Target:
    """The CPU that runs this, with that many threads; measures for two seconds the first time (see `calibrate`)."""
    found = calibrate(threads)
    wide = found.vector_bytes >= 64
    limits = cpu(found.vector_bytes, registers=32 if wide else 16, scratch_bytes=max(found.l2_bytes // 2, 128 << 10))
    lanes = found.vector_bytes // 4
    vector_gb_s = found.clock_ghz * found.vector_bytes
    rates = cpu_rates(
        found.vector_bytes,
        cores=threads,
        clock_ghz=found.clock_ghz * SLACK,
        bandwidth_bytes_per_ns=SLACK * threads * max(found.dram_read_gbs, found.dram_copy_gbs),
        caches=_caches(found),
        fma_per_clock=round(found.fma_gflops / (2 * lanes * found.clock_ghz) + 0.25) or 1,
        loads_per_clock=max(1.0, round(found.l1_read_gbs / vector_gb_s + 0.25)),
        stores_per_clock=max(1.0, round(found.l1_write_gbs / vector_gb_s + 0.25)),
    )
    return replace(limits, rates=rates, vector_lanes=(lanes // 2, lanes))


def _caches(found: Calibration) -> tuple[CacheLevel, ...]:
    levels = (("l1", found.l1_bytes, False), ("l2", found.l2_bytes, False), ("l3", found.l3_bytes, True))
    return tuple(CacheLevel(name, size, found.line_bytes, shared) for name, size, shared in levels if size)
