"""`warploom synth`: completes sketches, reports each with one line, writes CUDA, page and intermediate forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.core import UserError
from warploom.kernels import complete_example
from warploom.synth import EngineName, Report, complete
from warploom.tools.command.files import make_folder, write_text
from warploom.tools.command.lines import BAD_INPUT, EXIT_BY_STATUS, GAVE_UP, turned_into_error
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.pages.page import page_without_answer
from warploom.tools.synth.forms import KEPT_SUFFIXES, Suffix, form_text
from warploom.tools.synth.printed import Printed, executed_fields, print_checked
from warploom.tools.synth.report import report_line
from warploom.tools.synth.targets import Target

KEEPABLE = tuple(KEPT_SUFFIXES)


@dataclass(frozen=True, slots=True)
class SynthOptions:
    space: int | None = None
    all_solutions: bool = False
    budget_s: float | None = None
    budget_nodes: int | None = None
    seed: int = 0
    cuda: Path | None = None
    html: Path | None = None
    svg: Path | None = None
    keep: frozenset[str] = frozenset()
    """Files to write, of `KEEPABLE`: CASE.ir, CASE.cu, CASE.ptx."""
    keep_in: Path = Path()
    engine: EngineName = "propagation"
    objective: str | None = None

    @property
    def writes(self) -> bool:
        """Whether there is a file to write."""
        return bool(self.cuda or self.html or self.svg or self.keep)


def synthesise(target: Target, options: SynthOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """Completes one sketch and writes what was asked for; UserError for a sketch that is wrong in itself."""
    asked: dict[str, Any] = {
        "space": options.space,
        "all_solutions": options.all_solutions,
        "budget_s": None if options.budget_s is None else max(0.0, options.budget_s - stopwatch.read().seconds),
        "budget_nodes": options.budget_nodes,
        "seed": options.seed,
        "objective": options.objective,
        "progress": progress,
    }
    if target.example is None:
        report = complete(target.sketch, engine=options.engine, **asked)
    else:
        report = complete_example(target.example, **asked)
    return reported(target, options, report, stopwatch, progress)


def reported(target: Target, options: SynthOptions, report: Report, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """The line of a completed sketch, and the files that were asked for."""
    kernel = target.sketch.kernel
    line = report_line(target.case, kernel, report, stopwatch.read(), all_solutions=options.all_solutions)
    if target.sketch.notes:
        line["read_as"] = list(target.sketch.notes)
    messages = rendered(report.diagnostics)
    printed: Printed | None = None
    written: tuple[Path, ...] = ()
    code = GAVE_UP if report.status == "error" else EXIT_BY_STATUS[report.status]
    if report.status == "solved" and options.writes:
        progress("printing and reading back")
        try:
            printed = print_checked(kernel, report.completions[0].holes)
            line |= printed.fields() | executed_fields(printed, kernel, target.sketch.complete_at)
            written = _write(target, report, printed, line, options)
        except UserError as error:
            turned_into_error(line, f"solved, but not written: {one_line(error.diagnostics[0])}")
            messages += rendered(error.diagnostics)
            code = BAD_INPUT if error.diagnostics[0].code == "NOT_WRITTEN" else GAVE_UP
    elif report.status in ("unsat", "unknown") and not report.completions and options.html is not None:
        write_text(options.html, page_without_answer(target, report, line))
        written = (options.html,)
    return Outcome(line, code, report, printed, messages, written)


def _write(
    target: Target, report: Report, printed: Printed, line: Mapping[str, object], options: SynthOptions
) -> tuple[Path, ...]:
    asked: list[tuple[Path | None, Suffix]] = [(options.cuda, ".cu"), (options.html, ".html"), (options.svg, ".svg")]
    for form, suffix in KEPT_SUFFIXES.items():
        if form in options.keep and (form != "ptx" or printed.compiled is not None):
            asked.append((options.keep_in / f"{target.case}{suffix}", suffix))
    places: dict[Path, Suffix] = {path: suffix for path, suffix in asked if path is not None}
    files = {path: form_text(suffix, target, report, line, printed) for path, suffix in places.items()}
    if options.keep:
        make_folder(options.keep_in)
    for path, text in files.items():
        write_text(path, text)
    return tuple(files)
