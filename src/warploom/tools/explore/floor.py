"""The plain loop beside what was found: where it is faster, it is what a search ends with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from warploom.core import UserError
from warploom.schedule.backbone import Program
from warploom.schedule.cpu import (
    Build,
    Call,
    Timing,
    Together,
    aligned_copy,
    compile_nest,
    interruptibly,
    plain_nest,
    retime,
    sound_build,
)
from warploom.schedule.nest import Nest
from warploom.schedule.search import Timed, program_arrays
from warploom.tools.command.lines import Line
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.budget import OutOfTimeError, within
from warploom.tools.explore.check import Checked, check_cpu
from warploom.tools.explore.data import Data
from warploom.tools.explore.options import Function, KernelOptions, sizes_of
from warploom.tools.explore.result import Explored, compared, judged_line, rounded, speed, taken
from warploom.tools.explore.run_time import run_time_fields

_FAR = 2.0
"""Times the time that was found from which on a rough time of the plain loop is enough."""
_ENOUGH_MS = 2.0
_ROUNDS = 5
_SHORT_MS = 500.0
"""Both are timed side by side once, whatever the limit, where that takes no longer."""


@dataclass(frozen=True, slots=True)
class _Times:
    plain_ms: float
    ratio: float
    """Time of what was found over it."""
    timing: Timing | None
    """None: timed roughly."""


def with_floor(
    line: Line, explored: Explored, function: Function, data: Data, options: KernelOptions, limit_s: float
) -> tuple[Line, Explored]:
    """The line with `plain_ms` and `time_over_plain`; where the plain loop is faster, what runs is that, and the line is its.

    Both as they were where nothing compiles plain loops of this program, the user interrupts, or the limit ends it.
    """
    time_ms = line["time_ms"]
    assert isinstance(time_ms, float)
    program = explored.program.plain
    build = sound_build(*program.stages)
    try:
        with within(limit_s):
            plain = tuple(plain_nest(stage) for stage in program.stages)
            times = _compared(explored, plain, build, data, options.threads, time_ms, limit_s)
            beside: Line = {"plain_ms": rounded(times.plain_ms), "time_over_plain": round(times.ratio, 4), "kind": "found"}
            if times.ratio <= 1:
                return line | beside, explored
            results = _checked(program, plain, data, function, options, build)
    except (UserError, KeyboardInterrupt, MemoryError, OutOfTimeError):
        return line, explored
    if results.verdict == "refuted" or (line["verdict"] == "tested" and results.verdict != "tested"):
        note = f"{times.ratio:.3g} times slower than the plain loop, whose results are {results.verdict}: {results.reason}"
        return line | beside | {"note": _joined(line, note)}, explored
    explored = replace(explored, program=program, plain=plain)
    line = {name: value for name, value in line.items() if name != "domain"}
    return line | beside | _of_plain(line, explored, results, times, time_ms, options), explored


def prepared(program: Program, limit_s: float) -> None:
    """Compiles the plain loops, so that they are there when a search ends late; what cannot be compiled is left."""
    with suppress(UserError, OutOfTimeError), within(limit_s):
        build = sound_build(*program.plain.stages)
        for stage in program.plain.stages:
            compile_nest(plain_nest(stage), flags=build.flags)


def alone(
    case: str,
    program: Program,
    function: Function,
    data: Data,
    options: KernelOptions,
    searched: Line,
    limit_s: float,
    why: str,
    watch: Stopwatch,
    *,
    is_early: bool,
) -> tuple[Line, Explored] | None:
    """The plain loops, where a search has ended without an implementation: a line of its own. None where nothing prints plain
    loops of this program. What the limit ends is left out: the check (`unchecked` then), or the time. `is_early`: a longer search
    may have found some."""
    program = program.plain
    build = sound_build(*program.stages)
    results, timed, time_ms = Checked("unchecked", 0, "the check of the results did not end within the budget"), None, None
    try:
        plain = tuple(plain_nest(stage) for stage in program.stages)
    except UserError:
        return None
    try:
        with within(limit_s):
            calls = _calls(program, plain, build, data)
            time_ms = sum(interruptibly(partial(call.rough_ms, _ENOUGH_MS)) for call in calls) / options.threads
            results = _checked(program, plain, data, function, options, build)
            if options.threads * time_ms < limit_s * 1e3 / 4:
                timing = interruptibly(partial(retime, [Together(tuple(calls))], options.threads, rounds=_ROUNDS))[0]
                time_ms = timing.median_ms
                timed = Timed(time_ms, runs=timing.samples * timing.repeats, spread=timing.spread, least_ms=timing.best_ms)
    except UserError:
        return None
    except (KeyboardInterrupt, MemoryError, OutOfTimeError):
        pass
    explored = Explored(program, (), plain=plain, is_early=is_early)
    line = judged_line(case, results, time_ms, [timed] if timed else [], searched, explored, options, watch)
    note = f"the plain loop, since the search has no implementation: {why}; search longer (--budget; budget_s in Python)"
    root_ms = searched.get("root_bound_ms")
    beside: Line = {"kind": "plain", "plain_ms": rounded(time_ms), "bound_ms": root_ms, "root_bound_ms": root_ms}
    if is_early:
        beside["ended"] = why
    return line | beside | {"time_over_plain": 1.0, "note": _joined(line, note)}, explored


def _of_plain(line: Line, explored: Explored, results: Checked, times: _Times, found_ms: float, options: KernelOptions) -> Line:
    """The line for the plain loop, which is now the answer. Its only bound is that of the whole space."""
    bound_ms = line["root_bound_ms"]
    assert isinstance(bound_ms, float)
    timing = times.timing
    runs = timing.samples * timing.repeats if timing is not None else 0
    timed = Timed(times.plain_ms, runs=runs, spread=timing.spread if timing else 0.0, least_ms=timing.best_ms if timing else None)
    ways = "one after the other, roughly" if timing is None else f"side by side on {options.threads} thread(s)"
    note = (
        f"the plain loop ({times.plain_ms:.4g} ms), since the fastest of {line['evaluated']} implementations measured is "
        f"{times.ratio:.3g} times slower ({found_ms:.4g} ms), both timed {ways}; `decisions` are that one's: "
        "search longer (--budget; budget_s in Python)"
    )
    found: Line = {"kind": "plain", "found_ms": rounded(found_ms), "found_over_plain": round(times.ratio, 4)}
    found |= {"time_ms": rounded(times.plain_ms), "time_over_plain": 1.0, "bound_ms": bound_ms, "note": _joined(line, note)}
    if results.verdict == "tested":
        found |= compared(results)
    if options.run_time:
        found |= run_time_fields(options.run_time, explored.nests, results.values)
    return found | taken(times.plain_ms, [timed], bound_ms, is_measured=True) | speed(explored.program, times.plain_ms)


def _joined(line: Line, note: str) -> str:
    return "; ".join(filter(None, (str(line.get("note", "")), note)))


def _calls(program: Program, nests: Sequence[Nest], build: Build, data: Data) -> list[Call]:
    arrays = {name: aligned_copy(a) for name, a in program_arrays(program, data.inputs).items()}  # as they were in the search
    kernels = [compile_nest(nest, flags=build.flags) for nest in nests]
    return [kernel.call([arrays[b.name] for b in kernel.buffers], data.scalars) for kernel in kernels]


def _checked(
    program: Program, plain: Sequence[Nest], data: Data, function: Function, options: KernelOptions, build: Build
) -> Checked:
    """The results of the plain loops, compared with the function's."""
    sizes = sizes_of(function, options.sizes, options.run_time)
    return check_cpu(program, plain, data, options.threads, function, options.seed, build, sizes=sizes)


def _compared(
    explored: Explored, plain: Sequence[Nest], build: Build, data: Data, threads: int, time_ms: float, limit_s: float
) -> _Times:
    """Side by side, unless the plain loops surely are slower, or one turn would be too long."""
    loops = _calls(explored.program, plain, build, data)
    single_ms = sum(interruptibly(partial(call.rough_ms, max(_ENOUGH_MS, time_ms))) for call in loops)
    rough_ms = single_ms / threads
    turn_ms = 3 * (rough_ms + time_ms)
    rounds = max(int(limit_s * 1e3 / turn_ms), 1 if turn_ms < _SHORT_MS else 0)
    if rough_ms > _FAR * time_ms:
        return _Times(rough_ms, time_ms / rough_ms, None)
    if rounds < 1:  # faster for sure only if it is on one thread
        return _Times(single_ms, time_ms / single_ms, None)
    found = _calls(explored.program, explored.nests, Build.DECIDED, data)
    both = [Together(tuple(found)), Together(tuple(loops))]
    ours, theirs = interruptibly(partial(retime, both, threads, rounds=min(_ROUNDS, rounds)))
    return _Times(theirs.median_ms, ours.median_ms / theirs.median_ms, theirs)
