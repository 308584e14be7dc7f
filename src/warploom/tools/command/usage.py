"""Resources that a command has used so far: CPU time of the process and its children, wall time, peak memory."""

from __future__ import annotations

import time
from dataclasses import dataclass

from warploom.core.limits import cpu_seconds, peak_mb


@dataclass(frozen=True, slots=True)
class Usage:
    """Since the start of a `Stopwatch`; `peak_mb` is of the whole life of the process."""

    seconds: float
    """CPU of the process and of its children that ended."""
    wall_s: float
    peak_mb: float


class Stopwatch:
    """Starts when made; imports done before that do not count."""

    def __init__(self) -> None:
        self._cpu_s = cpu_seconds()
        self._wall_s = time.perf_counter()

    def read(self) -> Usage:
        return Usage(
            seconds=round(cpu_seconds() - self._cpu_s, 3),
            wall_s=round(time.perf_counter() - self._wall_s, 3),
            peak_mb=round(peak_mb(), 1),
        )
