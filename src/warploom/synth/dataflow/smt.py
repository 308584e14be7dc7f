"""The second engine: a dataflow program handed to z3 as clauses. Slower than propagation, and shares none of its reasoning.

A hole is one flag per member, or one per point and value where its members are too many to list; a cell is one flag per value
that it may hold. All solutions are found by forbidding each one that is known.
Source: Swizzle Inventor, section 4.3, poses its sketches to a solver in this way; Swizzleflow, section 5.4, compares with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np

from warploom.core.limits import why
from warploom.ir.swizzle import Functions, FunctionSet, IntArray
from warploom.solve import Budget, ClauseSession, Cost, Goal, Sat, Statistics, Unknown
from warploom.synth.dataflow.composed import Member
from warploom.synth.dataflow.lower import UNDEFINED_CELL, FoldRows, Lowered, LoweredHole
from warploom.synth.dataflow.numbers import ZERO_NUMBER
from warploom.synth.dataflow.program_model import Found
from warploom.synth.network.network import BoolArray, Elements, Slots

MOST_MEMBERS = 1 << 16
"""A set that may have more members is a flag per point and value."""
MOST_CLAUSES = 1 << 21
"""More are not handed to z3: it takes over a kilobyte for each."""
MATCHED = 4
"""The elements of longer folds are counted instead of matched one by one with a result's values."""
_NOTHING = -1
"""The value of a cell that holds none."""
_Held = dict[int, int]
"""Value number -> literal; exactly one holds."""


class SmtRun:
    """One search; every query counts as a node of the budget, and CPU seconds become z3's time limit."""

    def __init__(
        self,
        lowered: Lowered,
        goal: Goal,
        budget: Budget,
        statistics: Statistics,
        progress: Callable[[Statistics], None] | None,
    ) -> None:
        self.lowered = lowered
        self.goal: Goal = goal
        self.budget = budget
        self.statistics = statistics
        self.progress = progress
        self.started = time.process_time()
        self.complete, self.reason = True, ""
        used = [batch.slots.holes for batch in lowered.network.batches if isinstance(batch, Elements)]
        used += [entry.slots.holes for entry in lowered.required.entries]
        self.live = frozenset(hole for holes in used for hole in holes)

    def answers(self) -> tuple[tuple[Cost, Found], ...]:
        """All of them, the cheapest of all, or the first, whatever the goal says; cheapest first."""
        found: list[tuple[Cost, Found]] = []
        try:
            clauses = ProgramClauses(self.lowered, self.live, self._left_s)
            for answer in self._asked(clauses):
                found.append(answer)
                if self.goal == "first":
                    break
        except _StoppedError as stopped:
            self.complete, self.reason = False, str(stopped)
        except KeyboardInterrupt as stop:
            self.complete, self.reason = False, why(stop)
        found.sort(key=lambda a: a[0])
        return tuple(found if self.goal == "all" else found[:1])

    def _asked(self, clauses: ProgramClauses) -> Iterator[tuple[Cost, Found]]:
        while True:
            if self.budget.nodes is not None and self.statistics.nodes >= self.budget.nodes:
                raise _StoppedError("budget: nodes")
            self.statistics.nodes += 1
            answer = clauses.session.check(timeout_s=self._left_s())
            match answer:
                case Sat(model):
                    chosen = clauses.chosen(model)
                    clauses.forbid(model)
                    if chosen is None:
                        self.statistics.rejected += 1
                    else:
                        self.statistics.answers += 1
                        yield self._answer(chosen)
                case Unknown(reason):
                    raise _StoppedError(f"budget: z3 stopped ({reason})")
                case _:
                    return
            if self.progress is not None:
                self.progress(self.statistics)

    def _left_s(self) -> float | None:
        """CPU seconds; raises once there are none."""
        if self.budget.cpu_s is None:
            return None
        left = self.budget.cpu_s - (time.process_time() - self.started)
        if left <= 0:
            raise _StoppedError("budget: CPU seconds")
        return left

    def _answer(self, chosen: dict[int, Functions]) -> tuple[Cost, Found]:
        ways = tuple(
            ((Member(chosen[h].expr(0), chosen[h].tables[0]),),) if h in chosen else () for h in range(len(self.lowered.holes))
        )
        prices = [self.lowered.holes[h].prices for h in chosen]
        costs = [int((f.costs if p is None else p.of(f))[0]) for p, f in zip(prices, chosen.values(), strict=True)]
        return (0, sum(costs)), Found({}, 0, ways, chosen)


class _StoppedError(Exception):
    """The budget is spent; the message says which."""


class _HoleFlags:
    """The hole in a clause session."""

    def __init__(self, session: ClauseSession, number: int, hole: LoweredHole, spend: Callable[[], object]) -> None:
        self.members: FunctionSet = hole.members
        self.allowed = hole.allowed
        listed = self.members.matching(hole.allowed) if self.members.size_bound <= MOST_MEMBERS else None
        self.listed = listed
        names = [f"{number}.{k}" for k in range(len(listed))] if listed is not None else []
        self.flags = {name: session.flag(name) for name in names}
        self.values: list[dict[int, int]] = []
        """[points]: value -> the literal that holds if the hole has it there; exactly one does."""
        if listed is not None:
            flags = list(self.flags.values())
            session.exactly(1, flags)
            for point in range(self.members.points):
                spend()
                column = listed.tables[:, point]
                row = {v: session.flag() for v in np.unique(column).tolist()}
                if len(row) == 1:
                    row = dict.fromkeys(row, session.true)
                for member, value in enumerate(column.tolist()):
                    session.add(-flags[member], row[value])
                session.exactly(1, list(row.values()))
                self.values.append(row)
            return
        for point in range(self.members.points):
            names = {v: f"{number}.{point}.{v}" for v in np.flatnonzero(hole.allowed[point]).tolist()}
            row = {v: session.flag(name) for v, name in names.items()}
            self.flags |= {names[v]: flag for v, flag in row.items()}
            session.exactly(1, list(row.values()))
            self.values.append(row)

    def taken(self, model: Mapping[str, int]) -> list[int]:
        """The flags that the answer makes true."""
        return [flag for name, flag in self.flags.items() if model[name]]

    def function(self, taken: Sequence[int]) -> Functions | None:
        """The member that `taken` stands for; None if the values at the points are no member's."""
        flags = list(self.flags.values())
        if self.listed is not None:
            return self.listed.select(np.array([flags.index(taken[0])]))
        allowed = np.zeros_like(self.allowed)
        for point, row in enumerate(self.values):
            allowed[point, next(v for v, flag in row.items() if flag in taken)] = True
        found = self.members.matching(allowed)
        return found.select(np.array([0])) if found is not None and len(found) else None


class ProgramClauses:
    """A lowered program in a clause session; adds everything on construction."""

    def __init__(self, lowered: Lowered, live: frozenset[int], spend: Callable[[], object]) -> None:
        """`spend` is called now and then and may raise."""
        self.lowered = lowered
        session = self.session = ClauseSession()

        def checked() -> None:
            spend()
            if session.clauses > MOST_CLAUSES:
                raise _StoppedError("budget: clauses")

        self.spend: Callable[[], object] = checked
        self.holes = {n: _HoleFlags(session, n, hole, checked) for n, hole in enumerate(lowered.holes) if n in live}
        self.held: dict[int, _Held] = {UNDEFINED_CELL: {_NOTHING: session.true}}
        self.held |= {cell: {number: session.true} for cell, number in lowered.known.items()}
        self._cells()
        for cell, value in zip(lowered.goal_cells.tolist(), lowered.goal_values.tolist(), strict=True):
            self._require(self.held[cell].get(value))
        self._required_folds()

    def chosen(self, model: Mapping[str, int]) -> dict[int, Functions] | None:
        """The functions of an answer; None if it takes values that no member takes."""
        found = {n: flags.function(flags.taken(model)) for n, flags in self.holes.items()}
        functions = {n: f for n, f in found.items() if f is not None}
        return functions if len(functions) == len(found) else None

    def forbid(self, model: Mapping[str, int]) -> None:
        """Forbids this answer."""
        self.session.add(*(-flag for flags in self.holes.values() for flag in flags.taken(model)))

    def _require(self, literal: int | None) -> None:
        self.session.add(*([] if literal is None else [literal]))

    # ------------------------------------------------------------ cells

    def _cells(self) -> None:
        """Makes cells in the order in which they are written: cells are numbered in the program's order."""
        batches: list[tuple[int, Elements | FoldRows]] = [(int(rows.out[0]), rows) for rows in self.lowered.folds]
        for batch in self.lowered.network.batches:
            assert isinstance(batch, Elements)
            batches.append((int(batch.out[0]), batch))
        for _, batch in sorted(batches, key=lambda b: b[0]):
            for row, cell in enumerate(batch.out.tolist()):
                self.spend()
                self.held[cell] = self._selected(batch, row) if isinstance(batch, Elements) else self._folded(batch, row)

    def _one_of(self, values: Sequence[int]) -> _Held:
        if len(values) == 1:
            return {values[0]: self.session.true}
        held = {v: self.session.flag() for v in values}
        self.session.exactly(1, list(held.values()))
        return held

    def _selected(self, batch: Elements, row: int) -> _Held:
        literals = self._slot(batch.slots, row)
        pairs = [(literal, self.held[int(batch.source[row, v])]) for v, literal in literals.items()]
        held = self._one_of(sorted({v for _, source in pairs for v in source}))
        for literal, source in pairs:
            for value, flag in source.items():
                self.session.add(-literal, -flag, held[value])
        return held

    def _slot(self, slots: Slots, row: int) -> dict[int, int]:
        (hole,), (points,) = slots.holes, slots.points
        return self.holes[hole].values[int(points[row])]

    def _folded(self, rows: FoldRows, row: int) -> _Held:
        """Values that are in no multiset of the goal are one: nothing is said about it, since nobody wants it."""
        numbers, session = self.lowered.numbers, self.session
        elements = [self.held[c] for c in rows.elements[row].tolist()]
        ways: dict[int, list[int]] = {ZERO_NUMBER: []}
        for at, composite in enumerate(numbers.composites.tolist()):
            members: list[int] = [m for m in numbers.members[at].tolist() if m >= 0]
            if numbers.operators[at] == rows.op and len(members) <= len(elements):
                ways[composite] = members
        possible = {v: m for v, m in ways.items() if all(any(x in e for e in elements) for x in m)}
        held = self._one_of([*possible, numbers.other])
        for value, members in possible.items():
            content = members + [ZERO_NUMBER] * (len(elements) - len(members))
            if len(elements) <= MATCHED:
                orders = [
                    session.both([e[v] for e, v in zip(elements, order, strict=True)])
                    for order in sorted(set(permutations(content)))
                    if all(v in e for e, v in zip(elements, order, strict=True))
                ]
                session.add(-held[value], *orders)
                continue
            for inner in set(content):
                holders = [e[inner] for e in elements if inner in e]
                self._exactly_if(held[value], content.count(inner), holders)
        return held

    def _exactly_if(self, condition: int, count: int, literals: Sequence[int]) -> None:
        """Demands that under the condition exactly `count` of the literals hold."""
        weight = [condition] * len(literals)
        if len(literals) < count:
            self.session.add(-condition)
            return
        self.session.at_most(count + len(literals), [*literals, *weight])
        self.session.at_most(2 * len(literals) - count, [*(-x for x in literals), *weight])

    # ------------------------------------------------------------ folds that the goal gives

    def _required_folds(self) -> None:
        made: dict[int, list[tuple[int, _Held]]] = {fold: [] for fold in range(len(self.lowered.required.values))}
        for entry in self.lowered.required.entries:
            for row, fold in enumerate(entry.fold.tolist()):
                guard: BoolArray | None = entry.guard[row] if entry.slots.holes else None
                on = self.session.true
                if guard is not None:
                    on = self._some([x for v, x in self._slot(entry.slots, row).items() if guard[v]])
                made[fold].append((on, self.held[int(entry.factors[0][row])]))
        numbers = self.lowered.numbers
        contents: dict[int, IntArray] = {int(c): numbers.members[n] for n, c in enumerate(numbers.composites)}
        for fold, value in enumerate(self.lowered.required.values.tolist()):
            self.spend()
            wanted: list[int] = [m for m in contents[value].tolist() if m >= 0] if value in contents else []
            supplies: list[list[int]] = [[] for _ in made[fold]]
            for term in sorted(set(wanted)):
                suppliers = [
                    (self.session.both([on, held[term]]), mine)
                    for (on, held), mine in zip(made[fold], supplies, strict=True)
                    if term in held
                ]
                for literal, mine in suppliers:
                    mine.append(literal)
                if len(suppliers) < wanted.count(term):
                    self.session.add()
                else:
                    self.session.exactly(wanted.count(term), [literal for literal, _ in suppliers])
            for (on, held), mine in zip(made[fold], supplies, strict=True):
                self.session.add(-on, *mine, *([held[ZERO_NUMBER]] if ZERO_NUMBER in held else []))

    def _some(self, literals: Sequence[int]) -> int:
        return self.session.either(literals) if literals else -self.session.true
