"""`warploom ptx run`: one kernel on arrays of files or made on the spot, in the interpreter."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from warploom.ptx import Counts, Finding, Launch, launch
from warploom.tools.command.files import OUTPUT_FOLDER, make_folder, write_file
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, IMPOSSIBLE, INTERRUPTED, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.ptx.arguments import (
    ARGUMENT_HELP,
    CLUSTER_OPTION,
    COOPERATIVE_OPTION,
    arguments,
    extents,
    launch_options,
    launch_texts,
    symbols,
    unread,
)
from warploom.tools.ptx.check import read_good_ptx

SHOWN = 20
"""Findings printed at most."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    kernel: str | None
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]
    """`[INDEX=]SPEC` each."""
    out: Path | None = None
    shared_bytes: int = 0
    counts: bool = False
    checks: bool = True
    limit: int | None = None
    symbols: tuple[str, ...] = ()
    """`NAME=SPEC` each."""
    cluster: tuple[int, ...] | None = None
    cooperative: bool = False


def run_file(path: str, options: RunOptions, stopwatch: Stopwatch) -> tuple[Outcome, Launch]:
    """Runs a kernel of a file, writes its arrays; UserError for a wrong request."""
    program = read_good_ptx(path)
    kernel = program.kernel(options.kernel)
    values = arguments(options.arguments, len(kernel.parameters), kernel.name, unread(program, kernel))
    ran = launch(
        program, kernel.name, grid=options.grid, block=options.block, args=values, symbols=symbols(options.symbols),
        dynamic_shared_bytes=options.shared_bytes, counts=options.counts, checks=options.checks, limit=options.limit,
        cluster=options.cluster, cooperative=options.cooperative,
    )  # fmt: skip
    written: tuple[Path, ...] = ()
    if ran.status == "finished" and options.out is not None:
        written = _write(ran, options.out)
    case = path if options.kernel is None else f"{path}:{kernel.name}"
    return launch_outcome(case, ran, written, stopwatch), ran


def _write(ran: Launch, folder: Path) -> tuple[Path, ...]:
    make_folder(folder)
    paths = tuple(folder / f"{index}.npy" for index in ran.arrays)
    for path, array in zip(paths, ran.arrays.values(), strict=True):
        write_file(path, partial(np.save, arr=array))
    return paths


def launch_outcome(case: str, ran: Launch, written: tuple[Path, ...], stopwatch: Stopwatch) -> Outcome:
    """The line of a launch."""
    fields: dict[str, Any] = {"launch": ran.status, "findings": [_finding(f) for f in ran.findings]}
    if ran.counts is not None:
        fields["counts"] = _counts(ran.counts)
        fields["counted"] = "interpreter"
    if ran.printed:
        fields["printed"] = list(ran.printed)
    if ran.initial:
        fields["initial"] = list(ran.initial)
    fields["written"] = [str(path) for path in written]
    verdict = "refuted" if ran.findings else "unchecked"
    match ran.status:
        case "finished" if ran.findings:
            first, more = ran.findings[0], len(ran.findings) - 1
            reason = f"{first.kind} in line {first.span.line}" + (f", and {more} more finding{'s'[: more > 1]}" if more else "")
            line = plain_line(case, "refused", stopwatch.read(), verdict=verdict, reason=reason, **fields)
        case "finished":
            line = plain_line(case, "solved", stopwatch.read(), verdict=verdict, **fields)
        case "limit":
            reason = "the limit of executed instructions was reached"
            line = plain_line(case, "unknown", stopwatch.read(), verdict=verdict, reason=reason, **fields)
        case "fault" | "deadlock":
            reason = str(next(f for f in ran.findings if f.is_fatal))
            line = plain_line(case, "refused", stopwatch.read(), verdict=verdict, reason=reason, **fields)
    code = EXIT_BY_STATUS[str(line["status"])]
    messages = tuple(
        f"{case}: nobody set {name}, a variable of the module: it held its initial value; set it by --symbol {name}=..."
        for name in ran.initial
    )
    return Outcome(line, max(code, IMPOSSIBLE) if ran.findings else code, written=written, messages=messages)


def _finding(finding: Finding) -> Line:
    return {
        "kind": finding.kind, "message": finding.message, "line": finding.span.line, "column": finding.span.column,
        "block": finding.block, "thread": finding.thread, "address": finding.address, "count": finding.count,
        "others": [{"message": text, "line": span.line, "column": span.column} for text, span in finding.others],
    }  # fmt: skip


def _counts(counts: Counts) -> Line:
    return {
        **counts.totals(),
        "warp_instructions_by_class": dict(counts.warp_instructions),
        "thread_instructions_by_class": dict(counts.thread_instructions),
    }


def _table(ran: Launch) -> list[str]:
    lines = "".join(ran.printed).splitlines()
    lines += [f"  {found}" for found in ran.findings[:SHOWN] if not found.is_fatal]
    if len(ran.findings) > SHOWN:
        lines.append(f"  and {len(ran.findings) - SHOWN} more findings")
    if ran.counts is not None:
        totals = {name.replace("_", " "): value for name, value in ran.counts.totals().items() if value}
        classes = {f"  {name.replace('_', ' ')}": value for name, value in ran.counts.warp_instructions.items()}
        width = max(map(len, (*totals, *classes)))
        lines += [f"  {name:<{width}}  {value:>12,}" for name, value in totals.items()]
        lines.append("  warp instructions by class")
        lines += [f"  {name:<{width}}  {value:>12,}" for name, value in classes.items()]
    return lines


@click.command("run")
@click.argument("file", metavar="FILE")
@click.option("--kernel", help="Name of the kernel; needed if the file has several.")
@launch_options
@CLUSTER_OPTION
@COOPERATIVE_OPTION
@click.option("--arg", "texts", multiple=True, metavar="[INDEX=]SPEC", help=ARGUMENT_HELP)
@click.option(
    "--symbol", "symbol_texts", multiple=True, metavar="NAME=SPEC", help="Content of a module variable, in the forms of --arg."
)
@click.option("--out", type=OUTPUT_FOLDER, help="Folder for the arrays after the run (INDEX.npy); made if missing.")
@click.option("--shared", type=click.IntRange(min=0), default=0, show_default=True, help="Bytes of dynamic shared memory.")
@click.option("--counts", is_flag=True, help="Count instructions, sectors, wavefronts, shuffles and divergent branches.")
@click.option("--checks/--no-checks", default=True, show_default=True, help="Look for races and unwritten values.")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Stop after this many instructions, summed over threads (a repeatable budget)."
)
@JSON_OPTION
@DEBUG_OPTION
@limited
def run_command(
    file: str,
    kernel: str | None,
    launched: tuple[str, str] | None,
    grid: str | None,
    block: str | None,
    cluster: str | None,
    cooperative: bool,
    texts: tuple[str, ...],
    symbol_texts: tuple[str, ...],
    out: Path | None,
    shared: int,
    counts: bool,
    checks: bool,
    limit: int | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Run a kernel on arrays without a GPU; report its results, its costs and its mistakes."""
    output, stopwatch = Output(as_json), Stopwatch()
    runs: list[Launch] = []

    def work(_: Progress) -> Outcome:
        blocks, threads = launch_texts(launched, grid, block)
        options = RunOptions(
            kernel,
            extents(blocks, "grid"),
            extents(threads, "block"),
            texts,
            out,
            shared,
            counts,
            checks,
            limit,
            symbol_texts,
            None if cluster is None else extents(cluster, "cluster"),
            cooperative,
        )
        outcome, ran = run_file(file, options, stopwatch)
        runs.append(ran)
        return outcome

    with Interrupts() as stopped:
        outcome = guarded(file, work, stopwatch, output, debug)
        code = output.outcome(outcome)
        for ran in () if as_json else runs:
            for text in _table(ran):
                output.say(text)
    sys.exit(INTERRUPTED if stopped.seen else code)
