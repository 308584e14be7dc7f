"""Inputs in shared memory: what the results of a block read of an array, and their neighbours read again, is copied once.

The elements that a block reads between two rounds of the loops around its threads lie in a box: along each index of the array
from the least to the greatest place. All threads copy the box, a barrier follows, and loads read it instead of the array.

Source: overlapped tiles with a halo, as Holewinski et al., High-Performance Code Generation for Stencil Computations on GPU
Architectures (2012), section 3, have them for one step in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from warploom.core.linear import Linear, variable
from warploom.schedule.backbone import Region, Role
from warploom.schedule.nest import (
    Affine,
    Buffer,
    Cache,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Space,
    Store,
    Value,
    hardware_sizes,
    interval,
    loops,
    statements,
)

_ROOM = 32 * 1024
"""Bytes that a box may take where a smaller one, copied more often, is possible."""
_WRITTEN_OUT = 32
"""Copies of a thread that are written out, so that their loads are on their way together."""


@dataclass(frozen=True, slots=True)
class _Side:
    """An index of the array: `outer` is the same for all threads and rounds of a box, `first` the least of the rest."""

    outer: Affine
    first: int
    size: int

    @property
    def start(self) -> Affine:
        return self.outer.shifted(self.first)


def windowed(
    nest: Nest,
    number: int,
    region: Region,
    indices: Mapping[Memory, tuple[Affine, ...]],
    ends: Set[Guard],
    shared_bytes: int,
) -> Nest:
    """The nest with that input's loads from a box in shared memory; the nest itself where the box has no place there, and where
    the loads do not move alike with the loops outside.

    indices: of each load, by index of the array. ends: guards that only keep accesses inside the array, since no result depends
    on what they stop.
    """
    found = [(s, around) for s, around in statements(nest.body) if isinstance(s, Load) and s.memory.buffer == number]
    if not found or any(load.memory not in indices for load, _ in found):
        return nest
    taken = sum(b.elements * b.copies * b.dtype.size_bytes for b in nest.buffers if b.space is Space.SHARED)
    sizes = {loop.number: loop.size for loop in loops(nest.body)}
    outside = _outside([around for _, around in found])
    chosen: tuple[int, tuple[_Side, ...]] | None = None
    for depth in range(sum(x.kind is Kind.BLOCK for x in outside), len(outside) + 1):
        sides = _sides([indices[load.memory] for load, _ in found], {x.number for x in outside[:depth]}, sizes)
        size = 0 if sides is None else prod(s.size for s in sides) * region.dtype.size_bytes
        if sides is not None and taken + size <= shared_bytes:
            chosen = depth, sides
            if size <= _ROOM:
                break
    if chosen is None:
        return nest
    depth, sides = chosen
    fills = {load.memory.fill for load, _ in found if not set(load.memory.guards) <= ends}
    window = _Window(nest, number, region, sides, sizes, fills, ends)
    return window.put_into(nest, outside[:depth], indices)


def _outside(paths: Sequence[tuple[Loop, ...]]) -> list[Loop]:
    """Block loops and sequential loops around all loads, outside of all threads."""
    common: list[Loop] = []
    for loop in paths[0]:
        if loop.kind not in (Kind.BLOCK, Kind.LOOP) or any(loop.number not in {x.number for x in path} for path in paths):
            break
        common.append(loop)
    return common


def _sides(places: Sequence[tuple[Affine, ...]], outside: set[int], sizes: Mapping[int, int]) -> tuple[_Side, ...] | None:
    found: list[_Side] = []
    for indices in zip(*places, strict=True):
        outer = indices[0].only(outside)
        if any(index.only(outside) != outer for index in indices):
            return None
        spans = [interval(index.without(outside), sizes) for index in indices]
        first, last = min(low for low, _ in spans), max(high for _, high in spans)
        found.append(_Side(outer, first, last - first + 1))
    return tuple(found)


class _Window:
    """The box, its copy, and the loads from it."""

    def __init__(
        self,
        nest: Nest,
        number: int,
        region: Region,
        sides: tuple[_Side, ...],
        sizes: Mapping[int, int],
        fills: set[float],
        ends: Set[Guard],
    ) -> None:
        self.nest, self.number, self.region, self.sides = nest, number, region, sides
        self.sizes = dict(sizes)
        self.fill = fills.pop() if len(fills) == 1 else None
        """The value of all loads beyond the array; the box has it there, so that they need not ask."""
        self.ends = ends
        self.buffer = len(nest.buffers)
        self.value = len(nest.values)
        self.next_loop = max(sizes, default=0) + 1
        self.strides = [prod(s.size for s in sides[n + 1 :]) for n in range(len(sides))]

    def put_into(self, nest: Nest, outside: Sequence[Loop], indices: Mapping[Memory, tuple[Affine, ...]]) -> Nest:
        self.indices = indices
        body = self._put(nest.body, [loop.number for loop in outside])
        elements = prod(s.size for s in self.sides)
        box = Buffer(f"box_{self.region.name}", self.region.dtype, elements, Role.TEMPORARY, Space.SHARED)
        value = Value(f"copied_{self.region.name}", self.region.dtype, ())
        return replace(nest, body=body, buffers=(*nest.buffers, box), values=(*nest.values, value))

    def _put(self, nodes: tuple[Node, ...], path: Sequence[int]) -> tuple[Node, ...]:
        if path:
            return tuple(
                replace(n, body=self._put(n.body, path[1:])) if isinstance(n, Loop) and n.number == path[0] else n for n in nodes
            )
        first = next(n for n, node in enumerate(nodes) if self._reads(node))
        rest = tuple(self._changed(node) for node in nodes[first:])
        return (*nodes[:first], self._copy(), *rest)

    def _reads(self, node: Node) -> bool:
        return any(isinstance(s, Load) and s.memory.buffer == self.number for s, _ in statements((node,)))

    def _changed(self, node: Node) -> Node:
        if isinstance(node, Load) and node.memory.buffer == self.number:
            return replace(node, memory=self._inside(node.memory))
        if not isinstance(node, Loop) or not self._reads(node):
            return node
        kind = Kind.UNROLL if node.kind is Kind.VECTOR else node.kind  # the box is not aligned as the array is
        return replace(node, kind=kind, body=tuple(self._changed(x) for x in node.body))

    def _inside(self, memory: Memory) -> Memory:
        offset: Affine = Linear()
        places = self.indices[memory]
        for index, side, stride in zip(places, self.sides, self.strides, strict=True):
            offset = offset.plus(index.plus(side.start, -1), stride)
        edges = (
            {Guard(index, size) for index, size in zip(places, self.region.shape, strict=True)} if self.fill is not None else ()
        )
        guards = tuple(g for g in memory.guards if g not in edges and g not in self.ends)
        return Memory(self.buffer, offset, guards, memory.fill if guards else 0.0)

    def _copy(self) -> Node:
        """Threads lie along the last index, those of further dimensions along those before it; what their number does not divide
        is copied by some of them."""
        threads: list[Loop] = []
        shares: list[list[Loop]] = [[] for _ in self.sides]
        side = len(self.sides) - 1
        for hardware, size in enumerate(hardware_sizes(self.nest, Kind.THREAD)):
            if size > 1:
                loop = self._loop(f"copy_{'xyz'[hardware]}", Kind.THREAD, size, hardware)
                threads.append(loop)
                shares[side].append(loop)
                side = max(0, side - 1)
        own: list[tuple[Affine, int]] = []
        for share in shares:
            thread: Affine = Linear()
            step = 1
            for loop in share:
                thread = thread.plus(variable(loop.number), step)
                step *= loop.size
            own.append((thread, step))
        every = product(*(_parts(side.size, step) for side, (_, step) in zip(self.sides, own, strict=True)))
        nodes = tuple(node for parts in every for node in self._part(own, parts))
        for loop in reversed(threads):
            nodes = (replace(loop, body=nodes),)
        return nodes[0] if len(nodes) == 1 else Loop(self._number(), "copy", Kind.UNROLL, 1, nodes)

    def _part(self, own: Sequence[tuple[Affine, int]], parts: Sequence[_Part]) -> tuple[Node, ...]:
        rounds: list[Loop] = []
        places: list[Affine] = []
        guards: list[Guard] = []
        turns = prod(part.rounds for part in parts)
        for n, (part, (thread, step)) in enumerate(zip(parts, own, strict=True)):
            if part.rest:
                guards.append(Guard(thread, part.rest))
            place = thread.shifted(part.first)
            if part.rounds > 1:
                is_short = n == len(parts) - 1 and part.rounds <= _WRITTEN_OUT
                kind = Kind.UNROLL if turns <= _WRITTEN_OUT or is_short else Kind.LOOP
                loop = self._loop(f"copy{n}", kind, part.rounds)
                rounds.append(loop)
                place = place.plus(variable(loop.number), step)
            places.append(place)
        source: Affine = Linear()
        target: Affine = Linear()
        edges: list[Guard] = []
        region = self.region
        for place, side, size, stride, inner in zip(places, self.sides, region.shape, region.strides, self.strides, strict=True):
            index = side.start.plus(place)
            source, target = source.plus(index, stride), target.plus(place, inner)
            low, high = interval(side.outer, self.sizes)
            if low + side.first < 0 or high + side.first + side.size > size:
                edges.append(Guard(index, size))
        value = Ref(self.value, ())
        load = Load(value, Memory(self.number, source, (*edges, *guards), self.fill or 0.0, Cache.ALL))
        node: tuple[Node, ...] = (load, Store(Memory(self.buffer, target, tuple(guards)), value))
        for loop in reversed(rounds):
            node = (replace(loop, body=node),)
        return node

    def _loop(self, name: str, kind: Kind, size: int, hardware: int | None = None) -> Loop:
        loop = Loop(self._number(), name, kind, size, (), hardware)
        self.sizes[loop.number] = size
        return loop

    def _number(self) -> int:
        self.next_loop += 1
        return self.next_loop


@dataclass(frozen=True, slots=True)
class _Part:
    """Places of a side that are copied alike: `rounds` by all threads, or one by the first `rest` threads."""

    first: int
    rounds: int
    rest: int = 0


def _parts(size: int, threads: int) -> list[_Part]:
    whole, rest = divmod(size, threads)
    found = [_Part(0, whole)] if whole else []
    return [*found, _Part(whole * threads, 1, rest)] if rest else found
