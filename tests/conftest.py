"""`--update-golden` rewrites files that tests compare with, instead of comparing."""

import gc
import hashlib
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from warploom.core.starting import COLLECT
from warploom.gpu import toolchain
from warploom.schedule.cpu import calibration

# Where the environment says to keep no bytecode, each process that a test starts would compile all of Warploom anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

gc.set_threshold(*COLLECT)  # as in a command

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has it ignored, also by every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


SIBLINGS = frozenset(Path(__file__).with_name("slow_cases.txt").read_text(encoding="utf-8").splitlines())
"""Cases that look at what cheaper ones of the default ring look at, too: slow ones. `tests.slow_cases` writes them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files; read the diff before committing it")
    parser.addoption("--cpu-times", metavar="FILE", help="append the CPU seconds of each test, for `python -m tests.slow_cases`")


def pytest_configure(config: pytest.Config) -> None:
    """Leaves Warploom's own assertions as they are: pytest rewrites all modules of whoever brings a plugin, which takes a third
    of the collection."""
    hook = config.pluginmanager.rewrite_hook
    getattr(hook, "_must_rewrite", set[str]()).discard("warploom")
    getattr(hook, "_marked_for_rewrite_cache", dict[str, bool]()).clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    began = _cpu_seconds()
    done = yield
    if file := item.config.getoption("--cpu-times"):
        with Path(file).open("a", encoding="utf-8") as times:
            times.write(f"{_cpu_seconds() - began:.2f} {item.nodeid}\n")
    return done


def _cpu_seconds() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid in SIBLINGS:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """The collector of garbage leaves alone what was imported and collected."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file run in one process, which then makes what they share once."""
    return import_module("xdist.scheduler").LoadFileScheduling(config, log)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a checked-in file."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(path: Path, text: str) -> None:
        if update:
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; `make golden` rewrites it"

    return compare


def _shared(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of all processes of a run of the tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """The machine is measured once in a run of the tests for each number of threads, also for tests with a cache of their own."""
    folder, measure = _shared(tmp_path_factory, "calibrations"), calibration._measure

    def kept(threads: int) -> calibration.Calibration:
        path = folder / str(threads)
        if not path.exists():
            made = path.with_suffix(f".{os.getpid()}")
            made.write_bytes(pickle.dumps(measure(threads)))
            made.rename(path)
        return pickle.loads(path.read_bytes())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "_measure", kept)
        yield


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """A CUDA text is compiled once in a run of the tests, whichever process asks; a text with headers of its own each time."""
    folder = _shared(tmp_path_factory, "nvrtc")
    ours, compiled = {f"-I{f}" for f in toolchain.include_folders()}, toolchain._compiled

    def kept(source: str, name: str, flags: list[str]) -> str:
        if any(flag.startswith("-I") and flag not in ours for flag in flags):
            return compiled(source, name, flags)
        path = folder / hashlib.sha256("\0".join((source, name, *flags)).encode()).hexdigest()
        if not path.exists():
            made = path.with_suffix(f".{os.getpid()}")
            made.write_text(compiled(source, name, flags), encoding="utf-8")
            made.rename(path)
        return path.read_text(encoding="utf-8")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "_compiled", kept)
        yield


@pytest.fixture(autouse=True)
def recursion() -> Generator[None]:
    """Commands raise the limit of recursion in their process; the next test has Python's again."""
    before = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(before)
