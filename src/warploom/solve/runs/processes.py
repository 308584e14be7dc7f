"""An executor of worker processes in which a death costs one task only.

`concurrent.futures.ProcessPoolExecutor` fails every task in flight when one worker dies and cannot say which task killed it. Here
each worker has a pipe and a thread of its own: the task that dies with it gets a `WorkerDiedError`, the next one a new worker.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections.abc import Callable, Generator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, ParamSpec, TypeVar

from warploom.core import Diagnostic, UserError, safe_path
from warploom.core.limits import children
from warploom.core.starting import COLLECT

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

_CONTEXT = multiprocessing.get_context("spawn")  # the driver has threads, which a fork would leave behind

_LEAVE_S = 5.0
_POLL_S = 0.1


class WorkerDiedError(BrokenExecutor):
    """The process that ran the task ended; the executor goes on."""


@dataclass(frozen=True, slots=True)
class _Call:
    future: Future[Any]
    payload: bytes


class ProcessExecutor(Executor):
    """An executor of at most `workers` processes, started as they are needed and ended with this one, however it ends.

    Workers ignore SIGINT: what an interruption means is the driver's decision. Leaving the `with` block by an exception ends the
    running tasks at once. As always with new processes, a script's own work belongs under `if __name__ == "__main__"`.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._seats: list[_Seat] = []
        self._mutex = threading.Lock()
        self._shut = False

    def submit(self, fn: Callable[Parameters, Value], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Future[Value]:
        """The function and its arguments must be picklable; what pickling raises is raised here."""
        future: Future[Value] = Future()
        call = _Call(future, bytes(ForkingPickler.dumps((fn, args, kwargs))))
        with self._mutex:
            if self._shut:
                raise RuntimeError("cannot submit after shutdown")
            self._calls.put(call)
            if len(self._seats) < self.workers:
                self._seats.append(_Seat(self._calls))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._mutex:
            first, self._shut = not self._shut, True
        if cancel_futures:
            self._cancel_waiting()
        if first:
            for _ in self._seats:
                self._calls.put(None)
        if wait:
            for seat in self._seats:
                while seat.thread.is_alive():  # not one wait: a signal that another thread gets would not end it
                    seat.thread.join(_POLL_S)

    def terminate(self) -> None:
        """Shuts down without waiting for the running tasks: they end with a `WorkerDiedError`."""
        try:
            self.shutdown(wait=False, cancel_futures=True)
        finally:
            for seat in self._seats:
                seat.kill()
        self.shutdown()

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        if exc_type is None:
            self.shutdown()
        else:
            self.terminate()

    def _cancel_waiting(self) -> None:
        ends = 0
        while True:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            if call is None:
                ends += 1
            else:
                call.future.cancel()
                call.future.set_running_or_notify_cancel()
        for _ in range(ends):
            self._calls.put(None)


class _Seat:
    """A thread that keeps one worker process busy."""

    def __init__(self, calls: queue.SimpleQueue[_Call | None]) -> None:
        self._calls = calls
        self._worker: _Worker | None = None
        self._mutex = threading.Lock()
        self._killed = False
        self.thread = threading.Thread(target=self._serve, name="warploom-worker", daemon=True)
        self.thread.start()

    def kill(self) -> None:
        with self._mutex:
            self._killed = True
            if self._worker is not None:
                self._worker.process.kill()

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            if not call.future.set_running_or_notify_cancel():
                continue
            try:
                returned, value = self._run(call.payload)
            except Exception as error:
                call.future.set_exception(error)
                continue
            if returned:
                call.future.set_result(value)
            else:
                call.future.set_exception(value)
        with self._mutex:
            if self._worker is not None:
                self._worker.close()

    def _run(self, payload: bytes) -> tuple[bool, Any]:
        with self._mutex:
            if self._killed:
                raise WorkerDiedError("the executor was shut down")
            if self._worker is None:
                self._worker = _Worker()
            worker = self._worker
        reply = worker.ask(payload)
        if reply is not None:
            return pickle.loads(reply)
        worker.close()
        with self._mutex:
            self._worker = None
        raise WorkerDiedError(_death(worker.process.exitcode))


class _Worker:
    def __init__(self) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_work, args=(theirs,), name="warploom-worker", daemon=True)
        with starting_workers():
            self.process.start()
        if self.process.pid is not None:
            children.add(self.process.pid)
        theirs.close()

    def ask(self, payload: bytes) -> bytes | None:
        """The reply; None if the process ends first."""
        try:
            self._pipe.send_bytes(payload)
            # A child of the worker may hold the pipe's other end open: watch the process, too.
            wait([self._pipe, self.process.sentinel])
            return self._pipe.recv_bytes() if self._pipe.poll() else None
        except (EOFError, OSError):
            return None

    def close(self) -> None:
        """Waits for the process, which ends when it finds the pipe closed, unless a thread that the task left behind goes on."""
        self._pipe.close()
        self.process.join(_LEAVE_S)
        self.process.kill()
        if self.process.pid is not None:
            children.discard(self.process.pid)
        self.process.join()


@contextmanager
def starting_workers() -> Generator[None]:
    """Processes that this thread starts inside never get SIGINT, not even while they import, and look for modules where this
    process does; a `json.py` in the current folder is none of them."""
    with safe_path():
        resource_tracker.ensure_running()  # starting it unblocks SIGINT
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_importing_script() -> bool:
    """Whether this process was started by another one, with `multiprocessing`, and still imports that one's script."""
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))


def process_executor(workers: int | None = None) -> ProcessExecutor:
    """An executor with as many workers as this process may use CPUs, unless told; UserError (`WORKER_COUNT`) for fewer than
    one."""
    if workers is not None and workers < 1:
        raise UserError(Diagnostic("WORKER_COUNT", f"expected at least one worker, got {workers}"))
    return ProcessExecutor(workers or available_cpus())


def available_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"its worker was ended by signal {-exit_code} ({signal.strsignal(-exit_code)})"
    return f"its worker ended with exit code {exit_code}"


def _work(pipe: Connection) -> None:
    """A worker's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*COLLECT)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            payload = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            function, args, kwargs = pickle.loads(payload)
            reply = ForkingPickler.dumps((True, function(*args, **kwargs)))
        except BaseException as error:
            reply = _failure(error)
        try:
            pipe.send_bytes(reply)
        except OSError:
            return


def _failure(error: BaseException) -> bytes:
    try:
        reply = bytes(ForkingPickler.dumps((False, error)))
        pickle.loads(reply)
    except Exception:  # what cannot be pickled, or not read back, goes as its text
        return bytes(ForkingPickler.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"))))
    return reply


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
