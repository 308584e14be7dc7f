"""Bytes that pass between the levels of memory: what is touched, again where a cache cannot have kept it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from warploom.core.linear import Linear
from warploom.machines import SECTOR_BYTES, Work
from warploom.schedule.backbone import Role
from warploom.schedule.cost.work import copied_values, statement_work
from warploom.schedule.nest import Affine, Cache, Kind, Load, Loop, Nest, Space, Store, Threads, loops, statements

KEPT = 0.5
"""Share of a cache that one access may count on."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of the whole launch."""

    read: float
    """Bytes read into the first-level caches."""
    written: float
    memory: float
    """Bytes from and to memory; nothing where all arrays fit the second-level cache, which repeated launches find filled."""
    is_near: bool
    """All arrays fit the second-level cache."""


def traffic_of(nest: Nest, threads: Threads, near_bytes: float, far_bytes: float, at_once: int) -> Traffic:
    """`near_bytes` of the first-level cache for one block, `far_bytes` of the second, blocks that run at once."""
    blocks = [x for x in loops(nest.body) if x.kind is Kind.BLOCK]
    count = math.prod(x.size for x in blocks)
    copied = copied_values(nest)
    total = sum(b.elements * b.dtype.size_bytes for b in nest.buffers if b.role is not Role.TEMPORARY)
    is_near = total <= far_bytes
    read = written = memory = 0.0
    whole: dict[int, float] = {}
    seen: dict[tuple[int, Affine], float] = {}
    for statement, around in statements(nest.body):
        if not isinstance(statement, Load | Store) or nest.buffers[statement.memory.buffer].space is Space.SHARED:
            continue
        number, offset = statement.memory.buffer, statement.memory.offset
        size = nest.buffers[number].dtype.size_bytes
        rounds = math.prod(x.size for x in around if x.kind in (Kind.LOOP, Kind.UNROLL))
        work: Work = statement_work(nest, threads, statement, around, copied)
        if isinstance(statement, Store):
            moved = work.sectors(is_store=True) * SECTOR_BYTES * rounds
            written += moved * count
        else:
            asked = work.sectors(is_store=False) * SECTOR_BYTES * rounds
            cached = statement.memory.cache in (Cache.ALL, Cache.READ_ONLY)
            moved = min(asked, fetched(offset, around, size, near_bytes * KEPT)) if cached else asked
            same = seen.get((number, Linear(offset.terms)), 0.0)
            if cached and same >= moved and near_bytes * KEPT > SECTOR_BYTES:
                moved *= 0.25  # a neighbour's lines: stencils load them once
            seen[number, Linear(offset.terms)] = max(same, moved)
            read += moved * count
        every = distinct(offset, around, size)
        if not is_near:
            wave = distinct(offset, (*_first(blocks, at_once), *(x for x in around if x.kind is not Kind.BLOCK)), size)
            again = wave * max(1.0, count / max(1, at_once)) if every > far_bytes * KEPT else every
            needed = max(every, min(again, moved * count))
            whole[number] = max(whole.get(number, 0.0), needed)
    memory = sum(whole.values())
    return Traffic(read, written, memory, is_near)


def _first(blocks: list[Loop], at_once: int) -> list[Loop]:
    """The block loops that the blocks running at once cover: hardware runs the fastest dimension first."""
    found: list[Loop] = []
    covered = 1
    for loop in sorted(blocks, key=lambda x: x.hardware or 0):
        if covered >= at_once:
            break
        found.append(loop)
        covered *= loop.size
    return found


def fetched(offset: Affine, around: Iterable[Loop], element_bytes: int, capacity: float) -> float:
    """Bytes of one block: a loop whose iterations together do not fit fetches anew in each of them."""
    path = [x for x in around if x.kind in (Kind.LOOP, Kind.UNROLL)]
    parallel = [x for x in around if x.kind in (Kind.THREAD, Kind.VECTOR)]
    passes = 1.0
    for position in range(len(path) + 1):
        touched = distinct(offset, (*path[position:], *parallel), element_bytes)
        if touched <= capacity or position == len(path):
            return passes * touched
        passes *= path[position].size
    return passes


def distinct(offset: Affine, around: Iterable[Loop], element_bytes: int) -> float:
    """Bytes of the sectors that these loops touch: the smaller strides make runs, the larger ones repeat them."""
    sizes = {x.number: x.size for x in around}
    run, count = element_bytes, 1
    for stride, size in sorted((abs(s) * element_bytes, sizes[n]) for n, s in offset.terms if n in sizes):
        if stride <= max(run, SECTOR_BYTES if run == element_bytes else 0):
            run += stride * (size - 1)
        else:
            count *= size
    return float(count * -(-run // SECTOR_BYTES) * SECTOR_BYTES)
