"""The rules that a nest keeps and that printers rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from warploom.core.linear import Linear
from warploom.schedule.backbone import Operator, Role
from warploom.schedule.nest.block import WARP
from warploom.schedule.nest.exchange import with_barriers
from warploom.schedule.nest.nodes import (
    Affine,
    Barrier,
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
    Space,
    Store,
)
from warploom.schedule.nest.walk import (
    Statement,
    blocks_of,
    guarded_interval,
    guards_of,
    hardware_sizes,
    loops,
    references,
    staged_fills,
    statements,
)

Ints: TypeAlias = npt.NDArray[np.int64]

_MOST_POINTS = 1 << 20


def verify(nest: Nest) -> tuple[str, ...]:
    """Faults of the nest, in words; empty: every rule holds.

    Loops: numbers are unique, blocks are outermost, at most one has nodes behind it and each is on its own hardware dimension,
    thread loops of one hardware dimension are not nested, those of digits make up a thread's number, warps that the nest shapes
    divide the block and make no totals over threads, a vector loop holds one
    statement whose lanes have registers of their own. Expressions use loops around them. Registers exist and are written, in
    program order, before they are read. Places are inside their buffers where the guards hold. No two threads store to one
    place; barriers and totals over threads are outside of thread loops, and barriers stand wherever threads exchange data.
    Nodes behind the blocks read only common arrays of theirs. Only sequential loops leave out iterations, the same neighbours
    for all threads of a block, and where what is left stores, no place is stored to twice. Copies of a buffer belong to one
    loop with as many stages, filled first in its body.
    """
    checker = _Checker(nest)
    return tuple(dict.fromkeys(checker.problems()))


class _Checker:
    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.loops = {loop.number: loop for loop in loops(nest.body)}
        self.sizes = {n: loop.size for n, loop in self.loops.items()}
        self.threads = hardware_sizes(nest, Kind.THREAD)
        self.blocks = blocks_of(nest)

    def problems(self) -> Iterator[str]:
        yield from self._loops()
        for nodes, around in ((self.blocks.body, self.blocks.around + self.blocks.inner), (self.blocks.rest, self.blocks.around)):
            yield from self._part(nodes, around)
        yield from self._common()
        yield from self._buffers()
        yield from self._once()
        if with_barriers(self.nest) != self.nest:
            yield "threads exchange data without a barrier between"

    def _part(self, nodes: tuple[Node, ...], outside: tuple[Loop, ...]) -> Iterator[str]:
        """The blocks' body, or what runs behind them: registers and temporaries are not passed from one to the other."""
        written: set[int] = set()
        stored: set[int] = set()
        for statement, around in statements(nodes, outside):
            yield from self._statement(statement, around)
            yield from self._digits(around)
            read, made = references(statement)
            for ref in read:
                if ref.value not in written:
                    yield f"{self._value(ref)} is read before it is written"
            written.update(ref.value for ref in made)
            if isinstance(statement, Load | Store):
                number = statement.memory.buffer
                if isinstance(statement, Store):
                    stored.add(number)
                elif number not in stored and self._is_temporary(number):
                    yield f"{self.nest.buffers[number].name} is loaded before it is stored"

    def _common(self) -> Iterator[str]:
        inside = {loop.number: loop.size for loop in (*self.blocks.around, *self.blocks.inner)}
        for nodes, kind in ((self.blocks.body, Store), (self.blocks.rest, Load)):
            for statement, _ in statements(nodes):
                if not isinstance(statement, Load | Store) or not self._is_common(statement.memory.buffer):
                    continue
                name = self.nest.buffers[statement.memory.buffer].name
                is_kind = isinstance(statement, Store) == (kind is Store)
                if not is_kind:
                    yield f"{name} is {'loaded inside' if kind is Store else 'stored behind'} the blocks"
                used = {n for n, _ in statement.memory.offset.terms}
                if kind is Store and any(size > 1 and n not in used for n, size in inside.items()):
                    yield f"several blocks store to one place of {name}"

    def _once(self) -> Iterator[str]:
        """Where loops that store leave out iterations, no place is stored to twice; asked by all points, where they are few."""
        if not any(loop.only and self._stores(loop) for loop in self.loops.values()):
            return
        stored: dict[int, list[Ints]] = {}
        for statement, around in statements(self.nest.body):
            if not isinstance(statement, Store) or self._is_temporary(statement.memory.buffer):
                continue
            guards = (*guards_of(statement), *(guard for loop in around for guard in loop.only))
            numbers = tuple(loop.number for loop in around)
            if np.prod([float(self.sizes[n]) for n in numbers]) <= _MOST_POINTS:
                stored.setdefault(statement.memory.buffer, []).append(self._places(statement.memory.offset, guards, numbers))
        for number, places in stored.items():
            every = np.concatenate(places)
            if len(np.unique(every)) != len(every):
                yield f"several tiles store to one place of {self.nest.buffers[number].name}"

    def _stores(self, loop: Loop) -> bool:
        """Whether something in the loop stores to an output."""
        return any(isinstance(s, Store) and not self._is_temporary(s.memory.buffer) for s, _ in statements(loop.body))

    # Loops

    def _loops(self) -> Iterator[str]:
        everything = list(loops(self.nest.body))
        for number in {n.number for n in everything if sum(o.number == n.number for o in everything) > 1}:
            yield f"loop number {number} is used twice"
        blocks = (*self.blocks.around, *self.blocks.inner)
        if sum(loop.kind is Kind.BLOCK for loop in everything) != len(blocks):
            yield "block loops are not outermost around everything"
        if self.blocks.rest and self.threads:
            yield "nodes stand behind the blocks of a nest with threads"
        if len({b.hardware for b in blocks}) != len(blocks):
            yield "two block loops share a hardware dimension"
        for loop in everything:
            yield from self._loop(loop)
        yield from self._lanes()

    def _lanes(self) -> Iterator[str]:
        if self.nest.lanes is None:
            return
        down, across = self.nest.lanes
        x, y = (*self.threads, 1, 1)[:2]
        if down * across != WARP or down % 2 or x % across or y % down:
            yield f"warps of {down} x {across} threads do not make up {y} x {x}"
        if any(isinstance(s, Combine) and s.threads for s, _ in statements(self.nest.body)):
            yield "a total over threads is made where warps lie along two dimensions"

    def _loop(self, loop: Loop) -> Iterator[str]:
        if loop.size < 1 or not loop.body:
            yield f"loop {loop.name} is empty"
        if (loop.hardware is not None) != (loop.kind is Kind.BLOCK or (loop.kind is Kind.THREAD and loop.digit is None)):
            yield f"{loop.kind} loop {loop.name} has hardware dimension {loop.hardware}"
        if loop.digit is not None and loop.kind is not Kind.THREAD:
            yield f"{loop.kind} loop {loop.name} is a digit of a thread's number"
        if loop.kind is Kind.VECTOR:
            if len(loop.body) != 1 or not isinstance(loop.body[0], Load | Store | Compute):
                yield f"vector loop {loop.name} holds more than one statement"
            elif not isinstance(loop.body[0], Store) and not _selects(loop.body[0].target, loop.number):
                yield f"the lanes of {loop.name} write one register"
        if loop.kind is Kind.THREAD:
            if loop.digit is None and any(o.kind is Kind.THREAD and o.hardware == loop.hardware for o in loops(loop.body)):
                yield f"thread loop {loop.name} holds another on its hardware dimension"
            if any(o.kind is Kind.THREAD and (o.digit is None) != (loop.digit is None) for o in loops(loop.body)):
                yield f"threads of {loop.name} lie along hardware dimensions and along digits of their number"
            if any(isinstance(s, Barrier) or (isinstance(s, Combine) and s.threads) for s, _ in statements(loop.body)):
                yield f"threads meet inside thread loop {loop.name}"
        if loop.stages > 1:
            yield from self._stages(loop)
        if loop.only and loop.kind is not Kind.LOOP:
            yield f"{loop.kind} loop {loop.name} leaves out iterations"
        elif (loop.stages > 1 or self.threads) and not all(self._is_of_block(loop, guard) for guard in loop.only):
            yield f"loop {loop.name} leaves out iterations that are not the same neighbours for all threads of a block"
        around = {loop.number, *(o.number for o in self.loops.values() if loop.only and loop in loops(o.body))}
        for guard in loop.only:
            yield from self._affine(guard.index, around)

    def _digits(self, around: tuple[Loop, ...]) -> Iterator[str]:
        """Digits around a statement are those of one number: each counts what the faster ones, inside, make up together, and only
        the slowest is the last."""
        digits = [(x, x.digit) for x in around if x.digit is not None]
        whole = 1
        for position, (loop, digit) in enumerate(reversed(digits), 1):
            if digit.step != whole:
                yield f"{loop.name} counts steps of {digit.step} threads, the digits inside make up {whole}"
            if digit.is_last and position < len(digits):
                yield f"{loop.name} is the last digit, and not the slowest"
            whole = digit.step * loop.size

    def _is_of_block(self, loop: Loop, guard: Guard) -> bool:
        """Whether the guard is on the loop, and else on blocks alone."""
        numbers = {n for n, _ in guard.index.terms}
        blocks = {b.number for b in (*self.blocks.around, *self.blocks.inner)}
        return guard.run_time is None and loop.number in numbers and numbers <= blocks | {loop.number}

    def _stages(self, loop: Loop) -> Iterator[str]:
        if loop.kind is not Kind.LOOP:
            yield f"{loop.kind} loop {loop.name} has stages"
        fills, rest = staged_fills(self.nest, loop)
        if not fills:
            yield f"loop {loop.name} has stages but fills nothing ahead"
        made = {ref.value for s, _ in statements(fills) for ref in references(s)[1]}
        for statement, _ in statements(rest):
            read, written = references(statement)
            if any(ref.value in made for ref in (*read, *written)):
                yield f"what runs ahead in {loop.name} shares registers with what does not"
        if any(isinstance(node, Barrier) for node in fills):
            yield f"threads meet among the fills of {loop.name}"

    # Statements

    def _statement(self, statement: Statement, around: tuple[Loop, ...]) -> Iterator[str]:
        inside = {loop.number for loop in around}
        for refs in references(statement):
            for ref in refs:
                yield from self._ref(ref, inside)
        threads = (
            {n for n, loop in self.loops.items() if loop.kind is Kind.THREAD} if isinstance(statement, Store) else set[int]()
        )
        for guard in guards_of(statement):
            yield from self._affine(guard.index, inside | threads)
        match statement:
            case Load(memory=memory) | Store(memory=memory):
                yield from self._affine(memory.offset, inside)
                yield from self._memory(memory)
                if isinstance(statement, Store):
                    yield from self._one_thread(statement, around)
                    if isinstance(statement.argument, Linear):
                        yield "an index is stored before it is a number"
            case Combine(source=source, registers=registers, threads=summed):
                axes = self.nest.values[source.value].axes if 0 <= source.value < len(self.nest.values) else ()
                if any(not 0 <= n < len(axes) or source.at[n] != Linear() for n in registers):
                    yield f"{self._value(source)} is summed over axes that it does not have"
                if any(n not in self.loops or self.loops[n].kind is not Kind.THREAD for n in summed):
                    yield f"{self._value(source)} is summed over loops that are no threads"
            case Compute(operator=operator, arguments=arguments):
                for argument in arguments:
                    if isinstance(argument, Linear):
                        yield from self._affine(argument, inside)
                        if operator is Operator.CAST:
                            yield "an index is converted before it is a number"
            case Barrier():
                pass

    def _affine(self, affine: Affine, inside: set[int]) -> Iterator[str]:
        numbers = [n for n, _ in affine.terms]
        if len(set(numbers)) != len(numbers) or any(stride == 0 for _, stride in affine.terms):
            yield f"expression {affine} names a loop twice or not at all"
        for number in numbers:
            if number not in inside:
                yield f"loop {self._name(number)} is used outside of it"

    def _ref(self, ref: Ref, inside: set[int]) -> Iterator[str]:
        if not 0 <= ref.value < len(self.nest.values):
            yield f"there is no value {ref.value}"
            return
        value = self.nest.values[ref.value]
        if any(axis.is_vector for axis in value.axes[:-1]):
            yield f"value {value.name} has a vector axis that is not its last"
        if len(ref.at) != len(value.axes):
            yield f"value {value.name} has {len(value.axes)} axes, got {len(ref.at)}"
            return
        for at, axis in zip(ref.at, value.axes, strict=True):
            yield from self._affine(at, inside)
            match at:
                case Linear(constant=constant, terms=()) if 0 <= constant < axis.size:
                    pass
                case Linear(constant=0, terms=((number, 1),)) if self.sizes.get(number, axis.size + 1) <= axis.size:
                    if self.loops[number].kind not in (Kind.UNROLL, Kind.VECTOR):
                        yield f"a register of {value.name} is selected by {self.loops[number].kind} loop {self._name(number)}"
                case _:
                    yield f"{at} selects no register of {value.name}"

    # Memory

    def _memory(self, memory: Memory) -> Iterator[str]:
        if not 0 <= memory.buffer < len(self.nest.buffers):
            yield f"there is no buffer {memory.buffer}"
            return
        buffer = self.nest.buffers[memory.buffer]
        if any(n not in self.sizes for a in (memory.offset, *(g.index for g in memory.guards)) for n, _ in a.terms):
            return
        low, high = guarded_interval(memory.offset, memory.guards, self.sizes)
        if low <= high and not (low >= 0 and high < buffer.elements) and not self._is_inside(memory, buffer.elements):
            yield f"offsets of {buffer.name} run from {low} to {high}, it has {buffer.elements} elements"
        if memory.swizzle is not None:
            if buffer.space is not Space.SHARED:
                yield f"{buffer.name} is swizzled and not shared"
            for fault in memory.swizzle.faults(buffer.elements):
                yield f"{buffer.name} cannot be swizzled by {memory.swizzle}: {fault}"
        if memory.cache is not Cache.ALL and buffer.space is Space.SHARED:
            yield f"shared {buffer.name} has a cache"

    def _is_inside(self, memory: Memory, elements: int) -> bool:
        """By all points, where they are few."""
        numbers = sorted({n for a in (memory.offset, *(g.index for g in memory.guards)) for n, _ in a.terms})
        if np.prod([float(self.sizes[n]) for n in numbers]) > _MOST_POINTS:
            return False
        offsets = self._places(memory.offset, memory.guards, tuple(numbers))
        return bool(((offsets >= 0) & (offsets < elements)).all())

    def _places(self, offset: Affine, guards: tuple[Guard, ...], numbers: tuple[int, ...]) -> Ints:
        """The offset at all points of these loops at which the guards hold."""
        shape = tuple(self.sizes[n] for n in numbers)
        grids = dict(zip(numbers, np.indices(shape), strict=True))

        def at(affine: Affine) -> Ints:
            return sum((stride * grids[n] for n, stride in affine.terms), np.full(shape, affine.constant))

        holds = np.ones(shape, bool)
        for guard in guards:
            index = at(guard.index)
            holds &= (index >= 0) & (index < guard.bound)
        return at(offset)[holds]

    def _one_thread(self, store: Store, around: tuple[Loop, ...]) -> Iterator[str]:
        own = {n for n, _ in store.memory.offset.terms}
        digits = [x for x in around if x.digit is not None]
        if digits:
            outer = digits[0].digit
            if outer is None or not outer.is_last or any(x.size > 1 and x.number not in own for x in digits):
                yield f"several threads store to one place of {self.nest.buffers[store.memory.buffer].name}"
            return
        pinned = {self.loops[n].hardware for g in store.guards if g.bound == 1 for n, _ in g.index.terms if n in self.loops}
        for hardware, size in enumerate(self.threads):
            loop = next((x for x in around if x.kind is Kind.THREAD and x.hardware == hardware), None)
            if size > 1 and hardware not in pinned and (loop is None or loop.number not in own):
                yield f"several threads store to one place of {self.nest.buffers[store.memory.buffer].name}"

    def _buffers(self) -> Iterator[str]:
        for number, buffer in enumerate(self.nest.buffers):
            accesses = [
                (s, a) for s, a in statements(self.nest.body) if isinstance(s, Load | Store) and s.memory.buffer == number
            ]
            stores = [s for s, _ in accesses if isinstance(s, Store)]
            if stores and buffer.role is Role.INPUT:
                yield f"input {buffer.name} is stored to"
            if stores and any(s.memory.cache is Cache.READ_ONLY for s, _ in accesses):
                yield f"{buffer.name} is read through the read-only cache and stored to"
            if buffer.space is not Space.GLOBAL and buffer.role is not Role.TEMPORARY:
                yield f"{buffer.role} {buffer.name} is in {buffer.space} memory"
            if buffer.copies > 1:
                staged = {tuple(x.number for x in a if x.stages == buffer.copies) for _, a in accesses}
                if len(staged) != 1 or len(next(iter(staged))) != 1:
                    yield f"the {buffer.copies} copies of {buffer.name} belong to no loop of as many stages"

    def _is_temporary(self, number: int) -> bool:
        is_buffer = 0 <= number < len(self.nest.buffers)
        return is_buffer and self.nest.buffers[number].role is Role.TEMPORARY and not self._is_common(number)

    def _is_common(self, number: int) -> bool:
        return 0 <= number < len(self.nest.buffers) and self.nest.buffers[number].space is Space.COMMON

    def _name(self, number: int) -> str:
        return self.loops[number].name if number in self.loops else str(number)

    def _value(self, ref: Ref) -> str:
        return self.nest.values[ref.value].name if 0 <= ref.value < len(self.nest.values) else f"value {ref.value}"


def _selects(ref: Ref, loop: int) -> bool:
    return any(n == loop for at in ref.at for n, _ in at.terms)
