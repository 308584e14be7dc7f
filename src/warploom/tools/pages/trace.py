"""Executes a completed kernel for one warp on named elements and writes down every movement (`tools.pages.movement`).

Indices are tables over the threads; data stay names such as `x[5]`. The kernel still has its holes: their completions are
evaluated in place, so that a step can show what each hole gave in each lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, Span, UserError
from warploom.ir import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Cast,
    Component,
    Declare,
    For,
    FromIndex,
    HoleUse,
    If,
    IndexExpr,
    IndexVar,
    Kernel,
    MakeVector,
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
    instantiate,
    leaves,
    tabulate,
)
from warploom.ir.swizzle import kind_of
from warploom.tools.pages.movement import (
    OTHER_WARP,
    Cell,
    HoleValues,
    MemoryCell,
    Movement,
    RegisterCell,
    Step,
    StepKind,
    Value,
    Write,
    combined,
    element_name,
    joined,
)

Table: TypeAlias = NDArray[np.int64]

MAX_STEPS = 240
_STATE = "$state"
_NEUTRAL = {"+": 0, "^": 0, "|": 0, "*": 1}


@dataclass(slots=True)
class _Thread:
    number: int
    """Position in the tables."""
    lane: int
    warp: int
    registers: dict[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True, slots=True)
class _Traced:
    value: Value
    origins: tuple[Cell, ...] = ()
    is_shuffled: bool = False


_Written = list[tuple[_Thread, Cell, _Traced]]


def trace(
    kernel: Kernel,
    completions: Mapping[str, IndexExpr],
    sizes: Mapping[str, int],
    *,
    block: tuple[int, int, int] = (0, 0, 0),
    warp: int = 0,
    max_steps: int = MAX_STEPS,
) -> Movement:
    """The run of warp `warp` of thread block `block`; UserError (TRACE_UNDEFINED) where it reads what nothing wrote.

    When the kernel has shared arrays all warps of the block are executed; of the others only what they write there is kept.
    """
    run = _Run(kernel, completions, sizes, block, warp, max_steps)
    run.execute(kernel.body, run.threads)
    return Movement(len(run.shown), tuple(run.rows), tuple(run.steps), run.omitted)


class _Run:
    def __init__(
        self,
        kernel: Kernel,
        completions: Mapping[str, IndexExpr],
        sizes: Mapping[str, int],
        block: tuple[int, int, int],
        warp: int,
        max_steps: int,
    ) -> None:
        self.kernel, self.completions, self.warp, self.max_steps = kernel, completions, warp, max_steps
        self.spaces: dict[str, str] = {param.name: param.space for param in kernel.params} | dict(_declared(kernel.body))
        self.given = {param.name for param in kernel.params if param.is_input}
        self.memory: dict[MemoryCell, Value] = {}
        self.accumulators: dict[str, Accumulator] = {}
        self.steps: list[Step] = []
        self.rows: dict[str, None] = {}
        self.omitted = 0
        self.loops: list[tuple[str, int]] = []
        self.asked: dict[str, Table] = {}
        self.tables: dict[int, tuple[IndexExpr, Table]] = {}

        width, everyone = kernel.warp_size, "shared" in self.spaces.values()
        numbers = [n for n in range(kernel.threads) if everyone or n // width == warp]
        self.threads = tuple(_Thread(i, n % width, n // width) for i, n in enumerate(numbers))
        self.shown = tuple(thread for thread in self.threads if thread.warp == warp)
        self.values: dict[IndexExpr, Table] = {SizeVar(name): np.asarray(size) for name, size in sizes.items()}
        places = np.asarray(numbers, dtype=np.int64)
        for axis, (extent, position) in enumerate(zip(kernel.block, block, strict=True)):
            self.values[Builtin("thread_id", axis)] = places % extent
            places = places // extent
            self.values[Builtin("block_id", axis)] = np.asarray(position)
            self.values[Builtin("block_dim", axis)] = np.asarray(extent)
        for axis, blocks in enumerate(kernel.grid):
            self.values[Builtin("grid_dim", axis)] = tabulate(blocks, self.values)

    def execute(self, body: Sequence[Stmt], active: tuple[_Thread, ...]) -> None:
        for stmt in body:
            self._statement(stmt, active)

    def _statement(self, stmt: Stmt, active: tuple[_Thread, ...]) -> None:
        self.tables = {}
        match stmt:
            case Declare() | Sync():
                pass
            case Accumulator(name, shape=shape, init=init):
                self.accumulators[name] = stmt
                for thread, index in product(active, product(*map(range, shape))):
                    thread.registers[_row(name, index)] = Value(f"{init:g}", terms=0)
            case SetIndex(name, expr):
                fresh, old = self._table(expr), self.values.get(IndexVar(name))
                places = [thread.number for thread in active]
                changed = np.zeros(len(self.threads), dtype=np.int64) if old is None else old.copy()
                changed[places] = fresh[places]
                self.values[IndexVar(name)] = changed
            case SetValue(name, value=value):
                self._write(active, stmt.span, [(t, RegisterCell(t.lane, name), self._value(value, t)) for t in active])
            case Store(array, index, value):
                self._write(active, stmt.span, [(t, self._cell(array, index, t), self._value(value, t)) for t in active])
            case Accumulate():
                self._accumulate(stmt, active)
            case For(var, start, stop, step, body):
                for number in range(int(self._table(start)[0]), int(self._table(stop)[0]), step):
                    self.loops.append((var, number))
                    self.tables = {}
                    self.values[IndexVar(var)] = np.full(len(self.threads), number)
                    self.execute(body, active)
                    self.loops.pop()
            case If(cond, then, other):
                taken = self._table(cond)
                self.execute(then, tuple(t for t in active if taken[t.number]))
                self.execute(other, tuple(t for t in active if not taken[t.number]))
            case _:
                assert_never(stmt)

    def _accumulate(self, stmt: Accumulate, active: tuple[_Thread, ...]) -> None:
        declared, guard = self.accumulators[stmt.accumulator], self._table(stmt.guard)
        starts_empty = _NEUTRAL.get(declared.op) == declared.init
        written: _Written = []
        for thread in active:
            if guard[thread.number]:
                row = _row(stmt.accumulator, self._index(stmt.index, thread))
                got, state = self._value(stmt.value, thread), thread.registers[row]
                value = got.value if starts_empty and not state.terms else combined(declared.op, (state, got.value))
                written.append(
                    (thread, RegisterCell(thread.lane, row), replace(got, value=replace(value, terms=state.terms + 1)))
                )
        self._write(active, stmt.span, written, "accumulate")

    def _write(self, active: tuple[_Thread, ...], span: Span, written: _Written, kind: StepKind | None = None) -> None:
        for thread, cell, traced in written:
            match cell:
                case RegisterCell(_, row):
                    thread.registers[row] = traced.value
                case MemoryCell():
                    self.memory[cell] = traced.value
                case _:
                    assert_never(cell)
        own = [(thread, cell, traced) for thread, cell, traced in written if thread.warp == self.warp]
        writes = tuple(Write(cell, traced.value, traced.origins, thread.lane) for thread, cell, traced in own)
        writes += tuple(
            Write(cell, traced.value, (), OTHER_WARP)
            for thread, cell, traced in written
            if thread.warp != self.warp and isinstance(cell, MemoryCell) and self.spaces[cell.array] == "shared"
        )
        if not writes:
            return
        if len(self.steps) >= self.max_steps:
            self.omitted += 1
            return
        for write in writes:
            if isinstance(write.cell, RegisterCell):
                self.rows.setdefault(write.cell.row)
        shuffled = any(traced.is_shuffled for _, _, traced in own)
        self.steps.append(Step(kind or _kind(writes, shuffled), tuple(self.loops), writes, self._hole_values(active), span))

    def _hole_values(self, active: tuple[_Thread, ...]) -> tuple[HoleValues, ...]:
        """Values of the holes since the last step, for the lanes that take part; index variables set in between included."""
        here = {thread.number for thread in active}
        conditions = {hole.name for hole in self.kernel.holes if kind_of(hole).is_condition}
        found: list[HoleValues] = []
        for name, table in self.asked.items():
            cast = bool if name in conditions else int
            found.append(HoleValues(name, tuple(cast(table[t.number]) if t.number in here else None for t in self.shown)))
        self.asked = {}
        return tuple(found)

    # ------------------------------------------------------------ indices

    def _table(self, expr: IndexExpr) -> Table:
        """[threads]: values of `expr`; remembers what its holes gave. A statement computes each of its tables once."""
        if id(expr) in self.tables:
            return self.tables[id(expr)][1]
        values = dict(self.values)
        for leaf in leaves(expr):
            if isinstance(leaf, HoleUse):
                values[leaf] = self._table(instantiate(self.completions[leaf.hole], leaf.args))
                self.asked[leaf.hole] = values[leaf]
        table = np.broadcast_to(tabulate(expr, values), (len(self.threads),))
        self.tables[id(expr)] = (expr, table)  # holding `expr` keeps its id from being given to another one
        return table

    def _at(self, expr: IndexExpr, thread: _Thread) -> int:
        return int(self._table(expr)[thread.number])

    def _index(self, index: tuple[IndexExpr, ...], thread: _Thread) -> tuple[int, ...]:
        return tuple(self._at(expr, thread) for expr in index)

    def _cell(self, array: str, index: tuple[IndexExpr, ...], thread: _Thread) -> Cell:
        place = self._index(index, thread)
        return RegisterCell(thread.lane, _row(array, place)) if self.spaces[array] == "register" else MemoryCell(array, place)

    # ------------------------------------------------------------ values

    def _value(self, expr: ValueExpr, thread: _Thread) -> _Traced:
        match expr:
            case ValueConst(value):
                return _Traced(Value(f"{value:g}"))
            case Read(array, index, span):
                cell = self._cell(array, index, thread)
                return _Traced(self._held(cell, thread, span), (cell,))
            case ValueVar(name):
                cell = RegisterCell(thread.lane, name)
                return _Traced(self._held(cell, thread, self.kernel.span), () if name == _STATE else (cell,))
            case Accumulated(accumulator, index):
                row = _row(accumulator, self._index(index, thread))
                thread.registers[_STATE] = thread.registers[row]
                final = self._value(self.accumulators[accumulator].finalize, thread)
                return replace(final, origins=(RegisterCell(thread.lane, row),))
            case Arith(op, operands):
                parts = [self._value(operand, thread) for operand in operands]
                return _merged(combined(op, [part.value for part in parts]), parts)
            case ValueSelect(cond, then, other):
                return self._value(then if self._at(cond, thread) else other, thread)
            case Shuffle(value=value):
                return replace(self._value(value, self._partner(expr, thread)), is_shuffled=True)
            case Cast(dtype, value):
                part = self._value(value, thread)
                return _merged(joined(f"{dtype.name}(", [part.value], ")"), [part])
            case FromIndex(index):
                return _Traced(Value(str(self._at(index, thread))))
            case MakeVector(_, items):
                parts = [self._value(item, thread) for item in items]
                return _merged(joined("(", [part.value for part in parts], ")"), parts)
            case Component(value, position):
                part = self._value(value, thread)
                return _merged(joined("", [part.value], "." + "xyzw"[position]), [part])
            case _:
                assert_never(expr)

    def _partner(self, shuffle: Shuffle, thread: _Thread) -> _Thread:
        """The thread whose value `thread` gets; itself where CUDA keeps the own value."""
        operand, width, lane = self._at(shuffle.operand, thread), shuffle.width, thread.lane
        first = lane // width * width
        match shuffle.kind:
            case "idx":
                source = first + operand % width
            case "up":
                source = lane - operand
            case "down":
                source = lane + operand
            case "xor":
                source = lane ^ operand
            case _:
                assert_never(shuffle.kind)
        return self.threads[thread.number - lane + source] if first <= source < first + width else thread

    def _held(self, cell: Cell, thread: _Thread, span: Span) -> Value:
        match cell:
            case RegisterCell(_, row):
                held = thread.registers.get(row)
            case MemoryCell(array):
                held = self.memory.get(cell)
                if held is None and array in self.given:
                    name = element_name(cell)
                    return Value(name, (name,))
            case _:
                assert_never(cell)
        if held is None:
            raise UserError(
                Diagnostic(
                    "TRACE_UNDEFINED", f"expected a value in {cell}, got none: nothing wrote it before it is read here", span
                )
            )
        return held


def _kind(writes: Sequence[Write], shuffled: bool) -> StepKind:
    if any(isinstance(write.cell, MemoryCell) for write in writes):
        return "store"
    if shuffled:
        return "shuffle"
    origins = [origin for write in writes for origin in write.origins]
    if any(isinstance(origin, MemoryCell) for origin in origins):
        return "load"
    return "choose" if origins and all(len(write.origins) <= 1 for write in writes) else "compute"


def _merged(value: Value, parts: Sequence[_Traced]) -> _Traced:
    origins = tuple(dict.fromkeys(origin for part in parts for origin in part.origins))
    return _Traced(value, origins, any(part.is_shuffled for part in parts))


def _row(name: str, index: Iterable[int]) -> str:
    places = ",".join(map(str, index))
    return f"{name}[{places}]" if places else name


def _declared(body: Sequence[Stmt]) -> Iterable[tuple[str, str]]:
    for stmt in body:
        match stmt:
            case Declare(name, space):
                yield name, space
            case For(body=inner):
                yield from _declared(inner)
            case If(then=then, other=other):
                yield from _declared(then)
                yield from _declared(other)
            case _:
                pass
