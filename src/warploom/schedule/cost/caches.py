"""Time that a decided kernel waits for the caches of a CPU: lines that do not stay from one use to the next, and how well they
stream.

A guess, for choosing what to measure first. An access finds its lines again in the next iteration of a loop if all that one
iteration touches fits the cache; lines that neighbour each other in the order of execution are fetched ahead by the hardware.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from warploom.schedule.nest import Kind, Load, Loop, Nest, Space, Store, loops, statements
from warploom.schedule.targets import Target

KEPT = 0.8
"""Share of a cache that one thread's data may count on."""
WAYS = 12
"""Ways of the first-level cache: so many lines whose addresses differ by multiples of a page can stay at once."""
PAGE_BYTES = 4096
PAGES = 64
"""Pages whose addresses a core keeps at hand."""
PAGE_NS = 2.5
"""Nanoseconds to get the address of another page."""
HUGE_BYTES = 8 << 20
"""Arrays of this size on lie in pages so large that their addresses stay at hand."""
LINE_BYTES = 64
STREAMS = 32
"""Runs of lines that are fetched ahead at the same time."""
_RESTARTS = 0.5, 2.0, 4.0
"""Lines' worth of waiting where a run begins, by level."""


@dataclass(frozen=True, slots=True)
class _Level:
    """A cache, or what is kept of pages' addresses: `capacity` units of `unit_bytes`."""

    unit_bytes: int
    capacity: float
    ns: float
    """Nanoseconds to bring a unit."""
    restart: float
    """Units' worth of waiting where a run of neighbours begins."""
    ways: int = 0
    """Ways of one set of a page's lines; 0: addresses do not compete."""
    spared: float = 0.0
    """Units that one run of the kernel leaves for the next."""


@dataclass(frozen=True, slots=True, eq=False)
class _Access:
    strides: dict[int, int]
    """Strides in bytes, by loop."""
    width: int
    around: tuple[Loop, ...]
    has_pages: bool
    kind: tuple[int, tuple[tuple[int, int], ...]]
    """Accesses of one kind touch the same."""
    line: int
    """Line of its first element, where all loops are at 0."""

    def touched(self, inner: Iterable[Loop], unit: int) -> tuple[int, int, list[tuple[int, int]]]:
        """(units, bytes of a run, loops that repeat the run as (bytes, size)) of these loops: smaller strides make runs."""
        run, count = self.width, 1
        apart: list[tuple[int, int]] = []
        for stride, size in sorted((abs(self.strides.get(x.number, 0)), x.size) for x in inner):
            if not stride or size == 1:
                continue
            if stride <= max(run, unit):
                run += stride * (size - 1)
            else:
                count *= size
                apart.append((stride, size))
        return count * -(-run // unit), run, apart

    def follows(self, other: _Access, depth: int) -> bool:
        """In one iteration of the loop at that depth, the other access touches the same lines."""
        outer = self.around[: depth + 1]
        return (
            (self.kind[0], self.line) == (other.kind[0], other.line)
            and other.around[: depth + 1] == outer
            and all(self.strides.get(x.number, 0) == other.strides.get(x.number, 0) for x in outer)
            and self._inside(depth) == other._inside(depth)
        )

    def _inside(self, depth: int) -> list[tuple[int, int]]:
        """(stride, size) of the loops further inside along which it moves."""
        loops = ((abs(self.strides.get(x.number, 0)), x.size) for x in self.around[depth + 1 :])
        return sorted(pair for pair in loops if pair[0] and pair[1] > 1)

    def in_turn(self) -> tuple[int, int]:
        """(bytes of neighbours that are touched one after another, such runs at the same time)."""
        run, streams = self.width, 1
        copies = [x for x in self.around if x.kind in (Kind.VECTOR, Kind.UNROLL)]
        for stride, size in sorted((abs(self.strides.get(x.number, 0)), x.size) for x in copies):
            if stride and stride <= max(run, 64):
                run += stride * (size - 1)
            elif stride:
                streams *= size
        for loop in reversed(self.around):
            stride = abs(self.strides.get(loop.number, 0))
            if loop in copies or not stride:
                continue
            if stride > max(run, 64):
                break
            run += stride * (loop.size - 1)
        return run, streams


@dataclass(slots=True)
class _Kept:
    """Units that one iteration of a loop touches, at one level."""

    level: _Level
    inside: dict[int, list[tuple[_Access, tuple[Loop, ...]]]]
    """By loop: accesses in it, with their loops inside it."""
    known: dict[int, float] = field(default_factory=dict[int, float])

    def of(self, loop: Loop) -> float:
        if loop.number not in self.known:
            most: dict[tuple[int, tuple[tuple[int, int], ...]], float] = {}
            for access, inner in self.inside[loop.number]:
                most[access.kind] = max(most.get(access.kind, 0.0), self._places(access, inner))
            self.known[loop.number] = sum(most.values())
        return self.known[loop.number]

    def _places(self, access: _Access, inner: tuple[Loop, ...]) -> float:
        level = self.level
        units, run, apart = access.touched(inner, level.unit_bytes)
        if not level.ways or not apart:
            return units
        sets = PAGE_BYTES // level.unit_bytes
        used = min(sets, -(-run // level.unit_bytes))
        for stride, size in apart:
            used = min(sets, used * min(size, PAGE_BYTES // math.gcd(stride, PAGE_BYTES)))
        crowd = units / used
        return max(float(units), crowd / level.ways * level.capacity if crowd > 1 else 0.0)


def waiting_ns(nest: Nest, target: Target) -> tuple[float, ...]:
    """Nanoseconds that each level of the caches would take by itself, the nearest first; pages count with the first."""
    accesses = [_access(nest, s, around) for s, around in statements(nest.body) if isinstance(s, Load | Store)]
    inside: dict[int, list[tuple[_Access, tuple[Loop, ...]]]] = {}
    for access in accesses:
        for depth, loop in enumerate(access.around):
            inside.setdefault(loop.number, []).append((access, access.around[depth + 1 :]))
    blocks = math.prod(x.size for x in loops(nest.body) if x.kind is Kind.BLOCK)
    parallel = max(1, min(target.rates.cores, blocks))
    levels = _levels(target)
    found = [_fetched(accesses, _Kept(level, inside)) / parallel for level in levels]
    pages = _Kept(_Level(PAGE_BYTES, PAGES, PAGE_NS, 0.0), inside)
    found[0] += _fetched([a for a in accesses if a.has_pages], pages) / parallel
    return tuple(found)


def _access(nest: Nest, statement: Load | Store, around: tuple[Loop, ...]) -> _Access:
    memory = statement.memory
    buffer = nest.buffers[memory.buffer]
    width = buffer.dtype.size_bytes
    has_pages = buffer.space is not Space.SHARED and buffer.elements * width < HUGE_BYTES
    strides = {number: stride * width for number, stride in memory.offset.terms}
    line = memory.offset.constant * width // LINE_BYTES
    return _Access(strides, width, around, has_pages, (memory.buffer, memory.offset.terms), line)


def _levels(target: Target) -> list[_Level]:
    rates = target.rates
    speeds = [1 / rates.rate("l1_lines").core, 1 / rates.rate("l2_lines_read").core]
    found: list[_Level] = []
    for number, cache in enumerate(rates.caches):
        is_last = number == len(rates.caches) - 1
        size = cache.size_bytes / (rates.cores if cache.is_shared else 1) / cache.line_bytes
        ns = cache.line_bytes / rates.bandwidth_bytes_per_ns * rates.cores if is_last else speeds[min(number, 1)]
        spared = KEPT * size * rates.cores if is_last else 0.0
        ways = 0 if number else WAYS
        found.append(_Level(cache.line_bytes, KEPT * size, ns, _RESTARTS[2 if is_last else min(number, 1)], ways, spared))
    return found


def _fetched(accesses: Sequence[_Access], kept: _Kept) -> float:
    level = kept.level
    total = 0.0
    for number, access in enumerate(accesses):
        depth = next((n for n, loop in enumerate(access.around) if kept.of(loop) <= level.capacity), None)
        if depth is not None and any(access.follows(other, depth) for other in accesses[:number]):
            continue
        again, inner = 1, list[Loop]()
        for loop in reversed(access.around):
            if again == 1 and (loop.kind in (Kind.VECTOR, Kind.UNROLL) or kept.of(loop) <= level.capacity):
                inner.append(loop)
            else:
                again *= loop.size
        units, _, _ = access.touched(inner, level.unit_bytes)
        run, streams = access.in_turn()
        begun = level.restart * level.unit_bytes / max(run, level.unit_bytes) * (1 if streams <= STREAMS else 2)
        total += max(0.0, units * again - level.spared) * level.ns * (1 + begun)
    return total
