"""`warploom ptx trace FILE`: what the kernels of a file read and write, as formulas."""

from __future__ import annotations

import sys

import click

from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import INTERRUPTED, SOLVED, plain_line
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.ptx.check import read_good_ptx
from warploom.tools.ptx.trace import trace_text


@click.command("trace")
@click.argument("file", metavar="FILE")
@click.option("--kernel", help="Name of the kernel; default: all.")
@click.option("--extensions", is_flag=True, help="Show sign and zero extensions.")
@click.option("--assume", type=click.Choice(["nsw"]), help="nsw: assume that signed index arithmetic does not wrap.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line with the field `trace`.")
@limited
def trace_command(file: str, kernel: str | None, extensions: bool, assume: str | None, as_json: bool) -> None:
    """Run every kernel symbolically and print its memory trace, in the style of PTXASW's Listing 5."""
    output, stopwatch = Output(as_json), Stopwatch()
    texts: list[str] = []

    def work(_: Progress) -> Outcome:
        module = read_good_ptx(file).module
        texts.append(trace_text(module, kernel=kernel, extensions=extensions, assume_nsw=assume == "nsw"))
        return Outcome(plain_line(file, "solved", stopwatch.read(), trace=texts[0].splitlines()), SOLVED)

    with Interrupts() as stopped:
        outcome = guarded(file, work, stopwatch, output, debug=False)
    if texts and not as_json:
        click.echo(texts[0], nl=False)
    else:
        output.outcome(outcome)
    sys.exit(INTERRUPTED if stopped.seen else outcome.exit_code)
