"""Microseconds that a call of a `wl.jit` function with three small arrays takes beside NumPy's own call.

    python benchmarks/jit_calls.py --out benchmarks/results/jit-calls-DATE.jsonl

The kernel multiplies 4 x 4 matrices, so that nearly all is the call. Of many runs the least counts: other work on the machine
only adds.
"""

# ruff: noqa: F821, N803, N806 (indices and sizes are names of the language)

import argparse
import json
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np

import warploom as wl
from warploom import f32
from warploom.schedule.calls import functions

CALLS, RUNS = 1000, 60


def product(A: f32["m", "k"], B: f32["k", "n"], C: wl.out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


def scaled(X: f32["n"], by: f32, Y: wl.out[f32["n"]]):
    Y[i] = X[i] * by


def microseconds(call: Callable[[], object]) -> float:
    call()
    return round(min(timeit.repeat(call, number=CALLS, repeat=RUNS)) / CALLS * 1e6, 3)


def first_call(function: Callable[..., object]) -> float:
    """Microseconds of the fastest call with a number of rows that was not seen before."""
    B, took = np.ones((4, 4), np.float32), list[float]()
    function(np.ones((4, 4), np.float32), B)
    for rows in range(5, 5 + RUNS):
        A = np.ones((rows, 4), np.float32)
        took.append(timeit.timeit(lambda A=A: function(A, B), number=1))
    return round(min(took) * 1e6, 3)


def rows() -> list[dict[str, object]]:
    A, B, C = (np.ones((4, 4), np.float32) for _ in range(3))
    shimmed = wl.jit(threads=1)(product)
    found = {
        "compiled shim, output given": microseconds(lambda: shimmed(A, B, C)),
        "numpy.matmul, output given": microseconds(lambda: np.matmul(A, B, out=C)),
    }
    real, functions.short_way = functions.short_way, lambda *_: None
    python, scalar = wl.jit(threads=1)(product), wl.jit(threads=1)(scaled)
    found |= {
        "Python, output given": microseconds(lambda: python(A, B, C)),
        "Python, output made": microseconds(lambda: python(A, B)),
        "Python, a view that is copied": microseconds(lambda: python(A.T, B, C)),
        "Python, by name": microseconds(lambda: python(A=A, B=B, C=C)),
        "Python, two arrays and a scalar": microseconds(lambda: scalar(A[0], 2.0, C[0])),
    }
    found["another number of rows, plain loops"] = first_call(wl.jit(threads=1)(product))
    functions.short_way = real
    versions = {"python": sys.version.split()[0], "numpy": np.__version__, "version": wl.__version__}
    return [{"case": case, "microseconds": us, **versions} for case, us in found.items()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    out = parser.parse_args().out
    print(lines, end="")
    if out is not None:
        out.write_text(lines)
