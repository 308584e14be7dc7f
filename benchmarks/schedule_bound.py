"""Bound and estimate beside measured times: `python benchmarks/schedule_bound.py [--case NAME | --small] [--count N]`.

Random candidates of CPU kernels on one thread, or those that a run of `warploom explore --journal` evaluated. One JSON line per
kernel: how many ran in less CPU time than the bound allows (`below`, and `worst`, the smallest ratio of time to bound; with its
decisions), rank correlations of bound and estimate with the times. CPU time of the busiest thread: other processes hardly disturb
it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from warploom.core import UserError
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Role, cpu_tiles
from warploom.schedule.bound import Bound
from warploom.schedule.choices import KernelSpace, LoweringError, kernel_space
from warploom.schedule.cpu import Effort, MeasureWorker, Timing, compile_nest, host
from warploom.schedule.search.arrays import random_arrays, scalar_values
from warploom.schedule.space import Candidate

CASES = {
    "matmul": {"m": 256, "n": 256, "k": 256},
    "matvec": {"m": 1024, "n": 1024},
    "axpy": {"n": 1 << 20},
    "axpy-1000": {"n": 1000},
    "softmax": {"rows": 256, "columns": 256},
    "stencil3d": {"d": 64, "h": 64, "w": 64},
    "stencil3d-9": {"d": 8, "h": 9, "w": 10},
}
SMALL = {
    "axpy": {"n": 1000},
    "dot": {"n": 3000},
    "outer": {"m": 30, "n": 70},
    "matvec": {"m": 48, "n": 100},
    "matvec_t": {"m": 60, "n": 50},
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
TOLERANCE = 0.97
"""Of a bound: what the clocks may err."""
EFFORT = Effort(min_s=0.02, max_s=0.3)


def descents(space: KernelSpace, count: int, seed: int) -> Iterator[Candidate]:
    """Decided at random, dead ends left out."""
    draw = random.Random(seed)
    for _ in range(4 * count):
        candidate: Candidate | None = space.root()
        while candidate is not None and (decision := space.decisions(candidate)) is not None:
            values = list(decision.alternatives)
            draw.shuffle(values)
            found = (space.apply(candidate, decision, value) for value in values)
            candidate = next((c for c in found if c is not None), None)
        if candidate is not None:
            yield candidate


def journaled(space: KernelSpace, path: Path) -> Iterator[Candidate]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield space.replay(json.loads(line)["value"]["decisions"])
        except (ValueError, KeyError, UserError):
            continue


def ranks(values: list[float]) -> NDArray[np.float64]:
    return np.argsort(np.argsort(np.array(values))).astype(np.float64)


def correlation(first: list[float], second: list[float]) -> float | None:
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return round(float(np.corrcoef(ranks(first), ranks(second))[0, 1]), 3)


def judged(stage: Backbone, count: int, seed: int, journal: Path | None) -> dict[str, object]:
    space = kernel_space(stage, host(1))
    bound = Bound(space)
    arrays = random_arrays(stage, seed)
    ordered = [arrays[r.name] for r in stage.regions if r.role is not Role.TEMPORARY]
    times: list[float] = []
    bounds: list[float] = []
    guesses: list[float] = []
    worst, decisions = float("inf"), dict[str, str]()
    with MeasureWorker(ordered) as worker:
        for candidate in journaled(space, journal) if journal is not None else descents(space, count, seed):
            if len(times) == count:
                break
            try:
                compiled = compile_nest(space.lower(candidate))
            except (LoweringError, UserError):
                continue
            timing = worker.time(compiled, scalar_values(stage), effort=EFFORT)
            if not isinstance(timing, Timing):
                continue
            least = bound.of(candidate)
            times.append(min(timing.busy_ms, timing.best_ms))
            bounds.append(least)
            guesses.append(bound.estimate(candidate))
            if times[-1] / least < worst:
                worst, decisions = times[-1] / least, space.describe(candidate)
    below = sum(t < TOLERANCE * b for t, b in zip(times, bounds, strict=True))
    return {
        "measured": len(times),
        "below": below,
        "worst": round(worst, 3),
        "rank_bound": correlation(bounds, times),
        "rank_estimate": correlation(guesses, times),
        "fastest_ms": min(times, default=None),
        "root_bound_ms": bound.of(space.root()),
        "worst_decisions": decisions if below else {},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--small", action="store_true", help="Every kernel at a small size.")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--journal", type=Path, help="Of one case: STAGE.jsonl in the journal's folder.")
    options = parser.parse_args()
    cases = SMALL if options.small else {case: CASES[case] for case in options.case or CASES}
    for case, sizes in cases.items():
        kernel = tensor_kernel(case if options.small else case.partition("-")[0])
        for stage in kernel.program(sizes, cpu_tiles).stages:
            found = judged(stage, options.count, options.seed, options.journal)
            print(json.dumps({"case": case, "kernel": stage.name, "seed": options.seed, **found}), flush=True)


if __name__ == "__main__":
    main()
