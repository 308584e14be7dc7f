"""Lowers a sketch on a bounded instance to a `Network`: lockstep execution with open indices kept as tables over hole values.

Goals: every control decision and index that no hole touches is concrete; an open index is a table over the values of the few
points it depends on. Non-goals: checking the sketch (a wrong fixed index simply reads an undefined cell; the proof of the
completed kernel reports it).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from math import prod
from typing import assert_never, cast

import numpy as np

from warploom.core import Span
from warploom.ir import (
    Accumulate,
    Accumulator,
    CommitCopies,
    Declare,
    For,
    If,
    Kernel,
    Param,
    SetIndex,
    SetValue,
    Stmt,
    Store,
    Sync,
    WaitCopies,
)
from warploom.sketch import TermArrays
from warploom.synth.network.lower_values import AccumulatorState, Pending, Storage, ValueLowering, uniform
from warploom.synth.network.network import (
    UNDEFINED,
    AccumulateStatement,
    BoolArray,
    Forbidden,
    GuardRows,
    IntArray,
    Network,
    Placements,
    Priced,
    Retained,
)
from warploom.synth.network.open_index import IndexValue, Open, rows_of
from warploom.terms import Term, atom, constant


def lower(
    kernel: Kernel,
    sizes: Mapping[str, int],
    given: TermArrays | None = None,
    more: Sequence[Mapping[str, int]] = (),
    priced: Collection[Priced] = (),
    always: Collection[str] = (),
) -> Network:
    """The network of `kernel` at the given run-time sizes; UserError for what a bounded sketch cannot hold.

    given: what inputs hold at first, where that is not their own elements. more: other sizes at which the same completion runs
    as well; outputs then hold the elements of all instances, one instance after the other. priced: kinds of requests to note,
    where an index is open; always: shared arrays whose requests are all noted.
    """
    return _Lowering(kernel, sizes, given or {}, priced, always).run(more)


class _Lowering(ValueLowering):
    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[str, int],
        given: TermArrays,
        priced: Collection[Priced],
        always: Collection[str],
    ) -> None:
        super().__init__(kernel, sizes, priced, always)
        self.given = given
        self.statements: dict[tuple[int, ...], int] = {}
        """Place in the kernel's text -> number of the accumulate statement."""
        self.spans: list[Span] = []
        self.certain: set[int] = set()
        self.guards: list[GuardRows] = []
        self.stores = 0
        self.forbidden: list[Forbidden] = []

    def run(self, more: Sequence[Mapping[str, int]]) -> Network:
        names = [p.name for p in self.kernel.params if p.is_output]
        outputs: dict[str, list[IntArray]] = {name: [] for name in names}
        for sizes in (self.sizes, *more):
            self.sizes = sizes
            self._instance()
            self.priced = ()
            for name in names:
                outputs[name].append(self.globals[name].cells)
        statements = tuple(AccumulateStatement(span, n in self.certain) for n, span in enumerate(self.spans))
        return Network(
            holes=self.hole_uses(),
            cells=self.cells,
            known=self.known,
            batches=tuple(self.batches),
            outputs={name: np.concatenate(cells) for name, cells in outputs.items()},
            statements=statements,
            guards=tuple(self.guards),
            operators=frozenset(o.name for o in self.kernel.operators),
            forbidden=tuple(self.forbidden),
            requests=tuple(self.requests),
        )

    def _instance(self) -> None:
        """All blocks at `self.sizes`."""
        for param in self.kernel.params:
            self.globals[param.name] = self._global(param)
        grid = [self.scalar(g) for g in self.kernel.grid]
        for z, y, x in product(range(grid[2]), range(grid[1]), range(grid[0])):
            self.block = (x, y, z)
            self.arrays, self.indices, self.variables, self.accumulators = {}, {}, {}, {}
            self._body(self.kernel.body, ())

    def _global(self, param: Param) -> Storage:
        shape = tuple(max(0, self.scalar(extent)) for extent in param.shape)
        priced: tuple[Priced | None, int] = None if param.space == "constant" else "sectors", param.dtype.size_bytes
        if not param.is_input:
            return Storage(shape, np.full(prod(shape), UNDEFINED), False, *priced)
        cells = self.new_cells(prod(shape))
        for cell, index in zip(cells, np.ndindex(*shape), strict=True):
            own = atom(param.name, index, param.dtype.lanes)
            self.known[int(cell)] = cast("Term", self.given[param.name][index]) if param.name in self.given else own
        return Storage(shape, cells, False, *priced)

    # ------------------------------------------------------------ statements

    def _body(self, body: tuple[Stmt, ...], path: tuple[int, ...]) -> None:
        for number, stmt in enumerate(body):
            self._statement(stmt, (*path, number))

    def _statement(self, stmt: Stmt, path: tuple[int, ...]) -> None:
        match stmt:
            case Declare(name, space, dtype, shape):
                if space == "register" or name not in self.arrays:  # shared memory keeps its content
                    per_thread = space == "register"
                    cells = np.full((self.threads, prod(shape)) if per_thread else prod(shape), UNDEFINED)
                    self.arrays[name] = Storage(
                        shape, cells, per_thread, "registers" if per_thread else "wavefronts", dtype.size_bytes
                    )
            case SetIndex(name, expr):
                self.indices[name] = self.merged_index(self.index(expr), self.indices.get(name), self.guard)
            case SetValue(name, _, value):
                old = self.variables.get(name, np.full(self.threads, UNDEFINED))
                self.variables[name] = self._merged(self.value(value), old)
            case Store(array, index, value):
                storage = self.array(array)
                self._store(stmt, storage, self.flattened(storage.shape, index), self.value(value))
            case Accumulator(name, _, shape, op, init, finalize):
                self.accumulators[name] = AccumulatorState(op, constant(init), finalize, shape, [])
            case Accumulate():
                self._accumulate(stmt, path)
            case For(var, start, stop, step, body):
                trips = range(self.scalar(start), self.scalar(stop), step)
                for position in trips:
                    self.indices[var] = np.full(self.threads, position)
                    self.together = (len(trips) if position == trips[0] else 0) if stmt.is_vector else 1
                    self._body(body, path)
                self.together = 1
            case If():
                self._if(stmt, path)
            case Sync() | CommitCopies() | WaitCopies():
                pass
            case _:
                assert_never(stmt)

    def _if(self, stmt: If, path: tuple[int, ...]) -> None:
        active, guard = self.active, self.guard
        cond = self.index(stmt.cond)
        for number, body in enumerate((stmt.then, stmt.other)):
            truth = self.map(np.logical_not, cond) if number else cond
            if guard is not None and isinstance(truth, Open):
                self.guard, truth = None, self.map(np.logical_and, guard, truth)
            if isinstance(truth, Open):
                self.guard = truth
            else:
                self.active = active & truth.astype(np.bool_)
            if self.active.any():
                self._body(body, (*path, number))
            self.active, self.guard = active, guard

    def _merged(self, new: IntArray, old: IntArray) -> IntArray:
        if self.guard is not None:
            new = self.selected(self.guard, new, old)
        return np.where(self.active, new, old)

    def _accumulate(self, stmt: Accumulate, path: tuple[int, ...]) -> None:
        accumulator = self.accumulators[stmt.accumulator]
        number = self.statements.setdefault(path, len(self.statements))
        if number == len(self.spans):
            self.spans.append(stmt.span)
        guard = self.index(stmt.guard)
        if self.guard is not None:
            guard = self.map(np.logical_and, self.guard, guard)
        before = self.active
        if isinstance(guard, Open):
            rows = np.flatnonzero(self.active)
            self.guards.append(GuardRows(number, rows_of(guard.slots, rows), guard.table[rows].astype(np.bool_)))
            if not self.active.all():
                guard = self.map(np.logical_and, self.active, guard)
        else:
            guard = guard.astype(np.bool_) & self.active
            if not guard.any():
                return
            self.certain.add(number)
            self.active = guard
        element = self.flattened(accumulator.shape, stmt.index)
        accumulator.pending.append(Pending(number, element, uniform(element), self.value(stmt.value), guard))
        self.active = before

    # ------------------------------------------------------------ stores

    def _store(self, node: Store, array: Storage, index: IndexValue, value: IntArray) -> None:
        self.note_access(node, array, index, value)
        outside = self.map(_is_outside, index)
        if self.guard is not None:
            outside = self.map(np.logical_and, self.guard, outside)
            index = self.map(_where_true, self.guard, index)
        if isinstance(outside, Open):
            rows = np.flatnonzero(self.active)
            if (table := outside.table[rows]).any():
                self.forbidden.append(Forbidden(rows_of(outside.slots, rows), table))
        if isinstance(index, Open):
            self._open_store(array, index, value)
            return
        inside = self.active & (index >= 0) & (index < array.cells.shape[-1])
        if array.per_thread:
            array.cells[np.flatnonzero(inside), index[inside]] = value[inside]
        else:
            array.cells[index[inside]] = value[inside]

    def _open_store(self, array: Storage, index: Open, value: IntArray) -> None:
        """Fresh cells for everything the store may reach; each row is placed where its open index says."""
        rows = np.flatnonzero(self.active)
        old = array.cells.copy()
        fresh = np.full_like(old, UNDEFINED)
        reach = np.where(index.table < old.shape[-1], np.maximum(index.table, -1), -1)[rows]
        goes = reach >= 0
        # [rows, slot values...]: the thread's own registers, or the whole array.
        own = (np.broadcast_to(rows.reshape(-1, *(1,) * (reach.ndim - 1)), reach.shape),) if array.per_thread else ()
        fresh[(*(o[goes] for o in own), reach[goes])] = -1
        touched = fresh == -1
        fresh[touched] = self.new_cells(int(touched.sum()))
        target = np.full(reach.shape, UNDEFINED)
        target[goes] = fresh[(*(o[goes] for o in own), reach[goes])]
        self.batches.append(Retained(fresh[touched], old[touched]))
        self.batches.append(Placements(value[rows], rows_of(index.slots, rows), target, self.stores))
        self.stores += 1
        array.cells = np.where(touched, fresh, old)


def _is_outside(position: IntArray) -> BoolArray:
    return position < 0


def _where_true(truth: IntArray, position: IntArray) -> IntArray:
    return np.where(truth, position, -1)
