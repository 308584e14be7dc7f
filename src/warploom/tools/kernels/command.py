"""`warploom kernels`: the kernels that `tune` found for functions that are called, of this user."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import click

from warploom.core import Diagnostic, UserError
from warploom.solve import Json
from warploom.tools.command.duration import duration
from warploom.tools.command.files import make_folder, write_bytes
from warploom.tools.command.guard import guarded
from warploom.tools.command.lines import Line, combined_exit, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.kernels.store import Kept, files, is_current, store_folder

_NONE = "expected kernels in the store, got none"
_TUNE = "Call NAME.tune(...) of a function with @wl.jit."


@click.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*")
@JSON_OPTION
def list_command(pattern: str, as_json: bool) -> None:
    """List the kernels that `tune` has kept: function, sizes, threads, times, and why one does not count."""
    output, usage = Output(as_json), Stopwatch().read()
    found = _matching(pattern)
    for kept in found:
        line = plain_line(kept.path.name, "solved", usage) | _fields(kept)
        output.listed(line, _row(kept))
    if not found and not as_json:
        click.echo(f"no kernels; {_TUNE[0].lower()}{_TUNE[1:]}")


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("pattern", metavar="[GLOB]", default="*")
@JSON_OPTION
@DEBUG_OPTION
def export_command(folder: Path, pattern: str, as_json: bool, debug: bool) -> None:
    """Copy the kernels that count here into a folder, for a package that ships them.

    `@wl.jit(kernels=DIR)` finds them there. They serve on machines with the same CPU and compiler, under this version of
    Warploom; elsewhere calls run plain loops.
    """

    def work(watch: Stopwatch) -> Outcome:
        good = [k for k in _matching(pattern) if not _why_not(k)]
        if not good:
            raise UserError(Diagnostic("NO_KERNELS", f"{_NONE} that match {pattern!r} and count here", fix=_TUNE))
        make_folder(folder)
        written: list[Path] = []
        for kept in good:
            place = folder / kept.path.name
            write_bytes(place, kept.path.read_bytes())
            written.append(place)
        return Outcome(plain_line("export", "solved", watch.read(), kernels=len(written)), 0, written=tuple(written))

    _report("export", work, as_json=as_json, debug=debug)


@click.command("prune")
@click.argument("pattern", metavar="[GLOB]", default="*")
@click.option("--all", "is_all", is_flag=True, help="Also kernels that count.")
@click.option("--older", metavar="TIME", callback=duration, help="Only files made longer ago than this, such as 720h.")
@JSON_OPTION
@DEBUG_OPTION
def prune_command(pattern: str, is_all: bool, older: float | None, as_json: bool, debug: bool) -> None:
    """Delete kernels that do not count (damaged, of other versions, machines or compilers), or every kernel."""

    def work(watch: Stopwatch) -> Outcome:
        removed: list[str] = []
        for kept in _matching(pattern):
            if (is_all or _why_not(kept)) and (older is None or _age_s(kept) > older):
                with suppress(FileNotFoundError):
                    try:
                        kept.path.unlink()
                    except OSError as error:
                        message = f"expected to delete {kept.path}, got: {error.strerror or error}"
                        raise UserError(Diagnostic("NOT_WRITTEN", message)) from None
                    removed.append(kept.path.name)
        left = len(files(store_folder()))
        line = plain_line("prune", "solved", watch.read(), removed=removed, left=left)
        return Outcome(line, 0, details=(f"  removed {len(removed)}, {left} left",))

    _report("prune", work, as_json=as_json, debug=debug)


def _report(case: str, work: Callable[[Stopwatch], Outcome], *, as_json: bool, debug: bool) -> None:
    output, watch = Output(as_json), Stopwatch()
    outcome = guarded(case, lambda _: work(watch), watch, output, debug)
    sys.exit(combined_exit([output.outcome(outcome)]))


def _matching(pattern: str) -> Sequence[Kept]:
    """By the function's name, or the file's where that is not known."""
    return [
        k
        for k in files(store_folder())
        if fnmatchcase(str(k.record["function"]) if k.record else k.path.name, pattern) or fnmatchcase(k.path.name, pattern)
    ]


def _why_not(kept: Kept) -> str:
    """Why a kernel does not count here, now."""
    if kept.record is None or kept.reason:
        return kept.reason
    return "" if is_current(kept.record) else "it is of another version of Warploom or of the compiler"


def _fields(kept: Kept) -> Line:
    why = _why_not(kept)
    found: Line = {"counts": not why}
    if why:
        found["why_not"] = why
    if kept.record is not None:
        names = ("function", "sizes", "run_time", "threads", "target", "kind", "time_ms", "plain_ms", "made")
        found |= {name: kept.record[name] for name in names if name in kept.record}
    return found


def _row(kept: Kept) -> str:
    why = _why_not(kept)
    if kept.record is None:
        return f"{kept.path.name}: does not count: {why}"
    record = kept.record
    sizes, opened = record.get("sizes"), record.get("run_time")
    opened = opened if isinstance(opened, dict) else {}
    at = ",".join(f"{name}={_asked(n, opened.get(name))}" for name, n in sizes.items()) if isinstance(sizes, dict) else ""
    on = record.get("target") or f"{record.get('threads')} threads"
    times = f"{record.get('time_ms')} ms" + (f", plain loop {record['plain_ms']} ms" if "plain_ms" in record else "")
    what = times if record.get("kind") == "found" else "the plain loop is the fastest"
    return f"{record['function']!s:<24} {at:<28} {on}  {what}" + (f"; does not count: {why}" if why else "")


def _asked(size: Json, multiple: Json) -> str:
    """A size as it is asked for: `1024`, `?@1024`, `?:64@1024`."""
    return f"{size}" if multiple is None else f"?@{size}" if multiple == 1 else f"?:{multiple}@{size}"


def _age_s(kept: Kept) -> float:
    with suppress(OSError):
        return time.time() - kept.path.lstat().st_mtime
    return 0.0
