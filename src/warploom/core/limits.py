"""Limits of the CPU time and memory that one command may use, and what happens when they are spent.

A spent budget raises `LimitReachedError` where the program is, as SIGINT raises KeyboardInterrupt: whatever keeps its best on an
interruption keeps it here, too. Code that blocks in a library (a solver) asks `left_s` first, because no exception reaches it
there. Without limits nothing here has an effect.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType

TICK_S = 0.02
"""CPU seconds between two looks at the clock."""
GRACE = 0.1
"""Share of the budget that may be spent, after it ended, on proving the answer."""
LAST_GRACE = 0.03
"""Share of the budget between any two later ends: every stage of a work may keep its best and go on."""
LEAST_GRACE_S = 0.1, 0.03
CALLED_BACK = frozenset({"from_param", "_promote_fields", "_forget", "__del__"})
"""Functions that are called out of C where what is raised is lost, as in `gc.callbacks`: ctypes and NumPy make an error of their
own of it, the end of an object or of a weak reference only prints it."""
_WEAK = frozenset({weakref.__file__, sys.modules[weakref.WeakSet.__module__].__file__})
"""Files whose functions are called when a weak reference ends."""
OUT_OF_MEMORY = "memory: the limit of the command is reached"
INTERRUPTION = "interrupted"
"""The reason of what SIGINT ended."""
CPU_SPENT = "budget: CPU seconds"


class LimitReachedError(KeyboardInterrupt):
    """The command's budget is spent; the message is the reason."""


class TerminatedError(SystemExit):
    """SIGTERM; no function of the user ended the program."""


def why(error: KeyboardInterrupt) -> str:
    """The reason of what was ended: a limit's, or `INTERRUPTION`."""
    return str(error) or INTERRUPTION


children: set[int] = set()
"""Processes that work for the command and have not ended: whoever starts one enters it here."""


def cpu_seconds() -> float:
    """CPU seconds of this process, of its children that ended, and of `children`."""
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    for pid in tuple(children):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            # pid (name) state ...; user and system time are fields 14 and 15.
            fields = stat.read().rpartition(")")[2].split()
            spent += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent


def peak_mb() -> float:
    """The most memory that this process itself has held so far, in MiB."""
    # Not ru_maxrss where it can be helped: a process starts with its parent's, and it never falls.
    with suppress(OSError, ValueError, IndexError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


class Limits:
    """Limits that are in force inside its `with` block. It raises only inside `watched` blocks, so that the report of what was
    found is safe.

    `clock`: CPU seconds, for tests. The first time is at the end of the budget; should the work go on, GRACE later,
    then every LAST_GRACE.
    """

    def __init__(
        self, cpu_s: float | None = None, memory_bytes: int | None = None, clock: Callable[[], float] = cpu_seconds
    ) -> None:
        self.cpu_s = cpu_s
        self.memory_bytes = memory_bytes
        self._clock = clock
        self._began = clock()
        self._next_s = cpu_s
        self._is_watching = self._has_raised = False

    def __enter__(self) -> Limits:
        global _current
        self._before, _current = _current, self
        self._has_timer = self.cpu_s is not None and threading.current_thread() is threading.main_thread()
        if self._has_timer:
            self._handler = signal.signal(signal.SIGPROF, self._signalled)
            signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)
        self._data = _lower_data_limit(self.memory_bytes)
        return self

    def __exit__(self, *_: object) -> None:
        global _current
        _current = self._before
        if self._has_timer:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._handler)
        if self._data is not None:
            resource.setrlimit(resource.RLIMIT_DATA, self._data)

    def left_s(self) -> float | None:
        """CPU seconds until `tick` raises; None: it never does."""
        return None if self._next_s is None else max(0.0, self._next_s - (self._clock() - self._began))

    def tick(self) -> None:
        """Raises LimitReachedError if the budget is spent."""
        if not self._is_watching or self.cpu_s is None or self._next_s is None:
            return
        used = self._clock() - self._began
        if used >= self._next_s:
            n = int(self._has_raised)
            self._next_s = max(self.cpu_s, used) + max(LEAST_GRACE_S[n], (GRACE, LAST_GRACE)[n] * self.cpu_s)
            self._has_raised = True
            raise LimitReachedError(CPU_SPENT)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if not is_lost(frame):
            self.tick()

    @contextmanager
    def watched(self) -> Generator[None]:
        """A piece of work that may be ended."""
        self._next_s, self._has_raised = self.cpu_s, False
        self._is_watching = True
        try:
            yield
        finally:
            self._is_watching = False


_current = Limits()


def current() -> Limits:
    """The limits in force."""
    return _current


def left_s() -> float | None:
    """CPU seconds that the command has left; None: no limit."""
    return _current.left_s()


def tick() -> None:
    """Raises LimitReachedError if the command's budget is spent."""
    _current.tick()


def is_lost(frame: FrameType | None) -> bool:
    """An exception that a signal raises here would reach nobody: the next signal has to."""
    collecting = [getattr(call, "__code__", None) for call in gc.callbacks]
    while frame is not None:
        code = frame.f_code
        if code.co_name in CALLED_BACK or code.co_filename in _WEAK or code in collecting:
            return True
        frame = frame.f_back
    return False


def _lower_data_limit(memory_bytes: int | None) -> tuple[int, int] | None:
    """Lowers the limit of private memory, in use now or later, and returns the limit to set again; None: nothing was changed.
    None: nothing was changed."""
    if memory_bytes is None:
        return None
    before = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _data_bytes() + memory_bytes
    if before[0] != resource.RLIM_INFINITY and before[0] <= wanted:
        return None
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, before[1]))
    except (ValueError, OSError):  # not allowed here
        return None
    return before


def _data_bytes() -> int:
    """Private memory that the process has now."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:")), 0)
    except OSError:
        return 0
