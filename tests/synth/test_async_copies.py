"""Sketches with asynchronous copies are completed; copies of several elements are counted as one access."""

from __future__ import annotations

import warploom as wl
from warploom import f32


def copied(x, y):
    for t in range(32):
        for j in range(4):
            y[4 * t + j] = x[4 * t + j]


def test_the_place_of_a_vector_is_chosen_by_its_wavefronts() -> None:
    """Element by element both places would meet as many banks."""

    @wl.sketch(spec=copied, block=32)
    def kernel(x: wl.Global[f32, 128], y: wl.Global[f32, 128]):
        t = wl.thread_id()
        tile = wl.shared(f32, 128)
        place = wl.choose(t % 4 * 8 + t // 4, t, name="place")
        for j in wl.vector(4):
            wl.memcpy_async(tile[4 * place + j], x[4 * t + j])
        wl.pipeline_commit()
        wl.pipeline_wait_prior(0)
        wl.sync()
        for j in range(4):
            y[4 * t + j] = tile[4 * place + j]

    done = wl.complete(kernel)
    assert (done.status, done.verdict, done.holes) == ("solved", "proved", {"place": "t"})


def kept(x, y):
    for k in range(3):
        for t in range(8):
            y[k, t] = x[t]


def test_an_array_that_a_loop_declares_keeps_what_was_copied() -> None:
    """The proof and the independent check agree on it."""

    @wl.sketch(spec=kept, block=8, warp_size=8)
    def kernel(x: wl.Global[f32, 8], y: wl.Global[f32, 3, 8]):
        t = wl.thread_id()
        for k in range(3):
            tile = wl.shared(f32, 8)
            if k < 1:
                wl.memcpy_async(tile[t], x[t])
            wl.pipeline_commit()
            wl.pipeline_wait_prior(0)
            wl.sync()
            y[k, 7 - t] = tile[7 - t]

    done = wl.complete(kernel)
    assert (done.status, done.verdict) == ("solved", "proved")


def edges(x, y, n):
    for i in range(n):
        for k in range(3):
            if 0 <= i + k - 1 < n:
                y[i] += x[i + k - 1]


def test_elements_behind_both_ends_are_zeros() -> None:
    """Which of them are read is a hole; copies of elements that are not there would be out of bounds."""
    n = wl.size("n")

    @wl.sketch(spec=edges, block=32, grid=wl.ceil_div(n, 32), complete_at={"n": 70})
    def kernel(x: wl.Global[f32, n], y: wl.Global[f32, n]):
        t, first = wl.thread_id(), 32 * wl.block_id() - 1
        tile = wl.shared(f32, 34)
        wl.memcpy_async(tile[t], x[first + t], valid=0 <= first + t < n)
        if t < 2:
            wl.memcpy_async(tile[32 + t], x[first + 32 + t], valid=first + 32 + t < n)
        wl.pipeline_commit()
        wl.pipeline_wait_prior(0)
        wl.sync()
        total = wl.accumulator(f32)
        for k in range(3):
            total.add(tile[wl.choose(t - k, t + k, name="at")])
        if wl.global_id() < n:
            y[wl.global_id()] = total.value()

    done = wl.complete(kernel)
    assert (done.status, done.verdict, done.holes) == ("solved", "proved", {"at": "t + k"})
    assert done.domain.startswith("real sums reordered; every n from 0 to ")


def shifted(x, y):
    for t in range(32):
        y[t] = x[t + 1] if t < 31 else 0


def test_the_condition_of_a_copy_may_be_a_hole() -> None:
    @wl.sketch(spec=shifted, block=32)
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        t = wl.thread_id()
        tile = wl.shared(f32, 32)
        wl.memcpy_async(tile[t], x[t], valid=t >= wl.choose(2, 1, 0, name="first"))
        wl.pipeline_commit()
        wl.pipeline_wait_prior(0)
        wl.sync()
        y[t] = tile[wl.choose(t + 1, (t + 1) % 32, name="at")]

    done = wl.complete(kernel)
    assert (done.status, done.verdict, done.holes) == ("solved", "proved", {"first": "1", "at": "(t + 1) % 32"})
