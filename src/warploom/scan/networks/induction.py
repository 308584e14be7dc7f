"""Proof that a program scans for every n: a formula for the length of every cell's interval, kept by every step.

For each phase a formula of `states` is chosen by running the program once; then z3 shows, for all lanes and all offsets of a
level: an active lane's source is left of it and ends where its own interval begins (or overlaps it from the left, if intervals
may overlap), and the formula moves on by one level.
Between phases the formulas agree; in the beginning each cell holds one input, in the end all of i + 1. Lowest levels, where
constants of the program do not divide the offset yet, are taken one by one, and numbers of columns below them are run.
Goals: all unbounded n, any radices. Non-goals: formulas that are not in `states`, bounds more than a level below the top.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from warploom.ir import Compare, IndexBinary, IndexConst, IndexExpr, IndexVar, Logical, leaves
from warploom.scan.networks.intervals import Adjacency
from warploom.scan.networks.numbers import Exact, Symbolic
from warploom.scan.networks.program import BELOW, Bound, Phase, Program, is_scan
from warploom.scan.networks.states import Numbers, State, Unit
from warploom.solve import Handle

T = TypeVar("T")
B = TypeVar("B")
TRIAL_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Induction:
    """A proof, as far as it can be said in words."""

    invariants: tuple[str, ...]
    """Invariant of every phase: inputs in cell i once the offsets below D (down-sweeps: from D on) are done."""
    queries: int
    """Lemmas that z3 decided."""


def prove_every_size(program: Program, adjacency: Adjacency = "strict") -> Induction | str:
    """The proof, or why there is none; a proof covers the mirrored program too."""
    return _Prover(program, adjacency).result()


class _Prover:
    def __init__(self, program: Program, adjacency: Adjacency) -> None:
        self._program = program
        self._adjacency: Adjacency = adjacency
        bounds = [bound for phase in program.phases for bound in (phase.low, phase.high)]
        numbers = {int(c.value) for p in program.phases for c in _constants(p)}
        self._units = sorted({1, *(n for n in numbers if self._is_offset(n))})
        lowest = max([b.count for b in bounds if not b.from_top] + [self._level_of(unit) for unit in self._units])
        self._offsets = [program.offset(level) for level in range(lowest + 1)]
        self._below = 0
        """Levels below an open one that formulas refer to."""
        if adjacency == "overlapping" and len(program.radices) == 1:
            self._below = 2
        self._open = lowest + self._below
        """The lowest level that is not taken by itself."""
        self._top = max((b.count for b in bounds if b.from_top), default=0)
        self._queries = 0

    def result(self) -> Induction | str:
        program = self._program
        if self._top > 1 or (self._top and len(program.radices) > 1):
            return "a bound more than one level below the top"
        if not all(_runs_forward(phase) for phase in program.phases):
            return "a loop that may have its bounds in the wrong order"
        leaf_names = {leaf for phase in program.phases for expr in (phase.move.guard, phase.move.source) for leaf in leaves(expr)}
        if BELOW in leaf_names and not self._below:
            return "an index that uses the offset one level below"
        small = program.offset(self._open + self._top)
        if not all(is_scan(program, n, self._adjacency) for n in (*range(1, small + 1), self._trial_columns())):
            return "not a scan for every small n"
        chosen: list[State] = []
        for number in range(len(program.phases)):
            before = chosen[-1] if chosen else None
            state = next((s for s, fits in self._fitting(number) if self._carries(number, before, s, fits)), None)
            if state is None:
                return f"no invariant of the menu for loop {number + 1}"
            chosen.append(state)
        if not self._ends(chosen[-1]):
            return "the last invariant does not say that the scan is complete"
        return Induction(tuple(map(str, chosen)), self._queries)

    def _is_offset(self, number: int) -> bool:
        return number > 1 and any(self._program.offset(level) == number for level in range(number.bit_length() + 1))

    def _level_of(self, offset: int) -> int:
        return next(level for level in range(offset + 1) if self._program.offset(level) == offset)

    def _trial_columns(self) -> int:
        return self._program.offset(max(TRIAL_LEVELS if self._program.radices[0] == 2 else 3, len(self._offsets) + 1))

    def _fitting(self, number: int) -> Iterator[tuple[State, bool]]:
        """States that describe a run before and after every level of a phase; False: but not before its first one."""
        columns = self._trial_columns()
        offsets = [self._program.offset(level) for level in range(self._program.levels(columns) + 2)]
        low = list(range(columns))
        seen: list[tuple[int, int, list[int], list[int]]] = []  # offset and radix of a level, lengths before and after
        level = None
        for at in self._program.steps(columns):
            lengths = [i - low[i] + 1 for i in range(columns)]
            fresh = list(low)
            for lane, source in zip(at.destinations.tolist(), at.sources.tolist(), strict=True):
                fresh[lane] = low[source]
            low = fresh
            after = [i - low[i] + 1 for i in range(columns)]
            if at.phase != number:
                continue
            if level == at.level:
                seen[-1] = (*seen[-1][:3], after)
            else:
                seen.append((at.offset, at.radix, lengths, after))
            level = at.level
        for state in self._menu(self._program.phases[number]):
            ends: tuple[Unit, Unit] = ("e", "d") if state.is_falling else ("d", "e")
            agrees = [
                all(state.length(Exact(offset, radix, offsets), lane, unit) == length[lane] for lane in range(columns))
                for offset, radix, *both in seen
                for unit, length in zip(ends, both, strict=True)
            ]
            if all(agrees[1:]):
                yield state, all(agrees)

    def _menu(self, phase: Phase) -> Iterator[State]:
        one_level = not phase.low.from_top and not phase.high.from_top and phase.high.count == phase.low.count + 1
        if phase.is_rising or one_level:
            yield State("gathered")
            for stride in self._units:
                yield State("blocks", stride)
                yield from (State("reaching", stride, block) for block in self._units)
            yield from (State("reaching", below=below) for below in range(1, self._below + 1))
        if not phase.is_rising or one_level:
            yield State("complete")

    def _carries(self, number: int, before: State | None, state: State, fits: bool) -> bool:
        """Whether the state follows from that of the phase before, and every level takes it one level on."""
        phase = self._program.phases[number]
        if fits and self._joins(number, before, state):
            return self._keeps(phase, state, None)
        # The state may hold from the first level on only, which starts from the state before.
        rising = before is not None and not before.is_falling and not state.is_falling
        if not rising or phase.low != self._program.phases[number - 1].high or phase.low == phase.high:
            return False
        return self._keeps(phase, state, before)

    def _keeps(self, phase: Phase, state: State, first: State | None) -> bool:
        """Whether every level takes the state one level on; `first` is what the first level starts from, if another."""
        program = self._program
        start = self._open if phase.low.from_top else phase.low.count
        fixed = range(start, self._open if phase.high.from_top else phase.high.count)
        for level in fixed:
            begin = first if level == start else None
            if not self._level_keeps(phase, state, program.radix(level), program.offset(level), begin):
                return False
        if first is not None and not fixed and not (phase.low.from_top and phase.high.from_top):
            return False  # whichever level comes first is open
        begin = first if not fixed else None
        radices = set(program.radices) if phase.high.from_top else set[int]()
        return all(self._level_keeps(phase, state, radix, None, begin) for radix in sorted(radices))

    def _level_keeps(self, phase: Phase, state: State, radix: int, offset: int | None, first: State | None) -> bool:
        turns = radix - 1 if phase.is_repeated else 1
        ends: tuple[Unit, Unit] = ("e", "d") if state.is_falling else ("d", "e")
        for turn in range(1, turns + 1):
            numbers = Symbolic(radix, self._offsets, offset, self._below)
            lane = numbers.variable("i")
            terms = _Terms(numbers, lane, turn)
            guard, source = terms.condition(phase.move.guard), terms.value(phase.move.source)
            start = first or state
            before = [
                start.length(numbers, x, ends[0]) if turn == 1 else state.between(numbers, x, turn - 1) for x in (lane, source)
            ]
            after = state.length(numbers, lane, ends[1]) if turn == turns else state.between(numbers, lane, turn)
            own, other = before
            if own is None or other is None or after is None:
                return False
            zero = numbers.constant(0)
            assumed = [numbers.at_least(lane, zero)]
            self._queries += 2
            good = numbers.both(numbers.at_least(source, zero), self._adjacent(numbers, lane, source, own, other))
            grown = numbers.equal(after, numbers.add(numbers.subtract(lane, source), other))
            if not numbers.proves([*assumed, guard], numbers.both(good, grown)):
                return False
            if not numbers.proves([*assumed, numbers.negation(guard)], numbers.equal(after, own)):
                return False
        return True

    def _adjacent(self, numbers: Symbolic, lane: Handle, source: Handle, own: Handle, other: Handle) -> Handle:
        """Whether cell `source` ends in front of the interval of `lane`, or overlaps it from the left."""
        front = numbers.subtract(lane, own)
        if self._adjacency == "strict":
            return numbers.equal(source, front)
        left = numbers.at_least(numbers.subtract(lane, numbers.constant(1)), source)
        ordered = numbers.at_least(front, numbers.subtract(source, other))
        return numbers.both(left, numbers.both(numbers.at_least(source, front), ordered))

    def _joins(self, number: int, before: State | None, state: State) -> bool:
        """Whether the state at the start of a phase is that at the end of the one before, or one input per cell."""
        phases = self._program.phases
        start = phases[number].high if state.is_falling else phases[number].low
        if before is None:
            return self._equal_at(None, None, state, start)
        end = phases[number - 1].low if before.is_falling else phases[number - 1].high
        return self._equal_at(before, end, state, start)

    def _equal_at(self, before: State | None, end: Bound | None, state: State, start: Bound) -> bool:
        numbers = self._at_the_top()
        lane = numbers.variable("i")
        known = numbers.constant(1)
        if before is not None and end is not None:
            known = before.length(numbers, lane, self._unit(end))
        goal = numbers.equal(known, state.length(numbers, lane, self._unit(start)))
        return self._for_all_lanes(numbers, goal)

    def _ends(self, state: State) -> bool:
        last = self._program.phases[-1]
        numbers = self._at_the_top()
        lane = numbers.variable("i")
        length = state.length(numbers, lane, self._unit(last.low if state.is_falling else last.high))
        return self._for_all_lanes(numbers, numbers.equal(length, numbers.add(lane, numbers.constant(1))))

    def _at_the_top(self) -> Symbolic:
        """d (or e, if bounds one level down are used) is the offset that reaches n, so that no lane meets the next radix."""
        radix = self._program.radices[0] if len(self._program.radices) == 1 else 2
        return Symbolic(radix, self._offsets, None, self._below)

    def _for_all_lanes(self, numbers: Symbolic, goal: Handle) -> bool:
        lane = numbers.variable("i")
        inside = numbers.at_least(numbers.unit(self._unit(Bound(0, from_top=True))), numbers.add(lane, numbers.constant(1)))
        self._queries += 1
        return numbers.proves([numbers.at_least(lane, numbers.constant(0)), inside], goal)

    def _unit(self, bound: Bound) -> Unit | int:
        if bound.from_top:
            return "e" if self._top > bound.count else "d"
        return self._program.offset(bound.count)


class _Terms(Generic[T, B]):
    """Index expressions of a move as numbers."""

    def __init__(self, numbers: Numbers[T, B], lane: T, turn: int) -> None:
        self._numbers = numbers
        self._lane = lane
        self._turn = turn

    def value(self, expr: IndexExpr) -> T:
        numbers = self._numbers
        fixed = self._fixed(expr)
        if fixed is not None:
            return numbers.constant(fixed)
        match expr:
            case IndexVar("i"):
                return self._lane
            case IndexVar("h" | "d" | "e"):
                return numbers.unit(self._unit(expr))
            case IndexBinary("//", IndexBinary("%", inner, IndexVar("e")), IndexVar("d")):
                return numbers.digit(self.value(inner))
            case IndexBinary("*", IndexBinary("//", inner, unit), again) if unit == again:
                argument = self.value(inner)
                return numbers.subtract(argument, numbers.remainder(argument, self._unit(unit)))
            case IndexBinary("%", inner, unit):
                return numbers.remainder(self.value(inner), self._unit(unit))
            case IndexBinary("*", factor, inner) if (known := self._fixed(factor)) is not None:
                return numbers.scaled(known, self.value(inner))
            case IndexBinary("+", lhs, rhs):
                return numbers.add(self.value(lhs), self.value(rhs))
            case IndexBinary("-", lhs, rhs):
                return numbers.subtract(self.value(lhs), self.value(rhs))
            case _:
                raise ValueError(f"not linear in the offset: {expr}")

    def condition(self, expr: IndexExpr) -> B:
        numbers = self._numbers
        match expr:
            case Compare(">=", lhs, rhs):
                return numbers.at_least(self.value(lhs), self.value(rhs))
            case Compare("==", lhs, rhs):
                return numbers.equal(self.value(lhs), self.value(rhs))
            case Compare("!=", lhs, rhs):
                return numbers.negation(numbers.equal(self.value(lhs), self.value(rhs)))
            case Logical("and", (first, *rest)):
                result = self.condition(first)
                for part in rest:
                    result = numbers.both(result, self.condition(part))
                return result
            case _:
                raise ValueError(f"not a guard of the grammar: {expr}")

    def _fixed(self, expr: IndexExpr) -> int | None:
        match expr:
            case IndexConst(value):
                return int(value)
            case IndexVar("t"):
                return self._turn
            case IndexBinary("+", lhs, rhs):
                left, right = self._fixed(lhs), self._fixed(rhs)
                return None if left is None or right is None else left + right
            case _:
                return None

    def _unit(self, expr: IndexExpr) -> Unit | int:
        match expr:
            case IndexVar("h"):
                return self._numbers.below("d", 1)
            case IndexVar("d"):
                return "d"
            case IndexVar("e"):
                return "e"
            case IndexConst(value):
                return int(value)
            case _:
                raise ValueError(f"not a unit: {expr}")


def _runs_forward(phase: Phase) -> bool:
    """Whether the high bound is no lower than the low one, for every n beyond the small ones."""
    if phase.low.from_top:
        return phase.high.from_top and phase.low.count >= phase.high.count
    return phase.high.from_top or phase.low.count <= phase.high.count


def _constants(phase: Phase) -> Iterator[IndexConst]:
    for expr in (phase.move.guard, phase.move.source):
        yield from _constants_of(expr)


def _constants_of(expr: IndexExpr) -> Iterator[IndexConst]:
    match expr:
        case IndexConst():
            yield expr
        case IndexBinary(_, lhs, rhs) | Compare(_, lhs, rhs):
            yield from _constants_of(lhs)
            yield from _constants_of(rhs)
        case Logical(_, operands):
            for operand in operands:
                yield from _constants_of(operand)
        case _:
            return
