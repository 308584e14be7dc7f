"""Bytes that pass between the levels of memory: what is touched, again where a cache cannot have kept it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

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
    asked: float = 0.0
    """Bytes of the sectors that loads ask for."""
    different: float = 0.0
    """The same, each sector once."""

    @property
    def repeated(self) -> float:
        """Share of what loads ask for that was asked for before, from 0 to 1."""
        return max(0.0, 1.0 - self.different / self.asked) if self.asked else 0.0


@dataclass(slots=True)
class _Alike:
    """Accesses to one array in loops of the same strides and sizes: they touch the same places but for a constant."""

    offset: Affine
    around: tuple[Loop, ...]
    element_bytes: int
    is_cached: bool
    asked: float = 0.0
    """Bytes of the sectors that they ask for, in one block."""
    constants: set[int] = field(default_factory=set[int])


def traffic_of(nest: Nest, threads: Threads, near_bytes: float, far_bytes: float, at_once: int) -> Traffic:
    """`near_bytes` of the first-level cache for one block, `far_bytes` of the second, blocks that run at once."""
    blocks = [x for x in loops(nest.body) if x.kind is Kind.BLOCK]
    count = math.prod(x.size for x in blocks)
    total = sum(b.elements * b.dtype.size_bytes for b in nest.buffers if b.role is not Role.TEMPORARY)
    is_near = total <= far_bytes
    read = written = 0.0
    whole: dict[int, float] = {}
    asked = different = 0.0
    for (number, is_store), every in _accesses(nest, threads).items():
        whole_bytes = _bytes_of(nest, number)
        touched_each = [min(whole_bytes, distinct(a.offset, a.around, a.element_bytes, a.constants)) for a in every]
        if not is_store:
            asked += sum(a.asked for a in every) * count
            different += max(touched_each)
        for alike, touched in zip(every, touched_each, strict=True):
            moved = alike.asked
            if alike.is_cached:
                moved = min(moved, fetched(alike.offset, alike.around, alike.element_bytes, near_bytes * KEPT, alike.constants))
            if is_store:
                written += moved * count
            else:
                read += moved * count
            if is_near:
                continue
            inner = [x for x in alike.around if x.kind is not Kind.BLOCK]
            together = _first(blocks, at_once)
            wave = min(whole_bytes, distinct(alike.offset, (*together, *inner), alike.element_bytes, alike.constants))
            waves = count / math.prod(x.size for x in together)
            again = wave * waves if touched > far_bytes * KEPT else touched
            needed = max(touched, min(again, moved * count))
            whole[number] = max(whole.get(number, 0.0), needed)
    return Traffic(read, written, sum(whole.values()), is_near, asked, different)


def _bytes_of(nest: Nest, number: int) -> float:
    """Bytes of the sectors of an array."""
    buffer = nest.buffers[number]
    return float(_sectors(buffer.elements, buffer.dtype.size_bytes) * SECTOR_BYTES)


def _accesses(nest: Nest, threads: Threads) -> dict[tuple[int, bool], list[_Alike]]:
    """Loads and stores of each array of global memory. Stores, and loads around the cache, stand by themselves."""
    copied = copied_values(nest)
    found: dict[tuple[int, bool], list[_Alike]] = {}
    known: dict[object, _Alike] = {}
    for statement, around in statements(nest.body):
        if not isinstance(statement, Load | Store) or nest.buffers[statement.memory.buffer].space is Space.SHARED:
            continue
        number, offset, is_store = statement.memory.buffer, statement.memory.offset, isinstance(statement, Store)
        size = nest.buffers[number].dtype.size_bytes
        rounds = math.prod(x.size for x in around if x.kind in (Kind.LOOP, Kind.UNROLL))
        work: Work = statement_work(nest, threads, statement, around, copied)
        is_cached = not is_store and statement.memory.cache in (Cache.ALL, Cache.READ_ONLY)
        strides = dict(offset.terms)
        path = tuple((x.number, x.size) if x.kind is Kind.LOOP else (strides.get(x.number, 0), x.size) for x in around)
        key = (number, path) if is_cached else (number, id(statement))
        if key not in known:
            known[key] = _Alike(offset, around, size, is_cached)
            found.setdefault((number, is_store), []).append(known[key])
        known[key].constants.add(offset.constant)
        known[key].asked += work.sectors(is_store=is_store) * SECTOR_BYTES * rounds
    return found


def _first(blocks: list[Loop], at_once: int) -> list[Loop]:
    """The block loops that the blocks running at once cover, the last one perhaps in part: hardware runs the fastest dimension
    first."""
    found: list[Loop] = []
    covered = 1
    for loop in sorted(blocks, key=lambda x: x.hardware or 0):
        if covered >= at_once:
            break
        found.append(replace(loop, size=min(loop.size, -(-at_once // covered))))
        covered *= loop.size
    return found


def fetched(
    offset: Affine, around: Iterable[Loop], element_bytes: int, capacity: float, constants: Iterable[int] = (0,)
) -> float:
    """Bytes of one block: a loop whose iterations together do not fit fetches anew in each of them."""
    path = [x for x in around if x.kind in (Kind.LOOP, Kind.UNROLL)]
    parallel = [x for x in around if x.kind in (Kind.THREAD, Kind.VECTOR)]
    passes = 1.0
    for position in range(len(path) + 1):
        touched = distinct(offset, (*path[position:], *parallel), element_bytes, constants)
        if touched <= capacity or position == len(path):
            return passes * touched
        passes *= path[position].size
    return passes


def distinct(offset: Affine, around: Iterable[Loop], element_bytes: int, constants: Iterable[int] = (0,)) -> float:
    """Bytes of the sectors that these loops touch at places with each of these constants: the smaller strides make runs, the
    larger ones rows of them, which are the same where loops overlap (`h + r`) or constants lie rows apart."""
    sizes = {x.number: x.size for x in around}
    run = 1
    rows: list[list[int]] = []
    """Stride and number, of runs and of rows of them."""
    for stride, size in sorted((abs(s), sizes[n]) for n, s in offset.terms if n in sizes):
        last = rows[-1] if rows else [0, 0]
        if stride * element_bytes <= max(run * element_bytes, SECTOR_BYTES if run == 1 else 0):
            run += stride * (size - 1)
        elif rows and stride % last[0] == 0 and stride <= last[0] * last[1]:
            last[1] += stride // last[0] * (size - 1)
        else:
            rows.append([stride, size])
    alone = _sectors(run, element_bytes) * math.prod(size for _, size in rows)
    every = sorted(set(constants))
    if len(every) < 2:
        return float(alone * SECTOR_BYTES)
    spans = [[0, 0] for _ in rows]
    starts = {0}
    for constant in every:
        rest = constant - every[0]
        for span, (stride, _) in reversed(list(zip(spans, rows, strict=True))):
            steps = (2 * rest + stride) // (2 * stride)  # the nearest row
            span[0], span[1] = min(span[0], steps), max(span[1], steps)
            rest -= steps * stride
        starts.add(rest)
    together = math.prod(size + high - low for (_, size), (low, high) in zip(rows, spans, strict=True))
    return float(min(alone * len(every), together * _sectors_of_runs(sorted(starts), run, element_bytes)) * SECTOR_BYTES)


def _sectors_of_runs(starts: list[int], run: int, element_bytes: int) -> int:
    """Sectors of runs of one length; those that meet or are less than a sector apart are taken together."""
    found, first, end = 0, starts[0], starts[0] + run
    for start in starts[1:]:
        if (start - end) * element_bytes >= SECTOR_BYTES:
            found += _sectors(end - first, element_bytes)
            first = start
        end = start + run
    return found + _sectors(end - first, element_bytes)


def _sectors(run: int, element_bytes: int) -> int:
    return -(-run * element_bytes // SECTOR_BYTES)
