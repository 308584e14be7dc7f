"""The work of a decided kernel on a GPU, counted: instructions of warps by unit, wavefronts, sectors, shuffles, barriers.

Counted is what the code surely has: statements of the nest with the warps that run them, control of its sequential loops, what
combining partial results over threads takes; and a small estimate of what a compiler adds for addresses and edges.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from warploom import machines
from warploom.core import DType
from warploom.machines import BANK_BYTES, LINE_BYTES, SECTOR_BYTES, WIDEST_BYTES, Requests, Work
from warploom.operations import Cost
from warploom.schedule.backbone import FREE, ROWS, Operator
from warploom.schedule.cost.loads import Loaded
from warploom.schedule.cost.warps import lines_touched, wavefronts
from warploom.schedule.nest import (
    WARP,
    Barrier,
    Combine,
    Compute,
    Group,
    Guard,
    Kind,
    Load,
    Loop,
    Masks,
    Memory,
    Nest,
    Products,
    Ref,
    Space,
    Statement,
    Store,
    Threads,
    loops,
    products_of,
    statements,
    threads_of,
)
from warploom.schedule.targets import INSTRUCTIONS, LOOP_INSTRUCTIONS

_SPECIAL_COSTS: frozenset[Cost] = frozenset({"special", "root", "tanh", "quotient"})
SPECIAL = {operator: INSTRUCTIONS[row.cost].usual for operator, row in ROWS.items() if row.cost in _SPECIAL_COSTS}
"""Instructions of operations that the special units take part in; one of them is theirs."""
_DESCRIBED, _ORDERED = 4.0, 8.0
"""Instructions of a warp for one `wgmma` with its descriptors, and for the fences and the wait of a part, estimated."""
OWN_PLACES = 32
"""Turns of unrolled loops whose partial results have places of their own."""
START_INSTRUCTIONS = 30.0
"""Instructions of a warp for parameters, indices and first addresses, estimated."""


def work_of(nest: Nest) -> Work:
    """Work of one block; edges of axes that tiles do not divide are not regarded."""
    threads = threads_of(nest)
    copied = copied_values(nest)
    total = Work(issued=START_INSTRUCTIONS * threads.warps)
    parts = products_of(nest)
    of_warps = {id(s) for part in parts for s in part.statements}
    converted = _converted(nest)
    known = Loaded()
    for statement, around in statements(nest.body):
        if id(statement) in of_warps:
            continue
        rounds = float(math.prod(x.size for x in around if x.kind in (Kind.LOOP, Kind.UNROLL)))
        if isinstance(statement, Load):
            rounds *= known.new(statement, around)
        total = total + statement_work(nest, threads, statement, around, copied).times(rounds)
        if isinstance(statement, Load) and statement.target.value in converted - copied:
            lanes = math.prod(x.size for x in around if x.kind is Kind.VECTOR)
            count = float(threads.warps_of(threads.running(around)) * lanes)
            total = total + Work(issued=count, floats=count).times(rounds)
    for part in parts:
        rounds = math.prod(x.size for x in part.around if x.kind in (Kind.LOOP, Kind.UNROLL))
        total = total + products_work(nest, threads, part).times(rounds)
    return total + _control(nest, threads, of_warps)


def _converted(nest: Nest) -> frozenset[int]:
    """Values of floats of 16 bits that sums of products take, and convert."""
    sums = [s for s, _ in statements(nest.body) if isinstance(s, Compute) and s.operator is Operator.FMA]
    return frozenset(
        a.value
        for s in sums
        for a in s.arguments
        if isinstance(a, Ref) and nest.values[a.value].dtype != nest.values[s.target.value].dtype
    )


def products_work(nest: Nest, threads: Threads, part: Products) -> Work:
    """Work of one run of a part that whole warps compute: loads of factors, `mma.sync`, and an address of each slice; or of one
    that groups of them compute."""
    if part.group is not None:
        return _work_of_groups(threads, part, part.group)
    requests = waves = 0
    for factor, together, first in part.matrices():
        memory = factor.load.memory
        places = np.zeros((1, WARP), np.int64)
        places[0, : len(first)] = first if memory.swizzle is None else memory.swizzle.of(first)
        size = nest.buffers[memory.buffer].dtype.size_bytes
        waves += machines.wavefronts(places * size, np.arange(WARP)[None] < len(first), together * size)
        requests += 1
    warps = float(threads.warps)
    on = part.instruction
    issued = part.count + requests + 2 * len(part.rows.slices)
    return Work(
        issued=issued * warps,
        products=((on.factor, part.count * warps * on.products),),
        requests=(Requests(requests * warps, 0.0, waves / requests),),
    )


def _work_of_groups(threads: Threads, part: Products, group: Group) -> Work:
    """`wgmma`, which read their factors from shared memory, and what makes their descriptors."""
    on, warps = part.instruction, float(threads.warps)
    read = (machines.GROUP_ROWS + group.width) * on.deep * on.factor_bytes
    products = part.count * warps * on.products * len(part.columns.parts)
    return Work(
        issued=(_DESCRIBED * part.count + _ORDERED) * warps,
        products=((machines.by_groups(on.factor), products),),
        wavefronts=part.count * warps / machines.GROUP_WARPS * read / LINE_BYTES,
    )


def copied_values(nest: Nest) -> frozenset[int]:
    """Values that pass from global to shared memory without registers."""
    return frozenset(s.target.value for s, _ in statements(nest.body) if isinstance(s, Load) and s.is_async)


def statement_work(nest: Nest, threads: Threads, statement: Statement, around: tuple[Loop, ...], copied: frozenset[int]) -> Work:
    """Work of one iteration of the loops around the statement, all lanes of a vector loop together."""
    vector = next((x for x in around if x.kind is Kind.VECTOR), None)
    match statement:
        case Load(memory=memory):
            return _access(nest, threads, threads.running(around), memory, vector, is_store=False, is_copy=statement.is_async)
        case Store(memory=memory, argument=argument, guards=guards):
            mask = threads.running(around, guards)
            is_copy = isinstance(argument, Ref) and argument.value in copied
            work = _access(nest, threads, mask, memory, vector, is_store=True, is_copy=is_copy)
            tested = threads.warps_of(threads.running(around)) if guards else 0
            return work + Work(issued=float(tested))
        case Compute(target=target, operator=operator, guards=guards):
            warps = threads.warps_of(threads.running(around))
            count = warps * (vector.size if vector else 1)
            work = Work(issued=_edges(guards, warps))
            if operator in FREE:
                return work
            if statement.buffer is not None:  # where its places lie is not known: as if lanes read neighbours
                size = nest.buffers[statement.buffer].dtype.size_bytes
                each = Requests(float(count), size * WARP / SECTOR_BYTES, size * WARP / LINE_BYTES)
                return work + Work(issued=count, requests=(each,))
            if operator in SPECIAL:
                return work + Work(issued=count, specials=count) + _arithmetic(nest, target, (SPECIAL[operator] - 1) * count)
            return work + _arithmetic(nest, target, count)
        case Combine():
            return _combine(nest, threads, statement, around)
        case Barrier():
            return _arriving(threads.warps)
        case _:
            assert_never(statement)


def _arithmetic(nest: Nest, made: Ref, count: float) -> Work:
    """Instructions that make elements of this value."""
    dtype = nest.values[made.value].dtype
    if dtype.is_float and dtype.bits == 64:
        return Work(issued=count, doubles=count)
    return Work(issued=count, floats=count)


def _arriving(warps: int) -> Work:
    return Work(issued=warps, barriers=warps)


def _edges(guards: tuple[Guard, ...], warps: int) -> float:
    return 2.0 * len(guards) * warps


def _access(
    nest: Nest, threads: Threads, running: Masks, memory: Memory, vector: Loop | None, *, is_store: bool, is_copy: bool
) -> Work:
    buffer = nest.buffers[memory.buffer]
    size = buffer.dtype.size_bytes
    lanes, repeats = 1, 1
    if vector is not None:
        stride = dict(memory.offset.terms).get(vector.number, 0)
        widest = WIDEST_BYTES // size
        if stride == 1 and (vector.size <= widest or vector.size % widest == 0):
            lanes = min(vector.size, widest if is_copy or not _is_narrow(buffer.dtype) else 2)
            repeats = vector.size // lanes
        elif stride != 0:
            repeats = vector.size
    asked = float(threads.warps_of(running) * repeats)
    issued = asked + 2.0 * len(memory.guards) * asked
    running = running & threads.running((), memory.guards)
    requests = float(threads.warps_of(running) * repeats)
    if buffer.space is Space.SHARED:
        moved = float(wavefronts(threads, running, memory, size, lanes) * repeats)
        if is_copy:
            return Work(issued=issued - asked, wavefronts=moved)
        return Work(issued=issued, requests=(Requests(requests, 0.0, moved / requests),) if requests else ())
    if not requests:
        return Work(issued=issued)
    lines = float(lines_touched(threads, running, memory, size, lanes, LINE_BYTES) * repeats)
    sectors = float(lines_touched(threads, running, memory, size, lanes, SECTOR_BYTES) * repeats)
    wide = max(lines, float(np.count_nonzero(running)) * repeats * size * lanes / LINE_BYTES)
    alike = Requests(requests, sectors / requests, wide / requests, is_store=is_store)
    return Work(issued=issued, requests=(alike,))


def _is_narrow(dtype: DType) -> bool:
    """Whether it is a float of 16 bits, of which CUDA has vectors of two."""
    return dtype.is_float and dtype.bits == 16


@dataclass(frozen=True, slots=True)
class Combining:
    """How a total over threads is made, of one register."""

    shuffles: int
    left: int
    """Partial results that go through shared memory, for each total; 1: none do."""
    is_shared: bool


def combining(nest: Nest, threads: Threads, node: Combine) -> Combining:
    """Along each thread loop the largest power of two inside aligned groups of a warp is summed by shuffles, the rest through
    shared memory."""
    shape = [int(a.max(initial=0)) + 1 for a in threads.at]
    sizes = {x.number: x for x in loops(nest.body)}
    shuffles, left, is_shared = 0, 1, False
    for number in node.threads:
        loop = sizes[number]
        axis = loop.hardware or 0
        step = math.prod(shape[:axis])
        shuffled = 1
        while (
            step & (step - 1) == 0
            and step * shuffled * 2 <= WARP
            and loop.size % (shuffled * 2) == 0
            and shape[axis] % (shuffled * 2) == 0
        ):
            shuffled *= 2
        shuffles += shuffled.bit_length() - 1
        left *= loop.size // shuffled
        is_shared = is_shared or loop.size // shuffled > 1 or loop.size < shape[axis]
    return Combining(shuffles, left, is_shared)


def _combine(nest: Nest, threads: Threads, node: Combine, around: tuple[Loop, ...]) -> Work:
    """Work of summing over all registers: additions between registers, then those between threads."""
    warps = threads.warps if node.threads else threads.warps_of(threads.running(around))
    summands = math.prod(nest.values[node.source.value].axes[a].size for a in node.registers)
    vector = next((x for x in around if x.kind is Kind.VECTOR), None)
    lanes = vector.size if vector else 1
    work = _arithmetic(nest, node.target, warps * (summands - 1))
    if node.threads:
        how = combining(nest, threads, node)
        exchanges = warps * how.shuffles
        work = work + Work(issued=exchanges, shuffles=exchanges) + _arithmetic(nest, node.target, exchanges)
        if how.is_shared:
            size = nest.values[node.target.value].dtype.size_bytes
            is_wide = how.left * size % WIDEST_BYTES == 0
            reads = how.left * size // WIDEST_BYTES if is_wide else how.left
            waves = reads * (WIDEST_BYTES // BANK_BYTES // 2 if is_wide else 1)  # all lanes ask for one place
            arrivals = (2 if _is_reused(around) else 1) * warps
            put, got = Requests(warps, 0.0, 1.0), Requests(warps * reads, 0.0, waves / reads)
            through = Work(issued=warps * (1 + reads) + 2 * warps, requests=(put, got))
            work = work + _arriving(arrivals) + through + _arithmetic(nest, node.target, warps * (how.left - 1))
    return work.times(lanes)


def _is_reused(around: tuple[Loop, ...]) -> bool:
    """The place for partial results serves several iterations, so that a barrier must stand before it as well."""
    turns = math.prod(x.size for x in around if x.kind is Kind.UNROLL)
    return turns > OWN_PLACES or any(x.kind is Kind.LOOP for x in around)


def _control(nest: Nest, threads: Threads, left_out: Set[int]) -> Work:
    """Work of sequential loops: their control, and an addition per address that moves with them."""
    total = Work()
    around: dict[int, int] = {}
    moving: dict[int, set[tuple[int, tuple[tuple[int, int], ...], bool]]] = {}
    for statement, path in statements(nest.body):
        if id(statement) in left_out:
            continue
        sequential = [x for x in path if x.kind is Kind.LOOP]
        for position, loop in enumerate(sequential):
            around[loop.number] = math.prod(x.size for x in sequential[: position + 1])
        if isinstance(statement, Load | Store):
            fixed = {x.number for x in path if x.kind in (Kind.UNROLL, Kind.VECTOR)}
            terms = tuple(t for t in statement.memory.offset.terms if t[0] not in fixed)
            is_shared = nest.buffers[statement.memory.buffer].space is Space.SHARED
            inner = next((x for x in reversed(sequential) if any(n == x.number for n, _ in terms)), None)
            if inner is not None:
                moving.setdefault(inner.number, set()).add((statement.memory.buffer, terms, is_shared))
    for number, rounds in around.items():
        addresses = sum(1 if is_shared else 2 for _, _, is_shared in moving.get(number, ()))
        total = total + Work(issued=float(LOOP_INSTRUCTIONS.usual + addresses)).times(rounds * threads.warps)
    return total
