"""Places in memory: offsets of accesses, their guards, arrays of temporaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cmp_to_key

from warploom.core.linear import Linear, variable
from warploom.schedule.backbone import ROWS, Access, AxisSum, Operator, Result, Role
from warploom.schedule.choices.decided import Decided, DimPair, Temporary
from warploom.schedule.choices.lower_operations import Operation, Operations
from warploom.schedule.choices.lower_tree import Branch, Tree
from warploom.schedule.nest import Affine, Buffer, Cache, Guard, Kind, Memory, Space, placed

_KEEP_ZERO = (Operator.MUL, Operator.MOVE, *(operator for operator, row in ROWS.items() if row.keeps_zero))
"""Operators that give zero where all their operands are zero; sums do, too, and are not asked."""


@dataclass(slots=True)
class Places:
    """Accesses of one candidate."""

    decided: Decided
    operations: Operations
    tree: Tree
    temporaries: dict[int, int]
    """Region of an active temporary -> buffer."""
    indices: dict[Memory, tuple[Affine, ...]] = field(default_factory=dict[Memory, tuple[Affine, ...]])
    """By place of an access to an array of the kernel: its indices."""
    ends: set[Guard] = field(default_factory=set[Guard])
    """Guards on ends of axes that nothing reduces over: they keep accesses inside the array, and no result depends on them."""

    def loop(self, operation: Operation, extent: int) -> Branch | None:
        return self.tree.loop_of[operation.dims[extent]]

    def axis_index(self, operation: Operation, axis: int) -> Affine:
        """The index of an axis from the loops of its levels."""
        index: Affine = Linear()
        for extent in self.operations.levels[axis]:
            size = self.operations.sizes[extent]
            branch = self.loop(operation, extent)
            index = index.scaled(size)
            index = index.plus(variable(branch.number)) if branch is not None else index
        return index

    def index(self, operation: Operation, expression: AxisSum) -> Affine:
        index: Affine = Linear((), expression.constant)
        for axis, coefficient in expression.terms:
            index = index.plus(self.axis_index(operation, axis), coefficient)
        return index

    def edge(self, operation: Operation, axis: int) -> Guard:
        found = self.operations.axis(axis)
        return Guard(self.axis_index(operation, axis), found.size, found.run_time)

    def memory(self, operation: Operation) -> Memory:
        if operation.temporary is not None:
            return self._temporary_memory(operation, operation.temporary)
        access = operation.access
        assert access is not None
        region = self.decided.backbone.regions[access.region]
        indices = tuple(self.index(operation, expression) for expression in access.indices)
        offset, rows = placed(region, indices)
        cache = Cache(self.decided.cache(operation.statement).lower())
        guards = self._guards(operation, access)
        fill = self._fill(operation, access) if guards else 0.0
        memory = Memory(access.region, offset, guards, fill, cache, rows=rows)
        self.indices[memory] = indices
        return memory

    def _guards(self, operation: Operation, access: Access) -> tuple[Guard, ...]:
        region = self.decided.backbone.regions[access.region]
        guards: dict[Guard, None] = {}
        used = {axis for expression in access.indices for axis, _ in expression.terms}
        if operation.operator is Operator.STORE:
            used |= set(self.operations.axes_of(operation))
        reduced = {self.decided.backbone.extents[d.extent].axis for d in self.decided.backbone.dims if d.is_reduction}
        for axis in sorted(used):
            if self.operations.is_padded(axis):
                guards[self.edge(operation, axis)] = None
                if axis not in reduced:
                    self.ends.add(self.edge(operation, axis))
        if access.fill is not None:
            opened = dict(region.open_lengths)
            for n, (expression, size) in enumerate(zip(access.indices, region.shape, strict=True)):
                low, high = self._range(expression)
                if low < 0 or high >= size or self._may_round_up(expression):
                    guards[Guard(self.index(operation, expression), size, opened.get(n))] = None
        return tuple(guards)

    def _may_round_up(self, expression: AxisSum) -> bool:
        """Whether at some sizes known at run time it leaves its array, whatever it does at those here."""
        found = (self.operations.axis(a).run_time for a, _ in expression.terms)
        return any(length is not None and length.is_rounded for length in found)

    def _range(self, expression: AxisSum) -> tuple[int, int]:
        """Range of the expression over the unpadded axes."""
        return expression.span(lambda axis: self.operations.axis(axis).size - 1)

    def _fill(self, operation: Operation, access: Access) -> float:
        if access.fill is not None:
            return access.fill
        users = [self.operations.by_statement[u] for u in self.operations.users.get(operation.statement, ())]
        if len(users) == 1 and users[0].carry is not None and users[0].operator in (Operator.MAX, Operator.MIN, Operator.MUL):
            return self.operations.neutral(users[0]) or 0.0
        return 0.0

    def has_neutral_edge(self, operation: Operation, axis: int) -> bool:
        """Beyond the axis' end the operands of a reduction leave its total unchanged, because loads there give a fill."""
        others = [o for o in operation.operands if o != operation.carry]
        neutral = self.operations.neutral(operation)
        if operation.operator in (Operator.ADD, Operator.SUB, Operator.FMA):
            return neutral is not None and all(isinstance(o, Result) and self._is_filled(o, axis, 0.0) for o in others)
        return neutral is not None and all(isinstance(o, Result) and self._is_filled(o, axis, neutral) for o in others)

    def _is_filled(self, operand: Result, axis: int, fill: float) -> bool:
        if axis not in operand.mapped:
            return False
        source = self.operations.by_statement[operand.instruction]
        if source.temporary is not None:
            stored = self.operations.by_statement[source.temporary.store].results[0]
            return self._is_filled(stored, axis, fill)
        if source.operator is Operator.LOAD and source.access is not None:
            used = {a for expression in source.access.indices for a, _ in expression.terms}
            return axis in used and self._fill(source, source.access) == fill
        if fill == 0.0 and source.operator in _KEEP_ZERO and source.carry is None:
            return all(isinstance(o, Result) and self._is_filled(o, axis, fill) for o in source.operands)
        return False

    def _temporary_memory(self, operation: Operation, temporary: Temporary) -> Memory:
        is_store = operation.statement == temporary.store
        offset: Affine = Linear()
        for pair, stride in self.layout(temporary):
            branch = self.tree.loop_of[pair.store if is_store else pair.load]
            assert branch is not None
            offset = offset.plus(variable(branch.number), stride)
        stride = self._paired_elements(temporary)
        for branch in self.private_threads(temporary):
            offset = offset.plus(variable(branch.number), stride)
            stride *= branch.size
        is_shared = self.decided.mem_space(temporary.region) == "SHARED"
        cache = Cache.ALL if is_shared else Cache(self.decided.cache(operation.statement).lower())
        return Memory(self.temporaries[temporary.region], offset, cache=cache)

    def layout(self, temporary: Temporary) -> tuple[tuple[DimPair, int], ...]:
        """Dimensions of the array with their strides in elements, slowest first; not merged ones nor those of one iteration."""
        loop_of = self.tree.loop_of
        pairs = [p for p in temporary.pairs if loop_of[p.store] is not None and loop_of[p.store] is not loop_of[p.load]]

        def compare(first: DimPair, second: DimPair) -> int:
            return -1 if self.decided.layout(first, second) == "OUTER" else 1

        ordered = sorted(pairs, key=cmp_to_key(compare))
        strides: list[int] = []
        stride = 1
        for pair in reversed(ordered):
            strides.append(stride)
            stride *= self.operations.sizes[pair.extent]
        return tuple(zip(ordered, reversed(strides), strict=True))

    def _paired_elements(self, temporary: Temporary) -> int:
        elements = 1
        for pair, _ in self.layout(temporary):
            elements *= self.operations.sizes[pair.extent]
        return elements

    def private_threads(self, temporary: Temporary) -> tuple[Branch, ...]:
        """Thread loops around both sides: each thread has its own part of the array."""
        store, load = self.tree.paths[temporary.store], self.tree.paths[temporary.load]
        return tuple(b for b in store if b.kind is Kind.THREAD and b in load)

    def elements(self, temporary: Temporary) -> int:
        """Elements of one copy."""
        elements = self._paired_elements(temporary)
        for branch in self.private_threads(temporary):
            elements *= branch.size
        return elements

    def buffer(self, temporary: Temporary) -> Buffer:
        producer = self.operations.by_statement[temporary.producer]
        dtype = self.decided.backbone.instructions[producer.dtype_of].dtype
        space = Space(self.decided.mem_space(temporary.region).lower())
        return Buffer(f"tmp_{temporary.name}", dtype, self.elements(temporary), Role.TEMPORARY, space)
