"""SIGINT while the command line is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from warploom.core.starting import INTERRUPTED, is_command

SCRIPT = "/usr/bin/warploom"


@pytest.mark.parametrize(
    ("argv", "orig_argv", "expected"),
    [
        (["-m", "explore"], ["python", "-m", "warploom", "explore"], True),
        ([SCRIPT, "list"], ["python", SCRIPT, "list"], True),
        ([SCRIPT, "list"], ["python", "-c", "from multiprocessing.spawn import spawn_main"], False),
        (["-m"], ["python", "-m", "pytest"], False),
        (["mine.py"], ["python", "mine.py"], False),
        ([], [], False),
    ],
)
def test_only_the_command_is_ended(argv: list[str], orig_argv: list[str], expected: bool) -> None:
    assert is_command(argv, orig_argv) is expected


def test_one_line() -> None:
    code = "import sys; sys.argv = sys.orig_argv = ['warploom']; import warploom, signal; signal.raise_signal(signal.SIGINT)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (INTERRUPTED, "interrupted\n")


def test_libraries_leave_signals_alone() -> None:
    code = "import warploom, signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", code], check=True)
