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
