"""Outcome of a command: its report line, its exit code, and the text for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from warploom.core import UserError
from warploom.core.limits import INTERRUPTION
from warploom.tools.command.lines import EXIT_BY_STATUS, GAVE_UP, Line, plain_line
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.usage import Stopwatch

if TYPE_CHECKING:
    from warploom.synth import Report
    from warploom.tools.synth.printed import Printed

Progress: TypeAlias = Callable[[str], None]
"""Receives a short line on what is going on."""


def nothing_said(_: str) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One target's line, and what people should read besides."""

    line: Line
    exit_code: int
    report: Report | None = None
    printed: Printed | None = None
    messages: tuple[str, ...] = ()
    """Messages for stderr."""
    written: tuple[Path, ...] = ()
    details: tuple[str, ...] = ()
    """Texts for people, below the line."""


def failed(case: str, error: UserError, stopwatch: Stopwatch) -> Outcome:
    """Bad input: the first diagnostic as the reason, all of them for people."""
    line = plain_line(case, "error", stopwatch.read(), reason=one_line(error.diagnostics[0]))
    return Outcome(line, EXIT_BY_STATUS["error"], messages=rendered(error.diagnostics))


def crashed(case: str, error: Exception, stopwatch: Stopwatch) -> Outcome:
    """A fault of this program: nothing is wrong with the input, and nothing was found out."""
    reason = f"internal error, a bug of Warploom: {type(error).__name__}: {str(error)[:500]}"
    hint = f"{reason}\n  fix: run again with --debug and report the traceback together with the input."
    return Outcome(plain_line(case, "error", stopwatch.read(), reason=reason), GAVE_UP, messages=(hint,))


def gave_up(case: str, reason: str, stopwatch: Stopwatch) -> Outcome:
    """Nothing was found out."""
    return Outcome(plain_line(case, "unknown", stopwatch.read(), reason=reason), GAVE_UP)


def interrupted(case: str, stopwatch: Stopwatch) -> Outcome:
    """Stopped before anything was found."""
    return gave_up(case, INTERRUPTION, stopwatch)
