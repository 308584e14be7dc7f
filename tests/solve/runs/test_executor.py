"""Tasks in worker processes: deaths, exceptions, interruption, resumption; no finished result is lost or computed twice."""

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tests.solve import tasks as work

from warploom.core import UserError
from warploom.solve import (
    Counts,
    Event,
    Failed,
    Finished,
    Journal,
    Task,
    WorkerDiedError,
    process_executor,
    read_events,
    run_tasks,
)
from warploom.solve.runs import executor as executor_module
from warploom.solve.runs.processes import ProcessExecutor

ROOT = Path(__file__).parents[3]


def numbered(numbers: range) -> list[Task[int]]:
    return [Task(str(number), number) for number in numbers]


def values(results: list[Any]) -> dict[str, Any]:
    return {result.task.key: result.value for result in results if isinstance(result, Finished)}


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessExecutor]:
    with process_executor(2) as pool:
        yield pool


def test_every_task_has_its_result(workers: ProcessExecutor) -> None:
    seen: list[Counts] = []
    results = list(run_tasks(numbered(range(20)), work.square, executor=workers, progress=seen.append))
    assert values(results) == {str(number): number * number for number in range(20)}
    assert all(result.spent and result.spent.peak_mb > 1 for result in results)
    assert len({result.spent.worker for result in results if result.spent}) <= 2
    assert seen[-1] == Counts(finished=20)


def test_processes_by_default() -> None:
    (result,) = run_tasks(numbered(range(3, 4)), work.square)
    assert isinstance(result, Finished) and result.value == 9
    assert result.spent and not result.spent.worker.endswith(f":{os.getpid()}")


@pytest.mark.parametrize("ordered", [True, False])
def test_order(workers: ProcessExecutor, tmp_path: Path, ordered: bool) -> None:
    (tmp_path / "there").touch()
    late, others = tmp_path / "late", [Task(str(number), str(tmp_path / "there")) for number in range(5)]
    finished: list[str] = []

    def note(event: Event) -> None:
        if event.kind == "finished":
            finished.append(str(event.fields["key"]))
        if len(finished) == 5:
            late.touch()

    tasks = [Task("late", str(late)), *others]
    results = list(run_tasks(tasks, work.wait_for, executor=workers, ordered=ordered, in_flight=6, events=note))
    assert finished[-1] == "late" and len(finished) == 6
    assert [result.task.key for result in results].index("late") == (0 if ordered else 5)


def test_an_exception_is_one_result(workers: ProcessExecutor) -> None:
    results = list(run_tasks(numbered(range(6)), work.square_unless_odd, executor=workers))
    assert values(results) == {"0": 0, "2": 4, "4": 16}
    failed = [result for result in results if isinstance(result, Failed)]
    assert sorted(result.reason for result in failed) == [f"ValueError: {number} is odd" for number in (1, 3, 5)]
    assert all("square_unless_odd" in result.traceback for result in failed)


def test_a_task_that_exits(workers: ProcessExecutor) -> None:
    events: list[Event] = []
    (result,) = run_tasks([Task("a", 3)], work.exit_with, executor=workers, events=events.append)
    assert isinstance(result, Failed) and result.reason == "SystemExit: 3"
    assert [e.fields["reason"] for e in events if e.kind == "failed"] == ["SystemExit: 3"]


def test_a_task_that_cannot_be_sent(workers: ProcessExecutor) -> None:
    lock = threading.Lock()
    bad, good = run_tasks([Task("a", lock), Task("b", None)], repr, executor=workers, ordered=True)
    assert isinstance(bad, Failed) and "cannot pickle" in bad.reason
    assert isinstance(good, Finished) and good.value == "None"


def test_a_result_that_cannot_be_sent(workers: ProcessExecutor) -> None:
    (result,) = run_tasks([Task("a", "a")], threading.Barrier, executor=workers)  # pyright: ignore[reportArgumentType]
    assert isinstance(result, Failed)
    assert len(list(run_tasks(numbered(range(3)), work.square, executor=workers))) == 3


def test_memory_of_a_task(workers: ProcessExecutor) -> None:
    before, large, after = run_tasks(numbered(range(3)), _sizes, executor=workers, ordered=True, in_flight=1)
    assert isinstance(before, Finished) and isinstance(large, Finished) and isinstance(after, Finished)
    assert before.spent and large.spent and after.spent
    assert large.spent.peak_mb > before.spent.peak_mb + 90
    if sys.platform == "linux":
        assert after.spent.peak_mb < large.spent.peak_mb - 90


def _sizes(number: int) -> int:
    return work.large(100 if number == 1 else 1)


def test_a_worker_killed_once(workers: ProcessExecutor, tmp_path: Path) -> None:
    events: list[Event] = []
    (tmp_path / "b").touch()
    markers = [Task(name, str(tmp_path / name)) for name in "ab"]
    results = list(run_tasks(markers, work.die_once, executor=workers, events=events.append))
    assert values(results) == {"a": "a", "b": "b"}
    assert Counter(event.kind for event in events) == {"started": 3, "worker died": 1, "finished": 2}


def test_a_task_that_always_kills_its_worker(workers: ProcessExecutor, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    results = list(run_tasks(numbered(range(1, 6)), work.die, executor=workers, journal=journal))
    survivors = {str(number): number * number for number in (1, 2, 4, 5)}
    assert values(results) == survivors
    failed = {result.task.key: result.reason for result in results if isinstance(result, Failed)}
    assert failed == dict.fromkeys("3", "its worker was ended by signal 9 (Killed); tried 2 times")
    assert {key: journal.find(key) for key in journal.keys()} == survivors  # noqa: SIM118


def test_another_executor_that_breaks() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        results = list(run_tasks(numbered(range(1, 6)), work.die, executor=pool, in_flight=1, ordered=True))
    assert [type(result) for result in results] == [Finished, Finished, Failed, Failed, Failed]
    assert [result.task.key for result in results] == ["1", "2", "3", "4", "5"]


def test_threads_do_as_well() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert len(values(list(run_tasks(numbered(range(9)), work.square, executor=pool)))) == 9


def test_tasks_are_taken_as_they_are_needed(workers: ProcessExecutor) -> None:
    taken: list[int] = []

    def endless() -> Iterator[Task[int]]:
        number = 0
        while True:
            taken.append(number)
            yield Task(str(number), number)
            number += 1

    results = run_tasks(endless(), work.square, executor=workers, in_flight=3)
    assert len([next(results) for _ in range(10)]) == 10
    results.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert len(taken) <= 10 + 3


def test_results_kept_for_their_turn_are_bounded(workers: ProcessExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "_AHEAD", 3)
    taken: list[str] = []

    def naps() -> Iterator[Task[float]]:
        for number in range(60):
            taken.append(str(number))
            yield Task(str(number), 0.0 if number else 0.5)

    results = run_tasks(naps(), work.nap, executor=workers, in_flight=4, ordered=True)
    keys = [next(results).task.key]
    assert len(taken) <= 3 * 4 + 2
    assert keys + [result.task.key for result in results] == taken
    assert len(taken) == 60


def test_stop(workers: ProcessExecutor) -> None:
    results: list[Any] = []
    tasks = [Task(str(number), 0.01) for number in range(1000)]
    results.extend(run_tasks(tasks, work.nap, executor=workers, stop=lambda: len(results) >= 5))
    assert 5 <= len(results) <= 5 + 4
    assert all(isinstance(result, Finished) for result in results)


def test_stop_while_waiting() -> None:
    release, begun = threading.Event(), list[Event]()

    class Releasing(ThreadPoolExecutor):
        """Lets the running calls end when a waiting one is cancelled."""

        def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Any:
            future = super().submit(fn, *arguments, **named)
            future.add_done_callback(lambda future: release.set() if future.cancelled() else None)
            return future

    with Releasing(2) as pool:
        results = run_tasks(
            numbered(range(4)),
            lambda _: release.wait(),
            executor=pool,
            in_flight=4,
            events=begun.append,
            stop=lambda: sum(event.kind == "started" for event in begun) == 4,
        )
        assert len(list(results)) <= 2


def test_a_finished_task_is_not_repeated(workers: ProcessExecutor, tmp_path: Path) -> None:
    log, journal, events = str(tmp_path / "log"), Journal(tmp_path / "journal"), list[Event]()
    tasks = [Task(str(number), (log, number)) for number in range(6)]
    journal.add("2", 2)
    first = list(run_tasks(tasks[:4], work.logged, executor=workers, journal=journal))
    second = list(run_tasks(tasks, work.logged, executor=workers, journal=Journal(journal.path), events=events.append))
    assert len(first) == 4 and values(second) == {str(number): number for number in range(6)}
    assert {result.task.key for result in second if isinstance(result, Finished) and result.spent is None} == set("0123")
    assert sorted(Path(log).read_text().split()) == ["0", "1", "3", "4", "5"]
    assert Counter(event.kind for event in events) == {"resumed": 4, "started": 2, "finished": 2}


def test_a_journals_value_that_is_not_accepted_is_computed_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    for key, value in (("2", "four"), ("3", 9)):
        journal.add(key, value)
    with ThreadPoolExecutor(1) as pool:
        run = run_tasks(
            numbered(range(2, 4)), work.square, executor=pool, journal=journal, accept=lambda n, value: value == n * n
        )
        results = {result.task.key: result for result in run}
    assert values(list(results.values())) == {"2": 4, "3": 9}
    assert {key: result.spent is None for key, result in results.items()} == {"2": False, "3": True}
    assert Journal(journal.path).find("2") == 4


def test_a_value_that_cannot_be_journaled(workers: ProcessExecutor, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    bad, good = sorted(
        run_tasks(numbered(range(1, 3)), work.no_json, executor=workers, journal=journal), key=lambda result: result.task.key
    )
    assert isinstance(bad, Failed) and bad.reason.startswith("expected a value that JSON can say, got: TypeError")
    assert isinstance(good, Finished) and journal.keys() == ("2",)


def test_a_journal_on_a_full_disk(workers: ProcessExecutor) -> None:
    with pytest.raises(UserError, match="JOURNAL_UNUSABLE"):
        list(run_tasks(numbered(range(3)), work.square, executor=workers, journal=Journal(Path("/dev/full"))))


def test_what_finished_is_journaled_while_the_caller_is_busy(workers: ProcessExecutor, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    results = run_tasks(numbered(range(4)), work.square, executor=workers, journal=journal)
    next(results)
    while len(Journal(journal.path)) < 4:
        time.sleep(0.02)
    assert len(list(results)) == 3


def test_closing_ends_the_workers(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    keys = ("there", "never", "neither")
    results = run_tasks([Task(key, str(tmp_path / key)) for key in keys], work.wait_for)
    assert next(results).task.key == "there"
    results.close()  # pyright: ignore[reportAttributeAccessIssue]  # would wait for ever


def test_terminate_fails_what_runs() -> None:
    pool = process_executor(1)
    running, waiting = pool.submit(work.nap, 3600.0), pool.submit(work.nap, 3600.0)
    while not running.running():
        time.sleep(0.01)
    pool.terminate()
    assert isinstance(running.exception(), WorkerDiedError)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError):
        pool.submit(work.nap, 0.0)


def test_worker_counts() -> None:
    with pytest.raises(UserError, match="WORKER_COUNT"):
        process_executor(0)


DRIVER = """
import sys
from pathlib import Path
from tests.solve.tasks import logged_from_30_on_when_told as logged
from warploom.solve import EventLog, Finished, Journal, Task, process_executor, run_tasks

if __name__ == "__main__":
    folder, count, workers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    tasks = [Task(str(number), (str(folder / "log"), number)) for number in range(count)]
    events = EventLog(folder / "events").write
    try:
        with process_executor(workers) as executor:
            for result in run_tasks(tasks, logged, executor=executor, journal=Journal(folder / "journal"), events=events):
                assert isinstance(result, Finished), result
                print(result.task.key, flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def drive(folder: Path, count: int, workers: int) -> subprocess.Popen[str]:
    script = folder / "drive.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(folder), str(count), str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Process numbers of its children; none where there is no /proc."""
    files = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


@pytest.mark.parametrize(("interrupt", "workers"), [(signal.SIGKILL, 2), (signal.SIGINT, 1)])
def test_a_driver_that_is_ended_is_resumed(tmp_path: Path, interrupt: signal.Signals, workers: int) -> None:
    count = 60
    process = drive(tmp_path, count, workers)
    assert process.stdout is not None
    printed = [process.stdout.readline().strip() for _ in range(20)]
    children = workers_of(process)
    # SIGINT as a terminal sends it: to the workers, too.
    (os.kill if interrupt == signal.SIGKILL else os.killpg)(process.pid, interrupt)
    printed += process.communicate()[0].split()
    assert process.returncode == (130 if interrupt == signal.SIGINT else -signal.SIGKILL)
    finished = set(Journal(tmp_path / "journal").keys())
    assert set(printed) <= finished and len(finished) < count
    while any(_runs(child) for child in children):
        time.sleep(0.02)

    (tmp_path / "go").touch()
    again = drive(tmp_path, count, 1)
    assert len(again.communicate()[0].split()) == count
    assert again.returncode == 0
    journal = Journal(tmp_path / "journal")
    assert {int(key) for key in journal.keys()} == set(range(count))  # noqa: SIM118
    runs = Counter((tmp_path / "log").read_text().split())
    # A task that was running when the driver ended is run again; one that had finished never is.
    assert set(runs) == {str(number) for number in range(count)}
    assert all(runs[key] == 1 for key in finished)
    assert sum(runs.values()) <= count + 2 * 2
    assert sum(event.kind == "resumed" for event in read_events(tmp_path / "events")) == len(finished)


class _Never(Executor):
    """A task that does not end; what interrupts the main thread while it waits wakes nobody, as where another thread gets the
    signal."""

    def __init__(self) -> None:
        self.future: Future[Any] = Future()
        self.last = threading.Timer(20, self.future.cancel)
        self.last.start()

    def submit(self, fn: object, /, *args: object, **kwargs: object) -> Future[Any]:
        threading.Timer(0.2, _thread.interrupt_main).start()
        return self.future


def test_an_interruption_that_another_thread_gets_ends_the_wait_for_a_task() -> None:
    executor = _Never()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(run_tasks(numbered(range(1)), work.square, executor=executor))
        assert executor.last.is_alive()
    finally:
        executor.last.cancel()


def test_an_interruption_that_another_thread_gets_ends_the_wait_for_workers() -> None:
    executor = process_executor(1)
    running = executor.submit(time.sleep, 20)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        executor.shutdown()
    assert not running.done()
    executor.terminate()
    assert isinstance(running.exception(), WorkerDiedError)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def test_the_journal_is_json_lines(workers: ProcessExecutor, tmp_path: Path) -> None:
    list(run_tasks(numbered(range(2)), work.square, executor=workers, journal=Journal(tmp_path / "journal")))
    lines = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]
    assert sorted(lines, key=lambda line: line["key"]) == [{"key": "0", "value": 0}, {"key": "1", "value": 1}]
