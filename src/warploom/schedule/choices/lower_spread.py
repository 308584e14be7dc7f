"""Copies into shared memory that all threads of a block share out, whatever loops they have elsewhere.

Threads are counted, x fastest, over the words of the tile in the order in which they lie in the array: with T threads, number t
copies words t, t + T, ... So neighbours read neighbours, and all of them copy a slice that is too short for a loop of theirs:

    for m in 128: for k in 8:                   thread row in 128 of threads / 2:
        value = A[... + m * 4096 + k]     ->        thread word in 2 of threads % 2:
        tile[m * 8 + k] = value                         value[0:4] = A[... + row * 4096 + word * 4 + 0:4]
                                                        tile[row * 8 + word * 4 + 0:4] = value[0:4]

Source: the iterators of CUTLASS over tiles ("pitch linear thread maps", include/cutlass/transform/pitch_linear_thread_map.h).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import prod

from warploom.core.linear import Linear, variable
from warploom.machines import WIDEST_BYTES
from warploom.schedule.nest import (
    Affine,
    Digit,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Register,
    Space,
    Store,
    hardware_sizes,
    loops,
    replaced,
    statements,
)

WRITTEN_OUT = 32
"""Copies of a thread that are written out, so that their loads are on their way together."""
_LANES = (16, 8, 4, 2)
_LEAST_BYTES = 4
"""Least bytes of an asynchronous copy."""


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a box of elements: what enumerates it, and how many of these there are."""

    index: Affine
    size: int


@dataclass(frozen=True, slots=True)
class Share:
    """How threads share out a side: so many of them lie along it, and each has so many places, a step of `threads` apart."""

    threads: int
    rounds: int


def spread(nest: Nest, buffer: int, *, is_async: bool) -> Nest:
    """The nest with the copy into that buffer shared out over all threads; the nest itself where anything but one load of the
    array and one store of what it got is in the loops that copy.

    is_async: copies need not go through registers, where loads and stores are of the same words.
    """
    found = _copy_of(nest, buffer)
    if found is None:
        return nest
    copy = _Copy(nest, *found, is_async=is_async)
    values = list(nest.values)
    values[copy.load.target.value] = replace(values[copy.load.target.value], axes=copy.axes)
    return replace(nest, values=tuple(values), body=replaced(nest.body, found[0][0].number, copy.made()))


def shares_of(sizes: Sequence[int], threads: int) -> list[Share]:
    """Sides of these sizes, those along which neighbours lie first, shared out over so many threads in the fewest rounds; of
    these with the fewest guards, and with the most threads along the first sides."""

    def cost(shares: Sequence[Share]) -> tuple[object, ...]:
        guarded = sum(x.threads * x.rounds > size for x, size in zip(shares, sizes, strict=True))
        return prod(x.rounds for x in shares), guarded, [-x.threads for x in shares]

    return min(_shared_out(sizes, threads), key=cost)


def _shared_out(sizes: Sequence[int], threads: int) -> Iterator[list[Share]]:
    if not sizes:
        yield []
        return
    most = min(sizes[0], threads)
    least = max((n for n in range(1, most + 1) if sizes[0] % n == 0), default=1)
    for along in {most, least}:
        share = Share(along, -(-sizes[0] // along))
        yield from ([share, *rest] for rest in _shared_out(sizes[1:], threads // along))


def digits_of(shares: Sequence[Share], threads: int, numbers: Iterator[int], names: Sequence[str]) -> list[Loop | None]:
    """Loops of that many threads along the sides, None where one thread has a whole side; without bodies. Where one has all of
    them, the others are left out by a loop of one iteration."""
    if threads > 1 and all(share.threads == 1 for share in shares):
        return [Loop(next(numbers), names[0], Kind.THREAD, 1, (), digit=Digit(1, is_last=True)), *(None for _ in shares[1:])]
    found: list[Loop | None] = []
    step = 1
    for position, (share, name) in enumerate(zip(shares, names, strict=True)):
        is_last = all(other.threads == 1 for other in shares[position + 1 :])
        digit = Digit(step, is_last)
        found.append(Loop(next(numbers), name, Kind.THREAD, share.threads, (), digit=digit) if share.threads > 1 else None)
        step *= share.threads
    return found


def _copy_of(nest: Nest, buffer: int) -> tuple[tuple[Loop, ...], Load, Store] | None:
    """The loops that copy, outer to inner, with what they hold: those around the store that are around no load of the buffer."""
    if nest.buffers[buffer].space is not Space.SHARED:
        return None
    every = list(statements(nest.body))
    stores = [(s, a) for s, a in every if isinstance(s, Store) and s.memory.buffer == buffer]
    readers = [a for s, a in every if isinstance(s, Load) and s.memory.buffer == buffer]
    if len(stores) != 1 or not readers:
        return None
    (store, around) = stores[0]
    outside = {x.number for path in readers for x in path}
    own = tuple(x for x in around if x.number not in outside)
    if not own or around[-len(own) :] != own or any(x.kind is not Kind.LOOP or x.trips is not None or x.only for x in own):
        return None
    inside = [s for s, _ in statements((own[0],))]
    load = inside[0]
    if len(inside) != 2 or not isinstance(load, Load) or inside[1] is not store or own[-1].body != (load, store):
        return None
    argument = store.argument
    if not isinstance(argument, Ref) or argument.value != load.target.value or any(x.kind is Kind.THREAD for x in around):
        return None
    if any(store.memory.lanes_apart(x.number) == 0 for x in own):
        return None
    uses = sum(1 for s, _ in every if isinstance(s, Load) and s.target.value == load.target.value)
    return (own, load, store) if uses == 1 and nest.buffers[load.memory.buffer].space is Space.GLOBAL else None


class _Copy:
    def __init__(self, nest: Nest, own: tuple[Loop, ...], load: Load, store: Store, *, is_async: bool) -> None:
        self.nest, self.load, self.store = nest, load, replace(store, guards=())
        self.numbers = count(max(x.number for x in loops(nest.body)) + 1)
        self.places: dict[int, Affine] = {}
        """By loop that copied, the index in its place."""
        self.sides = self._sides(own)
        fastest = self.sides[0]
        is_next = self._stride(self.load.memory, 0) == 1
        is_same = self._stride(self.store.memory, 0) == 1
        size = nest.buffers[load.memory.buffer].dtype.size_bytes
        allowed = [n for n in _LANES if n * size <= WIDEST_BYTES]
        wide = [n for n in allowed if is_next and self._is_aligned(self.load.memory, n)]
        both = [n for n in wide if is_same and self._is_aligned(self.store.memory, n)]
        self.lanes = next(iter(both if both or (is_async and size >= _LEAST_BYTES) else wide), 1)
        self.is_stored_wide = self.lanes in both
        self.sides[0] = replace(fastest, size=fastest.size // self.lanes)
        self.axes = (Register(self.lanes, is_vector=True),) if self.lanes > 1 else ()

    def _sides(self, own: tuple[Loop, ...]) -> list[Side]:
        """The loops that copy, neighbours in the array first; two of them are one where both move all indices alike."""
        forms = [*self.load.memory.forms, *self.store.memory.forms]
        offset = self.load.memory.offset
        sides: list[Side] = []
        for loop in sorted(own, key=lambda x: abs(offset.coefficient(x.number))):
            steps = [form.coefficient(loop.number) for form in forms]
            before = sides[-1] if sides else None
            if before is not None and steps == [form.coefficient(before.index.terms[0][0]) * before.size for form in forms]:
                self.places[loop.number] = Linear()
                sides[-1] = replace(before, size=before.size * loop.size)
            else:
                sides.append(Side(variable(loop.number), loop.size))
        return sides

    def _stride(self, memory: Memory, side: int) -> int | None:
        return memory.lanes_apart(self.sides[side].index.terms[0][0])

    def _is_aligned(self, memory: Memory, lanes: int) -> bool:
        """Whether groups of neighbours begin at multiples of so many, and pass or fail each guard together."""
        loop = self.sides[0].index.terms[0][0]
        gone = self.places.keys()
        rest = memory.mapped(lambda form: form.without(gone))
        return (
            self.sides[0].size % lanes == 0
            and rest.divisor_beside(loop) % lanes == 0
            and all(_is_uniform(guard, loop, lanes) for guard in rest.guards)
        )

    def made(self) -> Node:
        """The copy in loops of all threads."""
        threads = prod(hardware_sizes(self.nest, Kind.THREAD))
        shares = shares_of([side.size for side in self.sides], threads)
        names = [f"copy{n}" for n in range(len(shares))]
        along = digits_of(shares, threads, self.numbers, names)
        rounds: list[Loop] = []
        guards: list[Guard] = []
        turns = prod(share.rounds for share in shares)
        kind = Kind.UNROLL if turns <= WRITTEN_OUT else Kind.LOOP
        vector = next(self.numbers)
        for n, (side, share, digit) in enumerate(zip(self.sides, shares, along, strict=True)):
            place: Affine = Linear() if digit is None or share.threads == 1 else variable(digit.number)
            if share.rounds > 1:
                rounds.append(Loop(next(self.numbers), f"round{n}", kind, share.rounds, ()))
                place = place.plus(variable(rounds[-1].number), share.threads)
            if share.threads * share.rounds > side.size:
                guards.append(Guard(place, side.size))
            lanes = self.lanes if n == 0 else 1
            place = place.scaled(lanes)
            self.places[side.index.terms[0][0]] = place.plus(variable(vector)) if lanes > 1 else place
        body = tuple(self._access(vector, tuple(guards)))
        for loop in (*reversed(rounds), *(x for x in along if x is not None)):
            body = (replace(loop, body=body),)
        return body[0] if len(body) == 1 else Loop(next(self.numbers), "copy", Kind.UNROLL, 1, body)

    def _access(self, vector: int, guards: tuple[Guard, ...]) -> Iterator[Node]:
        source, target = (m.mapped(lambda form: form.substituted(self.places)) for m in (self.load.memory, self.store.memory))
        source = replace(source, guards=(*source.guards, *guards))
        target = replace(target, guards=(*target.guards, *guards))
        value = Ref(self.load.target.value, (variable(vector),) if self.lanes > 1 else ())
        load, store = replace(self.load, target=value, memory=source), replace(self.store, memory=target, argument=value)
        for node in (load, store):
            if self.lanes == 1:
                yield node
                continue
            number = vector if isinstance(node, Load) else next(self.numbers)
            kind = Kind.VECTOR if isinstance(node, Load) or self.is_stored_wide else Kind.UNROLL
            yield Loop(number, "lane", kind, self.lanes, (_with_lane(node, vector, number),))


def _with_lane(node: Load | Store, old: int, new: int) -> Node:
    """The access in a loop over lanes of its own."""
    if isinstance(node, Load):
        return node
    changed = {old: variable(new)}
    argument = node.argument
    assert isinstance(argument, Ref)
    at = tuple(form.substituted(changed) for form in argument.at)
    return replace(node, memory=node.memory.mapped(lambda form: form.substituted(changed)), argument=replace(argument, at=at))


def _is_uniform(guard: Guard, loop: int, lanes: int) -> bool:
    """The guard holds for all of these neighbours along the loop or for none."""
    step = guard.index.coefficient(loop)
    rest = guard.index.without((loop,))
    return step == 0 or (step == 1 and guard.divisor % lanes == 0 and rest.divisor % lanes == 0)
