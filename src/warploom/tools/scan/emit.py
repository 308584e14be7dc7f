"""`warploom scan emit`: a kernel, functor or module out of a serial loop."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import click

from warploom import scan
from warploom.core import Diagnostic, Span, UnsupportedError, UserError
from warploom.machines import BANKS
from warploom.scan.emit import (
    PLAIN,
    TARGETS,
    Asked,
    Cells,
    Choices,
    Emitted,
    IntType,
    RealType,
    Target,
    Types,
    emit,
    printable,
    source_of,
)
from warploom.scan.layouts import FAMILIES, TABLE_ELEMENTS, Family, best_layout
from warploom.scan.networks import NAMED, adjacency_of, named_network
from warploom.scan.variants import ScanForm
from warploom.tools.command.files import OUTPUT_FILE, write_text
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, IMPOSSIBLE, INTERRUPTED, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress, nothing_said
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.lift import lifting_of, split_target
from warploom.tools.scan.proof import Proof, proof_of

LAYOUTS = (*FAMILIES, "best")
KINDS = ("int32", "int64", "float32", "float64")


@click.command("emit")
@click.argument("target", metavar="FILE.py:FUNCTION")
@click.option(
    "--target", "--for", "language", type=click.Choice(TARGETS), required=True, help="Language, library or framework of the code."
)
@click.option("-o", "--out", type=OUTPUT_FILE, help="Write the code to this file; default: stdout.")
@click.option(
    "--type", "kinds", type=click.Choice(KINDS), multiple=True,
    help="Machine type of integers (default: int32) or of reals (default: float32); repeat it to set both.",
)  # fmt: skip
@click.option(
    "--network", type=click.Choice(sorted(NAMED)), default="kogge-stone", help="Scan network within a warp (cuda only)."
)
@click.option(
    "--threads", type=click.IntRange(32, 1024), default=256, help="Threads per block of the device-wide kernels (cuda only)."
)
@click.option("--items", type=click.IntRange(1, 32), help="Elements per thread of the device-wide kernels (cuda only).")
@click.option("--backward", is_flag=True, help="Result i is the loop's on the elements from i to the end (cuda only).")
@click.option(
    "--segmented", is_flag=True,
    help="An array of flags divides the list: the first element of each segment has one; backward: the last (cuda only).",
)  # fmt: skip
@click.option(
    "--by-key",
    is_flag=True,
    help="An array of keys divides the list: neighbours with equal keys are of one segment (cuda only, not with --backward).",
)
@click.option(
    "--layout", type=click.Choice(LAYOUTS),
    help="Add kernels that scan a block of --threads elements in shared memory, at these places of its cells (cuda only).",
)  # fmt: skip
@click.option("--block-network", metavar="NAME", help="Network of those kernels; default: brent-kung, and --layout best.")
@click.option("--check/--no-check", default=True, help="Run the code against the loop and prove its data movement.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def emit_command(
    target: str, language: Target, out: Path | None, kinds: tuple[str, ...], network: str, threads: int, items: int | None,
    backward: bool, segmented: bool, by_key: bool, layout: str | None, block_network: str | None, check: bool, as_json: bool,
    debug: bool,
) -> None:  # fmt: skip
    """Lift a serial loop, write its operator and scan for a GPU or for NumPy, and run them against the loop."""
    output, stopwatch = Output(as_json), Stopwatch()
    case = f"{target}:{language}"
    text = ""

    def work(progress: Progress) -> Outcome:
        nonlocal text
        asked = asked_for(threads, backward, segmented, layout, block_network, by_key)
        choices = Choices(network, threads, items)
        outcome, text = emitted(target, language, types_of(kinds), choices, out, check, stopwatch, asked, progress)
        return outcome

    with Interrupts() as stopped:
        outcome = guarded(case, work, stopwatch, output, debug)
        to_stdout = bool(text) and out is None and not as_json
        if to_stdout:
            click.echo(text, nl=False)
            for note in _summary(outcome.line):
                click.echo(note, err=True)
            code = outcome.exit_code
        else:
            code = output.outcome(outcome)
            if not as_json:
                for note in _summary(outcome.line)[1:]:
                    output.say(f"  {note}")
    sys.exit(INTERRUPTED if stopped.seen else code)


def asked_for(
    threads: int, backward: bool, segmented: bool, layout: str | None, block_network: str | None, by_key: bool = False
) -> Asked:
    """Form of the scan, and cells of its block; UserError: BAD_FORM, BAD_THREADS, BAD_LAYOUT, those of names of networks."""
    if by_key and (backward or segmented):
        other = "backward" if backward else "segmented"
        fix = "Take one of them; for a backward scan, mark the last element of each segment." if backward else "Take one of them."
        raise UserError(Diagnostic("BAD_FORM", f"expected keys alone, got by key and {other}", fix=fix))
    form = ScanForm(backward, segmented or by_key, by_key)
    if layout is None and block_network is None:
        return Asked(form)
    check_threads(threads)
    name, wanted = block_network or "brent-kung", layout or "best"
    net = named_network(name)(threads)
    if adjacency_of(net) != "strict":
        message = f"expected a network that is a scan for every associative operator, got {name} with {threads} columns"
        raise UserError(Diagnostic("BAD_NETWORK", message, fix="Use brent-kung, sklansky or kogge-stone."))
    if wanted == "table" and threads > TABLE_ELEMENTS:
        message = f"expected at most {TABLE_ELEMENTS} cells for a table, got {threads}"
        raise UserError(Diagnostic("BAD_LAYOUT", message, fix=f"Add --threads {TABLE_ELEMENTS}."))
    every: tuple[Family, ...] = tuple(f for f in FAMILIES if f != "table" or threads <= TABLE_ELEMENTS)
    found = best_layout(net, BANKS, families=every if wanted == "best" else (cast("Family", wanted),))
    return Asked(form, Cells(name, net, printable(found.best.remap, threads)))


def types_of(kinds: tuple[str, ...]) -> Types:
    """Types of these kinds, at most one of each; UserError."""
    whole = [k for k in kinds if k.startswith("int")]
    real = [k for k in kinds if k.startswith("float")]
    for given in (whole, real):
        if len(set(given)) > 1:
            message = f"expected one type of whole and one of real numbers, got {' and '.join(given)}"
            raise UserError(Diagnostic("BAD_TYPE", message, fix="Give --type once for each kind."))
    return Types(cast("IntType", whole[0] if whole else "int32"), cast("RealType", real[0] if real else "float32"))


def emitted(
    target: str, language: Target, types: Types, choices: Choices, out: Path | None, check: bool, stopwatch: Stopwatch,
    asked: Asked = PLAIN, progress: Progress = nothing_said,
) -> tuple[Outcome, str]:  # fmt: skip
    """The line and the text; the text is written to `out`."""
    check_threads(choices.threads)
    path, name = split_target(target)
    module = scan.read_module(path)
    progress("looking for the operator")
    found = lifting_of(module, name)
    return emitted_loop(
        f"{target}:{language}", module, name, found, language, types, choices, check, stopwatch, out, asked, progress
    )


def check_threads(threads: int) -> None:
    """UserError (BAD_THREADS) where they are no whole warps."""
    if threads % 32:
        raise UserError(Diagnostic("BAD_THREADS", f"expected a multiple of 32, got {threads}", fix="Round it."))


def emitted_loop(
    case: str, module: scan.Module, name: str, found: scan.Lifting, language: Target, types: Types, choices: Choices, check: bool,
    stopwatch: Stopwatch, out: Path | None = None, asked: Asked = PLAIN, progress: Progress = nothing_said,
) -> tuple[Outcome, str]:  # fmt: skip
    """The line and the text for a loop that was lifted; the text is written to `out`.

    A spent budget or an interruption ends the checks: the text is written, and said to be less than proved.
    """
    check_threads(choices.threads)
    if found.operator is None or found.verdict in ("refuted", "unchecked"):
        reason = found.reason or "the operator was not proved"
        return Outcome(plain_line(case, found.status, stopwatch.read(), reason=reason), EXIT_BY_STATUS[found.status]), ""
    try:
        if check:
            made = emit(found, language, types, choices, asked, progress=progress)
        else:
            made = Emitted(source_of(found.operator, language, types, choices, asked), "unchecked", reason="not asked for")
    except UnsupportedError as error:
        code = getattr(scan.user_function(module, name), "__code__", None)
        first = code.co_firstlineno if code is not None else 1
        span = Span(module.file, first, 1, first, 1)
        raise UnsupportedError(*(replace(d, span=span) for d in error.diagnostics)) from error
    proof = None
    if check and language == "cuda" and made.verdict in ("tested", "unchecked") and made.movement is not None and not made.cut:
        proof = proof_of(found.operator, types, choices, asked, progress)
    written: tuple[Path, ...] = ()
    if out is not None and made.verdict != "refuted":
        write_text(out, made.source)
        written = (out,)
    line = _line(case, found, made, language, types, stopwatch, out, asked, proof)
    code = IMPOSSIBLE if line["status"] == "error" else EXIT_BY_STATUS[str(line["status"])]
    return Outcome(line, code, written=written), made.source


def _line(
    case: str, found: scan.Lifting, made: Emitted, language: Target, types: Types, stopwatch: Stopwatch, out: Path | None,
    asked: Asked, proof: Proof | None,
) -> Line:  # fmt: skip
    fields: Line = {}
    if made.verdict == "tested":
        fields["cases"] = made.cases
    fields |= {
        "target": language,
        "types": [types.whole, types.real],
        "kernels": list(made.kernels),
        "operator": {"verdict": found.verdict, "domain": found.domain},
    }
    if not asked.form.is_plain:
        fields["variant"] = f"{asked.form} scan"
    if asked.cells is not None:
        cells = asked.cells
        fields["cells"] = {"columns": cells.net.columns, "network": cells.name, "layout": str(cells.remap)}
    if made.movement is not None:
        moved = made.movement
        fields["movement"] = {"verdict": "proved" if moved.is_proved else "unchecked", "launches": moved.launches}
        fields["movement"] |= {"domain": moved.domain} if moved.is_proved else {"reason": moved.reason}
    if proof is not None:
        fields |= proof.fields
    fields["notes"] = list(made.notes)
    fields |= {"out": str(out)} if out is not None else {"source": made.source}
    status: Literal["solved", "error"] = "error" if made.verdict == "refuted" else "solved"
    reason = f"a bug of Warploom: {made.reason}" if made.verdict == "refuted" else ""
    if proof is not None and proof.is_refuted:
        reason = f"a bug of Warploom: its judges disagree, the kernels are {made.verdict} and their PTX refuted: {proof.reason}"
        return plain_line(case, "error", stopwatch.read(), reason=reason) | fields
    if made.verdict == "unchecked" and made.reason:
        fields["notes"] = [*made.notes, f"{'not settled' if made.cases else 'not run'}: {made.reason}"]
    return plain_line(case, status, stopwatch.read(), verdict=made.verdict, reason=reason, **fields)


def _summary(line: Line) -> list[str]:
    """Summary for people, beside the text."""
    if "target" not in line:
        return [f"{line['case']}: {line['status']}: {line.get('reason', '')}"]
    operator = cast("dict[str, str]", line["operator"])
    ran = f", {line['cases']} results compared with the loop" if "cases" in line else ""
    found = [
        f"{line['case']}: {line['status']}, {line['verdict']}{ran}  ({line['seconds']} CPU s)",
        f"operator {operator['verdict']} over {operator['domain']}",
    ]
    moved = cast("dict[str, str] | None", line.get("movement"))
    if moved is not None:
        found.append(f"movement {moved['verdict']}: {moved.get('domain') or moved.get('reason')}")
    proof = cast("dict[str, Any] | None", line.get("proof"))
    if proof is not None:
        sizes = cast("dict[str, list[list[int]]]", line.get("proved_at", {}))
        blocks = dict.fromkeys(launch[0] for kind, launches in sizes.items() if kind != "whole_arrays" for launch in launches)
        at = f" with {', '.join(map(str, blocks))} threads" if sizes else ""
        found.append(f"kernels of warps and blocks {proof['verdict']}{at}: {proof.get('domain') or proof['reason']}")
        whole = cast("dict[str, str]", proof.get("whole_arrays", {}))
        if whole:
            elements = ", ".join(str(count) for *_, count in sizes.get("whole_arrays", []))
            at = f" with {elements} elements" if elements else ""
            found.append(f"kernels of whole arrays {whole['verdict']}{at}: {whole.get('domain') or whole['reason']}")
    return found + [f"note: {n}" for n in cast("list[str]", line["notes"])]
