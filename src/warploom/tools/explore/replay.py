"""`warploom explore --replay`: an implementation by its decisions, timed and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from warploom.core import Diagnostic, UserError
from warploom.schedule.backbone import Backbone, Program, Role
from warploom.schedule.bound import Bound
from warploom.schedule.choices import kernel_space
from warploom.schedule.search import KernelModel, Timed, Unfit, replay
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.budget import WallBudget
from warploom.tools.explore.check import LONGEST_S, Checked, checked
from warploom.tools.explore.data import Data, reference_data
from warploom.tools.explore.evaluators import evaluators, programs
from warploom.tools.explore.one_pass import NO, ONLINE
from warploom.tools.explore.options import Function, KernelOptions, program_of, sizes_of
from warploom.tools.explore.parting import whole_of, with_parts
from warploom.tools.explore.recorded import Asked, Recorded, differences, read_decisions, refused
from warploom.tools.explore.result import Explored, facts, judged_line, told

_TWO_PASSES = {ONLINE: NO}
"""Decisions that do not say in how many passes are of as many as the function has."""


def replay_file(
    case: str, function: Function, options: KernelOptions, file: Path, stopwatch: Stopwatch, progress: Progress
) -> Outcome:
    """The line of the implementation whose decisions `file` holds: a line of `explore`, or an object of names and values.

    UserError (REPLAY) for a line of another kernel, and for one of other sizes or another target unless these are asked for by
    name; as `replay` where the decisions do not hold here.
    """
    budget = None if options.budget_s is None else WallBudget(options.budget_s)
    recorded = read_decisions(file)
    taken = options.taken_before(recorded.decisions)
    asked = replace(options, fixed=taken or _TWO_PASSES)
    notes = _differences(recorded, program_of(function, asked, recorded.decisions), function, options)
    function, parts, own = with_parts(function, options, {n: v for n, v in recorded.decisions.items() if n not in taken})
    program = program_of(function, asked, own)
    decisions = _of_stages(program, own)
    try:
        spaces = tuple(kernel_space(stage, options.target, options.features) for stage in program.stages)
        implementations = tuple(
            replay(KernelModel(space, Bound(space)), decisions[stage.name])
            for stage, space in zip(program.stages, spaces, strict=True)
        )
    except UserError as error:
        if not notes:
            raise
        message = f"expected decisions that hold here ({'; '.join(notes)}), got: {error.diagnostics[0].message}"
        raise refused(recorded, message, "replay them where they were found") from error
    data = reference_data(function, program, options, progress)
    times: list[Timed] = []
    is_cpu, has_failed = options.target.kind == "cpu", False
    for stage, implementation in zip(program.stages, implementations, strict=True):
        progress(f"timing {stage.name}")
        evaluator = evaluators(options, _inputs_of(stage, data) if is_cpu else data, None)(stage)
        if evaluator is not None:
            with evaluator.open():
                (measurement,) = evaluator.retime([implementation.nest])
            match implementation.judged(measurement):
                case Timed() as timed:
                    times.append(timed)
                case Unfit(reason):
                    notes.append(f"{stage.name} has no time: {reason}")
                    has_failed = True
    if has_failed and is_cpu:
        found = Checked("unchecked", 0, "what fails while it is timed, in a process of its own, is not run in this one")
    else:
        limit_s = LONGEST_S if budget is None else budget.check_s
        found = checked(program, function, implementations, data, options, progress, limit_s)
    explored = Explored(program, implementations, spaces, taken=parts, whole=whole_of(function, program, options))
    time_ms = sum(t.time_ms for t in times) if len(times) == len(implementations) else None
    timer = programs(options, data)(program) if len(implementations) > 1 and not has_failed else None
    if timer is not None:
        (measurement,) = timer.retime([[i.nest for i in implementations]])
        if isinstance(measurement, Timed):
            time_ms, times = measurement.time_ms, [measurement]
    line = judged_line(case, found, time_ms, times, facts(function, program, options), explored, options, stopwatch)
    if notes:
        line["note"] = "; ".join([*notes, *([str(line["note"])] if "note" in line else [])])
    return told(line, explored, options)


def _differences(recorded: Recorded, program: Program, function: Function, options: KernelOptions) -> list[str]:
    """Differences between what is asked and what was recorded, on purpose. UserError (REPLAY) where it is not."""
    if not recorded.decisions and recorded.sizes:
        message = "expected a line with decisions, got one whose answer is the plain loop, which has none"
        raise refused(recorded, message, "search longer (--budget), and replay that line")
    if recorded.kernel in (None, program.name) and recorded.is_papers and options.features is None:
        message = "expected decisions of the full space, got those of the paper's"
        raise refused(recorded, message, "write --space paper")
    if recorded.sizes and dict(recorded.run_time) != dict(options.run_time):
        was = ",".join(f"{name}=?:{n}" for name, n in recorded.run_time.items()) or "none"
        now = ",".join(f"{name}=?:{n}" for name, n in options.run_time.items()) or "none"
        message = f"expected decisions for the same sizes known at run time ({now}), got those for {was}"
        raise refused(recorded, message, f"write --size {was}" if recorded.run_time else "give these sizes a value")
    sizes, target = sizes_of(function, options.sizes, options.run_time), options.target.name
    notes = differences(recorded, Asked(program.name, target, options.is_target_given, sizes, options.sizes))
    if recorded.threads not in (None, options.threads):
        notes.append(f"the decisions were found with {recorded.threads} thread(s), judged with {options.threads}")
    return notes


def _of_stages(program: Program, decisions: Mapping[str, str]) -> dict[str, dict[str, str]]:
    names = [stage.name for stage in program.stages]
    if len(names) == 1:
        return {names[0]: dict(decisions)}
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, value in decisions.items():
        stage, slash, choice = name.partition("/")
        if not slash or stage not in found:
            message = f"expected a stage before the choice ({', '.join(names)}), got {name!r}"
            raise UserError(Diagnostic("REPLAY", message, fix=f"write {names[0]}/{name}"))
        found[stage][choice] = value
    return found


def _inputs_of(stage: Backbone, data: Data) -> Data:
    """Without what the stage must make of them: results are compared when all is timed, so that what is unfit crashed."""
    read = {r.name for r in stage.regions if r.role is Role.INPUT}
    return replace(data, outputs={name: array for name, array in data.outputs.items() if name in read})
