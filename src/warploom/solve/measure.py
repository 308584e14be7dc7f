"""What one task used, measured in the process that ran it."""

from __future__ import annotations

import os
import resource
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

Argument = TypeVar("Argument")
Value = TypeVar("Value")

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU and memory are the process's: where it runs several tasks in threads, each is charged with its neighbours."""

    seconds: float
    """CPU of the process and of its children that ended."""
    wall_s: float
    peak_mb: float
    """During the task on Linux; of the process's life so far elsewhere."""
    worker: str
    """`host:process`."""


@dataclass(frozen=True, slots=True)
class Returned(Generic[Value]):
    value: Value
    spent: Spent


@dataclass(frozen=True, slots=True)
class Raised:
    """Plain text: an exception may not survive the way back."""

    reason: str
    traceback: str
    spent: Spent


def measured(function: Callable[[Argument], Value], argument: Argument) -> Returned[Value] | Raised:
    """Runs it; whatever it raises becomes a `Raised`."""
    _reset_peak()
    cpu_s, wall_s = _cpu_s(), time.perf_counter()

    def spent() -> Spent:
        elapsed = time.perf_counter() - wall_s
        return Spent(round(_cpu_s() - cpu_s, 3), round(elapsed, 3), round(peak_mb(), 1), f"{socket.gethostname()}:{os.getpid()}")

    try:
        return Returned(function(argument), spent())
    except BaseException as error:
        name, text = type(error).__name__, str(error)
        return Raised(f"{name}: {text}" if text else name, traceback.format_exc(), spent())


def _cpu_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _reset_peak() -> None:
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return


def peak_mb() -> float:
    """Of this process's own memory, so far."""
    # Not ru_maxrss where it can be helped: a process starts with its parent's, and it never falls.
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024
