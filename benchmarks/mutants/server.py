"""A pytest plugin for the copy: writes how each test ended, and can run tests once for every bug without starting anew.

WARPLOOM_OUTCOMES names a file for a line per test. If WARPLOOM_JOBS names a file of jobs (lines of JSON: bug, tests), nothing is
run but the jobs, each in a fork of the process that has collected the tests; WARPLOOM_LIMIT is the CPU seconds of a job.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence

import pytest
from _pytest.runner import runtestprotocol

MEMORY_BYTES = 6 << 30
"""Address space of a process: a bug that fills the memory counts as noticed, and the machine lives on."""

_began: dict[str, float] = {}


def _cpu_s() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _began[item.nodeid] = _cpu_s()


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    path = os.environ.get("WARPLOOM_OUTCOMES", "")
    if path and (call.when == "call" or call.excinfo is not None):
        failed = call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception)
        line = {"test": item.nodeid, "failed": failed, "cpu_s": round(_cpu_s() - _began.get(item.nodeid, 0.0), 3)}
        with open(path, "a") as out:
            out.write(json.dumps(line) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    path = os.environ.get("WARPLOOM_JOBS", "")
    if not path:
        return None
    items = {item.nodeid: item for item in session.items}
    with open(path) as jobs:
        for line in jobs:
            job = json.loads(line)
            _forked(job["bug"], [items[name] for name in job["tests"] if name in items])
    return True


def _forked(bug: int, items: Sequence[pytest.Item]) -> None:
    limit_s = int(float(os.environ["WARPLOOM_LIMIT"]))
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        os.environ["WARPLOOM_BUG"] = str(bug)
        code = 70
        try:
            import warploom_switch  # pyright: ignore[reportMissingImports]

            warploom_switch.active = bug
            code = _run(bug, items)
        finally:
            sys.stdout.flush()
            os._exit(code)
    status = _ended(pid, 4 * limit_s + 60)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 70:
        _note({"bug": bug, "noticed_by": "time or a crash of the process", "cpu_s": float(limit_s), "ran": 0})


def _ended(pid: int, seconds: float) -> int:
    """How a process ended; one that only waits, so that no limit on CPU time ends it, is ended after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _run(bug: int, items: Sequence[pytest.Item]) -> int:
    began, ran, noticed = _cpu_s(), 0, ""
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else None
        reports = runtestprotocol(item, log=False, nextitem=following)
        ran += 1
        if any(report.failed for report in reports):
            noticed = item.nodeid
            break
        if _cpu_s() - began > 0.7 * float(os.environ["WARPLOOM_LIMIT"]):
            break
    _note({"bug": bug, "noticed_by": noticed, "cpu_s": round(_cpu_s() - began, 2), "ran": ran})
    return 0


def _note(row: dict[str, object]) -> None:
    with open(os.environ["WARPLOOM_OUTCOMES"], "a") as out:
        out.write(json.dumps(row) + "\n")
