"""One case of a command from start to exit code, whatever happens in it."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import NoReturn

from warploom.core import Diagnostic, UserError
from warploom.core.limits import INTERRUPTION, OUT_OF_MEMORY, TerminatedError, current, why
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.lines import INTERRUPTED, Line
from warploom.tools.command.outcome import Outcome, Progress, crashed, failed, gave_up
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch

TOO_DEEP = "nesting: the input, or a formula made of it, is nested deeper than is followed"


DEEPEST = 4000
"""Nested calls: sums of a thousand terms are read, and Python's own stack is never at its end."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether a library says so in a class of its own."""
    return type(error).__name__ == "Z3Exception" and "memory" in str(error)


def is_interruption(error: Exception) -> bool:
    """Whether SIGINT met ctypes where it converts an argument, and came out as its error."""
    return type(error).__name__ == "ArgumentError" and "KeyboardInterrupt" in str(error)


def guarded(case: str, work: Callable[[Progress], Outcome], stopwatch: Stopwatch, output: Output, debug: bool) -> Outcome:
    """The outcome that `work` gives, or the one that tells of the user's error, the limit, the interruption or the fault."""
    try:
        with output.progress(case) as progress:
            return bounded(case, lambda: work(progress), stopwatch, debug)
    except UserError as error:
        return failed(case, error, stopwatch)
    except KeyboardInterrupt as error:
        return gave_up(case, why(error), stopwatch)
    except TerminatedError:
        raise
    except SystemExit as error:  # of a function of the user, whose end must not be this program's
        message = f"expected functions that return, got one that ends the program: SystemExit: {error}"
        return failed(case, UserError(Diagnostic("RUN_FAILED", message, fix="Take the call of exit out of it.")), stopwatch)
    except Exception as error:
        if debug:
            traceback.print_exc()
        return crashed(case, error, stopwatch)


def bounded(case: str, work: Callable[[], Outcome], stopwatch: Stopwatch, debug: bool = False) -> Outcome:
    """The outcome of `work`, or one that tells of the limit or the interruption. Errors of the user and faults are raised."""
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(DEEPEST, depth))
    try:
        with current().watched():
            return work()
    except KeyboardInterrupt as error:
        return gave_up(case, why(error), stopwatch)
    except MemoryError:
        return gave_up(case, OUT_OF_MEMORY, stopwatch)
    except RecursionError:
        if debug:
            traceback.print_exc()
        return gave_up(case, TOO_DEEP, stopwatch)
    except Exception as error:
        if is_interruption(error):
            return gave_up(case, INTERRUPTION, stopwatch)
        if is_out_of_memory(error):
            return gave_up(case, OUT_OF_MEMORY, stopwatch)
        raise
    finally:
        sys.setrecursionlimit(depth)


def report(
    case: str,
    work: Callable[[Stopwatch, Progress], Outcome],
    details: Callable[[Line], Iterable[str]] = lambda _: (),
    *,
    as_json: bool,
    debug: bool,
) -> NoReturn:
    """Runs a command of one case and exits; `details` of its line are told to people, below it. What files of the user print
    goes to stderr with `--json`."""
    output, stopwatch = Output(as_json), Stopwatch()
    with Interrupts() as stopped:
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            outcome = guarded(case, lambda progress: work(stopwatch, progress), stopwatch, output, debug)
        code = output.outcome(outcome)
        if not as_json:
            for text in details(outcome.line):
                output.say(text)
    sys.exit(INTERRUPTED if stopped.seen else code)
