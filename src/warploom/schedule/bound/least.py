"""The least work of any completion, as the evaluation that a scratch holds has counted it: the low end of the model's count."""

from __future__ import annotations

from warploom.machines import SECTOR_BYTES, WARP_LANES, Work
from warploom.schedule.bound.problem import (
    ALU,
    BY_CORE,
    BY_MACHINE,
    BY_THREAD,
    ISSUE,
    L1_LINES,
    L2_READ,
    L2_STORED,
    MEMORY,
    Scratch,
    TargetFigures,
)
from warploom.schedule.bound.total import DRAM


def least_work(figures: TargetFigures, scratch: Scratch, clock_ghz: float) -> Work:
    """Least work of the multiprocessor that has the most. Work that one thread must do in turn counts as waiting; bytes read and
    bytes stored may overlap, so the larger number counts."""
    totals = scratch.totals

    def cycles(*resources: int) -> float:
        return clock_ghz * max(float(totals[level, r]) for level in (BY_CORE, BY_MACHINE) for r in resources)

    def amount(resource: int) -> float:
        return cycles(resource) * float(figures.rates[BY_CORE, resource]) / clock_ghz

    waiting = max(float(totals[BY_THREAD].max()), *(float(ns) for part, ns in enumerate(scratch.others) if part != DRAM))
    return Work(
        issued=amount(ISSUE) / WARP_LANES,
        floats=amount(ALU) / WARP_LANES,
        wavefronts=cycles(MEMORY, L1_LINES),
        l2_bytes=max(amount(L2_READ), amount(L2_STORED)) * SECTOR_BYTES,
        memory_bytes=float(scratch.others[DRAM]) * figures.bandwidth / figures.cores,
        waiting=waiting * clock_ghz,
        launches=1.0,
    )
