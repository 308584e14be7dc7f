"""SIGINT: the first asks the running search for its best so far, the second ends the command at once.

KeyboardInterrupt is raised where the program is. Where that is a function that was called out of C, C may drop it, as NumPy does
while it looks up attributes. So a moment later a thread looks whether it got further, and if not, it is raised again.
"""

from __future__ import annotations

import _thread
import dis
import signal
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from warploom.core.limits import is_lost

_LOOK_S = 0.1


class Interrupts:
    """Watches SIGINT for the length of a `with` block; the first one raises KeyboardInterrupt where the program is."""

    def __init__(self, *, is_last_second: bool = True) -> None:
        """`is_last_second`: the second one ends the process; else it raises KeyboardInterrupt, too."""
        self.seen = False
        self._is_last_second = is_last_second
        self._is_again = False
        """The next signal is one that was seen already."""

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.seen and self._is_last_second and not self._is_again:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        self.seen, self._is_again = True, False
        error = KeyboardInterrupt()
        _thread.start_new_thread(self._look, (error, stack_of(frame)))  # `threading` waits for threads to start
        if not is_lost(frame):
            raise error

    def _look(self, error: KeyboardInterrupt, stack: Sequence[FrameType]) -> None:
        time.sleep(_LOOK_S)
        main = threading.main_thread().ident
        if main is not None and is_dropped(error, stack):
            self._is_again = True
            signal.pthread_kill(main, signal.SIGINT)


@contextmanager
def heard() -> Generator[None]:
    """Inside, SIGINT raises KeyboardInterrupt as Python does, and none is dropped. Nothing changes where this thread gets no
    signals, or the program handles them itself."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    with Interrupts(is_last_second=False):
        yield


def stack_of(frame: FrameType | None) -> list[FrameType]:
    """The frame and those that it was called from, the innermost first."""
    found: list[FrameType] = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def is_dropped(error: BaseException, stack: Sequence[FrameType]) -> bool:
    """Whether an exception that was raised in the first of these frames, or below it, has left a function that does not catch it
    and has not reached the function that called that one. It is on its way no longer."""
    trace = error.__traceback__
    if trace is None:
        return True
    parts: Any = dis.Bytecode(trace.tb_frame.f_code)  # the types of Python's library lack its exception table
    if any(entry.start <= trace.tb_lasti < entry.end for entry in parts.exception_entries):
        return False
    return trace.tb_frame is not stack[-1] if trace.tb_frame in stack else trace.tb_next is None
