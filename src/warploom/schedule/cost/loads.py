"""Loads from global memory: how often threads ask for an element, for each element that the kernel stores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from warploom.core.linear import collected
from warploom.machines import MAX_BLOCK_THREADS
from warploom.schedule.nest import Affine, Guard, Kind, Load, Loop, Nest, Space, Store, hardware_sizes, loops, statements

_MOST_POINTS = 1 << 22
"""Points up to which guards are counted; beyond, all points count."""
_MOST_TURNS = 1 << 14
"""Turns of unrolled loops up to which equal loads are looked for."""


def loads_per_output(nest: Nest) -> float | None:
    """Elements that threads load from global memory over those that they store there, of a whole launch; None where none are
    stored.

    What one thread asks for several times in code without loops, with the same cache operator, counts once: compilers keep it.
    Gathers are left out.
    """
    stored = loaded = 0.0
    known = Loaded()
    for statement, around in statements(nest.body):
        if not isinstance(statement, Load | Store) or nest.buffers[statement.memory.buffer].space is not Space.GLOBAL:
            continue
        points = _Points(nest, around)
        rounds = tuple(guard for loop in around for guard in loop.only)
        if isinstance(statement, Store):
            stored += points.running((*statement.memory.guards, *statement.guards, *rounds))
        else:
            loaded += points.running((*statement.memory.guards, *rounds)) * known.new(statement, around)
    return loaded / stored if stored else None


class Loaded:
    """Elements that a thread has loaded in code without loops: compilers keep them. Asked load by load, in their order."""

    def __init__(self) -> None:
        self._seen: dict[object, set[Affine]] = {}

    def new(self, load: Load, around: Sequence[Loop]) -> float:
        """Share of a load's turns in unrolled loops that ask for what no load before did with the same cache operator."""
        memory, written_out = load.memory, _written_out(around)
        turns = math.prod(x.size for x in written_out)
        numbers = {x.number for x in written_out}
        if turns > _MOST_TURNS or any(n in numbers for g in memory.guards for n, _ in g.index.terms):
            return 1.0
        thread = {x.number: -1 - x.hardware for x in around if x.kind is Kind.THREAD and x.hardware is not None}
        thread |= {x.number: -4 - x.digit.step * MAX_BLOCK_THREADS - x.size for x in around if x.digit is not None}
        place = memory.buffer, memory.cache, memory.guards, tuple(x.number for x in around if x.kind is Kind.LOOP)
        offset = memory.offset.renamed(lambda n: thread.get(n, n))
        rest = offset.without(numbers)
        asked = {rest.shifted(n) for n in _values(offset.only(numbers), written_out)}
        seen = self._seen.setdefault(place, set())
        found = len(asked - seen)
        seen |= asked
        return found / turns


class _Points:
    """Runs of a statement: threads by hardware dimension, iterations of the other loops around it."""

    def __init__(self, nest: Nest, around: Sequence[Loop]) -> None:
        self.thread = {x.number: -1 - x.hardware for x in loops(nest.body) if x.kind is Kind.THREAD and x.hardware is not None}
        are_digits = any(x.digit is not None for x in around)
        self.sizes = {} if are_digits else {-1 - n: size for n, size in enumerate(hardware_sizes(nest, Kind.THREAD))}
        self.sizes |= {self.thread.get(x.number, x.number): x.size for x in around}

    def renamed(self, index: Affine) -> Affine:
        """With the hardware dimension in place of the thread loop."""
        return collected(((self.thread.get(n, n), stride) for n, stride in index.terms), index.constant)

    def named(self, guards: Iterable[Guard]) -> frozenset[tuple[Affine, int]]:
        return frozenset((self.renamed(g.index), g.bound) for g in guards)

    def running(self, guards: Iterable[Guard]) -> float:
        """Runs in which all guards hold."""
        named = self.named(guards)
        numbers = sorted({n for index, _ in named for n, _ in index.terms})
        every = float(math.prod(self.sizes.values()))
        shape = tuple(self.sizes[n] for n in numbers)
        if math.prod(shape) > _MOST_POINTS:
            return every
        holds = np.ones(shape, np.bool_)
        grids = dict(zip(numbers, np.indices(shape, sparse=True), strict=True))
        for index, bound in named:
            at = np.full((1,) * len(shape), index.constant)
            for number, stride in index.terms:
                at = at + stride * grids[number]
            holds &= (at >= 0) & (at < bound)
        return every * float(holds.mean())


def distinct_turns(load: Load, around: Sequence[Loop]) -> tuple[int, int]:
    """Elements that a load asks for in the unrolled loops around it, and their turns, which are more where windows overlap."""
    written_out = _written_out(around)
    turns = math.prod(x.size for x in written_out)
    numbers = {x.number for x in written_out}
    own = load.memory.offset.only(numbers)
    is_apart = len(own.terms) < len(numbers) or len(numbers) < 2 or turns > _MOST_TURNS
    if is_apart or any(n in numbers for g in load.memory.guards for n, _ in g.index.terms):
        return turns, turns
    return len(set(_values(own, written_out))), turns


def _written_out(around: Sequence[Loop]) -> list[Loop]:
    """Unrolled loops that hold no sequential ones."""
    return [x for n, x in enumerate(around) if x.kind is Kind.UNROLL and all(y.kind is not Kind.LOOP for y in around[n + 1 :])]


def _values(index: Affine, written_out: Sequence[Loop]) -> Iterator[int]:
    for at in product(*(range(x.size) for x in written_out)):
        yield index.at({x.number: n for x, n in zip(written_out, at, strict=True)})
