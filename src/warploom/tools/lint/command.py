"""`warploom lint`: one kernel of a file, for one launch or for every one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from warploom.core import Diagnostic, UserError
from warploom.tools.command.files import OUTPUT_FILE, write_text
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import INTERRUPTED
from warploom.tools.command.options import DEBUG_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.lint.launched import Linted, LintOptions, is_wrong, lint
from warploom.tools.lint.page import lint_page
from warploom.tools.lint.python_kernels import file_of
from warploom.tools.lint.sources import Compilation
from warploom.tools.lint.told import github, line, sarif, text
from warploom.tools.lint.watch import Keeping, watch, words
from warploom.tools.ptx.arguments import ARGUMENT_HELP, CLUSTER_OPTION, COOPERATIVE_OPTION, LAUNCH_HELP

TextFormat = Literal["text", "json", "sarif", "github"]


@click.command("lint", cls=Keeping)
@click.argument("file", metavar="FILE.cu|FILE.ptx|BINARY|FILE.py:KERNEL")
@click.option("--kernel", help="Name of the kernel, in C++ or as in the PTX; needed if the file has several.")
@click.option("--launch", "launched", nargs=2, metavar="GRID BLOCK", help=LAUNCH_HELP)
@CLUSTER_OPTION
@COOPERATIVE_OPTION
@click.option(
    "--every-launch",
    is_flag=True,
    help="Look for data races in every launch, not in one; for accesses out of bounds, too, where lengths are assumed.",
)
@click.option(
    "--assume",
    "assumed",
    multiple=True,
    metavar="TEXT",
    help="What all launches have in common: 'blockDim.x == 256 && len(arg0) >= arg3'.",
)
@click.option("--arg", "texts", multiple=True, metavar="[INDEX=]SPEC", help=ARGUMENT_HELP)
@click.option("--const", "constants", multiple=True, metavar="NAME=VALUE", help="Constant (tl.constexpr) of a Triton kernel.")
@click.option(
    "--symbol", "symbol_texts", multiple=True, metavar="NAME=SPEC", help="Content of a module variable, in the forms of --arg."
)
@click.option("--shared", type=click.IntRange(min=0), default=0, show_default=True, help="Bytes of dynamic shared memory.")
@click.option("--arch", default="sm_90", show_default=True, help="Architecture that a .cu is compiled for.")
@click.option("-I", "folders", multiple=True, metavar="DIR", help="Folder of headers.")
@click.option("-D", "defines", multiple=True, metavar="NAME[=TEXT]", help="Macro.")
@click.option("--strict", is_flag=True, help="Warnings refute the launch, too.")
@click.option("--repeated-loads", is_flag=True, help="Look for loads that neighbouring lanes repeat, too; takes longer.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Findings that are known; only others count.")
@click.option("--write-baseline", type=OUTPUT_FILE, help="Write the findings of this run as known ones.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after this many instructions, summed over threads.")
@click.option("--json", "form", flag_value="json", help="Print a JSON line for each finding and one for the kernel.")
@click.option("--sarif", "form", flag_value="sarif", help="Print a SARIF log.")
@click.option("--github", "form", flag_value="github", help="Print annotations for GitHub's workflows.")
@click.option("--html", type=OUTPUT_FILE, help="Write a page: the source with its costs, the accesses of banks, races.")
@click.option("--watch", "is_watching", is_flag=True, help="Run again whenever the file has changed; Ctrl-C ends.")
@DEBUG_OPTION
@limited
def lint_command(
    file: str,
    kernel: str | None,
    launched: tuple[str, str] | None,
    cluster: str | None,
    cooperative: bool,
    every_launch: bool,
    assumed: tuple[str, ...],
    texts: tuple[str, ...],
    constants: tuple[str, ...],
    symbol_texts: tuple[str, ...],
    shared: int,
    arch: str,
    folders: tuple[str, ...],
    defines: tuple[str, ...],
    strict: bool,
    repeated_loads: bool,
    baseline: Path | None,
    write_baseline: Path | None,
    limit: int | None,
    form: TextFormat | None,
    html: Path | None,
    is_watching: bool,
    debug: bool,
) -> None:
    """Look for races, faults and wasted accesses in one launch of a CUDA or PTX kernel, on the lines of its source; or for races
    in every launch."""
    if is_watching:
        sys.exit(watch(file_of(file), ("lint", *words())))
    form = form or "text"
    output, stopwatch = Output(form == "json"), Stopwatch()
    linted: list[Linted] = []

    def work(_: Progress) -> Outcome:
        for written in (html, write_baseline):
            if written is not None and written.resolve() == Path(file_of(file)).resolve():
                message = f"expected another file to write than the source, got {written}"
                raise UserError(Diagnostic("NOT_WRITTEN", message, fix="Name another file; this one would be lost."))
        options = LintOptions(
            kernel, launched, texts, symbol_texts, constants, shared, cluster, cooperative, limit, strict, repeated_loads,
            baseline, write_baseline, Compilation(arch, folders, defines),
        )  # fmt: skip
        if assumed and not every_launch:
            raise UserError(Diagnostic("ASSUMPTION", "expected --assume together with --every-launch, got it alone"))
        if every_launch:
            # Here, because it needs z3 and the symbolic run, which one launch does without.
            from warploom.tools.lint.every_launch import lint_every_launch

            linted.append(lint_every_launch(file, options, assumed, stopwatch))
        else:
            linted.append(lint(file, options, stopwatch))
        if html is not None:
            write_text(html, lint_page(linted[0]))
        return linted[0].outcome

    with Interrupts() as stopped:
        outcome = guarded(file, work, stopwatch, output, debug)
        found = linted[0].found if linted else ()
        if form == "sarif":
            click.echo(sarif(found))
        for one in found if form in ("text", "github") else ():
            click.echo(text(one) if form == "text" else github(one))
        if form == "json":
            for one in found:
                wrong = is_wrong(one, is_strict=strict)
                output.listed(line(linted[0].case, one, stopwatch.read(), is_wrong=wrong), "")
        code = output.outcome(outcome) if form in ("json", "text") else _quiet(output, outcome)
    sys.exit(INTERRUPTED if stopped.seen else code)


def _quiet(output: Output, outcome: Outcome) -> int:
    """Exit code after output in a form that a machine reads; other messages go to stderr."""
    for message in outcome.messages:
        click.echo(message, err=True)
    if outcome.line["status"] != "solved" and not outcome.messages:
        click.echo(f"{outcome.line['case']}: {outcome.line['reason']}", err=True)
    return outcome.exit_code
