"""Series in NumPy and for a GPU: groups, moving maxima and smoothing, from the loops one writes serially (scan/real_life.py)."""

from pathlib import Path

import numpy as np

from warploom import scan
from warploom.scan.emit import KERNELS, Choices, cuda_scan, imported, source_of
from warploom.scan.parallel import map_reduce
from warploom.scan.tasks import loops_module

LOOPS = scan.read_module(Path(__file__).parent / "scan" / "real_life.py")


def lifted(name: str) -> scan.Operator:
    found = scan.lift(scan.read_loop(LOOPS, name), scan.user_function(LOOPS, name))
    print(f"{name}: {found.verdict} over {found.domain}")
    return found.operator


# every prefix at once, in about 2 log n vectorised steps
statistics = lifted("group_statistics")
with imported(source_of(statistics, "numpy")) as module:
    sums, counts, peaks = module.group_statistics([1.5, 2, 4, 0.5, 1, 3], [True, False, False, True, False, False])
print("  sums  ", sums.tolist())
print("  counts", counts.tolist())
print("  peaks ", peaks.tolist())

moving = lifted("moving_maximum_of_three")
with imported(source_of(moving, "numpy")) as module:
    print("  moving maxima", module.moving_maximum_of_three([3, 1, 4, 1, 5, 9, 2, 6]).tolist())

smoothing = lifted("smoothed")
with imported(source_of(smoothing, "numpy")) as module:
    print("  smoothed", np.round(module.smoothed(np.ones(8)), 3).tolist())

# a million elements, folded chunk by chunk with NumPy
module = loops_module()
best = scan.lift(scan.read_loop(module, "max_segment_sum"))
waves = np.rint(100 * np.sin(np.arange(1_000_000) / 1000)).astype(np.int64)
print("greatest segment sum of a million:", map_reduce(best, waves, chunks=8))

# the same operator as a CUDA kernel
kernel = cuda_scan(best.operator, choices=Choices(threads=128))
print("as CUDA:", *(name for name in KERNELS if f" {name}(" in kernel.source.replace("\n", " ")))
