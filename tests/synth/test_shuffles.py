"""Every judge of sketches reads the same lane in a shuffle as the reference interpreter does, in segments as well."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synth.kernels import parse, sketch_of
from tests.synth.network_run import run_network

from warploom.gpu import cuda_source, read_back
from warploom.ir import Kernel, fill, run
from warploom.synth.lift.lift import lift
from warploom.synth.network.lower import lower
from warploom.synth.proof.symbolic import execute
from warploom.terms import atom

_THREADS = 64
_STEPS = 5

TEXT = """
@kernel(block=(64, 1, 1), grid=(1, 1, 1), warp_size=32)
def moved(x: Global[i32, 64], y: Global[i32, 320] | out):
    for k in range(5):
        got: i32 = KIND(x[thread_id], (thread_id * STRIDE + 7 * k + 1) % 32, WIDTH)
        y[thread_id * 5 + k] = got
"""


def _kernel(kind: str, width: int) -> Kernel:
    return parse(TEXT, ("KIND", kind), ("WIDTH", str(width)), ("STRIDE", "1" if kind == "shfl" else "0"))


def _sources(kind: str, width: int) -> np.ndarray:
    """[threads, steps] the element each thread gets, as the interpreter says."""
    x = np.arange(_THREADS, dtype=np.int32)
    return run(_kernel(kind, width), {"x": x}).arrays["y"].reshape(_THREADS, _STEPS)


@pytest.mark.parametrize("width", [4, 8, 32])
@pytest.mark.parametrize("kind", ["shfl", "shfl_up", "shfl_down", "shfl_xor"])
def test_proof_and_search_read_the_lanes_of_the_interpreter(kind: str, width: int) -> None:
    wanted = [atom("x", (int(s),), 1) for s in _sources(kind, width).ravel()]
    kernel = _kernel(kind, width)
    assert execute(kernel, {}).outputs["y"].tolist() == wanted
    assert run_network(lower(kernel, {}), ())[0]["y"] == wanted


EARLIER = """
@kernel(block=(32, 1, 1), grid=(n, 1, 1), warp_size=32)
def earlier(x: Global[i32, n * 32], y: Global[i32, n * 32] | out, n: size):
    y[block_id * 32 + thread_id] = shfl_xor(x[block_id * 32 + thread_id], 8, 8)
"""


def earlier(x, y, n):
    for b in range(n):
        for t in range(32):
            y[32 * b + t] = x[32 * b + t - 8] if t % 16 >= 8 else x[32 * b + t]


def own(x, y, n):
    for i in range(32 * n):
        y[i] = x[i]


def test_lift_lets_xor_reach_an_earlier_segment() -> None:
    kernel = parse(EARLIER)
    assert lift(sketch_of(kernel, earlier, {"n": 2}), kernel).verdict == "proved"
    assert lift(sketch_of(kernel, own, {"n": 2}), kernel).verdict == "refuted"


def test_xor_into_an_earlier_segment_is_printed_as_the_interpreter_runs_it() -> None:
    kernel = _kernel("shfl_xor", 8)
    assert read_back(cuda_source(kernel).text, fill(kernel, {})).ok
