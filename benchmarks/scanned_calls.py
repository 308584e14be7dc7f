"""Milliseconds that calls of `wl.scanned` functions take beside NumPy's own function, where it has one, and the plain loop.

    python benchmarks/scanned_calls.py --out benchmarks/results/scanned-calls-DATE.jsonl

Arrays of a million elements of 64 bits; the plain loop runs over a list. Of several runs the least counts: other work on the
machine only adds.
"""

import argparse
import json
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np

import warploom as wl

COUNT, RUNS = 1_000_000, 15


def running_sum(xs: list[int]):
    out = []
    s = 0
    for x in xs:
        s += x
        out.append(s)
    return out


def best_segment(xs: list[int]):
    best = s = 0
    for x in xs:
        s = max(s + x, 0)
        best = max(best, s)
    return best


def smoothed(xs: list[float]):
    out = []
    s = 0.0
    for x in xs:
        s = 0.9 * s + x
        out.append(s)
    return out


def milliseconds(call: Callable[[], object], runs: int = RUNS) -> float:
    return round(min(timeit.repeat(call, number=1, repeat=runs)) * 1e3, 3)


def rows() -> list[dict[str, object]]:
    choose = np.random.default_rng(0)
    whole, real = choose.integers(-100, 100, COUNT), choose.normal(size=COUNT)
    versions = {"python": sys.version.split()[0], "numpy": np.__version__, "version": wl.__version__, "elements": COUNT}
    found: list[dict[str, object]] = []
    for loop, given in ((running_sum, whole), (best_segment, whole), (smoothed, real)):
        listed = given.tolist()
        line: dict[str, object] = {"case": loop.__name__, "loop_ms": milliseconds(lambda loop=loop, xs=listed: loop(xs), 3)}
        for threads in (1, 2):
            function = wl.scanned(threads=threads)(loop)
            function(given)
            line |= {"way": function.way(given), f"scanned_{threads}_ms": milliseconds(lambda f=function, xs=given: f(xs))}
        if loop is running_sum:
            line["numpy_ms"] = milliseconds(lambda: np.cumsum(whole))
        found.append(line | versions)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    out = parser.parse_args().out
    print(lines, end="")
    if out is not None:
        out.write_text(lines)
