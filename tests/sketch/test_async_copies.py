"""`wl.memcpy_async`, `wl.pipeline_commit`, `wl.pipeline_wait_prior`: what they are read as, and what is refused."""

# ruff: noqa: F841 (the sketches are wrong on purpose)

from __future__ import annotations

import re

import pytest
from tests.sketch.helpers import body, problem, read, text

import warploom as wl
from warploom import f32, i32


def test_copies_are_read() -> None:
    def kernel(x: wl.Global[f32, 128], y: wl.Global[f32, 32]):
        t = wl.thread_id()
        tile = wl.shared(f32, 2, 128)
        wl.memcpy_async(tile[0, t], x[t])
        for j in wl.vector(4):
            wl.memcpy_async(tile[1][4 * t + j], source=x[4 * t + j])
        wl.pipeline_commit()
        wl.pipeline_wait_prior(2 - 1)
        y[t] = x[t]

    assert body(read(kernel).kernel) == text("""
        t = thread_id
        tile = shared(f32, 2, 128)
        memcpy_async(tile[0, t], x[t])
        for j in vector(4):
            memcpy_async(tile[1, 4 * t + j], x[4 * t + j])
        pipeline_commit()
        pipeline_wait_prior(1)
        y[t] = x[t]
    """)


def test_zero_fill_is_read() -> None:
    def kernel(x: wl.Global[f32, 128], y: wl.Global[f32, 32]):
        t = wl.thread_id()
        tile = wl.shared(f32, 128)
        wl.memcpy_async(tile[t], x[t], valid=t < 5 and t != 2)
        for j in wl.vector(4):
            wl.memcpy_async(tile[4 * t + j], x[4 * t + j], t < 7)
        y[t] = x[t]

    assert body(read(kernel).kernel) == text("""
        t = thread_id
        tile = shared(f32, 128)
        memcpy_async(tile[t], x[t] if t < 5 and t != 2 else f32(0.0))
        for j in vector(4):
            memcpy_async(tile[4 * t + j], x[4 * t + j] if t < 7 else f32(0.0))
        y[t] = x[t]
    """)

    def of_data(x: wl.Global[f32, 128], y: wl.Global[f32, 32]):
        tile = wl.shared(f32, 128)
        wl.memcpy_async(tile[0], x[0], valid=x[1] < 0)

    assert problem(of_data).code == "INDEX_FROM_DATA"


def test_copies_of_another_form() -> None:
    def no_element(x: wl.Global[f32, 32]):
        tile = wl.shared(f32, 32)
        wl.memcpy_async(tile, x[0])

    def no_read(x: wl.Global[f32, 32]):
        tile = wl.shared(f32, 32)
        wl.memcpy_async(tile[0], x[0] + 1)

    def whole_array(x: wl.Global[f32, 32]):
        tile = wl.shared(f32, 32)
        wl.memcpy_async(tile[0], x)

    def other_type(x: wl.Global[i32, 32]):
        tile = wl.shared(f32, 32)
        wl.memcpy_async(tile[0], x[0])

    for kernel, code, message in (
        (no_element, "COPY_TARGET", "expected an element of a shared array as target of wl.memcpy_async"),
        (no_read, "COPY_SOURCE", "expected an element of a global array as source of wl.memcpy_async, got .*"),
        (whole_array, "COPY_SOURCE", "expected an element of a global array as source of wl.memcpy_async, got the array 'x'"),
        (other_type, "DTYPE_MISMATCH", "expected elements of f32, as 'tile' has, got i32"),
    ):
        found = problem(kernel)
        assert found.code == code
        assert re.fullmatch(message, found.message), found.message
        assert found.span.source


def test_where_they_stand() -> None:
    def as_value(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        tile = wl.shared(f32, 32)
        y[0] = x[0] + wl.memcpy_async(tile[0], x[0])

    def assigned(x: wl.Global[f32, 32]):
        v = wl.pipeline_commit()

    def divergent_commit(x: wl.Global[f32, 64]):
        if wl.thread_id() < 5:
            wl.pipeline_commit()

    def divergent_wait(x: wl.Global[f32, 64]):
        if wl.thread_id() < 5:
            wl.pipeline_wait_prior(0)

    def open_wait(x: wl.Global[f32, 64]):
        wl.pipeline_wait_prior(wl.thread_id())

    assert problem(as_value).message == "wl.memcpy_async(...) is a statement"
    assert problem(assigned).code == "NO_VALUE"
    for kernel, word in ((divergent_commit, "commit"), (divergent_wait, "wait_prior")):
        found = problem(kernel, block=64)
        assert found.code == "SYNC_DIVERGENT"
        assert f"to reach wl.pipeline_{word}()" in found.message
    assert "the groups that may go on" in problem(open_wait).message


def test_what_an_expression_copies_comes_before_its_statement() -> None:
    """`y[t] += f()`, where f waits: the old value is read before."""

    @wl.device
    def waiting(value):
        wl.pipeline_wait_prior(0)
        return value

    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        t = wl.thread_id()
        y[t] += waiting(x[t])

    assert body(read(kernel).kernel) == text("""
        t = thread_id
        old: f32 = y[t]
        value: f32 = x[t]
        pipeline_wait_prior(0)
        y[t] = old + value
    """)


@pytest.mark.parametrize("word", [wl.memcpy_async, wl.pipeline_commit, wl.pipeline_wait_prior])
def test_they_are_words_of_sketches(word) -> None:
    with pytest.raises(wl.UserError, match=f"wl.{word.__name__} was called outside of a sketch"):
        word()
