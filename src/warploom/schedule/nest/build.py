"""Nests written by hand: loops as context managers, indices as sums that can be added and scaled."""

from __future__ import annotations

from dataclasses import dataclass, field

from warploom.core import DType, f32
from warploom.core.linear import Linear, variable
from warploom.schedule.backbone import Operator, Parameter, Role
from warploom.schedule.nest.nodes import (
    Affine,
    Argument,
    Buffer,
    Cache,
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
    Register,
    Space,
    Store,
    Value,
)
from warploom.schedule.nest.walk import loops


@dataclass(frozen=True, slots=True)
class Index:
    """An affine sum of loops, with the signs + and *."""

    affine: Affine

    def __add__(self, other: Index | int) -> Index:
        return Index(self.affine.shifted(other) if isinstance(other, int) else self.affine.plus(other.affine))

    __radd__ = __add__

    def __mul__(self, factor: int) -> Index:
        return Index(self.affine.scaled(factor))

    __rmul__ = __mul__


@dataclass
class Builder:
    """Collects a nest in program order: `with b.loop("m", Kind.LOOP, 4) as m: ...`."""

    name: str
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    values: list[Value] = field(default_factory=list[Value])
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    loops: int = 0
    open: list[list[Node]] = field(default_factory=lambda: [[]])

    def buffer(self, name: str, elements: int, role: Role = Role.INPUT, dtype: DType = f32, space: Space = Space.GLOBAL) -> int:
        self.buffers.append(Buffer(name, dtype, elements, role, space))
        return len(self.buffers) - 1

    def scratch(self, name: str, elements: int, dtype: DType = f32) -> int:
        return self.buffer(name, elements, Role.TEMPORARY, dtype, Space.SHARED)

    def value(self, name: str, *sizes: int, vector: int = 0, dtype: DType = f32) -> int:
        axes = tuple(Register(s, False) for s in sizes) + ((Register(vector, True),) if vector else ())
        self.values.append(Value(name, dtype, axes))
        return len(self.values) - 1

    def loop(self, name: str, kind: Kind, size: int, stages: int = 1, hardware: int = 0) -> OpenLoop:
        """`hardware`: dimension of a thread loop; those of block loops follow from how they lie, the innermost is 0."""
        self.loops += 1
        return OpenLoop(self, name, kind, size, self.loops - 1, stages, hardware)

    def add(self, node: Node) -> None:
        self.open[-1].append(node)

    def ref(self, value: int, *at: Index | int) -> Ref:
        return Ref(value, tuple(Linear((), i) if isinstance(i, int) else i.affine for i in at))

    def load(self, target: Ref, buffer: int, offset: Index | int, *guards: tuple[Index, int], fill: float = 0.0) -> None:
        self.add(Load(target, self.memory(buffer, offset, *guards, fill=fill)))

    def store(
        self, buffer: int, offset: Index | int, argument: Argument, *guards: tuple[Index, int], cache: Cache = Cache.ALL
    ) -> None:
        self.add(Store(self.memory(buffer, offset, *guards, cache=cache), argument))

    def memory(
        self, buffer: int, offset: Index | int, *guards: tuple[Index, int], fill: float = 0.0, cache: Cache = Cache.ALL
    ) -> Memory:
        place = Linear((), offset) if isinstance(offset, int) else offset.affine
        return Memory(buffer, place, tuple(Guard(i.affine, n) for i, n in guards), fill, cache)

    def compute(self, target: Ref, operator: Operator, *arguments: Argument, guards: tuple[tuple[Index, int], ...] = ()) -> None:
        self.add(Compute(target, operator, arguments, tuple(Guard(i.affine, n) for i, n in guards)))

    def combine(self, target: Ref, operator: Operator, source: Ref, *registers: int) -> None:
        self.add(Combine(target, operator, source, registers, ()))

    def nest(self) -> Nest:
        assert len(self.open) == 1
        return Nest(self.name, tuple(self.buffers), tuple(self.parameters), tuple(self.values), tuple(self.open[0]))


@dataclass
class OpenLoop:
    """A loop while nodes are added to it; entering gives its index."""

    builder: Builder
    name: str
    kind: Kind
    size: int
    number: int
    stages: int
    hardware: int

    def __enter__(self) -> Index:
        self.builder.open.append([])
        return Index(variable(self.number))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        body = tuple(self.builder.open.pop())
        hardware = None
        if self.kind is Kind.THREAD:
            hardware = self.hardware
        elif self.kind is Kind.BLOCK:
            hardware = sum(inner.kind is Kind.BLOCK for inner in loops(body))
        self.builder.add(Loop(self.number, self.name, self.kind, self.size, body, hardware, self.stages))
