"""`warploom ptx run`: one kernel on arrays of files or made on the spot, in the interpreter."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
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
from warploom.tools.ptx.check import read_good_ptx

MAX_BYTES = 1 << 33
"""Most bytes of one array that the command makes."""
SHOWN = 20
"""Findings printed at most."""

_TYPES: dict[str, np.dtype[Any]] = {
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    **{f"{letter}{bits}": np.dtype(f"i{bits // 8}") for letter in "is" for bits in (8, 16, 32, 64)},
    **{f"{letter}{bits}": np.dtype(f"u{bits // 8}") for letter in "ub" for bits in (8, 16, 32, 64)},
}  # fmt: skip
_FILLS = ("zeros", "ones", "arange", "random")
_FORMS = "FILE.npy, zeros|ones|arange|random:TYPE:COUNT[xCOUNT][:SEED] or TYPE:VALUE"
ARGUMENT_HELP = f"Argument of a parameter, in their order or by index: {_FORMS}."


@dataclass(frozen=True, slots=True)
class RunOptions:
    kernel: str | None
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]
    """`INDEX=SPEC` each."""
    out: Path | None = None
    shared_bytes: int = 0
    counts: bool = False
    checks: bool = True
    limit: int | None = None
    symbols: tuple[str, ...] = ()
    """`NAME=SPEC` each."""


def extents(text: str, what: str) -> tuple[int, ...]:
    """`X[,Y[,Z]]`; UserError (LAUNCH_SHAPE)."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"[1-9]\d*", part.strip()) for part in parts):
        raise UserError(Diagnostic("LAUNCH_SHAPE", f"expected X[,Y[,Z]] of positive numbers for --{what}, got {text!r}"))
    return tuple(int(part) for part in parts)


def argument(text: str) -> tuple[int, NDArray[Any] | np.generic]:
    """Index and value of `INDEX=SPEC`; UserError (LAUNCH_ARGUMENTS)."""
    number, equals, spec = text.partition("=")
    if not equals or not re.fullmatch(r"\d+", number.strip()):
        raise _wrong(f"INDEX={_FORMS}", text)
    if re.fullmatch(r"[+-]?\d+", spec.strip()):
        raise _wrong(
            f"the type of argument {int(number)} before its value",
            spec,
            f"Write i32:{spec.strip()}, with the type of the parameter.",
        )
    return int(number), _value(spec, text, "INDEX")


def symbols(texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Content of the module's variables by name, of `NAME=SPEC` each; UserError (LAUNCH_ARGUMENTS)."""
    found: dict[str, NDArray[Any]] = {}
    for text in texts:
        name, equals, spec = text.partition("=")
        if not equals or not name.strip() or name.strip() in found:
            raise _wrong(f"NAME={_FORMS}, each name once", text)
        found[name.strip()] = np.asarray(_value(spec, text, "NAME"))
    return found


def _value(spec: str, text: str, what: str) -> NDArray[Any] | np.generic:
    head, _, rest = spec.partition(":")
    if head in _FILLS:
        return _filled(head, rest, text)
    if head in _TYPES and rest:
        return _scalar(_TYPES[head], rest, text)
    if spec.endswith(".npy") or Path(spec).is_file():
        return _loaded(spec)
    raise _wrong(f"{what}={_FORMS}", text)


def _wrong(expected: str, got: str, fix: str = "") -> UserError:
    return UserError(Diagnostic("LAUNCH_ARGUMENTS", f"expected {expected}, got {got!r}", fix=fix))


def _loaded(path: str) -> NDArray[Any]:
    if not Path(path).is_file():
        raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected an array file, found none at {path}", fix="Check the path."))
    try:
        loaded: object = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "another form, or Python objects"
        raise UserError(Diagnostic("NOT_READ", f"expected an array in .npy form at {path}, got: {why}")) from error
    if not isinstance(loaded, np.ndarray):
        raise UserError(Diagnostic("NOT_READ", f"expected one array at {path}, got an archive of several"))
    return cast("NDArray[Any]", loaded)


def _type(name: str, text: str) -> np.dtype[Any]:
    found = _TYPES.get(name)
    if found is None:
        raise _wrong(f"a type among {', '.join(_TYPES)}", f"{name} in {text}")
    return found


def _filled(fill: str, rest: str, text: str) -> NDArray[Any]:
    parts = rest.split(":")
    if not 2 <= len(parts) <= (3 if fill == "random" else 2):
        raise _wrong(f"{fill}:TYPE:COUNT[xCOUNT]{'[:SEED]' if fill == 'random' else ''}", text)
    dtype = _type(parts[0], text)
    if not re.fullmatch(r"\d+(x\d+)*", parts[1]) or (len(parts) == 3 and not re.fullmatch(r"\d+", parts[2])):
        raise _wrong("a COUNT such as 1024 or 512x512 and a number as SEED", text)
    shape = tuple(int(n) for n in parts[1].split("x"))
    count = math.prod(shape)
    if count * dtype.itemsize > MAX_BYTES:
        raise _wrong(f"an array of at most {MAX_BYTES >> 30} GiB", text)
    match fill:
        case "zeros":
            return np.zeros(shape, dtype)
        case "ones":
            return np.ones(shape, dtype)
        case "arange":
            return np.arange(count, dtype=np.int64).astype(dtype).reshape(shape)
        case _:
            generator = np.random.default_rng(int(parts[2]) if len(parts) == 3 else 0)
            if dtype.kind == "f":
                return generator.random(shape).astype(dtype)
            limits = np.iinfo(dtype)
            return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _scalar(dtype: np.dtype[Any], value: str, text: str) -> np.generic:
    try:
        if dtype.kind == "f":
            return dtype.type(float(value))
        number = int(value, 0)
    except ValueError:
        raise _wrong(f"a value of {dtype.name} after the type", text) from None
    low = -(1 << 8 * dtype.itemsize - 1)
    high = (1 << 8 * dtype.itemsize) - 1 if dtype.kind == "u" else (1 << 8 * dtype.itemsize - 1) - 1
    if not (low if dtype.kind == "i" else 0) <= number <= high:
        raise _wrong(f"a value that fits {dtype.name}", text)
    return dtype.type(number)


def arguments(texts: Sequence[str], count: int, kernel: str) -> list[NDArray[Any] | np.generic]:
    """All arguments in order of their index, which is its place for a text without; UserError for a missing, repeated or
    superfluous one."""
    found: dict[int, NDArray[Any] | np.generic] = {}
    for position, text in enumerate(texts):
        index, value = argument(text if "=" in text else f"{position}={text}")
        if index in found:
            raise _wrong(f"argument {index} once", text)
        if index >= count:
            raise _wrong(f"an index below {count}, the number of parameters of {kernel}", text)
        found[index] = value
    missing = [str(index) for index in range(count) if index not in found]
    if missing:
        message = f"expected {count} arguments for {kernel}, got none for parameter{'s'[: len(missing) > 1]} {', '.join(missing)}"
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, fix=f"Add --arg {missing[0]}=..., where ... is {_FORMS}."))
    return [found[index] for index in range(count)]


def run_file(path: str, options: RunOptions, stopwatch: Stopwatch) -> tuple[Outcome, Launch]:
    """Runs a kernel of a file, writes its arrays; UserError for a wrong request."""
    program = read_good_ptx(path)
    kernel = program.kernel(options.kernel)
    values = arguments(options.arguments, len(kernel.parameters), kernel.name)
    ran = launch(
        program, kernel.name, grid=options.grid, block=options.block, args=values, symbols=symbols(options.symbols),
        dynamic_shared_bytes=options.shared_bytes, counts=options.counts, checks=options.checks, limit=options.limit,
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
@click.option("--grid", required=True, metavar="X[,Y[,Z]]", help="Blocks of the grid.")
@click.option("--block", required=True, metavar="X[,Y[,Z]]", help="Threads per block.")
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
    grid: str,
    block: str,
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
    launched: list[Launch] = []

    def work(_: Progress) -> Outcome:
        options = RunOptions(
            kernel, extents(grid, "grid"), extents(block, "block"), texts, out, shared, counts, checks, limit, symbol_texts
        )
        outcome, ran = run_file(file, options, stopwatch)
        launched.append(ran)
        return outcome

    with Interrupts() as stopped:
        outcome = guarded(file, work, stopwatch, output, debug)
        code = output.outcome(outcome)
        for ran in () if as_json else launched:
            for text in _table(ran):
                output.say(text)
    sys.exit(INTERRUPTED if stopped.seen else code)
