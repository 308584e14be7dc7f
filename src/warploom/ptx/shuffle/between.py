"""Instructions that may run between one instruction and a later one that it dominates, without passing the first again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from warploom.ptx.flow import FlowGraph
from warploom.ptx.instructions import destinations, is_memory_barrier, space, writes_memory
from warploom.ptx.routine import Routine
from warploom.ptx.syntax import Instruction

_Following: TypeAlias = Callable[[int], Iterable[int]]


class Paths:
    """Questions about paths of one routine; answers are kept per pair of blocks."""

    def __init__(self, routine: Routine, graph: FlowGraph) -> None:
        self._routine = routine
        self._graph = graph
        self._middle: dict[tuple[int, int], tuple[int, ...]] = {}
        self._writers: dict[str, list[int]] = {}
        for index, instruction in enumerate(routine.instructions):
            for register in destinations(instruction):
                self._writers.setdefault(register, []).append(index)
        self._clobbers: dict[str, list[int]] = {}

    def writers(self, register: str) -> tuple[int, ...]:
        """Instructions that write it."""
        return tuple(self._writers.get(register, ()))

    def clobbers(self, first: int, last: int, where: str) -> tuple[int, ...]:
        """Instructions on the way after which memory of the space may hold other values."""
        if where not in self._clobbers:
            self._clobbers[where] = [i for i, each in enumerate(self._routine.instructions) if _may_change(each, where)]
        return tuple(self._among(first, last, self._clobbers[where]))

    def leads(self, first: int, last: int) -> bool:
        """Whether some way leads from the block of one instruction out of it and to that of the other."""
        end = self._graph.block_of(last)
        blocks = self._graph.blocks
        return end in _closure(blocks[self._graph.block_of(first)].successors, -1, lambda b: blocks[b].successors)

    def is_kept(self, first: int, last: int, register: str) -> bool:
        """Whether the register is never written on the way; `first` itself may write it."""
        return next(self._among(first, last, self._writers.get(register, ())), None) is None

    def _among(self, first: int, last: int, candidates: Iterable[int]) -> Iterator[int]:
        graph = self._graph
        start, end = graph.block_of(first), graph.block_of(last)
        if start == end and first < last:
            yield from (i for i in candidates if first < i < last)
            return
        middle = self._between_blocks(start, end)
        for index in candidates:
            block = graph.block_of(index)
            if (block == start and index > first) or block in middle or (block == end and index < last and block != start):
                yield index

    def _between_blocks(self, start: int, end: int) -> tuple[int, ...]:
        """Blocks that a path from the end of `start` to the start of `end` may run through whole, `start` left out."""
        key = (start, end)
        found = self._middle.get(key)
        if found is None:
            blocks, predecessors = self._graph.blocks, self._graph.predecessors
            after = _closure(blocks[start].successors, start, lambda b: blocks[b].successors)
            before = _closure(predecessors[end], start, lambda b: predecessors[b])
            found = self._middle[key] = tuple(after & before)
        return found


def _closure(roots: Iterable[int], barrier: int, following: _Following) -> set[int]:
    found = {r for r in roots if r != barrier}
    stack = list(found)
    while stack:
        for block in following(stack.pop()):
            if block != barrier and block not in found:
                found.add(block)
                stack.append(block)
    return found


def _may_change(instruction: Instruction, where: str) -> bool:
    """Whether a weak load of the space may read another value after it."""
    if is_memory_barrier(instruction) or instruction.opcode == "call":
        return True
    if not writes_memory(instruction):
        return False
    written = space(instruction)
    return written in ("", where) or instruction.opcode not in ("st", "red", "atom")
