"""`warploom bench transposes`: completes the three-step transpose of every size by search, one line per size.

Sizes are independent: they run in worker processes or on a cluster, and a journal keeps those that are done.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

import click

from warploom.core import Diagnostic, UserError
from warploom.core.limits import current, why
from warploom.solve import (
    Failed,
    Finished,
    Journal,
    Json,
    Result,
    Task,
    cluster_executor,
    problem_key,
    process_executor,
    run_tasks,
)
from warploom.synth import transposes
from warploom.tools.command.files import OUTPUT_FOLDER, make_folder
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, GAVE_UP, INTERRUPTED, Line, combined_exit, plain_line
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.options import CASE_OPTION, JOURNAL_OPTION, JSON_OPTION
from warploom.tools.command.outcome import failed
from warploom.tools.command.output import Output, kernel_text
from warploom.tools.command.usage import Stopwatch, Usage
from warploom.tools.solve.code import write_kernel

_USAGE = ("seconds", "wall_s", "peak_mb")
Argument = tuple[transposes.Kind, int, int, transposes.Grammar]


def complete(argument: Argument) -> Json:
    """One size, in a worker: the fields of its line that do not depend on the run."""
    kind, m, n, grammar = argument
    stopwatch = Stopwatch()
    report = transposes.solve_transpose(kind, m, n, grammar)
    usage = stopwatch.read()
    fields: dict[str, Json] = {
        "m": m, "n": n, "kind": kind, "grammar": grammar, "status": report.status,
        "composition": list(report.composition), "cost": report.cost, "optimal": report.optimal, "depth": report.depth,
        "pivots": report.pivots, "seconds": usage.seconds, "wall_s": usage.wall_s, "peak_mb": usage.peak_mb,
    }  # fmt: skip
    if report.reason:
        fields["reason"] = report.reason
    if kind == "crc" and grammar == "grown" and report.cost is not None:
        table = transposes.table_cost(m, n)
        fields |= {"table_cost": table, "cheaper_than_table": table is not None and report.cost < table}
    return fields


def is_sound(argument: Argument, value: Json) -> bool:
    """Whether an entry of a journal is what `complete` gives: of these types, and with steps that do move every element right."""
    kind, m, n, grammar = argument
    match value:
        case {
            "m": found_m,
            "n": found_n,
            "kind": str(found_kind),
            "grammar": str(found_grammar),
            "status": "solved" | "unsat" | "unknown" as status,
            "composition": [*steps],
            "cost": int() | None as cost,
            "optimal": bool(),
            "depth": int() | None as depth,
            "pivots": int(),
            "seconds": int() | float(),
            "wall_s": int() | float(),
            "peak_mb": int() | float(),
        } if (found_kind, found_m, found_n, found_grammar) == (kind, m, n, grammar):
            if status != "solved":
                return isinstance(value.get("reason"), str) and value["reason"] != ""
            is_text = all(isinstance(step, str) for step in steps) and isinstance(cost, int) and isinstance(depth, int)
            return is_text and transposes.replay(kind, m, n, cast("list[str]", steps)) == ""
        case _:
            return False


def line_of(result: Result[Argument, Json]) -> Line:
    kind, m, n, grammar = result.task.argument
    name = _name(kind, m, n)
    match result:
        case Failed(_, reason, _, spent):
            usage = Usage(0.0, 0.0, 0.0) if spent is None else Usage(spent.seconds, spent.wall_s, spent.peak_mb)
            return plain_line(name, "error", usage, reason=reason, m=m, n=n, kind=kind, grammar=grammar)
        case Finished(_, value, spent):
            found = cast("dict[str, Json]", value)
            usage = Usage(*(cast(float, found[name]) for name in _USAGE))
            status = cast(transposes.Status, found["status"])
            fields: Line = {k: v for k, v in found.items() if k not in ("status", "reason", *_USAGE)}
            # Steps out of a journal were followed again; that there are none was not found again.
            proved = status == "solved" or (status == "unsat" and spent is not None)
            if spent is None:
                fields["from_journal"] = True
                if status == "unsat":
                    fields["recorded"] = {"verdict": "proved"}
            fields["objective"] = ["cost"]
            if proved:
                fields["domain"] = transposes.DOMAIN
            reason = cast(str, found.get("reason", ""))
            return plain_line(name, status, usage, verdict="proved" if proved else "unchecked", reason=reason, **fields)


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    if line["status"] != "solved":
        return {"seconds": str(line["seconds"])}
    found = {"cost": f"{line['cost']}{' (optimal)' if line['optimal'] else ''}", "seconds": str(line["seconds"])}
    if line.get("cheaper_than_table"):
        found["table"] = str(line["table_cost"])
    if "kernel" in line or "no_kernel" in line:
        found["kernel"] = kernel_text(cast(Line, line["kernel"])) if "kernel" in line else str(line["no_kernel"])
    found["steps"] = "  |  ".join(cast("list[str]", line["composition"]))
    return found


def _name(kind: str, m: int, n: int) -> str:
    return f"transpose/{kind}/{m}x{n}"


@click.command("transposes")
@click.option("--max", "most", type=click.IntRange(1, 128), default=64, show_default=True, help="Largest m and n.")
@click.option("--min", "least", type=click.IntRange(1, 128), default=1, show_default=True, help="Smallest m and n.")
@click.option("--lanes", type=click.IntRange(1, 128), multiple=True, help="Run only these n.")
@click.option("--kind", "kinds", type=click.Choice(transposes.KINDS), multiple=True, default=("crc",), show_default=True)
@CASE_OPTION
@click.option(
    "--grammar",
    type=click.Choice(transposes.GRAMMARS),
    default="grown",
    show_default=True,
    help="template: the grammar of equations 5 to 7.",
)
@click.option("--cuda", type=OUTPUT_FOLDER, help="Write each composition as CUDA C++, proved and read back, into this folder.")
@JOURNAL_OPTION
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes; default: one per CPU.")
@click.option("--cluster", metavar="ADDRESS", help="Run on the Dask cluster whose scheduler has this address.")
@click.option(
    "--self-check", is_flag=True, help="Only check the search itself: recover random compositions, refute random permutations."
)
@JSON_OPTION
@limited
def transposes_command(
    most: int,
    least: int,
    lanes: tuple[int, ...],
    kinds: tuple[transposes.Kind, ...],
    pattern: str | None,
    grammar: transposes.Grammar,
    cuda: Path | None,
    journal: Path | None,
    workers: int | None,
    cluster: str | None,
    self_check: bool,
    as_json: bool,
) -> None:
    """Find the steps of every m x n transpose by search; each is proved on all of its elements."""
    output, stopwatch = Output(as_json), Stopwatch()
    if self_check:
        sys.exit(_self_check(output))
    sizes: list[Argument] = []
    for kind in kinds:
        pairs = [(m, n) for m in range(least, most + 1) for n in lanes or range(least, most + 1)]
        if kind == "rcr":
            # Steps 1 and 3 of neighbours move the same axis: workers find its functions already built.
            pairs.sort(key=lambda pair: pair[1])
        for m, n in pairs:
            sizes.append((kind, m, n, grammar))
    if pattern is not None:
        sizes = [size for size in sizes if fnmatchcase(_name(*size[:3]), pattern) or fnmatchcase(f"{size[1]}x{size[2]}", pattern)]
    try:
        if not sizes:
            message = f"expected sizes from {least} to {most} that the pattern matches, got {pattern or 'none'}"
            raise UserError(Diagnostic("NO_CASE", message, fix="Cases are called transpose/crc/12x32."))
        code = _sweep(sizes, output, journal, workers, cluster, cuda)
    except UserError as error:
        code = output.outcome(failed("transposes", error, stopwatch))
    sys.exit(code)


def _sweep(
    sizes: Sequence[Argument],
    output: Output,
    journal_path: Path | None,
    workers: int | None,
    cluster: str | None,
    cuda: Path | None,
) -> int:
    if cuda is not None:
        make_folder(cuda)
    journal = Journal(journal_path) if journal_path is not None else None
    for message in rendered(journal.damage) if journal is not None else ():
        output.say(message)
    tasks = [Task(problem_key(["transpose", *size]), size) for size in sizes]
    codes: list[int] = []
    done: set[str] = set()
    with ExitStack() as stack:
        stopped = stack.enter_context(Interrupts())
        try:
            executor: Executor = cluster_executor(cluster) if cluster else process_executor(workers)
            stack.enter_context(executor)
            progress = stack.enter_context(output.progress("transposes"))
            stack.enter_context(current().watched())
            for result in run_tasks(tasks, complete, executor=executor, journal=journal, ordered=True, accept=is_sound):
                line = line_of(result)
                if cuda is not None and line["status"] == "solved":
                    _write(line, cuda)
                done.add(result.task.key)
                output.row(line, columns(line))
                codes.append(GAVE_UP if line["status"] == "error" else EXIT_BY_STATUS[str(line["status"])])
                progress(f"{len(done)} of {len(tasks)}")
        except KeyboardInterrupt as stop:
            codes.append(GAVE_UP)
            for task in tasks:
                if task.key not in done:
                    kind, m, n, _ = task.argument
                    line = plain_line(_name(kind, m, n), "unknown", Stopwatch().read(), reason=why(stop), m=m, n=n)
                    output.row(line, columns(line))
    if stopped.seen:
        return INTERRUPTED
    output.say(f"{codes.count(0)} of {len(tasks)} sizes solved")
    return combined_exit(codes)


def _write(line: Line, folder: Path) -> None:
    """The kernel of a composition, beside its line; the reason where there is none."""
    kind, m, n = cast(transposes.Kind, line["kind"]), cast(int, line["m"]), cast(int, line["n"])
    try:
        movement = transposes.transpose_movement(kind, m, n, cast("list[str]", line["composition"]))
        line["kernel"] = write_kernel(movement, folder / f"{movement.name}.cu")
    except UserError as error:
        if error.diagnostics[0].code == "NOT_WRITTEN":
            raise
        line["no_kernel"] = one_line(error.diagnostics[0])


def _self_check(output: Output) -> int:
    codes: list[int] = []
    for name, check in transposes.SELF_CHECKS.items():
        stopwatch = Stopwatch()
        passed, tried = check()
        good = passed == tried
        line = plain_line(
            f"transpose/self-check/{name}",
            "solved" if good else "error",
            stopwatch.read(),
            verdict="proved" if good else "refuted",
            reason="" if good else f"{tried - passed} of {tried} failed",
            domain="all points of each table",
            tried=tried,
            passed=passed,
        )
        output.row(line, {"passed": f"{passed} of {tried}"})
        codes.append(EXIT_BY_STATUS[str(line["status"])])
    return combined_exit(codes)
