"""Loads and stores as C text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warploom.core import DType
from warploom.ctext import Text, added, binary, c_literal, call, conditional, decimal, element, every, total
from warploom.ir.swizzle import Rot, Xor
from warploom.schedule.backbone import Operator, Role
from warploom.schedule.cpu.affine import Indices
from warploom.schedule.cpu.close import Close, is_close
from warploom.schedule.cpu.helpers import Helpers
from warploom.schedule.cpu.scope import Scope
from warploom.schedule.nest import Buffer, Cache, Guard, Memory, Space, Swizzle


@dataclass(frozen=True, slots=True)
class Picked:
    """A vector of every few elements, of one array or of the maxima or minima of several."""

    dtype: DType
    close: Close
    starts: tuple[Text, ...]
    part: tuple[Text, ...]
    """The first lane, the one behind the last, and what the others hold; empty: all lanes are loaded."""
    is_tested: bool
    """All lanes are loaded only where a test holds."""
    operator: Operator = Operator.LOAD

    def joined(self, other: Picked, operator: Operator) -> Picked | None:
        """The maximum or minimum of two vectors of the same places of their groups; None where it is taken element by element."""
        is_same = (self.dtype, self.close, self.part) == (other.dtype, other.close, other.part) and self.close.place is not None
        made = {self.operator, other.operator} - {Operator.LOAD}
        if not is_same or not made <= {operator}:
            return None
        return replace(self, starts=(*self.starts, *other.starts), operator=operator)


@dataclass(frozen=True, slots=True)
class Accesses:
    buffers: tuple[Buffer, ...]
    names: tuple[str, ...]
    helpers: Helpers
    scope: Scope

    def address(self, memory: Memory, indices: Indices) -> Text:
        """The offset; a vector's is that of its first lane."""
        place = indices.place(memory.offset)
        return place.text if memory.swizzle is None else swizzled_text(memory.swizzle, place.text)

    def load(self, memory: Memory) -> Text:
        buffer = self.buffers[memory.buffer]
        scope = self.scope
        name, dtype, lanes = self.names[memory.buffer], buffer.dtype, scope.lanes
        fill = c_literal(dtype, memory.fill)
        if scope.lane_loop is None:
            text = self.element(memory, scope.indices)
            return _chosen(scope.tests(memory.guards), text, fill)
        stride = scope.indices.place(memory.offset).stride(scope.lane_loop.number)
        parts = scope.lane_parts(memory.guards)
        is_apart = buffer.spread > 1 and not (stride == 1 and parts is not None and parts.is_whole)
        picked = self.picked(memory)
        is_put_together = picked is None and stride != 1 and parts is not None and not parts.is_whole
        if memory.swizzle is not None or parts is None or is_put_together or is_apart:
            each = [self.load_lane(memory, n) for n in range(lanes)]
            return vector_of(self.helpers.vector(dtype, lanes), each)
        place = self.address(memory, scope.indices)
        if buffer.spread > 1:
            text = call(self.helpers.spread(dtype, lanes), pointer_text(name, place), decimal(buffer.spread))
        elif picked is not None:
            text = self.pick(picked)
        elif stride == 0:
            text = call(self.helpers.splat(dtype, lanes), element(Text(name), place))
        elif stride != 1:
            text = call(self.helpers.gather(dtype, lanes), pointer_text(name, place), decimal(stride))
        elif parts.is_whole:
            text = call(self.helpers.load(dtype, lanes), pointer_text(name, place))
        else:
            text = call(self.helpers.load_part(dtype, lanes), pointer_text(name, place), parts.first, parts.end, fill)
        return _chosen(parts.tests, text, call(self.helpers.splat(dtype, lanes), fill)) if parts.tests else text

    def picked(self, memory: Memory) -> Picked | None:
        """A load of every few elements; None where it is another one."""
        loop, buffer = self.scope.lane_loop, self.buffers[memory.buffer]
        if loop is None or memory.swizzle is not None or buffer.spread > 1:
            return None
        stride, parts = self.scope.indices.place(memory.offset).stride(loop.number), self.scope.lane_parts(memory.guards)
        if parts is None or not is_close(buffer.dtype, loop.size, stride):
            return None
        close = self.close(memory, stride)
        group = replace(memory, offset=memory.offset.shifted(-(close.place or 0)))
        start = pointer_text(self.names[memory.buffer], self.address(group, self.scope.indices))
        part = () if parts.is_whole else (parts.first, parts.end, c_literal(buffer.dtype, memory.fill))
        return Picked(buffer.dtype, close, (start,), part, bool(parts.tests))

    def pick(self, picked: Picked) -> Text:
        """The vector, but for tests of all of it."""
        function = self.helpers.load_close(
            picked.dtype, picked.close, is_part=bool(picked.part), operator=picked.operator, count=len(picked.starts)
        )
        return call(function, *picked.starts, *picked.part)

    def close(self, memory: Memory, stride: int) -> Close:
        """The vector of a load whose elements are so far apart: groups are known where all that moves it does so by whole ones,
        and the array consists of whole ones."""
        place, buffer = self.scope.indices.place(memory.offset), self.buffers[memory.buffer]
        is_open = bool(buffer.open_sizes or buffer.trips)
        steps = (step for _, step in (*place.terms, *place.inner))
        is_grouped = not is_open and buffer.elements % stride == 0 and all(step % stride == 0 for step in steps)
        return Close(self.scope.lanes, stride, place.constant % stride if is_grouped else None)

    def load_lane(self, memory: Memory, lane: int) -> Text:
        indices = self.scope.at_lane(lane)
        buffer = self.buffers[memory.buffer]
        text = self.element(memory, indices)
        return _chosen(self.scope.tests(memory.guards, indices), text, c_literal(buffer.dtype, memory.fill))

    def element(self, memory: Memory, indices: Indices) -> Text:
        """One element, of a word whose bytes lie apart put together."""
        buffer, name = self.buffers[memory.buffer], self.names[memory.buffer]
        place = self.address(memory, indices)
        if buffer.spread == 1:
            return element(Text(name), place)
        return call(self.helpers.spread(buffer.dtype, 1), pointer_text(name, place), decimal(buffer.spread))

    def store(self, memory: Memory, more: Sequence[Guard], text: Text) -> None:
        buffer = self.buffers[memory.buffer]
        scope = self.scope
        name, dtype, lanes = self.names[memory.buffer], buffer.dtype, scope.lanes
        guards = (*memory.guards, *more)
        if scope.lane_loop is None:
            place = element(Text(name), self.address(memory, scope.indices))
            scope.line(f"{condition(scope.tests(guards))}{place.text} = {text.text};")
            return
        stride = scope.indices.place(memory.offset).stride(scope.lane_loop.number)
        parts = scope.lane_parts(guards)
        if memory.swizzle is not None or parts is None or stride != 1:
            scope.line(f"{{ const {self.helpers.vector(dtype, lanes)} lanes = {text.text};")
            for n in range(lanes):
                indices = scope.at_lane(n)
                place = element(Text(name), self.address(memory, indices))
                scope.line(f"  {condition(scope.tests(guards, indices))}{place.text} = lanes[{n}];")
            scope.line("}")
            return
        pointer = pointer_text(name, self.address(memory, scope.indices))
        if not parts.is_whole:
            stored = call(self.helpers.store_part(dtype, lanes), pointer, parts.first, parts.end, text)
        else:
            does_stream = memory.cache is Cache.NONE and is_external(buffer)
            function = self.helpers.stream(dtype, lanes) if does_stream else self.helpers.store(dtype, lanes)
            stored = call(function, pointer, text)
        scope.line(f"{condition(parts.tests)}{stored.text};")

    def store_columns(self, memory: Memory, stride: int, vectors: Sequence[Text]) -> None:
        """Stores vectors of which each lane's elements are neighbours, lanes `stride` apart."""
        function = self.helpers.store_columns(self.buffers[memory.buffer].dtype, self.scope.lanes, len(vectors))
        pointer = pointer_text(self.names[memory.buffer], self.address(memory, self.scope.indices))
        self.scope.line(f"{call(function, pointer, decimal(stride), *vectors).text};")


def condition(tests: Sequence[Text]) -> str:
    """The text before a statement that runs where all tests hold."""
    return f"if ({every(tests).text}) " if tests else ""


def _chosen(tests: Sequence[Text], value: Text, fill: Text) -> Text:
    return conditional(every(tests), value, fill) if tests else value


def vector_of(kind: str, parts: Sequence[Text]) -> Text:
    """A vector of these elements."""
    return Text(f"({kind}){{{', '.join(p.text for p in parts)}}}")


def swizzled_text(swizzle: Swizzle, place: Text) -> Text:
    match swizzle.core:
        case Xor():
            bits, base, shift = swizzle.bits()
            row = binary("&", binary(">>", place, decimal(base + shift)), decimal((1 << bits) - 1))
            return binary("^", place, binary("<<", row, decimal(base)))
        case Rot(n, scale, period):
            digit = binary("%", binary("/", place, decimal(swizzle.unit)), decimal(n))
            row = binary("/", place, decimal(swizzle.row))
            turned = [digit, binary("*", row, decimal(scale)), *([binary("/", row, decimal(period))] if period else [])]
            moved = binary("-", binary("%", added(*turned), decimal(n)), digit)
            return total([(1, place), (swizzle.unit, moved)])


def is_external(buffer: Buffer) -> bool:
    """An argument of the kernel."""
    return buffer.role is not Role.TEMPORARY and buffer.space is Space.GLOBAL


def is_common(buffer: Buffer) -> bool:
    """Passed from the first part of a kernel to the second."""
    return buffer.space is Space.COMMON


def pointer_text(name: str, place: Text) -> Text:
    return Text(name) if place.value == 0 else added(Text(name), place)
