"""Counts of what the kernels of `scan emit` execute on full tiles, by the PTX interpreter; results compared with the loop."""

from __future__ import annotations

from warploom import scan
from warploom.machines import WARP_LANES
from warploom.scan.emit import ARCH, cuda_scan, executed
from warploom.scan.tasks import loops_module
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.usage import Stopwatch

TILES = 8
MOST: dict[str, float] = {"max_segment_sum": 100, "total": 60}
"""Loops, and the most instructions that a warp may execute per 32 elements."""


def run_executed_case(name: str) -> Line:
    """The line of `scan_device` of one loop; UserError without the CUDA tools."""
    stopwatch = Stopwatch()
    operator = scan.lift(scan.read_loop(loops_module(), name)).operator
    assert operator is not None
    made = cuda_scan(operator)
    counts, compared = executed(made, TILES)
    if compared.mismatch:
        return plain_line(f"executed/{name}", "error", stopwatch.read(), reason=compared.mismatch)
    count = TILES * made.tile
    per_warp = round(counts.instructions * WARP_LANES / count, 1)
    return plain_line(
        f"executed/{name}", "solved", stopwatch.read(), verdict="tested", cases=compared.cases, kernel="scan_device", arch=ARCH,
        threads=made.choices.threads, items=made.items, elements=count, counted="interpreter", instructions_per_warp=per_warp,
        at_most=MOST[name], shuffles=counts.shuffles, shared_wavefronts=counts.shared_wavefronts,
        global_sectors=counts.global_sectors, as_expected=per_warp <= MOST[name],
    )  # fmt: skip
