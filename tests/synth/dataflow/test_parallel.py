"""Searches in parts against searches in one: the same solutions, counts and tests; deaths, interruption, resumption."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.ir.dataflow.random_programs import random_program
from tests.synth.dataflow.every_choice import every_choice

from warploom.ir.dataflow import Program, parse_program
from warploom.kernels import find_program
from warploom.solve import Budget, Event, Goal, Journal, process_executor
from warploom.synth.dataflow import PartsResult, ProgramResult, solve_in_parts, solve_program


class Here(Executor):
    """Runs each call at once, in this thread; `change` sees the results on their way."""

    def __init__(self, change: Callable[[int, Any], Any] = lambda part, value: value) -> None:
        self.change = change

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(self.change(args[1].part, fn(*args, **kwargs)))
        except BrokenExecutor as error:
            future.set_exception(error)
        return future


def listed(result: ProgramResult) -> list[tuple[int, dict[str, tuple[str, bytes]]]]:
    return [(s.cost, {n: (str(m.expr), m.table.tobytes()) for n, m in s.members.items()}) for s in result.solutions]


def assert_same(program: Program, goal: Goal, parts: int) -> None:
    one = solve_program(program, goal=goal)
    several = solve_in_parts(program, Here, parts=parts, goal=goal).result
    assert several.solutions.count == one.solutions.count
    if goal == "first":
        assert one.complete == several.complete or one.solutions.count
        return
    assert listed(several) == listed(one)
    assert (several.complete, several.reason, several.oracle) == (one.complete, one.reason, one.oracle)
    if goal == "all":
        assert several.visited == one.visited


CASES = (
    "sf/l3/trove-crc-3",
    "sf/l3/trove-rcr-2",
    "sf/l1/trove-cr_sum-4",
    "sf/l2/2d-stencil-3",
    "sf/l2/2d-stencil-7",
    "sf/l3/1d-conv",
    "sf/useless-var-test",
    "sf/hvx-gaussian",
)


@pytest.mark.parametrize("goal", ["all", "best", "first"])
@pytest.mark.parametrize("case", CASES)
def test_cases(case: str, goal: Goal) -> None:
    assert_same(parse_program(find_program(case)), goal, 3)


def test_random_programs() -> None:
    for seed in range(30):
        program = random_program(random.Random(3_000_000 + seed), 400)
        assert_same(program, "all", 1 + seed % 4)
        assert_same(program, "best", 2)
        found = solve_in_parts(program, Here, parts=2, goal="first").result
        assert bool(found.solutions.count) == bool(every_choice(program).solutions)


RCR = partial(find_program, "sf/l3/trove-rcr-2")


def rcr() -> Program:
    return parse_program(RCR())


def test_a_worker_that_is_killed_costs_nothing() -> None:
    events: list[Event] = []

    def kill(event: Event) -> None:
        events.append(event)
        if event.kind == "finished" and sum(e.kind == "finished" for e in events) == 1:
            os.kill(int(str(event.fields["worker"]).split(":")[1]), signal.SIGKILL)

    found = solve_in_parts(rcr(), partial(process_executor, 2), parts=6, events=kill)
    assert (found.result.solutions.count, found.result.complete, found.parts) == (272, True, 6)
    assert any(event.kind == "worker died" for event in events)
    assert found.seconds > 0 and found.peak_mb > 1


def test_a_part_that_fails_is_missed_and_said() -> None:
    def change(part: int, value: Any) -> Any:
        if part == 1:
            raise BrokenExecutor("its worker was ended")
        return value

    found = solve_in_parts(rcr(), lambda: Here(change), parts=4)
    assert 0 < found.result.solutions.count < 272 and found.parts == 3
    assert not found.result.complete
    assert found.result.reason == "part 1 of 4: its worker was ended; tried 2 times"


def interrupted(journal: Journal | None, goal: Goal = "all") -> PartsResult:
    """After three parts."""

    def progress(text: str) -> None:
        if text.startswith("3 of"):
            raise KeyboardInterrupt

    return solve_in_parts(rcr(), Here, parts=8, goal=goal, journal=journal, progress=progress)


def test_an_interruption_keeps_what_finished(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    assert 0 < interrupted(journal).result.solutions.count < 272
    found = interrupted(None)
    assert 0 < found.result.solutions.count < 272 and found.parts == 3
    assert (found.result.complete, found.result.reason) == (False, "interrupted")
    again = solve_in_parts(rcr(), Here, parts=8, journal=Journal(journal.path))
    assert listed(again.result) == listed(solve_program(rcr())) and again.result.complete
    assert again.resumed >= 3 and again.parts == 8
    third = solve_in_parts(rcr(), Here, parts=8, journal=Journal(journal.path))
    assert (third.resumed, third.seconds, third.result.visited) == (8, 0, again.result.visited)


def test_the_best_so_far() -> None:
    found = interrupted(None, "best").result
    assert (found.solutions.count, found.complete, found.reason) == (1, False, "interrupted")


def test_budget_of_each_part() -> None:
    found = solve_in_parts(rcr(), Here, parts=4, budget=Budget(nodes=3)).result
    assert (found.solutions.count, found.complete, found.reason) == (4 * 2, False, "budget: nodes")


def test_first_does_not_wait_for_the_others() -> None:
    seen: list[str] = []
    found = solve_in_parts(rcr(), partial(process_executor, 1), parts=100, goal="first", progress=seen.append)
    assert found.result.solutions.count == 1 and len(seen) < 10


def test_parts_of_different_problems_are_not_mixed() -> None:
    def change(part: int, returned: Any) -> Any:
        returned.value["alternatives"] += part
        return returned

    with pytest.raises(RuntimeError, match="disagree"):
        solve_in_parts(rcr(), lambda: Here(change), parts=2)


@pytest.mark.slow
def test_on_a_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    from warploom.solve import cluster_executor

    loopback = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **loopback) as cluster:
        connect = partial(cluster_executor, cluster.scheduler_address)
        found = solve_in_parts(rcr(), connect, parts=4)
        assert listed(found.result) == listed(solve_program(rcr())) and found.parts == 4
        first = solve_in_parts(rcr(), connect, parts=8, goal="first").result
        assert first.solutions.count == 1
