"""An executor on a Dask cluster. Dask is imported only when a cluster is asked for (the extra `warploom[cluster]`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import ParamSpec, Protocol, TypeVar, cast

from warploom.core import Diagnostic, UserError
from warploom.solve.keys import source_digest

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

_CONNECT_S = 10.0


class _Client(Protocol):
    """What is used of `distributed.Client`, which has no types of its own."""

    def get_executor(self, *, pure: bool) -> Executor: ...
    def wait_for_workers(self, n_workers: int, timeout: float) -> None: ...
    def nthreads(self) -> Mapping[str, int]: ...
    def close(self) -> None: ...


class ClusterExecutor(Executor):
    """Runs calls on the workers of a Dask scheduler; a call whose worker dies is run again by Dask, a few times.

    Each worker must run the same source of this package as this process: a call on another one raises `OtherSourceError`.
    """

    def __init__(self, client: _Client, workers: int) -> None:
        self.workers = workers
        """Threads of all workers when the executor was made."""
        self._client = client
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[Parameters, Value], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Future[Value]:
        return self._executor.submit(_same_source, source_digest(), fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


class OtherSourceError(RuntimeError):
    """A worker would compute with another version of this package."""


def cluster_executor(address: str) -> ClusterExecutor:
    """Connects to the scheduler at `address` (`tcp://host:port`).

    UserError: `CLUSTER_EXTRA` without Dask, `CLUSTER_UNREACHABLE` where no scheduler answers or it has no workers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        message = f"expected Dask for a cluster, got: {error}"
        fix = "Install it with `pip install 'warploom[cluster]'`."
        raise UserError(Diagnostic("CLUSTER_EXTRA", message, fix=fix)) from None
    try:
        client = cast(_Client, Client(address, timeout=_CONNECT_S, set_as_default=False))
    except (OSError, ValueError) as error:
        message = f"expected a Dask scheduler at {address!r}, got: {error}"
        fix = "Start one with `dask scheduler` and give the address that it prints."
        raise UserError(Diagnostic("CLUSTER_UNREACHABLE", message, fix=fix)) from None
    try:
        client.wait_for_workers(1, timeout=_CONNECT_S)
        return ClusterExecutor(client, sum(client.nthreads().values()))
    except OSError as error:
        client.close()
        message = f"expected a worker of the scheduler at {address!r}, got: {error}"
        fix = f"Start one with `dask worker {address} --nthreads 1`."
        raise UserError(Diagnostic("CLUSTER_UNREACHABLE", message, fix=fix)) from None


def _same_source(digest: str, function: Callable[..., Value], /, *args: object, **kwargs: object) -> Value:
    if digest != source_digest():
        raise OtherSourceError("expected a worker with the same source of warploom as the driver, got one with another")
    return function(*args, **kwargs)
