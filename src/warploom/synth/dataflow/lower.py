"""A dataflow program as the engine's network: cells, gathers with open points, folds with guarded entries.

Fixed gathers only rename cells. Two holes in a row that move along the same axis become one (`ComposedSet`). A fold that the
goal reaches through fixed gathers becomes a counted fold; elements that a hole keeps or drops become its guarded entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warploom.ir import Hole
from warploom.ir.dataflow import MISSING, NOUGHT, UNDEFINED, ZERO, Program, Value
from warploom.ir.swizzle import FunctionSet, Supporting
from warploom.synth.dataflow.composed import ComposedSet
from warploom.synth.dataflow.counters import Counters
from warploom.synth.dataflow.flat import FlatStatement, flatten
from warploom.synth.dataflow.numbers import ValueNumbers, value_numbers
from warploom.synth.dataflow.prices import ONLY_COST, HolePrices, Objective, gatherings, objective_for
from warploom.synth.network.network import BoolArray, Elements, HoleUses, IntArray, Network, Slots
from warploom.synth.network.requirements import StatementEntries
from warploom.terms import atom

UNDEFINED_CELL, ZERO_CELL = 0, 1
MAX_FIRST, MAX_SECOND = 1 << 18, 512
"""Members of a hole and of the hole before it that may be joined: both are listed."""


@dataclass(frozen=True, eq=False, slots=True)
class FoldRows:
    """Folds whose result is open: out = the multiset of what the elements hold, without zeros."""

    out: IntArray
    """[rows] cells."""
    elements: IntArray
    """[rows, n] cells."""
    op: str


@dataclass(frozen=True, eq=False, slots=True)
class RequiredFolds:
    """Folds whose result the goal gives."""

    values: IntArray
    """[folds] value numbers of the multisets; 0 for the empty one."""
    entries: tuple[StatementEntries, ...]


@dataclass(frozen=True, eq=False, slots=True)
class LoweredHole:
    """A choice of the network: one hole of the program, or several in a row."""

    names: tuple[str, ...]
    """Names in the order in which they apply."""
    members: FunctionSet
    allowed: BoolArray
    """[points, values] that some member takes."""
    prices: HolePrices | None = None
    """None: a function costs what its expression does."""


@dataclass(frozen=True, eq=False, slots=True)
class Lowered:
    network: Network
    known: dict[int, int]
    """Cells that hold a value, by number."""
    numbers: ValueNumbers
    holes: tuple[LoweredHole, ...]
    goal_cells: IntArray
    goal_values: IntArray
    """[goals] value numbers, aligned: what the goal gives and no required fold stands for."""
    required: RequiredFolds
    folds: tuple[FoldRows, ...]


@dataclass(eq=False, slots=True)
class _Gather:
    hole: int
    out: IntArray
    points: IntArray
    source: IntArray
    """[rows, values] cells."""


@dataclass(eq=False, slots=True)
class _Fold:
    out: IntArray
    elements: IntArray
    op: str


class Lowering:
    def __init__(self, program: Program, counters: Counters, *, joins: bool = True, objective: Objective = ONLY_COST) -> None:
        """`joins`: make one hole of two in a row where possible. `objective`: what its prices count."""
        self.program = program
        self.counters = counters
        self.flat = flatten(program)
        self.objective, self.lanes = objective_for(self.flat, objective)
        self.numbers = value_numbers(v for v in program.goal.values if v != MISSING)
        self.cells = 2
        self.known: dict[int, int] = {ZERO_CELL: self.numbers.number(NOUGHT)}
        self.by_value: dict[Value, int] = {NOUGHT: ZERO_CELL, MISSING: UNDEFINED_CELL}
        self.holes: list[LoweredHole] = []
        self.batches: list[_Gather | _Fold] = []
        self.values: list[IntArray] = []
        """Per statement: [elements] cells."""
        self.uses = np.zeros(len(self.flat), np.int64)
        for statement in self.flat:
            for argument in statement.arguments:
                self.uses[argument] += 1
        self.joins = joins
        self.followers = self._followers()

    def run(self) -> Lowered:
        for number, statement in enumerate(self.flat):
            self.values.append(self._statement(number, statement))
        return self._finished(self.values[-1])

    # ------------------------------------------------------------ statements

    def _statement(self, number: int, statement: FlatStatement) -> IntArray:
        if statement.literal is not None:
            cells = np.array([self._literal(v) for v in statement.literal.values], np.int64)
        elif number in self.followers:
            return np.zeros(0, np.int64)  # only the hole that follows reads it
        else:
            cells = self._gathered(number, statement)
        if statement.fold is None:
            return cells
        elements = cells.reshape(-1, statement.fold.length)
        out = self._fresh(len(elements))
        self.batches.append(_Fold(out, elements, statement.fold.op))
        return out

    def _literal(self, value: Value) -> int:
        if value not in self.by_value:
            self.by_value[value] = int(self._fresh(1)[0])
            self.known[self.by_value[value]] = self.numbers.number(value)
        return self.by_value[value]

    def _fresh(self, count: int) -> IntArray:
        self.cells += count
        return np.arange(self.cells - count, self.cells)

    def _gathered(self, number: int, statement: FlatStatement) -> IntArray:
        choices = statement.choices
        assert choices is not None
        names, point, source, members = (statement.name,), choices.point, choices.source, choices.members
        arguments = statement.arguments
        while self.joins and len(arguments) == 1 and arguments[0] in self.followers:
            before = self.flat[arguments[0]]
            assert before.choices is not None
            inner, below = before.choices.point, before.choices.source
            second = members.matching(np.ones((members.points, members.values), np.bool_))
            assert second is not None
            places = np.where(source >= 0, inner[np.maximum(source, 0)], -1)
            both, point = np.unique(np.column_stack([point, places]), axis=0, return_inverse=True)
            point = point.reshape(-1)
            members = ComposedSet(before.choices.members, second, both[:, 0], both[:, 1:], self.counters)
            source = below[source[:, 0]]
            names = (before.name, *names)
            arguments = before.arguments
        prices = self._prices(arguments, point, source)
        cells = np.concatenate([self.values[a] for a in arguments])
        source = np.where(source >= 0, cells[np.maximum(source, 0)], np.where(source == ZERO, ZERO_CELL, UNDEFINED_CELL))
        allowed = _supported(members)
        if members.size_bound == 1:
            only = members.matching(allowed)
            assert only is not None
            return source[np.arange(len(source)), only.tables[0][point]]
        first = allowed.argmax(axis=1)[point]
        out = source[np.arange(len(source)), first]
        is_open = ((source != out[:, None]) & allowed[point]).any(axis=1)
        rows = np.flatnonzero(is_open)
        out = out.copy()
        out[rows] = self._fresh(len(rows))
        self.holes.append(LoweredHole(names, members, allowed, prices))
        self.batches.append(_Gather(len(self.holes) - 1, out[rows], point[rows], source[rows]))
        return out

    def _prices(self, arguments: tuple[int, ...], point: IntArray, source: IntArray) -> HolePrices | None:
        if not self.lanes:
            return None
        shapes = [self.flat[a].shape for a in arguments]
        return HolePrices(self.objective, gatherings(self.flat, arguments, shapes, self.lanes), point, source)

    def _followers(self) -> set[int]:
        """Statements that only the hole after them reads, along the same axis: their array needs no cells."""
        found: set[int] = set()
        if not self.joins:
            return found
        for statement in self.flat:
            choices = statement.choices
            if choices is None or choices.is_single or len(statement.arguments) != 1:
                continue
            before = self.flat[statement.arguments[0]]
            if not before.is_hole or before.fold is not None or self.uses[statement.arguments[0]] != 1:
                continue
            if before.choices is None or before.choices.members.size_bound > MAX_FIRST:
                continue
            if choices.members.size_bound > MAX_SECOND or statement.arguments[0] == len(self.flat) - 1:
                continue
            if before.arguments and before.arguments[0] in found:
                continue
            if _moves_along_one_axis(choices.source, before.choices.source):
                found.add(statement.arguments[0])
        return found

    # ------------------------------------------------------------ backward from the goal

    def _finished(self, result: IntArray) -> Lowered:
        wanted = [(c, v) for c, v in zip(result.tolist(), self.program.goal.values, strict=True) if v != MISSING]
        fold_of = {int(c): (batch, row) for batch in self.batches if isinstance(batch, _Fold) for row, c in enumerate(batch.out)}
        gathers = [b for b in self.batches if isinstance(b, _Gather)]
        guarded = self._guarded(gathers)
        alive = np.zeros(self.cells, np.bool_)
        goals: dict[tuple[int, int], None] = {}
        required: dict[int, int] = {}
        for cell, value in wanted:
            number = self.numbers.number(value)
            if cell in fold_of and required.setdefault(cell, number) == number and self._is_result(fold_of[cell][0].op, value):
                continue
            goals[cell, number] = None
            alive[cell] = True
        rows = self._entry_rows(required, fold_of, guarded)
        for entry in rows:
            alive[entry[2]] = True
        elements: list[Elements] = []
        folds: list[FoldRows] = []
        for batch in reversed(self.batches):
            keep = alive[batch.out]
            if not keep.any():
                continue
            match batch:
                case _Gather(hole, out, points, source):
                    alive[source[keep]] = True
                    elements.append(Elements(out[keep], Slots((hole,), (points[keep],)), source[keep]))
                case _Fold(out, parts, op):
                    alive[parts[keep]] = True
                    folds.append(FoldRows(out[keep], parts[keep], op))
        uses = tuple(
            HoleUses(
                Hole(".".join(h.names), "choose", (), n=h.members.values), np.arange(h.members.points)[:, None], h.members.values
            )
            for h in self.holes
        )
        known = {cell: atom("value", (number,)) for cell, number in self.known.items()}
        network = Network(uses, self.cells, known, tuple(reversed(elements)), {}, (), (), frozenset())
        return Lowered(
            network,
            self.known,
            self.numbers,
            tuple(self.holes),
            np.array([c for c, _ in goals], np.int64),
            np.array([v for _, v in goals], np.int64),
            RequiredFolds(np.array(list(required.values()), np.int64), self._entries(rows)),
            tuple(reversed(folds)),
        )

    def _is_result(self, op: str, value: Value) -> bool:
        """Whether a fold with `op` can hold the value at all."""
        number = self.numbers.number(value)
        at = np.flatnonzero(self.numbers.composites == number)
        return value == NOUGHT or (len(at) == 1 and self.numbers.operators[int(at[0])] == op)

    def _guarded(self, gathers: list[_Gather]) -> dict[int, tuple[_Gather, int, int]]:
        """Cells that hold either another cell or 0, by a hole's choice: (gather, row, the other cell)."""
        found: dict[int, tuple[_Gather, int, int]] = {}
        for gather in gathers:
            lowest = np.where(gather.source == ZERO_CELL, self.cells, gather.source).min(axis=1)
            highest = gather.source.max(axis=1)
            fits = (lowest == np.where(highest == ZERO_CELL, self.cells, highest)) & (lowest > ZERO_CELL)
            for row in np.flatnonzero(fits).tolist():
                found[int(gather.out[row])] = (gather, row, int(lowest[row]))
        return found

    def _entry_rows(
        self, required: dict[int, int], fold_of: dict[int, tuple[_Fold, int]], guarded: dict[int, tuple[_Gather, int, int]]
    ) -> list[tuple[int, int, int, int, BoolArray | None]]:
        """(hole or -1, fold, value cell, point, guard by value) of every element of a required fold that may count."""
        rows: list[tuple[int, int, int, int, BoolArray | None]] = []
        for fold, cell in enumerate(required):
            batch, row = fold_of[cell]
            for element in batch.elements[row].tolist():
                if element == ZERO_CELL:
                    continue
                if element in guarded:
                    gather, at, value = guarded[element]
                    rows.append((gather.hole, fold, value, int(gather.points[at]), gather.source[at] != ZERO_CELL))
                else:
                    rows.append((-1, fold, element, 0, None))
        return rows

    def _entries(self, rows: list[tuple[int, int, int, int, BoolArray | None]]) -> tuple[StatementEntries, ...]:
        groups: dict[int, list[tuple[int, int, int, int, BoolArray | None]]] = {}
        for row in rows:
            groups.setdefault(row[0], []).append(row)
        result: list[StatementEntries] = []
        for number, (hole, members) in enumerate(sorted(groups.items())):
            fold, value, points = (np.array([m[k] for m in members], np.int64) for k in (1, 2, 3))
            if hole < 0:
                slots, guard = Slots((), ()), np.ones(len(members), np.bool_)
            else:
                slots, guard = Slots((hole,), (points,)), np.stack([m[4] for m in members if m[4] is not None])
            result.append(StatementEntries(number, fold, (value,), slots, guard))
        return tuple(result)


def _moves_along_one_axis(source: IntArray, below: IntArray) -> bool:
    """Whether a value of the first gather means the same element wherever the second one reads."""
    if (source < 0).any() or (below == UNDEFINED).any():
        return False
    step = max(1, (1 << 20) // (source.shape[1] * below.shape[1]))
    starts = [0, *range(step, len(source), step)]
    return all(bool((below[source[n : n + step]] == below[source[n : n + step, :1]]).all()) for n in starts)


def _supported(members: FunctionSet) -> BoolArray:
    """[points, values] that some member takes, as far as the set can say without listing too much."""
    everything = np.ones((members.points, members.values), np.bool_)
    match members:
        case ComposedSet(first=first, second=second):
            before, after = _supported(first), second.supported(members.inner.shape[1])
            result = np.zeros_like(everything)
            for value in range(members.inner.shape[1]):
                result |= after[members.outer, value][:, None] & before[members.inner[:, value]]
            return result
        case _:
            if isinstance(members, Supporting):
                return members.supported(everything)
            listed = members.matching(everything) if members.size_bound <= MAX_FIRST else None
            return everything if listed is None else listed.supported(members.values)
