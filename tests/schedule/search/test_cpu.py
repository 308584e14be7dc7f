"""The CPU's evaluation pipeline on nests built by hand: compiled by workers, measured, checked against NumPy."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from warploom.kernels import tensors
from warploom.schedule.backbone import Constant
from warploom.schedule.cpu import Timing, c_source, find_compiler
from warploom.schedule.nest import Compute, Kind, Loop, Nest, Node
from warploom.schedule.search import CpuEvaluator, Timed, Unfit
from warploom.schedule.search import cpu as search_cpu
from warploom.solve import process_executor

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")

SPEC = importlib.util.spec_from_file_location("cpu_nests_search", Path(__file__).parents[3] / "benchmarks" / "cpu_nests.py")
SIZE = 48


def nests() -> list[Nest]:
    assert SPEC is not None and SPEC.loader is not None
    module = importlib.util.module_from_spec(SPEC)
    sys.modules[SPEC.name] = module
    SPEC.loader.exec_module(module)
    return [module.matmul(SIZE, SIZE, SIZE, 4, n, 8) for n in (1, 2)]


@pytest.fixture(autouse=True, scope="module")
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPLOOM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def wrong(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Every fused multiply-add forgets its sum."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            found.append(replace(node, body=wrong(node.body)))
        elif isinstance(node, Compute) and len(node.arguments) == 3:
            found.append(replace(node, arguments=(*node.arguments[:2], Constant(0.0))))
        else:
            found.append(node)
    return tuple(found)


def evaluator(**options) -> CpuEvaluator:
    kernel = tensors.tensor_kernel("matmul")
    sizes = {"m": SIZE, "n": SIZE, "k": SIZE}
    (stage,) = kernel.program(sizes).stages
    arrays = kernel.arrays(sizes)
    return CpuEvaluator(stage, arrays=arrays, reference=kernel.reference(arrays), **options)


def test_measures_and_checks() -> None:
    good = nests()
    bad = replace(good[0], body=wrong(good[0].body))
    with process_executor(1) as executor:
        judge = evaluator(executor=executor)
        with judge.open():
            found = dict(judge.measure([good[0], bad, good[1]], None))
            assert isinstance(found[0], Timed) and found[0].time_ms > 0
            assert isinstance(found[2], Timed)
            # It is checked where it would be the fastest so far, and among the finalists in any case.
            assert isinstance(found[1], Unfit | Timed)
            times = judge.retime([*good, bad])
        lenient = evaluator(executor=executor, allowed={"C": np.full(SIZE * SIZE, np.inf)})
        with lenient.open():
            assert isinstance(lenient.retime([bad])[0], Timed)
    assert isinstance(times[0], Timed) and isinstance(times[1], Timed)
    assert isinstance(times[2], Unfit) and "relative error" in times[2].reason
    assert judge.name == "cpu-1"


def test_an_interruption_waits_for_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def stuck(nest: Nest) -> None:
        begun.set()
        time.sleep(30)

    def interrupted() -> None:
        assert begun.is_set()
        raise KeyboardInterrupt

    monkeypatch.setattr(search_cpu, "compile_nest", stuck)
    monkeypatch.setattr(search_cpu, "tick", interrupted)
    judge = evaluator()
    with pytest.raises(KeyboardInterrupt), judge.open():
        dict(judge.measure(nests()[:1], None))
    waiting = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    assert waiting and all(thread.daemon for thread in waiting)


def test_what_does_not_compile_is_unfit() -> None:
    nest = nests()[0]
    (outer,) = (n for n in nest.body if isinstance(n, Loop))
    with process_executor(1) as executor:
        judge = evaluator(executor=executor)
        with judge.open():
            ((position, measurement),) = judge.measure([replace(nest, body=(replace(outer, kind=Kind.THREAD),))], None)
    assert position == 0
    assert isinstance(measurement, Unfit) and "expected" in measurement.reason


def test_compiles_here_without_an_executor() -> None:
    nest = nests()[0]
    (outer,) = (n for n in nest.body if isinstance(n, Loop))
    judge = evaluator()
    with judge.open():
        found = dict(judge.measure([replace(nest, body=(replace(outer, kind=Kind.THREAD),)), *nests()], None))
    assert isinstance(found[0], Unfit) and "expected" in found[0].reason
    assert all(isinstance(found[n], Timed) for n in (1, 2))


def test_a_kernel_counts_as_its_time_says_against_that_of_the_best_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """While other work makes both slower by a fifth."""
    judge = evaluator()
    told: list[int] = []
    its = [1.32]

    def slow(ms: float) -> Timing:
        return Timing(ms, ms, ms, 7, 1, is_early=False)

    class Worker:
        def time(self, *_: object, best_ms: float, **__: object) -> Timing:
            assert best_ms == pytest.approx(1.4)
            return slow(1.32)

        def retime(self, *_: object, rounds: int, **__: object) -> tuple[Timing, Timing]:
            told.append(rounds)
            return slow(its[0]), slow(1.2)

    kernel = cast(Any, None)
    judge._worker, judge._rival = cast(Any, Worker()), (kernel, 1.0)
    near = judge._timed(kernel, 1.0)
    assert isinstance(near, Timed) and near.judged_ms == pytest.approx(1.1)
    its[0] = 1.8
    far = judge._timed(kernel, 1.0)
    assert isinstance(far, Timed) and far.judged_ms == pytest.approx(1.5)
    assert told == [3, 8, 3]


def test_texts_tell_how_long_a_compiler_takes() -> None:
    nest = nests()[0]
    text = len(c_source(nest).text)
    judge = evaluator()
    assert judge.effort_s(nest, 0.0) == pytest.approx(2.5e-5 * text)
    assert judge.effort_s(nest, 1e9) >= judge.effort_s(nest, 0.0)


def test_arrays_that_do_not_fit_are_refused() -> None:
    kernel = tensors.tensor_kernel("matmul")
    (stage,) = kernel.program({"m": 8, "n": 8, "k": 8}).stages
    with pytest.raises(Exception, match="expected 64 elements of B"):
        CpuEvaluator(stage, arrays={"A": np.zeros((8, 8), np.float32)})


def test_opened_twice_it_has_one_process() -> None:
    judge = evaluator()
    with judge.open():
        worker = judge._worker
        with judge.open():
            assert judge._worker is worker
        assert judge._worker is worker and worker is not None and worker.starts == 1
        assert isinstance(judge.retime(nests()[:1])[0], Timed)
    assert judge._worker is None
