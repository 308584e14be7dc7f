"""Values of registers, computed before the instruction that computes them in the kernel."""

from __future__ import annotations

from dataclasses import replace

from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.shuffle.between import Paths
from warploom.ptx.shuffle.registers import FreshRegisters, written
from warploom.ptx.shuffle.visible import OuterNames
from warploom.ptx.syntax import Instruction, Integer, Name, Operand, instruction_text

_PURE = frozenset({"mov", "cvt", "add", "sub", "mul", "mad", "neg", "abs", "min", "max", "shl", "shr", "and", "or", "xor", "not"})
_MODIFIERS = frozenset(f"{sign}{bits}" for sign in "usb" for bits in (16, 32, 64)) | {"lo", "hi", "wide"}
_MOST = 8
"""Instructions copied for one value. ptxas sees that they compute what the kernel computes later, and keeps one of each."""


class EarlyValues:
    """Copies of integer arithmetic of straight-line code, to stand further up in it."""

    def __init__(self, routine: Routine, paths: Paths, outer: OuterNames, fresh: FreshRegisters) -> None:
        self._routine = routine
        self._paths = paths
        self._outer = outer
        self._fresh = fresh
        self._copies: dict[tuple[int, int], str] = {}

    def writer(self, register: str, start: int, use: int) -> int | None:
        """The last instruction of [start, use) that writes the register; `start` and `use` are in one block."""
        return max((i for i in self._paths.writers(register) if start <= i < use), default=None)

    def value(self, register: str, start: int, use: int) -> tuple[list[str], str] | None:
        """Code to stand before `start`, and a register that then holds what `register` holds when `use` begins.

        The two are in one block, without a call between them. None where that value cannot be had so early.
        """
        order: list[int] = []
        if not self._is_early(register, start, use, order):
            return None
        lines: list[str] = []
        for index in order:
            instruction = self._routine.instructions[index]
            target, *sources = instruction.operands
            assert isinstance(target, Name)
            bits = TYPE_BITS[self._routine.registers[target.text]]
            name = self._fresh.new(f"b{bits}")
            operands: tuple[Operand, ...] = (Name(name), *(self._moved(s, start, index) for s in sources))
            lines.append(instruction_text(replace(instruction, operands=operands)))
            self._copies[start, index] = name
        return lines, self._name(register, start, use)

    def _is_early(self, register: str, start: int, use: int, order: list[int]) -> bool:
        """Whether the value can be had before `start`; adds the instructions to copy, operands first."""
        writer = self.writer(register, start, use)
        if writer is None:
            return register in self._outer
        if writer in order or (start, writer) in self._copies:
            return True
        instruction = self._routine.instructions[writer]
        if not self._is_pure(instruction):
            return False
        for operand in instruction.operands[1:]:
            if isinstance(operand, Name) and not self._is_early(operand.text, start, writer, order):
                return False
        order.append(writer)
        return len(order) <= _MOST

    def _is_pure(self, instruction: Instruction) -> bool:
        """Whether it computes one integer register from integer registers and constants alone, always."""
        if instruction.guard is not None or instruction.opcode not in _PURE or not _MODIFIERS.issuperset(instruction.modifiers):
            return False
        for operand in instruction.operands:
            if isinstance(operand, Name):
                if TYPE_BITS.get(self._routine.registers.get(operand.text, "")) not in (16, 32, 64):
                    return False
            elif not isinstance(operand, Integer):
                return False
        return isinstance(instruction.operands[0], Name)

    def _moved(self, operand: Operand, start: int, use: int) -> Operand:
        return Name(self._name(operand.text, start, use)) if isinstance(operand, Name) else operand

    def _name(self, register: str, start: int, use: int) -> str:
        writer = self.writer(register, start, use)
        return written(register) if writer is None else self._copies[start, writer]
