"""The array in which the totals of a sum lie between the steps of a loop that is around loops over results.

    init: t = start; array[...] = t            for the outer part of the sum: t = array[...]; add up; array[...] = t
    each user: t = array[...], then what it does

Each of these lies in the innermost of the loops over kept totals; registers hold what unrolled and vector loops inside tell
apart, so that those are copied together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from warploom.core.linear import Linear
from warploom.schedule.backbone import Role
from warploom.schedule.choices.lower_operations import Operation, Operations
from warploom.schedule.choices.lower_tree import Item, Tree
from warploom.schedule.choices.lower_values import Cell, Reduction, Registers
from warploom.schedule.nest import Buffer, Kind, Load, Loop, Memory, Node, Space, Store


@dataclass(slots=True)
class Kept:
    """Totals of one sum. Its loads and stores are put into the tree by `place`."""

    reduction: Reduction
    operations: Operations
    tree: Tree
    registers: Registers
    number: int
    """Number of the buffer."""
    next_loop: int
    dims: tuple[int, ...] = field(init=False)
    """Extents, from the slowest to the fastest in the array."""

    def __post_init__(self) -> None:
        extents = self.operations.extents_of(self.operations.axes_of(self.reduction.init))
        listed = [e for e in extents if e in self.reduction.kept or e in self.cell.axes]
        axis = None if self.cell.vector is None else self.operations.extent(self.cell.vector).axis
        self.dims = tuple(sorted(listed, key=lambda e: self.operations.extent(e).axis == axis))

    @property
    def cell(self) -> Cell:
        return self.registers.written[self.reduction.operation.statement]

    def buffer(self) -> Buffer:
        elements = prod(self.operations.sizes[e] for e in self.dims)
        return Buffer(f"totals_{self.reduction.operation.name}", self.cell.dtype, elements, Role.TEMPORARY, Space.SHARED)

    def place(self) -> None:
        init, operation = self.reduction.init, self.reduction.operation
        self._insert(init, 1, is_store=True)
        self._insert(operation, 1, is_store=True)
        self._insert(operation, 0, is_store=False)
        for user in dict.fromkeys(self.operations.users.get(operation.statement, ())):
            self._insert(self.operations.by_statement[user], 0, is_store=False)

    def _insert(self, operation: Operation, shift: int, *, is_store: bool) -> None:
        path = self.tree.paths[operation.statement]
        loops = {e: loop for e in self.reduction.kept if (loop := self.tree.loop_of[operation.dims[e]]) is not None}
        depth = max(path.index(loop) for loop in loops.values())
        items = path[depth].children
        place: Item = path[depth + 1] if depth + 1 < len(path) else operation.statement
        where = next(n for n, item in enumerate(items) if item is place or item == place) + shift
        items[where:where] = [self._copy({e: loop.number for e, loop in loops.items()}, is_store=is_store)]

    def _copy(self, loops: dict[int, int], *, is_store: bool) -> Node:
        """The load or the store, in loops of its own over all registers of the cell."""
        numbers = dict(loops)
        for extent in self.cell.axes:
            numbers[extent] = self.next_loop
            self.next_loop += 1
        ref, memory = self.registers.ref(self.cell, numbers), self._memory(numbers)
        node: Node = Store(memory, ref) if is_store else Load(ref, memory)
        for extent in reversed(self.cell.axes):
            found = self.operations.extent(extent)
            name = f"{self.operations.axis(found.axis).name}{found.level}"
            kind = Kind.VECTOR if extent == self.cell.vector else Kind.UNROLL
            node = Loop(numbers[extent], name, kind, self.operations.sizes[extent], (node,))
        return node

    def _memory(self, loops: dict[int, int]) -> Memory:
        terms: list[tuple[int, int]] = []
        stride = 1
        for extent in reversed(self.dims):
            terms.append((loops[extent], stride))
            stride *= self.operations.sizes[extent]
        return Memory(self.number, Linear(tuple(reversed(terms))))
