"""The array in which blocks leave the parts of a sum that they share."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from warploom.core.linear import Linear
from warploom.schedule.backbone import Operator, Role
from warploom.schedule.choices.lower_operations import Operations, joining_of
from warploom.schedule.choices.lower_tree import Branch, Tree
from warploom.schedule.choices.lower_values import Cell, Reduction, Registers
from warploom.schedule.nest import Buffer, Memory, Space

_LINE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Parts:
    """One row for each block, on cache lines of its own; the register axes of the total inside."""

    reduction: Reduction
    operations: Operations
    tree: Tree
    registers: Registers
    number: int
    """Number of the buffer."""

    @property
    def cell(self) -> Cell:
        return self.registers.parts[self.reduction.operation.statement]

    @property
    def joining(self) -> Operator:
        return joining_of(self.reduction.operation)

    @property
    def neutral(self) -> float:
        neutral = self.operations.neutral(self.reduction.operation)
        assert neutral is not None
        return neutral

    @property
    def count(self) -> int:
        """Count of parts of one total."""
        return prod(block.size for block in self.reduction.blocks)

    @property
    def row(self) -> int:
        """Elements of a part, those that fill its last line included."""
        line = max(1, _LINE_BYTES // self.cell.dtype.size_bytes)
        return -(-prod(self.operations.sizes[e] for e in self.cell.axes) // line) * line

    @property
    def outside(self) -> tuple[Branch, ...]:
        path = self.tree.paths[self.reduction.operation.statement]
        return tuple(b for b in path if self.reduction.encloses_total(self.tree, b))

    def buffer(self) -> Buffer:
        elements = self.row * self.count * prod(b.size for b in self.outside)
        name = f"parts_{self.reduction.operation.name}"
        trips = tuple(b.trips for b in (*self.outside, *self.reduction.blocks) if b.trips is not None)
        return Buffer(name, self.cell.dtype, elements, Role.TEMPORARY, Space.COMMON, trips=trips)

    def memory(self, loops: dict[int, int], part: int | None = None) -> Memory:
        """loops: extent -> loop that selects the register. part: the loop over all parts of a total; inside the blocks each has
        its own."""
        terms: list[tuple[int, int]] = []
        stride = 1
        for extent in reversed(self.cell.axes):
            terms.append((loops[extent], stride))
            stride *= self.operations.sizes[extent]
        stride = self.row
        if part is not None:
            terms.append((part, stride))
        for block in reversed(self.reduction.blocks):
            if part is None:
                terms.append((block.number, stride))
            stride *= block.size
        for block in reversed(self.outside):
            terms.append((block.number, stride))
            stride *= block.size
        return Memory(self.number, Linear(tuple(reversed(terms))))
