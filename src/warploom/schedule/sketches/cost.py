"""Modelled time of a completed kernel at given sizes, and a bound on it before the holes are filled.

The interpreter counts what a few blocks do; the busiest pipe of a multiprocessor, the second-level cache or the memory decides.
Every term is a lower bound on the time of the counted work, so the model ranks kernels of one family and never promises a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from warploom.core import to_numpy
from warploom.gpu import BlockTime, block_time, counted_work, grid_of
from warploom.ir import Counts, Event, Kernel, Param, SizeVar, run, shared_bytes, tabulate
from warploom.machines import WARP_LANES, Architecture, Unit, resident_warps, usual
from warploom.schedule.sketches.relaxed import Relaxed


@dataclass(frozen=True, slots=True)
class Modelled:
    """Lower bounds in milliseconds, by what would be busy that long."""

    terms: Mapping[str, float]
    block: BlockTime = field(default_factory=BlockTime)
    """Cycles of one block by itself, of which `latency` are as many as rounds of blocks run one after another."""

    @property
    def ms(self) -> float:
        return max(self.terms.values())

    @property
    def issue_ms(self) -> float:
        """For how long the schedulers are busy: what the kernel leaves to what runs beside it, however long it takes."""
        return self.terms.get("issue", 0.0)

    @property
    def binds(self) -> str:
        """The term that decides."""
        return max(self.terms, key=self.terms.__getitem__)


def compulsory(kernel: Kernel, sizes: Mapping[str, int], on: Architecture) -> Modelled:
    """Every array crosses the memory bus once: holds for every sketch of the same parameters."""
    used = sum(math.prod(_extents(param, sizes)) * param.dtype.size_bytes for param in kernel.params if param.space == "global")
    return Modelled({"memory": used / (on.bounds.memory_gb_s * 1e6)})


def unfilled(kernel: Kernel, least: Relaxed | None, sizes: Mapping[str, int], on: Architecture) -> Modelled:
    """A bound on every completion of `kernel`: what it does where no hole is asked, and each hole's part as cheap as can be,
    which is `least`, if that is known."""
    terms = dict(compulsory(kernel, sizes, on).terms)
    if least is not None:
        counted = _counted(least.kernel, sizes)
        time = block_time(counted.events, on, knows_places=not least.moves_places)
        terms |= _terms(kernel, counted, time, on, registers=0)
        return Modelled(terms, time)
    return Modelled(terms)


def modelled(kernel: Kernel, sizes: Mapping[str, int], on: Architecture, registers: int = 0) -> Modelled:
    """Modelled time of a kernel without holes; `registers` per thread and its arrays in shared memory limit how many blocks run
    at once."""
    counted = _counted(kernel, sizes)
    time = block_time(counted.events, on)
    return Modelled(dict(compulsory(kernel, sizes, on).terms) | _terms(kernel, counted, time, on, registers), time)


@dataclass(frozen=True, slots=True)
class _Counted:
    per_block: Counts
    """Counts of the blocks that were run, summed."""
    run_blocks: int
    blocks: int
    """Blocks of the launch."""
    events: tuple[Event, ...]
    """Events for which the blocks that were run may wait."""


_PIPES: dict[Unit, str] = {"load path": "exchange", "f32 units": "arithmetic", "integer units": "integers", "issue": "issue"}
"""Units whose work the interpreter's counts give, with their names in reports."""
_SAMPLE = 3
"""Blocks that are counted along each axis of the grid, at most: a first, an inner and a last one."""


def _counted(kernel: Kernel, sizes: Mapping[str, int]) -> _Counted:
    """Counts of a small launch of whole blocks; at small sizes, of the launch itself."""
    few = _few_blocks(kernel, sizes)
    arrays = {p.name: np.zeros(_shape(p, few), to_numpy(p.dtype)) for p in kernel.params}
    result = run(kernel, arrays, few, check_races=False, note_waits=True)
    return _Counted(result.counts, max(1, math.prod(grid_of(kernel, few))), math.prod(grid_of(kernel, sizes)), result.events)


def _few_blocks(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """Each size cut so that the grid has at most `_SAMPLE` blocks because of it; in proportion, so that tiles stay whole."""
    found = dict(sizes)
    for name in found:
        blocks = math.prod(grid_of(kernel, found))
        one = math.prod(grid_of(kernel, {**found, name: 1}))
        along = max(1, blocks // max(one, 1))
        if along > _SAMPLE:
            found[name] = max(1, -(-found[name] // along)) * _SAMPLE
    return found


def _terms(kernel: Kernel, counted: _Counted, time: BlockTime, on: Architecture, registers: int) -> dict[str, float]:
    """A block loads at least once from memory, and its last store follows from that."""
    device = on.bounds
    cores = device.multiprocessors
    per_block = counted_work(counted.per_block).times(1 / counted.run_blocks)
    rounds = -(-counted.blocks // cores)
    warps = -(-kernel.threads // WARP_LANES)
    resident = max(1, resident_warps(on, registers, shared_bytes(kernel), kernel.threads) // warps)
    waves = -(-counted.blocks // (cores * resident))
    work = replace(
        per_block.times(rounds),
        l2_bytes=per_block.l2_bytes * counted.blocks / cores,
        waiting=waves * max(time.cycles, on.timing.dram_cycles.value),
    )
    cycles = usual(on, l2_bytes=device.l2_gb_s / device.clock_ghz / cores).cycles(work)
    named: dict[str, Unit] = {name: unit for unit, name in _PIPES.items() if cycles[unit] > 0}
    named |= {"l2": "second-level cache", "latency": "latency"}
    return {name: cycles[unit] * 1e-6 / device.clock_ghz for name, unit in named.items()}


def _shape(param: Param, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Shape of the parameter's NumPy array; its last axis holds a vector's components."""
    return _extents(param, sizes) + ((param.dtype.lanes,) if param.dtype.lanes > 1 else ())


def _extents(param: Param, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(int(tabulate(e, {SizeVar(n): v for n, v in sizes.items()})) for e in param.shape)
