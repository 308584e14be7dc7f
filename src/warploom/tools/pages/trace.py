"""Writes down every movement (`tools.pages.movement`) of one warp, as the symbolic run of its block tells it.

The kernel still has its holes: their completions are evaluated in place, so that a step can show what each hole gave in each
lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from warploom.core import NOWHERE, Diagnostic, UserError
from warploom.ir import Accumulate, Accumulator, Declare, IndexExpr, Kernel, SetValue, Stmt, Store, statements
from warploom.ir.swizzle import kind_of
from warploom.synth import Listener, Mask, Writing, watch
from warploom.terms import Term, iterate_post
from warploom.tools.pages.movement import (
    OTHER_WARP,
    Cell,
    HoleValues,
    MemoryCell,
    Movement,
    RegisterCell,
    Request,
    Step,
    StepKind,
    Value,
    Write,
    combined,
    element_name,
    joined,
)

MAX_STEPS = 240
_NEUTRAL = {"+": 0, "^": 0, "|": 0, "*": 1}
_Origins: TypeAlias = dict[int, dict[Cell, None]]
"""By thread the cells that it read, in order."""


def trace(
    kernel: Kernel,
    completions: Mapping[str, IndexExpr],
    sizes: Mapping[str, int],
    *,
    block: tuple[int, int, int] = (0, 0, 0),
    warp: int = 0,
    max_steps: int = MAX_STEPS,
) -> Movement:
    """The run of warp `warp` of thread block `block`; UserError (TRACE_UNDEFINED) where the block reads what nothing wrote.

    Of the other warps only what they write to shared memory is kept.
    """
    watcher = _Watcher(kernel, warp, max_steps)
    for fault in watch(kernel, completions, sizes, watcher, block):
        if fault.code.startswith("UNDEFINED"):
            raise UserError(Diagnostic("TRACE_UNDEFINED", fault.message, fault.span, fault.fix))
    return Movement(len(watcher.shown), tuple(watcher.rows), tuple(watcher.steps), watcher.omitted, tuple(watcher.requests))


class _Watcher(Listener):
    def __init__(self, kernel: Kernel, warp: int, max_steps: int) -> None:
        self.kernel, self.max_steps = kernel, max_steps
        every = tuple(statements(kernel.body))
        self.spaces: dict[str, str] = {p.name: p.space for p in kernel.params}
        self.spaces |= {s.name: s.space for s in every if isinstance(s, Declare)}
        self.operators = {s.name: (s.op, s.init) for s in every if isinstance(s, Accumulator)}
        self.conditions = {hole.name for hole in kernel.holes if kind_of(hole).is_condition}
        self.shown = range(warp * kernel.warp_size, min((warp + 1) * kernel.warp_size, kernel.threads))
        self.steps: list[Step] = []
        self.rows: dict[str, None] = {}
        self.omitted = 0
        self.loops: list[tuple[str, int]] = []
        self.active: frozenset[int] = frozenset()
        self.asked: dict[str, dict[int, int]] = {}
        """Values that holes gave since the last step: hole, then thread."""
        self.words = _Words()
        self.origins: list[_Origins] = [{}]
        """The origins of the statement and, behind them, those of the operands that are being evaluated."""
        self.is_shuffled = False
        self.operator = ""
        self.requests: list[Request] = []
        self.span, self.accesses = NOWHERE, 0
        """Place of the statement, and how many of its accesses were met."""

    # ------------------------------------------------------------ what the run tells

    def round_begins(self, variable: str, number: int) -> None:
        self.loops.append((variable, number))

    def round_ends(self) -> None:
        self.loops.pop()

    def statement(self, statement: Stmt, mask: Mask) -> None:
        self.active, self.origins, self.is_shuffled = frozenset(mask.lanes), [{}], False
        self.span, self.accesses = statement.span, 0
        if isinstance(statement, Accumulate):
            self.operator = statement.accumulator

    def hole(self, name: str, values: npt.NDArray[np.int64], mask: Mask) -> None:
        self.asked.setdefault(name, {}).update((thread, int(values[thread])) for thread in mask.lanes)

    def reads_variable(self, name: str, mask: Mask) -> None:
        self._read(name, (), [0] * self.kernel.threads, mask)

    def reads(self, array: str, shape: tuple[int, ...], places: Sequence[int], mask: Mask) -> None:
        self._requested(array, places, mask, is_store=False)
        self._read(array, shape, places, mask)

    def inside(self) -> None:
        self.origins.append({})

    def shuffled(self, sources: Sequence[int], mask: Mask) -> None:
        sent = self.origins.pop()
        for thread in mask.lanes:
            self._of(thread).update(sent.get(sources[thread], {}))
        self.is_shuffled |= any(thread in self.shown for thread in mask.lanes)

    def reads_result(self, accumulator: str, shape: tuple[int, ...], places: Sequence[int], mask: Mask) -> None:
        self.origins.pop()
        self._read(accumulator, shape, places, mask)

    def accumulates(self, before: Term, added: Term, total: Term) -> None:
        self.words.accumulated(*self.operators[self.operator], before, added, total)

    def writes(
        self, statement: Writing, shape: tuple[int, ...], places: Sequence[int], values: list[Term | None], mask: Mask
    ) -> None:
        own = [thread for thread in mask.lanes if thread in self.shown]
        name = _target(statement)
        self._requested(name, places, mask, is_store=True)
        others = [thread for thread in mask.lanes if thread not in self.shown] if self.spaces.get(name) == "shared" else []
        if not own and not others:
            return
        if len(self.steps) >= self.max_steps:
            self.omitted += 1
            return
        written: list[Write] = []
        for thread in (*own, *others):
            value = values[thread]
            assert value is not None, "a thread that writes has a value"
            cell, is_own = self._cell(name, shape, places[thread], thread), thread in self.shown
            origins = tuple(self.origins[0].get(thread, {})) if is_own else ()
            written.append(Write(cell, self.words.of(value), origins, thread - self.shown.start if is_own else OTHER_WARP))
        for write in written:
            if isinstance(write.cell, RegisterCell):
                self.rows.setdefault(write.cell.row)
        kind = "accumulate" if isinstance(statement, Accumulate) else _kind(written, self.is_shuffled)
        self.steps.append(Step(kind, tuple(self.loops), tuple(written), self._hole_values(), statement.span))

    # ------------------------------------------------------------ cells

    def _requested(self, array: str, places: Sequence[int], mask: Mask, *, is_store: bool) -> None:
        lanes = tuple((thread - self.shown.start, int(places[thread])) for thread in mask.lanes if thread in self.shown)
        if self.spaces.get(array) in ("shared", "global"):
            if lanes:
                self.requests.append(Request(array, is_store, self.span, self.accesses, lanes))
            self.accesses += 1

    def _of(self, thread: int) -> dict[Cell, None]:
        return self.origins[-1].setdefault(thread, {})

    def _read(self, name: str, shape: tuple[int, ...], places: Sequence[int], mask: Mask) -> None:
        for thread in mask.lanes:
            self._of(thread)[self._cell(name, shape, places[thread], thread)] = None

    def _cell(self, name: str, shape: tuple[int, ...], place: int, thread: int) -> Cell:
        index: list[int] = []
        for extent in reversed(shape):
            place, at = divmod(place, extent)
            index.insert(0, at)
        if self.spaces.get(name, "register") != "register":
            return MemoryCell(name, tuple(index))
        return RegisterCell(thread % self.kernel.warp_size, f"{name}[{','.join(map(str, index))}]" if index else name)

    def _hole_values(self) -> tuple[HoleValues, ...]:
        """Values of the holes since the last step, for the lanes that take part; index variables set in between included."""
        found: list[HoleValues] = []
        for name, values in self.asked.items():
            cast = bool if name in self.conditions else int
            here = [values.get(thread) if thread in self.active else None for thread in self.shown]
            found.append(HoleValues(name, tuple(None if value is None else cast(value) for value in here)))
        self.asked = {}
        return tuple(found)


class _Words:
    """Texts of values."""

    def __init__(self) -> None:
        self._values: dict[Term, Value] = {}
        self._contributions: dict[Term, int] = {}

    def of(self, term: Term) -> Value:
        for inner in iterate_post(term, self._values):
            self._values[inner] = self._worded(inner)
        return self._values[term]

    def accumulated(self, op: str, init: float, before: Term, added: Term, total: Term) -> None:
        """A state shows how many contributions it has, and not the neutral element that it began with."""
        count, value = self._contributions.get(before, 0), self.of(added)
        if count or _NEUTRAL.get(op) != init:
            value = combined(op, (self.of(before), value))
        self._contributions[total] = count + 1
        self._values[total] = replace(value, terms=count + 1)

    def _worded(self, term: Term) -> Value:
        parts = [self._values[part] for part in term.args]
        match term.op.partition(".")[0]:
            case "constant":
                number = term.data[0]
                return Value(str(number) if isinstance(number, int) else f"{float(number):g}")
            case "atom":
                name = element_name(MemoryCell(term.data[0], term.data[1]))
                return Value(name, (name,))
            case "component":
                return joined("", parts, "." + "xyzw"[term.data[0]])
            case "pack":
                return joined("(", parts, ")")
            case "cast":
                return joined(f"{term.op.rpartition('.')[2]}(", parts, ")")
            case _:
                return combined(term.op, parts)


def _target(statement: Writing) -> str:
    match statement:
        case SetValue(name):
            return name
        case Store(array):
            return array
        case Accumulate(accumulator):
            return accumulator
        case _:
            assert_never(statement)


def _kind(writes: Sequence[Write], is_shuffled: bool) -> StepKind:
    if any(isinstance(write.cell, MemoryCell) for write in writes):
        return "store"
    if is_shuffled:
        return "shuffle"
    origins = [origin for write in writes for origin in write.origins]
    if any(isinstance(origin, MemoryCell) for origin in origins):
        return "load"
    return "choose" if origins and all(len(write.origins) <= 1 for write in writes) else "compute"
