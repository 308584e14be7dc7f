"""Holes of the kind `bits` from the sketch to the printed CUDA."""

from __future__ import annotations

import pytest

import warploom as wl
from warploom.gpu import cuda_source, read_back
from warploom.sketch import Sketch

n = wl.size("n")


def reversal(x, y, n):
    for block in range(n):
        for t in range(32):
            y[32 * block + t] = x[32 * block + 16 * (t % 2) + 8 * (t // 2 % 2) + 4 * (t // 4 % 2) + 2 * (t // 8 % 2) + t // 16]


@wl.sketch(block=32, grid=n, spec=reversal, complete_at={"n": 1})
def reversed_bits(x: wl.Global[wl.i32, 32 * n], y: wl.Global[wl.i32, 32 * n]):
    lane = wl.lane_id()
    y[wl.global_id()] = wl.shfl(x[wl.global_id()], wl.bits(32, lane, name="from"))


def butterfly(x, w, y):
    for i in range(8):
        y[i] = w[0] * x[i] + w[1] * x[i ^ 2] + w[2] * x[i ^ 4] + w[3] * x[i ^ 6]


@wl.sketch(block=8, warp_size=8, spec=butterfly)
def butterflies(x: wl.Global[wl.i32, 8], w: wl.Constant[wl.i32, 4], y: wl.Global[wl.i32, 8]):
    t = wl.thread_id()
    total = wl.accumulator(wl.i32, inner="*")
    for k in range(4):
        total.add(w[k], wl.shfl(x[t], wl.bits(8, t, k, name="from")))
    y[t] = total.value()


@pytest.mark.parametrize(
    ("sketch", "space", "completed"),
    [
        (reversed_bits, 3, "(lane // 16) ^ ((lane // 4) & 2) ^ (lane & 4) ^ ((lane * 4) & 8) ^ ((lane * 16) & 16)"),
        (butterflies, 1, "t ^ (k * 2)"),
    ],
)
def test_sketches_are_completed_proved_and_printed(sketch: Sketch, space: int, completed: str) -> None:
    done = wl.complete(sketch)
    assert (done.status, done.verdict, done.report.space) == ("solved", "proved", space)
    assert done.holes == {"from": completed}
    assert done.report.kernel is not None
    assert read_back(cuda_source(done.report.kernel).text, done.report.kernel).ok


def test_a_number_of_indices_that_is_no_power_of_two_is_refused() -> None:
    with pytest.raises(wl.UserError, match="expected a power of two up to 32768 as the number of indices, got 12"):

        @wl.sketch(block=8, warp_size=8, spec=butterfly)
        def turned(x: wl.Global[wl.i32, 8], w: wl.Constant[wl.i32, 4], y: wl.Global[wl.i32, 8]):
            y[wl.thread_id()] = x[wl.bits(12, wl.thread_id())]


def first(x, y):
    for i in range(8):
        y[i] = x[0]


def test_holes_of_no_arguments_are_constants() -> None:
    @wl.sketch(block=8, warp_size=8, spec=first)
    def lonely(x: wl.Global[wl.i32, 8], y: wl.Global[wl.i32, 8]):
        y[wl.thread_id()] = x[wl.bits(8, name="bits") + wl.part(2, name="part") + (1 if wl.cond(name="cond") else 0)]

    done = wl.complete(lonely)
    assert (done.verdict, done.holes) == ("proved", {"bits": "0", "part": "0", "cond": "False"})
