"""Entries of shared libraries, run by the team of threads of `team.c`."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files
from pathlib import Path

from warploom.core import Diagnostic, UserError
from warploom.schedule.cpu.compiler import build_library


@cache
def entry_of(library: Path, name: str) -> ctypes.c_void_p:
    """The address of a function; its library stays open."""
    return ctypes.cast(getattr(ctypes.CDLL(str(library)), name), ctypes.c_void_p)


def run_entry(
    entry: ctypes.c_void_p,
    pointers: ctypes.Array[ctypes.c_void_p],
    parameters: ctypes.Array[ctypes.c_double],
    *,
    units: int,
    scratch_bytes: int,
    threads: int,
    repeats: int,
) -> tuple[float, float]:
    """Elapsed seconds of all repeats, and CPU seconds of the thread that worked longest. UserError where resources lack."""
    busy = ctypes.c_double()
    elapsed = float(_team().warploom_run(entry, pointers, parameters, units, scratch_bytes, threads, repeats, ctypes.byref(busy)))
    if elapsed < 0:
        lacking = "memory for scratch" if elapsed == -1 else "threads"
        text = f"expected {threads} threads with {scratch_bytes} bytes each, got too little {lacking}"
        raise UserError(Diagnostic("CPU_RESOURCES", text, fix="use fewer threads or smaller tiles"))
    return elapsed, busy.value


def packaged(name: str) -> str:
    """A C text of this package."""
    return files("warploom.schedule.cpu").joinpath(name).read_text(encoding="utf-8")


@cache
def _team() -> ctypes.CDLL:
    team = ctypes.CDLL(str(build_library(packaged("team.c"), flags=("-O2",))))
    team.warploom_run.restype = ctypes.c_double
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    team.warploom_run.argtypes = [pointer, pointer, pointer, ctypes.c_ssize_t, size, ctypes.c_int, ctypes.c_int, pointer]
    return team
