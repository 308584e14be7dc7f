"""Permuted temporaries: the `rot` or `xor` of `ir.swizzle` with the fewest bank conflicts, if one is better than none; or the one
that products of four warps ask for (`nest.groups`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle import Rot, Window, Xor, core_cost
from warploom.machines import LINE_BYTES, wavefronts_each, ways_each
from warploom.schedule.nest import (
    ATOM_BYTES,
    WARP,
    Factor,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Products,
    Space,
    Store,
    Swizzle,
    Threads,
    atoms_swizzle,
    products_of,
    statements,
    threads_of,
)

_MOST_WARPS = 4
"""Most warps of a block that are looked at."""
_TOGETHER = 16
"""Swizzles that are counted at once."""
_PERIODS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class _Access:
    """An access of a block's first warps, at index 0 of all loops that are no threads."""

    places: NDArray[np.int64]
    """[warps, threads of a warp]; of each thread's first element."""
    active: NDArray[np.bool_]
    elements: int
    """Neighbours that a thread accesses together."""

    def wavefronts(self, swizzles: Sequence[Swizzle | None], element_bytes: int) -> NDArray[np.int64]:
        """With each of the swizzles."""
        places = np.concatenate([self.places if s is None else s.of(self.places) for s in swizzles])
        active = np.tile(self.active, (len(swizzles), 1))
        each = wavefronts_each(places * element_bytes, active, self.elements * element_bytes)
        return each.reshape(len(swizzles), -1).sum(axis=1)

    def least(self, element_bytes: int) -> int:
        """However the elements lie, as long as those of one thread stay together."""
        total = 0
        for places, active in zip(self.places, self.active, strict=True):
            total += -(-len(np.unique(places[active])) * self.elements * element_bytes // LINE_BYTES)
        return total


def swizzled(nest: Nest, buffer: int) -> Nest:
    """The nest with the buffer's places permuted alike in all its accesses; the nest itself where that cannot help."""
    found = nest.buffers[buffer]
    if found.space is not Space.SHARED:
        return nest
    accesses = _accesses(nest, buffer)
    warps = tuple((a.places.shape, a.places.tobytes(), a.active.tobytes(), a.elements) for a in accesses)
    best = _fewest_conflicts(found.elements, found.dtype.size_bytes, warps)
    return nest if best is None else replace(nest, body=_permuted(nest.body, buffer, best))


def bank_conflicts(nest: Nest) -> int:
    """Most wavefronts of lanes that go together, over the accesses to shared memory of a block's first warps at index 0 of all
    loops that are no threads; 1: none has a conflict, 0: there are none."""
    most = 0
    for number, buffer in enumerate(nest.buffers):
        if buffer.space is Space.SHARED:
            size = buffer.dtype.size_bytes
            for access in _accesses(nest, number, is_placed=True):
                each = ways_each(access.places * size, access.active, access.elements * size)
                most = max(most, int(each.max(initial=0)))
    return most


def _accesses(nest: Nest, buffer: int, *, is_placed: bool = False) -> list[_Access]:
    """is_placed: where the nest's permutation puts them."""
    threads = threads_of(nest)
    of_warps = {id(f.load): (p, f) for p in products_of(nest) for f in (p.rows, p.columns)}
    found: list[_Access] = []
    for statement, around in statements(nest.body):
        if isinstance(statement, Load | Store) and statement.memory.buffer == buffer:
            whole = of_warps.get(id(statement))
            access = _access(threads, statement, around) if whole is None else _of_matrices(*whole)
            swizzle = statement.memory.swizzle if is_placed else None
            found.append(access if swizzle is None else replace(access, places=swizzle.of(access.places)))
    return found


@lru_cache(maxsize=256)
def _fewest_conflicts(
    elements: int, element_bytes: int, warps: tuple[tuple[tuple[int, ...], bytes, bytes, int], ...]
) -> Swizzle | None:
    """The best permutation of an array of so many elements; None: as it lies. warps: of each access, what `_Access` has.
    Neighbours in a search have the same ones."""
    by_width: dict[int, list[_Access]] = {}
    for shape, places, active, width in warps:
        arrays = np.frombuffer(places, np.int64).reshape(shape), np.frombuffer(active, np.bool_).reshape(shape)
        by_width.setdefault(width, []).append(_Access(*arrays, width))
    accesses = [
        _Access(np.concatenate([a.places for a in alike]), np.concatenate([a.active for a in alike]), width)
        for width, alike in by_width.items()
    ]
    least = sum(a.least(element_bytes) for a in accesses)
    best: tuple[int, Swizzle | None] = (sum(int(a.wavefronts([None], element_bytes)[0]) for a in accesses), None)
    swizzles = _cheapest_first(elements, max(by_width), element_bytes)
    for first in range(0, len(swizzles), _TOGETHER):
        if best[0] <= least:
            break
        some = swizzles[first : first + _TOGETHER]
        costs: list[int] = np.sum([a.wavefronts(some, element_bytes) for a in accesses], axis=0).tolist()
        cheapest = costs.index(min(costs))
        if costs[cheapest] < best[0]:
            best = costs[cheapest], some[cheapest]
    return best[1]


def in_atoms(nest: Nest, buffer: int) -> Nest:
    """The nest with the buffer's places permuted as `wgmma` reads them; the nest itself where it is not of whole atoms."""
    found = nest.buffers[buffer]
    size = found.dtype.size_bytes
    if found.space is not Space.SHARED or size > 2 or found.elements * size % ATOM_BYTES:
        return nest
    buffers = (*nest.buffers[:buffer], replace(found, alignment=ATOM_BYTES), *nest.buffers[buffer + 1 :])
    return replace(nest, buffers=buffers, body=_permuted(nest.body, buffer, atoms_swizzle(size)))


def _cheapest_first(elements: int, together: int, element_bytes: int) -> Sequence[Swizzle]:
    """Candidates in order of the operations of an index; rows of a few banks to a few times all of them."""
    priced = [(core_cost(s.core, Window(elements, s.unit, s.core.n), elements // s.row), n, s)
              for n, s in enumerate(_swizzles(elements, together, element_bytes))]  # fmt: skip
    return [s for *_, s in sorted(priced, key=lambda p: p[:2])]


def _swizzles(elements: int, together: int, element_bytes: int) -> Iterator[Swizzle]:
    most = 4 * LINE_BYTES // element_bytes
    unit = together
    while 2 * unit <= most:
        for n in range(2, most // unit + 1):
            if elements % (unit * n) or elements == unit * n:
                continue
            rows = elements // (unit * n)
            if n & (n - 1) == 0:
                yield from (Swizzle(Xor(n, period), unit) for period in _PERIODS if period < rows)
            yield from (Swizzle(Rot(n, scale), unit) for scale in (1, 2, 3, 4, 8) if scale < n)
            yield from (Swizzle(Rot(n, 0, period), unit) for period in _PERIODS[1:] if period < rows)
        unit *= 2


def _access(threads: Threads, statement: Node, around: tuple[Loop, ...]) -> _Access:
    assert isinstance(statement, Load | Store)
    lanes = next((loop.size for loop in around if loop.kind is Kind.VECTOR), 1)
    places = threads.rows(threads.value(statement.memory.offset))
    active = threads.rows(threads.running(around))
    return _Access(places[:_MOST_WARPS], active[:_MOST_WARPS], lanes)


def _of_matrices(products: Products, factor: Factor) -> _Access:
    """The parts of the factor that instructions of a warp load, each all at once."""
    loads = [(together, places) for found, together, places in products.matrices() if found is factor]
    together, first = loads[0]
    requests = np.zeros((len(loads), WARP), np.int64)
    requests[:, : len(first)] = [places for _, places in loads]
    return _Access(requests, np.broadcast_to(np.arange(WARP) < len(first), requests.shape), together)


def _permuted(nodes: tuple[Node, ...], buffer: int, swizzle: Swizzle) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            found.append(replace(node, body=_permuted(node.body, buffer, swizzle)))
        elif isinstance(node, Load | Store) and node.memory.buffer == buffer:
            found.append(replace(node, memory=replace(node.memory, swizzle=swizzle)))
        else:
            found.append(node)
    return tuple(found)
