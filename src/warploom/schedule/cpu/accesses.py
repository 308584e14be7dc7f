"""Loads and stores as C text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.core import DType
from warploom.ctext import literal as exact_literal
from warploom.ir.swizzle import Rot, Xor
from warploom.schedule.backbone import Role
from warploom.schedule.cpu.affine import Indices
from warploom.schedule.cpu.helpers import Helpers
from warploom.schedule.cpu.scope import Scope
from warploom.schedule.nest import Buffer, Cache, Guard, Memory, Space, Swizzle


@dataclass(frozen=True, slots=True)
class Accesses:
    buffers: tuple[Buffer, ...]
    names: tuple[str, ...]
    helpers: Helpers
    scope: Scope

    def address(self, memory: Memory, indices: Indices) -> str:
        """The offset; a vector's is that of its first lane."""
        place = indices.place(memory.offset)
        return place.text if memory.swizzle is None else swizzled_text(memory.swizzle, place.text)

    def load(self, memory: Memory) -> str:
        buffer = self.buffers[memory.buffer]
        scope = self.scope
        name, dtype, lanes = self.names[memory.buffer], buffer.dtype, scope.lanes
        fill = literal(memory.fill, dtype)
        if scope.lane_loop is None:
            text = f"{name}[{self.address(memory, scope.indices)}]"
            tests = scope.tests(memory.guards)
            return text if not tests else f"{' && '.join(tests)} ? {text} : {fill}"
        stride = scope.indices.place(memory.offset).stride(scope.lane_loop.number)
        parts = scope.lane_parts(memory.guards)
        if memory.swizzle is not None or parts is None or (stride != 1 and (parts[1], parts[2]) != ("0", str(lanes))):
            each = [self.load_lane(memory, n) for n in range(lanes)]
            return f"({self.helpers.vector(dtype, lanes)}){{{', '.join(each)}}}"
        tests, first, last = parts
        place = self.address(memory, scope.indices)
        if stride == 0:
            text = f"{self.helpers.splat(dtype, lanes)}({name}[{place}])"
        elif stride != 1:
            text = f"{self.helpers.gather(dtype, lanes)}({pointer_text(name, place)}, {stride})"
        elif (first, last) == ("0", str(lanes)):
            text = f"{self.helpers.load(dtype, lanes)}({pointer_text(name, place)})"
        else:
            text = f"{self.helpers.load_part(dtype, lanes)}({pointer_text(name, place)}, {first}, {last}, {fill})"
        return text if not tests else f"{' && '.join(tests)} ? {text} : {self.helpers.splat(dtype, lanes)}({fill})"

    def load_lane(self, memory: Memory, lane: int) -> str:
        indices = self.scope.at_lane(lane)
        buffer = self.buffers[memory.buffer]
        tests = self.scope.tests(memory.guards, indices)
        text = f"{self.names[memory.buffer]}[{self.address(memory, indices)}]"
        return text if not tests else f"{' && '.join(tests)} ? {text} : {literal(memory.fill, buffer.dtype)}"

    def store(self, memory: Memory, more: Sequence[Guard], text: str) -> None:
        buffer = self.buffers[memory.buffer]
        scope = self.scope
        name, dtype, lanes = self.names[memory.buffer], buffer.dtype, scope.lanes
        guards = (*memory.guards, *more)
        if scope.lane_loop is None:
            tests = scope.tests(guards)
            prefix = f"if ({' && '.join(tests)}) " if tests else ""
            scope.line(f"{prefix}{name}[{self.address(memory, scope.indices)}] = {text};")
            return
        stride = scope.indices.place(memory.offset).stride(scope.lane_loop.number)
        parts = scope.lane_parts(guards)
        if memory.swizzle is not None or parts is None or stride != 1:
            scope.line(f"{{ const {self.helpers.vector(dtype, lanes)} lanes = {text};")
            for n in range(lanes):
                indices = scope.at_lane(n)
                tests = scope.tests(guards, indices)
                prefix = f"if ({' && '.join(tests)}) " if tests else ""
                scope.line(f"  {prefix}{name}[{self.address(memory, indices)}] = lanes[{n}];")
            scope.line("}")
            return
        tests, first, last = parts
        prefix = f"if ({' && '.join(tests)}) " if tests else ""
        pointer = pointer_text(name, self.address(memory, scope.indices))
        if (first, last) != ("0", str(lanes)):
            scope.line(f"{prefix}{self.helpers.store_part(dtype, lanes)}({pointer}, {first}, {last}, {text});")
        else:
            does_stream = memory.cache is Cache.NONE and is_external(buffer)
            function = self.helpers.stream(dtype, lanes) if does_stream else self.helpers.store(dtype, lanes)
            scope.line(f"{prefix}{function}({pointer}, {text});")


def swizzled_text(swizzle: Swizzle, place: str) -> str:
    match swizzle.core:
        case Xor():
            bits, base, shift = swizzle.bits()
            return f"(({place}) ^ (((({place}) >> {base + shift}) & {(1 << bits) - 1}) << {base}))"
        case Rot(n, scale, period):
            digit, row = f"({place}) / {swizzle.unit} % {n}", f"({place}) / {swizzle.row}"
            turned = " + ".join([digit, f"{row} * {scale}", *([f"{row} / {period}"] if period else [])])
            return f"(({place}) + (({turned}) % {n} - {digit}) * {swizzle.unit})"


def is_external(buffer: Buffer) -> bool:
    """An argument of the kernel."""
    return buffer.role is not Role.TEMPORARY and buffer.space is Space.GLOBAL


def is_common(buffer: Buffer) -> bool:
    """Passed from the first part of a kernel to the second."""
    return buffer.space is Space.COMMON


def literal(value: float, dtype: DType) -> str:
    if not dtype.is_float:
        return exact_literal(dtype, int(value)).text
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value)) + ("f" if dtype.bits < 64 else "")


def pointer_text(name: str, place: str) -> str:
    return name if place == "0" else f"{name} + {place}"
