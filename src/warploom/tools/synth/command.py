"""`warploom synth`: completes the sketches of a file, or a case of the library."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from warploom.core import Diagnostic, UserError
from warploom.tools.command.files import OUTPUT_FILE, OUTPUT_FOLDER, require_place
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import INTERRUPTED, SOLVED, combined_exit
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress, interrupted
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.ptx.prove import ptx_field, with_ptx
from warploom.tools.synth.synthesise import KEEPABLE, SynthOptions, reported, synthesise
from warploom.tools.synth.targets import Target, resolve

if TYPE_CHECKING:
    from warploom.tools.synth.best import Best


def _forms(ctx: click.Context, param: click.Parameter, value: str) -> frozenset[str]:
    asked = frozenset(value.split(",")) - {""}
    if not asked <= set(KEEPABLE):
        raise click.BadParameter(f"expected a list of {', '.join(KEEPABLE)}, got {value!r}", ctx, param)
    return asked


@click.command()
@click.argument("target", metavar="FILE[:SKETCH]|CASE")
@click.option(
    "--space", type=click.IntRange(1, 3), help="Search only this space; default: 1, 2 and 3 in turn until one has the answer."
)
@click.option(
    "--objective",
    metavar="PARTS",
    help="What to minimise, in order: accumulates, then some of wavefronts, sectors, shuffles "
    "and registers (different ones that lanes of a warp take from at once), then index. Default: "
    "wavefronts and shuffles count where an index of shared memory is open.",
)
@click.option(
    "--best", is_flag=True, help="Choose the sketch's parameters by the cost model, as `explore` does, and complete that one."
)
@click.option(
    "--arch", "--target", "arch", metavar="ARCH", default="sm_90", show_default=True, help="Architecture that --best is for."
)
@click.option("--all", "all_solutions", is_flag=True, help="List every completion of the first space that has one.")
@click.option("--cuda", type=OUTPUT_FILE, help="Write the CUDA C++ here.")
@click.option("--html", type=OUTPUT_FILE, help="Write an HTML page that shows how the values move.")
@click.option("--svg", type=OUTPUT_FILE, help="Write one still picture of the movement.")
@JSON_OPTION
@click.option("--nodes", type=click.IntRange(min=0), help="Stop after this many search nodes (a repeatable budget).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the independent checker's inputs.")
@click.option(
    "--keep", metavar="FORMS", default="", callback=_forms, help="Write CASE.ir, CASE.cu, ... for each listed form: ir,cuda,ptx."
)
@click.option("--keep-in", type=OUTPUT_FOLDER, default=Path(), help="Folder for the files of --keep; made if missing.")
@click.option("--prove-ptx", is_flag=True, help="Compile the completed kernel and prove the PTX, too.")
@DEBUG_OPTION
@limited
def synth(
    target: str,
    space: int | None,
    objective: str | None,
    best: bool,
    arch: str,
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
    """Complete a sketch from a file or a case of the library, and prove it."""
    output = Output(as_json)
    options = SynthOptions(space, all_solutions, budget, nodes, seed, cuda, html, svg, keep, keep_in, objective=objective)
    codes: list[int] = []
    with Interrupts() as stopped:
        stopwatch = Stopwatch()
        targets: list[Target] = []
        chosen: list[Best] = []

        def read(progress: Progress) -> Outcome:
            if best:
                # Here, because it needs the cost model, which a completion alone does without.
                from warploom.tools.synth.best import best_of, family_of

                _require_writable(options)
                family = family_of(target)
                chosen.append(best_of(family.name, family, arch, budget, progress))
                targets.append(chosen[0].target)
            else:
                targets.extend(_resolved(target, options))
            return Outcome({}, SOLVED)

        reading = guarded(target, read, stopwatch, output, debug)
        if reading.line:  # it failed
            codes.append(output.outcome(reading))
        for found in targets:
            if stopped.seen:
                outcome = interrupted(found.case, stopwatch)
            else:
                work = partial(_synthesised, found, options, stopwatch, prove_ptx, chosen[0] if chosen else None)
                outcome = guarded(found.case, work, stopwatch, output, debug)
            if chosen and outcome.line["status"] == "unknown" and chosen[0].report.status == "solved":
                ended = chosen[0].ended or str(outcome.line["reason"])
                outcome = guarded(found.case, partial(_kept, options, stopwatch, chosen[0], ended), stopwatch, output, debug)
            codes.append(output.outcome(outcome))
            stopwatch = Stopwatch()
    sys.exit(INTERRUPTED if stopped.seen else combined_exit(codes))


def _synthesised(
    target: Target, options: SynthOptions, stopwatch: Stopwatch, prove_ptx: bool, best: Best | None, progress: Progress
) -> Outcome:
    outcome = synthesise(target, options, stopwatch, progress)
    if best is not None:
        outcome = replace(outcome, line=outcome.line | best.fields, details=(*outcome.details, best.reason))
    report = outcome.report
    if not prove_ptx or report is None or report.status != "solved":
        return outcome
    progress("proving the compiled kernel")
    field = ptx_field(target, report.completions[0])
    return with_ptx(outcome, field)


def _kept(options: SynthOptions, stopwatch: Stopwatch, best: Best, ended: str, progress: Progress) -> Outcome:
    """The kernel that the search over the parameters has completed, where `ended` kept it from being completed once more."""
    outcome = reported(best.target, options, best.report, stopwatch, progress)
    return replace(outcome, line=outcome.line | best.fields | {"ended": ended}, details=(best.reason, f"  ended: {ended}"))


def _require_writable(options: SynthOptions) -> None:
    """UserError where the files of --keep have no place."""
    if options.keep:
        require_place(options.keep_in, is_folder=True)


def _resolved(text: str, options: SynthOptions) -> tuple[Target, ...]:
    _require_writable(options)
    targets = resolve(text)
    if len(targets) > 1 and (options.cuda or options.html or options.svg):
        names = ", ".join(target.case for target in targets)
        message = f"expected one sketch for --cuda, --html and --svg, got {len(targets)}: {names}"
        raise UserError(Diagnostic("SEVERAL_SKETCHES", message, fix=f"Name one: {text}:{targets[0].case}"))
    return targets
