"""Holes of the kind `compose` from the sketch to the printed CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

import warploom as wl
from warploom.gpu import cuda_source, read_back
from warploom.sketch import load

EXAMPLE = Path(__file__).parents[2] / "examples" / "six_words.py"


def test_a_store_of_six_words_is_completed_proved_and_printed() -> None:
    (sketch,) = load(EXAMPLE)
    done = wl.complete(sketch, space=3)
    assert (done.status, done.verdict, done.report.space) == ("solved", "proved", 3)
    assert done.holes["column_after"] == "i ^ (lane // 16)"
    assert done.report.kernel is not None
    assert read_back(cuda_source(done.report.kernel).text, done.report.kernel).ok


def test_more_indices_than_the_grammar_has_are_refused() -> None:
    def same(x, y):
        for i in range(129):
            y[i] = x[i]

    with pytest.raises(wl.UserError, match="expected 1 to 128 as the number of indices, got 129"):

        @wl.sketch(block=129, spec=same)
        def kernel(x: wl.Global[wl.i32, 129], y: wl.Global[wl.i32, 129]):
            y[wl.thread_id()] = x[wl.compose(wl.thread_id(), 129, 0)]
