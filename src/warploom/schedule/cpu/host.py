"""This machine as a target: its limits, and the rates that were measured on it."""

from __future__ import annotations

import math
from dataclasses import replace

from warploom.machines import CacheLevel, Port
from warploom.schedule.cpu.calibration import Calibration, calibrate
from warploom.schedule.cpu.dots import multiplied_words
from warploom.schedule.cpu.tiles import multiplied_in_tiles
from warploom.schedule.targets import Target, cpu, cpu_rates

SLACK = 1.15
"""How much faster than measured the machine may be: a bound must not exceed the time of a run in a quieter moment."""
MEMORY_SLACK = 1.3
"""The same of the memory, which other processes and machines share."""
FASTER = 1.5
"""A third cache that is read less than so many times as fast as memory keeps nothing worth having: large ones that many cores or
machines share."""
_AS_FAST = 0.9
"""Part of another rate from which on one counts as no less."""
_ROUNDING = 0.1
"""Part of an instruction per cycle by which a measurement may be too high."""


def host(threads: int = 1) -> Target:
    """The CPU that runs this, with that many threads; measures for two seconds the first time (see `calibrate`)."""
    return target_of(calibrate(threads))


def target_of(found: Calibration) -> Target:
    """A CPU with these figures."""
    wide = found.vector_bytes >= 64
    limits = cpu(found.vector_bytes, registers=32 if wide else 16, scratch_bytes=max(found.l2_bytes // 2, 128 << 10))
    lanes = found.vector_bytes // 4
    rates = cpu_rates(
        found.vector_bytes,
        cores=found.threads,
        clock_ghz=found.clock_ghz * SLACK,
        bandwidth_bytes_per_ns=MEMORY_SLACK * found.threads * max(found.dram_read_gbs, found.dram_copy_gbs),
        caches=_caches(found),
        near_bytes=0 if found.l3_read_gbs > FASTER * found.dram_read_gbs else found.threads * found.l2_bytes,
        ports=ports_of(found),
    )
    words = {"words": multiplied_words(), "slow_words": slow_words(found), "tiles": multiplied_in_tiles()}
    return replace(limits, rates=rates, vector_lanes=(lanes // 2, lanes), **words)


def slow_words(found: Calibration) -> frozenset[str]:
    """Types whose words take longer than multiply-adds of f32. Where both take as long, words save conversions and memory."""
    by_words, one_by_one = 2 * (found.vector_bytes // 4) * found.bf16_dots, found.fma_gflops / 2
    return frozenset({"bf16"}) if 0 < by_words < _AS_FAST * one_by_one else frozenset()


def ports_of(found: Calibration) -> tuple[Port, ...]:
    """Instructions per cycle by kind and width, in halves, rounded up: never fewer of a narrow kind than of a wide one."""
    most: dict[str, float] = {}
    ports: list[Port] = []
    for kind, size, rate in sorted(found.ports, key=lambda p: -p[1]):
        per_clock = max(1, math.ceil(2 * (rate / found.clock_ghz - _ROUNDING))) / 2
        most[kind] = max(per_clock, most.get(kind, 0.0))
        ports.append(Port(kind, size, most[kind]))
    return tuple(ports)


def _caches(found: Calibration) -> tuple[CacheLevel, ...]:
    levels = (("l1", found.l1_bytes, False), ("l2", found.l2_bytes, False), ("l3", found.l3_bytes, True))
    return tuple(CacheLevel(name, size, found.line_bytes, shared) for name, size, shared in levels if size)
