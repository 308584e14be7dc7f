"""Value expressions of a bounded kernel as cells of a network, for all threads at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import assert_never

import numpy as np

from warploom.core import Span
from warploom.ir import (
    Accumulated,
    Arith,
    Cast,
    Component,
    FromIndex,
    Holds,
    IndexExpr,
    Kernel,
    MakeVector,
    Mixed,
    Read,
    Shuffle,
    Store,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
)
from warploom.synth.network.network import (
    UNDEFINED,
    Arithmetic,
    Batch,
    Elements,
    Entries,
    Folds,
    IntArray,
    OpenRequest,
    Priced,
    Slots,
)
from warploom.synth.network.open_index import IndexLowering, IndexValue, Open, Table, rows_of
from warploom.synth.proof.lanes import source_lanes
from warploom.terms import Term, component, constant, mixed_op


@dataclass(eq=False, slots=True)
class Storage:
    """One array: cells [threads, elements] for registers, [elements] otherwise."""

    shape: tuple[int, ...]
    cells: IntArray
    per_thread: bool
    priced: Priced | None = None
    """The kind of cost of a request to it."""
    size_bytes: int = 0
    """Bytes of one element."""


@dataclass(eq=False, slots=True)
class Pending:
    """One execution of an accumulate statement by all threads."""

    statement: int
    element: IndexValue
    only: int | None
    """The element, if all threads name the same."""
    value: IntArray
    guard: IndexValue


@dataclass(eq=False, slots=True)
class AccumulatorState:
    """An accumulator array and what was added to it so far."""

    op: str
    init: Term
    finalize: ValueExpr
    shape: tuple[int, ...]
    pending: list[Pending]


class ValueLowering(IndexLowering):
    """Turns values into cells ([threads] cell numbers) and appends the batches that fill them."""

    def __init__(
        self, kernel: Kernel, sizes: Mapping[str, int], priced: Collection[Priced] = (), always: Collection[str] = ()
    ) -> None:
        super().__init__(kernel, sizes)
        self.always = always
        """Shared arrays whose requests are noted where their index is closed, too."""
        self.priced = priced
        """Kinds of requests that are noted."""
        self.together = 1
        """Elements of shared memory that one access moves; 0 in those trips of a vector loop that the first one counts."""
        self.requests: list[OpenRequest] = []
        self.cells = 1
        self.known: dict[int, Term] = {}
        self.batches: list[Batch] = []
        self.globals: dict[str, Storage] = {}
        self.arrays: dict[str, Storage] = {}
        """Arrays of the current block."""
        self.guard: Open | None = None
        """Open condition under which the current code runs."""
        self.variables: dict[str, IntArray] = {}
        self.accumulators: dict[str, AccumulatorState] = {}
        self._constants: dict[tuple[str, object], int] = {}
        self._computed: dict[tuple[str, bytes, bytes], IntArray] = {}
        """(operation, operands of all threads, which of them are active) -> the cells that hold the results."""
        self._parts: dict[tuple[int, int], int] = {}
        """(vector cell, position) -> the cell of that component."""

    def new_cells(self, count: int) -> IntArray:
        first = self.cells
        self.cells += count
        return np.arange(first, first + count)

    def array(self, name: str) -> Storage:
        return self.arrays[name] if name in self.arrays else self.globals[name]

    def value(self, expr: ValueExpr) -> IntArray:
        match expr:
            case ValueConst(value, _):
                return np.full(self.threads, self._constant(value))
            case ValueVar(name):
                return self.variables.get(name, np.full(self.threads, UNDEFINED))
            case Read(array, index):
                return self._read(expr, self.array(array), self.flattened(self.array(array).shape, index))
            case Arith(op, operands):
                return self._arithmetic(op, tuple(self.value(o) for o in operands))
            case ValueSelect(cond, then, other):
                return self._select(self.index(cond), then, other)
            case Shuffle():
                return self._shuffle(expr)
            case Holds(op, lhs, rhs):
                return self._arithmetic(f"comparison {op}", (self.value(lhs), self.value(rhs)))
            case Vote():
                return self._vote(expr)
            case Mixed():
                return self._mixed(expr)
            case Cast(dtype, value):
                return self._arithmetic(f"cast.{dtype.name}", (self.value(value),))
            case FromIndex(index, _):
                return self._from_index(self.index(index))
            case MakeVector(_, items):
                return self._arithmetic("pack", tuple(self.value(i) for i in items))
            case Component(value, position):
                return self._components(self.value(value), position)
            case Accumulated(name, index):
                return self._accumulated(self.accumulators[name], index)
            case _:
                assert_never(expr)

    def selected(self, cond: Open, then: IntArray, other: IntArray) -> IntArray:
        """`then` where the open condition holds, else `other`."""
        return self._cells_of(self.map(np.where, cond, then, other))

    # ------------------------------------------------------------ gathers

    def _cells_of(self, source: IndexValue) -> IntArray:
        """Cells given directly, or a gather from the cells that an open table offers."""
        if not isinstance(source, Open):
            return source
        rows = np.flatnonzero(self.active)
        result = np.full(self.threads, UNDEFINED)
        result[rows] = self.new_cells(len(rows))
        self.batches.append(Elements(result[rows], rows_of(source.slots, rows), source.table[rows]))
        return result

    def _at(self, index: IndexValue, cells: IntArray, per_thread: bool) -> IntArray:
        """The cells at a position of `cells` ([threads, elements] or [elements]); undefined where it is out of range."""

        def found(position: Table) -> IntArray:
            inside = (position >= 0) & (position < cells.shape[-1])
            if not inside.any():
                return np.full(position.shape, UNDEFINED)
            safe = np.where(inside, position, 0)
            if per_thread:
                own = np.arange(self.threads).reshape((self.threads,) + (1,) * (position.ndim - 1))
                return np.where(inside, cells[own, safe], UNDEFINED)
            return np.where(inside, cells[safe], UNDEFINED)

        if isinstance(index, Open):
            return self._cells_of(Open(index.slots, found(index.table)))
        return found(index)

    def _read(self, node: Read, array: Storage, index: IndexValue) -> IntArray:
        result = self._at(index, array.cells, array.per_thread)
        self.note_access(node, array, index, result)
        return result

    # ------------------------------------------------------------ requests

    def note_access(self, node: Read | Store, array: Storage, index: IndexValue, moved: IntArray) -> None:
        """Notes an access through an open index, where its kind is asked for."""
        if array.priced is None or array.priced not in self.priced:
            return
        if not isinstance(index, Open):
            if node.array not in self.always:
                return
            index = Open(Slots((), ()), index)
        together = self.together if array.priced == "wavefronts" else 1
        if not together:
            return
        reach = np.where(index.table < array.cells.shape[-1], index.table // together, -1)
        size_bytes = array.size_bytes * together
        self._note(array.priced, node.array, node.span, size_bytes, index.slots, reach, moved, isinstance(node, Read))

    def _note(
        self,
        kind: Priced,
        array: str,
        span: Span,
        size_bytes: int,
        slots: Slots,
        places: IntArray,
        moved: IntArray,
        is_load: bool,
    ) -> None:
        if self.guard is not None:
            guarded = self.map(_kept_where, self.guard, Open(slots, places))
            slots, places = (guarded.slots, guarded.table) if isinstance(guarded, Open) else (Slots((), ()), guarded)
        here = self.active.reshape(-1, *(1,) * (places.ndim - 1))
        places, moved = np.where(here, places, -1), np.where(self.active, moved, UNDEFINED)
        certain = self.guard is None
        self.requests.append(OpenRequest(kind, array, span, size_bytes, slots, places, moved, is_load, certain))

    def _select(self, cond: IndexValue, then: ValueExpr, other: ValueExpr) -> IntArray:
        if isinstance(cond, Open):
            guard = self.guard
            values: list[IntArray] = []
            for truth, branch in ((cond, then), (self.map(np.logical_not, cond), other)):
                both = truth if guard is None else self.map(np.logical_and, guard, truth)
                self.guard = both if isinstance(both, Open) else guard
                values.append(self.value(branch))
            self.guard = guard
            return self.selected(cond, values[0], values[1])
        truth = cond.astype(np.bool_)
        active = self.active
        results: list[IntArray] = []
        for mask, branch in ((active & truth, then), (active & ~truth, other)):
            self.active = mask
            results.append(self.value(branch) if mask.any() else np.full(self.threads, UNDEFINED))
        self.active = active
        return np.where(truth, results[0], results[1])

    def _shuffle(self, expr: Shuffle) -> IntArray:
        given = np.where(self.active, self.value(expr.value), UNDEFINED)
        if self.guard is not None:
            given = self.selected(self.guard, given, np.full(self.threads, UNDEFINED))
        value = np.append(given, UNDEFINED)
        threads, warp = np.arange(self.threads), self.kernel.warp_size

        def source(operand: Table) -> IntArray:
            here = threads.reshape(-1, *(1,) * (operand.ndim - 1))
            lane = here % warp
            wanted = source_lanes(expr.kind, lane, operand, expr.width, warp)
            return np.minimum(here - lane + wanted, self.threads)

        taken = self.map(source, self.index(expr.operand))
        result = self._cells_of(self.map(value.__getitem__, taken))
        if isinstance(taken, Open) and "shuffles" in self.priced:
            self._note("shuffles", "", expr.span, 4, taken.slots, taken.table, result, is_load=True)
        return result

    def _vote(self, expr: Vote) -> IntArray:
        """An operation of the values of all lanes; undefined in a warp of which some lane takes no part."""
        given = np.where(self.active, self.value(expr.value), UNDEFINED)
        if self.guard is not None:
            given = self.selected(self.guard, given, np.full(self.threads, UNDEFINED))
        warps = given.reshape(-1, self.kernel.warp_size)
        lanes = tuple(lane.repeat(self.kernel.warp_size) for lane in warps.T)
        own = (given,) if expr.kind == "match_any" else ()  # each lane gets a word of its own
        return self._arithmetic(f"vote {expr.kind}", own + lanes)

    def _mixed(self, expr: Mixed) -> IntArray:
        """One operation for each number that the control may be."""
        operands = tuple(self.value(o) for o in expr.operands)

        def cells_of(values: Table) -> IntArray:
            distinct, inverse = np.unique(values, return_inverse=True)
            made = np.stack([self._arithmetic(mixed_op(expr.op, int(v)), operands) for v in distinct])
            own = np.arange(self.threads).reshape(self.threads, *(1,) * (values.ndim - 1))
            return made[inverse.reshape(values.shape), own]

        return self._cells_of(self.map(cells_of, self.index(expr.control)))

    def _from_index(self, index: IndexValue) -> IntArray:
        def cells_of(values: Table) -> IntArray:
            distinct, inverse = np.unique(values, return_inverse=True)
            return np.array([self._constant(int(v)) for v in distinct])[inverse].reshape(values.shape)

        return self._cells_of(self.map(cells_of, index))

    def _constant(self, value: int | float) -> int:
        key = (type(value).__name__, value)
        if key not in self._constants:
            cell = int(self.new_cells(1)[0])
            self.known[cell] = constant(value)
            self._constants[key] = cell
        return self._constants[key]

    # ------------------------------------------------------------ arithmetic, vectors

    def _arithmetic(self, op: str, operands: tuple[IntArray, ...]) -> IntArray:
        key = op, b"".join(o.tobytes() for o in operands), self.active.tobytes()
        if key not in self._computed:
            rows = np.flatnonzero(self.active)
            result = np.full(self.threads, UNDEFINED)
            result[rows] = self.new_cells(len(rows))
            self.batches.append(Arithmetic(result[rows], op, tuple(o[rows] for o in operands)))
            self._computed[key] = result
        return self._computed[key]

    def _components(self, cells: IntArray, position: int) -> IntArray:
        """One component of each vector cell: gathers of vectors become gathers of components."""
        made: dict[int, tuple[Elements | Arithmetic, int]] = {}
        for batch in self.batches:
            if isinstance(batch, Elements | Arithmetic):
                made |= {c: (batch, row) for row, c in enumerate(batch.out.tolist())}
        return np.array([self._component(cell, position, made) for cell in cells.tolist()])

    def _component(self, cell: int, position: int, made: Mapping[int, tuple[Elements | Arithmetic, int]]) -> int:
        if cell == UNDEFINED:
            return UNDEFINED
        key = (cell, position)
        if key in self._parts:
            return self._parts[key]
        batch, row = made.get(cell, (None, 0))
        if cell in self.known:
            part = int(self.new_cells(1)[0])
            self.known[part] = component(self.known[cell], position)
            self._parts[key] = part
        elif isinstance(batch, Elements):
            source = np.array([self._component(int(c), position, made) for c in batch.source.ravel()]).reshape(batch.source.shape)
            out = self.new_cells(len(batch.out))
            self.batches.append(Elements(out, batch.slots, source))
            self._parts |= {(int(c), position): int(o) for c, o in zip(batch.out, out, strict=True)}
        elif batch is not None and batch.op == "pack":
            self._parts[key] = int(batch.operands[position][row])
        else:
            out = self.new_cells(1)
            self.batches.append(Arithmetic(out, f"component{position}", (np.array([cell]),)))
            self._parts[key] = int(out[0])
        return self._parts[key]

    # ------------------------------------------------------------ accumulators

    def _accumulated(self, accumulator: AccumulatorState, index: tuple[IndexExpr, ...]) -> IntArray:
        wanted = self.flattened(accumulator.shape, index)
        if isinstance(wanted, Open):
            results = [self._fold(accumulator, np.full(self.threads, e)) for e in range(prod(accumulator.shape))]
            return self._at(wanted, np.stack(results, axis=1), per_thread=True)
        return np.where(wanted >= 0, self._fold(accumulator, wanted), UNDEFINED)

    def _fold(self, accumulator: AccumulatorState, element: IntArray) -> IntArray:
        rows = np.flatnonzero(self.active)
        result = np.full(self.threads, UNDEFINED)
        result[rows] = self.new_cells(len(rows))
        position = np.full(self.threads, -1)
        position[rows] = np.arange(len(rows))
        entries: list[Entries] = []
        wanted = uniform(element)
        for pending in accumulator.pending:
            if wanted is not None and pending.only is not None:
                if pending.only != wanted:
                    continue
                made = pending.guard
            else:
                made = self.map(np.logical_and, pending.guard, self.map(np.equal, pending.element, element))
            if isinstance(made, Open):
                mine = rows[made.table.reshape(self.threads, -1)[rows].any(axis=1)]
                slots, table = rows_of(made.slots, mine), made.table[mine]
            else:
                mine = rows[made[rows].astype(np.bool_)]
                slots, table = Slots((), ()), np.ones(len(mine), np.bool_)
            if len(mine):
                entries.append(Entries(pending.statement, position[mine], pending.value[mine], slots, table))
        self.batches.append(Folds(result[rows], accumulator.op, accumulator.init, tuple(entries)))
        if accumulator.finalize == ValueVar("$state"):
            return result
        before = self.variables
        self.variables = {**before, "$state": result}
        finalized = self.value(accumulator.finalize)
        self.variables = before
        return finalized


def _kept_where(truth: Table, place: Table) -> Table:
    return np.where(truth, place, -1)


def uniform(value: IndexValue) -> int | None:
    """The value that all threads have."""
    if isinstance(value, Open) or (value != value[0]).any():
        return None
    return int(value[0])
