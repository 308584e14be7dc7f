"""Runs benchmark cases, each in a fresh process of this interpreter, and turns whatever happens into one line per case."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import cast

from warploom.core import limits
from warploom.core.starting import MAIN
from warploom.tools.command.entry import PARENT
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.usage import Stopwatch

GRACE_S = 60.0
"""Seconds that a case that was told to stop may take to print its best so far."""
PATIENCE = 20.0
"""Wall time over CPU time after which a case waits for what does not come; a busy machine is no reason to stop one."""
ALL_SPENT = "budget: CPU seconds of all cases"
"""Reason of what the budget of the whole command ended, or kept from beginning."""
_LOOK_S, _LEAST_LOOK_S = 1.0, 0.01
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class InterruptedBenchmarkError(Exception):
    """The user stopped the benchmark; carries the line of the case that was running."""

    def __init__(self, line: Line) -> None:
        super().__init__("interrupted")
        self.line = line


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    arguments: tuple[str, ...]
    """Arguments of the command `warploom`, which must print exactly one JSON line."""
    limit_s: float
    """CPU time after which the process is stopped."""
    labels: Mapping[str, object] = field(default_factory=dict[str, object])
    """Fields of its line that say, besides the name, what was asked."""
    is_wall: bool = False
    """The limit is wall time: of cases that measure, with threads."""


def own_command(*arguments: str) -> list[str]:
    """This program again, with this interpreter; nothing is imported from the current folder."""
    return [sys.executable, "-P", "-c", MAIN, *arguments]


def run_case(case: Case, stopped: Event | None = None) -> Line:
    """Runs a case and returns its line. However this ends, the process and those that it started have ended, too.

    It is stopped where the command's own budget ends, too; the reason is then `ALL_SPENT`. `stopped`: set by
    another thread, which interrupts it.
    """
    stopwatch = Stopwatch()
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            own_command(*case.arguments),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, PARENT: str(os.getpid())},
        )
        limits.children.add(process.pid)
        reason, interrupted = "", False
        try:
            try:
                output = _waited(process, case, stopped)
            except subprocess.TimeoutExpired:
                is_all_spent = limits.left_s() == 0
                reason = f"stopped after {case.limit_s:g} s of {'wall' if case.is_wall else 'CPU'} time"
                reason = ALL_SPENT if is_all_spent else reason
                output = _stop(process, _grace_s() if is_all_spent else GRACE_S)
            except KeyboardInterrupt:
                reason, interrupted = "interrupted", True
                output = _stop(process, GRACE_S)
        finally:
            _end(process)
            limits.children.discard(process.pid)
        line = _only_line(output)
        if line is None:
            log.seek(0)
            reason = reason or _death(process.returncode, log.read())
            status = "unknown" if reason.startswith(("stopped", "interrupted", ALL_SPENT)) else "error"
            line = plain_line(case.name, status, stopwatch.read(), reason=reason)
        elif reason == ALL_SPENT and line.get("status") != "error":
            line |= {"status": "unknown", "verdict": "unchecked", "reason": reason}
            line.pop("domain", None)
    line |= {"case": case.name, **case.labels}
    if interrupted:
        raise InterruptedBenchmarkError(line)
    return line


def _waited(process: subprocess.Popen[str], case: Case, stopped: Event | None) -> str:
    """The output of the process; TimeoutExpired at the case's limit, or where the command's budget ends."""
    started = time.monotonic()
    while True:
        if stopped is not None and stopped.is_set():
            raise KeyboardInterrupt
        wall_s = time.monotonic() - started
        used_s = wall_s if case.is_wall else max(_cpu_s(process.pid), wall_s / PATIENCE)
        left_s = case.limit_s - used_s
        if (of_all_s := limits.left_s()) is not None:
            left_s = min(left_s, of_all_s)
        if left_s <= 0:
            raise subprocess.TimeoutExpired(process.args, case.limit_s)
        try:
            return process.communicate(timeout=min(_LOOK_S, max(left_s, _LEAST_LOOK_S)))[0]
        except subprocess.TimeoutExpired:
            continue


def _cpu_s(pid: int) -> float:
    """CPU seconds of the process and of its children that have ended; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS_PER_S
    except (OSError, ValueError):
        return 0.0


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # its children, too, which may outlive it
    process.wait()


def _grace_s() -> float:
    """Seconds that a case may take beyond the command's budget."""
    return min(GRACE_S, limits.LAST_GRACE * (limits.current().cpu_s or 0.0))


def _stop(process: subprocess.Popen[str], grace_s: float) -> str:
    """Asks the process for its best so far, then ends it; what it printed."""
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=grace_s)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    return output


def _only_line(output: str) -> Line | None:
    lines = output.splitlines()
    if len(lines) != 1:
        return None
    try:
        line = json.loads(lines[0])
    except ValueError:
        return None
    return cast(Line, line) if isinstance(line, dict) else None


def _death(returncode: int, log: str) -> str:
    last = log.strip().splitlines()[-1:] or ["nothing on stderr"]
    if returncode < 0:
        return f"the process was ended by signal {-returncode} ({signal.strsignal(-returncode)}): {last[0]}"
    return f"the process exited with {returncode} and no line: {last[0]}"
