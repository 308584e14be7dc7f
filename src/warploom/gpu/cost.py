"""The work of a launch from the interpreter's counts.

Goals: compare two kernels for the same job, say which resource bounds each. Non-goals: absolute times, caches, latencies that
too few warps cannot hide; integer arithmetic on indices is not counted.
"""

from __future__ import annotations

from warploom.ir import Counts
from warploom.machines import LINE_BYTES, SECTOR_BYTES, WARP_LANES, Requests, Work


def counted_work(counts: Counts) -> Work:
    """Work of an execution with these counts, as if one multiprocessor did all of it. Requests are taken as whole lines, the
    fewest that there can be; all sectors cross to the second-level cache at least once."""
    whole = LINE_BYTES // SECTOR_BYTES
    requests = counts.global_sectors / whole
    operations = counts.arithmetic / WARP_LANES
    return Work(
        issued=operations + counts.shuffles + counts.shared_wavefronts + requests,
        floats=operations,
        requests=(Requests(requests, whole),),
        wavefronts=counts.shared_wavefronts,
        shuffles=counts.shuffles,
        l2_bytes=counts.global_sectors * SECTOR_BYTES,
    )
