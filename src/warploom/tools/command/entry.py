"""The command line from the outside: streams that fail, usage errors, faults.

Every end has its exit code and, where lines were asked for, its line.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from warploom.core import UserError
from warploom.core.limits import TerminatedError
from warploom.tools.command.lines import BAD_INPUT, EXIT_BY_STATUS, GAVE_UP, INTERRUPTED, SOLVED, plain_line
from warploom.tools.command.outcome import Outcome, failed, interrupted
from warploom.tools.command.usage import Stopwatch

PARENT = "WARPLOOM_PARENT"
"""Number of the process that this one, the leader of its session, must not outlive."""
_LOOK_S = 0.5


class _Watched(io.BufferedWriter):
    """Remembers that something could not be written.

    Not the file below it: an interruption that comes while Python code writes to a file leaves the buffer full of what is out.
    """

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            raise

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self.failure = error
            raise


class _Messages(io.FileIO):
    """Standard error: a message that nobody can read is dropped, and the exit code stays that of the result."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(memoryview(data).cast("B"))


@dataclass(frozen=True, slots=True)
class Later:
    """A command that is imported when somebody runs it."""

    place: str
    """`module:attribute`."""
    help: str = ""
    """Text in the list of commands: the first sentence of the command's own help. Empty for one that is not listed."""


class Commands(click.Group):
    """A group whose commands are imported when they run, and whose usage errors are report lines, too, where these are wanted."""

    def __init__(self, *args: Any, later: Mapping[str, Later] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.later = dict(later or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, hidden ones included."""
        return sorted({*super().list_commands(ctx), *self.later})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported if need be; None for an unknown name."""
        later = self.later.get(cmd_name)
        if later is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = later.place.partition(":")
        return getattr(import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, later.help) for name, later in sorted(self.later.items()) if later.help])

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> NoReturn:
        """Runs the command and exits."""
        given = list(sys.argv[1:] if args is None else args)
        stopwatch = Stopwatch()
        options["standalone_mode"] = False
        try:
            code = super().main(args, *more, **options)
        except click.Abort:  # while a command is read or imported
            _show(interrupted(_case(given), stopwatch), given)
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            error.show()
            if _wants_lines(given):
                line = plain_line(_case(given), "error", stopwatch.read(), reason=error.format_message())
                _show(Outcome(line, BAD_INPUT), given)
            sys.exit(BAD_INPUT)
        except UserError as error:
            sys.exit(_show(failed(_case(given), error, stopwatch), given))
        sys.exit(code if isinstance(code, int) else SOLVED)


def _show(outcome: Outcome, given: Sequence[str]) -> int:
    """Prints what ends a command before it runs; its exit code."""
    from warploom.tools.command.output import Output  # imported here: `--help` and `--version` print no tables

    return Output(_wants_lines(given)).outcome(outcome)


def run(command: Callable[[], object]) -> NoReturn:
    """Runs the command line in this process and exits; a fault of this program is one line, never a traceback."""
    # A shell starts background jobs with SIGINT ignored; whoever sends it here means it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _end)
    _end_with_parent(os.environ.pop(PARENT, ""))
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        _complain("expected a standard output, got a closed one")
        sys.exit(BAD_INPUT)
    _keep_messages()
    out = _watched_output()
    code, fault = SOLVED, ""
    try:
        command()
    except SystemExit as ended:
        code = _code(ended)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        code = EXIT_BY_STATUS["unknown"]
        fault = f"internal error, a bug of Warploom: {type(error).__name__}: {error}\n  fix: report it with the command line."
    with suppress(OSError):
        sys.stdout.flush()
    if out is not None and out.failure is not None:
        is_reader_gone = out.failure.errno == errno.EPIPE
        code = SOLVED if is_reader_gone else BAD_INPUT
        fault = "" if is_reader_gone else f"expected to write to standard output, got: {out.failure.strerror}"
        with suppress(OSError):  # what is left is written again at exit, which must not complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    if fault:
        _complain(fault)
    sys.exit(code)


def _end_with_parent(parent: str) -> None:
    """A benchmark that is killed takes the running case with it."""
    if not parent.isdigit() or os.getsid(0) != os.getpid():
        return

    def watch() -> None:
        while os.getppid() == int(parent):
            time.sleep(_LOOK_S)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="warploom-parent", daemon=True).start()


def _watched_output() -> _Watched | None:
    """Takes standard output's place; None where that is no file of the system's (in tests)."""
    encoding, is_terminal = sys.stdout.encoding, sys.stdout.isatty()
    try:
        raw = io.FileIO(sys.stdout.fileno(), "w", closefd=False)
    except (OSError, ValueError):
        return None
    watched = _Watched(raw)
    sys.stdout = io.TextIOWrapper(watched, encoding, "backslashreplace", line_buffering=is_terminal)
    return watched


def _keep_messages() -> None:
    """Takes standard error's place, also where it is closed; except where it is no file of the system's (in tests)."""
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = _as_text(io.FileIO(os.devnull, "w"), "utf-8")  # else click prints to standard output
        return
    with suppress(OSError, ValueError):
        sys.stderr = _as_text(_Messages(sys.stderr.fileno(), "w", closefd=False), sys.stderr.encoding)


def _as_text(raw: io.FileIO, encoding: str) -> io.TextIOWrapper:
    """By lines; names of files may be no text."""
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=True)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """SIGTERM unwinds, so that whoever has begun other processes ends them."""
    raise TerminatedError(128 + number)


def _wants_lines(given: Sequence[str]) -> bool:
    words = given[: given.index("--")] if "--" in given else given
    return "--json" in words


def _case(given: Sequence[str]) -> str:
    return " ".join(word for word in given if word != "--json")


def _code(ended: SystemExit) -> int:
    return ended.code if isinstance(ended.code, int) else SOLVED if ended.code is None else GAVE_UP


def _complain(text: str) -> None:
    with suppress(OSError):
        click.echo(text, err=True)
