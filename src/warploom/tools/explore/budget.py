"""The budgets of `warploom explore`: wall seconds of the reference, the search, the check and the proof of what it found; CPU
seconds of a proof beside them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import inf
from types import FrameType
from typing import Protocol

from warploom.core.limits import TICK_S, LimitReachedError, cpu_seconds, is_lost
from warploom.solve import BUDGET_SPENT
from warploom.solve.jit import compiled_seconds

CHECK_SHARE = {"cpu": 0.08, "cuda": 0.5}
"""Share of the budget, by kind of target, that the search leaves for the check and the proof of its result. Where it is asked
again then (`judging`), the search goes on for as long as these leave."""
_OVER = 0.1
"""Share of the budget by which the check may overdraw it."""
_LEAST_S = 0.5
_AGAIN_S = 1.0
_SLOWEST = 12.0
"""Wall seconds that a CPU second may take where other work shares the machine."""


class WallBudget:
    """Begins when it is made. Compiling the propagators, once per installation, is no part of it."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._began = time.monotonic()
        self._compiled_s = compiled_seconds()

    @property
    def compiled_s(self) -> float:
        """Seconds spent on machine code of the propagators since the beginning."""
        return compiled_seconds() - self._compiled_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._left_s)

    @property
    def _left_s(self) -> float:
        """Below 0 where it is overdrawn."""
        return self.limit_s - (time.monotonic() - self._began - self.compiled_s)

    def search_s(self, kind: str) -> float:
        return max(0.0, self.left_s - CHECK_SHARE[kind] * self.limit_s)

    def late_s(self, kind: str) -> float:
        """Until a search is interrupted that has not ended by itself: what it has overdrawn is taken from the check."""
        return self._left_s - CHECK_SHARE[kind] * self.limit_s + max(_OVER * self.limit_s, _LEAST_S)

    @property
    def check_s(self) -> float:
        return max(_LEAST_S, self.left_s + _OVER * self.limit_s)


class OutOfTimeError(BaseException):
    """Like an interruption: no handler of errors may take it for one."""


class WallSpentError(LimitReachedError):
    """The wall seconds of a budget are spent: what keeps its best as the command's limit is reached keeps it."""

    def __init__(self) -> None:
        super().__init__(f"{BUDGET_SPENT}wall seconds")


class SearchEndedError(KeyboardInterrupt):
    """Interrupts a search as its user would, so that the best it has is kept."""


@dataclass(slots=True)
class Alarm:
    has_rung: bool = False


@contextmanager
def within(
    seconds: float, error: type[BaseException] = OutOfTimeError, early_s: Callable[[], float] = lambda: 0.0
) -> Generator[Alarm]:
    """The error inside, once so many wall seconds have passed; again every second, should the work go on. Does nothing where no
    such signal reaches this thread. What goes around it with a longer time goes on afterwards. `early_s`: seconds that are left
    although the time is over."""
    alarm = Alarm()
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield alarm
        return

    is_over = False

    def ring(number: int, frame: FrameType | None) -> None:
        if is_over or is_lost(frame):
            return
        if (left_s := early_s()) > 0:
            signal.setitimer(signal.ITIMER_REAL, max(left_s, TICK_S), TICK_S)
            return
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
        alarm.has_rung = True
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    began, outer_s, again_s = time.monotonic(), 0.0, 0.0
    try:
        outer_s, again_s = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), TICK_S)
        yield alarm
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer_s:
            signal.setitimer(signal.ITIMER_REAL, max(outer_s - (time.monotonic() - began), 1e-3), again_s)


class Limit(Protocol):
    """A time that ends a piece of work."""

    @property
    def left_s(self) -> float:
        """Below 0 where it is overdrawn."""
        ...

    def part(self, share: float) -> Limit:
        """This share of what is left, from now on."""
        ...

    def watched(self) -> AbstractContextManager[None]:
        """OutOfTimeError inside, once it is spent."""
        ...


class WallLimit:
    """Wall seconds, from when it is made."""

    def __init__(self, limit_s: float) -> None:
        self._until = time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        return self._until - time.monotonic()

    def part(self, share: float) -> WallLimit:
        return WallLimit(share * self.left_s)

    @contextmanager
    def watched(self) -> Generator[None]:
        with within(max(0.0, self.left_s)):
            yield


class CpuBudget:
    """CPU seconds of this process and those that it starts, from when it is made. So a busy machine does not change what can be
    proved; there they take longer on the clock, up to `_SLOWEST` times as long."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._began_s, self._began_wall_s = cpu_seconds(), time.monotonic()

    @property
    def left_s(self) -> float:
        spent_s, wall_s = cpu_seconds() - self._began_s, time.monotonic() - self._began_wall_s
        return min(self._limit_s - spent_s, _SLOWEST * self._limit_s - wall_s)

    def part(self, share: float) -> CpuBudget:
        return CpuBudget(share * self.left_s)

    @contextmanager
    def watched(self) -> Generator[None]:
        if self.left_s == inf:
            yield
            return
        with within(max(0.0, self.left_s), early_s=lambda: self.left_s):
            yield
