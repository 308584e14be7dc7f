"""CPU seconds of the checks of `scan emit --target cuda`, part by part, with Python's collector as it is and asked rarely.

    python benchmarks/scan_emit.py --out benchmarks/results/scan-emit-DATE.jsonl

The greatest segment sum, default choices. Each row is one process; of the repeated ones the median and the spread are given.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import warploom as wl
from warploom import core, scan
from warploom.scan.emit import PLAIN, Choices, Types, cuda_scan, emit, opaque_scan
from warploom.scan.tasks import loops_module
from warploom.synth.compiled import execution
from warploom.tools.scan.functions import prove_functions
from warploom.tools.scan.proof import prove_movement
from warploom.tools.scan.whole_arrays import prove_whole_arrays

RUNS = 3
WAYS = ("often", "rarely")


def parts() -> dict[str, float]:
    """CPU seconds by part, in this process."""
    found = scan.lift(scan.read_loop(loops_module(), "max_segment_sum"))
    assert found.operator is not None
    operator, types, choices = found.operator, Types(), Choices()
    work = {
        "run_and_followed": lambda: emit(found, "cuda", types, choices),
        "warps_and_blocks": lambda: prove_movement(opaque_scan(operator, types, choices, PLAIN.form, None)),
        "functions": lambda: prove_functions(cuda_scan(operator, types, choices)),
        "whole_arrays": lambda: prove_whole_arrays(operator, types, choices),
    }
    seconds: dict[str, float] = {}
    for name, do in work.items():
        start = time.process_time()
        do()
        seconds[name] = round(time.process_time() - start, 2)
    return seconds | {"all": round(sum(seconds.values()), 2)}


def rows() -> list[dict[str, object]]:
    versions = {"python": sys.version.split()[0], "version": wl.__version__, "runs": RUNS}
    seen: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(RUNS):
        for way in WAYS:
            done = subprocess.run([sys.executable, __file__, "--way", way], check=True, capture_output=True, text=True)
            seen[way].append(json.loads(done.stdout))
    found: list[dict[str, object]] = []
    for way in WAYS:
        medians = {f"{part}_s": statistics.median(run[part] for run in seen[way]) for part in seen[way][0]}
        spread = [min(run["all"] for run in seen[way]), max(run["all"] for run in seen[way])]
        found.append({"case": "max_segment_sum", "collected": way, **medians, "all_spread_s": spread, **versions})
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--way", choices=WAYS, help="Print the seconds of this process.")
    options.add_argument("--out", type=Path, help="Add the rows to this file.")
    chosen = options.parse_args()
    if chosen.way == "rarely":
        with core.rarely_collected():
            print(json.dumps(parts()))
        return
    if chosen.way == "often":
        execution.rarely_collected = contextlib.nullcontext  # type: ignore[attr-defined,assignment]
        print(json.dumps(parts()))
        return
    for row in rows():
        line = json.dumps(row)
        print(line)
        if chosen.out is not None:
            with chosen.out.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
