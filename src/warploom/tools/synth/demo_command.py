"""`warploom demo`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from warploom.tools.command.files import OUTPUT_FOLDER, make_folder
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.lines import INTERRUPTED
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.synth.demo import CASE, run_demo


@click.command()
@click.option(
    "--out", type=OUTPUT_FOLDER, default=Path("demo"), show_default=True, help="Folder for the demo's files; made if missing."
)
@JSON_OPTION
@DEBUG_OPTION
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
