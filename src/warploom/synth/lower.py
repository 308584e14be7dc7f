"""Lowers a sketch on a bounded instance to a `Network`: lockstep execution with open indices kept as tables over hole values.

Goals: every control decision and index that no hole touches is concrete; an open index is a table over the values of the few
points it depends on. Non-goals: checking the sketch (a wrong fixed index simply reads an undefined cell; the proof of the
completed kernel reports it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, assert_never, cast

import numpy as np

from warploom.core import Diagnostic, DType, UnsupportedError, UserError
from warploom.ir import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Cast,
    Compare,
    Component,
    Declare,
    For,
    FromIndex,
    Hole,
    HoleArg,
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    MakeVector,
    Param,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    SizeVar,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
)
from warploom.synth.network import (
    UNDEFINED,
    AccumulateStatement,
    Arithmetic,
    Batch,
    BoolArray,
    Elements,
    Entries,
    Folds,
    HoleUses,
    IntArray,
    Network,
    Placements,
    Retained,
    Slots,
)
from warploom.terms import Term, apply, atom, component, constant

MAX_OPTIONS = 1 << 14
"""Values of all slots of one open expression, multiplied; more would not be a table worth having."""


@dataclass(frozen=True, eq=False, slots=True)
class Open:
    """A per-thread index value that depends on holes: `table[t, v0, v1, ...]`."""

    slots: Slots
    table: np.ndarray[Any, Any]


IndexValue = np.ndarray[Any, Any] | Open
"""Concrete: [threads] integers or truth values."""


@dataclass(eq=False, slots=True)
class _Array:
    """Storage of one array: cells [threads, elements] for registers, [elements] otherwise."""

    shape: tuple[int, ...]
    cells: IntArray
    per_thread: bool


@dataclass(eq=False, slots=True)
class _Accumulator:
    op: str
    init: Term
    finalize: ValueExpr
    shape: tuple[int, ...]
    pending: list[tuple[int, IndexValue, IntArray, IndexValue]]
    """statement, element index, value cells, guard."""


def lower(kernel: Kernel, sizes: Mapping[str, int]) -> Network:
    """The network of `kernel` at the given run-time sizes; UserError for what a bounded sketch cannot hold."""
    return _Lowering(kernel, sizes).run()


class _Lowering:
    def __init__(self, kernel: Kernel, sizes: Mapping[str, int]) -> None:
        self.kernel = kernel
        self.sizes = sizes
        self.threads = kernel.threads
        self.holes = {h.name: n for n, h in enumerate(kernel.holes)}
        self.points: list[dict[tuple[int, ...], int]] = [{} for _ in kernel.holes]
        self.cells = 1
        self.known: dict[int, Term] = {}
        self.constants: dict[tuple[str, object], int] = {}
        self.batches: list[Batch] = []
        self.statements: dict[int, int] = {}
        self.statement_rows: list[AccumulateStatement] = []
        self.globals: dict[str, _Array] = {}
        self.open_stores = 0
        self.components: dict[tuple[int, int], int] = {}
        """(vector cell, position) -> the cell of that component."""
        numbers = np.arange(self.threads)
        bx, by, _ = kernel.block
        self.thread_ids = (numbers % bx, numbers // bx % by, numbers // (bx * by))
        # Per block:
        self.block = (0, 0, 0)
        self.arrays: dict[str, _Array] = {}
        self.indices: dict[str, IndexValue] = {}
        self.variables: dict[str, IntArray] = {}
        self.accumulators: dict[str, _Accumulator] = {}
        self.active: BoolArray = np.ones(self.threads, np.bool_)
        self.guard: Open | None = None

    def run(self) -> Network:
        for param in self.kernel.params:
            self.globals[param.name] = self._global_array(param)
        grid = tuple(int(self._scalar(g)) for g in self.kernel.grid)
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    self.block = (x, y, z)
                    self.arrays, self.indices, self.variables, self.accumulators = {}, {}, {}, {}
                    self.active = np.ones(self.threads, np.bool_)
                    self._body(self.kernel.body)
        uses: list[HoleUses] = []
        for hole, points in zip(self.kernel.holes, self.points, strict=True):
            arity = 0 if hole.kind in ("const", "choose") else len(hole.arg_names)
            table = np.array(list(points), np.int64).reshape(len(points), arity)
            uses.append(HoleUses(hole, table, self._hole_values(hole)))
        outputs = {p.name: self.globals[p.name].cells for p in self.kernel.params if p.is_output}
        operators = {
            o.name: (a := atom("$a", ()), b := atom("$b", ()), self._operator_body(o.body, {"$a": a, "$b": b}))
            for o in self.kernel.operators
        }
        return Network(tuple(uses), self.cells, self.known, tuple(self.batches), outputs, tuple(self.statement_rows), operators)

    def _operator_body(self, body: ValueExpr, names: Mapping[str, Term]) -> Term:
        match body:
            case ValueVar(name):
                return names[name]
            case ValueConst(value, _):
                return constant(value)
            case Arith(op, operands):
                return apply(op, *(self._operator_body(o, names) for o in operands))
            case _:
                raise TypeError(f"operator body may hold variables, constants and arithmetic, not {type(body).__name__}")

    # ------------------------------------------------------------ cells

    def _new(self, count: int) -> IntArray:
        first = self.cells
        self.cells += count
        return np.arange(first, first + count)

    def _constant(self, value: int | float) -> int:
        key = (type(value).__name__, value)
        if key not in self.constants:
            cell = int(self._new(1)[0])
            self.known[cell] = constant(value)
            self.constants[key] = cell
        return self.constants[key]

    def _global_array(self, param: Param) -> _Array:
        shape = tuple(int(self._scalar(extent)) for extent in param.shape)
        if not param.is_input:
            return _Array(shape, np.full(prod(shape), UNDEFINED), per_thread=False)
        cells = self._new(prod(shape))
        for cell, index in zip(cells, np.ndindex(*shape), strict=True):
            self.known[int(cell)] = atom(param.name, index, param.dtype.lanes)
        return _Array(shape, cells, per_thread=False)

    def _scalar(self, expr: IndexExpr) -> int:
        """An expression over sizes and constants."""
        value = self._index(expr)
        assert isinstance(value, np.ndarray)
        return int(value.flat[0])

    # ------------------------------------------------------------ statements

    def _body(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        match stmt:
            case Declare(name, space, _, shape):
                size = prod(shape)
                per_thread = space == "register"
                cells = np.full((self.threads, size) if per_thread else size, UNDEFINED)
                self.arrays[name] = _Array(shape, cells, per_thread)
            case SetIndex(name, expr):
                self.indices[name] = self._merged_index(self._index(expr), self.indices.get(name))
            case SetValue(name, _, value):
                old = self.variables.get(name, np.full(self.threads, UNDEFINED))
                self.variables[name] = self._merged(self._value(value), old)
            case Store(array, index, value):
                self._store(self._array(array), self._flat(array, index), self._value(value))
            case Accumulator(name, _, shape, op, init, finalize):
                self.accumulators[name] = _Accumulator(op, constant(init), finalize, shape, [])
            case Accumulate():
                self._accumulate(stmt)
            case For(var, start, stop, step, body):
                for position in range(self._scalar(start), self._scalar(stop), step):
                    self.indices[var] = np.full(self.threads, position)
                    self._body(body)
            case If(cond, then, other):
                self._if(self._index(cond), then, other)
            case Sync():
                pass
            case _:
                assert_never(stmt)

    def _if(self, cond: IndexValue, then: tuple[Stmt, ...], other: tuple[Stmt, ...]) -> None:
        active, guard = self.active, self.guard
        if isinstance(cond, Open):
            for truth, body in ((cond, then), (self._map(np.logical_not, cond), other)):
                both = truth if guard is None else self._map(np.logical_and, guard, truth)
                if isinstance(both, Open):
                    self.guard = both
                    self._body(body)
                elif (active & both.astype(np.bool_)).any():
                    self.guard, self.active = None, active & both.astype(np.bool_)
                    self._body(body)
                    self.active = active
        else:
            for mask, body in ((active & cond.astype(np.bool_), then), (active & ~cond.astype(np.bool_), other)):
                self.active = mask
                if body and mask.any():
                    self._body(body)
        self.active, self.guard = active, guard

    def _merged_index(self, new: IndexValue, old: IndexValue | None) -> IndexValue:
        if self.guard is not None and old is not None:
            new = self._map(np.where, self.guard, new, old)
        if old is None or self.active.all():
            return new
        return self._map(np.where, self.active, new, old)

    def _merged(self, new: IntArray, old: IntArray) -> IntArray:
        if self.guard is not None:
            new = self._selected(self.guard, new, old)
        return np.where(self.active, new, old)

    def _store(self, array: _Array, index: IndexValue, value: IntArray) -> None:
        cells = array.cells
        if self.guard is not None:
            index = self._map(lambda g, i: np.where(g, i, -1), self.guard, index)
        if not isinstance(index, Open):
            inside = self.active & (index >= 0) & (index < cells.shape[-1])
            if array.per_thread:
                cells[np.flatnonzero(inside), index[inside]] = value[inside]
            else:
                cells[index[inside]] = value[inside]
            return
        self._open_store(array, index, value)

    def _open_store(self, array: _Array, index: Open, value: IntArray) -> None:
        """Fresh cells for everything the store may reach; each row is placed where its open index says."""
        rows = np.flatnonzero(self.active)
        size = array.cells.shape[-1]
        old = array.cells.copy()
        fresh = np.full_like(array.cells, UNDEFINED)
        reach = np.where((index.table >= 0) & (index.table < size), index.table, -1)[rows]
        if array.per_thread:
            for row, targets in zip(rows, reach, strict=True):
                touched = np.unique(targets[targets >= 0])
                fresh[row, touched] = self._new(len(touched))
            options = reach.reshape(len(rows), -1)
            target = np.where(options >= 0, fresh[rows[:, None], np.maximum(options, 0)], UNDEFINED).reshape(reach.shape)
        else:
            touched = np.unique(reach[reach >= 0])
            fresh[touched] = self._new(len(touched))
            target = np.where(reach >= 0, fresh[np.maximum(reach, 0)], UNDEFINED)
        changed = fresh != UNDEFINED
        self.batches.append(Retained(fresh[changed], old[changed]))
        self.batches.append(Placements(value[rows], _rows(index.slots, rows), target, self.open_stores))
        self.open_stores += 1
        array.cells = np.where(changed, fresh, old)

    def _accumulate(self, stmt: Accumulate) -> None:
        accumulator = self.accumulators[stmt.accumulator]
        guard = self._index(stmt.guard)
        if isinstance(guard, np.ndarray):
            guard = guard.astype(np.bool_) & self.active
        if self.guard is not None:
            guard = self._map(np.logical_and, self.guard, guard)
        number = self.statements.setdefault(id(stmt), len(self.statements))
        if number == len(self.statement_rows):
            holes = tuple(sorted(set(guard.slots.holes))) if isinstance(guard, Open) else ()
            self.statement_rows.append(AccumulateStatement(stmt.span, holes))
        element = self._flattened(accumulator.shape, stmt.index) if accumulator.shape else np.zeros(self.threads, np.int64)
        before = self.active
        if isinstance(guard, np.ndarray):
            if not guard.any():
                return
            self.active = guard
        value = self._value(stmt.value)
        accumulator.pending.append((number, element, value, guard if isinstance(guard, Open) else guard.copy()))
        self.active = before

    # ------------------------------------------------------------ index expressions

    def _index(self, expr: IndexExpr) -> IndexValue:
        match expr:
            case IndexConst(value):
                return np.full(self.threads, value)
            case IndexVar(name):
                return self.indices[name]
            case Builtin(name, axis):
                return self._builtin(name, axis)
            case SizeVar(name):
                return np.full(self.threads, self.sizes[name])
            case IndexBinary(op, lhs, rhs):
                return self._map(_BINARY[op], self._index(lhs), self._index(rhs))
            case Compare(op, lhs, rhs):
                return self._map(_COMPARE[op], self._index(lhs), self._index(rhs))
            case Logical("not", (operand,)):
                return self._map(np.logical_not, self._index(operand))
            case Logical(op, operands):
                function = np.logical_and if op == "and" else np.logical_or
                result = self._index(operands[0])
                for operand in operands[1:]:
                    result = self._map(function, result, self._index(operand))
                return result
            case IndexSelect(cond, then, other):
                return self._map(np.where, self._index(cond), self._index(then), self._index(other))
            case HoleUse():
                return self._hole(expr)
            case HoleArg():
                raise TypeError("a hole's parameter outside of a completion")
            case _:
                assert_never(expr)

    def _builtin(self, name: str, axis: int) -> IntArray:
        if name == "thread_id":
            return self.thread_ids[axis]
        if name == "block_id":
            return np.full(self.threads, self.block[axis])
        if name == "block_dim":
            return np.full(self.threads, self.kernel.block[axis])
        return np.full(self.threads, self._scalar(self.kernel.grid[axis]))

    def _hole_values(self, hole: Hole) -> int:
        if hole.kind == "cond":
            return 2
        if hole.kind == "const":
            return len(hole.constants or (0,))
        return hole.n

    def _hole(self, use: HoleUse) -> IndexValue:
        number = self.holes[use.hole]
        hole = self.kernel.holes[number]
        args = [self._index(a) for a in use.args]
        values = self._hole_values(hole)
        if hole.kind in ("const", "choose"):
            point = self.points[number].setdefault((), 0)
            slots = Slots((number,), (np.full(self.threads, point),))
            if hole.kind == "const":
                return Open(slots, np.broadcast_to(np.array(hole.constants or (0,)), (self.threads, values)))
            if any(isinstance(a, Open) for a in args):
                raise _nested(hole)
            return Open(slots, np.stack([cast(IntArray, a) for a in args], axis=1))
        if any(isinstance(a, Open) for a in args):
            raise _nested(hole)
        columns = np.stack([cast(IntArray, a) for a in args], axis=1).astype(np.int64)
        if hole.kind == "xform":
            self._check_primary(hole, columns)
        points = np.zeros(self.threads, np.int64)
        known = self.points[number]
        for row in np.flatnonzero(self.active):
            points[row] = known.setdefault(tuple(columns[row].tolist()), len(known))
        table = np.arange(values) if hole.kind != "cond" else np.array([False, True])
        return Open(Slots((number,), (points,)), np.broadcast_to(table, (self.threads, values)))

    def _check_primary(self, hole: Hole, columns: IntArray) -> None:
        outside = self.active & ((columns[:, 0] < 0) | (columns[:, 0] >= hole.n))
        if outside.any():
            value = int(columns[np.flatnonzero(outside)[0], 0])
            raise UserError(
                Diagnostic(
                    "HOLE_RANGE",
                    f"expected the first argument of xform within 0..{hole.n - 1}, got {hole.arg_names[0]} = {value}",
                    hole.span,
                    "pass the number of indices that the first argument really takes as the second argument",
                )
            )

    def _map(self, function: Callable[..., Any], *operands: IndexValue) -> IndexValue:
        """`function` applied per thread and per combination of slot values."""
        if not any(isinstance(o, Open) for o in operands):
            with np.errstate(all="ignore"):
                return function(*operands)
        holes: list[int] = []
        points: list[IntArray] = []
        axes: list[list[int]] = []
        for operand in operands:
            mine: list[int] = []
            if isinstance(operand, Open):
                for hole, where in zip(operand.slots.holes, operand.slots.points, strict=True):
                    for axis, (h, p) in enumerate(zip(holes, points, strict=True)):
                        if h == hole and (p is where or np.array_equal(p[self.active], where[self.active])):
                            mine.append(axis)
                            break
                    else:
                        mine.append(len(holes))
                        holes.append(hole)
                        points.append(where)
            axes.append(mine)
        shapes = [self._hole_values(self.kernel.holes[h]) for h in holes]
        if prod(shapes) > MAX_OPTIONS:
            first = self.kernel.holes[holes[0]]
            names = ", ".join(f"'{self.kernel.holes[h].name}'" for h in holes)
            raise UnsupportedError(
                Diagnostic(
                    "OPEN_EXPRESSION",
                    f"expected an index with at most {MAX_OPTIONS} open values, got {prod(shapes)} from the holes {names}",
                    first.span,
                    "use the holes in separate accesses (one per array dimension), or give one of them fewer values",
                )
            )
        expanded: list[Any] = []
        for operand, mine in zip(operands, axes, strict=True):
            if isinstance(operand, Open):
                order = np.argsort(mine)
                table = np.transpose(operand.table, (0, *(int(o) + 1 for o in order)))
                shape = [self.threads] + [shapes[a] if a in mine else 1 for a in range(len(holes))]
                expanded.append(table.reshape(shape))
            else:
                expanded.append(operand.reshape((self.threads,) + (1,) * len(holes)))
        with np.errstate(all="ignore"):
            table = np.broadcast_to(function(*expanded), (self.threads, *shapes))
        return self._closed(Open(Slots(tuple(holes), tuple(points)), table))

    def _closed(self, value: Open) -> IndexValue:
        """Without the slots that make no difference in any active thread (a mask that is always true, say)."""
        table, kept = value.table, list(range(len(value.slots.holes)))
        for axis in reversed(range(len(value.slots.holes))):
            first = table.take([0], axis=axis + 1)
            if (table == first)[self.active].all():
                table = first.squeeze(axis=axis + 1)
                del kept[axis]
        if not kept:
            return table
        slots = Slots(tuple(value.slots.holes[a] for a in kept), tuple(value.slots.points[a] for a in kept))
        return Open(slots, table)

    # ------------------------------------------------------------ values

    def _value(self, expr: ValueExpr) -> IntArray:
        match expr:
            case ValueConst(value, _):
                return np.full(self.threads, self._constant(value))
            case ValueVar(name):
                return self.variables[name]
            case Read(array, index):
                return self._read(self._array(array), self._flat(array, index))
            case Arith(op, operands):
                return self._arith(op, tuple(self._value(o) for o in operands))
            case ValueSelect(cond, then, other):
                return self._select(self._index(cond), then, other)
            case Shuffle():
                return self._shuffle(expr)
            case Cast(dtype, value):
                return self._cast(dtype, self._value(value))
            case FromIndex(index, _):
                return self._from_index(self._index(index))
            case MakeVector(_, items):
                return self._arith("pack", tuple(self._value(i) for i in items))
            case Component(value, position):
                return self._components(self._value(value), position)
            case Accumulated(name, index):
                return self._accumulated(self.accumulators[name], index)
            case _:
                assert_never(expr)

    def _arith(self, op: str, operands: tuple[IntArray, ...]) -> IntArray:
        rows = np.flatnonzero(self.active)
        result = np.full(self.threads, UNDEFINED)
        result[rows] = self._new(len(rows))
        self.batches.append(Arithmetic(result[rows], op, tuple(o[rows] for o in operands)))
        return result

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
        if key in self.components:
            return self.components[key]
        found = made.get(cell)
        if cell in self.known:
            part = int(self._new(1)[0])
            self.known[part] = component(self.known[cell], position)
            self.components[key] = part
        elif found is not None and isinstance(found[0], Elements):
            batch = found[0]
            source = np.array([self._component(int(c), position, made) for c in batch.source.ravel()]).reshape(batch.source.shape)
            out = self._new(len(batch.out))
            self.batches.append(Elements(out, batch.slots, source))
            self.components |= {(int(c), position): int(o) for c, o in zip(batch.out, out, strict=True)}
        elif found is not None and isinstance(found[0], Arithmetic) and found[0].op == "pack":
            self.components[key] = int(found[0].operands[position][found[1]])
        else:
            out = self._new(1)
            self.batches.append(Arithmetic(out, f"component{position}", (np.array([cell]),)))
            self.components[key] = int(out[0])
        return self.components[key]

    def _cast(self, dtype: DType, value: IntArray) -> IntArray:
        return self._arith(f"cast.{dtype.name}", (value,))

    def _array(self, name: str) -> _Array:
        return self.arrays[name] if name in self.arrays else self.globals[name]

    def _flat(self, name: str, index: tuple[IndexExpr, ...]) -> IndexValue:
        return self._flattened(self._array(name).shape, index)

    def _flattened(self, shape: tuple[int, ...], index: tuple[IndexExpr, ...]) -> IndexValue:
        """Row-major position, -1 where an index is out of range."""

        def flatten(*values: IntArray) -> IntArray:
            position: Any = 0
            inside: Any = True
            for value, extent in zip(values, shape, strict=True):
                position = position * extent + value
                inside = inside & (value >= 0) & (value < extent)
            return np.where(inside, position, -1)

        return self._map(flatten, *(self._index(i) for i in index)) if shape else np.zeros(self.threads, np.int64)

    def _read(self, array: _Array, index: IndexValue) -> IntArray:
        def cells_at(position: IntArray) -> IntArray:
            inside = (position >= 0) & (position < array.cells.shape[-1])
            safe = np.where(inside, position, 0)
            if array.per_thread:
                own = np.arange(self.threads).reshape((self.threads,) + (1,) * (position.ndim - 1))
                return np.where(inside, array.cells[own, safe], UNDEFINED)
            if array.cells.size == 0:
                return np.full(position.shape, UNDEFINED)
            return np.where(inside, array.cells[safe], UNDEFINED)

        if isinstance(index, Open):
            return self._elements(Open(index.slots, cells_at(index.table)))
        return cells_at(index)

    def _elements(self, source: Open) -> IntArray:
        rows = np.flatnonzero(self.active)
        result = np.full(self.threads, UNDEFINED)
        result[rows] = self._new(len(rows))
        self.batches.append(Elements(result[rows], _rows(source.slots, rows), source.table[rows]))
        return result

    def _selected(self, cond: Open, then: IntArray, other: IntArray) -> IntArray:
        table = self._map(np.where, cond, then, other)
        return self._elements(table) if isinstance(table, Open) else table

    def _select(self, cond: IndexValue, then: ValueExpr, other: ValueExpr) -> IntArray:
        if isinstance(cond, Open):
            return self._selected(cond, self._value(then), self._value(other))
        truth = cond.astype(np.bool_)
        active = self.active
        results: list[IntArray] = []
        for mask, branch in ((active & truth, then), (active & ~truth, other)):
            self.active = mask
            results.append(self._value(branch) if mask.any() else np.full(self.threads, UNDEFINED))
        self.active = active
        return np.where(truth, results[0], results[1])

    def _shuffle(self, expr: Shuffle) -> IntArray:
        value = np.where(self.active, self._value(expr.value), UNDEFINED)
        width = expr.width
        lane = np.arange(self.threads) % self.kernel.warp_size
        own = lane % width

        def source(operand: IntArray) -> IntArray:
            extra = (1,) * (operand.ndim - 1)
            mine, here = own.reshape(-1, *extra), np.arange(self.threads).reshape(-1, *extra)
            match expr.kind:
                case "idx":
                    wanted = operand % width
                case "up":
                    wanted = np.where(mine - operand >= 0, mine - operand, mine)
                case "down":
                    wanted = np.where(mine + operand < width, mine + operand, mine)
                case "xor":
                    wanted = np.where(mine ^ operand < width, mine ^ operand, mine)
            return value[np.minimum(here - mine + wanted, self.threads - 1)]

        result = self._map(source, self._index(expr.operand))
        return self._elements(result) if isinstance(result, Open) else result

    def _from_index(self, index: IndexValue) -> IntArray:
        def cells_of(values: IntArray) -> IntArray:
            distinct, inverse = np.unique(values, return_inverse=True)
            return np.array([self._constant(int(v)) for v in distinct])[inverse].reshape(values.shape)

        if isinstance(index, Open):
            return self._elements(Open(index.slots, cells_of(index.table)))
        return cells_of(index)

    def _accumulated(self, accumulator: _Accumulator, index: tuple[IndexExpr, ...]) -> IntArray:
        wanted = self._flattened(accumulator.shape, index) if accumulator.shape else np.zeros(self.threads, np.int64)
        if isinstance(wanted, Open):
            results = [self._fold(accumulator, np.full(self.threads, e)) for e in range(prod(accumulator.shape))]
            stacked = np.stack(results, axis=1)
            own = np.arange(self.threads).reshape((self.threads,) + (1,) * (wanted.table.ndim - 1))
            return self._elements(Open(wanted.slots, np.where(wanted.table >= 0, stacked[own, wanted.table], UNDEFINED)))
        return self._fold(accumulator, wanted)

    def _fold(self, accumulator: _Accumulator, element: IntArray) -> IntArray:
        rows = np.flatnonzero(self.active)
        result = np.full(self.threads, UNDEFINED)
        result[rows] = self._new(len(rows))
        position = np.full(self.threads, -1)
        position[rows] = np.arange(len(rows))
        entries: list[Entries] = []
        for number, where, value, guard in accumulator.pending:
            made = self._map(np.logical_and, guard, self._map(np.equal, where, element))
            if isinstance(made, Open):
                mine = rows[made.table.reshape(self.threads, -1)[rows].any(axis=1)]
                slots, table = _rows(made.slots, mine), made.table[mine]
            else:
                mine = rows[made[rows].astype(np.bool_)]
                slots, table = Slots((), ()), np.ones(len(mine), np.bool_)
            if len(mine):
                entries.append(Entries(number, position[mine], value[mine], slots, table))
        self.batches.append(Folds(result[rows], accumulator.op, accumulator.init, tuple(entries)))
        if accumulator.finalize == ValueVar("$state"):
            return result
        before = self.variables
        self.variables = {**before, "$state": result}
        finalized = self._value(accumulator.finalize)
        self.variables = before
        return finalized


def _rows(slots: Slots, rows: IntArray) -> Slots:
    return replace(slots, points=tuple(p[rows] for p in slots.points))


def _nested(hole: Hole) -> UnsupportedError:
    return UnsupportedError(
        Diagnostic(
            "NESTED_HOLE",
            f"expected arguments without holes, got another hole inside an argument of hole '{hole.name}'",
            hole.span,
            "pass loop variables and lane numbers; combine the results of the two holes instead",
        )
    )


def _shift_left(a: IntArray, b: IntArray) -> IntArray:
    return np.left_shift(a, np.clip(b, 0, 62))


def _shift_right(a: IntArray, b: IntArray) -> IntArray:
    return np.right_shift(a, np.clip(b, 0, 62))


_BINARY: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod, "&": np.bitwise_and,
    "|": np.bitwise_or, "^": np.bitwise_xor, "<<": _shift_left, ">>": _shift_right, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
_COMPARE: dict[str, Callable[..., Any]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
