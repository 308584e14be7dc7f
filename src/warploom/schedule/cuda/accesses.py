"""Loads, stores and asynchronous copies as text: scalars, vectors where contiguous and aligned, guarded edges."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.core import DType
from warploom.core.linear import Linear
from warploom.ctext import (
    MOST_VECTOR_BYTES,
    Text,
    added,
    call,
    conditional,
    cuda_type,
    decimal,
    element,
    every,
    literal,
    make,
    plus,
    reinterpret_cast,
    unary,
    vector_type,
)
from warploom.ir.swizzle import Xor
from warploom.schedule.backbone import Role
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.facts import memory_of
from warploom.schedule.cuda.indices import Atom, Phase
from warploom.schedule.cuda.lines import Braces, Item, Line
from warploom.schedule.cuda.swizzles import swizzled_text
from warploom.schedule.nest import Affine, Cache, Guard, Load, Loop, Memory, Ref, Space, Store

_LOADS = {Cache.READ_ONLY: "__ldg", Cache.L2: "__ldcg", Cache.NONE: "__ldcs"}
_HALVES = {"f16": "half", "bf16": "bfloat16"}
"""Floats of 16 bits in names of CUDA's functions."""
_STORES = {Cache.L2: "__stcg", Cache.NONE: "__stcs"}


class Accesses:
    def __init__(self, context: Context) -> None:
        self.context = context

    def load(self, node: Load) -> list[Item]:
        """Nothing where the value is copied asynchronously when it is stored."""
        if node.target.value in self.context.copied:
            return []
        memory = node.memory
        dtype = self._dtype(memory)
        value = self._read(memory, self._place(memory))
        tests = self.context.conditions(memory.guards)
        if tests:
            value = conditional(every(tests), value, literal(dtype, memory.fill))
        own = node.target.value
        is_single = not self.context.facts.axes(own)
        return [Line(f"{self.context.register(node.target).text} = {value.text};", frozenset({own}), own if is_single else None)]

    def store(self, node: Store) -> list[Item]:
        tests = self._store_tests(node)
        argument = node.argument
        if isinstance(argument, Ref) and argument.value in self.context.copied:
            return _under(tests, self._copy(node, self.context.copied[argument.value], argument, 1))
        dtype = self._dtype(node.memory)
        text = self._write(node.memory, self._place(node.memory), self.context.argument(argument, dtype))
        return _under(tests, [Line(text, self.context.mentions([argument]))])

    def vector(self, node: Load | Store, loop: Loop) -> list[Item] | None:
        """The whole vector loop around one access; None if it must be done lane by lane."""
        if isinstance(node, Load) and node.target.value in self.context.copied:
            return []
        lanes = self._lanes(node, loop)
        if lanes == 1:
            return None
        self.context.vectors.add(node.memory.buffer)
        items: list[Item] = []
        for first in range(0, loop.size, lanes):
            with self.context.index(loop.number, first):
                items += self._vector_load(node, loop, lanes) if isinstance(node, Load) else self._vector_store(node, loop, lanes)
        return items

    def _vector_load(self, node: Load, loop: Loop, lanes: int) -> list[Item]:
        context, memory = self.context, node.memory
        dtype = self._dtype(memory)
        vector = vector_type(dtype, lanes)
        assert vector is not None
        value = self._read(memory, self._place(memory), vector)
        tests = context.conditions(memory.guards)
        if tests:
            value = conditional(every(tests), value, call(make(vector), *[literal(dtype, memory.fill)] * lanes))
        mentions = frozenset({node.target.value})
        first = context.indices.values[loop.number]
        parts: list[str] = []
        for lane in range(lanes):
            with context.index(loop.number, first + lane):
                parts.append(f"{context.register(node.target).text} = lanes.{'xyzw'[lane]};")
        return [Braces(("",), [Line(f"const {cuda_type(vector)} lanes = {value.text};"), *(Line(p, mentions) for p in parts)])]

    def _vector_store(self, node: Store, loop: Loop, lanes: int) -> list[Item]:
        context = self.context
        tests = self._store_tests(node)
        argument = node.argument
        if isinstance(argument, Ref) and argument.value in context.copied:
            return _under(tests, self._copy(node, context.copied[argument.value], argument, lanes))
        dtype = self._dtype(node.memory)
        vector = vector_type(dtype, lanes)
        assert vector is not None
        first = context.indices.values[loop.number]
        parts: list[Text] = []
        for lane in range(lanes):
            with context.index(loop.number, first + lane):
                parts.append(context.argument(argument, dtype))
        text = self._write(node.memory, self._place(node.memory), call(make(vector), *parts), vector)
        return _under(tests, [Line(text, context.mentions([argument]))])

    def _copy(self, node: Store, load: Load, argument: Ref, lanes: int) -> list[Item]:
        """Global to shared memory without registers."""
        context = self.context
        source = _moved(load, argument)
        dtype = self._dtype(source)
        size = dtype.size_bytes * lanes
        to, origin = self._address(*self._place(node.memory)), self._address(*self._place(source))
        kind = "cg" if source.cache is Cache.L2 and size == 16 else "ca"
        tests = context.conditions(source.guards)
        if tests and source.fill == 0:
            context.helpers.add(f"copy_or_zero_{kind}")
            return [Line(f"{call(f'copy_or_zero_{kind}<{size}>', to, origin, every(tests)).text};")]
        context.helpers.add(f"copy_async_{kind}")
        copy = Line(f"{call(f'copy_async_{kind}<{size}>', to, origin).text};")
        if not tests:
            return [copy]
        fill = literal(dtype, source.fill).text
        others: list[Item] = [Line(f"{element(to, decimal(lane)).text} = {fill};") for lane in range(lanes)]
        return [Braces((f"if ({every(tests).text})",), [copy]), Braces(("else",), others)]

    def _lanes(self, node: Load | Store, loop: Loop) -> int:
        """Elements of one vector access: the most that divides the loop and is contiguous, aligned and guarded alike."""
        places = [node.memory]
        argument = node.argument if isinstance(node, Store) else None
        is_copy = isinstance(argument, Ref) and argument.value in self.context.copied
        if isinstance(argument, Ref) and is_copy:
            places.append(_moved(self.context.copied[argument.value], argument))
        dtype = self._dtype(node.memory)
        atom = self.context.indices.atom(loop)
        for lanes in (16, 8, 4, 2) if is_copy else (4, 2):
            if loop.size % lanes or dtype.size_bytes * lanes > MOST_VECTOR_BYTES:
                continue
            if not is_copy and vector_type(dtype, lanes) is None:
                continue
            guards = node.guards if isinstance(node, Store) else ()
            if all(self._is_aligned(m, atom, lanes) for m in places) and self._is_uniform(guards, atom, lanes):
                return lanes
        return 1

    def _is_aligned(self, memory: Memory, atom: Atom, lanes: int) -> bool:
        indices = self.context.indices
        form = indices.form(memory.known)
        rows = [(indices.form(r.index), r.step) for r in memory.rows]
        buffer = self.context.facts.nest.buffers[memory.buffer]
        in_turn = buffer.copies > 1 or (buffer.role is Role.TEMPORARY and buffer.space is Space.GLOBAL)
        return (
            dict(form.terms).get(atom) == 1
            and indices.divisor(form, but=atom) % lanes == 0
            and all(atom not in dict(r.terms) and indices.divisor(r) * step % lanes == 0 for r, step in rows)
            and not (in_turn and buffer.elements % lanes)
            and (memory.swizzle is None or memory.swizzle.unit % lanes == 0)
            and self._is_uniform(memory.guards, atom, lanes)
        )

    def _is_uniform(self, guards: Sequence[Guard], atom: Atom, lanes: int) -> bool:
        """Whether all lanes of a vector pass or fail each guard together."""
        indices = self.context.indices
        for guard in guards:
            form = indices.form(guard.index)
            stride = dict(form.terms).get(atom, 0)
            if stride and not (stride == 1 and indices.divisor(form, but=atom) % lanes == 0 and guard.divisor % lanes == 0):
                return False
        return True

    def _store_tests(self, node: Store) -> list[Text]:
        context, form = self.context, self.context.indices.form
        guards = (*node.memory.guards, *node.guards)
        forms = [form(affine) for affine in (*node.memory.forms, *(g.index for g in node.guards))]
        return [*context.lone_thread(forms), *context.conditions(guards)]

    def _dtype(self, memory: Memory) -> DType:
        return self.context.facts.nest.buffers[memory.buffer].dtype

    def _place(self, memory: Memory) -> tuple[Text, Text]:
        """Pointer and index of an access."""
        context = self.context
        buffer = context.facts.nest.buffers[memory.buffer]
        array, form = context.buffers[memory.buffer], context.indices.form(memory.known)
        is_constant = buffer.space is Space.GLOBAL and memory.buffer not in context.facts.written
        pointee = f"const {cuda_type(buffer.dtype)}" if is_constant else cuda_type(buffer.dtype)
        turn = (context.phases.get(memory.buffer, Phase(None, 0)), buffer.copies, buffer.elements) if buffer.copies > 1 else None
        if memory.swizzle is None:
            rows = tuple((context.indices.stride(r), context.indices.form(r.index)) for r in memory.rows)
            pointer, left, rows = context.indices.pointer(array, pointee, form, turn, rows)
            return pointer, context.indices.sum(None, left, rows)
        pointer, left, _ = context.indices.pointer(array, pointee, Linear(), turn)
        context.helpers.add("swizzled" if isinstance(memory.swizzle.core, Xor) else "rotated")
        index = swizzled_text(context.indices, form, memory.swizzle, f"{array}_index")
        return pointer, plus(index, left.constant)

    def _address(self, pointer: Text, index: Text) -> Text:
        return pointer if index.value == 0 else added(pointer, index)

    def _read(self, memory: Memory, place: tuple[Text, Text], vector: DType | None = None) -> Text:
        """The element at the place, or the whole vector from there on."""
        facts = self.context.facts
        buffer = facts.nest.buffers[memory.buffer]
        is_constant = buffer.space is Space.GLOBAL and memory.buffer not in facts.written
        function = _LOADS.get(memory.cache) if is_constant and _has_cached(buffer.dtype) else None
        if vector is None:
            if function and (suffix := _HALVES.get(buffer.dtype.name)):
                function = f"load_{function.strip('_')}_{suffix}"
                self.context.helpers.add(function)
            return call(function, self._address(*place)) if function else element(*place)
        address = reinterpret_cast(f"const {cuda_type(vector)}*", self._address(*place))
        return call(function, address) if function else unary("*", address)

    def _write(self, memory: Memory, place: tuple[Text, Text], value: Text, vector: DType | None = None) -> str:
        """The statement that stores an element, or a whole vector."""
        buffer = self.context.facts.nest.buffers[memory.buffer]
        function = _STORES.get(memory.cache) if buffer.space is Space.GLOBAL and _has_cached(buffer.dtype) else None
        address = self._address(*place)
        if vector is not None:
            address = reinterpret_cast(f"{cuda_type(vector)}*", address)
        if function:
            return f"{call(function, address, value).text};"
        return f"{(element(*place) if vector is None else unary('*', address)).text} = {value.text};"


def _has_cached(dtype: DType) -> bool:
    """CUDA has loads and stores of the type that name a cache."""
    return not dtype.is_float or dtype.bits >= 16


def _under(tests: Sequence[Text], items: list[Item]) -> list[Item]:
    return [Braces((f"if ({every(tests).text})",), items)] if tests else items


def _moved(load: Load, argument: Ref) -> Memory:
    """The memory from which the register `argument` was loaded, over the loops around its use."""
    replaced: dict[int, Affine] = {}
    for made, used in zip(load.target.at, argument.at, strict=True):
        if made.terms:
            replaced[made.terms[0][0]] = used

    return load.memory.mapped(lambda affine: affine.substituted(replaced))


def single_access(loop: Loop) -> Load | Store | None:
    """The access that is the whole body of a vector loop."""
    if len(loop.body) == 1 and isinstance(node := loop.body[0], Load | Store) and memory_of(node) is not None:
        return node
    return None
