"""The command line: `warploom synth`, `warploom solve`, `warploom bench synth|kernels`, `warploom demo`, `warploom list`.

Exit codes: 0 all that was asked for is solved; 1 proved impossible, refuted or refused; 2 bad input; 3 gave up; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import cast

import click

from warploom.core import Diagnostic, UserError
from warploom.kernels import NAMES, PROGRAM_NAMES, find
from warploom.kernels.tensors import TENSOR_KERNELS
from warploom.ptx.shuffle import ShuffleOptions, apply_all
from warploom.solve import Goal, default_cache_path
from warploom.synth import Status
from warploom.synth.dataflow import PARTS
from warploom.tools import ablation_bench, kernel_bench, ptx_bench, scan_bench, synth_bench
from warploom.tools.bench import Case
from warploom.tools.bench_command import run_bench
from warploom.tools.console import Output
from warploom.tools.demo import CASE, run_demo
from warploom.tools.duration import duration
from warploom.tools.entry import Commands, run
from warploom.tools.explore_command import explore
from warploom.tools.files import OUTPUT_FILE, OUTPUT_FOLDER, make_folder, require_place
from warploom.tools.guard import guarded
from warploom.tools.interrupts import Interrupts
from warploom.tools.limited import limited
from warploom.tools.lines import EXIT_BY_STATUS, INTERRUPTED, SOLVED, Line, combined_exit, plain_line
from warploom.tools.listing import listing
from warploom.tools.ptx_commands import ptx
from warploom.tools.ptx_prove import ptx_field, with_ptx
from warploom.tools.scan_commands import scan
from warploom.tools.schedule_bench import schedule_case_command, schedule_command
from warploom.tools.solve_command import InParts, SolveOptions, read_source, solve
from warploom.tools.synth_command import KEEPABLE, Outcome, Progress, SynthOptions, failed, interrupted, synthesise
from warploom.tools.targets import Target, resolve
from warploom.tools.transposes_bench import transposes_command
from warploom.tools.usage import Stopwatch
from warploom.tools.wall_transposes import measure


def _forms(ctx: click.Context, param: click.Parameter, value: str) -> frozenset[str]:
    asked = frozenset(value.split(",")) - {""}
    if not asked <= set(KEEPABLE):
        raise click.BadParameter(f"expected a list of {', '.join(KEEPABLE)}, got {value!r}", ctx, param)
    return asked


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="warploom")
def cli() -> None:
    """Completes GPU kernel sketches, proves them, prints CUDA."""


@cli.command()
@click.argument("target", metavar="FILE[:SKETCH]|CASE")
@click.option("--space", type=click.IntRange(1, 3), help="Search this space only; default: 1, 2, 3 until the answer is found.")
@click.option("--all", "all_solutions", is_flag=True, help="Every completion of the first space that has one.")
@click.option("--cuda", type=OUTPUT_FILE, help="Write the CUDA C++ here.")
@click.option("--html", type=OUTPUT_FILE, help="Write a page that shows the values move.")
@click.option("--svg", type=OUTPUT_FILE, help="Write one still picture of the movement.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout, all else on stderr.")
@click.option("--nodes", type=click.IntRange(min=0), help="Search nodes, a deterministic budget.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the independent checker's inputs.")
@click.option("--keep", metavar="FORMS", default="", callback=_forms, help="List of ir,cuda,ptx: write CASE.ir, CASE.cu, ...")
@click.option("--keep-in", type=OUTPUT_FOLDER, default=Path(), help="Folder for --keep; made if need be.")
@click.option("--prove-ptx", is_flag=True, help="Compile the completed kernel and prove the PTX, too.")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@limited
def synth(
    target: str,
    space: int | None,
    all_solutions: bool,
    cuda: Path | None,
    html: Path | None,
    svg: Path | None,
    as_json: bool,
    budget: float | None,
    nodes: int | None,
    seed: int,
    keep: frozenset[str],
    keep_in: Path,
    prove_ptx: bool,
    debug: bool,
) -> None:
    """Complete a sketch of a file, or a case of the library, and prove it."""
    output = Output(as_json)
    options = SynthOptions(space, all_solutions, budget, nodes, seed, cuda, html, svg, keep, keep_in)
    codes: list[int] = []
    with Interrupts() as stopped:
        stopwatch = Stopwatch()
        targets: list[Target] = []

        def read(_: Progress) -> Outcome:
            targets.extend(_resolved(target, options))
            return Outcome({}, SOLVED)

        reading = guarded(target, read, stopwatch, output, debug)
        if reading.line:  # it failed
            codes.append(output.outcome(reading))
        for found in targets:
            if stopped.seen:
                outcome = interrupted(found.case, stopwatch)
            else:
                work = partial(_synthesised, found, options, stopwatch, prove_ptx)
                outcome = guarded(found.case, work, stopwatch, output, debug)
            codes.append(output.outcome(outcome))
            stopwatch = Stopwatch()
    sys.exit(INTERRUPTED if stopped.seen else combined_exit(codes))


def _synthesised(target: Target, options: SynthOptions, stopwatch: Stopwatch, prove_ptx: bool, progress: Progress) -> Outcome:
    outcome = synthesise(target, options, stopwatch, progress)
    report = outcome.report
    if not prove_ptx or report is None or report.status != "solved":
        return outcome
    progress("proving the compiled kernel")
    field = ptx_field(target, report.completions[0])
    return with_ptx(outcome, field)


def _resolved(text: str, options: SynthOptions) -> tuple[Target, ...]:
    if options.keep:
        require_place(options.keep_in, is_folder=True)
    targets = resolve(text)
    if len(targets) > 1 and (options.cuda or options.html or options.svg):
        names = ", ".join(target.case for target in targets)
        message = f"expected one sketch for --cuda, --html and --svg, got {len(targets)}: {names}"
        raise UserError(Diagnostic("SEVERAL_SKETCHES", message, fix=f"Name one: {text}:{targets[0].case}"))
    return targets


def _one_goal(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str:
    given = tuple(dict.fromkeys(value))
    if len(given) > 1:
        raise click.UsageError(f"expected one of --all, --first and --best, got {' and '.join(f'--{g}' for g in given)}", ctx)
    return given[0] if given else "best"


@cli.command("solve")
@click.argument("program", metavar="FILE|CASE")
@click.option("--all", "goal", flag_value="all", multiple=True, callback=_one_goal, help="Every solution.")
@click.option("--first", "goal", flag_value="first", multiple=True, callback=_one_goal, help="Any solution.")
@click.option(
    "--best", "goal", flag_value="best", multiple=True, callback=_one_goal, help="The cheapest solution (default)."
)
@click.option("--distinct", is_flag=True, help="List one solution of those that move every value the same way.")
@click.option("--workers", type=click.IntRange(min=1), help="Search in this many processes.")
@click.option("--cluster", metavar="ADDRESS", help="Search on the Dask cluster with this scheduler.")
@click.option(
    "--parts", type=click.IntRange(min=1), default=PARTS, show_default=True, help="Tasks that the search is split into."
)
@click.option("--journal", type=click.Path(dir_okay=False, path_type=Path), help="Keep finished parts here; do not repeat them.")
@click.option("--events", type=OUTPUT_FILE, help="Log here what happens to the parts.")
@click.option("--show", is_flag=True, help="Print the program instead.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout, all else on stderr.")
@click.option("--nodes", type=click.IntRange(min=0), help="Search nodes, a deterministic budget.")
@click.option("--cache/--no-cache", "cached", default=None, help="Keep answers on disk; default: only if WARPLOOM_CACHE is set.")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@limited
def solve_dataflow(
    program: str,
    goal: Goal,
    distinct: bool,
    workers: int | None,
    cluster: str | None,
    parts: int,
    journal: Path | None,
    events: Path | None,
    show: bool,
    as_json: bool,
    budget: float | None,
    nodes: int | None,
    cached: bool | None,
    debug: bool,
) -> None:
    """Find the gathers that make a dataflow program meet its goal, or prove that there are none.

    With --workers, --cluster, --journal or --events the search runs in parts, on one process per CPU unless told.
    """
    if workers is not None and cluster is not None:
        raise click.UsageError("expected --workers or --cluster, got both")
    output, stopwatch = Output(as_json), Stopwatch()
    is_cached = bool(os.environ.get("WARPLOOM_CACHE")) if cached is None else cached
    is_parallel = any(option is not None for option in (workers, cluster, journal, events))
    in_parts = InParts(parts, workers, cluster, journal, events) if is_parallel else None
    options = SolveOptions(goal, budget, nodes, default_cache_path() if is_cached else None, distinct, in_parts)

    def work(progress: Progress) -> Outcome:
        return solve(read_source(program), options, stopwatch, progress)

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


_CASE = click.option("--case", "pattern", metavar="GLOB", help="Only the cases that match.")
_JSON = click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout, all else on stderr.")
_JOURNAL = click.option(
    "--journal", type=click.Path(dir_okay=False, path_type=Path), help="Keep finished cases here; do not repeat them."
)


@cli.group()
def bench() -> None:
    """Run benchmark cases, each in a fresh process."""


@bench.command("synth")
@_CASE
@_JSON
@_JOURNAL
@click.option("--all", "goal", flag_value="all", help="All solutions; the default of dataflow cases.")
@click.option("--first", "goal", flag_value="first", help="Any solution of each dataflow case.")
@click.option("--best", "goal", flag_value="best", help="The cheapest solution; the default of sketches.")
@click.option("--space", type=click.IntRange(1, 3), help="Search this space of sketches only.")
@click.option("--budget", metavar="TIME", callback=duration, help="CPU time of each case.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the independent checker's inputs.")
def bench_synth(
    pattern: str | None,
    as_json: bool,
    journal: Path | None,
    goal: Goal | None,
    space: int | None,
    budget: float | None,
    seed: int,
) -> None:
    """Complete every case of both papers, and larger ones.

    `as_expected`: a sketch is proved at the paper's cost or better, a dataflow case has its number of solutions.
    """
    options = {"seed": str(seed)}
    if budget is not None:
        options["budget"] = f"{budget}s"
    limit_s = synth_bench.LIMIT_S if budget is None else 2 * budget + 60
    cases = [synth_bench.bench_case(name, goal, options, space, limit_s) for name in synth_bench.select(pattern)]
    _bench(cases, pattern, as_json, synth_bench.columns, synth_bench.judged, journal)


bench.add_command(transposes_command)
bench.add_command(schedule_command)
cli.add_command(ptx)
cli.add_command(scan)
cli.add_command(explore)
cli.add_command(schedule_case_command)


@bench.command("ablations")
@_CASE
@click.option("--configuration", metavar="GLOB", help="Only the configurations that match.")
@_JSON
@_JOURNAL
@click.option("--budget", metavar="TIME", callback=duration, default="20s", show_default=True, help="CPU time of each line.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the independent checker's inputs.")
def bench_ablations(
    pattern: str | None, configuration: str | None, as_json: bool, journal: Path | None, budget: float, seed: int
) -> None:
    """What each of the engine's ideas is worth: the time without it.

    `as_expected`: the answer is right; an ended budget is what most configurations come to on the larger cases.
    """
    asked = ablation_bench.select(pattern, configuration)
    cases = [ablation_bench.ablation_case(case, name, budget, seed) for case, name in asked]
    _bench(cases, pattern, as_json, ablation_bench.columns, ablation_bench.judged, journal)


@cli.command("bench-ablation", hidden=True)
@click.argument("case")
@click.argument("configuration", type=click.Choice(ablation_bench.NAMES))
@click.option("--budget", metavar="TIME", callback=duration, default="20s")
@click.option("--seed", type=int, default=0)
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def bench_ablation(case: str, configuration: str, budget: float, seed: int, debug: bool) -> None:
    """One line of `bench ablations`, in this process, as JSON."""
    output, stopwatch = Output(as_json=True), Stopwatch()

    def work(progress: Progress) -> Outcome:
        return Outcome(ablation_bench.measure(case, configuration, budget, seed, stopwatch, progress), SOLVED)

    with Interrupts() as stopped:
        code = output.outcome(guarded(case, work, stopwatch, output, debug))
    sys.exit(INTERRUPTED if stopped.seen else code)


@bench.command("kernels")
@_CASE
@_JSON
@_JOURNAL
def bench_kernels(pattern: str | None, as_json: bool, journal: Path | None) -> None:
    """Count, compile and (on a GPU) time every kernel beside its shared-memory baseline."""
    cases = [kernel_bench.kernel_case(name) for name in kernel_bench.select(pattern)]
    _bench(cases, pattern, as_json, kernel_bench.columns, lambda line: line, journal)


_MAX_DELTA = click.option("--max-delta", type=click.IntRange(0, 31), default=31, show_default=True, help="Largest |N|.")


@bench.command("ptx")
@_CASE
@_JSON
@_JOURNAL
@_MAX_DELTA
@click.option("--seed", type=int, default=0, show_default=True, help="Of the data that both kernels run on.")
def bench_ptx(pattern: str | None, as_json: bool, journal: Path | None, max_delta: int, seed: int) -> None:
    """Cover the loads of compiled stencils by shuffles, every one that can be; run the original and the rewritten kernel.

    `as_expected`: at least as many shuffles as the paper, and the same memory afterwards.
    """
    options = ("--max-delta", str(max_delta), "--seed", str(seed))
    cases = [ptx_bench.ptx_case(name, options) for name in ptx_bench.select(pattern)]
    _bench(cases, pattern, as_json, ptx_bench.columns, lambda line: line, journal)


@cli.command("bench-ptx", hidden=True)
@click.argument("name")
@_MAX_DELTA
@click.option("--seed", type=int, default=0)
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def bench_ptx_case(name: str, max_delta: int, seed: int, debug: bool) -> None:
    """One case of `bench ptx`, in this process, as one JSON line."""
    output, stopwatch = Output(as_json=True), Stopwatch()

    def work(progress: Progress) -> Outcome:
        line = ptx_bench.measure(name, ShuffleOptions(policy=apply_all, max_delta=max_delta), seed, progress)
        return Outcome(line, EXIT_BY_STATUS[cast(Status, line["status"])])

    sys.exit(output.outcome(guarded(name, work, stopwatch, output, debug)))


@bench.command("scan")
@_CASE
@_JSON
@_JOURNAL
def bench_scan(pattern: str | None, as_json: bool, journal: Path | None) -> None:
    """Lift loops, complete networks and layouts, refuse and accept operators: the tasks of the paper and of its successors."""
    cases = [scan_bench.scan_case(name) for name in scan_bench.select(pattern)]
    _bench(cases, pattern, as_json, scan_bench.columns, lambda line: line, journal)


@cli.command("bench-scan", hidden=True)
@click.argument("name")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def bench_scan_case(name: str, debug: bool) -> None:
    """One case of `bench scan`, in this process, as one JSON line."""
    output, stopwatch = Output(as_json=True), Stopwatch()

    def work(progress: Progress) -> Outcome:
        line = scan_bench.measure(name)
        return Outcome(line, EXIT_BY_STATUS[cast(Status, line["status"])])

    sys.exit(output.outcome(guarded(name, work, stopwatch, output, debug)))


def _bench(
    cases: list[Case],
    pattern: str | None,
    as_json: bool,
    columns: Callable[[Line], dict[str, str]],
    judged: Callable[[Line], Line],
    journal: Path | None,
) -> None:
    output, stopwatch = Output(as_json), Stopwatch()
    if not cases:
        message = f"expected a pattern that some case matches, got {pattern!r}"
        error = UserError(Diagnostic("NO_CASE", message, fix="List the cases with `warploom list`."))
        sys.exit(output.outcome(failed(pattern or "", error, stopwatch)))
    sys.exit(run_bench(cases, output, columns, judged, journal))


@cli.command("bench-kernel", hidden=True)
@click.argument("name")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def bench_kernel(name: str, debug: bool) -> None:
    """One case of `bench kernels`, in this process, as one JSON line."""
    output, stopwatch = Output(as_json=True), Stopwatch()

    def work(progress: Progress) -> Outcome:
        return Outcome(kernel_bench.measure(name, progress), SOLVED)

    sys.exit(output.outcome(guarded(name, work, stopwatch, output, debug)))


@cli.command("bench-transpose", hidden=True)
@click.argument("name")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def bench_transpose(name: str, debug: bool) -> None:
    """One transpose of `bench synth`, in this process, as one JSON line."""
    output, stopwatch = Output(as_json=True), Stopwatch()
    sys.exit(output.outcome(guarded(name, partial(measure, name, stopwatch), stopwatch, output, debug)))


@cli.command()
@click.option("--out", type=OUTPUT_FOLDER, default=Path("demo"), show_default=True, help="Folder; made if need be.")
@_JSON
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def demo(out: Path, as_json: bool, debug: bool) -> None:
    """Complete, prove, print, compile and run the paper's 1-D convolution."""
    output, stopwatch = Output(as_json), Stopwatch()

    def work(progress: Progress) -> Outcome:
        make_folder(out)
        return run_demo(out, output, stopwatch, progress)

    with Interrupts() as stopped:
        outcome = guarded(CASE, work, stopwatch, output, debug)
        code = output.outcome(outcome) if as_json or outcome.report is None else outcome.exit_code
    sys.exit(INTERRUPTED if stopped.seen else code)


@cli.command("list")
@click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout, all else on stderr.")
def list_examples(as_json: bool) -> None:
    """The library's cases: names that `synth`, `solve` and `bench` take."""
    output, usage = Output(as_json), Stopwatch().read()
    for name in NAMES:
        example = find(name)
        holes = len(example.sketch.kernel.holes)
        line = plain_line(name, "solved", usage, kind="sketch", holes=holes, notes=example.notes)
        output.listed(line, f"{name:<24} {holes:>2} holes  {example.notes}")
    if as_json:
        for name in PROGRAM_NAMES:
            output.listed(plain_line(name, "solved", usage, kind="dataflow"), "")
        for kernel in TENSOR_KERNELS.values():
            output.listed(plain_line(kernel.name, "solved", usage, kind="kernel", sizes=dict(kernel.sizes)), "")
        return
    click.echo("\nKernels, for `explore`:")
    click.echo(fill(", ".join(TENSOR_KERNELS), 118, initial_indent="  ", subsequent_indent="  "))
    click.echo("\nDataflow programs, for `solve`:")
    for line in listing(PROGRAM_NAMES):
        click.echo(line)


def main() -> None:
    """Runs the command line and exits; a fault of this program is one line, never a traceback."""
    run(cli)
