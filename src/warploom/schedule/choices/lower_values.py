"""Registers: which instructions share a value, and which loops need a register axis.

A value needs an axis for an extent where its accesses sit in different loops of that extent, which are then unrolled or vector
loops (paper, section 4.4); thread loops mapped alike need none, the registers are each thread's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from warploom.core import DType
from warploom.core.linear import Linear
from warploom.schedule.backbone import Operator
from warploom.schedule.choices.decided import Decided, LoweringError
from warploom.schedule.choices.lower_operations import Operation, Operations, is_constant
from warploom.schedule.choices.lower_tree import Branch, Tree
from warploom.schedule.nest import Kind, Ref, Register, Value


class Start(StrEnum):
    """Origin of a reduction's first value."""

    SHARED = "shared"
    """The reduction's `init` writes the accumulator itself."""
    COPIED = "copied"
    """The first value comes from `init`'s value, before the reduction's outermost loop."""
    PARTIAL = "partial"
    """Partial results start neutral and are joined after the outermost loop."""


@dataclass(eq=False, slots=True)
class Cell:
    """A value under construction."""

    name: str
    dtype: DType
    extents: tuple[int, ...]
    """Extents other than 1 that may become axes."""
    loops: dict[int, list[Branch | None]] = field(default_factory=dict[int, list["Branch | None"]])
    """By extent, of every access; None: a loop that only lowering makes."""
    partial: dict[int, Branch] = field(default_factory=dict[int, Branch])
    """By extent: unrolled and vector loops that keep partial results."""
    axes: tuple[int, ...] = ()
    """Extents, once settled; the last may be a vector."""
    vector: int | None = None
    """Extent."""
    number: int = -1

    def see(self, extent: int, loop: Branch | None) -> None:
        self.loops.setdefault(extent, []).append(loop)


@dataclass(eq=False, slots=True)
class Reduction:
    """Form in which one accumulating instruction is carried out."""

    operation: Operation
    init: Operation
    start: Start
    outermost: Branch | None
    """The outermost of the loops over reduced extents; with thread loops among them, that of the thread nest."""
    registers: dict[int, Branch]
    """By extent: unrolled and vector loops that keep partial results."""
    threads: tuple[Branch, ...]
    """Loops whose threads keep partial results."""
    reads_init: bool
    """Nodes made by lowering read the value of `init`."""
    drops_init: bool
    """`init` only gives the neutral element, and nothing else reads it."""
    blocks: tuple[Branch, ...] = ()
    """Loops whose iterations add up a part each; `outermost` is inside of them."""
    kept: tuple[int, ...] = ()
    """Extents of results whose loops lie inside a loop of the sum: totals lie in an array (`lower_kept`)."""

    def encloses(self, tree: Tree, loop: Branch) -> bool:
        """The loop is around the place before and after the reduction."""
        path = tree.paths[self.operation.statement]
        return loop in path and (self.outermost is None or path.index(loop) < path.index(self.outermost))

    def encloses_total(self, tree: Tree, loop: Branch) -> bool:
        """The loop is around the place where the total is made."""
        path = tree.paths[self.operation.statement]
        return self.encloses(tree, loop) and all(path.index(loop) < path.index(block) for block in self.blocks)


@dataclass(slots=True)
class Registers:
    operations: Operations
    tree: Tree
    reductions: dict[int, Reduction]
    """Reductions by statement."""
    written: dict[int, Cell]
    """Cells that each statement writes."""
    read: dict[int, Cell]
    """Cells that users of each statement's value read."""
    parts: dict[int, Cell]
    """By statement of a sum that blocks share: the result of one of them."""
    cells: list[Cell]

    def ref(self, cell: Cell, loops: dict[int, int]) -> Ref:
        """loops: extent -> number of the loop that selects; an extent without one takes its last register."""
        assert cell.number >= 0, cell.name
        sizes = self.operations.sizes
        return Ref(cell.number, tuple(Linear(((loops[e], 1),)) if e in loops else Linear((), sizes[e] - 1) for e in cell.axes))

    def loops_of(self, operation: Operation, extents: Iterable[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for extent in extents:
            loop = self.tree.loop_of[operation.dims[extent]] if extent in operation.dims else None
            if loop is not None:
                found[extent] = loop.number
        return found

    def values(self) -> tuple[Value, ...]:
        sizes = self.operations.sizes
        return tuple(
            Value(c.name, c.dtype, tuple(Register(sizes[e], e == c.vector) for e in c.axes)) for c in self.cells if c.number >= 0
        )


def assign_registers(decided: Decided, operations: Operations, tree: Tree) -> Registers:
    reductions = {s: _reduction(decided, operations, tree, o) for s, o in operations.by_statement.items() if o.carry is not None}
    registers = Registers(operations, tree, reductions, {}, {}, {}, [])
    for operation in operations.by_statement.values():
        if operation.operator is not Operator.STORE and operation.statement not in reductions:
            cell = _cell(registers, operation, operation.name, operations.axes_of(operation))
            registers.written[operation.statement] = registers.read[operation.statement] = cell
    for reduction in reductions.values():
        _reduction_cells(registers, reduction)
    for operation in operations.by_statement.values():
        _see_access(registers, operation)
    made = (registers.written, registers.read, registers.parts)
    used = {id(c) for cells in made for c in cells.values()}
    dropped = {id(registers.written[r.init.statement]) for r in reductions.values() if r.drops_init}
    kept = [c for c in registers.cells if id(c) in used and id(c) not in dropped]
    for number, cell in enumerate(kept):
        cell.number = number
        _settle(registers, cell)
    for statement, part in registers.parts.items():
        part.axes, part.vector = registers.read[statement].axes, registers.read[statement].vector
    registers.cells = kept
    return registers


def _cell(registers: Registers, operation: Operation, name: str, axes: tuple[int, ...]) -> Cell:
    operations = registers.operations
    dtype = operations.backbone.instructions[operation.dtype_of].dtype
    cell = Cell(name, dtype, operations.extents_of(axes))
    registers.cells.append(cell)
    return cell


def _reduction(decided: Decided, operations: Operations, tree: Tree, operation: Operation) -> Reduction:
    carry = operation.carry
    assert carry is not None
    init = operations.by_statement[carry.init]
    reduced = operations.extents_of(carry.reduced)
    loops = {e: loop for e in reduced if (loop := tree.loop_of[operation.dims[e]]) is not None}
    path = tree.paths[operation.statement]
    outermost = next((b for b in path if b in loops.values()), None)
    trees = {
        e: loop
        for e, loop in loops.items()
        if loop.kind in (Kind.VECTOR, Kind.THREAD, Kind.BLOCK)
        or (decided.partials(operation.dims[e]) == "TREE" and loop.kind is Kind.UNROLL)
    }
    own = {loop for d in operation.dims.values() if (loop := tree.loop_of[d]) is not None}
    for loop in path:
        if loop not in own and loop not in tree.paths[init.statement] and loop.kind is not Kind.THREAD:
            raise LoweringError(
                f"{operation.name} accumulates in loop {loop.name}, which is not its own and not around {init.name}"
            )
    threads = tuple(b for b in trees.values() if b.kind is Kind.THREAD)
    if trees:
        neutral = operations.neutral(operation)
        if neutral is None:
            raise LoweringError(f"{operation.name} cannot keep partial results: {operation.operator} is not associative")
        is_neutral = is_constant(init, neutral)
        drops = is_neutral and operations.users.get(init.statement, ()) == (operation.statement,)
        if threads:
            outermost = _around_threads(operation, path, outermost)
        registers = {e: b for e, b in trees.items() if b.kind not in (Kind.THREAD, Kind.BLOCK)}
        blocks = tuple(b for b in path if b in trees.values() and b.kind is Kind.BLOCK)
        if blocks:
            if not drops:
                raise LoweringError(
                    f"blocks share the sum of {operation.name}, but its start is not a neutral element that only it uses"
                )
            outermost = next((b for b in path if b.kind is not Kind.BLOCK), None)
        return Reduction(operation, init, Start.PARTIAL, outermost, registers, threads, not is_neutral, drops, blocks)
    only_user = operations.users.get(init.statement, ()) == (operation.statement,)
    start = Start.SHARED if only_user and init.carry is None else Start.COPIED
    kept = _kept(tree, operation, init) if start is Start.SHARED else ()
    return Reduction(operation, init, start, outermost, {}, (), start is Start.COPIED, False, kept=kept)


def _kept(tree: Tree, operation: Operation, init: Operation) -> tuple[int, ...]:
    """Extents of results that run in one loop of the start and in another one of the sum."""
    pairs = [(e, tree.loop_of[d], tree.loop_of[operation.dims[e]]) for e, d in init.dims.items() if e in operation.dims]
    return tuple(e for e, a, b in pairs if a is not b and a is not None and b is not None and Kind.LOOP in (a.kind, b.kind))


def _around_threads(operation: Operation, path: tuple[Branch, ...], outermost: Branch | None) -> Branch:
    """The place outside all thread loops: the reduction's outermost loop, or the thread nest that holds it."""
    first = next(n for n, b in enumerate(path) if b.kind is Kind.THREAD)
    assert outermost is not None
    place = path.index(outermost)
    if place > first and any(b.kind is not Kind.THREAD for b in path[first:place]):
        raise LoweringError(f"the reduction {operation.name} over threads starts inside a loop of its thread nest")
    return path[min(place, first)]


def _reduction_cells(registers: Registers, reduction: Reduction) -> None:
    operation, init, tree = reduction.operation, reduction.init, registers.tree
    carry = operation.carry
    assert carry is not None
    axes = tuple(a for a in registers.operations.axes_of(operation) if a not in carry.reduced)
    statement = operation.statement
    if reduction.start is Start.SHARED:
        cell = registers.written[init.statement]
        cell.name = operation.name
        extents = dict.fromkeys((*cell.extents, *registers.operations.extents_of(axes)))
        cell.extents = tuple(e for e in extents if e not in reduction.kept)
        registers.written[statement] = registers.read[statement] = cell
        return
    total = _cell(registers, operation, operation.name, axes)
    registers.read[statement] = registers.written[statement] = total
    between = {
        e: loop if loop is not None and reduction.encloses(tree, loop) else None for e, loop in _loops(tree, operation).items()
    }
    if reduction.start is Start.PARTIAL:
        partial = _cell(registers, operation, f"{operation.name}_partial", axes)
        registers.written[statement] = partial
        partial.partial = dict(reduction.registers)
        for extent in partial.extents:
            partial.see(extent, between[extent])
    if reduction.blocks:
        part = _cell(registers, operation, f"{operation.name}_part", axes)
        registers.parts[statement] = part
        outside = {b for b in tree.paths[statement] if reduction.encloses_total(tree, b)}
        between = {e: loop if loop in outside else None for e, loop in between.items()}
    for extent in total.extents:
        total.see(extent, between[extent])
        if reduction.reads_init and extent in init.dims:
            registers.read[init.statement].see(extent, between[extent])


def _loops(tree: Tree, operation: Operation) -> dict[int, Branch | None]:
    return {e: tree.loop_of[d] for e, d in operation.dims.items()}


def _see_access(registers: Registers, operation: Operation) -> None:
    tree, operations = registers.tree, registers.operations
    if operation.statement in registers.written:
        cell = registers.written[operation.statement]
        for extent in cell.extents:
            if extent in operation.dims:
                cell.see(extent, tree.loop_of[operation.dims[extent]])
    for result in (*operation.results, *operation.previous):
        cell = registers.read[result.instruction]
        for extent in operations.extents_of(result.mapped):
            if extent not in operation.dims:
                raise LoweringError(f"{operation.name} does not iterate an extent over which it reads {cell.name}")
            cell.see(extent, tree.loop_of[operation.dims[extent]])


def _settle(registers: Registers, cell: Cell) -> None:
    """Decides the axes of a value, and unrolls vector loops beyond the one that its vector axis can serve."""
    axes: list[int] = []
    vectors: list[int] = []
    for extent in cell.extents:
        seen = cell.loops.get(extent, [])
        loops = {b for b in seen if b is not None}
        if not loops or all(b.kind is Kind.THREAD for b in loops):
            if len({b.hardware for b in loops}) > 1:
                raise LoweringError(f"value {cell.name} is passed between threads on different hardware levels")
            continue
        has_vector = any(b.kind is Kind.VECTOR for b in loops)
        if len(loops) == 1 and None not in seen and not has_vector:
            continue
        if any(b.kind not in (Kind.UNROLL, Kind.VECTOR) for b in loops):
            found = [f"{b.name} ({b.kind})" for b in sorted(loops, key=lambda b: b.number)]
            raise LoweringError(f"value {cell.name} is passed between loops that are neither merged nor unrolled: {found}")
        axes.append(extent)
        if has_vector:
            vectors.append(extent)
    for extent, loop in cell.partial.items():
        axes.append(extent)
        if loop.kind is Kind.VECTOR:
            vectors.append(extent)
    cell.vector = vectors[-1] if vectors else None
    for extent in vectors[:-1]:
        for loop in cell.loops.get(extent, []):
            if loop is not None and loop.kind is Kind.VECTOR:
                loop.kind = Kind.UNROLL
    cell.axes = tuple(e for e in axes if e != cell.vector) + ((cell.vector,) if cell.vector is not None else ())
