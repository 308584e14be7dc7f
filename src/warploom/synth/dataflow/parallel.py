"""Solves a dataflow program in independent parts, in worker processes or on a cluster.

The first decision of a search is split (`solve.Split`), in each factor where the program is a product. A task carries the
program's text and the number of its part; what comes back are tables, from which the driver makes the solutions again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias, assert_never, cast

import numpy as np

from warploom.core.limits import why
from warploom.ir.dataflow import Program, parse_program, program_text
from warploom.ir.swizzle import Functions, Tables
from warploom.solve import (
    UNLIMITED,
    Budget,
    Cost,
    EventSink,
    Failed,
    Finished,
    Goal,
    Journal,
    Json,
    Outcome,
    Result,
    Spent,
    Split,
    Statistics,
    Task,
    problem_key,
    run_tasks,
    search,
)
from warploom.synth.dataflow.counters import Counters
from warploom.synth.dataflow.factors import factors
from warploom.synth.dataflow.lower import Lowering
from warploom.synth.dataflow.prices import ONLY_COST, Objective
from warploom.synth.dataflow.program_model import Found, ProgramModel
from warploom.synth.dataflow.solve import ProgramResult, model_of, solve_program
from warploom.synth.search.propagation import Candidate

PARTS = 16
"""Parts of a search, on however many workers, so that a journal serves another number of workers, too."""


_Value: TypeAlias = Mapping[str, Json]
"""Type of the values in a worker's report of its part."""


@dataclass(frozen=True, slots=True)
class PartOfSearch:
    """The question to a worker."""

    text: str
    """Text of the program; normalised."""
    problem: int
    """Number of the factor; 0 where the program is no product."""
    goal: Goal
    part: int
    parts: int
    budget: Budget
    """Budget of this part."""
    objective: Objective = ONLY_COST

    @property
    def key(self) -> str:
        budget = (self.budget.nodes, self.budget.cpu_s)
        by = () if self.objective == ONLY_COST else (self.objective.parts,)
        return problem_key(("part of a search", self.text, self.problem, self.goal, self.part, self.parts, budget, *by))


@dataclass(frozen=True, eq=False, slots=True)
class PartsResult:
    result: ProgramResult
    parts: int
    """Parts that gave a result."""
    resumed: int
    """Parts whose result is the journal's."""
    seconds: float
    """CPU time of the others, in all workers together."""
    peak_mb: float
    """Peak memory of the worker that took most; 0 when everything is the journal's."""


def solve_in_parts(
    program: Program,
    open_executor: Callable[[], Executor],
    *,
    parts: int = PARTS,
    goal: Goal = "all",
    budget: Budget = UNLIMITED,
    journal: Journal | None = None,
    events: EventSink | None = None,
    progress: Callable[[str], None] | None = None,
    objective: Objective = ONLY_COST,
) -> PartsResult:
    """`solve_program` on an executor: the same solutions in the same order, but for goal first, where any part's may be it.

    Each search opens an executor and leaves its `with` block, by an exception where running parts are of no use any more.
    `budget` holds for each part. An interruption (KeyboardInterrupt) ends the search with what the finished parts have found.
    """
    searcher = _PartsSearcher(program_text(program), open_executor, parts, budget, journal, events, progress, objective)
    result = solve_program(program, goal=goal, searcher=searcher, objective=objective)
    seconds = round(sum(s.seconds for s in searcher.spent), 3)
    result = replace(result, phases={**result.phases, "parts": seconds})
    peak_mb = max((s.peak_mb for s in searcher.spent), default=0.0)
    return PartsResult(result, searcher.done, searcher.done - len(searcher.spent), seconds, peak_mb)


# ------------------------------------------------------------ in a worker


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
    split: Split[Candidate, Found]
    holes: tuple[int, ...]
    counters: Counters
    probes: int
    tested: int
    """Tests made before the first decision."""


class _Kept(threading.local):
    """The last problem: what comes before the first decision is done once for all parts that a worker gets."""

    asked: tuple[str, int, Objective] | None = None
    problem: _Problem | None = None


_kept = _Kept()


def solve_part(asked: PartOfSearch) -> Json:
    """Runs in a worker. `answers`: position of the first decision's alternative, then the number of a table of `tables`[hole]."""
    if _kept.asked != (asked.text, asked.problem, asked.objective):
        _kept.problem = _problem(asked.text, asked.problem, asked.objective)
        _kept.asked = asked.text, asked.problem, asked.objective
    problem = _kept.problem
    if problem is None:
        return _encoded([], (), 0, Outcome((), True, ""), 0, 0)
    counters = problem.counters
    probes, tested = counters.probes, counters.tested
    outcome = search(problem.split.part(asked.part, asked.parts), goal=asked.goal, budget=asked.budget)
    probes, tested = counters.probes - probes, counters.tested - tested
    if asked.part == 0:  # once, though each worker does it
        probes, tested = probes + problem.probes, tested + problem.tested
    answers = [found for _, found in outcome.answers]
    return _encoded(answers, problem.holes, len(problem.split.alternatives), outcome, probes, tested)


def _problem(text: str, number: int, objective: Objective = ONLY_COST) -> _Problem | None:
    """None where propagation alone refutes it."""
    counters = Counters()
    lowered = Lowering(parse_program(text), counters, objective=objective).run()
    model = model_of(lowered, counters)
    if model is None or model.root() is None:
        return None
    divided = factors(lowered, model.live)
    counters.probes = counters.tested = 0  # the driver counts its own
    if divided is not None:
        model = model_of(divided[number].lowered, counters)
        if model is None:
            return None
    split = Split(model)
    return _Problem(split, tuple(sorted(model.live)), counters, counters.probes, counters.tested)


def _encoded(
    answers: Sequence[tuple[int, Found]],
    holes: tuple[int, ...],
    alternatives: int,
    outcome: Outcome[tuple[int, Found]],
    probes: int,
    tested: int,
) -> Json:
    tables: dict[int, dict[tuple[int, ...], int]] = {hole: {} for hole in holes}
    rows: list[Json] = []
    for position, found in answers:
        chosen = [tuple(cast("list[int]", found.functions[hole].tables[0].tolist())) for hole in holes]
        rows.append([position, *(tables[h].setdefault(t, len(tables[h])) for h, t in zip(holes, chosen, strict=True))])
    return {
        "alternatives": alternatives,
        "answers": rows,
        "tables": {str(hole): [list(table) for table in distinct] for hole, distinct in tables.items()},
        "complete": outcome.complete,
        "reason": outcome.reason,
        "probes": probes,
        "tested": tested,
        "statistics": asdict(outcome.statistics),
    }


# ------------------------------------------------------------ in the driver


class _EnoughError(Exception):
    """An answer is all that was asked for."""


class _PartsSearcher:
    """`solve.Searcher` that gives each part of a search to the executor."""

    def __init__(
        self,
        text: str,
        open_executor: Callable[[], Executor],
        parts: int,
        budget: Budget,
        journal: Journal | None,
        events: EventSink | None,
        progress: Callable[[str], None] | None,
        objective: Objective,
    ) -> None:
        self.text = text
        self.objective = objective
        self.open_executor = open_executor
        self.parts = parts
        self.budget = budget
        self.journal = journal
        self.events = events
        self.progress = progress
        self.spent: list[Spent] = []
        self.done = 0
        self.interrupted = False

    def __call__(
        self, number: int, model: ProgramModel, goal: Goal, statistics: Statistics, below: Cost | None = None
    ) -> Outcome[Found]:
        asked = [
            PartOfSearch(self.text, number, goal, part, self.parts, self.budget, self.objective) for part in range(self.parts)
        ]
        tasks = [Task(part.key, part) for part in asked]
        values: dict[str, _Value] = {}
        reasons: list[str] = []
        try:
            if self.interrupted:
                raise KeyboardInterrupt
            self._run(tasks, goal, model, values, reasons)
        except _EnoughError:
            pass
        except KeyboardInterrupt as stop:
            self.interrupted = True
            reasons.append(why(stop))
            if self.journal is not None:  # results that were on their way here
                accept = _Accepting(model)
                for task in tasks:
                    if task.key in self.journal and accept(task.argument, self.journal.find(task.key)):
                        values.setdefault(task.key, cast(_Value, self.journal.find(task.key)))
        self.done += len(values)
        return _merged(model, goal, [values[task.key] for task in tasks if task.key in values], reasons, statistics)

    def _run(
        self, tasks: list[Task[PartOfSearch]], goal: Goal, model: ProgramModel, values: dict[str, _Value], reasons: list[str]
    ) -> None:
        """Collects what the parts give by key. No more than that, since an interruption may come at any point."""
        with self.open_executor() as executor:
            accept = _Accepting(model)
            results = run_tasks(tasks, solve_part, executor=executor, journal=self.journal, events=self.events, accept=accept)
            with closing(cast("Generator[Result[PartOfSearch, _Value]]", results)):
                for done, result in enumerate(results, 1):
                    match result:
                        case Finished(task, value, spent):
                            values[task.key] = cast(_Value, value)
                            if spent is not None:
                                self.spent.append(spent)
                        case Failed(task, reason):
                            reasons.append(f"part {task.argument.part} of {self.parts}: {reason}")
                        case _:
                            assert_never(result)
                    answers = sum(len(cast("list[Json]", value["answers"])) for value in values.values())
                    if self.progress is not None:
                        self.progress(f"{done} of {self.parts} parts, {answers} answers")
                    if goal == "first" and answers:
                        raise _EnoughError


def _merged(
    model: ProgramModel, goal: Goal, values: Sequence[_Value], reasons: list[str], statistics: Statistics
) -> Outcome[Found]:
    """The outcome of the whole search; `reasons`: why some parts are missing."""
    if len({cast(int, value["alternatives"]) for value in values}) > 1:
        raise RuntimeError("workers disagree on the alternatives of the first decision")
    counters = model.counters
    probes = counters.probes + sum(cast(int, value["probes"]) for value in values)
    tested = counters.tested + sum(cast(int, value["tested"]) for value in values)
    answers: list[tuple[Cost, int, Found]] = []
    tables = _Tables(model)
    for value in values:
        answers += tables.answers(value)
        for name, count in cast("dict[str, int]", value["statistics"]).items():
            setattr(statistics, name, getattr(statistics, name) + count)
    counters.probes, counters.tested = probes, tested  # finding again what a worker found is no test
    answers.sort(key=lambda a: a[:2])
    found = tuple((cost, answer) for cost, _, answer in (answers if goal == "all" else answers[:1]))
    if goal == "first" and found:
        return Outcome(found, False, "", statistics)
    reasons += [str(value["reason"]) for value in values if value["reason"]]
    complete = not reasons and all(value["complete"] is True for value in values)
    return Outcome(found, complete, reasons[0] if reasons else "", statistics)


class _Accepting:
    """Whether a value out of a journal, which may be anything, is one that `solve_part` gives for this model."""

    def __init__(self, model: ProgramModel) -> None:
        self._model = model
        self._tables = _Tables(model)
        self._alternatives: int | None = None

    def __call__(self, asked: PartOfSearch, value: Json) -> bool:
        match value:
            case {
                "alternatives": int(alternatives), "answers": [*_], "tables": Mapping(), "complete": bool(), "reason": str(),
                "probes": int(), "tested": int(), "statistics": Mapping() as statistics,
            }:  # fmt: skip
                is_whole = statistics.keys() == asdict(Statistics()).keys() and all(
                    isinstance(n, int | float) for n in statistics.values()
                )
            case _:
                return False
        counters = self._model.counters
        before = counters.probes, counters.tested
        try:
            answers = self._tables.answers(value)
        except (AssertionError, RuntimeError, ValueError, TypeError, KeyError, IndexError, OverflowError):
            return False
        finally:
            counters.probes, counters.tested = before  # reading it is no test
        positions = {position for _, position, _ in answers}
        return is_whole and alternatives == self._asked() and all(type(p) is int and 0 <= p <= alternatives for p in positions)

    def _asked(self) -> int:
        if self._alternatives is None:
            counters = self._model.counters
            before = counters.probes, counters.tested
            self._alternatives = len(Split(self._model).alternatives)
            counters.probes, counters.tested = before
        return self._alternatives


class _Tables:
    """Makes answers of a worker's tables."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self.functions: dict[tuple[int, bytes], Functions] = {}

    def answers(self, value: _Value) -> list[tuple[Cost, int, Found]]:
        """Answers with the position of the first decision's alternative that led to each."""
        start = self.model.start
        tables = cast("dict[str, list[list[int]]]", value["tables"])
        functions = [(int(hole), [self._function(int(hole), table) for table in distinct]) for hole, distinct in tables.items()]
        found: list[tuple[Cost, int, Found]] = []
        for position, *rows in cast("list[list[int]]", value["answers"]):
            chosen: list[Functions | None] = [None] * len(self.model.sets)
            for (hole, distinct), row in zip(functions, rows, strict=True):
                chosen[hole] = distinct[row]
            answer = self.model.answer(Candidate(start.allowed, chosen, start.domains, start.needed))
            assert answer is not None
            found.append((answer[0], position, answer[1]))
        return found

    def _function(self, hole: int, values: Sequence[int]) -> Functions:
        table: Tables = np.array(values, np.int16)
        key = hole, table.tobytes()
        if key not in self.functions:
            members = self.model.sets[hole]
            allowed = np.zeros((members.points, members.values), np.bool_)
            allowed[np.arange(members.points), table] = True
            found = members.matching(allowed)
            if found is None or not len(found):
                raise RuntimeError("a worker's answer is no member of the hole")
            self.functions[key] = found.select(np.zeros(1, np.int64))
        return self.functions[key]
