"""Searches beside a running program: each in a process of its own at the lowest priority, one at a time, the oldest first.

Goal: the program that asks goes on undisturbed but for its CPU. Its threads never wait, its results change between calls only,
and nothing outlives it. Non-goal: times as good as those of `tune`, whose machine is idle.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.core.starting import ROOT
from warploom.schedule.frontend import TensorFunction

MOST_WAITING = 32
"""Searches that wait; more are not taken."""
QUIET = ("WARPLOOM_BACKGROUND", "WARPLOOM_TUNE", "WARPLOOM_RUN")
"""Environment variables that the process does not get: no search in a search."""
_NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
"""The program's GPU is left to the program."""
_PROGRAM = f"import sys; sys.path.append({ROOT!a}); from warploom.tools.kernels.searching import main; main()"


@dataclass(frozen=True, slots=True)
class Request:
    function: TensorFunction
    sizes: Mapping[str, int]
    threads: int
    budget_s: float
    nodes: int | None = None
    target: str = "cpu"
    """`sm_90` and the like: kernels for tensors of a GPU, by the model."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a search."""

    kept: bool
    """A record of these sizes is in the user's store."""
    error: str = ""
    """Why it failed; empty where it only found nothing better."""


Run: TypeAlias = Callable[[Request], Answer]


class Searches:
    """`run` makes one search; what it raises is an answer, too."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: deque[tuple[Request, Callable[[Answer], None]]] = deque()
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None

    def ask(self, request: Request, tell: Callable[[Answer], None]) -> bool:
        """Whether it is taken; `tell` is called by another thread then, once."""
        with self._mutex:
            if len(self._waiting) >= MOST_WAITING:
                return False
            self._waiting.append((request, tell))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="warploom-searches", daemon=True)
                self._thread.start()
            return True

    def _serve(self) -> None:
        while True:
            with self._mutex:
                if not self._waiting:
                    self._thread = None
                    return
                request, tell = self._waiting.popleft()
            try:
                answer = self._run(request)
            except Exception as error:  # of any kind: the program that is served must not end by it
                answer = Answer(kept=False, error=f"{type(error).__name__}: {error}")
            tell(answer)

    def drop(self) -> None:
        """Forgets what waits."""
        with self._mutex:
            self._waiting.clear()


@dataclass(slots=True)
class _Children:
    """Processes of this one, which end with it."""

    of: int = field(default_factory=os.getpid)
    running: set[subprocess.Popen[bytes]] = field(default_factory=set[subprocess.Popen[bytes]])
    is_ended: bool = False


_children = _Children()
_mutex = threading.Lock()


def run_apart(request: Request) -> Answer:
    """One search in a process of its own, which sees its end in that of the pipe that it reads."""
    environment = {name: value for name, value in os.environ.items() if name not in QUIET} | _NO_GPU
    payload = pickle.dumps(request)
    with _mutex:
        if _children.is_ended:
            return Answer(kept=False)
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, start_new_session=True,
        )  # fmt: skip
        _children.running.add(child)
    assert child.stdin is not None and child.stdout is not None
    try:
        with suppress(BrokenPipeError):
            child.stdin.write(payload)
            child.stdin.flush()
        return read_answer(child.stdout.readline(), child.poll)
    finally:
        _end(child)
        with _mutex:
            _children.running.discard(child)


def read_answer(line: bytes, code: Callable[[], int | None]) -> Answer:
    """The answer in a line that the process wrote; an error where it wrote none, with its exit code if it has ended."""
    with suppress(ValueError):
        match json.loads(line):
            case {"kept": bool(kept), "error": str(error)}:
                return Answer(kept, error)
            case _:
                pass
    return Answer(kept=False, error=f"its process ended without an answer (exit code {code()})")


def _end(child: subprocess.Popen[bytes]) -> None:
    """The process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    child.wait()


def _end_all() -> None:
    searches.drop()
    with _mutex:
        if _children.of != os.getpid():
            return
        _children.is_ended = True
        running = list(_children.running)
    for child in running:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


def _forked() -> None:
    """A fork has neither the thread nor the processes; the pipes to these it must not hold open."""
    global _children, _mutex, searches
    for child in _children.running:
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    os.close(pipe.fileno())
    _children, _mutex, searches = _Children(), threading.Lock(), Searches(run_apart)


searches = Searches(run_apart)
"""The searches of this process."""
atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
