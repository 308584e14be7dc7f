"""The work of a launch from the interpreter's counts.

Goals: compare two kernels for the same job, say which resource bounds each. Non-goals: absolute times, caches, latencies that
too few warps cannot hide; integer arithmetic on indices is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom import ptx
from warploom.ir import Counts
from warploom.machines import SECTOR_BYTES, Architecture, Requests, Unit, Work, usual

_ALU = ("integer", "predicate", "compare", "move", "convert")
"""Classes of the interpreter of PTX whose instructions the integer units take."""
_PARTS: Mapping[str, Unit] = {"exchange": "load path", "alu": "integer units", "fma": "f32 units", "issue": "issue"}


def counted_work(counts: Counts) -> Work:
    """Work of an execution whose waits were noted, as if one multiprocessor did all of it. Requests touch as few lines as their
    sectors fill; what a block loads again comes from the nearest cache, all else crosses to the second-level cache."""
    requests = counts.global_requests
    sectors = counts.global_sectors / max(1, requests)
    integers = counts.integer_operations + counts.selects
    return Work(
        issued=counts.float_operations + integers + counts.shuffles + counts.shared_wavefronts + requests,
        floats=counts.float_operations,
        integers=integers,
        requests=(Requests(requests, sectors),),
        wavefronts=counts.shared_wavefronts,
        shuffles=counts.shuffles,
        l2_bytes=(counts.global_sectors - counts.repeated_sectors) * SECTOR_BYTES,
    )


def executed_cycles(counts: ptx.Counts, on: Architecture) -> dict[str, float]:
    """Cycles for which a launch keeps the units of one multiprocessor busy, as if it did all of it: shuffles and wavefronts, the
    integer units, the f32 units, the schedulers; and `cycles`, the most of these. Instructions are those of the PTX; global
    memory is not in it."""
    classes = counts.warp_instructions
    work = Work(
        issued=counts.instructions,
        floats=classes.get("float", 0) + classes.get("half", 0),
        integers=sum(classes.get(name, 0) for name in _ALU),
        wavefronts=counts.shared_wavefronts,
        shuffles=counts.shuffles,
    )
    found = usual(on).cycles(work)
    parts = {name: round(found[unit], 2) for name, unit in _PARTS.items()}
    return parts | {"cycles": max(parts.values())}
