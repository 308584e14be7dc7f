"""Every operation of a decided candidate in one form: the backbone's instructions and the stores and loads of temporaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from warploom.core import DType
from warploom.schedule.backbone import (
    REDUCING,
    Access,
    Axis,
    Backbone,
    Carry,
    Constant,
    Extent,
    Operand,
    Operator,
    Previous,
    Result,
    identity_of,
)
from warploom.schedule.choices.decided import Decided, Temporary


@dataclass(frozen=True, slots=True)
class Operation:
    """A scalar operation with its loops. Results and carries among its operands name statements, not instructions."""

    statement: int
    name: str
    operator: Operator
    operands: tuple[Operand, ...]
    dims: Mapping[int, int]
    """Extent -> statement of this operation's dim."""
    dtype_of: int
    """Instruction whose type this is."""
    access: Access | None = None
    temporary: Temporary | None = None
    """The temporary that its own store or load accesses."""

    @property
    def carry(self) -> Carry | None:
        return next((o for o in self.operands if isinstance(o, Carry)), None)

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(o for o in self.operands if isinstance(o, Result))

    @property
    def previous(self) -> tuple[Previous, ...]:
        return tuple(o for o in self.operands if isinstance(o, Previous))


@dataclass(frozen=True, slots=True)
class Operations:
    backbone: Backbone
    by_statement: Mapping[int, Operation]
    sizes: Mapping[int, int]
    """Sizes by extent."""
    levels: Mapping[int, tuple[int, ...]]
    """Axis -> its extents, outer to inner."""
    users: Mapping[int, tuple[int, ...]]
    """Statement -> operations that read its value, carries included; one entry per operand."""

    def axis(self, number: int) -> Axis:
        return self.backbone.axes[number]

    def extent(self, number: int) -> Extent:
        return self.backbone.extents[number]

    def extents_of(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        """Extents of more than one iteration, by axis then level."""
        return tuple(e for a in axes for e in self.levels[a] if self.sizes[e] > 1)

    def padded_size(self, axis: int) -> int:
        product = 1
        for extent in self.levels[axis]:
            product *= self.sizes[extent]
        return product

    def dtype(self, operation: Operation) -> DType:
        return self.backbone.instructions[operation.dtype_of].dtype

    def gathered(self, operation: Operation) -> int | None:
        """The region that the operation gathers from."""
        return self.backbone.instructions[operation.statement].region if operation.operator is Operator.GATHER else None

    def neutral(self, operation: Operation) -> float | None:
        """The value that leaves a reduction's total unchanged; None where partial results cannot be joined."""
        position = next(n for n, operand in enumerate(operation.operands) if isinstance(operand, Carry))
        match operation.operator:
            case Operator.FMA if position != len(operation.operands) - 1:
                return None
            case Operator.SUB:
                return 0.0 if position == 0 else None
            case operator:
                return identity_of(operator, self.dtype(operation)) if operator in REDUCING else None

    def is_padded(self, axis: int) -> bool:
        """Whether the last iterations may lie beyond the axis."""
        found = self.backbone.axes[axis]
        if found.run_time is None:
            return self.padded_size(axis) > found.size
        return found.run_time.divisor % self.tile_size(axis) > 0

    def tile_size(self, axis: int) -> int:
        """Iterations of the axis in one of its outermost loop."""
        return prod(self.sizes[extent] for extent in self.levels[axis][1:])

    def axes_of(self, operation: Operation) -> tuple[int, ...]:
        """Axes that the operation iterates, in order."""
        return tuple(dict.fromkeys(self.backbone.extents[e].axis for e in operation.dims))


def operations_of(decided: Decided) -> Operations:
    backbone = decided.backbone
    levels: dict[int, list[int]] = {}
    for number, extent in sorted(enumerate(backbone.extents), key=lambda pair: (pair[1].axis, pair[1].level)):
        levels.setdefault(extent.axis, []).append(number)
    found: dict[int, Operation] = {}
    for number, instruction in enumerate(backbone.instructions):
        dims = {backbone.dims[d].extent: backbone.statement_of(d) for d in backbone.dims_of(number)}
        found[number] = Operation(
            number, instruction.name, instruction.operator, instruction.operands, dims, number, access=instruction.access
        )
    for temporary in decided.temporaries():
        _reroute(found, temporary)
    users: dict[int, list[int]] = {}
    for operation in found.values():
        for operand in operation.operands:
            if isinstance(operand, Result):
                users.setdefault(operand.instruction, []).append(operation.statement)
            elif isinstance(operand, Carry):
                users.setdefault(operand.init, []).append(operation.statement)
    return Operations(
        backbone,
        found,
        {n: decided.size(n) for n in range(len(backbone.extents))},
        {axis: tuple(numbers) for axis, numbers in levels.items()},
        {statement: tuple(readers) for statement, readers in users.items()},
    )


def _reroute(found: dict[int, Operation], temporary: Temporary) -> None:
    """The consumer's operand reads the temporary's load, whose array the temporary's store fills from the producer's value."""
    consumer = found[temporary.consumer]
    operand = consumer.operands[temporary.operand]
    assert isinstance(operand, Result)
    producer = found[temporary.producer]
    value = Result(operand.instruction, operand.mapped, operand.scope)
    found[temporary.store] = Operation(
        temporary.store, f"put_{temporary.name}", Operator.STORE, (value,), {p.extent: p.store for p in temporary.pairs},
        producer.dtype_of, temporary=temporary,
    )  # fmt: skip
    found[temporary.load] = Operation(
        temporary.load, f"get_{temporary.name}", Operator.LOAD, (), {p.extent: p.load for p in temporary.pairs},
        producer.dtype_of, temporary=temporary,
    )  # fmt: skip
    operands = list(consumer.operands)
    operands[temporary.operand] = replace(operand, instruction=temporary.load)
    found[temporary.consumer] = replace(consumer, operands=tuple(operands))


def joining_of(operation: Operation) -> Operator:
    """The operator that joins two partial results."""
    return Operator.ADD if operation.operator in (Operator.FMA, Operator.SUB) else operation.operator


def is_constant(operation: Operation, value: float) -> bool:
    return operation.operator is Operator.MOVE and operation.operands == (Constant(value),)
