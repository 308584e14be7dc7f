"""The plain serial loop of a recurrence as a nest, which C and CUDA are printed of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from warploom.core import Diagnostic, DType, UnsupportedError
from warploom.core.linear import Linear
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import Constant, Operator, Parameter, Region, Role, RunTimeSize
from warploom.schedule.frontend.lowering import region_of
from warploom.schedule.frontend.sizes import Sizes, names_of
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Expression,
    IndexSum,
    IndexValue,
    Number,
    Read,
    Scalar,
    SizeValue,
    dtype_of,
    parts_of,
)
from warploom.schedule.nest import (
    Affine,
    Argument,
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
    Trips,
    Value,
    buffer_of,
    placed,
)
from warploom.schedule.recurrences.tree import Kept, Recurrence


def regions_of(recurrence: Recurrence, sizes: Mapping[str, int]) -> tuple[Region, ...]:
    """The arrays at these sizes, in the order of a call."""
    held = Sizes(sizes)
    return tuple(region_of(a, held, a.role) for a in recurrence.arrays if a.role is not Role.TEMPORARY)


def serial_nest(recurrence: Recurrence, sizes: Mapping[str, int], open_names: Collection[str] = ()) -> Nest:
    """The rows one after the other, shared among threads, each by one loop. open_names: sizes that are arguments of the kernel,
    out of `open_sizes`. UserError where an element is outside of its array."""
    recurrence.check(sizes)
    return _Serial(recurrence, sizes, open_names).nest()


def open_sizes(recurrence: Recurrence) -> tuple[str, ...]:
    """Sizes that may be arguments of the kernel: of the first axis of arrays, with a number added, and nowhere else."""
    found = dict.fromkeys(recurrence.sizes)
    values = [part for value in recurrence.expressions() for part in parts_of(value)]
    numbers = [part.size for part in values if isinstance(part, SizeValue)]
    numbers += [i.sizes for part in values if isinstance(part, Read) for i in part.indices]
    numbers += [part.index.sizes for part in values if isinstance(part, IndexValue)]
    firsts = [array.shape[0] for array in recurrence.arrays if array.shape]
    numbers += [size for array in recurrence.arrays for size in array.shape[1:]]
    numbers += [size for size in firsts if size.names and size.terms[-1] != ((size.names[0],), 1)]
    closed = {name for size in numbers for name in names_of(size)}
    lengths = (*firsts, *(end for _, end in recurrence.ranges))
    closed |= {name for size in lengths if len(names_of(size)) > 1 for name in names_of(size)}
    return tuple(name for name in found if name not in closed)


class _Serial:
    def __init__(self, recurrence: Recurrence, sizes: Mapping[str, int], open_names: Collection[str]) -> None:
        self.recurrence = recurrence
        self.sizes = Sizes(sizes)
        self.open_names = tuple(name for name in recurrence.sizes if name in open_names)
        firsts = {a.name: self.at_run_time(a.shape[0]) for a in recurrence.arrays if a.shape}
        self.regions = tuple(replace(r, run_time=firsts.get(r.name)) for r in regions_of(recurrence, sizes))
        self.numbers = {name: n for n, (name, _) in enumerate(recurrence.ranges)}
        """Loop of each index. That of the serial one begins at 0."""
        self.values: list[Value] = []
        self.states: dict[str, int] = {}
        self.parameters: dict[str, Parameter] = {}
        self.known: dict[Expression, Argument] = {}
        """Values that are known where the nodes go."""

    def nest(self) -> Nest:
        made = self.recurrence
        self.states = {state.name: self.value(state.name, made.dtype) for state in made.states}
        before = [node for kept in made.first for node in self.store(kept)]
        for state in made.states:
            nodes, argument = self.computed(state.initial, made.dtype)
            before += [*nodes, Compute(Ref(self.states[state.name], ()), Operator.MOVE, (argument,))]
        self.known = {}
        body = [node for kept in made.stores for node in self.store(kept)]
        steps: list[tuple[int, Argument]] = []
        for state in made.states:
            nodes, argument = self.computed(state.step, made.dtype)
            body += nodes
            if isinstance(argument, Ref) and argument.value in self.states.values():  # before that state changes
                kept = self.value(f"{state.name} next", made.dtype)
                body.append(Compute(Ref(kept, ()), Operator.MOVE, (argument,)))
                argument = Ref(kept, ())
            steps.append((self.states[state.name], argument))
        body += [Compute(Ref(target, ()), Operator.MOVE, (argument,)) for target, argument in steps]
        around: tuple[Node, ...] = tuple(before)
        last = self.loop(len(made.ranges) - 1, Kind.LOOP, tuple(body), made.start)
        if last.size > 0 or last.trips is not None:
            around = (*around, last)
        for number in reversed(range(len(made.rows))):
            around = (self.loop(number, Kind.LOOP if number else Kind.BLOCK, around, 0),)
        buffers = tuple(buffer_of(region) for region in self.regions)
        run_time = tuple((RunTimeSize(name), self.sizes[name]) for name in self.open_names)
        return Nest(f"{made.name} plain", buffers, tuple(self.parameters.values()), tuple(self.values), around, run_time)

    def loop(self, number: int, kind: Kind, body: tuple[Node, ...], start: int) -> Loop:
        name, end = self.recurrence.ranges[number]
        length = self.at_run_time(end)
        trips = None if length is None else Trips(replace(length, more=length.more - start), 1)
        return Loop(number, name, kind, end.whole_at(self.sizes) - start, body, trips=trips)

    def at_run_time(self, size: Polynomial) -> RunTimeSize | None:
        names = [name for name in self.open_names if name in size.names]
        return RunTimeSize(names[0], more=int(size.constant)) if names else None

    def value(self, name: str, dtype: DType) -> int:
        self.values.append(Value(name, dtype, ()))
        return len(self.values) - 1

    def store(self, kept: Kept) -> list[Node]:
        nodes, argument = self.computed(kept.value, kept.array.dtype)
        return [*nodes, Store(self.memory(kept.array, kept.indices, None), argument)]

    def memory(self, array: ArrayParameter, indices: Sequence[IndexSum], fill: float | None) -> Memory:
        number = next(n for n, region in enumerate(self.regions) if region.name == array.name)
        region = self.regions[number]
        places = [self.affine(index) for index in indices]
        offset, _ = placed(region, places)
        opened = dict(region.open_lengths)
        sides = enumerate(zip(places, region.shape, strict=True)) if fill is not None else ()
        guards = tuple(Guard(place, size, opened.get(n)) for n, (place, size) in sides)
        return Memory(number, offset, guards, fill or 0.0)

    def affine(self, index: IndexSum) -> Affine:
        made = self.recurrence
        shift = index.sum.constant + index.sizes.whole_at(self.sizes) + made.start * index.sum.coefficient(made.index)
        return Linear(tuple(sorted((self.numbers[name], c) for name, c in index.sum.terms)), shift)

    def computed(self, value: Expression, dtype: DType) -> tuple[list[Node], Argument]:
        """The nodes that compute a value, and the value; numbers are of the type."""
        nodes: list[Node] = []
        return nodes, self.argument(value, dtype, nodes)

    def argument(self, value: Expression, dtype: DType, nodes: list[Node]) -> Argument:
        match value:
            case Number(number):
                return Constant(number)
            case SizeValue(size):
                return Constant(size.whole_at(self.sizes))
            case Scalar(parameter) if parameter.name in self.states:
                return Ref(self.states[parameter.name], ())
            case Scalar(parameter):
                self.parameters[parameter.name] = parameter
                return parameter
            case _:
                pass
        if value in self.known:
            return self.known[value]
        match value:
            case Read(array=array, indices=indices, fill=fill):
                target = Ref(self.value(f"{array.name} {len(self.values)}", array.dtype), ())
                nodes.append(Load(target, self.memory(array, indices, fill)))
            case IndexValue(index=index, dtype=own):
                target = Ref(self.value(f"index {len(self.values)}", own or dtype), ())
                nodes.append(Compute(target, Operator.MOVE, (self.affine(index),)))
            case Apply(operator=operator, operands=operands, dtype=own):
                inner = dtype_of(operands[0]) if operator is Operator.CAST else own
                arguments = tuple(self.argument(o, inner or dtype, nodes) for o in operands)
                target = Ref(self.value(f"{operator} {len(self.values)}", own or dtype), ())
                nodes.append(Compute(target, operator, arguments))
            case _:
                raise UnsupportedError(Diagnostic("RUNNING", f"expected elements and arithmetic, got {type(value).__name__}"))
        self.known[value] = target
        return target
