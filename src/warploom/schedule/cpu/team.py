"""Entries of shared libraries, run by the team of threads of `team.c`."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from warploom.core import Diagnostic, UserError
from warploom.core.compiler import build_library

T = TypeVar("T")

_one_job = threading.Lock()
"""The team has one task at a time; threads of Python that call kernels wait for each other."""


def _unlocked_in_child() -> None:
    global _one_job
    _one_job = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlocked_in_child)


@cache
def entry_of(library: Path, name: str) -> ctypes.c_void_p:
    """The address of a function; its library stays open."""
    return ctypes.cast(getattr(ctypes.CDLL(str(library)), name), ctypes.c_void_p)


_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_void_p)


@cache
def function_of(library: Path, name: str) -> Callable[..., Any]:
    """An entry to be called on the caller's thread: arrays, parameters, begin, end, scratch."""
    address = entry_of(library, name).value
    assert address is not None
    return _CALL(address)


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel with its arguments, as the team takes it."""

    entry: ctypes.c_void_p
    pointers: ctypes.Array[ctypes.c_void_p]
    parameters: ctypes.Array[ctypes.c_double]
    units: int
    """Iterations that the threads share."""
    scratch_bytes: int = 0
    """Scratch memory of each thread."""
    second: ctypes.c_void_p | None = None
    """Function that runs when all units are done."""
    second_units: int = 0


def run_job(job: Job, threads: int, repeats: int = 1, samples: int = 1) -> tuple[tuple[float, float], ...]:
    """For each sample the elapsed seconds of all its repeats, and CPU seconds of the thread that worked longest; for several
    repeats those of the caller, its waiting for the others included. Threads wake up before the first of several samples or
    repeats; a single run does not wait for threads that sleep. UserError where resources lack."""
    walls, busies = (ctypes.c_double * samples)(), (ctypes.c_double * samples)()
    second = job.second if job.second is not None else ctypes.c_void_p()
    arrays, parameters = (ctypes.cast(a, ctypes.c_void_p) for a in (job.pointers, job.parameters))
    given = _Job(job.entry, second, arrays, parameters, job.units, job.second_units, job.scratch_bytes)
    team = _team()
    with _one_job:
        status = team.warploom_run(ctypes.byref(given), threads, repeats, samples, walls, busies)
    if status < 0:
        lacking = "memory for scratch" if status == -1 else "threads"
        text = f"expected {threads} threads with {job.scratch_bytes} bytes each, got too little {lacking}"
        raise UserError(Diagnostic("CPU_RESOURCES", text, fix="use fewer threads or smaller tiles"))
    return tuple(zip(walls, busies, strict=True))


def interruptibly(work: Callable[[], T]) -> T:
    """The result of the work. On the main thread a signal's handler may end it while C code runs, however long that takes: the
    code then goes on in a thread of its own, with the arrays that it was given."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    is_done = threading.Event()  # not `join`, which takes the thread for ended if a handler raises meanwhile (Python up to 3.12)

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            is_done.set()

    threading.Thread(target=run, daemon=True).start()
    is_done.wait()
    if errors:
        raise errors[0]
    return results[0]


class _Job(ctypes.Structure):
    _fields_ = (
        ("kernel", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("arrays", ctypes.c_void_p),
        ("parameters", ctypes.c_void_p),
        ("units", ctypes.c_ssize_t),
        ("second_units", ctypes.c_ssize_t),
        ("scratch_bytes", ctypes.c_size_t),
    )


def packaged(name: str) -> str:
    """A C text of this package."""
    return files("warploom.schedule.cpu").joinpath(name).read_text(encoding="utf-8")


@cache
def _team() -> ctypes.CDLL:
    team = ctypes.CDLL(str(build_library(packaged("team.c"), flags=("-O2",))))
    pointer, number = ctypes.c_void_p, ctypes.c_int
    team.warploom_run.argtypes = [pointer, number, number, number, pointer, pointer]
    return team
