"""Runs a nest as it is written: slow, one scalar at a time, and against it.

Threads of a block run one after the other from barrier to barrier, in an order drawn anew each time; blocks too. An element that
one thread writes and another touches between the same two barriers is an error even where the order happens to be kind, and so is
whatever is read before it is written. Loops with stages are run with their fills ahead, as printed code does.

Arithmetic is that of Python (double precision, unbounded integers); arrays round to their type.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom.core import to_numpy
from warploom.schedule.backbone import Constant, Operator, Parameter, Role
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
from warploom.schedule.nest.walk import hardware_sizes, staged_fills, statements

Array: TypeAlias = NDArray[Any]
Meeting: TypeAlias = Generator[Combine | Barrier, float | None, None]


class NestError(RuntimeError):
    """The nest does something that has no meaning: a race, a read of what was never written, a place outside its buffer."""


def interpret(
    nest: Nest, arrays: Mapping[str, Array], parameters: Mapping[str, float] | None = None, seed: int = 0
) -> dict[str, Array]:
    """The outputs by name, flat, one element per element of the buffer; what no store writes is what was given, else NaN or 0.

    arrays: inputs by name, any shape of so many elements (an output that is read too). Raises NestError; KeyError if an input or
    a parameter is missing.
    """
    memory: list[Array] = []
    for buffer in nest.buffers:
        kind = to_numpy(buffer.dtype)
        if buffer.role is Role.INPUT or (buffer.role is Role.OUTPUT and buffer.name in arrays):
            given = np.asarray(arrays[buffer.name], kind).reshape(-1)
            memory.append(given[: buffer.elements].copy())
        else:
            empty = np.nan if buffer.dtype.is_float else 0
            memory.append(np.full(buffer.elements if buffer.role is not Role.TEMPORARY else 0, empty, kind))
    machine = _Machine(nest, memory, dict(parameters or {}), random.Random(seed))
    machine.run()
    return {b.name: memory[n] for n, b in enumerate(nest.buffers) if b.role is Role.OUTPUT}


@dataclass(slots=True)
class _Thread:
    machine: _Machine
    position: tuple[int, ...]
    """By hardware dimension."""
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
                return self.machine.parameters[name]
            case Ref(value=value, at=at):
                key = value, tuple(self.at(a) for a in at)
                if key not in self.values:
                    raise NestError(f"{self.machine.nest.values[value].name}{list(key[1])} is read before it is written")
                return self.values[key]

    def write(self, ref: Ref, result: float) -> None:
        at = tuple(self.at(a) for a in ref.at)
        value = self.machine.nest.values[ref.value]
        if len(at) != len(value.axes) or not all(0 <= a < axis.size for a, axis in zip(at, value.axes, strict=True)):
            raise NestError(f"{value.name}{list(at)} is no register of it")
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
                assert loop.hardware is not None
                if self.position[loop.hardware] < loop.size:
                    yield from self.run(loop.body)
            case Kind.BLOCK:
                yield from self.run(loop.body)
            case _ if loop.stages > 1:
                yield from self.pipeline(loop)
            case _:
                for index in range(loop.size):
                    self.indices[loop.number] = index
                    if self.machine.is_silent(loop):
                        self.quiet(loop.body)
                    else:
                        yield from self.run(loop.body)
                del self.indices[loop.number]

    def quiet(self, nodes: Sequence[Node]) -> None:
        for _ in self.run(nodes):
            raise AssertionError

    def pipeline(self, loop: Loop) -> Meeting:
        fills, rest = staged_fills(self.machine.nest, loop)
        ahead = loop.stages - 1
        has_barrier = bool(rest) and isinstance(rest[0], Barrier)
        for index in range(min(ahead, loop.size)):
            self.indices[loop.number] = index
            yield from self.run(fills)
        for index in range(loop.size):
            if has_barrier:
                yield Barrier()
            if index + ahead < loop.size:
                self.indices[loop.number] = index + ahead
                yield from self.run(fills)
            self.indices[loop.number] = index
            yield from self.run(rest[1:] if has_barrier else rest)
        del self.indices[loop.number]

    def combined(self, node: Combine) -> float:
        axes = self.machine.nest.values[node.source.value].axes
        total: float | None = None
        for point in itertools.product(*(range(axes[n].size) for n in node.registers)):
            at = list(node.source.at)
            for axis, index in zip(node.registers, point, strict=True):
                at[axis] = Affine(index)
            part = self.read(Ref(node.source.value, tuple(at)))
            total = part if total is None else _computed(node.operator, (total, part))
        assert total is not None
        return total

    def step(self, node: Load | Store | Compute) -> None:
        match node:
            case Load(target=target, memory=memory):
                self.write(target, self.machine.load(self, memory) if self.holds(memory.guards) else memory.fill)
            case Store(memory=memory, argument=argument, guards=guards):
                if self.holds(guards) and self.holds(memory.guards):
                    self.machine.store(self, memory, self.read(argument))
            case Compute(target=target, operator=operator, arguments=arguments, guards=guards):
                if self.holds(guards):
                    self.write(target, _computed(operator, [self.read(a) for a in arguments]))


@dataclass(slots=True)
class _Touch:
    writer: int | None = None
    reader: int | None = None
    is_read_by_more: bool = False


@dataclass(slots=True)
class _Machine:
    nest: Nest
    memory: list[Array]
    parameters: dict[str, float]
    source: random.Random
    block: int = 0
    written: list[set[int]] = field(default_factory=list[set[int]])
    """Elements of the block's own buffers that hold something."""
    touches: dict[tuple[int, int], _Touch] = field(default_factory=dict[tuple[int, int], _Touch])
    """Since the last barrier, by threads."""
    blocks: dict[tuple[int, int], _Touch] = field(default_factory=dict[tuple[int, int], _Touch])
    """Since the start, by blocks."""
    silent: dict[int, bool] = field(default_factory=dict[int, bool])
    staged: dict[tuple[int, Affine], tuple[int, int]] = field(default_factory=dict[tuple[int, Affine], tuple[int, int]])
    numbers: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])

    def run(self) -> None:
        grid = _blocks(self.nest.body)
        threads = hardware_sizes(self.nest, Kind.THREAD)
        self.numbers = {p: n for n, p in enumerate(itertools.product(*map(range, threads)))}
        for loop in _staged_loops(self.nest.body):
            for statement, _ in statements(loop.body):
                if isinstance(statement, Load | Store) and self.nest.buffers[statement.memory.buffer].copies > 1:
                    self.staged[statement.memory.buffer, statement.memory.offset] = loop.number, loop.stages
        points = list(itertools.product(*(range(loop.size) for loop in grid)))
        self.source.shuffle(points)
        for number, point in enumerate(points):
            self.block = number
            self.run_block({loop.number: index for loop, index in zip(grid, point, strict=True)})

    def run_block(self, indices: dict[int, int]) -> None:
        for number, buffer in enumerate(self.nest.buffers):
            if buffer.role is Role.TEMPORARY:
                self.memory[number] = np.zeros(buffer.elements * buffer.copies, to_numpy(buffer.dtype))
        self.written = [set() for _ in self.nest.buffers]
        self.touches.clear()
        threads = [_Thread(self, p, indices | self.thread_indices(p)) for p in self.numbers]
        running = [(t, t.run(self.nest.body)) for t in threads]
        answers: dict[int, float | None] = {}
        while running:
            self.source.shuffle(running)
            met: list[Combine | Barrier] = []
            left: list[tuple[_Thread, Meeting]] = []
            for thread, steps in running:
                try:
                    met.append(steps.send(answers.get(id(thread))))
                    left.append((thread, steps))
                except StopIteration:
                    pass
            if met and (len(left) != len(running) or any(m != met[0] for m in met)):
                raise NestError("threads of a block meet at different places")
            answers = {}
            if met:
                self.touches.clear()
                if isinstance(met[0], Combine):
                    answers = self.joined(met[0], [t for t, _ in left])
            running = left

    def thread_indices(self, position: tuple[int, ...]) -> dict[int, int]:
        found: dict[int, int] = {}

        def see(nodes: Sequence[Node]) -> None:
            for node in nodes:
                if isinstance(node, Loop):
                    if node.kind is Kind.THREAD and node.hardware is not None:
                        found[node.number] = position[node.hardware]
                    see(node.body)

        see(self.nest.body)
        return found

    def joined(self, node: Combine, threads: list[_Thread]) -> dict[int, float | None]:
        hardware = {loop.hardware for loop in _thread_loops(self.nest.body) if loop.number in node.threads}
        rows: dict[tuple[int, ...], list[_Thread]] = {}
        for thread in threads:
            rows.setdefault(tuple(p for n, p in enumerate(thread.position) if n not in hardware), []).append(thread)
        answers: dict[int, float | None] = {}
        for row in rows.values():
            total = row[0].values[-1, ()]
            for thread in row[1:]:
                total = _computed(node.operator, (total, thread.values[-1, ()]))
            answers |= {id(thread): total for thread in row}
        return answers

    def is_silent(self, loop: Loop) -> bool:
        """No thread meets another inside."""
        if loop.number not in self.silent:
            inside = [s for s, _ in statements(loop.body)]
            self.silent[loop.number] = not any(isinstance(s, Barrier) or (isinstance(s, Combine) and s.threads) for s in inside)
        return self.silent[loop.number]

    def place(self, thread: _Thread, memory: Memory) -> int:
        buffer = self.nest.buffers[memory.buffer]
        offset = thread.at(memory.offset)
        if memory.swizzle is not None:
            offset = int(memory.swizzle.of(np.array([offset]))[0])
        if not 0 <= offset < buffer.elements:
            raise NestError(f"{buffer.name}[{offset}] is outside its {buffer.elements} elements")
        loop = self.staged.get((memory.buffer, memory.offset))
        return offset + (thread.indices[loop[0]] % loop[1]) * buffer.elements if loop is not None else offset

    def load(self, thread: _Thread, memory: Memory) -> float:
        place = self.place(thread, memory)
        buffer = self.nest.buffers[memory.buffer]
        self.touch(thread, memory.buffer, place, is_write=False)
        if buffer.role is Role.TEMPORARY and place not in self.written[memory.buffer]:
            raise NestError(f"{buffer.name}[{place}] is loaded before it is stored")
        return self.memory[memory.buffer][place].item()

    def store(self, thread: _Thread, memory: Memory, value: float) -> None:
        place = self.place(thread, memory)
        self.touch(thread, memory.buffer, place, is_write=True)
        self.written[memory.buffer].add(place)
        self.memory[memory.buffer][place] = value

    def touch(self, thread: _Thread, buffer: int, place: int, *, is_write: bool) -> None:
        role = self.nest.buffers[buffer].role
        if role is Role.INPUT and not is_write:
            return
        self._touch(self.touches.setdefault((buffer, place), _Touch()), self.numbers[thread.position], buffer, place, is_write)
        if role is not Role.TEMPORARY:
            self._touch(self.blocks.setdefault((buffer, place), _Touch()), self.block, buffer, place, is_write)

    def _touch(self, touch: _Touch, who: int, buffer: int, place: int, is_write: bool) -> None:
        others = touch.writer is not None and touch.writer != who
        if is_write:
            others = others or touch.is_read_by_more or (touch.reader is not None and touch.reader != who)
            touch.writer = who
        else:
            touch.is_read_by_more |= touch.reader is not None and touch.reader != who
            touch.reader = who
        if others:
            raise NestError(f"two threads race for {self.nest.buffers[buffer].name}[{place}]")


def _blocks(nodes: Sequence[Node]) -> list[Loop]:
    found: list[Loop] = []
    while len(nodes) == 1 and isinstance(nodes[0], Loop) and nodes[0].kind is Kind.BLOCK:
        found.append(nodes[0])
        nodes = nodes[0].body
    return found


def _thread_loops(nodes: Sequence[Node]) -> list[Loop]:
    found: list[Loop] = []
    for node in nodes:
        if isinstance(node, Loop):
            found.extend(([node] if node.kind is Kind.THREAD else []) + _thread_loops(node.body))
    return found


def _staged_loops(nodes: Sequence[Node]) -> list[Loop]:
    found: list[Loop] = []
    for node in nodes:
        if isinstance(node, Loop):
            found.extend(([node] if node.stages > 1 else []) + _staged_loops(node.body))
    return found


def _quotient(first: float, second: float) -> float:
    if second == 0:
        return math.nan if first == 0 or math.isnan(first) else math.copysign(math.inf, first) * math.copysign(1.0, second)
    return first / second


def _exponential(first: float) -> float:
    try:
        return math.exp(first)
    except OverflowError:
        return math.inf


def _larger(first: float, second: float) -> float:
    return math.nan if math.isnan(first) or math.isnan(second) else max(first, second)


def _smaller(first: float, second: float) -> float:
    return -_larger(-first, -second)


def _logarithm(first: float) -> float:
    return math.log(first) if first > 0 else -math.inf if first == 0 else math.nan


def _computed(operator: Operator, operands: Sequence[float]) -> float:
    first = operands[0]
    match operator:
        case Operator.MOVE | Operator.CAST:
            return first
        case Operator.ADD:
            return first + operands[1]
        case Operator.SUB:
            return first - operands[1]
        case Operator.MUL:
            return first * operands[1]
        case Operator.DIV:
            return _quotient(first, operands[1])
        case Operator.FMA:
            return first * operands[1] + operands[2]
        case Operator.MAX:
            return _larger(first, operands[1])
        case Operator.MIN:
            return _smaller(first, operands[1])
        case Operator.NEG:
            return -first
        case Operator.EXP:
            return _exponential(first)
        case Operator.LOG:
            return _logarithm(first)
        case Operator.SQRT:
            return math.sqrt(first) if first >= 0 else math.nan
        case Operator.TANH:
            return math.tanh(first)
        case Operator.ABS:
            return abs(first)
        case Operator.LOAD | Operator.STORE:
            raise NestError(f"{operator} is no computation")
        case _:
            assert_never(operator)
