"""A Dask cluster of two worker processes on loopback."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.solve import tasks as work

from warploom.core import UserError
from warploom.solve import Failed, Finished, Journal, Task, cluster_executor, run_tasks
from warploom.solve.runs import cluster
from warploom.solve.runs.cluster import ClusterExecutor

distributed: Any = pytest.importorskip("distributed")

LOOPBACK = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}


@pytest.fixture(scope="module")
def loopback() -> Iterator[Any]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **LOOPBACK) as started:
        yield started


@pytest.fixture(scope="module")
def executor(loopback: Any) -> Iterator[ClusterExecutor]:
    with cluster_executor(loopback.scheduler_address) as connected:
        yield connected


def test_two_workers_share_the_tasks(executor: ClusterExecutor, tmp_path: Path) -> None:
    journal, tasks = Journal(tmp_path / "journal"), [Task(str(number), 0.02) for number in range(12)]
    results = list(run_tasks(tasks, work.nap, executor=executor, journal=journal))
    assert all(isinstance(result, Finished) and result.value == 0.02 for result in results)
    workers = {result.spent.worker for result in results if result.spent}
    assert len(workers) == executor.workers == 2
    assert not any(worker.endswith(f":{os.getpid()}") for worker in workers)
    again = list(run_tasks(tasks, work.nap, executor=executor, journal=Journal(journal.path)))
    assert len(again) == 12 and all(result.spent is None for result in again)


def test_an_exception_and_a_death_on_the_cluster(executor: ClusterExecutor, tmp_path: Path) -> None:
    odd, even = run_tasks([Task("a", 1), Task("b", 2)], work.square_unless_odd, executor=executor, ordered=True)
    assert isinstance(odd, Failed) and odd.reason == "ValueError: 1 is odd"
    assert isinstance(even, Finished) and even.value == 4
    (result,) = run_tasks([Task("a", str(tmp_path / "marker"))], work.die_once, executor=executor)
    assert isinstance(result, Finished) and result.value == "marker"


def test_workers_with_another_source_do_not_answer(executor: ClusterExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "source_digest", lambda: "another")
    (result,) = run_tasks([Task("a", 1)], work.square, executor=executor)
    assert isinstance(result, Failed)
    assert result.reason.startswith("OtherSourceError: expected a worker with the same source")


def test_a_lost_scheduler() -> None:
    with distributed.LocalCluster(n_workers=1, processes=False, **LOOPBACK) as started:
        connected = cluster_executor(started.scheduler_address)
        tasks = (Task(str(number), 0.01) for number in range(50))
        results = run_tasks(tasks, work.nap, executor=connected)
        assert isinstance(next(results), Finished)
    rest = list(results)
    assert len(rest) == 49 and sum(isinstance(result, Failed) for result in rest) >= 40
    connected.shutdown()
    assert connected._client.status == "closed"


@pytest.mark.parametrize("address", ["nonsense", "udp://127.0.0.1:1", "tcp://127.0.0.1:1"])
def test_no_scheduler(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.2)
    with pytest.raises(UserError, match=r"error\[CLUSTER_UNREACHABLE\]: expected a Dask scheduler at"):
        cluster_executor(address)


def test_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_WORKERS_S", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, **LOOPBACK) as started,
        pytest.raises(UserError, match="expected a worker of the scheduler"),
    ):
        cluster_executor(started.scheduler_address)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"(?s)error\[CLUSTER_EXTRA\].*pip install 'warploom\[cluster\]'"):
        cluster_executor("tcp://127.0.0.1:8786")


def test_a_call_after_the_loss_fails_at_once() -> None:
    executor = object.__new__(ClusterExecutor)
    executor._client = cast(Any, SimpleNamespace(status="closed"))
    with pytest.raises(BrokenExecutor, match="scheduler"):
        executor.submit(len, ())
