"""On a GPU: our scans of loops beside CUB's, and PyTorch's running sum.

`python benchmarks/gpu/scans.py [--json] [--dry-run] [LOOP ...]`; loops are those of `warploom.scan.tasks`. CUB's block scan is
the kernel that `warploom scan emit --target cub` writes; `torch.cumsum` is CUB's scan of the device. Blocks have 128 threads, one
element each. --dry-run needs no GPU: both are compiled, run in the PTX interpreter and compared with the loop.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from peers import WITHOUT_CUB, compile_peer
from times import Figures, figures, torch_figures

from warploom import scan
from warploom.core import UserError
from warploom.gpu import Compiled, compile_cuda, device_arch, device_available, time_kernel, toolchain_available
from warploom.scan.emit.cub import cub_source
from warploom.scan.emit.cuda import CudaScan, cuda_scan
from warploom.scan.emit.peers import NotInstalledError, try_cub
from warploom.scan.emit.running import columns_of, compare
from warploom.scan.emit.serial import DTYPES, column, elements
from warploom.scan.operators.samples import constant_values
from warploom.scan.tasks import loops_module

LOOPS = ("total", "maximum", "is_sorted", "atoi", "max_segment_sum")
THREADS = 128
ELEMENTS = 1 << 24
PART = 1 << 12
"""Elements that are drawn; the array repeats them."""
REPEATS = 20


def scan_of(name: str) -> CudaScan:
    lifting = scan.lift(scan.read_loop(loops_module(), name))
    assert lifting.operator is not None
    return cuda_scan(lifting.operator)


def dry_run(made: CudaScan) -> dict[str, object]:
    """Results that were compared, or what differs."""
    ours = compare(made, ["scan_block", "scan_device"], sizes=(130,), tiles=1)
    line: dict[str, object] = {"ours": ours.mismatch or ours.cases}
    if not toolchain_available():  # CUB's headers are looked for beside them
        return line | {"cub": "no compilers are installed", "right": not ours.mismatch}
    try:
        theirs = try_cub(made.plain)
        line["cub"] = theirs.mismatch or theirs.cases
    except NotInstalledError as error:
        return line | {"cub": f"{error} is not installed", "right": not ours.mismatch}
    return line | {"right": not ours.mismatch and not theirs.mismatch}


def measure(made: CudaScan) -> dict[str, object]:
    """Medians and quartiles of the milliseconds of each."""
    loop = made.plain.loop
    given = [np.resize(each, ELEMENTS) for each in columns_of(made, elements(loop, PART), None)]
    outputs = [np.zeros(ELEMENTS, DTYPES[slot.scalar]) for slot in made.body.outputs]
    constants = zip(made.body.constants, constant_values(loop, 0), strict=True)
    scalars = [np.int64(ELEMENTS), *(column([value], slot.scalar)[0] for slot, value in constants)]
    blocks, tiles = -(-ELEMENTS // THREADS), -(-ELEMENTS // made.tile)
    values = np.zeros(tiles * made.value_bytes, np.uint8)
    # The counters of the device-wide scan begin at zero, so that it is launched once for each measurement.
    scratch = [np.zeros(1 + tiles, np.uint32), values, values.copy()]
    line: dict[str, object] = {"elements": ELEMENTS, "arch": device_arch()}

    def timed(compiled: Compiled, kernel: str, grid: int, threads: int) -> Figures:
        return figures(time_kernel(compiled, kernel, (grid, 1, 1), (threads, 1, 1), [*given, *outputs], scalars, repeats=REPEATS))

    def timed_once(compiled: Compiled, kernel: str, grid: int, threads: int, more: list[Any]) -> float:
        arrays = [*given, *outputs, *(array.copy() for array in more)]
        return time_kernel(compiled, kernel, (grid, 1, 1), (threads, 1, 1), arrays, scalars, repeats=1, warm_up=0).median_ms

    ours = compile_cuda(made.source, arch=device_arch())
    line["block"] = timed(ours, "scan_block", blocks, THREADS)
    line["device"] = figures([timed_once(ours, "scan_device", tiles, made.choices.threads, scratch) for _ in range(REPEATS)])
    theirs = compile_peer(cub_source(made.plain), device_arch())
    line["cub block"] = WITHOUT_CUB if theirs is None else timed(theirs, "scan_block", blocks, THREADS)
    if loop.name == "total":
        line["torch.cumsum"] = running_sum(given[0]) if find_spec("torch") is not None else "torch is not installed"
    return line


def running_sum(data: Any) -> Figures:
    torch = import_module("torch")
    given = torch.from_numpy(data).cuda()
    return torch_figures(lambda: torch.cumsum(given, 0, dtype=given.dtype), REPEATS)


def main(arguments: list[str]) -> int:
    as_json, is_dry = "--json" in arguments, "--dry-run" in arguments
    patterns = [argument for argument in arguments if not argument.startswith("--")]
    if unknown := [argument for argument in arguments if argument.startswith("--") and argument not in ("--json", "--dry-run")]:
        print(f"expected --json or --dry-run, got {unknown[0]}", file=sys.stderr)
        return 2
    if patterns and not any(fnmatchcase(name, pattern) for name in LOOPS for pattern in patterns):
        print(f"expected a pattern that some loop matches, got {patterns[0]!r}; loops are {', '.join(LOOPS)}", file=sys.stderr)
        return 2
    if not is_dry and not device_available():
        print("no CUDA device here: nothing to time (--dry-run checks the kernels without one)", file=sys.stderr)
        return 3
    wrong = False
    for name in LOOPS:
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        try:
            line = {"case": name} | (dry_run if is_dry else measure)(scan_of(name))
        except UserError as error:
            line, wrong = {"case": name, "reason": str(error).splitlines()[0]}, True
        wrong = wrong or line.get("right") is False
        print(json.dumps(line) if as_json else f"{name:<18} { ({k: v for k, v in line.items() if k != 'case'}) }", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
