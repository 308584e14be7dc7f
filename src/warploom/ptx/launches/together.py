"""Threads of one warp, which wait for each other at `bar.warp.sync`, too (PTX ISA 9.7.13.2)."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.ptx.launches.intervals import Intervals, is_barrier
from warploom.ptx.launches.uniform import Uniform
from warploom.ptx.routine import Routine
from warploom.ptx.symbolic import Emulation, Term
from warploom.ptx.syntax import Instruction, Integer, Name

_ALL = (1 << 32) - 1


def is_warp_barrier(instruction: Instruction) -> bool:
    return instruction.opcode in ("bar", "barrier") and "warp" in instruction.modifiers


def of_all_lanes(instruction: Instruction) -> bool:
    """True for a `bar.warp.sync` of the whole warp."""
    mask = instruction.operands[0] if is_warp_barrier(instruction) and instruction.operands else None
    return isinstance(mask, Integer) and mask.value % (1 << 32) == _ALL


class Together:
    """Facts that threads of one warp share between barriers of the block or of the warp."""

    def __init__(self, routine: Routine, emulation: Emulation) -> None:
        self._routine = routine
        self._emulation = emulation
        self.intervals = Intervals(routine, emulation.graph, lambda i: is_barrier(i) or of_all_lanes(i))
        self.uniform = Uniform(emulation, self.intervals.common)

    def is_clear(self) -> bool:
        """Whether there are barriers of the whole warp, and no others that may be taken for them."""
        found = [(n, i) for n, i in enumerate(self._routine.instructions) if is_warp_barrier(i)]
        return any(of_all_lanes(i) for _, i in found) and all(self._is_clear(n, i) for n, i in found)

    def _is_clear(self, n: int, instruction: Instruction) -> bool:
        if of_all_lanes(instruction):
            return instruction.guard is None
        if self._emulation.graph.block_of(n) not in self._emulation.blocks:
            return True
        mask = self._emulation.value(n, instruction.operands[0]).value if instruction.operands else None
        return mask is not None and mask % (1 << 32) != _ALL

    def decisions(self) -> Iterator[tuple[int, Term]]:
        """Blocks that decide which barrier comes next, and whether they branch."""
        for block in self.intervals.decisions():
            last = self._emulation.graph.blocks[block].end - 1
            guard = self._routine.instructions[last].guard
            name = guard.name if guard is not None and self._routine.instructions[last].opcode != "brx" else ""
            unknown = self._emulation.table.opaque(f"branch@{last}", 1, block)
            yield block, self._emulation.value(last, Name(name)) if name else unknown
