"""Memory that a search may take, and takes."""

from __future__ import annotations

import os
from pathlib import Path

_SHARE = 0.8
"""Share of the memory that is free when a search begins."""


def most_bytes() -> float:
    """The memory that this process has and most of what is free; without a limit where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return resident_bytes() + _SHARE * 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return float("inf")


def resident_bytes() -> int:
    """Memory of this process now; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
