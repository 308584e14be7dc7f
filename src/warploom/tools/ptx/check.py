"""`warploom ptx check` and `warploom ptx fmt`: parse, verify, summarise and print PTX files.

Files are read as UTF-8 with surrogate escapes, so that any bytes in comments and strings come out as they went in.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from warploom.core import Diagnostic, UserError, read_bytes
from warploom.gpu import embedded_ptx, is_binary
from warploom.ptx import WARNINGS, Program, Routine, flow_graph, lower, pressure, verify
from warploom.ptx.simt import is_supported
from warploom.ptx.syntax import Instruction, Module, exact, normal, parse
from warploom.tools.command.files import OUTPUT_FILE, write_bytes
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import BAD_INPUT, GAVE_UP, IMPOSSIBLE, INTERRUPTED, SOLVED, combined_exit, plain_line
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.options import JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch

SHOWN = 20
"""Diagnostics of one file that are printed at most."""


@dataclass(frozen=True, slots=True)
class RoutineSummary:
    """Summary of a kernel or device function."""

    name: str
    is_entry: bool
    instructions: int
    registers: dict[str, int]
    """Type -> how many registers of it are used; all of a vector register count."""
    live_registers: int
    """The most 32-bit registers live at once."""
    shared_bytes: int
    """Declared in the body; 0 for dynamic shared memory."""


@dataclass(frozen=True, slots=True)
class FileSummary:
    """Summary of one PTX file."""

    routines: tuple[RoutineSummary, ...]
    shared_bytes: int
    """Declared outside functions."""
    unsupported: dict[str, int]
    """Instruction by name -> first line."""

    @property
    def instructions(self) -> int:
        return sum(r.instructions for r in self.routines)


def summarise(module: Module, serves: Callable[[Instruction], bool] = is_supported) -> FileSummary:
    """UserError for a module that does not lower; `serves` is asked once for each name of an instruction.

    By default it says what the interpreter has.
    """
    program = lower(module)
    routines: list[RoutineSummary] = []
    unsupported: dict[str, int] = {}
    seen: set[str] = set()
    for routine in program.routines.values():
        routines.append(_routine_summary(routine))
        for index, instruction in enumerate(routine.instructions):
            name = instruction.name
            if name not in seen:
                seen.add(name)
                if not serves(instruction):
                    unsupported[name] = routine.span(index).line
    shared = sum(v.size_bytes for v in program.variables.values() if v.space == "shared")
    return FileSummary(tuple(routines), shared, unsupported)


def _routine_summary(routine: Routine) -> RoutineSummary:
    registers: Counter[str] = Counter()
    for name, kind in routine.registers.items():
        registers[kind] += routine.register_vectors.get(name, 1)
    shared = sum(v.size_bytes for v in routine.variables.values() if v.space == "shared")
    live = pressure(routine, flow_graph(routine)).registers
    return RoutineSummary(
        routine.name, routine.is_entry, len(routine.instructions), dict(sorted(registers.items())), live, shared
    )  # fmt: skip


def read_ptx(path: str, is_wanted: Callable[[str], bool] | None = None) -> str:
    """The text of a file of PTX, or the PTX inside of a binary: of several, the one for the newest architecture.

    is_wanted: says of the name of a kernel whether it is asked for, where a binary has several files of PTX. UserError
    (FILE_NOT_FOUND, NOT_READ, NO_PTX, SEVERAL_PTX).
    """
    if not Path(path).exists():
        raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected a PTX file, found none at {path}", fix="Check the path."))
    if Path(path).suffix in (".cu", ".cuh"):
        message = f"expected PTX, found CUDA C++ at {path}"
        fix = "Compile it first: nvcc -ptx, or warploom.gpu.compile_to_ptx (docs/ptx.md)."
        raise UserError(Diagnostic("NOT_PTX", message, fix=fix))
    try:
        data = read_bytes(path)
    except OSError as error:
        message = f"expected a readable file at {path}, got: {error.strerror}"
        raise UserError(Diagnostic("NOT_READ", message, fix="Check the path and its permissions.")) from error
    return _inside(path, is_wanted) if is_binary(data) else data.decode("utf-8", "surrogateescape")


def _inside(path: str, is_wanted: Callable[[str], bool] | None) -> str:
    found = embedded_ptx(path)
    with_kernels = [one for one in found if one.kernels] or list(found)
    wanted = [one for one in with_kernels if is_wanted is not None and any(map(is_wanted, one.kernels))] or with_kernels
    newest = max(one.architecture for one in wanted)
    chosen = [one for one in wanted if one.architecture == newest]
    if len(chosen) > 1:
        listed = "; ".join(f"{one.name}: {', '.join(one.kernels)}" for one in chosen)
        message = f"expected one file of PTX for sm_{newest} in {path}, found {len(chosen)} ({listed})"
        fix = "Name a kernel (lint --kernel), or take one out of it: cuobjdump -xptx NAME FILE."
        raise UserError(Diagnostic("SEVERAL_PTX", message, fix=fix))
    return chosen[0].text


def read_good_ptx(path: str) -> Program:
    """The module of a file without errors; UserError with everything that `ptx check` refuses in it."""
    return good_program(read_ptx(path), path)


def good_program(text: str, file: str) -> Program:
    """Like `read_good_ptx`, for a text; `file` is for places."""
    module = parse(text, file)
    errors = [d for d in verify(module) if d.code not in WARNINGS]
    if errors:
        raise UserError(*errors[:SHOWN])
    return lower(module)


def check_file(path: str, stopwatch: Stopwatch) -> tuple[Outcome, FileSummary | None]:
    """The line of one file: `kernels`, `functions`, `instructions`, `unsupported`, `shared_bytes`, `warnings`.

    UserError where the file cannot be read or parsed.
    """
    module = parse(read_ptx(path), path)
    diagnostics = verify(module)
    errors = [d for d in diagnostics if d.code not in WARNINGS]
    shown = diagnostics[:SHOWN]
    messages = tuple(
        text.replace(": error[", ": warning[", 1) if d.code in WARNINGS else text
        for d, text in zip(shown, rendered(shown), strict=True)
    )
    if len(diagnostics) > SHOWN:
        messages += (f"{path}: and {len(diagnostics) - SHOWN} more",)
    if errors:
        line = plain_line(path, "error", stopwatch.read(), reason=one_line(errors[0]), errors=len(errors))
        return Outcome(line, BAD_INPUT, messages=messages), None
    summary = summarise(module)
    kernels = [
        {
            "name": r.name, "instructions": r.instructions, "registers": r.registers, "live_registers": r.live_registers,
            "shared_bytes": r.shared_bytes,
        }
        for r in summary.routines if r.is_entry
    ]  # fmt: skip
    line = plain_line(
        path, "solved", stopwatch.read(), kernels=kernels, functions=len(summary.routines) - len(kernels),
        instructions=summary.instructions, unsupported=summary.unsupported, shared_bytes=summary.shared_bytes,
        warnings=len(diagnostics),
    )  # fmt: skip
    return Outcome(line, SOLVED, messages=messages), summary


def _table(summary: FileSummary) -> list[str]:
    width = min(60, max((len(r.name) for r in summary.routines), default=0))
    lines: list[str] = []
    for routine in summary.routines:
        registers = ", ".join(f"{count} {kind}" for kind, count in routine.registers.items())
        kind = "kernel" if routine.is_entry else "function"
        name = routine.name if len(routine.name) <= width else routine.name[: width - 3] + "..."
        text = f"  {kind:<8} {name:<{width}}  {routine.instructions} instructions; registers {registers or 'none'}"
        text += f" ({routine.live_registers} live)"
        lines.append(text + (f"; {routine.shared_bytes} bytes shared" if routine.shared_bytes else ""))
    if summary.shared_bytes:
        lines.append(f"  {summary.shared_bytes} bytes shared outside functions")
    for name, line in summary.unsupported.items():
        lines.append(f"  unsupported: {name}, first on line {line}")
    return lines


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@JSON_OPTION
@limited
def check_command(files: tuple[str, ...], as_json: bool) -> None:
    """Parse and verify PTX files; count kernels, instructions and registers, and name what is not supported."""
    output = Output(as_json)
    codes: list[int] = []
    with Interrupts() as stopped:
        for path in files:
            stopwatch = Stopwatch()
            summaries: list[FileSummary] = []
            work = partial(_checked, path, stopwatch, summaries)
            codes.append(output.outcome(guarded(path, work, stopwatch, output, debug=False)))
            for summary in () if as_json else summaries:
                for text in _table(summary):
                    output.say(text)
            if stopped.seen:
                break
    sys.exit(INTERRUPTED if stopped.seen else combined_exit(codes))


def _checked(path: str, stopwatch: Stopwatch, summaries: list[FileSummary], _: Progress) -> Outcome:
    outcome, summary = check_file(path, stopwatch)
    if summary is not None:
        summaries.append(summary)
    return outcome


@click.command("fmt")
@click.argument("file", metavar="FILE")
@click.option("-o", "--out", type=OUTPUT_FILE, help="Write to this file instead of stdout.")
@click.option("--in-place", is_flag=True, help="Overwrite FILE with the result.")
@click.option(
    "--exact", "is_exact", is_flag=True, help="Print the file unchanged from its syntax tree; exit 1 if a byte differs."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line; it has the text (`text`) unless a file is written.")
@limited
def format_command(file: str, out: Path | None, in_place: bool, is_exact: bool, as_json: bool) -> None:
    """Print a PTX file in normal form: one statement a line, no comments."""
    if out is not None and in_place:
        raise click.UsageError("expected -o or --in-place, got both")
    if is_exact and in_place:
        raise click.UsageError("expected --exact or --in-place, got both")
    output, stopwatch = Output(as_json), Stopwatch()
    target = Path(file) if in_place else out
    shown: list[str] = []

    def work(_: Progress) -> Outcome:
        text = read_ptx(file)
        module = parse(text, file)
        if not module.items and not is_exact:
            message = f"expected a PTX file, got one without any statement at {file}"
            raise UserError(Diagnostic("PTX_HEADER", message, fix="Name the file that the compiler wrote."))
        printed = exact(module) if is_exact else normal(module)
        if not is_exact and parse(printed, file) != module:
            return _differs(file, "the normal form does not read back as the same module", stopwatch)
        if target is not None:
            write_bytes(target, _encoded(printed))
        elif not as_json:
            shown.append(printed)
        if is_exact and printed != text:
            return replace(_differs(file, "the printed file differs", stopwatch), exit_code=IMPOSSIBLE)
        fields: dict[str, Any] = (
            {"written": str(target)} if target is not None else {"text": _replaced(printed)} if as_json else {}
        )
        return Outcome(plain_line(file, "solved", stopwatch.read(), **fields), SOLVED)

    with Interrupts() as stopped:
        outcome = guarded(file, work, stopwatch, output, debug=False)
    for text in shown:  # outside of the guard: a full disk behind standard output is no fault of the command
        click.echo(_encoded(text), nl=False)
    if as_json:
        output.outcome(outcome)
    else:
        for message in outcome.messages or ([str(outcome.line["reason"])] if "reason" in outcome.line else []):
            click.echo(message, err=True)
    sys.exit(INTERRUPTED if stopped.seen else outcome.exit_code)


def _differs(file: str, what: str, stopwatch: Stopwatch) -> Outcome:
    reason = f"internal error, a bug of Warploom: {what}"
    message = f"{file}: {reason}\n  fix: Report it together with the file."
    return Outcome(plain_line(file, "error", stopwatch.read(), reason=reason), GAVE_UP, messages=(message,))


def _replaced(text: str) -> str:
    """The text without bytes that are no UTF-8, which JSON cannot carry."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
