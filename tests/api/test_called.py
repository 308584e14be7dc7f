"""Completed and explored sketches are called, saved and loaded; without a GPU on the interpreter."""

import json
from pathlib import Path

import numpy as np
import pytest

import warploom as wl
from warploom import f32
from warploom.tools.kernels.store import file_text

n = wl.size("n")


def turned(x, y, n):
    for i in range(n):
        y[i] = x[i] + 1


@wl.sketch(spec=turned, block=32, grid=wl.ceil_div(n, 32), complete_at={"n": 32})
def kernel(x: wl.Global[f32, n], y: wl.Global[f32, n]):
    at = wl.global_id()
    if at < n:
        y[at] = x[at + wl.const(0, 1, name="more")] + 1


X = np.arange(40, dtype=np.float32)


@pytest.fixture(scope="module")
def completed() -> wl.Completed:
    return wl.complete(kernel)


def test_a_completed_sketch_is_called_saved_and_loaded(completed: wl.Completed, tmp_path: Path) -> None:
    again = wl.load_kernel(completed.save(tmp_path / "k.kernel"))
    assert again.text == "kernel(x, [y], n=)" and again.line == completed.line
    y = np.zeros(40, np.float32)
    for called in (completed, again):
        np.testing.assert_array_equal(called(X), X + 1)
        assert called(X, y) is y and called(x=X, y=y, n=40) is y
        np.testing.assert_array_equal(y, X + 1)
        with pytest.raises(wl.UserError, match="SHAPE"):
            called(X, y[:7])


def test_a_sketch_with_an_answer_alone_is_called() -> None:
    @wl.sketch(spec=turned, block=32, grid=wl.ceil_div(n, 32), complete_at={"n": 32})
    def wrong(x: wl.Global[f32, n], y: wl.Global[f32, n]):
        at = wl.global_id()
        if at < n:
            y[at] = x[at + wl.const(1, 2, name="more")] + 1

    found = wl.complete(wrong)
    assert ".kernel" not in found.suffixes
    with pytest.raises(wl.UserError, match="NO_ANSWER"):
        found(X)


def test_an_explored_sketch_is_called_saved_and_loaded(tmp_path: Path) -> None:
    found = wl.explore(kernel, sizes={"n": 32}, nodes=20)
    again = wl.load_kernel(found.save(tmp_path / "k.kernel"))
    for called in (found, again):
        np.testing.assert_array_equal(called(X), X + 1)


def test_damaged_files(completed: wl.Completed, tmp_path: Path) -> None:
    record = json.loads(completed.save(tmp_path / "k.kernel").read_text())
    record.pop("digest")
    for name, value, told in (
        ("sketch", "kernel", "its kernel is none"),
        ("sketch", record["sketch"].replace("block", "blok"), "its kernel is none"),
        ("sketch", 3, "it lacks what a call takes"),
        ("line", 3, "it lacks a report"),
    ):
        (tmp_path / "odd.kernel").write_text(file_text(record | {name: value}))
        with pytest.raises(wl.UserError, match=f"KERNEL_FILE.*{told}"):
            wl.load_kernel(tmp_path / "odd.kernel")


def test_faults_that_the_interpreter_finds_are_raised() -> None:
    def first(x, y):
        y[0] = x[0]

    @wl.sketch(spec=first, block=32)
    def racing(x: wl.Global[f32, 32], y: wl.Global[f32, 1]):
        y[0] = x[wl.thread_id()]

    from warploom.gpu import SketchCalls, cuda_source

    with pytest.raises(wl.UserError, match="RACE"):
        SketchCalls(racing.kernel, lambda: cuda_source(racing.kernel))((X[:32],), {})
