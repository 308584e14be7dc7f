"""`warploom bench schedule`: spaces of Telamon's paper, speed of propagation, kernels beside NumPy, plain loops and PyTorch."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

import click

from warploom.core import Diagnostic, Status, UserError
from warploom.tools.bench.case import Case
from warploom.tools.bench.run import run_chosen
from warploom.tools.bench.schedule_names import (
    CPU_NAMES,
    GPU_NAMES,
    SEARCH_NAMES,
    SEARCH_S,
    SEEDS,
    SEEDS_NAME,
    SUITE_NAMES,
    TABLE_NAMES,
    TABLE_S,
)
from warploom.tools.command.duration import duration
from warploom.tools.command.guard import report
from warploom.tools.command.lines import EXIT_BY_STATUS, Line
from warploom.tools.command.options import CASE_OPTION, DEBUG_OPTION, JOURNAL_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch

NAMES = (*TABLE_NAMES, *SEARCH_NAMES, *CPU_NAMES, *SUITE_NAMES, *GPU_NAMES)
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def select(pattern: str | None) -> tuple[str, ...]:
    return tuple(name for name in NAMES if pattern is None or fnmatchcase(name, pattern))


def schedule_case(name: str, budget_s: float | None, threads: int, seed: int, seeds: int | None = None) -> Case:
    arguments = ["bench-schedule", name, "--threads", str(threads), "--seed", str(seed)]
    if budget_s is not None:
        arguments += ["--budget", f"{budget_s}s"]
    if seeds is not None:
        arguments += ["--seeds", str(seeds)]
    return Case(name, tuple(arguments), _limit_s(name, budget_s, seeds), is_wall=True)


def _limit_s(name: str, budget_s: float | None, seeds: int | None) -> float:
    """Wall seconds; budgets of tables are CPU seconds, which another process on the machine may make last far longer."""
    group = name.partition("/")[0]
    if name in TABLE_NAMES:
        each_s = TABLE_S[group] if budget_s is None else budget_s
        return 300.0 + 5 * each_s * (2 if name == "table3/order" else 1)
    if name in SEARCH_NAMES:
        return 1800.0
    each_s = SEARCH_S if budget_s is None else budget_s
    return 300.0 + 2 * each_s * (_seeds_of(name, seeds) or 1)


def _seeds_of(name: str, seeds: int | None) -> int | None:
    return SEEDS if name == SEEDS_NAME and seeds is None else seeds


def measure(
    name: str, budget_s: float | None, threads: int, seed: int, stopwatch: Stopwatch, progress: Progress, seeds: int | None = None
) -> Line:
    """The line of one case, or of searches with several seeds; UserError for an unknown name, and where a case takes no seeds."""
    # Imported here: the other commands do not need them.
    from warploom.tools.bench import schedule_cpu, schedule_gpu, schedule_searches, schedule_tables

    if seeds is not None and name not in (*CPU_NAMES, *SUITE_NAMES):
        message = f"expected a kernel for the CPU (cpu/*, polybench/*, nn/*) with --seeds, got {name!r}"
        raise UserError(Diagnostic("NO_SEEDS", message, fix="Leave out --seeds, or choose other cases with --case."))
    if name in TABLE_NAMES:
        return schedule_tables.measure(name, budget_s, seed, stopwatch, progress)
    if name in SEARCH_NAMES:
        return schedule_searches.measure(name, budget_s, seed, stopwatch, progress)
    if name in CPU_NAMES or name in SUITE_NAMES:
        several = _seeds_of(name, seeds)
        if several is not None:
            return schedule_cpu.measure_seeds(name, budget_s, threads, seed, several, stopwatch, progress)
        return schedule_cpu.measure(name, budget_s, threads, seed, stopwatch, progress)
    if name in GPU_NAMES:
        return schedule_gpu.measure(name, budget_s, seed, stopwatch, progress)
    raise UserError(Diagnostic("NO_CASE", f"expected a case such as {NAMES[0]}, got {name!r}"))


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    found = {"seconds": str(line["seconds"])}
    if "space_size" in line:
        found["size"] = f"{line['space_size']:.3g} +- {line['space_size_95'] or float('nan'):.2g}"
        found["dead ends"] = f"{line['dead_end_share']:.2%}"
    if "root_bound_ms" in line and "time_ms" not in line:
        found["root bound"] = f"{line['root_bound_ms']} ms"
    if line.get("kept_share") is not None:
        counted = "" if line["is_counted"] else "about "
        found["kept"] = f"{counted}{line['kept']} of {line['nodes']} ({line['kept_share']:.2%})"
    for order in ("direct", "reverse"):
        if order in line:
            one = cast(Line, line[order])
            found[order] = f"{one['factor'] or float('nan'):.3g}x at depth {one['depth']}"
    for field, heading, unit in (
        ("descent_ms", "10 levels", " ms"),
        ("copy_us", "copy", " us"),
        ("time_ms", "time", " ms"),
        ("search_s", "search", " s"),
        ("gflops", "GFLOP/s", ""),
        ("time_over_peer", "ours/peer", ""),
        ("peer_over_time", "peer/ours", ""),
        ("worst_over_best", "worst/best", ""),
    ):
        if line.get(field) is not None:
            found[heading] = f"{line[field]}{unit}"
    return found | ({"MISSES": "the bar"} if line.get("as_expected") is False else {})


_BUDGET = click.option(
    "--budget",
    metavar="TIME",
    callback=duration,
    help="Limit for each case: wall time of a search (default: 60s), CPU time of a table's case.",
)
_THREADS = click.option(
    "--threads", type=click.IntRange(min=1), help="Threads that CPU kernels and their peers use; default: one per core."
)
_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of walks, searches and data.")
_SEEDS = click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(min=2),
    help="Search kernels for the CPU with N seeds, and time the winners beside each other in place of the peers.",
)


@click.command("schedule")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
@_BUDGET
@_THREADS
@_SEED
@_SEEDS
def schedule_command(
    pattern: str | None,
    as_json: bool,
    journal: Path | None,
    budget: float | None,
    threads: int | None,
    seed: int,
    seeds: int | None,
) -> None:
    """Count the paper's spaces and what the bound cuts; search kernels and time them beside NumPy, plain loops and PyTorch.

    `as_expected` says that the case meets its bar (`bar`); it is null where the case was not judged.
    """
    names = select(pattern)
    used = threads or _cores()
    # NumPy reads these when a case's process loads it.
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(used)))
    cases = [schedule_case(name, budget, used, seed, seeds) for name in names]
    run_chosen(cases, pattern, as_json, columns, lambda line: line, journal, NAMES)


@click.command("bench-schedule", hidden=True)
@click.argument("name")
@_BUDGET
@_THREADS
@_SEED
@_SEEDS
@DEBUG_OPTION
def schedule_case_command(
    name: str, budget: float | None, threads: int | None, seed: int, seeds: int | None, debug: bool
) -> None:
    """One case of `bench schedule`, in this process, as one JSON line."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        line = measure(name, budget, threads or _cores(), seed, stopwatch, progress, seeds)
        return Outcome(line, EXIT_BY_STATUS[cast(Status, line["status"])])

    report(name, work, as_json=True, debug=debug)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
