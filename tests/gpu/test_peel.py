"""Trips of a loop in which a shuffle gives every lane its own value are printed without it."""

import pytest

from warploom.gpu import cuda_source, read_back
from warploom.ir import parse_kernel

SUMS = """
@kernel(block=(32, 1, 1), grid=(1, 1, 1), warp_size=32)
def sums(x: Global[i32, 32], y: Global[i32, 32] | out):
    out = accumulator(i32, op='+', init=0, finalize=__state)
    mine: i32 = x[thread_id]
    for k in range(4):
        step = k // 2
        got: i32 = shfl(mine, (thread_id + k // 2) % 32, 32)
        out.add(got * from_index(i32, step))
    y[thread_id] = out.value()
"""


LANE = "k // 2) % 32"
CASES = {
    "half of them": ([], 2, 1),
    "all": ([("range(4)", "range(2)")], 1, 0),
    "the first": ([(LANE, "k) % 32")], 1, 1),
    "one of eight": ([(LANE, "k) % 32"), ("range(4)", "range(8)")], 1, 1),
    "too few": ([(LANE, "k) % 32"), ("range(4)", "range(9)")], 1, 1),
    "the last": ([(LANE, "(k + 1) % 4) % 32")], 1, 1),
    "the first and the last": ([(LANE, "(k + 1) // 2 % 2) % 32")], 1, 1),
    "read behind the loop": ([("out.value()", "out.value() + got")], 1, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_trips_without_a_shuffle(name: str) -> None:
    changes, loops, shuffles = CASES[name]
    text = SUMS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    kernel = parse_kernel(text)
    printed = cuda_source(kernel).text
    assert (printed.count("for ("), printed.count("__shfl_sync(")) == (loops, shuffles)
    assert read_back(printed, kernel, rounds=1).ok
