"""`warploom explore` on a tensor function: its kernels one after the other; the best of each is timed and checked together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from warploom.core import Diagnostic, Status, UserError
from warploom.core.limits import INTERRUPTION
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Program
from warploom.schedule.bound import Bound
from warploom.schedule.search import (
    Exploration,
    Implementation,
    Live,
    Options,
    PartsExploration,
    ProgramExploration,
    explore_programs,
    strategy_named,
)
from warploom.solve import Event, EventLog, EventSink, cluster_executor, is_importing_script
from warploom.solve.jit import announced
from warploom.solve.space import Candidate
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.messages import rendered
from warploom.tools.command.outcome import Outcome, Progress, gave_up
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.advice import without_implementation
from warploom.tools.explore.budget import Alarm, OutOfTimeError, SearchEndedError, WallBudget, within
from warploom.tools.explore.check import Checked, checked
from warploom.tools.explore.choices import list_choices
from warploom.tools.explore.data import Data, TooManyElementsError, reference_data
from warploom.tools.explore.evaluators import evaluators, programs
from warploom.tools.explore.floor import alone, prepared, with_floor
from warploom.tools.explore.judging import Judging
from warploom.tools.explore.options import Function, KernelOptions
from warploom.tools.explore.parting import Parting, Variant, parting_of, whole_of
from warploom.tools.explore.replay import replay_file
from warploom.tools.explore.result import Explored, all_decisions, facts, judged_line, named, rounded, told
from warploom.tools.explore.size import estimate_size

_LISTED_SHARE = 0.1
"""Share of a budget that is left for the text of choices."""
_INTERRUPTED_S = 5.0
"""Most seconds of the check of what an interrupted search found."""


def explore_tensor(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """The line of the fastest program found (or of the one replayed, of the open choices, or of the space's size), its nests and
    what binds them. UserError (MEASURING) in a process that a search started, which imports the script that searches."""
    if is_importing_script():
        message = "expected a script that searches where it runs, not where it is imported, as the processes of a search do"
        fix = 'Put the call under `if __name__ == "__main__":`.'
        raise UserError(Diagnostic("MEASURING", message, fix=fix))
    with announced(progress):
        if options.only_choices:
            return _listed(case, function, options, stopwatch)
        if options.only_size:
            return estimate_size(case, function, options, stopwatch, progress)
        if options.replayed is not None:
            return replay_file(case, function, options, options.replayed, stopwatch, progress)
        return _searched(case, function, options, stopwatch, progress)


def _listed(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch) -> Outcome:
    """The open choices. Which of their values are possible is tried until the budget is spent; one that somebody gave ends also
    what comes before."""
    budget = WallBudget(options.wall_budget_s)
    try:
        with nullcontext() if options.budget_s is None else within(options.budget_s + budget.compiled_s):
            return list_choices(case, function, options, stopwatch, lambda: budget.left_s < _LISTED_SHARE * budget.limit_s)
    except OutOfTimeError:
        return gave_up(case, "budget: wall seconds, before all choices were listed", stopwatch)


def _searched(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    budget = WallBudget(options.wall_budget_s)
    parting = parting_of(function, options)
    program = parting.first.program
    try:
        data = reference_data(parting.first.function, program, options, progress, options.wall_budget_s)
    except TooManyElementsError as error:
        return gave_up(case, str(error), stopwatch)
    seen: list[Event] = []

    def check(parts: int, implementations: Sequence[Implementation[Candidate]]) -> Checked:
        variant = parting.variants[parts]
        return checked(variant.program, variant.function, implementations, data, options, progress, budget.check_s)

    judging = Judging(budget, check)
    is_floored = options.target.kind == "cpu" and options.is_measured and not options.is_by_hand
    if is_floored:
        prepared(program, budget.check_s)
    without = _Without("budget: wall seconds", is_early=True)
    late_s = partial(budget.late_s, options.target.kind)
    searched: PartsExploration | None = None
    found: ProgramExploration | None = None
    try:
        ending = within(late_s(), SearchEndedError, late_s) if is_floored else nullcontext(Alarm())
        with ending as alarm:
            searched = _explored(parting, options, data, budget, judging, seen, progress)
            found = searched.found
        if alarm.has_rung and found.reason == INTERRUPTION:
            found = replace(found, reason=without.why)
    except SearchEndedError:
        pass
    except UserError as error:
        if not is_floored or error.diagnostics[0].code != "NO_IMPLEMENTATION":
            raise
        without = _Without(error.diagnostics[0].message, is_early=False)
    parts = _Parts(parting, searched, judging)
    told_of = (data, tuple(seen), stopwatch, progress, budget, without if is_floored else None)
    try:
        outcome = _outcome(case, parts, options, found, *told_of)
    except KeyboardInterrupt:  # where neither the check nor the proof ran
        if found is None:
            raise
        found = replace(found, reason=INTERRUPTION)
        outcome = _outcome(case, parts, options, found, *told_of)
    return replace(outcome, messages=(*rendered(found.damage if found is not None else ()), *outcome.messages))


@dataclass(frozen=True, slots=True)
class _Without:
    """Why a search that was not made, or left a stage open, has no implementation: then plain loops are taken."""

    why: str
    is_early: bool
    """A longer search may have found some."""

    def after(self, found: ProgramExploration | None) -> _Without:
        if found is None:
            return self
        if found.complete:
            return _Without("the space holds none", is_early=False)
        return _Without(found.reason or self.why, is_early=True)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The numbers of parts that were asked about, and what was found of them."""

    parting: Parting
    searched: PartsExploration | None
    judging: Judging

    @property
    def number(self) -> int:
        """Number of parts of the fastest program."""
        return next(iter(self.parting.variants)) if self.searched is None else self.searched.parts

    @property
    def chosen(self) -> Variant:
        return self.parting.first if self.searched is None else self.parting.variants[self.searched.parts]

    @property
    def taken(self) -> dict[str, str]:
        return {} if self.searched is None else self.parting.decided(self.searched.parts)

    @property
    def others(self) -> tuple[Exploration[Candidate], ...]:
        return () if self.searched is None else self.searched.others

    @property
    def line(self) -> Line:
        """The field `parts`, or `online`: what was found of each number of parts, or tile."""
        if self.searched is None or len(self.searched.tried) == 1:
            return {}
        field = self.parting.field
        return {
            field: [
                {field: self.parting.told(t.parts), "root_bound_ms": rounded(t.bound_ms), "time_ms": rounded(t.time_ms)}
                for t in self.searched.tried
            ]
        }


def _explored(
    parting: Parting,
    options: KernelOptions,
    data: Data,
    budget: WallBudget,
    judging: Judging,
    seen: list[Event],
    progress: Progress,
) -> PartsExploration:
    is_alone = options.target.kind == "cuda" and (options.is_repeatable or not toolchain_available())
    with ExitStack() as stack:
        executor = stack.enter_context(cluster_executor(options.cluster)) if options.cluster is not None else None
        variants = parting.variants
        return explore_programs(
            {parts: variant.program for parts, variant in variants.items()},
            options.target,
            Bound,
            Options(
                strategy=strategy_named(options.strategy or "refine", options.seed),
                order=options.decision_order,
                budget_s=budget.left_s if is_alone else budget.search_s(options.target.kind),
                nodes=options.nodes,
            ),
            fixed={parts: variant.fixed for parts, variant in variants.items()},
            features=options.features,
            evaluators=evaluators(options, data, executor),
            timers=programs(options, data),
            journal=options.journal,
            events=_events(options.journal, seen),
            progress=lambda live: progress(live_text(live)),
            executor=executor,
            more=None if is_alone or options.is_measured else judging.more,
        )


def _events(journal: Path | None, seen: list[Event]) -> EventSink:
    """Keeps the events for the page, and in the journal's folder."""
    if journal is None:
        return seen.append
    try:
        journal.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"expected a folder for the journal, got {journal}: {error.strerror or error}"
        raise UserError(Diagnostic("JOURNAL_UNUSABLE", message, fix="Name a writable folder.")) from None
    log = EventLog(journal / "events.jsonl")

    def sink(event: Event) -> None:
        seen.append(event)
        log.write(event)

    return sink


def live_text(live: Live) -> str:
    best = "none yet" if live.best_ms is None else f"{live.best_ms:.4g} ms"
    return (
        f"{live.kernel}: best {best}, bound {live.bound_ms:.4g} ms, {live.nodes} nodes, {live.pruned} pruned, "
        f"{live.dead_ends} dead ends, {live.evaluated} evaluated, {live.wall_s:.0f} s"
    )


def _outcome(
    case: str,
    parts: _Parts,
    options: KernelOptions,
    found: ProgramExploration | None,
    data: Data,
    events: tuple[Event, ...],
    stopwatch: Stopwatch,
    progress: Progress,
    budget: WallBudget,
    without: _Without | None,
) -> Outcome:
    """`found`: None where the search ended before it began. `without`: None where plain loops are never taken."""
    function, program = parts.chosen.function, parts.chosen.program
    stages = found.stages if found is not None else ()
    every = (*stages, *parts.others)
    searched: Line = (
        {
            "nodes": sum(s.nodes for s in every),
            "pruned": sum(s.pruned for s in every),
            "dead_ends": sum(s.dead_ends for s in every),
            "evaluated": sum(s.evaluated for s in every),
            "duplicates": sum(s.duplicates for s in every),
            "unfit": sum(s.unfit for s in every),
            "resumed": sum(s.resumed for s in every),
            "complete": found is not None and found.complete,
            "root_bound_ms": None if found is None else rounded(found.root_bound_ms),
            "compile_s": round(budget.compiled_s, 3),
        }
        | parts.line
        | facts(function, program, options)
    )
    implementations = tuple(s.best for s in stages if s.best is not None)
    if without and (found is None or (len(implementations) < len(program.stages) and found.reason != INTERRUPTION)):
        ended = without.after(found)
        plain = alone(
            case, program, function, data, options, searched, budget.check_s, ended.why, stopwatch, is_early=ended.is_early
        )
        if plain is not None:
            return told(*plain, options)
    if found is None:
        assert without is not None, "a search beside which no plain loops are looked at raises"
        return gave_up(case, without.why, stopwatch)
    if len(implementations) < len(program.stages):
        return _unfinished(case, program, found, searched, options, stopwatch)
    if options.target.kind == "cuda":
        left = Checked("unchecked", 0, "interrupted before the check of the results; --replay of this line checks it")
        stages, results = parts.judging.final(parts.number, stages, left if found.reason == INTERRUPTION else None)
        found = replace(found, stages=stages)
        implementations = tuple(s.best for s in stages if s.best is not None)
    else:
        limit_s = min(budget.check_s, _INTERRUPTED_S) if found.reason == INTERRUPTION else budget.check_s
        results = checked(program, function, implementations, data, options, progress, limit_s)
    whole = whole_of(function, program, options)
    explored = Explored(program, implementations, found.spaces, events, parts.taken, whole)
    line = judged_line(case, results, found.time_ms, found.timings, searched, explored, options, stopwatch)
    if found.reason and line["status"] == "solved":
        line["ended"] = found.reason
    if line["status"] == "solved" and found.time_ms and options.target.kind == "cpu" and found.reason != INTERRUPTION:
        line, explored = with_floor(line, explored, function, data, options, budget.check_s)
    return told(line, explored, options)


def _unfinished(
    case: str, program: Program, found: ProgramExploration, searched: Line, options: KernelOptions, stopwatch: Stopwatch
) -> Outcome:
    """Outcome for a program in which some kernel has no implementation, with the decisions of the kernels before it."""
    status: Status = "unsat" if found.complete else "unknown"
    reason = "the space holds no implementation" if found.complete else found.reason or "no implementation was found in time"
    line = plain_line(case, status, stopwatch.read(), reason=reason) | searched | without_implementation(status, searched)
    if any(s.best is not None for s in found.stages):
        line["decisions"] = named(program, all_decisions(program, [s.decisions for s in found.stages], options.target))
    return Outcome(line, EXIT_BY_STATUS[status])
