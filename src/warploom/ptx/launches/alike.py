"""Values that lanes of a warp have in common after butterflies of shuffles: what they store by one instruction is no race.

`x + shfl.bfly(x, m)` is the same in lanes that differ in bit m of their numbers, since the operation commutes, and stays so in
what is computed from it. Only straight-line code is looked at, in which a shuffle of all lanes came before the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from warploom.ptx.routine import Routine
from warploom.ptx.symbolic import LANES, MODELLED, Emulation, Term, is_carrying
from warploom.ptx.syntax import Float, Instruction, Integer, Name, Operand

ALL = LANES - 1
_BUTTERFLY = ("to", "from", "mask", "clamp", "members")
_COMMUTING = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})
_ENDS = frozenset({"ret", "exit", "trap"})
_OF_NAN = frozenset({"f64", "f64x2"})
"""Types whose NaNs may keep the payload of one operand, so that sums of them do not commute."""


@dataclass(frozen=True, slots=True)
class _Value:
    bits: int
    """Lanes whose numbers differ in these bits alone have the same value."""
    writer: int
    """Its instruction; below 0: one before the block."""


class Alike:
    def __init__(self, routine: Routine, emulation: Emulation, is_uniform: Callable[[Term], bool]) -> None:
        self._routine = routine
        self._emulation = emulation
        self._is_uniform = is_uniform

    def bits(self, store: int) -> int:
        """Lanes whose numbers differ in these bits alone store one value, all by one instruction; 0: nothing is known."""
        instruction = self._routine.instructions[store]
        before = self._straight(store)
        if instruction.opcode != "st" or not any(_is_of_all(self._routine.instructions[n]) for n in before):
            return 0
        if not self._is_whole(store):
            return 0
        known: dict[str, _Value] = {}
        for n in before:
            made = _Value(self._of_result(n, known), n)
            results = self._emulation.blocks[self._emulation.graph.block_of(n)].results
            known.update(dict.fromkeys(results.get(n, {}), made))
        values = instruction.operands[1:2]
        return self._of(values[0], store, known).bits if values else 0

    def _is_whole(self, at: int) -> bool:
        """Whether all lanes of each warp come here: none is missing, has ended or gone another way."""
        extents = [self._emulation.limits.bounds(f"ntid.{axis}") for axis in ("x", "y", "z")]
        threads = [low for low, high in (e for e in extents if e is not None) if low == high]
        if len(threads) < len(extents) or prod(threads) % LANES:
            return False
        decided = list(self._emulation.path_condition(self._emulation.graph.block_of(at)))
        for n, instruction in enumerate(self._routine.instructions):
            block = self._emulation.graph.block_of(n)
            if instruction.guard is not None and instruction.opcode in _ENDS and block in self._emulation.blocks:
                decided.append(self._emulation.value(n, Name(instruction.guard.name)))
        return all(self._is_uniform(term) for term in decided)

    def _straight(self, at: int) -> list[int]:
        """Instructions that always come before, one after the other; labels between them are no matter."""
        graph = self._emulation.graph
        block = graph.block_of(at)
        found = list(range(graph.blocks[block].start, at))
        while len(graph.predecessors[block]) == 1:
            (above,) = graph.predecessors[block]
            if graph.blocks[above].successors != (block,) or above not in self._emulation.blocks:
                break
            found = [*range(graph.blocks[above].start, graph.blocks[above].end), *found]
            block = above
        return found

    def _of(self, operand: Operand, at: int, known: dict[str, _Value]) -> _Value:
        if isinstance(operand, Integer | Float):
            return _Value(ALL, -1)
        if not isinstance(operand, Name):
            return _Value(0, -1)
        found = known.get(operand.text)
        if found is None:
            found = _Value(ALL if self._is_uniform(self._emulation.value(at, operand)) else 0, -1)
        return found

    def _of_result(self, at: int, known: dict[str, _Value]) -> int:
        instruction = self._routine.instructions[at]
        sources = instruction.operands[1:]
        if instruction.guard is not None or not instruction.operands or not isinstance(instruction.operands[0], Name):
            return 0
        if _mask_of_butterfly(instruction) is not None:
            return self._of(sources[0], at, known).bits
        if instruction.opcode in ("ld", "ldu") or instruction.opcode not in MODELLED or is_carrying(instruction):
            return 0
        bits = ALL
        for source in sources:
            bits &= self._of(source, at, known).bits
        return bits | self._joined(instruction, known)

    def _joined(self, instruction: Instruction, known: dict[str, _Value]) -> int:
        """The bit of a butterfly whose two sides the instruction joins, beside those of the sides."""
        sources = instruction.operands[1:]
        is_plain = instruction.opcode in _COMMUTING and not _OF_NAN & {*instruction.modifiers}
        if not is_plain or len(sources) != len(("own", "other")):
            return 0
        for own, other in (sources, sources[::-1]):
            value = known.get(other.text) if isinstance(other, Name) else None
            if value is None or not isinstance(own, Name):
                continue
            shuffle = self._routine.instructions[value.writer]
            mask = _mask_of_butterfly(shuffle)
            before = known.get(own.text)
            is_same = before is not None and before.writer < value.writer
            if mask is not None and shuffle.operands[1] == own and is_same:
                return mask | value.bits
        return 0


def _is_of_all(instruction: Instruction) -> bool:
    """A shuffle that every lane of the warp takes part in."""
    is_shuffle = instruction.opcode == "shfl" and "sync" in instruction.modifiers and instruction.guard is None
    mask = instruction.operands[-1] if is_shuffle and instruction.operands else None
    return isinstance(mask, Integer) and mask.value % (1 << 32) == (1 << 32) - 1


def _mask_of_butterfly(instruction: Instruction) -> int | None:
    """The power of two by which lanes are exchanged."""
    if not _is_of_all(instruction) or "bfly" not in instruction.modifiers or len(instruction.operands) < 5:
        return None
    mask, clamp = instruction.operands[2:4]
    is_whole = isinstance(clamp, Integer) and clamp.value == ALL
    return mask.value if is_whole and isinstance(mask, Integer) and mask.value.bit_count() == 1 and mask.value < LANES else None
