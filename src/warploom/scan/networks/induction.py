"""Proof that a program scans for every n: a formula for the length of every cell's interval, kept by every step.

For each phase a formula of `states` is chosen by running the program once; then z3 shows, for all lanes and all offsets of a
level: an active lane's source is left of it and ends where its own interval begins, and the formula moves on by one level.
Between phases the formulas agree; in the beginning each cell holds one input, in the end all of i + 1. Lowest levels, where
constants of the program do not divide the offset yet, are taken one by one, and numbers of columns below them are run.
Goals: strict programs over all unbounded n. Non-goals: overlapping intervals (Knowles), bounds such as m // 2: those are tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from warploom.ir import Compare, IndexBinary, IndexConst, IndexExpr, IndexVar, Logical, leaves
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
    """Of every phase: inputs in cell i once the offsets below D (down-sweeps: from D on) are done."""
    queries: int
    """Lemmas that z3 decided."""


def prove_every_size(program: Program) -> Induction | str:
    """The proof, or why there is none; a proof covers the mirrored program too."""
    return _Prover(program).result()


class _Prover:
    def __init__(self, program: Program) -> None:
        self._program = program
        bounds = [bound for phase in program.phases for bound in (phase.low, phase.high)]
        numbers = {int(c.value) for p in program.phases for c in _constants(p)}
        self._units = sorted({1, *(n for n in numbers if self._is_offset(n))})
        lowest = max([b.count for b in bounds if not b.from_top] + [self._level_of(unit) for unit in self._units])
        self._offsets = [program.offset(level) for level in range(lowest + 1)]
        self._queries = 0

    def result(self) -> Induction | str:
        program = self._program
        for phase in program.phases:
            if any(b.from_top and b.count for b in (phase.low, phase.high)):
                return "a bound relative to the number of levels"
            if BELOW in {*leaves(phase.move.guard), *leaves(phase.move.source)}:
                return "an index that uses the offset one level below"
        if not all(is_scan(program, n, "strict") for n in (*range(1, self._offsets[-1] + 1), self._trial_columns())):
            return "not a scan for every small n"
        choices = [list(self._fitting(number)) for number in range(len(program.phases))]
        chosen: list[State] = []
        for number, phase in enumerate(program.phases):
            before = chosen[-1] if chosen else None
            state = next((s for s in choices[number] if self._joins(number, before, s) and self._keeps(phase, s)), None)
            if state is None:
                return f"no invariant of the menu for phase {number + 1}"
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

    def _fitting(self, number: int) -> Iterator[State]:
        """States that describe a run before and after every level of a phase."""
        program = self._program
        columns = self._trial_columns()
        offsets = [program.offset(level) for level in range(program.levels(columns) + 2)]
        low = list(range(columns))
        seen: list[tuple[int, int, list[int], list[int]]] = []  # offset and radix of a level, lengths before and after
        level = None
        for at in program.steps(columns):
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
        for state in self._menu(program.phases[number]):
            ends: tuple[Unit, Unit] = ("e", "d") if state.is_falling else ("d", "e")
            for offset, radix, *lengths in seen:
                exact = Exact(offset, radix, offsets)
                if any(
                    state.length(exact, lane, unit) != length[lane]
                    for unit, length in zip(ends, lengths, strict=True)
                    for lane in range(columns)
                ):
                    break
            else:
                yield state

    def _menu(self, phase: Phase) -> Iterator[State]:
        one_level = not phase.low.from_top and not phase.high.from_top and phase.high.count == phase.low.count + 1
        if phase.is_rising or one_level:
            yield State("gathered")
            for stride in self._units:
                yield State("blocks", stride)
                yield from (State("reaching", stride, block) for block in self._units)
        if not phase.is_rising or one_level:
            yield State("complete")

    def _keeps(self, phase: Phase, state: State) -> bool:
        """Whether every level of the phase takes the state one level on."""
        program = self._program
        fixed = range(phase.low.count, len(self._offsets) - 1 if phase.high.from_top else phase.high.count)
        if not all(self._level_keeps(phase, state, program.radix(level), program.offset(level)) for level in fixed):
            return False
        radices = set(program.radices) if phase.high.from_top else set[int]()
        return all(self._level_keeps(phase, state, radix, None) for radix in sorted(radices))

    def _level_keeps(self, phase: Phase, state: State, radix: int, offset: int | None) -> bool:
        turns = radix - 1 if phase.is_repeated else 1
        ends: tuple[Unit, Unit] = ("e", "d") if state.is_falling else ("d", "e")
        for turn in range(1, turns + 1):
            numbers = Symbolic(radix, self._offsets, offset)
            lane = numbers.variable("i")
            terms = _Terms(numbers, lane, turn)
            guard, source = terms.condition(phase.move.guard), terms.value(phase.move.source)
            before = [
                state.length(numbers, x, ends[0]) if turn == 1 else state.between(numbers, x, turn - 1) for x in (lane, source)
            ]
            after = state.length(numbers, lane, ends[1]) if turn == turns else state.between(numbers, lane, turn)
            own, other = before
            if own is None or other is None or after is None:
                return False
            zero = numbers.constant(0)
            assumed = [numbers.at_least(lane, zero)]
            self._queries += 2
            left = numbers.both(numbers.at_least(source, zero), numbers.equal(source, numbers.subtract(lane, own)))
            grown = numbers.equal(after, numbers.add(own, other))
            if not numbers.proves([*assumed, guard], numbers.both(left, grown)):
                return False
            if not numbers.proves([*assumed, numbers.negation(guard)], numbers.equal(after, own)):
                return False
        return True

    def _joins(self, number: int, before: State | None, state: State) -> bool:
        """Whether the state at the start of a phase is that at the end of the one before, or one input per cell."""
        phases = self._program.phases
        start = phases[number].high if state.is_falling else phases[number].low
        if before is None:
            return self._equal_at(None, None, state, start)
        end = phases[number - 1].low if before.is_falling else phases[number - 1].high
        return self._equal_at(before, end, state, start)

    def _equal_at(self, before: State | None, end: Bound | None, state: State, start: Bound) -> bool:
        numbers = Symbolic(2, self._offsets)  # d: the offset that reaches n, so that no lane meets the next radix
        lane = numbers.variable("i")
        known = numbers.constant(1)
        if before is not None and end is not None:
            known = before.length(numbers, lane, self._unit(end))
        goal = numbers.equal(known, state.length(numbers, lane, self._unit(start)))
        return self._for_all_lanes(numbers, goal)

    def _ends(self, state: State) -> bool:
        last = self._program.phases[-1]
        numbers = Symbolic(2, self._offsets)
        lane = numbers.variable("i")
        length = state.length(numbers, lane, self._unit(last.low if state.is_falling else last.high))
        return self._for_all_lanes(numbers, numbers.equal(length, numbers.add(lane, numbers.constant(1))))

    def _for_all_lanes(self, numbers: Symbolic, goal: Handle) -> bool:
        lane = numbers.variable("i")
        inside = numbers.at_least(numbers.unit("d"), numbers.add(lane, numbers.constant(1)))
        self._queries += 1
        return numbers.proves([numbers.at_least(lane, numbers.constant(0)), inside], goal)

    def _unit(self, bound: Bound) -> Unit | int:
        return "d" if bound.from_top else self._program.offset(bound.count)


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
            case IndexVar("d" | "e"):
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

    @staticmethod
    def _unit(expr: IndexExpr) -> Unit | int:
        match expr:
            case IndexVar("d"):
                return "d"
            case IndexVar("e"):
                return "e"
            case IndexConst(value):
                return int(value)
            case _:
                raise ValueError(f"not a unit: {expr}")


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
