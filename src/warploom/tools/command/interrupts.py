"""SIGINT: the first asks the running search for its best so far, the second ends the command at once."""

from __future__ import annotations

import signal
from types import FrameType


class Interrupts:
    """Watches SIGINT for the length of a `with` block; the first one raises KeyboardInterrupt where the program is."""

    def __init__(self) -> None:
        self.seen = False

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        self.seen = True
        raise KeyboardInterrupt
