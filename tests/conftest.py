"""`--update-golden` rewrites files that tests compare with, instead of comparing."""

import os
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

# Where the environment says to keep no bytecode, each process that a test starts would compile all of Warploom anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has it ignored, also by every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files; read the diff before committing it")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a checked-in file."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(path: Path, text: str) -> None:
        if update:
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; `make golden` rewrites it"

    return compare


@pytest.fixture(autouse=True)
def recursion() -> Generator[None]:
    """Commands raise the limit of recursion in their process; the next test has Python's again."""
    before = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(before)
