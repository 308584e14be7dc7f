"""Resources that one task used, measured in the process that ran it."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from warploom.core.limits import cpu_seconds, peak_mb

Argument = TypeVar("Argument")
Value = TypeVar("Value")

_CLEAR = Path("/proc/self/clear_refs")
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
    cpu_s, wall_s = cpu_seconds(), time.perf_counter()

    def spent() -> Spent:
        elapsed = time.perf_counter() - wall_s
        return Spent(
            round(cpu_seconds() - cpu_s, 3), round(elapsed, 3), round(peak_mb(), 1), f"{socket.gethostname()}:{os.getpid()}"
        )

    try:
        return Returned(function(argument), spent())
    except BaseException as error:
        name, text = type(error).__name__, str(error)
        return Raised(f"{name}: {text}" if text else name, traceback.format_exc(), spent())


def _reset_peak() -> None:
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return
