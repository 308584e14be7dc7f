"""The lower bound against measured times: `python benchmarks/schedule_bound.py --journal FILE [--case NAME] [--count N]`.

Complete candidates of every kernel of the library at small sizes, on one thread: every other one decided at random, the others
with a preference for what the bound takes for fast. Each is compiled and run many times; its least time must not be below its
bound. The journal has one line per candidate; a run goes on where the last one stopped, and `--again` computes the bounds of
what the journal holds anew and measures nothing. `--record FILE` writes one line per kernel: how many were measured and how many
were below, the smallest and the median ratio of time to bound, rank correlations of bound, estimate and appraisal (which orders
what the search measures) with the times, and all pairs of bound and time in nanoseconds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from warploom.core import UserError
from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import Backbone, Role, cpu_tiles
from warploom.schedule.bound import Bound
from warploom.schedule.choices import KernelSpace, LoweringError, kernel_space
from warploom.schedule.cpu import Effort, MeasureWorker, Timing, compile_nest, host
from warploom.schedule.search.arrays import random_arrays, scalar_values
from warploom.solve.space import Candidate

SMALL = {
    "axpy": {"n": 1000},
    "dot": {"n": 3000},
    "outer": {"m": 30, "n": 70},
    "matvec": {"m": 48, "n": 100},
    "matvec_t": {"m": 60, "n": 50},
    "sum": {"n": 500},
    "max": {"n": 500},
    "gesummv": {"n": 50},
    "matmul": {"m": 24, "n": 40, "k": 20},
    "matmul_tn": {"m": 16, "n": 32, "k": 24},
    "matmul_nt": {"m": 20, "n": 16, "k": 30},
    "matmul_tt": {"m": 16, "n": 16, "k": 16},
    "matmul_strided": {"m": 16, "n": 24, "k": 16},
    "matmul_batched": {"b": 8, "m": 8, "n": 12, "k": 8},
    "matmul_batched_strided": {"b": 8, "m": 8, "n": 8, "k": 8},
    "2mm": {"m": 16, "n": 16, "k": 16, "p": 16},
    "atax": {"m": 30, "n": 40},
    "bicg": {"m": 30, "n": 40},
    "mvt": {"n": 40},
    "syrk": {"n": 24, "k": 16},
    "conv2d": {"c": 4, "o": 4, "h": 6, "w": 10, "r": 3, "s": 3},
    "conv2d_7x7": {"c": 2, "o": 2, "h": 8, "w": 8, "r": 7, "s": 7},
    "conv2d_same": {"c": 4, "o": 4, "h": 7, "w": 9},
    "conv2d_same_7x7": {"c": 2, "o": 2, "h": 8, "w": 9},
    "filter2d": {"c": 1, "o": 1, "h": 20, "w": 30, "r": 3, "s": 3},
    "filter2d_7x7": {"c": 1, "o": 1, "h": 16, "w": 20, "r": 7, "s": 7},
    "stencil3d": {"d": 8, "h": 9, "w": 10},
    "jacobi2d": {"h": 20, "w": 33},
    "softmax": {"rows": 8, "columns": 40},
    "layer_norm": {"rows": 8, "columns": 40},
    "rms_norm": {"rows": 8, "columns": 40},
}
"""Every kernel, where compilers see most of it at once."""
MIDDLE = {
    "axpy": {"n": 1 << 16},
    "dot": {"n": 1 << 15},
    "matmul": {"m": 64, "n": 64, "k": 64},
    "matvec": {"m": 256, "n": 256},
    "stencil3d": {"d": 16, "h": 32, "w": 32},
    "jacobi2d": {"h": 128, "w": 128},
    "conv2d": {"c": 8, "o": 8, "h": 16, "w": 16, "r": 3, "s": 3},
    "softmax": {"rows": 64, "columns": 64},
}
"""Some at sizes beyond the first cache, where tiles divide."""
EFFORT = Effort(min_s=0.004, max_s=0.06)
CAREFUL = Effort(min_s=0.1, max_s=0.5)
NEAR = 1.25
"""Times so near their bound are taken again, with more runs."""


@dataclass(frozen=True, slots=True)
class Entry:
    case: str
    kernel: str
    number: int
    bound_ms: float
    estimate_ms: float
    time_ms: float
    """The least of all runs, by the clock or the CPU time."""
    runs: int
    decisions: Mapping[str, str]
    appraisal_ms: float | None = None


def drawn(space: KernelSpace, bound: Bound, draw: random.Random, *, is_greedy: bool) -> Candidate | None:
    """A complete candidate; None for a dead end."""
    candidate: Candidate | None = space.root()
    while candidate is not None and (decision := space.decisions(candidate)) is not None:
        values = list(decision.alternatives)
        draw.shuffle(values)
        found = [c for value in values if (c := space.apply(candidate, decision, value)) is not None]
        if is_greedy and len(found) > 1 and draw.random() < 0.7:
            found.sort(key=bound.estimate)
        candidate = found[0] if found else None
    return candidate


def measured(case: str, stage: Backbone, numbers: range, seed: int, known: set[int]) -> Iterator[Entry]:
    space = kernel_space(stage, host(1))
    bound = Bound(space)
    arrays = random_arrays(stage, seed)
    ordered = [arrays[r.name] for r in stage.regions if r.role is not Role.TEMPORARY]
    scalars = scalar_values(stage)
    with MeasureWorker(ordered) as worker:
        for number in numbers:
            if number in known:
                continue
            draw = random.Random(f"{seed}/{case}/{stage.name}/{number}")
            candidate = drawn(space, bound, draw, is_greedy=bool(number % 2))
            if candidate is None:
                continue
            try:
                nest = space.lower(candidate)
                compiled = compile_nest(nest)
            except (LoweringError, UserError):
                continue
            least, runs, limit = float("inf"), 0, bound.of(candidate)
            for effort in (EFFORT, CAREFUL):
                if least < NEAR * limit or not runs:
                    timing = worker.time(compiled, scalars, effort=effort)
                    if not isinstance(timing, Timing):
                        break
                    least, runs = min(least, timing.busy_ms, timing.best_ms), runs + timing.samples * timing.repeats
            if runs:
                decisions = space.describe(candidate)
                guess, appraisal = bound.estimate(candidate), bound.appraise(candidate, nest)
                yield Entry(case, stage.name, number, limit, guess, least, runs, decisions, appraisal)


def ranks(values: list[float]) -> NDArray[np.float64]:
    return np.argsort(np.argsort(np.array(values))).astype(np.float64)


def correlation(first: list[float], second: list[float]) -> float | None:
    if len(first) != len(second) or len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return round(float(np.corrcoef(ranks(first), ranks(second))[0, 1]), 3)


def summary(entries: list[Entry]) -> dict[str, object]:
    times, bounds = [e.time_ms for e in entries], [e.bound_ms for e in entries]
    ratios = [t / b for t, b in zip(times, bounds, strict=True)]
    worst = entries[int(np.argmin(ratios))]
    return {
        "case": entries[0].case,
        "kernel": entries[0].kernel,
        "measured": len(entries),
        "runs": sum(e.runs for e in entries),
        "below": sum(r < 1 for r in ratios),
        "worst": round(min(ratios), 3),
        "worst_number": worst.number,
        "median": round(statistics.median(ratios), 2),
        "rank_bound": correlation(bounds, times),
        "rank_estimate": correlation([e.estimate_ms for e in entries], times),
        "rank_appraisal": correlation([e.appraisal_ms for e in entries if e.appraisal_ms is not None], times),
        "bound_and_time_ns": [[round(e.bound_ms * 1e6, 1), round(e.time_ms * 1e6, 1)] for e in entries],
    }


def read(journal: Path) -> list[Entry]:
    if not journal.exists():
        return []
    lines = journal.read_text(encoding="utf-8").splitlines()
    found: list[Entry] = []
    for line in lines:
        try:
            found.append(Entry(**json.loads(line)))
        except (ValueError, TypeError):
            continue  # the line that a stopped run left
    return found


def again(entries: list[Entry], stages: Mapping[tuple[str, str], Backbone]) -> list[Entry]:
    """The same times with the bounds of today."""
    found: list[Entry] = []
    for key, stage in stages.items():
        space = kernel_space(stage, host(1))
        bound = Bound(space)
        for entry in entries:
            if (entry.case, entry.kernel) == key:
                candidate = space.replay(list(entry.decisions.items()))
                guess, appraisal = bound.estimate(candidate), bound.appraise(candidate, space.lower(candidate))
                found.append(replace(entry, bound_ms=bound.of(candidate), estimate_ms=guess, appraisal_ms=appraisal))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--case", choices=TENSOR_KERNELS, action="append")
    parser.add_argument("--count", type=int, default=40, help="Candidates of each stage of each kernel.")
    parser.add_argument("--middle", action="store_true", help="Some kernels at sizes beyond the first cache.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Stop after so long.")
    parser.add_argument("--again", action="store_true", help="Bounds anew, no measurements.")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    sizes = MIDDLE if options.middle else SMALL
    stages = {
        (f"{case}{'-middle' if options.middle else ''}", stage.name): stage
        for case in options.case or sizes
        for stage in tensor_kernel(case).program(sizes[case], cpu_tiles).stages
    }
    began = time.monotonic()
    entries = read(options.journal)
    if not options.again:
        with options.journal.open("a", encoding="utf-8") as file:
            for (case, name), stage in stages.items():
                known = {e.number for e in entries if (e.case, e.kernel) == (case, name)}
                for entry in measured(case, stage, range(options.count), options.seed, known):
                    file.write(json.dumps(asdict(entry)) + "\n")
                    file.flush()
                    entries.append(entry)
                    if time.monotonic() - began > options.seconds:
                        break
                if time.monotonic() - began > options.seconds:
                    break
    else:
        entries = again(entries, stages)
    grouped = [[e for e in entries if (e.case, e.kernel) == key] for key in stages]
    lines = [summary(group) for group in grouped if group]
    for line in lines:
        print(json.dumps({k: v for k, v in line.items() if k != "bound_and_time_ns"}), flush=True)
    print(json.dumps({"case": "all", "measured": len(entries), "below": sum(int(str(line["below"])) for line in lines)}))
    if options.record is not None:
        options.record.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
