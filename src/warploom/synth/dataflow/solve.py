"""Solves a dataflow program: every choice of members that meets the goal, one, the cheapest, or the proof that there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, product
from math import prod
from typing import TypeAlias

import numpy as np

from warploom.core import i32
from warploom.ir.dataflow import Program
from warploom.ir.swizzle import ByCost, FunctionSet
from warploom.solve import UNLIMITED, Budget, Cost, Goal, Outcome, Statistics, search
from warploom.synth.dataflow.composed import Member
from warploom.synth.dataflow.counters import Counters
from warploom.synth.dataflow.factors import Factor, factors
from warploom.synth.dataflow.flat import FlatStatement
from warploom.synth.dataflow.lower import Lowered, Lowering
from warploom.synth.dataflow.options import ALL_IDEAS, EngineOptions
from warploom.synth.dataflow.prices import ONLY_COST, Objective
from warploom.synth.dataflow.program_model import Found, ProgramModel, requirements_of, start_of
from warploom.synth.dataflow.smt import SmtRun
from warploom.synth.network.requirements import Universe
from warploom.synth.search.propagation import Candidate, ConflictError
from warploom.terms import Normaliser, algebra_for

ORACLE_LIMIT = 20_000
"""Solutions beyond which the oracle's tests are not counted."""
MOST_COUNTED = 100_000
"""A set that may have more members counts as large as its bound says."""


@dataclass(frozen=True, eq=False, slots=True)
class Solution:
    """A member for every hole, by the hole's name."""

    members: dict[str, Member]
    cost: int


@dataclass(frozen=True, eq=False)
class Solutions:
    """All that was found, cheapest first; `count` counts ways, not effects."""

    holes: tuple[FlatStatement, ...]
    names: tuple[tuple[str, ...], ...]
    """Per choice of the search: the holes it stands for."""
    answers: tuple[tuple[Cost, Found], ...]
    free: tuple[str, ...]
    """Holes that the goal does not depend on: any member will do."""
    objective: Objective = ONLY_COST
    """The quantities that the costs of answers count."""

    @cached_property
    def count(self) -> int:
        free = prod(size_of(h.choices.members) for h in self.holes if h.name in self.free and h.choices is not None)
        return free * sum(prod(len(w) for w in found.ways if w) for _, found in self.answers)

    def __iter__(self) -> Iterator[Solution]:
        any_member = {h.name: _members(h) for h in self.holes if h.name in self.free}
        for cost, found in self.answers:
            live = [(names, ways) for names, ways in zip(self.names, found.ways, strict=True) if ways]
            for chosen in product(*(ways for _, ways in live)):
                fixed = {n: m for (names, _), way in zip(live, chosen, strict=True) for n, m in zip(names, way, strict=True)}
                for rest in product(*any_member.values()):
                    yield Solution(fixed | dict(zip(any_member, rest, strict=True)), self.objective.cost_in(cost[1]))

    def movements(self) -> Iterator[Solution]:
        """The cheapest way of each answer: what differs only in how two joined holes, or free ones, do it is left out."""
        any_member = {h.name: _members(h)[0] for h in self.holes if h.name in self.free}
        for cost, found in self.answers:
            members = dict(any_member)
            for names, ways in zip(self.names, found.ways, strict=True):
                if ways:
                    members |= zip(names, ways[0], strict=True)
            yield Solution(members, self.objective.cost_in(cost[1]))

    def first(self, most: int) -> list[Solution]:
        return list(islice(self, most))


@dataclass(frozen=True, eq=False)
class ProgramResult:
    solutions: Solutions
    complete: bool
    """The whole space was covered: with goal all nothing is missing; without an answer there is none."""
    reason: str
    visited: int
    """Members tested on a partial answer, join probes included."""
    oracle: int | None
    """Members an oracle would test that walks the holes in order and enters viable partial answers only; None without one."""
    phases: dict[str, float] = field(default_factory=dict[str, float])
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def ineffectiveness(self) -> float | None:
        """Tests over those of an oracle (paper section 5.3). An oracle may join as we do, so this is never below 1."""
        return None if self.oracle is None else max(1.0, self.visited / max(1, self.oracle))


Searcher: TypeAlias = Callable[[int, ProgramModel, Goal, Statistics, Cost | None], Outcome[Found]]
"""Searches a model: the whole program's, number 0, or its factors', numbered; adds to the statistics. With a cost, only answers
below it count."""
CHEAP = (3, 8)
"""Greatest costs of members that are tried first."""
LARGE = 1 << 25
"""Members times points of a set of which cheap ones are tried first."""


def solve_program(
    program: Program,
    *,
    goal: Goal = "all",
    budget: Budget = UNLIMITED,
    progress: Callable[[Statistics], None] | None = None,
    options: EngineOptions = ALL_IDEAS,
    searcher: Searcher | None = None,
    objective: Objective = ONLY_COST,
) -> ProgramResult:
    """Search the program's holes; `goal` as in `solve.search`, costs are index operations and instructions, or by `objective`
    the shuffles and selects of a warp before these.

    `searcher` does the searching in place of `solve.search` (not with z3); `budget` and `progress` are then its own.
    """
    phases: dict[str, float] = {}
    clock = _Clock(phases)
    counters = Counters()
    lowering = Lowering(program, counters, joins=options.joins and options.engine == "propagation", objective=objective)
    lowered = lowering.run()
    clock.lap("lower")
    holes = tuple(s for s in lowering.flat if s.is_hole)
    statistics = Statistics()
    if options.engine == "smt":
        run = SmtRun(lowered, goal, budget, statistics, progress)
    else:
        run = _Run(lowered, counters, goal, statistics, options, searcher or _searcher(budget, progress))
        run.is_here = searcher is None
    answers = run.answers()
    clock.lap("search")
    free = _free(lowered, run.live, holes)
    solutions = Solutions(holes, tuple(h.names for h in lowered.holes), answers, free, lowering.objective)
    oracle = None
    with suppress(KeyboardInterrupt):  # a figure beside the answers, which are here
        oracle = oracle_tests(solutions) if options.engine == "propagation" else None
    clock.lap("expand")
    return ProgramResult(solutions, run.complete, run.reason, counters.visited, oracle, phases, statistics)


class _Run:
    """One search, in factors where the problem has any."""

    def __init__(
        self,
        lowered: Lowered,
        counters: Counters,
        goal: Goal,
        statistics: Statistics,
        options: EngineOptions,
        searcher: Searcher,
    ) -> None:
        self.lowered = lowered
        self.options = options
        self.counters = counters
        self.goal: Goal = goal
        self.statistics = statistics
        self.searcher = searcher
        self.is_here = True
        """The search runs in this process, so that what was found first bounds it."""
        self.complete, self.reason = True, ""
        self.live: frozenset[int] = frozenset()

    def answers(self) -> tuple[tuple[Cost, Found], ...]:
        first = self._cheap_members() if self.goal == "best" and self.is_here and self.options.joins else ()
        model = model_of(self.lowered, self.counters, self.options)
        root = None if model is None else model.root()
        if model is None or root is None:
            return ()
        self.live = model.live
        parts = factors(self.lowered, self.live) if self.options.factors else None
        if parts is None:
            return self._search(model, first)
        if self.goal != "all":
            # Costs add up, so the product of cheapest answers is the cheapest product.
            answers = self._products(model, root, parts, self.goal)
            if answers or not self.complete:
                return answers
        answers = self._products(model, root, parts, "all")
        return answers if self.goal == "all" else answers[:1]

    def _products(self, model: ProgramModel, root: Candidate, parts: list[Factor], goal: Goal) -> tuple[tuple[Cost, Found], ...]:
        """Answers that are made of one answer per factor, cheapest first."""
        found: list[list[Found]] = []
        for number, part in enumerate(parts):
            found.append(self._factor(number, part, goal))
            if not found[-1]:
                return ()
        answers: list[tuple[Cost, Found]] = []
        for chosen in product(*found):
            functions = {hole: f.functions[hole] for part, f in zip(parts, chosen, strict=True) for hole in part.holes}
            whole = model.confirmed(root, functions)
            if whole is not None:
                answers.append(whole)
        return tuple(sorted(answers, key=lambda a: a[0]))

    def _factor(self, number: int, part: Factor, goal: Goal) -> list[Found]:
        model = model_of(part.lowered, self.counters, self.options)
        if model is None:
            return []
        outcome = self.searcher(number, model, goal, self.statistics, None)
        self.complete &= outcome.complete or goal == "first"
        self.reason = self.reason or outcome.reason
        return [found for _, found in outcome.answers]

    def _search(self, model: ProgramModel, first: tuple[tuple[Cost, Found], ...]) -> tuple[tuple[Cost, Found], ...]:
        below = first[0][0] if first else None
        model.below = None if below is None else below[1]
        outcome = self.searcher(0, model, self.goal, self.statistics, below)
        self.complete, self.reason = outcome.complete, outcome.reason
        return outcome.answers or first

    def _cheap_members(self) -> tuple[tuple[Cost, Found], ...]:
        """An answer of members that cost little, of sets that are large: the search for a better one then has a bound."""
        for cost in CHEAP:
            holes = tuple(replace(h, members=_cheaper(h.members, cost)) for h in self.lowered.holes)
            if all(new.members is old.members for new, old in zip(holes, self.lowered.holes, strict=True)):
                return ()
            model = model_of(replace(self.lowered, holes=holes), self.counters, self.options)
            if model is None or model.root() is None:
                continue
            outcome = self.searcher(0, model, "best", self.statistics, None)
            if outcome.answers or not outcome.complete:
                return outcome.answers
        return ()


def model_of(lowered: Lowered, counters: Counters, options: EngineOptions = ALL_IDEAS) -> ProgramModel | None:
    """None where a fixed cell cannot hold what the goal asks for."""
    try:
        requirements = requirements_of(lowered, Universe({**lowered.numbers.numbers}, Normaliser(algebra_for(i32, "syntactic"))))
        return ProgramModel(lowered, requirements, start_of(lowered, requirements), counters, options)
    except ConflictError:
        return None


def _cheaper(members: FunctionSet, cost: int) -> FunctionSet:
    """Members of a large set that cost no more, where those are known."""
    found = members.up_to(cost) if members.size_bound * members.points > LARGE and isinstance(members, ByCost) else None
    return members if found is None else found


def _searcher(budget: Budget, progress: Callable[[Statistics], None] | None) -> Searcher:
    started = time.process_time()

    def here(number: int, model: ProgramModel, goal: Goal, statistics: Statistics, below: Cost | None) -> Outcome[Found]:
        left = budget
        if budget.cpu_s is not None:
            left = replace(budget, cpu_s=max(0.0, budget.cpu_s - (time.process_time() - started)))
        return search(model, goal=goal, below=below, budget=left, statistics=statistics, progress=progress)

    return here


def oracle_tests(solutions: Solutions) -> int | None:
    """Tests of a walk over the holes in order that only enters partial answers with a solution behind them."""
    if not solutions.answers or solutions.count > ORACLE_LIMIT:
        return None
    tests = 0
    found = list(solutions)
    prefixes: list[tuple[int, ...]] = [()] * len(found)
    seen: dict[tuple[int, bytes], int] = {}
    for hole in solutions.holes:
        assert hole.choices is not None
        tests += len(set(prefixes)) * size_of(hole.choices.members)
        for n, solution in enumerate(found):
            key = (id(hole), solution.members[hole.name].table.tobytes())
            prefixes[n] = (*prefixes[n], seen.setdefault(key, len(seen)))
    return tests


def size_of(members: FunctionSet) -> int:
    """Number of members; at least as many where they are too many to list."""
    if members.size_bound > MOST_COUNTED:
        return members.size_bound
    listed = members.matching(np.ones((members.points, members.values), np.bool_))
    return members.size_bound if listed is None else len(listed)


def _free(lowered: Lowered, live: frozenset[int], holes: tuple[FlatStatement, ...]) -> tuple[str, ...]:
    bound = {name for n, hole in enumerate(lowered.holes) if n in live for name in hole.names}
    return tuple(h.name for h in holes if h.name not in bound)


def _members(hole: FlatStatement) -> list[Member]:
    """The hole's members; one of them where they are too many to list."""
    assert hole.choices is not None
    members = hole.choices.members
    allowed = np.ones((members.points, members.values), np.bool_)
    listed = members.matching(allowed)
    if listed is not None:
        return [Member(listed.expr(j), listed.tables[j]) for j in range(len(listed))]
    for point in range(members.points):
        choices = allowed[point].copy()
        for value in np.flatnonzero(choices).tolist():
            allowed[point] = False
            allowed[point, value] = True
            listed = members.matching(allowed)
            if listed is not None and len(listed):
                return [Member(listed.expr(0), listed.tables[0])]
            if listed is None:
                break
    raise AssertionError("a set with every point decided lists its member")


class _Clock:
    def __init__(self, phases: dict[str, float]) -> None:
        self.phases = phases
        self.last = time.process_time()

    def lap(self, name: str) -> None:
        now = time.process_time()
        self.phases[name] = round(now - self.last, 6)
        self.last = now
