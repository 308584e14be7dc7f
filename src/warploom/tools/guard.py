"""One case of a command from start to exit code, whatever happens in it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from typing import NoReturn

from warploom.core import UserError
from warploom.tools.console import Output
from warploom.tools.interrupts import Interrupts
from warploom.tools.lines import INTERRUPTED, Line
from warploom.tools.synth_command import Outcome, Progress, crashed, failed, interrupted
from warploom.tools.usage import Stopwatch


def guarded(case: str, work: Callable[[Progress], Outcome], stopwatch: Stopwatch, output: Output, debug: bool) -> Outcome:
    """What `work` gives, or the outcome that tells of the user's error, the interruption or the fault."""
    try:
        with output.progress(case) as progress:
            return work(progress)
    except UserError as error:
        return failed(case, error, stopwatch)
    except KeyboardInterrupt:
        return interrupted(case, stopwatch)
    except Exception as error:
        if debug:
            traceback.print_exc()
        return crashed(case, error, stopwatch)


def report(
    case: str,
    work: Callable[[Stopwatch, Progress], Outcome],
    details: Callable[[Line], Iterable[str]],
    *,
    as_json: bool,
    debug: bool,
) -> NoReturn:
    """Runs a command of one case and exits; `details` of its line are told to people, below it."""
    output, stopwatch = Output(as_json), Stopwatch()
    with Interrupts() as stopped:
        outcome = guarded(case, lambda progress: work(stopwatch, progress), stopwatch, output, debug)
        code = output.outcome(outcome)
        if not as_json:
            for text in details(outcome.line):
                output.say(text)
    sys.exit(INTERRUPTED if stopped.seen else code)
