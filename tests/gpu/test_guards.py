"""Accumulates under opposite conditions are printed as one `if` with an `else`, and only where their order does not matter."""

import pytest

from warploom.gpu import cuda_source, read_back
from warploom.ir import parse_kernel

OPPOSITE = """
@kernel(block=(32, 1, 1), grid=(1, 1, 1), warp_size=32)
def opposite(x: Global[u32, 32], y: Global[u32, 64] | out):
    out = accumulator(u32, 2, op='^', init=0, finalize=__state)
    a: u32 = x[thread_id]
    for i in range(8):
        b: u32 = shfl(a, i, 32)
        out[0].add(a & b, when=i <= thread_id)
        out[1].add(b)
        out[1].add(a & b, when=i > thread_id)
    for q in range(2):
        y[32 * q + thread_id] = out[q].value()
"""
CASES = {
    "opposite": ([], 1),
    "mirrored": ([("i > thread_id", "thread_id < i")], 1),
    "equal or not": ([("i <= thread_id", "i == thread_id"), ("i > thread_id", "i != thread_id")], 1),
    "the same": ([("i > thread_id", "i <= thread_id")], 0),
    "unlike": ([("i > thread_id", "i >= thread_id")], 0),
    "sums of floats": ([("u32", "f32"), ("'^'", "'+'"), ("a & b", "a * b"), ("init=0", "init=0.0")], 0),
    "a shuffle between": ([("out[1].add(b)", "out[1].add(shfl(a, i, 32))")], 0),
    "a read of memory": ([("add(a & b, when=i > thread_id)", "add(x[i - 1], when=i > thread_id)")], 0),
}


@pytest.mark.parametrize("name", CASES)
def test_opposite_conditions(name: str) -> None:
    changes, joined = CASES[name]
    text = OPPOSITE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    kernel = parse_kernel(text)
    printed = cuda_source(kernel).text
    assert printed.count("} else {") == joined
    assert read_back(printed, kernel, rounds=1).ok
