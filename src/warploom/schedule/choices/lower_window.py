"""Inputs in shared memory: what the results of a block read of an array, and their neighbours read again, is copied once.

The elements that a block reads between two rounds of the loops around its threads lie in a box: along each index of the array
from the least to the greatest place. All threads copy the box, a barrier follows, and loads read it instead of the array.
Where the innermost of these loops moves the box along one index by less than its length, the box slides: each round moves what
it keeps to the front, and copies from the array only what is new.

Source: overlapped tiles with a halo, as Holewinski et al., High-Performance Code Generation for Stencil Computations on GPU
Architectures (2012), section 3, have them for one step in time; sliding along an axis: Nguyen et al., 3.5-D
Blocking Optimization for Stencil Computations on Modern CPUs and GPUs (2010), section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias

from warploom.core.linear import Linear, variable
from warploom.machines import SECTOR_BYTES, WIDEST_BYTES
from warploom.schedule.backbone import Region, Role
from warploom.schedule.choices.lower_spread import Share, digits_of, shares_of
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
    bytes_of_shared,
    hardware_sizes,
    interval,
    loops,
    statements,
)

_ROOM = 32 * 1024
"""Bytes that a box may take where a smaller one, copied more often, is possible."""
_LANES = (4, 2)
"""Elements of a vector, the most first."""
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
    taken = bytes_of_shared(nest)
    sizes = {loop.number: loop.size for loop in loops(nest.body)}
    outside = _outside([around for _, around in found])
    chosen: tuple[int, tuple[_Side, ...]] | None = None
    for depth in range(sum(x.kind is Kind.BLOCK for x in outside), len(outside) + 1):
        sides = _sides([indices[load.memory] for load, _ in found], {x.number for x in outside[:depth]}, sizes)
        if sides is None:
            continue
        size = _laid_out(sides, _fastest(sides, found, indices), region.dtype.size_bytes)[1] * region.dtype.size_bytes
        if taken + size <= shared_bytes:
            chosen = depth, sides
            if size <= _ROOM:
                break
    if chosen is None:
        return nest
    depth, sides = chosen
    innermost = outside[depth - 1] if depth else None
    fills = {load.memory.fill for load, _ in found if not set(load.memory.guards) <= ends}
    fastest = _fastest(sides, found, indices)
    slide = _slide(nest, innermost, sides) if fastest == len(sides) - 1 else None
    window = _Window(nest, number, region, sides, fastest, sizes, fills, ends, slide)
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


def _fastest(
    sides: Sequence[_Side], loads: Sequence[tuple[Load, tuple[Loop, ...]]], indices: Mapping[Memory, tuple[Affine, ...]]
) -> int:
    """The side along which neighbours in the box lie: the array's own where threads lie along it, or along none that is longer
    than 1; else one along which threads lie, the last one of which each reads neighbours, so that these may be vectors."""
    own = len(sides) - 1
    along: set[int] = set()
    wide: set[int] = set()
    for load, around in loads:
        for n, index in enumerate(indices[load.memory]):
            if sides[n].size > 1 and any(x.kind is Kind.THREAD and index.coefficient(x.number) for x in around):
                along.add(n)
                if any(x.kind in (Kind.UNROLL, Kind.VECTOR) and index.coefficient(x.number) == 1 for x in around):
                    wide.add(n)
    return own if own in along else max(wide or along, default=own)


def _laid_out(sides: Sequence[_Side], fastest: int, element_bytes: int) -> tuple[list[int], int]:
    """Elements between neighbours along each side, and in all. Rows of a box that is turned are an odd number of the widest
    vectors apart, so that threads which copy across them meet few others at a bank."""
    size = sides[fastest].size
    if fastest < len(sides) - 1:
        lanes = max(1, WIDEST_BYTES // element_bytes)
        size = (-(-size // lanes) | 1) * lanes
    strides = [0] * len(sides)
    strides[fastest] = 1
    elements = size
    for n in reversed(range(len(sides))):
        if n != fastest:
            strides[n] = elements
            elements *= sides[n].size
    return strides, elements


@dataclass(frozen=True, slots=True)
class _Slide:
    """How a box moves from one round of a loop to the next."""

    loop: int
    side: int
    step: int
    """Places along that side that are new in each round; the rest of it is kept."""


def _slide(nest: Nest, loop: Loop | None, sides: Sequence[_Side]) -> _Slide | None:
    """None where the loop moves the box along no side or several, or by its whole length, and where threads would share out that
    side: each moves what it copied itself, so that no barrier stands between."""
    if loop is None or loop.kind is not Kind.LOOP:
        return None
    moves = [(n, step) for n, side in enumerate(sides) for m, step in side.outer.terms if m == loop.number]
    if len(moves) != 1:
        return None
    ((side, step),) = moves
    shared_out = sum(size > 1 for size in hardware_sizes(nest, Kind.THREAD))
    return _Slide(loop.number, side, step) if 0 < step < sides[side].size and side < len(sides) - shared_out else None


class _Window:
    """The box, its copy, and the loads from it."""

    def __init__(
        self,
        nest: Nest,
        number: int,
        region: Region,
        sides: tuple[_Side, ...],
        fastest: int,
        sizes: Mapping[int, int],
        fills: set[float],
        ends: Set[Guard],
        slide: _Slide | None,
    ) -> None:
        self.nest, self.number, self.region, self.sides = nest, number, region, sides
        self.sizes = dict(sizes)
        self.fill = fills.pop() if len(fills) == 1 else None
        """The value of all loads beyond the array; the box has it there, so that they need not ask."""
        self.ends = ends
        self.slide = slide
        self.buffer = len(nest.buffers)
        self.value, self.copies = len(nest.values), 0
        """The first value that is copied; how many are. Each part has its own, so that copies may run ahead."""
        self.next_loop = max(sizes, default=0) + 1
        self.fastest = fastest
        self.strides, self.elements = _laid_out(sides, fastest, region.dtype.size_bytes)
        self.groups = self._grouped()
        self.group_sizes = [prod(sides[n].size for n in group) for group in self.groups]

    def put_into(self, nest: Nest, outside: Sequence[Loop], indices: Mapping[Memory, tuple[Affine, ...]]) -> Nest:
        self.indices = indices
        body = self._put(nest.body, [loop.number for loop in outside])
        box = Buffer(f"box_{self.region.name}", self.region.dtype, self.elements, Role.TEMPORARY, Space.SHARED)
        value = Value(f"copied_{self.region.name}", self.region.dtype, ())
        return replace(nest, body=body, buffers=(*nest.buffers, box), values=(*nest.values, *[value] * self.copies))

    def _put(self, nodes: tuple[Node, ...], path: Sequence[int]) -> tuple[Node, ...]:
        if not path:
            first = next(n for n, node in enumerate(nodes) if self._reads(node))
            rest = tuple(self._changed(node) for node in nodes[first:])
            return (*nodes[:first], self._copy(), *rest)
        at = next(n for n, node in enumerate(nodes) if isinstance(node, Loop) and node.number == path[0])
        outer = nodes[at]
        assert isinstance(outer, Loop)
        inside = replace(outer, body=self._put(outer.body, path[1:]))
        before = (self._begun(self.slide),) if self.slide is not None and self.slide.loop == outer.number else ()
        return (*nodes[:at], *before, inside, *nodes[at + 1 :])

    def _reads(self, node: Node) -> bool:
        return any(isinstance(s, Load) and s.memory.buffer == self.number for s, _ in statements((node,)))

    def _changed(self, node: Node) -> Node:
        if isinstance(node, Load) and node.memory.buffer == self.number:
            return replace(node, memory=self._inside(node.memory))
        if not isinstance(node, Loop) or not self._reads(node):
            return node
        kind = Kind.UNROLL if node.kind is Kind.VECTOR else node.kind  # the box is not aligned as the array is
        changed = replace(node, kind=kind, body=tuple(self._changed(x) for x in node.body))
        return self._in_vectors(changed) if kind is Kind.UNROLL else changed

    def _in_vectors(self, outer: Loop) -> Loop:
        """Unrolled loops of one load, of which one becomes a vector of neighbours in the box where they are aligned there."""
        chain: list[Loop] = []
        node: Node = outer
        while isinstance(node, Loop) and node.kind is Kind.UNROLL and len(node.body) == 1:
            chain.append(node)
            node = node.body[0]
        if not isinstance(node, Load):
            return outer
        memory, widest = node.memory, WIDEST_BYTES // self.region.dtype.size_bytes
        for loop in chain:
            lanes = next((n for n in _LANES if n <= widest and loop.size % n == 0), 1)
            is_next = memory.lanes_apart(loop.number) == 1 and memory.divisor_beside(loop.number) % lanes == 0
            if is_next and lanes > 1 and not memory.guards:
                inside: Loop = replace(loop, kind=Kind.VECTOR, body=(node,))
                for other in reversed([x for x in chain if x is not loop]):
                    inside = replace(other, body=(inside,))
                return inside
        return outer

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
        """The copy in each round of the loops outside."""
        starts = [side.start for side in self.sides]
        every = [_Span(0, size) for size in self.group_sizes]
        if self.slide is None:
            return self._together(lambda own: self._nodes(own, every, starts))
        side, step = self.slide.side, self.slide.step
        length = self.sides[side].size
        kept, new = list(every), list(every)
        kept[side], new[side] = _Span(0, length - step), _Span(length - step, step)
        return self._together(lambda own: (*self._nodes(own, kept, None), *self._nodes(own, new, starts)))

    def _begun(self, slide: _Slide) -> Node:
        """The copy before the first round of a sliding box: its edge, where a round before would have put it."""
        starts = [side.start for side in self.sides]
        starts[slide.side] = starts[slide.side].without({slide.loop}).shifted(-slide.step)
        spans = [_Span(0, side.size) for side in self.sides]
        spans[slide.side] = _Span(slide.step, self.sides[slide.side].size - slide.step)
        return self._together(lambda own: self._nodes(own, spans, starts))

    def _grouped(self) -> list[tuple[int, ...]]:
        """Sides that are copied as one: those which lie in the box as in the array, whole, and inside of it."""
        found: list[tuple[int, ...]] = [(0,)] if self.sides else []
        for n in range(1, len(self.sides)):
            outer, inner, shape = self.sides[n - 1], self.sides[n], self.region.shape
            low, high = interval(outer.start, self.sizes)
            is_whole = inner.start == Linear() and inner.size == shape[n]
            is_inside = low >= 0 and high + outer.size <= shape[n - 1]
            is_row = self.strides[n - 1] == self.strides[n] * inner.size
            if self.slide is None and is_whole and is_inside and is_row:
                found[-1] = (*found[-1], n)
            else:
                found.append((n,))
        return found

    def _together(self, nodes_of: Callable[[Sequence[_Own]], tuple[Node, ...]]) -> Node:
        """By the loops of threads as they are, or by their numbers, where that takes fewer turns."""
        along, own = self._along_dimensions()
        if self.slide is None:
            numbered, apart = self._along_numbers()
            if self._turns(apart) < self._turns(own):
                along, own = numbered, apart
        nodes = nodes_of(own)
        for loop in reversed(along):
            nodes = (replace(loop, body=nodes),)
        return nodes[0] if len(nodes) == 1 else Loop(self._number(), "copy", Kind.UNROLL, 1, nodes)

    def _turns(self, own: Sequence[_Own]) -> int:
        """Copies of a thread."""
        return prod(-(-size // step) for size, (_, step) in zip(self.group_sizes, own, strict=True))

    def _along_dimensions(self) -> tuple[list[Loop], list[_Own]]:
        """Threads lie along the last index, those of further dimensions along those before it; what their number does not divide
        is copied by some of them."""
        threads: list[Loop] = []
        shares: list[list[Loop]] = [[] for _ in self.groups]
        side = len(self.groups) - 1
        for hardware, size in enumerate(hardware_sizes(self.nest, Kind.THREAD)):
            if size > 1:
                loop = self._loop(f"copy_{'xyz'[hardware] if hardware < 3 else hardware}", Kind.THREAD, size, hardware)
                threads.append(loop)
                shares[side].append(loop)
                side = max(0, side - 1)
        own: list[_Own] = []
        for share in shares:
            thread: Affine = Linear()
            step = 1
            for loop in share:
                thread = thread.plus(variable(loop.number), step)
                step *= loop.size
            own.append((thread, step))
        return threads, own

    def _along_numbers(self) -> tuple[list[Loop], list[_Own]]:
        """Threads lie along the last index, then along those before it, as many as there are places; of a box that is turned as
        many along the last one as share a sector, then along what lies in line in the box, so that both are read well."""
        order = list(reversed(range(len(self.groups))))
        sizes = self.group_sizes
        count = prod(hardware_sizes(self.nest, Kind.THREAD))
        shares: list[Share] = []
        if self.fastest < len(self.sides) - 1:
            across = next(n for n, group in enumerate(self.groups) if self.fastest in group)
            order = [order[0], across, *(n for n in order[1:] if n != across)]
            first = min(sizes[order[0]], count, SECTOR_BYTES // self.region.dtype.size_bytes)
            shares.append(Share(first, -(-sizes[order[0]] // first)))
        rest = count // prod(share.threads for share in shares)
        shares += shares_of([sizes[n] for n in order[len(shares) :]], rest)
        names = [f"copy{n}_thread" for n in order]
        own: list[_Own] = [(Linear(), 1)] * len(order)
        threads: list[Loop] = []
        for n, loop in zip(order, digits_of(shares, count, iter(self._number, None), names), strict=True):
            if loop is not None:
                threads.append(loop)
                self.sizes[loop.number] = loop.size
                own[n] = (variable(loop.number), loop.size)
        return threads[::-1], own

    def _nodes(self, own: Sequence[_Own], spans: Sequence[_Span], starts: Sequence[Affine] | None) -> tuple[Node, ...]:
        """Copies of these places; `starts`: the array's indices at the box's first place, None: from what slides to the front."""
        every = product(*(_parts(span, step) for span, (_, step) in zip(spans, own, strict=True)))
        return tuple(node for parts in every for node in self._part(own, parts, starts))

    def _part(self, own: Sequence[_Own], parts: Sequence[_Part], starts: Sequence[Affine] | None) -> tuple[Node, ...]:
        rounds: list[Loop] = []
        places: list[Affine] = []
        guards: list[Guard] = []
        turns = prod(part.rounds for part in parts)
        for n, (part, (thread, step)) in enumerate(zip(parts, own, strict=True)):
            if part.rest:
                guards.append(Guard(thread, part.rest))
            place = thread.shifted(part.first)
            inner = turns // part.rounds
            together = _divisor(part.rounds, _WRITTEN_OUT // inner)
            if part.rounds > together:
                rounds.append(self._loop(f"copy{n}_loop", Kind.LOOP, part.rounds // together))
                place = place.plus(variable(rounds[-1].number), step * together)
            if together > 1:
                rounds.append(self._loop(f"copy{n}", Kind.UNROLL, together))
                place = place.plus(variable(rounds[-1].number), step)
            turns = inner
            places.append(place)
        target: Affine = Linear()
        for place, group in zip(places, self.groups, strict=True):
            target = target.plus(place, self.strides[group[-1]])
        source = self._kept(target, guards) if starts is None else self._read(places, starts, parts, guards)
        value = Ref(self.value + self.copies, ())
        self.copies += 1
        node: tuple[Node, ...] = (Load(value, source), Store(Memory(self.buffer, target, tuple(guards)), value))
        for loop in reversed(rounds):
            node = (replace(loop, body=node),)
        return node

    def _kept(self, target: Affine, guards: Sequence[Guard]) -> Memory:
        assert self.slide is not None
        return Memory(
            self.buffer, target.shifted(self.slide.step * self.strides[self.slide.side]), tuple(guards), self.fill or 0.0
        )

    def _read(
        self, places: Sequence[Affine], starts: Sequence[Affine], parts: Sequence[_Part], guards: Sequence[Guard]
    ) -> Memory:
        edges: list[Guard] = []
        region = self.region
        offset: Affine = Linear()
        for start, stride in zip(starts, region.strides, strict=True):
            offset = offset.plus(start, stride)
        for place, part, group in zip(places, parts, self.groups, strict=True):
            offset = offset.plus(place, region.strides[group[-1]])
            if len(group) == 1:
                (n,) = group
                low, high = interval(starts[n], self.sizes)
                if low + part.span.first < 0 or high + part.span.end > region.shape[n]:
                    edges.append(Guard(starts[n].plus(place), region.shape[n]))
        return Memory(self.number, offset, (*edges, *guards), self.fill or 0.0, Cache.ALL)

    def _loop(self, name: str, kind: Kind, size: int, hardware: int | None = None) -> Loop:
        loop = Loop(self._number(), name, kind, size, (), hardware)
        self.sizes[loop.number] = size
        return loop

    def _number(self) -> int:
        self.next_loop += 1
        return self.next_loop


_Own: TypeAlias = tuple[Affine, int]
"""The number of a thread among those that share out a side, and how many they are."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Places of a side."""

    first: int
    size: int

    @property
    def end(self) -> int:
        return self.first + self.size


@dataclass(frozen=True, slots=True)
class _Part:
    """Places of a span that are copied alike: `rounds` by all threads, or one by the first `rest` threads."""

    span: _Span
    first: int
    rounds: int
    rest: int = 0


def _divisor(number: int, most: int) -> int:
    """The largest one up to `most`; at least 1."""
    return max((n for n in range(1, min(number, most) + 1) if number % n == 0), default=1)


def _parts(span: _Span, threads: int) -> list[_Part]:
    whole, rest = divmod(span.size, threads)
    found = [_Part(span, span.first, whole)] if whole else []
    return [*found, _Part(span, span.first + whole * threads, 1, rest)] if rest else found
