"""Runs independent tasks on any `concurrent.futures` executor, with a journal of finished results.

Whatever happens to one task, the others get their results; whatever happens to the driver, a finished result is in the journal
and is not computed again.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Generic, TypeAlias, TypeVar, assert_never, cast

from warploom.core import UserError
from warploom.core.limits import tick
from warploom.solve.runs.cluster import ClusterExecutor
from warploom.solve.runs.events import EventSink, emit
from warploom.solve.runs.journal import Journal
from warploom.solve.runs.jsonlines import Json
from warploom.solve.runs.measure import Raised, Returned, Spent, measured
from warploom.solve.runs.processes import ProcessExecutor, available_cpus, process_executor

Argument = TypeVar("Argument")
Value = TypeVar("Value")

DEATHS_ALLOWED = 1
"""A task whose worker dies more often is not tried again."""
_PER_WORKER = 2
"""Tasks in flight per worker: one runs, one waits."""
_AHEAD = 64
"""Results kept for their turn behind a slow task, in multiples of the tasks in flight; then no task is begun until it ends."""
_POLL_S = 0.1
"""Between two looks at what ends a run while it waits for tasks: interruptions, budgets, `stop`."""


@dataclass(frozen=True, slots=True)
class Task(Generic[Argument]):
    key: str
    """Key in the journal and the events; different for different tasks, and covers all that the result depends on."""
    argument: Argument


@dataclass(frozen=True, slots=True)
class Finished(Generic[Argument, Value]):
    task: Task[Argument]
    value: Value
    spent: Spent | None
    """None when the value is the journal's."""


@dataclass(frozen=True, slots=True)
class Failed(Generic[Argument]):
    """A task that failed; it is not journaled, so that another run tries again."""

    task: Task[Argument]
    reason: str
    traceback: str = ""
    """Traceback of the worker; empty when the worker died."""
    spent: Spent | None = None


Result: TypeAlias = Finished[Argument, Value] | Failed[Argument]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts that say how far a run has come."""

    finished: int = 0
    """Tasks finished, without the resumed ones."""
    resumed: int = 0
    failed: int = 0
    in_flight: int = 0


def run_tasks(
    tasks: Iterable[Task[Argument]],
    function: Callable[[Argument], Value],
    *,
    executor: Executor | None = None,
    journal: Journal | None = None,
    ordered: bool = False,
    in_flight: int | None = None,
    progress: Callable[[Counts], None] | None = None,
    events: EventSink | None = None,
    stop: Callable[[], bool] | None = None,
    accept: Callable[[Argument, Json], bool] | None = None,
) -> Iterator[Result[Argument, Value]]:
    """One result per task, as they finish or, with `ordered`, in the order of the tasks.

    `function` is importable by the workers (defined in a module) and may raise. `executor` is left open; without one, processes
    are started, one per CPU, and ended. With a journal, values are JSON and come back from it as JSON gives them (lists for
    tuples): a task whose key is there is not run, and each finished value is there before it is yielded. `accept` looks at a
    journal's value, which may be anything: where it says no, the task is run. Tasks are taken as they
    are needed, at most `in_flight` (two per worker) at a time. Once `stop()` holds, no task is begun; those running are still
    yielded. An interruption, or closing the iterator, cancels what has not begun; what has finished is in the journal.

    Events: `started` (handed to the executor), `finished`, `failed`, `worker died`, `resumed`, each with the task's key.
    """
    with ExitStack() as stack:
        if executor is None:
            executor = stack.enter_context(process_executor())
        run = _Run(function, executor, journal, ordered, events, stop, accept)
        for result in run.results(tasks, in_flight or _limit(executor)):
            if progress is not None:
                progress(run.counts)
            yield result


def _limit(executor: Executor) -> int:
    match executor:
        case ProcessExecutor() | ClusterExecutor():
            return _PER_WORKER * executor.workers
        case _:
            return _PER_WORKER * available_cpus()


_Outcome: TypeAlias = Future[Returned[Value] | Raised]


@dataclass(slots=True)
class _Attempt(Generic[Argument]):
    place: int
    task: Task[Argument]
    deaths: int = 0


class _Run(Generic[Argument, Value]):
    def __init__(
        self,
        function: Callable[[Argument], Value],
        executor: Executor,
        journal: Journal | None,
        ordered: bool,
        events: EventSink | None,
        stop: Callable[[], bool] | None,
        accept: Callable[[Argument, Json], bool] | None,
    ) -> None:
        self.counts = Counts()
        self._function = function
        self._executor = executor
        self._journal = journal
        self._ordered = ordered
        self._events = events
        self._stop = stop
        self._accept = accept
        self._stopped = False
        self._pending: dict[_Outcome[Value], _Attempt[Argument]] = {}
        self._ended: queue.SimpleQueue[tuple[_Outcome[Value], Exception | None]] = queue.SimpleQueue()
        """Futures that are done, with what kept the value out of the journal."""
        self._results: dict[int, Result[Argument, Value]] = {}
        """Results by place, kept until it is their turn."""
        self._turn = 0
        """Results given out so far: with `ordered`, the place of the next one."""

    def results(self, tasks: Iterable[Task[Argument]], in_flight: int) -> Iterator[Result[Argument, Value]]:
        try:
            for place, task in enumerate(tasks):
                if self._is_stopped():
                    break
                self._begin(_Attempt(place, task))
                yield from self._due()
                while len(self._pending) >= in_flight or (self._pending and place - self._turn > _AHEAD * in_flight):
                    self._take()
                    yield from self._due()
            while self._pending:
                self._take()
                yield from self._due()
            yield from self._due(gaps=True)
        finally:
            self._cancel()

    def _begin(self, attempt: _Attempt[Argument]) -> None:
        key = attempt.task.key
        if self._journal is not None and key in self._journal:
            value = self._journal.find(key)
            if self._accept is None or self._accept(attempt.task.argument, value):
                self._end(attempt, Finished(attempt.task, cast(Value, value), None))
                return
        try:
            future = self._executor.submit(measured, self._function, attempt.task.argument)
        except Exception as error:  # broken, shut down, or the task cannot be pickled
            self._end(attempt, Failed(attempt.task, _text(error)))
            return
        emit(self._events, "started", key=key)
        self._pending[future] = attempt
        self._count(in_flight=1)
        # Journaled in the executor's thread: a driver that is killed while its caller is busy has lost nothing.
        future.add_done_callback(lambda future: self._ended.put((future, self._keep(key, future))))

    def _keep(self, key: str, future: _Outcome[Value]) -> Exception | None:
        if self._journal is None or future.cancelled() or future.exception() is not None:
            return None
        match future.result():
            case Returned(value):
                try:
                    self._journal.add(key, cast(Json, value))
                except Exception as error:
                    return error
            case Raised():
                pass
        return None

    def _take(self) -> None:
        """Waits until one task ends."""
        while True:
            try:
                # Not for good: a signal that the system gives to another thread does not end this wait.
                future, unkept = self._ended.get(timeout=_POLL_S)
                break
            except queue.Empty:
                tick()
                if self._is_stopped():
                    self._cancel()
        attempt = self._pending.pop(future)
        self._count(in_flight=-1)
        task = attempt.task
        if isinstance(unkept, UserError):
            raise unkept
        if unkept is not None:
            self._end(attempt, Failed(task, f"expected a value that JSON can say, got: {_text(unkept)}"))
            return
        try:
            outcome = future.result()
        except CancelledError:
            if not self._stopped:
                self._end(attempt, Failed(task, "cancelled by the executor"))
        except BrokenExecutor as error:
            attempt.deaths += 1
            emit(self._events, "worker died", key=task.key, reason=str(error))
            if attempt.deaths > DEATHS_ALLOWED or self._stopped:
                self._end(attempt, Failed(task, f"{error}; tried {attempt.deaths} times"))
            else:
                self._begin(attempt)
        except Exception as error:
            self._end(attempt, Failed(task, _text(error)))
        else:
            match outcome:
                case Returned(value, spent):
                    self._end(attempt, Finished(task, value, spent))
                case Raised(reason, traceback, spent):
                    self._end(attempt, Failed(task, reason, traceback, spent))
                case _:
                    assert_never(outcome)

    def _end(self, attempt: _Attempt[Argument], result: Result[Argument, Value]) -> None:
        self._results[attempt.place] = result
        key = attempt.task.key
        match result:
            case Finished(spent=spent) if spent is not None:
                self._count(finished=1)
                emit(self._events, "finished", key=key, **asdict(spent))
            case Finished():
                self._count(resumed=1)
                emit(self._events, "resumed", key=key)
            case Failed(reason=reason):
                self._count(failed=1)
                emit(self._events, "failed", key=key, reason=reason)
            case _:
                assert_never(result)

    def _due(self, *, gaps: bool = False) -> Iterator[Result[Argument, Value]]:
        if gaps or not self._ordered:
            for place in sorted(self._results):
                self._turn += 1
                yield self._results.pop(place)
            return
        while self._turn in self._results:
            self._turn += 1
            yield self._results.pop(self._turn - 1)

    def _is_stopped(self) -> bool:
        self._stopped = self._stopped or (self._stop is not None and self._stop())
        return self._stopped

    def _cancel(self) -> None:
        for future in tuple(self._pending):
            future.cancel()

    def _count(self, *, finished: int = 0, resumed: int = 0, failed: int = 0, in_flight: int = 0) -> None:
        counts = self.counts
        self.counts = Counts(
            counts.finished + finished, counts.resumed + resumed, counts.failed + failed, counts.in_flight + in_flight
        )


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
