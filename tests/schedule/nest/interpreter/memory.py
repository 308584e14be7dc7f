"""The buffers of a nest that runs: what they hold, which threads and blocks touched each element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tests.schedule.nest.interpreter.errors import NestError

from warploom.core import to_numpy
from warploom.schedule.backbone import Role
from warploom.schedule.nest.nodes import Affine, Kind, Load, Memory, Nest, Space, Store
from warploom.schedule.nest.walk import loops, statements

Array: TypeAlias = NDArray[Any]


@dataclass(slots=True)
class Touch:
    writer: int | None = None
    reader: int | None = None
    is_read_by_more: bool = False

    def conflicts(self, who: int, *, is_write: bool) -> bool:
        """Notes the access; whether it races with an earlier one."""
        others = self.writer is not None and self.writer != who
        if is_write:
            others = others or self.is_read_by_more or (self.reader is not None and self.reader != who)
            self.writer = who
        else:
            self.is_read_by_more |= self.reader is not None and self.reader != who
            self.reader = who
        return others


@dataclass(slots=True)
class Buffers:
    nest: Nest
    arrays: list[Array]
    block: int = 0
    written: list[set[int]] = field(default_factory=list[set[int]])
    """Elements of temporaries that hold something."""
    by_threads: dict[tuple[int, int], Touch] = field(default_factory=dict[tuple[int, int], Touch])
    """Since the last barrier."""
    by_blocks: dict[tuple[int, int], Touch] = field(default_factory=dict[tuple[int, int], Touch])
    """Since the start, or since all blocks inside were done."""
    staged: dict[tuple[int, Affine], tuple[int, int]] = field(default_factory=dict[tuple[int, Affine], tuple[int, int]])
    """(buffer, offset) -> (loop, stages)."""

    @classmethod
    def of(cls, nest: Nest, given: Mapping[str, Array]) -> Buffers:
        """KeyError where an input is missing."""
        arrays: list[Array] = []
        for buffer in nest.buffers:
            kind = to_numpy(buffer.dtype)
            if buffer.role is Role.INPUT or (buffer.role is Role.OUTPUT and buffer.name in given):
                arrays.append(np.asarray(given[buffer.name], kind).reshape(-1)[: buffer.elements].copy())
            elif buffer.role is Role.TEMPORARY:
                arrays.append(np.zeros(buffer.elements * buffer.copies, kind))
            else:
                arrays.append(np.full(buffer.elements, np.nan if buffer.dtype.is_float else 0, kind))
        found = cls(nest, arrays, written=[set() for _ in nest.buffers])
        for loop in loops(nest.body):
            if loop.stages > 1 and loop.kind is Kind.LOOP:
                for statement, _ in statements(loop.body):
                    if isinstance(statement, Load | Store) and nest.buffers[statement.memory.buffer].copies > 1:
                        found.staged[statement.memory.buffer, statement.memory.offset] = loop.number, loop.stages
        return found

    def enter(self, block: int) -> None:
        """Starts a block, whose own temporaries hold nothing yet."""
        self.block = block
        self.by_threads.clear()
        for number, buffer in enumerate(self.nest.buffers):
            if buffer.role is Role.TEMPORARY and buffer.space is not Space.COMMON:
                self.arrays[number][...] = 0
                self.written[number].clear()

    def place(self, memory: Memory, offset: int, indices: Mapping[int, int]) -> int:
        buffer = self.nest.buffers[memory.buffer]
        if memory.swizzle is not None:
            offset = int(memory.swizzle.of(np.array([offset]))[0])
        if not 0 <= offset < buffer.elements:
            raise NestError(f"{buffer.name}[{offset}] is outside its {buffer.elements} elements")
        loop = self.staged.get((memory.buffer, memory.offset))
        return offset + (indices[loop[0]] % loop[1]) * buffer.elements if loop is not None else offset

    def load(self, thread: int, buffer: int, place: int) -> float:
        self._touch(thread, buffer, place, is_write=False)
        if self.nest.buffers[buffer].role is Role.TEMPORARY and place not in self.written[buffer]:
            raise NestError(f"{self.nest.buffers[buffer].name}[{place}] is loaded before it is stored")
        return self.arrays[buffer][place].item()

    def store(self, thread: int, buffer: int, place: int, value: float) -> None:
        self._touch(thread, buffer, place, is_write=True)
        self.written[buffer].add(place)
        self.arrays[buffer][place] = value

    def _touch(self, thread: int, buffer: int, place: int, *, is_write: bool) -> None:
        given = self.nest.buffers[buffer]
        if given.role is Role.INPUT and not is_write:
            return
        conflicts = self.by_threads.setdefault((buffer, place), Touch()).conflicts(thread, is_write=is_write)
        if given.role is not Role.TEMPORARY or given.space is Space.COMMON:
            conflicts |= self.by_blocks.setdefault((buffer, place), Touch()).conflicts(self.block, is_write=is_write)
        if conflicts:
            raise NestError(f"two threads race for {given.name}[{place}]")
