"""One thread of a nest that runs: its registers, its loops, where it meets the others."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from tests.schedule.nest.interpreter.arithmetic import computed
from tests.schedule.nest.interpreter.errors import NestError
from tests.schedule.nest.interpreter.memory import Buffers

from warploom.core.linear import Linear
from warploom.schedule.backbone import Constant, Parameter
from warploom.schedule.nest.nodes import (
    Affine,
    Argument,
    Barrier,
    Combine,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Store,
)
from warploom.schedule.nest.walk import staged_fills, statements

Meeting: TypeAlias = Generator[Combine | Barrier, float | None, None]


@dataclass(slots=True)
class Silent:
    """Loops in which no thread meets another."""

    known: dict[int, bool] = field(default_factory=dict[int, bool])

    def of(self, loop: Loop) -> bool:
        if loop.number not in self.known:
            inside = [s for s, _ in statements(loop.body)]
            self.known[loop.number] = not any(isinstance(s, Barrier) or (isinstance(s, Combine) and s.threads) for s in inside)
        return self.known[loop.number]


def thread_index(loop: Loop, position: Sequence[int], shape: Sequence[int], lanes: tuple[int, int] | None) -> int:
    """A thread's index in a thread loop; the loop's size or more where it does not run it."""
    if loop.digit is None:
        assert loop.hardware is not None
        return position[loop.hardware]
    counted = 0
    if lanes is None:
        for place, size in zip(reversed(position), reversed(shape), strict=True):
            counted = counted * size + place
    else:
        (x, y), (width, height) = position[:2], shape[:2]
        for place, size in zip(reversed(position[2:]), reversed(shape[2:]), strict=True):
            counted = counted * size + place
        counted = counted * (height // lanes[0]) + y // lanes[0]
        counted = counted * (width // lanes[1]) + x // lanes[1]
        counted = counted * 32 + y % lanes[0] // 2 * (2 * lanes[1]) + x % lanes[1] * 2 + y % 2
    counted //= loop.digit.step
    return counted if loop.digit.is_last else counted % loop.size


@dataclass(slots=True)
class Thread:
    nest: Nest
    buffers: Buffers
    parameters: Mapping[str, float]
    silent: Silent
    number: int
    position: tuple[int, ...]
    """Position by hardware dimension."""
    indices: dict[int, int]
    values: dict[tuple[int, tuple[int, ...]], float] = field(default_factory=dict[tuple[int, tuple[int, ...]], float])

    def at(self, affine: Affine) -> int:
        total = affine.constant
        for loop, stride in affine.terms:
            total += stride * self.indices[loop]
        return total

    def holds(self, guards: Sequence[Guard]) -> bool:
        return all(0 <= self.at(g.index) < g.bound for g in guards)

    def read(self, argument: Argument) -> float:
        match argument:
            case Constant(value=value):
                return value
            case Parameter(name=name):
                return self.parameters[name]
            case Linear():
                return self.at(argument)
            case Ref(value=value, at=at):
                key = value, tuple(self.at(a) for a in at)
                if key not in self.values:
                    raise NestError(f"{self.nest.values[value].name}{list(key[1])} is read before it is written")
                return self.values[key]

    def write(self, ref: Ref, result: float) -> None:
        at = tuple(self.at(a) for a in ref.at)
        value = self.nest.values[ref.value]
        if len(at) != len(value.axes) or not all(0 <= a < axis.size for a, axis in zip(at, value.axes, strict=True)):
            raise NestError(f"{value.name}{list(at)} is outside of its registers")
        self.values[ref.value, at] = result if value.dtype.is_float else int(result)

    def run(self, nodes: Sequence[Node]) -> Meeting:
        for node in nodes:
            match node:
                case Loop():
                    yield from self.loop(node)
                case Barrier():
                    yield node
                case Combine(threads=threads):
                    own = self.combined(node)
                    if threads:
                        self.values[-1, ()] = own
                        total = yield node
                        assert total is not None
                        own = total
                    self.write(node.target, own)
                case Load() | Store() | Compute():
                    self.step(node)
                case _:
                    assert_never(node)

    def loop(self, loop: Loop) -> Meeting:
        match loop.kind:
            case Kind.THREAD:
                if self.indices[loop.number] < loop.size:
                    yield from self.run(loop.body)
            case Kind.BLOCK:
                yield from self.run(loop.body)
            case _ if loop.stages > 1:
                yield from self.pipeline(loop)
            case _:
                for index in range(loop.size):
                    self.indices[loop.number] = index
                    if not self.holds(loop.only):
                        continue
                    if self.silent.of(loop):
                        self.quiet(loop.body)
                    else:
                        yield from self.run(loop.body)
                self.indices.pop(loop.number, None)  # of no rounds there is none

    def quiet(self, nodes: Sequence[Node]) -> None:
        for _ in self.run(nodes):
            raise AssertionError

    def pipeline(self, loop: Loop) -> Meeting:
        fills, rest = staged_fills(self.nest, loop)
        ahead = loop.stages - 1
        has_barrier = bool(rest) and isinstance(rest[0], Barrier)
        order = [index for index in range(loop.size) if self.is_made(loop, index)]
        for index in order[:ahead]:
            self.indices[loop.number] = index
            yield from self.run(fills)
        for position, index in enumerate(order):
            if has_barrier:
                yield Barrier()
            if position + ahead < len(order):
                self.indices[loop.number] = order[position + ahead]
                yield from self.run(fills)
            self.indices[loop.number] = index
            yield from self.run(rest[1:] if has_barrier else rest)
        self.indices.pop(loop.number, None)

    def is_made(self, loop: Loop, index: int) -> bool:
        self.indices[loop.number] = index
        return self.holds(loop.only)

    def combined(self, node: Combine) -> float:
        axes = self.nest.values[node.source.value].axes
        total: float | None = None
        for point in itertools.product(*(range(axes[n].size) for n in node.registers)):
            at = list(node.source.at)
            for axis, index in zip(node.registers, point, strict=True):
                at[axis] = Linear((), index)
            part = self.read(Ref(node.source.value, tuple(at)))
            total = part if total is None else computed(node.operator, (total, part))
        assert total is not None
        return total

    def step(self, node: Load | Store | Compute) -> None:
        match node:
            case Load(target=target, memory=memory):
                self.write(target, self.load(memory) if self.holds(memory.guards) else memory.fill)
            case Store(memory=memory, argument=argument, guards=guards):
                if self.holds(guards) and self.holds(memory.guards):
                    value = self.read(argument)
                    self.buffers.store(self.number, memory.buffer, self.place(memory), value)
            case Compute(target=target, operator=operator, arguments=arguments, guards=guards):
                if self.holds(guards):
                    self.write(target, computed(operator, [self.read(a) for a in arguments]))

    def place(self, memory: Memory) -> int:
        return self.buffers.place(memory, self.at(memory.offset), self.indices)

    def load(self, memory: Memory) -> float:
        return self.buffers.load(self.number, memory.buffer, self.place(memory))
