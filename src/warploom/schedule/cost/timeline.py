"""How long a warp takes that has its multiprocessor to itself: instructions issue in order and wait for what they need."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from warploom.machines import by_groups
from warploom.schedule.backbone import FREE
from warploom.schedule.cost.work import SPECIAL, combining, copied_values
from warploom.schedule.nest import (
    Barrier,
    Combine,
    Compute,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Products,
    Ref,
    Space,
    Store,
    Threads,
    products_of,
    staged_fills,
)
from warploom.schedule.targets import LOOP_INSTRUCTIONS

_PRODUCT_CYCLES = 33.0
"""Cycles from one `mma.sync` to the next that adds to its result. Source: as "hopper" and "ampere" of `machines` measure
m16n8k16."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles from an instruction to its user."""

    far: float
    """Global loads."""
    shared: float
    barrier: float
    arithmetic: float
    special: float
    shuffle: float
    products: Mapping[str, float] = field(default_factory=dict[str, float])
    """Multiply-adds per cycle of the units that one warp has, by the type of the factors (`mma.sync`), or `by_groups` of it."""


@dataclass(slots=True)
class _Clock:
    nest: Nest
    threads: Threads
    latencies: Latencies
    copied: frozenset[int]
    now: float = 0.0
    ready: dict[int, float] = field(default_factory=dict[int, float])
    """Ready times by value."""
    filled: dict[int, float] = field(default_factory=dict[int, float])
    """By buffer: when asynchronous copies have arrived."""
    is_ahead: bool = False
    parts: Mapping[int, Products] = field(default_factory=dict[int, Products])
    """By the number of each of their outermost loops."""

    def run(self, nodes: tuple[Node, ...], copies: int, loops: tuple[Loop, ...]) -> None:
        for node in nodes:
            match node:
                case Loop(number=number) if number in self.parts:
                    self._products(self.parts[number], number)
                case Loop(kind=Kind.LOOP):
                    self._loop(node, copies, loops)
                case Loop(kind=Kind.UNROLL | Kind.VECTOR):
                    self.run(node.body, copies * (node.size if node.kind is Kind.UNROLL else 1), (*loops, node))
                case Loop():
                    self.run(node.body, copies, loops)
                case Load() | Store():
                    self._access(node, copies)
                case Compute():
                    self._compute(node, copies, loops)
                case Combine():
                    self._combine(node, copies, loops)
                case Barrier():
                    self.now = max([self.now, *self.filled.values()]) + self.latencies.barrier
                    self.filled.clear()
                case _:
                    assert_never(node)

    def _products(self, part: Products, number: int) -> None:
        if number == part.loops[0]:
            slices, on = len(part.rows.slices), part.instruction
            rate = self.latencies.products.get(on.factor if part.group is None else by_groups(on.factor), math.inf)
            products = part.count / slices * on.products * (1 if part.group is None else len(part.columns.parts))
            self.now += self.latencies.shared + slices * max(products / rate, _PRODUCT_CYCLES)
            if part.group is not None:  # they are waited for
                self.now += _PRODUCT_CYCLES
            self.ready[part.sum.target.value] = self.now + _PRODUCT_CYCLES

    def _loop(self, loop: Loop, copies: int, loops: tuple[Loop, ...]) -> None:
        starts = [self.now]
        for _ in range(min(loop.size, 2)):
            begun = self.now
            if loop.stages > 1:
                fills, rest = staged_fills(self.nest, loop)
                self.is_ahead = True
                self.run(fills, copies, loops)
                self.is_ahead = False
                self.run(rest, copies, loops)
                self.now = max(self.now, begun + self.latencies.far / (loop.stages - 1))
            else:
                self.run(loop.body, copies, loops)
            self.now += LOOP_INSTRUCTIONS.usual * copies
            starts.append(self.now)
        if loop.size > 2:
            more = (loop.size - 2) * (starts[2] - starts[1])
            before = starts[0]
            self.now += more
            self.ready = {v: t + more if t > before else t for v, t in self.ready.items()}

    def _wait(self, refs: tuple[object, ...]) -> None:
        if not self.is_ahead:
            self.now = max([self.now, *(self.ready.get(r.value, 0.0) for r in refs if isinstance(r, Ref))])

    def _access(self, node: Load | Store, copies: int) -> None:
        space = self.nest.buffers[node.memory.buffer].space
        if isinstance(node, Load):
            if node.target.value in self.copied:
                self.ready[node.target.value] = self.now
                return
            self.now += copies
            self.ready[node.target.value] = self.now + (self.latencies.shared if space is Space.SHARED else self.latencies.far)
            return
        is_copy = isinstance(node.argument, Ref) and node.argument.value in self.copied
        self._wait((node.argument,))
        self.now += copies
        if is_copy and not self.is_ahead:
            self.filled[node.memory.buffer] = self.now + self.latencies.far

    def _compute(self, node: Compute, copies: int, loops: tuple[Loop, ...]) -> None:
        self._wait(node.arguments)
        if node.operator in FREE:
            self.ready[node.target.value] = self.now + 1
            return
        issued = copies * math.prod(x.size for x in loops if x.kind is Kind.VECTOR)
        latency = self.latencies.arithmetic if node.buffer is None else self.latencies.far
        if node.operator in SPECIAL:
            issued *= SPECIAL[node.operator]
            latency = self.latencies.special
        if any(isinstance(a, Ref) and a.value == node.target.value for a in node.arguments):
            selected = {n for at in node.target.at for n, _ in at.terms}
            chain = math.prod(x.size for x in loops if x.number not in selected)
            issued = max(issued, chain * latency)
        self.now += issued
        self.ready[node.target.value] = self.now + latency

    def _combine(self, node: Combine, copies: int, loops: tuple[Loop, ...]) -> None:
        self._wait((node.source,))
        summands = math.prod(self.nest.values[node.source.value].axes[a].size for a in node.registers)
        lanes = math.prod(x.size for x in loops if x.kind is Kind.VECTOR)
        totals = copies * lanes
        depth = math.log2(max(summands, 1)) * self.latencies.arithmetic
        self.now += max(totals * (summands - 1), depth)
        if node.threads:
            how = combining(self.nest, self.threads, node)
            chain = how.shuffles * (self.latencies.shuffle + self.latencies.arithmetic)
            if how.is_shared:
                through = 2 * self.latencies.barrier + 2 * self.latencies.shared + how.left * self.latencies.arithmetic
                self.now += totals * (chain + through) if totals > 32 else chain + through + 4 * totals
            else:
                self.now += max(chain, 2 * how.shuffles * totals)
        self.ready[node.target.value] = self.now + self.latencies.arithmetic


def cycles_of(nest: Nest, threads: Threads, latencies: Latencies) -> float:
    """Cycles of one block that is alone."""
    parts = {number: part for part in products_of(nest) for number in part.loops}
    clock = _Clock(nest, threads, latencies, copied_values(nest), parts=parts)
    clock.run(nest.body, 1, ())
    return max([clock.now, *(t for t in clock.ready.values() if t < clock.now)])
