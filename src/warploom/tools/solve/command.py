"""`warploom solve`: the options of the command; `solve_command` does the work."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from warploom.core import UserError
from warploom.core.private import default_cache_path
from warploom.solve import Goal
from warploom.synth.dataflow import PARTS, read_objective
from warploom.tools.command.files import OUTPUT_FILE
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import INTERRUPTED, SOLVED, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress, failed
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.solve.program import InParts, SolveOptions, read_source, solve


def _one_goal(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str:
    given = tuple(dict.fromkeys(value))
    if len(given) > 1:
        raise click.UsageError(f"expected one of --all, --first and --best, got {' and '.join(f'--{g}' for g in given)}", ctx)
    return given[0] if given else "best"


@click.command("solve")
@click.argument("program", metavar="FILE|CASE")
@click.option("--all", "goal", flag_value="all", multiple=True, callback=_one_goal, help="List every solution.")
@click.option("--first", "goal", flag_value="first", multiple=True, callback=_one_goal, help="Find any one solution.")
@click.option(
    "--best", "goal", flag_value="best", multiple=True, callback=_one_goal, help="Find the cheapest solution (default)."
)
@click.option(
    "--goal", "wanted", metavar="TEXT", help="What the last statement must hold, for a file without a goal: as in its line."
)
@click.option(
    "--objective",
    metavar="PARTS",
    help="What the best solution has least of, in order: some of shuffles and selects, then cost. Default: all three where the "
    "program is one warp's, else cost.",
)
@click.option("--distinct", is_flag=True, help="List only one of the solutions that move every value the same way.")
@click.option("--workers", type=click.IntRange(min=1), help="Search in this many processes.")
@click.option("--cluster", metavar="ADDRESS", help="Search on the Dask cluster whose scheduler has this address.")
@click.option(
    "--parts", type=click.IntRange(min=1), default=PARTS, show_default=True, help="Number of tasks that the search is split into."
)
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record finished parts in this file, and skip those that it has.",
)
@click.option("--events", type=OUTPUT_FILE, help="Log the progress of the parts to this file.")
@click.option("--cuda", type=OUTPUT_FILE, help="Write the CUDA C++ of the best solution here, proved and read back.")
@click.option("--show", is_flag=True, help="Only print the program.")
@JSON_OPTION
@click.option("--nodes", type=click.IntRange(min=0), help="Stop after this many search nodes (a repeatable budget).")
@click.option("--cache/--no-cache", "cached", default=None, help="Keep answers on disk; default: only if WARPLOOM_CACHE is set.")
@DEBUG_OPTION
@limited
def solve_dataflow(
    program: str,
    goal: Goal,
    wanted: str | None,
    objective: str | None,
    distinct: bool,
    workers: int | None,
    cluster: str | None,
    parts: int,
    journal: Path | None,
    events: Path | None,
    cuda: Path | None,
    show: bool,
    as_json: bool,
    budget: float | None,
    nodes: int | None,
    cached: bool | None,
    debug: bool,
) -> None:
    """Find the gathers that make a dataflow program meet its goal, or prove that there are none.

    With --workers, --cluster, --journal or --events the search runs in parts, by default in one process per CPU.
    """
    if workers is not None and cluster is not None:
        raise click.UsageError("expected --workers or --cluster, got both")
    output, stopwatch = Output(as_json), Stopwatch()
    is_cached = bool(os.environ.get("WARPLOOM_CACHE")) if cached is None else cached
    is_parallel = any(option is not None for option in (workers, cluster, journal, events))
    in_parts = InParts(parts, workers, cluster, journal, events) if is_parallel else None
    options = SolveOptions(goal, budget, nodes, default_cache_path() if is_cached else None, distinct, in_parts, cuda)

    def work(progress: Progress) -> Outcome:
        given = replace(options, objective=None if objective is None else read_objective(objective))
        return solve(read_source(program, wanted), given, stopwatch, progress)

    with Interrupts() as stopped:
        if show:
            code = _shown(program, output, stopwatch, as_json=as_json)
        else:
            code = output.outcome(guarded(program, work, stopwatch, output, debug))
    sys.exit(INTERRUPTED if stopped.seen else code)


def _shown(program: str, output: Output, stopwatch: Stopwatch, *, as_json: bool) -> int:
    try:
        text = read_source(program).text
    except UserError as error:
        return output.outcome(failed(program, error, stopwatch))
    if as_json:
        return output.outcome(Outcome(plain_line(program, "solved", stopwatch.read(), text=text), SOLVED))
    click.echo(text, nl=False)
    return SOLVED
