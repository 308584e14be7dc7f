"""An executor on a Dask cluster. Dask is imported only when a cluster is asked for (the extra `warploom[cluster]`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from warploom.core import Diagnostic, UserError
from warploom.solve.runs.keys import source_digest

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

_CONNECT_S = 30.0
_WORKERS_S = 120.0
"""Workers may still be starting, on machines that have other work."""
_WATCH_S = 0.2
_LOST = "the connection to the cluster's scheduler is lost"


class _Client(Protocol):
    """The part of `distributed.Client` that is used, since it has no types of its own."""

    status: str

    def get_executor(self, *, pure: bool) -> Executor: ...
    def wait_for_workers(self, n_workers: int, timeout: float) -> None: ...
    def nthreads(self) -> Mapping[str, int]: ...
    def close(self) -> None: ...


class _Scheduler(Protocol):
    async def identity(self) -> object: ...
    async def close_rpc(self) -> None: ...


class ClusterExecutor(Executor):
    """Runs calls on the workers of a Dask scheduler; a call whose worker dies is run again by Dask, a few times.

    Once the scheduler is lost, calls fail with `BrokenExecutor`. Each worker must run the same source of this package as this
    process: a call on another one raises `OtherSourceError`.
    """

    def __init__(self, client: _Client, workers: int) -> None:
        self.workers = workers
        """Threads of all workers when the executor was made."""
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._calls: set[Future[Any]] = set()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="warploom-cluster", daemon=True).start()

    def submit(self, fn: Callable[Parameters, Value], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Future[Value]:
        if self._is_lost():  # Dask would hold the call until a connection that may never come
            raise BrokenExecutor(_LOST)
        inner = self._executor.submit(_same_source, source_digest(), fn, *args, **kwargs)
        outer: Future[Value] = Future()
        self._calls.add(outer)
        outer.add_done_callback(self._calls.discard)
        outer.add_done_callback(lambda outer: inner.cancel() if outer.cancelled() else None)
        inner.add_done_callback(lambda inner: _copy(inner, outer))
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait and not cancel_futures and not self._is_lost())
        self._closed.set()
        self._client.close()

    def _is_lost(self) -> bool:
        return self._client.status != "running"

    def _watch(self) -> None:
        """Fails what Dask forgets: a call sent just when the connection breaks never ends by itself."""
        while not self._closed.wait(_WATCH_S):
            if self._is_lost():
                for call in tuple(self._calls):
                    with suppress(InvalidStateError):
                        call.set_exception(BrokenExecutor(_LOST))


def _copy(source: Future[Value], target: Future[Value]) -> None:
    with suppress(InvalidStateError):
        if source.cancelled():
            target.set_exception(CancelledError())
        elif (error := source.exception()) is not None:
            target.set_exception(error)
        else:
            target.set_result(source.result())


class OtherSourceError(RuntimeError):
    """A worker would compute with another version of this package."""


def cluster_executor(address: str) -> ClusterExecutor:
    """Connects to the scheduler at `address` (`tcp://host:port`).

    UserError: `CLUSTER_EXTRA` without Dask, `CLUSTER_UNREACHABLE` where no scheduler answers or it has no workers.
    """
    try:
        from distributed import Client, rpc
    except ImportError as error:
        message = f"expected Dask for a cluster, got: {error}"
        fix = "Install it with `pip install 'warploom[cluster]'`."
        raise UserError(Diagnostic("CLUSTER_EXTRA", message, fix=fix)) from None

    async def answer() -> None:
        scheduler = cast(_Scheduler, rpc(address, timeout=_CONNECT_S))
        try:
            await asyncio.wait_for(scheduler.identity(), _CONNECT_S)
        finally:
            await scheduler.close_rpc()

    try:
        # Asked before there is a client: one that cannot connect takes long to give up, and says so when it is deleted.
        asyncio.run(answer())
        client = cast(_Client, Client(address, timeout=_CONNECT_S, set_as_default=False))
    except (OSError, ValueError) as error:
        message = f"expected a Dask scheduler at {address!r}, got: {str(error) or 'no answer'}"
        fix = "Start one with `dask scheduler` and give the address that it prints."
        raise UserError(Diagnostic("CLUSTER_UNREACHABLE", message, fix=fix)) from None
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except OSError:
        client.close()
        message = f"expected a worker of the scheduler at {address!r}, got none within {_WORKERS_S:g} s"
        fix = f"Start one with `dask worker {address} --nthreads 1`."
        raise UserError(Diagnostic("CLUSTER_UNREACHABLE", message, fix=fix)) from None
    return ClusterExecutor(client, sum(client.nthreads().values()))


def _same_source(digest: str, function: Callable[..., Value], /, *args: object, **kwargs: object) -> Value:
    if digest != source_digest():
        raise OtherSourceError("expected a worker with the same source of warploom as the driver, got a worker with other source")
    return function(*args, **kwargs)
