"""While the command line is imported, which takes a second, SIGINT ends the process with one line instead of a traceback.

Imported first, for this effect. Only where this process is the command: `warploom ...` or `python -m warploom`, no worker of it.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""Exit code."""


def is_command(argv: list[str], orig_argv: list[str]) -> bool:
    """Before the program itself runs: `-m` stands for its name until its package is imported."""
    if argv[:1] == ["-m"]:
        return "warploom" in orig_argv
    return argv[:1] != [] and os.path.basename(argv[0]) == "warploom" and argv[0] in orig_argv


def _end(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


if is_command(getattr(sys, "argv", []), sys.orig_argv):
    signal.signal(signal.SIGINT, _end)
