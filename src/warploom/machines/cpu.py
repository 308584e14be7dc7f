"""CPU cores as data: the ports of a wide core of today, its caches, and those that the system at hand says it has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from warploom.machines.figures import Quantity, checked

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True)
class Port:
    """Number of instructions of a kind and width that a core takes."""

    kind: str
    """`fma`, `mul`, `add`, `max`, `load` or `store`; `load_word`, `store_word`: of integers, one at a time."""
    size_bytes: int
    per_clock: float


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A cache of a CPU or a GPU."""

    name: str
    size_bytes: int
    """Bytes of one copy."""
    line_bytes: int
    is_shared: bool
    """One copy for all cores."""


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """A core, as far as nobody has measured it; rates are per clock."""

    vector_bytes: Annotated[int, Quantity("bytes of a vector register", 16, 64)]
    vector_registers: Annotated[int, Quantity("vector registers", 8, 64)]
    clock_ghz: Annotated[float, Quantity("GHz", 0.5, 10)]
    issue: Annotated[float, Quantity("instructions per clock", 1, 32)]
    l1_lines: Annotated[float, Quantity("lines per clock into the first-level cache", 0.1, 8)]
    l2_lines: Annotated[float, Quantity("lines per clock into the second-level cache", 0.1, 8)]
    memory_gb_s: Annotated[float, Quantity("10^9 bytes per second from and to memory", 1, 2000)]


WIDE_CORE = Core(vector_bytes=32, vector_registers=16, clock_ghz=5.0, issue=12.0, l1_lines=1.0, l2_lines=0.5, memory_gb_s=100.0)
"""A wide core of today at its highest clock: no core in use does more of anything but the width of its vectors."""
PORTS = (
    *(Port(kind, size, 2.0 if size == 64 else 4.0) for kind in ("fma", "mul", "add", "max", "load") for size in (4, 16, 32, 64)),
    *(Port("store", size, 1.0 if size == 64 else 2.0) for size in (4, 16, 32, 64)),
    Port("load_word", 8, 4.0),
    Port("store_word", 8, 4.0),
)
"""Ports of such a core."""
TURNED_BYTES = 16
"""Most bytes of neighbours that are stored at once out of vectors which are turned in registers: x86 exchanges elements within so
many bytes at the least cost."""
MOST_APART = 4
"""Elements from lane to lane up to which a vector is put together of vectors of neighbours, as many as the distance."""


def usable_cores() -> int:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_CACHES = (
    CacheLevel("l1", 48 * _KIB, 64, False),
    CacheLevel("l2", 2 * _MIB, 64, False),
    CacheLevel("l3", 64 * _MIB, 64, True),
)


def system_caches(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> tuple[CacheLevel, ...]:
    """Data caches, innermost first, as Linux says; elsewhere those of a large core of today."""
    found: dict[int, CacheLevel] = {}
    for folder in sorted(root.glob("index*")):
        try:
            words = {name: (folder / name).read_text().strip() for name in ("level", "type", "size", "coherency_line_size")}
            level, size = int(words["level"]), int(words["size"].removesuffix("K")) * _KIB
            line = int(words["coherency_line_size"])
        except (OSError, KeyError, ValueError):
            continue
        if words["type"] != "Instruction":
            found[level] = CacheLevel(f"l{level}", size, line, level > 2)
    kept = tuple(found.get(level + 1, usual) for level, usual in enumerate(_CACHES))
    return kept if found else _CACHES
