"""Kernels that crash or hang, in a child process."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.cpu.test_functions import elementwise

from warploom.core import UserError
from warploom.core.compiler import build_library
from warploom.schedule.backbone import Operator
from warploom.schedule.cpu import CompiledNest, Crashed, MeasureWorker, Timing, compile_nest, find_compiler
from warploom.schedule.cpu import worker as worker_module

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def broken(kernel: CompiledNest, body: str) -> CompiledNest:
    arguments = "void *const *arrays, const double *parameters, long begin, long end, char *scratch"
    return replace(kernel, library=build_library(f"void warploom_kernel({arguments}) {{ {body} }}"))


def test_a_search_outlives_its_kernels(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    good = compile_nest(elementwise(Operator.NEG, 64, 16))
    with MeasureWorker([x, np.zeros(64, np.float32)], timeout_s=20.0) as worker:
        assert isinstance(worker.time(good, threads=2), Timing)
        crashed = worker.run(broken(good, "__builtin_trap();"))
        assert isinstance(crashed, Crashed) and crashed.reason.startswith("signal")
        assert isinstance(worker.run(good), float)
        np.testing.assert_array_equal(worker.shared[1], -x)
        worker.timeout_s = 0.5
        assert worker.run(broken(good, 'for (;;) __asm__ volatile("");')) == Crashed("no answer within 0.5 s")
        worker.timeout_s = 20.0
        answers = worker.retime([good, good], rounds=3)
        assert not isinstance(answers, Crashed) and [a.samples % 3 for a in answers] == [0, 0]
        assert worker.starts == 3
        missing = worker.run(replace(good, library=tmp_path / "none.so"))
        assert isinstance(missing, Crashed) and "none.so" in missing.reason
        assert worker.starts == 3


def test_arrays_that_do_not_fit_are_refused() -> None:
    kernel = compile_nest(elementwise(Operator.NEG, 64, 16))
    with MeasureWorker([np.zeros(8, np.float32), np.zeros(64, np.float32)]) as worker:
        answer = worker.run(kernel)
        assert isinstance(answer, Crashed) and "expected A as 64 consecutive elements" in answer.reason


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd" if os.path.exists("/proc/self/fd") else "/dev/fd"))


def test_shared_memory_has_no_name_and_goes_with_its_last_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of it however a process ends: here by an error with a view of it, and in the middle of its beginning."""
    before = descriptors()
    with pytest.raises(KeyboardInterrupt), MeasureWorker([np.arange(3)]) as worker:
        held = worker.shared[0]
        raise KeyboardInterrupt
    np.testing.assert_array_equal(held, [0, 1, 2])
    del held, worker
    given = [np.arange(3), np.arange(5)]
    monkeypatch.setattr(os, "ftruncate", lambda descriptor, size: os.truncate(descriptor, {24: 24}[size]))
    with pytest.raises(KeyError):
        MeasureWorker(given).__enter__()
    gc.collect()
    assert descriptors() == before


class Pipe:
    """Answers after so many seconds in which nothing is there."""

    def __init__(self, after: int) -> None:
        self.after = after

    def send(self, request: object) -> None:
        del request

    def poll(self, seconds: float = 0.0) -> bool:
        self.after -= bool(seconds)
        return self.after < 0

    def recv(self) -> float:
        return 0.5

    def close(self) -> None:
        pass


class Child:
    exitcode = -9

    def __init__(self, lives: int) -> None:
        self.lives = lives

    def is_alive(self) -> bool:
        self.lives -= 1
        return self.lives >= 0

    def kill(self) -> None:
        pass

    def join(self, seconds: float = 0.0) -> None:
        del seconds


@pytest.mark.parametrize(
    ("after", "lives", "limit_s", "answer"),
    [
        pytest.param(90, 1000, 600.0, 0.5, id="a slow start is waited for"),
        pytest.param(90, 1000, 30.0, Crashed("no answer within 30 s"), id="but not for ever"),
        pytest.param(90, 5, 600.0, Crashed("signal 9"), id="nor when it has died"),
    ],
)
def test_how_long_a_child_is_waited_for(after: int, lives: int, limit_s: float, answer: object) -> None:
    worker = MeasureWorker([])
    worker._process, worker._pipe = Child(lives), Pipe(after)  # type: ignore[assignment]
    assert worker._ask(None, limit_s) == answer  # type: ignore[arg-type]


def ended(*_: object) -> None:
    """A child that is no better than one whose script ends it while it is imported."""
    raise SystemExit(7)


def test_a_child_that_does_not_start_is_told_with_what_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_serve", ended)
    with MeasureWorker([np.zeros(3)]) as worker, pytest.raises(UserError, match="did not start: exit status 7") as told:
        worker.start()
    assert "__main__" in told.value.diagnostics[0].fix
