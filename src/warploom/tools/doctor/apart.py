"""Probes in processes of their own: one that hangs, crashes or prints is ended, and the others are not touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from warploom.tools.bench.case import own_command
from warploom.tools.doctor.found import Found

LIMIT_S = 45.0
"""Wall seconds from the start of all probes."""
_GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class _Started:
    process: subprocess.Popen[str]
    began: float


class Probes:
    """Probes that run beside each other; on leaving, none runs any more."""

    def __init__(self, names: Sequence[str], limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._started = {name: _Started(_begin(name), time.monotonic()) for name in names}

    def __enter__(self) -> Probes:
        return self

    def __exit__(self, *_: object) -> None:
        for started in self._started.values():
            _end(started.process)

    def answer(self, name: str) -> Found:
        """The probe's finding, when it ends or its time is over."""
        started = self._started[name]
        left = max(0.0, started.began + self._limit_s - time.monotonic())
        try:
            output, _ = started.process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            _end(started.process)
            return Found(None, f"no answer within {self._limit_s:g} seconds")
        with suppress(ValueError, KeyError, IndexError):
            told = json.loads(output.splitlines()[-1])
            return Found(told["works"], told["text"], told["fix"])
        return Found(False, f"looking at it ended with code {started.process.returncode}")


def _begin(name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        own_command("doctor-probe", name),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the process and all that it started, since a compiler that hangs holds the pipe. A process that waits for a dead
    disk is left alone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired, ValueError):
        process.communicate(timeout=_GRACE_S)
