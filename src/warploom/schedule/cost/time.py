"""A time for a decided kernel, made of what each part of the GPU has to do: for choosing where there is no GPU to measure on.

No bound: `schedule.bound` gives that. Pipes overlap imperfectly, so that the parts are joined by a norm between maximum and sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.machines import ARCHITECTURES, SECTOR_BYTES, Architecture, Speeds, Work, resident_warps, usual
from warploom.schedule.cost.loads import Loaded
from warploom.schedule.cost.timeline import Latencies, cycles_of
from warploom.schedule.cost.traffic import Traffic, traffic_of
from warploom.schedule.cost.uneven import busiest_of
from warploom.schedule.cost.work import copied_values, work_of
from warploom.schedule.nest import (
    WARP,
    Kind,
    Load,
    Loop,
    Nest,
    Statement,
    bytes_of_shared,
    code_size,
    loops,
    products_of,
    references,
    statements,
    threads_of,
)
from warploom.schedule.targets import Target

START_CYCLES = 300.0
"""Cycles before a block's first work: parameters, indices, first addresses."""
SHARPNESS = 4.0
"""Exponent of the norm that joins the parts of a kernel's time."""
STREAMED = 0.92
"""Share of the memory bandwidth of data sheets that kernels reach which only stream (axpy and copies: 90 to 93%)."""
CODE = 6000
"""Instructions that stay in the instruction caches."""
NOTHING = Work()
OWN_REGISTERS = 24
"""Registers of a thread for addresses and indices."""


@dataclass(frozen=True, slots=True)
class Modelled:
    """Modelled time of one launch."""

    time_ms: float
    launch_ns: float
    parts: tuple[tuple[str, float], ...]
    """Nanoseconds that each part would take by itself, the longest first."""
    least: Mapping[str, float]
    """Nanoseconds of each part in the lower bound, where that was given."""
    registers: int
    """Estimated registers of a thread."""
    blocks_per_core: int
    blocks: int
    threads: int
    work: Work
    """Work of one block."""
    traffic: Traffic

    @property
    def text(self) -> str:
        """For people: what the model expects it to take, its launch, what would take longest by itself."""
        launch = (
            f"{self.blocks} blocks of {self.threads} threads, about {self.registers} registers, {self.blocks_per_core} per core"
        )
        lines = [f"about {self.time_ms * 1e3:.3g} µs by the model, {self.launch_ns / 1e3:.3g} µs of it the launch ({launch})"]
        for name, time in self.parts[:4]:
            if time > 0.0:
                least = f" (at least {self.least[name] / 1e3:.3g} µs)" if self.least[name] > 0.0 else ""
                lines.append(f"  {time / 1e3:.3g} µs  {name}{least}")
        return "\n".join(lines)


_KEPLER = "sm_35"
"""Stands for compute capability 3.0 (`k4000`), whose multiprocessors hold as many warps and have as many lanes."""


def modelled(nest: Nest, target: Target, least: Work = NOTHING) -> Modelled:
    """Modelled time of a kernel on a CUDA target. `least` is its least work: its time is never below what that takes at the
    highest speeds."""
    on = ARCHITECTURES[target.name if target.name in ARCHITECTURES else _KEPLER]
    rates = target.rates
    clock = rates.clock_ghz
    threads = threads_of(nest)
    blocks = math.prod(x.size for x in loops(nest.body) if x.kind is Kind.BLOCK)
    wanted = registers_of(nest)
    warps = threads.warps
    most = min(target.registers, on.limits.registers // (warps * WARP) // 8 * 8)
    registers = min(wanted, most)
    shared = bytes_of_shared(nest)
    fitting = max(1, resident_warps(on, registers, shared, threads.count) // warps)
    each = -(-blocks // rates.cores)
    at_once = min(fitting, each)
    near = (rates.caches[0].size_bytes - at_once * shared) / at_once
    busiest = busiest_of(nest, rates.cores, at_once)
    room = max(near, 0.0), float(rates.caches[-1].size_bytes), at_once * rates.cores
    traffic = traffic_of(busiest.nest, threads, *room)
    per_block = work_of(busiest.nest)
    latencies = latencies_of(on, warps, is_near=traffic.is_near)
    alone = longest = START_CYCLES + cycles_of(busiest.nest, threads, latencies)
    if busiest.longest is not nest:
        longest = START_CYCLES + cycles_of(busiest.longest, threads, latencies)
        traffic = replace(traffic, memory=traffic_of(busiest.longest, threads, *room).memory)  # of all blocks together
    spilled = max(0, wanted - most)
    slowed = (1.0 + spilled / 16.0) * max(1.0, code_size(nest.body) / CODE)
    work = replace(
        per_block.times(busiest.blocks * slowed),
        waiting=max(-(-busiest.blocks // at_once) * alone, longest) * slowed,
        l2_bytes=(traffic.read + traffic.written if on.largest else max(traffic.read, traffic.written)) * busiest.blocks / blocks,
        memory_bytes=traffic.memory / rates.cores,
        launches=1.0,
    )
    speeds = speeds_of(target, on)
    parts: dict[str, float] = {unit: cycles / clock for unit, cycles in speeds.cycles(work).items()}
    time_ms = speeds.time_ns(work, SHARPNESS) / 1e6
    lowest = dict.fromkeys(parts, 0.0) | {unit: cycles / clock for unit, cycles in rates.speeds.cycles(least).items()}
    time_ms = max(time_ms, rates.speeds.time_ns(least) / 1e6)
    listed = tuple(sorted(parts.items(), key=lambda p: -p[1]))
    return Modelled(time_ms, rates.launch_ns, listed, lowest, wanted, fitting, blocks, threads.count, per_block, traffic)


def latencies_of(on: Architecture, warps: int, *, is_near: bool) -> Latencies:
    """Cycles that a block of that many warps waits; `is_near`: its arrays fit the second-level cache."""
    timing = on.timing
    return Latencies(
        far=timing.l2_cycles.value if is_near else timing.dram_cycles.value,
        shared=timing.shared_cycles.value,
        barrier=20.0 + 2.0 * warps,
        arithmetic=timing.arithmetic_cycles.value,
        special=timing.special_cycles.value,
        shuffle=timing.shuffle_cycles.value,
        products={name: rate / on.limits.partitions for name, rate in timing.products_by_kind.items()},
    )


def speeds_of(target: Target, on: Architecture) -> Speeds:
    """Speeds of the target's largest board."""
    rates = target.rates
    per_cycle = 1.0 / rates.clock_ghz / rates.cores
    l2_gb_s = rates.rate("l2_lines_read").machine * SECTOR_BYTES
    return usual(
        on,
        l2_bytes=(l2_gb_s if on.largest is None else min(l2_gb_s, on.largest.l2_gb_s)) * per_cycle,
        memory_bytes=STREAMED * rates.bandwidth_bytes_per_ns * per_cycle,
        clock_ghz=rates.clock_ghz,
        launch_ns=rates.launch_ns,
    )


def registers_of(nest: Nest) -> int:
    """Registers of a thread: the most that values hold at once, each from its first statement to its last, over whole loops
    where it lives across their iterations. What is copied asynchronously takes none."""
    shares: dict[int, float] = {}
    for statement, around in statements(nest.body):
        if isinstance(statement, Load):
            shares[statement.target.value] = max(Loaded().new(statement, around), shares.get(statement.target.value, 0.0))
    parts = products_of(nest)
    copied = copied_values(nest).union(*(part.values for part in parts))
    factors = {id(part.sum): part.registers for part in parts}
    order = list(statements(nest.body))
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, (statement, _) in enumerate(order):
        read, written = references(statement)
        for ref in (r for r in (*read, *written) if r.value not in copied):
            first.setdefault(ref.value, position)
            last[ref.value] = position
    spans = _loop_spans(order)
    for value in first:
        for start, end in spans:
            if first[value] < start <= last[value] < end:
                last[value] = end
    most = 0
    for position in range(len(order)):
        held = sum(_words(nest, v) * shares.get(v, 1.0) for v in first if first[v] <= position <= last[v])
        held += factors.get(id(order[position][0]), 0)
        most = max(most, math.ceil(held))
    return OWN_REGISTERS + most


def _loop_spans(order: Sequence[tuple[Statement, tuple[Loop, ...]]]) -> list[tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for position, (_, around) in enumerate(order):
        for loop in around:
            if loop.kind is Kind.LOOP:
                start, _ = found.get(loop.number, (position, position))
                found[loop.number] = start, position
    return list(found.values())


def _words(nest: Nest, value: int) -> int:
    found = nest.values[value]
    return math.prod(axis.size for axis in found.axes) * -(-found.dtype.size_bytes // 4)
