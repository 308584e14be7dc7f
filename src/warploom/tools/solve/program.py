"""`warploom solve`: finds the members of a dataflow program's holes, replays every answer, reports with one line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np

from warploom.core import Diagnostic, Span, Status, UserError, read_text_file
from warploom.core.limits import why
from warploom.ir.dataflow import Gathered, GatherSet, Program, named_statements, parse_program, program_text, replays
from warploom.ir.swizzle import IntArray
from warploom.kernels import find_program
from warploom.solve import (
    Budget,
    Event,
    EventLog,
    Goal,
    Journal,
    ResultCache,
    Statistics,
    cluster_executor,
    problem_key,
    process_executor,
)
from warploom.synth.dataflow import (
    OF_MACHINES,
    ONLY_COST,
    PARTS,
    Objective,
    PartsResult,
    ProgramResult,
    Solution,
    machine_counts,
    objective_of,
    program_movement,
    solve_in_parts,
    solve_program,
)
from warploom.tools.command.lines import BAD_INPUT, EXIT_BY_STATUS, GAVE_UP, IMPOSSIBLE, Line, plain_line, turned_into_error
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.solve.advice import without_answer
from warploom.tools.solve.cached import DOMAIN, UNSAT, entry, listed_objective, outcome_of
from warploom.tools.solve.code import write_kernel

LISTED = 1000
"""Solutions that a report lists at most."""
REPLAYED = 20_000
"""Solutions that are replayed at most; with more, the verdict is `tested`."""
BATCH = 256
"""Solutions replayed together."""


@dataclass(frozen=True, slots=True)
class Source:
    """A program to solve."""

    case: str
    """Case as it was asked for."""
    text: str
    file: str
    """Name of the file, for places of errors."""
    goal: str | None = None
    """Goal of the last statement, where the text does not say it; None: the text says it."""


@dataclass(frozen=True, slots=True)
class InParts:
    """Searches in parts, when this process does not."""

    parts: int = PARTS
    workers: int | None = None
    """Processes; None: one per CPU."""
    cluster: str | None = None
    """Address of a Dask scheduler, instead of processes."""
    journal: Path | None = None
    events: Path | None = None

    def executor(self) -> Executor:
        return cluster_executor(self.cluster) if self.cluster is not None else process_executor(self.workers)


@dataclass(frozen=True, slots=True)
class SolveOptions:
    goal: Goal = "best"
    budget_s: float | None = None
    budget_nodes: int | None = None
    cache: Path | None = None
    """A database of earlier answers."""
    distinct: bool = False
    """List and replay one solution per movement."""
    in_parts: InParts | None = None
    cuda: Path | None = None
    """Where the kernel of the best solution goes."""
    objective: Objective | None = None
    """None: what a warp does, for the best solution."""

    @property
    def minimised(self) -> Objective:
        return self.objective or (OF_MACHINES if self.goal == "best" else ONLY_COST)


def read_source(asked: str, goal: str | None = None) -> Source:
    """The program of a file, or of a case of the library; UserError says what was expected."""
    path = Path(asked)
    if not path.exists() and not asked.endswith((".swflow", "/")):
        return Source(asked, find_program(asked), asked, goal)
    text = read_text_file(path, "a dataflow file")
    if path.suffix == ".py":
        message = "expected a dataflow file (.swflow) or a case, got a Python file"
        fix = "Sketches are for `warploom synth`, loops for `warploom scan lift`, tensor functions for `warploom explore`."
        raise UserError(Diagnostic("NOT_DATAFLOW", message, Span(asked, 1, 1, 1, 1), fix))
    return Source(asked, text, asked, goal)


def solve(source: Source, options: SolveOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """Solves one program, or finds its answer in the cache; UserError for a program that is wrong in itself."""
    started = time.process_time()
    program = parse_program(source.text, source.file, source.goal)
    phases = {"parse": round(time.process_time() - started, 6)}
    if options.cache is None or options.cuda is not None:
        return _with_notes(_solved(source.case, program, options, phases, stopwatch, progress)[0], program)
    events: list[Event] = []
    with ResultCache(options.cache, events.append) as cache:
        key = _key(program, options)
        found = cache.find(key)
        asked = options.goal, options.distinct, objective_of(program, options.minimised)
        kept = outcome_of(source.case, program, _choices(program), found, asked, phases, stopwatch)
        if kept is not None:
            outcome = kept
        else:
            outcome, tables = _solved(source.case, program, options, phases, stopwatch, progress)
            if _is_final(outcome.line):
                cache.add(key, entry(outcome.line, tables))
    return _with_notes(replace(outcome, messages=(*outcome.messages, *map(_warning, events))), program)


def _with_notes(outcome: Outcome, program: Program) -> Outcome:
    """Says what was read otherwise than it is written."""
    return replace(outcome, line=outcome.line | {"read_as": list(program.notes)}) if program.notes else outcome


def _solved(
    case: str, program: Program, options: SolveOptions, phases: dict[str, float], stopwatch: Stopwatch, progress: Progress
) -> tuple[Outcome, list[dict[str, IntArray]]]:
    """Outcome with the tables of the solutions that the line lists."""

    def tell(statistics: Statistics) -> None:
        progress(f"{statistics.nodes} nodes, {statistics.refuted} refuted, {statistics.answers} answers")

    left_s = None if options.budget_s is None else max(0.0, options.budget_s - stopwatch.read().seconds)
    budget = Budget(options.budget_nodes, left_s)
    messages: tuple[str, ...] = ()
    parts: PartsResult | None = None
    if options.in_parts is None:
        result = solve_program(program, goal=options.goal, budget=budget, progress=tell, objective=options.minimised)
    else:
        parts, messages = _in_parts(program, options.in_parts, options, budget, progress)
        result = parts.result
    progress("replaying")
    holes = _holes(program, result)
    started = time.process_time()
    solutions = result.solutions.movements() if options.distinct else result.solutions
    check = _replay(program, holes, solutions)
    phases |= {**result.phases, "replay": round(time.process_time() - started, 6)}
    outcome = _outcome(case, program, options, holes, result, check, phases, stopwatch)
    if options.cuda is not None and check.listed and outcome.line["verdict"] in ("proved", "tested"):
        progress("printing and reading back")
        outcome = _with_kernel(outcome, program, _gathers(holes, check.listed[0]), options.cuda, stopwatch)
    tables = [{h.name: s.members[h.key].table.astype(np.int64) for h in holes} for s in check.listed]
    if parts is None:
        return outcome, tables
    peak_mb = max(cast(float, outcome.line["peak_mb"]), parts.peak_mb)
    line = outcome.line | {"peak_mb": peak_mb, "parts": parts.parts, "resumed": parts.resumed}
    return replace(outcome, line=line, messages=messages), tables


def _with_kernel(
    outcome: Outcome, program: Program, gathers: Mapping[str, IntArray], path: Path, stopwatch: Stopwatch
) -> Outcome:
    """The same with the kernel of the solution written; an error where it cannot be."""
    line = dict(outcome.line)
    try:
        line["kernel"] = write_kernel(program_movement(str(line["case"]), program, gathers), path)
    except UserError as error:
        turned_into_error(line, f"solved, but not written: {one_line(error.diagnostics[0])}")
        code = BAD_INPUT if error.diagnostics[0].code in ("NOT_WRITTEN", "NOT_PRINTED", "TOO_MANY_LANES") else GAVE_UP
        return replace(outcome, line=line, exit_code=code, messages=(*outcome.messages, *rendered(error.diagnostics)))
    line |= {"seconds": stopwatch.read().seconds, "wall_s": stopwatch.read().wall_s}
    return replace(outcome, line=line, written=(path,))


def _in_parts(
    program: Program, crew: InParts, options: SolveOptions, budget: Budget, progress: Progress
) -> tuple[PartsResult, tuple[str, ...]]:
    """The result, and what is wrong with the journal."""
    journal = None if crew.journal is None else Journal(crew.journal)
    events = None if crew.events is None else EventLog(crew.events).write
    found = solve_in_parts(
        program, crew.executor, parts=crew.parts, goal=options.goal, budget=budget, journal=journal, events=events,
        progress=progress, objective=options.minimised,
    )  # fmt: skip
    return found, () if journal is None else rendered(journal.damage)


def _key(program: Program, options: SolveOptions) -> str:
    """Comments, file and layout do not matter, but for the lines in the names of holes."""
    names = [name for name, _ in named_statements(program)]
    by = objective_of(program, options.minimised).parts
    return problem_key(("solve with tables", program_text(program), names, options.goal, options.distinct, by))


def _is_final(line: Line) -> bool:
    """Whether solving it again would say the same."""
    return line["status"] in ("solved", "unsat") and (line["complete"] is True or line["goal"] == "first")


def _warning(event: Event) -> str:
    return f"warning: {event.kind}: {event.fields.get('path', '')} ({event.fields.get('reason', '')})"


@dataclass(frozen=True, slots=True)
class _Check:
    """Result of replaying the solutions."""

    listed: list[Solution]
    replayed: int
    refuted: int | None
    """The first solution, from 1, that does not meet the goal."""
    reason: str = ""
    """Reason why some solutions were not replayed."""


@dataclass(frozen=True, eq=False, slots=True)
class _Hole:
    name: str
    key: str
    """Name by which the engine knows it."""
    choices: GatherSet


def _holes(program: Program, result: ProgramResult) -> list[_Hole]:
    """Holes in order of evaluation, which is the engine's order, too."""
    holes = _choices(program).items()
    return [_Hole(name, known.name, choices) for (name, choices), known in zip(holes, result.solutions.holes, strict=True)]


def _choices(program: Program) -> dict[str, GatherSet]:
    """Sets from which each hole is chosen, in order of evaluation."""
    found = {name: s.value.choices for name, s in named_statements(program) if isinstance(s.value, Gathered)}
    return {name: choices for name, choices in found.items() if not choices.is_single}


def _replay(program: Program, holes: list[_Hole], found: Iterable[Solution]) -> _Check:
    solutions = list(islice(found, REPLAYED))
    replayed, refuted, reason = 0, None, ""
    try:
        for start in range(0, len(solutions), BATCH):
            batch = solutions[start : start + BATCH]
            meets = replays(program, [_gathers(holes, solution) for solution in batch])
            if not meets.all():
                refuted = start + int(np.argmin(meets)) + 1
                break
            replayed += len(batch)
    except KeyboardInterrupt as stop:
        reason = f"{why(stop)} during the replay"
    return _Check(solutions[:LISTED], replayed, refuted, reason)


def _gathers(holes: list[_Hole], solution: Solution) -> dict[str, IntArray]:
    return {hole.name: hole.choices.gather(solution.members[hole.key].table.astype(np.int64)) for hole in holes}


def _texts(holes: list[_Hole], solution: Solution) -> dict[str, str]:
    return {hole.name: hole.choices.text(solution.members[hole.key].expr) for hole in holes}


def _outcome(
    case: str,
    program: Program,
    options: SolveOptions,
    holes: list[_Hole],
    result: ProgramResult,
    check: _Check,
    phases: Mapping[str, float],
    stopwatch: Stopwatch,
) -> Outcome:
    asked_all = options.goal == "all"
    count, distinct = result.solutions.count, len(result.solutions.answers)
    status, reason = _status(result, count, asked_all)
    fields: Line = {}
    verdict = "unchecked"
    if check.refuted is not None:
        status, verdict = "error", "refuted"
        reason = f"internal error: the replay of solution {check.refuted} does not meet the goal"
    elif check.reason:
        status, reason = "unknown", check.reason
        if check.replayed:
            verdict, fields["cases"] = "tested", check.replayed
    elif 0 < check.replayed == (distinct if options.distinct else count):
        verdict, fields["domain"] = "proved", DOMAIN
    elif check.replayed:
        verdict, fields["cases"] = "tested", check.replayed
    best = check.listed[0] if check.listed else None
    fields |= {
        "goal": options.goal,
        "objective": listed_objective(options.goal, result.solutions.objective),
        "complete": result.complete,
        "count": count,
        "distinct": distinct,
        "cost": best and best.cost,
        "visited": result.visited,
        "oracle": result.oracle,
        "ineffectiveness": result.ineffectiveness and round(result.ineffectiveness, 3),
        "phases": dict(phases),
        "holes": _texts(holes, best) if best else {},
    }
    if best is not None:
        counts = machine_counts(program, _gathers(holes, best))
        fields |= counts | {"counted": "model"} if counts else {}
    if asked_all:
        fields["listed"] = "distinct" if options.distinct else "all"
        fields["solutions"] = [_texts(holes, solution) for solution in check.listed]
    if not count and status in ("unsat", "unknown"):
        limits = {"--budget": options.budget_s, "--nodes": options.budget_nodes}
        fields |= without_answer(program, result.reason, result.visited, result.statistics, limits)
    line = plain_line(case, status, stopwatch.read(), verdict=verdict, reason=reason, **fields)
    return Outcome(line, IMPOSSIBLE if check.refuted is not None else EXIT_BY_STATUS[status])


def _status(result: ProgramResult, count: int, asked_all: bool) -> tuple[Status, str]:
    """Status and reason; the best so far of a search that was stopped is an answer, some of all solutions are not."""
    if count and (result.complete or not asked_all):
        return "solved", result.reason
    if not result.complete:
        return "unknown", result.reason or "stopped"
    return "unsat", UNSAT
