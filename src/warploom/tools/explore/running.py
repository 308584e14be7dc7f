"""`warploom explore` of a function with a running result: its loop is lifted, and its kernel written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from warploom import scan
from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.schedule.cpu import c_source
from warploom.schedule.recurrences import Recurrence, serial_loop, serial_nest
from warploom.tools.command.files import write_text
from warploom.tools.command.lines import EXIT_BY_STATUS, plain_line
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.lift import lifting_of, outcome_of


def loop_module(recurrence: Recurrence) -> scan.Module:
    """The text of the loop over one row. UnsupportedError (RUNNING) where there is none."""
    return scan.parse_module(serial_loop(recurrence).text, f"<the loop of {recurrence.name}>")


def lifted_running(
    case: str, recurrence: Recurrence, stopwatch: Stopwatch, progress: Progress
) -> tuple[Outcome, scan.Module, scan.Lifting | None]:
    """The line of `scan lift` for the loop over one row, its module, and what was found; an empty module, and nothing, where
    `scan` has no word for the loop."""
    try:
        module = loop_module(recurrence)
    except UnsupportedError as error:
        reason = error.diagnostics[0].message
        line = plain_line(case, "unknown", stopwatch.read(), verdict="unchecked", reason=reason)
        return Outcome(line, EXIT_BY_STATUS["unknown"]), scan.parse_module("", f"<the loop of {recurrence.name}>"), None
    progress("closing under composition")
    found = lifting_of(module, recurrence.name)
    return outcome_of(case, found, stopwatch), module, found


def explore_running(
    case: str, recurrence: Recurrence, target: str, sizes: Mapping[str, int], code: Path | None, stopwatch: Stopwatch,
    progress: Progress,
) -> Outcome:  # fmt: skip
    """The same; `code` gets the scan in CUDA C++, or for the CPU the serial loop at these sizes."""
    outcome, module, found = lifted_running(case, recurrence, stopwatch, progress)
    if code is None:
        return outcome
    if target == "cpu":
        if set(sizes) != set(recurrence.sizes):
            wanted = ", ".join(recurrence.sizes)
            message = f"expected the sizes {wanted} of {recurrence.name!r} for its C, got {', '.join(sizes) or 'none'}"
            raise UserError(Diagnostic("SIZES", message, fix=f"Write --size {','.join(f'{n}=1024' for n in recurrence.sizes)}."))
        return _written(outcome, code, c_source(serial_nest(recurrence, sizes)).text)
    if found is None:
        return outcome
    # Imported here: its printers and proofs load half of the package.
    from warploom.scan.emit import Choices, Types
    from warploom.tools.scan.emit import emitted_loop

    types = Types("int64" if recurrence.dtype.bits == 64 else "int32", "float64" if recurrence.dtype.bits == 64 else "float32")
    choices = Choices("kogge-stone", 256, None)
    made, source = emitted_loop(
        case, module, recurrence.name, found, "cuda", types, choices, True, stopwatch, progress=progress
    )  # fmt: skip
    if not source or made.line["status"] != "solved":
        return made
    loop = "".join(f"//     {line}\n" for line in serial_loop(recurrence).text.splitlines())
    return _written(made, code, f"// The scan of this loop, whose lists and numbers are its arguments:\n{loop}\n{source}")


def _written(outcome: Outcome, code: Path, text: str) -> Outcome:
    write_text(code, text)
    fields = {name: value for name, value in outcome.line.items() if name != "source"}
    return replace(outcome, line={**fields, "out": str(code)}, written=(code,))
