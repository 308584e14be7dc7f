"""One thread block on symbolic data: every thread's values are terms, every index is a concrete number.

Threads run in lockstep under masks; elements are undefined until written. Whatever a real
machine could do differently is a diagnostic: races, divergent barriers, shuffles from inactive lanes, undefined or
out-of-bounds elements. Source: Swizzle Inventor, section 4.1; the machine model is CUDA's (C++ Programming Guide).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import assert_never

import numpy as np

from warploom.core import NOWHERE, DType, Span, scalar_of, u32
from warploom.ir import (
    UNARY,
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Cast,
    CommitCopies,
    Component,
    Declare,
    For,
    FromIndex,
    Holds,
    If,
    IndexExpr,
    Kernel,
    MakeVector,
    Mixed,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
    WaitCopies,
    variable_types,
)
from warploom.synth.proof.accesses import Accesses
from warploom.synth.proof.lanes import Findings, Lanes, Mask, source_lanes
from warploom.synth.proof.listening import SILENT, Listener, Values
from warploom.synth.proof.votes import outcomes
from warploom.terms import Term, apply, atom, component, constant, convert, element_text, held_number, holds, mixed, pack


@dataclass(slots=True)
class Memory:
    """An array that threads share: cells in row-major order, None = undefined."""

    cells: list[Term | None]
    shape: tuple[int, ...]
    dtype: DType
    accesses: Accesses | None
    """None for arrays that nobody writes."""
    written: set[int] = field(default_factory=set[int])
    """Elements that were stored to."""


@dataclass(slots=True)
class _Private:
    """A register array or an array of accumulators: cells per thread."""

    cells: list[list[Term | None]]
    shape: tuple[int, ...]
    dtype: DType


class Run:
    """State that outlives a block."""

    def __init__(self, kernel: Kernel, sizes: Mapping[str, int], zeroed: Collection[str]) -> None:
        self.kernel = kernel
        self.sizes = sizes
        self.findings = Findings()
        self.taken: set[tuple[int, ...]] = set()
        self.executed = 0
        self.memory: dict[str, Memory] = {}
        for param in kernel.params:
            shape = self.extents(param.shape)
            cells: list[Term | None]
            if param.name in zeroed:
                cells = [constant(0)] * prod(shape)
            elif param.is_input:
                cells = [atom(param.name, index, param.dtype.lanes) for index in np.ndindex(shape)]
            else:
                cells = [None] * prod(shape)
            accesses = Accesses(param.name, shape, param.space, self.findings) if param.is_output else None
            self.memory[param.name] = Memory(cells, shape, param.dtype, accesses)

    def extents(self, shape: Sequence[IndexExpr]) -> tuple[int, ...]:
        """Values of expressions over sizes."""
        one = Lanes(_LAUNCH, (0, 0, 0), (1, 1, 1), self.sizes, self.findings)
        one.span = self.kernel.span
        everyone = Mask(np.ones(1, dtype=bool))
        return tuple(max(0, one.uniform(extent, everyone)) for extent in shape)


_LAUNCH = Kernel(name="", params=(), sizes=(), block=(1, 1, 1), grid=(), warp_size=1, body=())  # pyright: ignore[reportArgumentType]


class Block:
    """One thread block."""

    def __init__(
        self,
        run: Run,
        position: tuple[int, int, int],
        grid: tuple[int, int, int],
        *,
        completions: Mapping[str, IndexExpr] | None = None,
        listener: Listener = SILENT,
    ) -> None:
        """`completions`: of the kernel's holes, if it still has them."""
        kernel = run.kernel
        self.listener = listener
        self.run_state = run
        self.kernel = kernel
        self.findings = run.findings
        self.threads = kernel.threads
        self.number = position[0] + grid[0] * (position[1] + grid[1] * position[2])
        self.lanes = Lanes(kernel, position, grid, run.sizes, run.findings, completions, listener.hole)
        self.memory: dict[str, Memory] = dict(run.memory)
        self.private: dict[str, _Private] = {}
        self.accumulators: dict[str, Accumulator] = {}
        unset: Values = [None] * self.threads
        self.variables = {name: (unset, dtype) for name, dtype in variable_types(kernel).items()}
        self.executed = np.zeros(self.threads, dtype=np.int64)
        self.groups = 0
        """Groups of asynchronous copies that the threads have committed."""
        self.span = NOWHERE

    def run(self) -> None:
        self._body(self.kernel.body, Mask(np.ones(self.threads, dtype=bool)), ())
        self._barrier()
        self.run_state.executed = max(self.run_state.executed, int(self.executed.max(initial=0)))

    def _barrier(self) -> None:
        for memory in self.memory.values():
            if memory.accesses is not None:
                memory.accesses.barrier()

    # ------------------------------------------------------------ statements

    def _body(self, body: tuple[Stmt, ...], mask: Mask, path: tuple[int, ...]) -> None:
        for number, statement in enumerate(body):
            self.span = self.lanes.span = statement.span
            self.listener.statement(statement, mask)
            self._statement(statement, mask, (*path, number))

    def _statement(self, statement: Stmt, mask: Mask, path: tuple[int, ...]) -> None:
        match statement:
            case Declare(name, space, dtype, shape):
                self._declare(name, space, dtype, shape)
            case SetIndex(name, expr):
                self.lanes.assign(name, self.lanes.evaluate(expr, mask), mask)
            case SetValue(name, dtype, value):
                new = self._converted(value, dtype, mask)
                old = self.variables[name][0]
                self.variables[name] = ([o if n is None else n for o, n in zip(old, new, strict=True)], dtype)
                self.listener.writes(statement, (), [0] * self.threads, new, mask)
            case Store():
                self._store(statement, mask)
            case Accumulator(name, dtype, shape):
                cells: list[list[Term | None]] = [[constant(statement.init)] * prod(shape) for _ in range(self.threads)]
                self.private[name] = _Private(cells, shape, dtype)
                self.accumulators[name] = statement
            case Accumulate():
                self._accumulate(statement, mask, path)
            case For(var, start, stop, step, body):
                first, last = self.lanes.uniform(start, mask), self.lanes.uniform(stop, mask)
                for i in range(first, last, step):
                    self.lanes.assign(var, np.full(self.threads, i, dtype=np.int64), mask)
                    self.listener.round_begins(var, i)
                    self._body(body, mask, path)
                    self.listener.round_ends()
            case If(cond, then, other):
                condition = self.lanes.evaluate(cond, mask)
                inside, outside = mask.narrowed(condition), mask.narrowed(1 - (condition != 0))
                if inside.lanes:
                    self._body(then, inside, (*path, 0))
                if outside.lanes:
                    self._body(other, outside, (*path, 1))
            case Sync():
                self._meet("barrier", "wl.sync()", mask)
                self._barrier()
            case CommitCopies():
                self._meet("commit", "wl.pipeline_commit()", mask)
                self.groups += 1
            case WaitCopies(left):
                self._meet("wait", "wl.pipeline_wait_prior()", mask)
                for memory in self.memory.values():
                    if memory.accesses is not None:
                        memory.accesses.complete(self.groups - left, self.number)
            case _:
                assert_never(statement)

    def _meet(self, what: str, word: str, mask: Mask) -> None:
        if len(mask.lanes) < self.threads:
            absent = int(np.flatnonzero(~mask.flags)[0])
            got = f"{len(mask.lanes)} of {self.threads} (not thread {absent})"
            message = f"expected every thread of the block at this {what}, got {got}"
            self._find("DIVERGENT_SYNC", message, f"Move {word} out of the `if`.")

    def _declare(self, name: str, space: str, dtype: DType, shape: tuple[int, ...]) -> None:
        if space == "shared":
            if name not in self.memory:
                self.memory[name] = Memory([None] * prod(shape), shape, dtype, Accesses(name, shape, space, self.findings))
        else:
            self.private[name] = _Private([[None] * prod(shape) for _ in range(self.threads)], shape, dtype)

    def _store(self, statement: Store, mask: Mask) -> None:
        array = statement.array
        private = self.private.get(array)
        target = private or self.memory[array]
        values = self._converted(statement.value, target.dtype, mask)
        places = self._places(array, statement.index, target.shape, mask)
        for lane in mask.lanes:
            place = places[lane]
            if place < 0:
                continue
            if private is not None:
                private.cells[lane][place] = values[lane]
            else:
                memory = self.memory[array]
                memory.cells[place] = values[lane]
                memory.written.add(place)
                if memory.accesses is not None and statement.is_async:
                    memory.accesses.begin(place, lane, self.number, self.span, self.groups)
                elif memory.accesses is not None:
                    memory.accesses.write(place, lane, self.number, self.span)
        self.listener.writes(statement, target.shape, places, values, mask)

    def _accumulate(self, statement: Accumulate, mask: Mask, path: tuple[int, ...]) -> None:
        mask = mask.narrowed(self.lanes.evaluate(statement.guard, mask))
        if not mask.lanes:
            return
        self.run_state.taken.add(path)
        self.executed += mask.flags
        private = self.private[statement.accumulator]
        op = self.accumulators[statement.accumulator].op
        values = self._converted(statement.value, private.dtype, mask)
        places = self._places(statement.accumulator, statement.index, private.shape, mask)
        totals: Values = [None] * self.threads
        for lane in mask.lanes:
            state, value, place = private.cells[lane], values[lane], places[lane]
            if place >= 0:
                old = state[place]
                assert old is not None and value is not None
                state[place] = totals[lane] = total = apply(op, old, value)
                self.listener.accumulates(old, value, total)
        self.listener.writes(statement, private.shape, places, totals, mask)

    # ------------------------------------------------------------ places

    def _places(self, array: str, index: tuple[IndexExpr, ...], shape: tuple[int, ...], mask: Mask) -> list[int]:
        """Row-major element number per thread; -1 where the index is out of bounds, which is reported."""
        flat = np.zeros(self.threads, dtype=np.int64)
        inside = np.ones(self.threads, dtype=bool)
        parts = [self.lanes.evaluate(i, mask) for i in index]
        for part, extent in zip(parts, shape, strict=True):
            inside &= (part >= 0) & (part < extent)
            flat = flat * extent + part
        if (bad := mask.flags & ~inside).any():
            thread = int(np.flatnonzero(bad)[0])
            place = element_text(array, tuple(int(p[thread]) for p in parts))
            extents = " x ".join(str(e) for e in shape)
            self._find(
                "OUT_OF_BOUNDS",
                f"expected an index inside {array} ({extents} elements), got {place} in thread {thread} of block {self.number}",
                "Guard the access or mask it with `size=`.",
                key=array,
            )
        return np.where(inside, flat, -1).tolist()

    def _find(self, code: str, message: str, fix: str, key: str = "") -> None:
        self.findings.add(code, message, self.span, fix, key=key)

    # ------------------------------------------------------------ values

    def _converted(self, value: ValueExpr, dtype: DType, mask: Mask) -> Values:
        """Values of `value` converted to `dtype`."""
        source = self._type_of(value)
        values = self._value(value, mask)
        if source == dtype or dtype.lanes > 1:
            return values
        return [None if v is None else convert(v, source, dtype) for v in values]

    def _value(self, expr: ValueExpr, mask: Mask) -> Values:
        match expr:
            case ValueConst(value):
                return self._spread(constant(value), mask)
            case Read(array, index):
                return self._read(array, index, mask, expr.span)
            case ValueVar(name):
                self.listener.reads_variable(name, mask)
                return self._defined(self.variables[name][0], mask, name)
            case Arith(op, operands):
                return self._arith(op, [self._value(o, mask) for o in operands], mask)
            case ValueSelect(cond, then, other):
                condition = self.lanes.evaluate(cond, mask)
                inside, outside = mask.narrowed(condition), mask.narrowed(1 - (condition != 0))
                chosen = self._value(then, inside) if inside.lanes else [None] * self.threads
                rest = self._value(other, outside) if outside.lanes else [None] * self.threads
                return [r if c is None else c for c, r in zip(chosen, rest, strict=True)]
            case Shuffle():
                return self._shuffle(expr, mask)
            case Holds(op, lhs, rhs):
                dtype, a, b = self._type_of(lhs), self._value(lhs, mask), self._value(rhs, mask)
                return self._each(mask, lambda lane: holds(op, dtype, _given(a[lane]), _given(b[lane])))
            case Vote():
                return self._vote(expr, mask)
            case Mixed(op, operands, control):
                parts = [self._value(o, mask) for o in operands]
                numbers = self.lanes.evaluate(control, mask).tolist()
                return self._each(mask, lambda lane: mixed(op, numbers[lane], *(_given(p[lane]) for p in parts)))
            case Cast(dtype, value):
                return self._converted(value, dtype, mask)
            case FromIndex(index, dtype):
                numbers = self.lanes.evaluate(index, mask).tolist()
                return self._each(mask, lambda lane: held_number(numbers[lane], dtype))
            case MakeVector(_, items):
                parts = [self._value(i, mask) for i in items]
                return self._each(mask, lambda lane: pack(*(_given(p[lane]) for p in parts)))
            case Component(value, position):
                vectors = self._value(value, mask)
                return self._each(mask, lambda lane: component(_given(vectors[lane]), position))
            case Accumulated(name, index):
                return self._accumulated(name, index, mask)
            case _:
                assert_never(expr)

    def _each(self, mask: Mask, value: Callable[[int], Term]) -> Values:
        result: Values = [None] * self.threads
        for lane in mask.lanes:
            result[lane] = value(lane)
        return result

    def _spread(self, term: Term, mask: Mask) -> Values:
        return self._each(mask, lambda _: term)

    def _defined(self, values: Values, mask: Mask, name: str) -> Values:
        """Values with a stand-in term where one is undefined, which is reported."""
        if any(values[lane] is None for lane in mask.lanes):
            thread = next(lane for lane in mask.lanes if values[lane] is None)
            self._find(
                "UNDEFINED_READ",
                f"expected {name} to be written before it is read, got an undefined value in thread {thread}"
                f" of block {self.number}",
                "Write it first, or guard the read.",
                key=name,
            )
            values = [atom("undefined", (name, self.number, k)) if v is None else v for k, v in enumerate(values)]
        return values if len(mask.lanes) == self.threads else self._each(mask, lambda lane: _given(values[lane]))

    def _read(self, array: str, index: tuple[IndexExpr, ...], mask: Mask, span: Span) -> Values:
        outer = self.span
        if span is not NOWHERE:
            self.span = self.lanes.span = span
        private = self.private.get(array)
        shape = private.shape if private is not None else self.memory[array].shape
        places = self._places(array, index, shape, mask)
        self.listener.reads(array, shape, places, mask)
        found: Values = [None] * self.threads
        for lane in mask.lanes:
            place = places[lane]
            if place < 0:
                found[lane] = atom("outside", (array, self.number, lane))
            elif private is not None:
                found[lane] = private.cells[lane][place]
            else:
                memory = self.memory[array]
                found[lane] = memory.cells[place]
                if memory.accesses is not None:
                    memory.accesses.read(place, lane, self.number, self.span)
        result = self._defined(found, mask, array)
        self.span = self.lanes.span = outer
        return result

    def _arith(self, op: str, operands: list[Values], mask: Mask) -> Values:
        def folded(lane: int) -> Term:
            first = _given(operands[0][lane])
            if len(operands) == 1:
                return apply(op, first) if op in UNARY else first
            for operand in operands[1:]:
                first = apply(op, first, _given(operand[lane]))
            return first

        return self._each(mask, folded)

    def _shuffle(self, expr: Shuffle, mask: Mask) -> Values:
        self.listener.inside()
        sent = self._value(expr.value, mask)
        operand, warp = self.lanes.evaluate(expr.operand, mask), self.kernel.warp_size
        threads = np.arange(self.threads)
        lane = threads % warp
        sources = (threads - lane + source_lanes(expr.kind, lane, operand, expr.width, warp)).tolist()
        self.listener.shuffled(sources, mask)
        result: Values = [None] * self.threads
        if expr.span is not NOWHERE:
            self.span = expr.span
        for thread in mask.lanes:
            other = sources[thread]
            result[thread] = sent[other] if other < self.threads else None
            if result[thread] is None:
                self._find(
                    "SHUFFLE_INACTIVE",
                    f"expected thread {thread} to read from an active lane, got lane {other % warp}, which is inactive",
                    "Move the shuffle out of the condition, or read from lanes that take it too.",
                )
                result[thread] = atom("inactive", (self.number, thread))
        return result

    def _vote(self, expr: Vote, mask: Mask) -> Values:
        self.listener.inside()
        cast = self._value(expr.value, mask)
        warp = self.kernel.warp_size
        result: Values = [None] * self.threads
        if expr.span is not NOWHERE:
            self.span = expr.span
        for first in range(0, self.threads, warp):
            voters = [v for v in cast[first : first + warp] if v is not None]
            if not voters:
                continue
            if len(voters) < warp:
                self._find(
                    "VOTE_INACTIVE",
                    f"expected all {warp} lanes of the warp of thread {first} to take part in the vote, got {len(voters)}",
                    "Move the vote out of the condition.",
                )
            if len(voters) == warp:
                result[first : first + warp] = outcomes(expr, voters, self._type_of(expr.value))
                continue
            missing = atom("inactive", (self.number, first))
            result[first : first + warp] = [None if v is None else missing for v in cast[first : first + warp]]
        return result

    def _accumulated(self, name: str, index: tuple[IndexExpr, ...], mask: Mask) -> Values:
        private = self.private[name]
        places = self._places(name, index, private.shape, mask)
        states: Values = [None] * self.threads
        for lane in mask.lanes:
            states[lane] = private.cells[lane][places[lane]] if places[lane] >= 0 else atom("outside", (name, self.number, lane))
        saved = self.variables.get("$state")
        self.variables["$state"] = (states, private.dtype)
        self.listener.inside()
        result = self._value(self.accumulators[name].finalize, mask)
        self.listener.reads_result(name, private.shape, places, mask)
        if saved is not None:
            self.variables["$state"] = saved
        return result

    def _type_of(self, expr: ValueExpr) -> DType:
        match expr:
            case ValueConst(_, dtype) | Cast(dtype) | FromIndex(_, dtype) | MakeVector(dtype):
                return dtype
            case Holds() | Vote() | Mixed():
                return u32
            case Read(array):
                return (self.private.get(array) or self.memory[array]).dtype
            case ValueVar(name):
                return self.variables[name][1]
            case Arith(_, operands):
                return self._type_of(operands[0])
            case ValueSelect(_, then, _):
                return self._type_of(then)
            case Shuffle(_, value):
                return self._type_of(value)
            case Component(value):
                return scalar_of(self._type_of(value))
            case Accumulated(name):
                return self._type_of_state(name)
            case _:
                assert_never(expr)

    def _type_of_state(self, name: str) -> DType:
        accumulator = self.accumulators[name]
        if isinstance(accumulator.finalize, Cast):
            return accumulator.finalize.dtype
        return accumulator.dtype


def _given(value: Term | None) -> Term:
    assert value is not None, "an active thread has a value"
    return value
