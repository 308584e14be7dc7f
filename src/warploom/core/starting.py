"""Imported first, for its effects, and only where this process is the command (`warploom ...`, `python -m warploom`), no worker.

Nothing is imported from the current folder: `python -m` puts it before all others, so that a file `json.py` there would run. And
while the command line is imported, which takes a second, SIGINT ends the process with one line instead of a traceback.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

COLLECT = 20_000, 20, 20
"""When a process that works for a command looks for cycles of garbage (`gc.set_threshold`).

Terms, networks and tables are acyclic, so reference counts free them. With Python's own thresholds the collector walks through
the many live ones again and again, up to a fifth of the whole time.
"""
INTERRUPTED = 130
"""Exit code."""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
"""The folder that holds this package."""
MAIN = f"import sys; sys.path.append({ROOT!a}); sys.argv[0] = 'warploom'; from warploom.tools.cli import main; main()"
"""A program that is the command: finds this very package, but looks in its folder last."""


def is_command(argv: list[str], orig_argv: list[str]) -> bool:
    """Whether this process is a command, asked before the program itself runs: `-m` stands for its name until its package is
    imported."""
    if argv[:1] == ["-m"]:
        return "warploom" in orig_argv
    if MAIN in orig_argv:
        return argv[:1] == ["warploom"]
    return argv[:1] != [] and os.path.basename(argv[0]) == "warploom" and argv[0] in orig_argv


def without_current_folder(path: list[str], current: str) -> list[str]:
    """A search path as `python -P` has it, unless this package itself was found in the current folder."""
    is_current = path[:1] in ([""], [current])
    return path[1:] if is_current and not (current and os.path.realpath(current) == ROOT) else path


def _end(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _start() -> None:
    gc.set_threshold(*COLLECT)
    if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
        try:
            current = os.getcwd()
        except OSError:  # it is gone
            current = ""
        sys.path[:] = without_current_folder(sys.path, current)
    os.environ["PYTHONSAFEPATH"] = "1"  # of the processes that it starts
    import signal  # now it is Python's own

    signal.signal(signal.SIGINT, _end)


if is_command(getattr(sys, "argv", []), sys.orig_argv):
    _start()
