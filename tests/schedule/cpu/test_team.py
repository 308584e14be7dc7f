"""Which cores the threads of the team hold, and who runs which share."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from tests.schedule.cpu.test_functions import elementwise

from warploom.core.compiler import build_library
from warploom.schedule.backbone import Operator
from warploom.schedule.cpu import CompiledNest, Job, compile_nest, entry_of, find_compiler, run_job

pytestmark = [
    pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler"),
    pytest.mark.skipif(sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs two cores"),
]


def worker_of(kernel: CompiledNest) -> int:
    """The thread that a run with two threads starts."""
    before = set(os.listdir("/proc/self/task"))
    run(kernel)
    (worker,) = set(os.listdir("/proc/self/task")) - before
    return int(worker)


def run(kernel: CompiledNest) -> None:
    """Two samples, before which both threads gather."""
    kernel.call([np.ones(64, np.float32), np.zeros(64, np.float32)], {}).run_timed(2, samples=2)


def after_cores_were_taken_away() -> tuple[set[int], set[int], set[int], set[int]]:
    """The cores of a worker, those left to the process, and then those of the worker and of the caller."""
    kernel = compile_nest(elementwise(Operator.NEG, 64, 16))
    worker = worker_of(kernel)
    held = os.sched_getaffinity(worker)
    left = {min(os.sched_getaffinity(0) - held)}
    os.sched_setaffinity(0, left)
    run(kernel)
    return held, left, os.sched_getaffinity(worker), os.sched_getaffinity(0)


def in_forked_children() -> set[int]:
    """How many cores the workers of several children may run on; their parent's held one each."""
    kernel = compile_nest(elementwise(Operator.NEG, 64, 16))
    assert len(os.sched_getaffinity(worker_of(kernel))) == 1
    found: set[int] = set()
    for _ in range(8):
        child = os.fork()
        if child == 0:
            os._exit(len(os.sched_getaffinity(worker_of(kernel))))
        found.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return found


COUNTING = """#include <stddef.h>
void count(void *const *arrays, const double *parameters, ptrdiff_t begin, ptrdiff_t end, char *scratch) {
    for (ptrdiff_t n = begin; n < end; ++n) ++((int *)arrays[0])[n];
}
"""


@pytest.mark.parametrize("units", [2, 7, 64])
def test_every_unit_runs_once_a_round_also_where_threads_come_late(units: int) -> None:
    counts = np.zeros(units, np.int32)
    entry = entry_of(build_library(COUNTING), "count")
    pointers = (ctypes.c_void_p * 1)(counts.ctypes.data)
    job = Job(entry, pointers, (ctypes.c_double * 1)(), units, 0, second=entry, second_units=units - 1)
    for _ in range(200):  # eight threads on fewer cores: the caller takes what others have not begun
        run_job(job, 8)
        run_job(job, 8, repeats=3, samples=2)
    assert counts.tolist() == [200 * 7 * 2] * (units - 1) + [200 * 7]


def test_workers_leave_their_cores_where_too_few_are_left() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        held, left, worker, caller = executor.submit(after_cores_were_taken_away).result()
    assert len(held) == 1 and held != left
    assert worker == caller == left


def test_workers_of_a_forked_process_hold_cores_of_their_own() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(in_forked_children).result() == {1}
