"""A child process that runs generated kernels: one that crashes or hangs takes the child with it, not the search."""

from __future__ import annotations

import mmap
import multiprocessing
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import recv_handle, send_handle
from tempfile import TemporaryFile
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from warploom.core import Diagnostic, UserError, WarploomError
from warploom.schedule.backbone import Role
from warploom.schedule.cpu.compiled import Call, CompiledNest, aligned_copy
from warploom.schedule.cpu.timing import DEFAULT_EFFORT, Effort, Timing, retime, time_call
from warploom.solve import starting_workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_START_S = 600.0
"""A child that starts slowly, on a machine with much to do, is waited for as long as it lives."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """How the kernel ended the child, for the journal."""

    reason: str
    """`signal 11`, `no answer within 5 s`, or an error's text."""


@dataclass(frozen=True, slots=True)
class _Memory:
    """Memory without a name: it is gone with the last process that has it, however that ends."""

    descriptor: int
    bytes: mmap.mmap


@dataclass(frozen=True, slots=True)
class _Array:
    """A NumPy array in shared memory, whose descriptor is sent after the child has started."""

    shape: tuple[int, ...]
    dtype: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Attach:
    """Asks whether the child has the arrays."""


@dataclass(frozen=True, slots=True)
class _Time:
    kernels: tuple[CompiledNest, ...]
    parameters: dict[str, float]
    threads: int
    effort: Effort
    best_ms: float | None
    rounds: int


@dataclass(frozen=True, slots=True)
class _Run:
    kernel: CompiledNest
    parameters: dict[str, float]
    threads: int


Step: TypeAlias = tuple[CompiledNest, tuple[int, ...]]
"""A kernel of a program, and which of the arrays it is given."""


@dataclass(frozen=True, slots=True)
class _TimeTogether:
    programs: tuple[tuple[Step, ...], ...]
    parameters: dict[str, float]
    threads: int
    rounds: int


_Request: TypeAlias = _Attach | _Time | _TimeTogether | _Run


@dataclass
class MeasureWorker:
    """Shares arrays with a child process and has it run and time kernels on them; a new child is started where one was lost.

    Use as a context manager. `arrays` are copied once; read results of `run` from `shared`.
    """

    arrays: Sequence[NDArray[Any]]
    timeout_s: float = 30.0
    """Time limit of one request; the child is killed after that."""
    shared: list[NDArray[Any]] = field(init=False, default_factory=list["NDArray[Any]"])
    starts: int = field(init=False, default=0)
    _memories: list[_Memory] = field(init=False, default_factory=list["_Memory"])
    _process: BaseProcess | None = field(init=False, default=None)
    _pipe: Connection | None = field(init=False, default=None)

    def __enter__(self) -> MeasureWorker:
        try:
            for array in self.arrays:
                self._memories.append(_unnamed(max(1, array.nbytes)))
                view: NDArray[Any] = np.ndarray(array.shape, array.dtype, buffer=self._memories[-1].bytes)
                view[...] = array
                self.shared.append(view)
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._kill()
        finally:
            self._release()

    def _release(self) -> None:
        """The memory goes with the last view of it."""
        self.shared.clear()
        for memory in self._memories:
            os.close(memory.descriptor)
        self._memories.clear()

    def start(self) -> None:
        """Starts the child, if there is none. UserError (MEASURING) where it does not start."""
        if self._process is None or not self._process.is_alive():
            self._start()

    def run(self, kernel: CompiledNest, parameters: Mapping[str, float] | None = None, *, threads: int = 1) -> float | Crashed:
        """Once; elapsed seconds. Outputs are then in `shared`."""
        answer = self._ask(_Run(kernel, dict(parameters or {}), threads), self.timeout_s)
        return answer if isinstance(answer, float | Crashed) else Crashed(f"expected seconds, got {answer!r}")

    def time(
        self,
        kernel: CompiledNest,
        parameters: Mapping[str, float] | None = None,
        *,
        threads: int = 1,
        effort: Effort = DEFAULT_EFFORT,
        best_ms: float | None = None,
    ) -> Timing | Crashed:
        """Like `time_call`, in the child."""
        answer = self._times((kernel,), parameters, threads, effort, best_ms, 0)
        return answer if isinstance(answer, Crashed) else answer[0]

    def retime(
        self,
        kernels: Sequence[CompiledNest],
        parameters: Mapping[str, float] | None = None,
        *,
        threads: int = 1,
        rounds: int = 11,
    ) -> tuple[Timing, ...] | Crashed:
        """Like `retime`, in the child."""
        return self._times(tuple(kernels), parameters, threads, DEFAULT_EFFORT, None, rounds)

    def retime_programs(
        self,
        programs: Sequence[Sequence[Step]],
        parameters: Mapping[str, float] | None = None,
        *,
        threads: int = 1,
        rounds: int = 11,
    ) -> tuple[Timing, ...] | Crashed:
        """Like `retime`, for kernels that run one after the other."""
        request = _TimeTogether(tuple(tuple(p) for p in programs), dict(parameters or {}), threads, rounds)
        answer = self._ask(request, self.timeout_s)
        return answer if isinstance(answer, tuple | Crashed) else Crashed(f"expected times, got {answer!r}")

    def _times(
        self,
        kernels: tuple[CompiledNest, ...],
        parameters: Mapping[str, float] | None,
        threads: int,
        effort: Effort,
        best_ms: float | None,
        rounds: int,
    ) -> tuple[Timing, ...] | Crashed:
        request = _Time(kernels, dict(parameters or {}), threads, effort, best_ms, rounds)
        answer = self._ask(request, self.timeout_s)
        return answer if isinstance(answer, tuple | Crashed) else Crashed(f"expected times, got {answer!r}")

    def _ask(self, request: _Request, timeout_s: float) -> float | tuple[Timing, ...] | Crashed:
        self.start()
        assert self._pipe is not None and self._process is not None
        try:
            self._pipe.send(request)
            waited_s = 0.0
            while not self._pipe.poll(min(timeout_s, 1.0)):
                waited_s += 1.0
                if waited_s >= timeout_s or not self._process.is_alive():
                    break
            if not self._pipe.poll():
                if not self._process.is_alive():
                    raise EOFError
                self._kill()
                return Crashed(f"no answer within {timeout_s:g} s")
            return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            code = self._process.exitcode
            self._kill()
            return Crashed(f"signal {-code}" if code is not None and code < 0 else f"exit status {code}")

    def _start(self) -> None:
        self._kill()
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        arrays = [_Array(v.shape, v.dtype.str, len(m.bytes)) for v, m in zip(self.shared, self._memories, strict=True)]
        self._process = context.Process(target=_serve, args=(there, arrays), daemon=True)
        with starting_workers():
            self._process.start()
        there.close()
        self._pipe = here
        self.starts += 1
        with suppress(OSError, RuntimeError):  # a child that has died: the question is answered so
            for memory in self._memories:
                send_handle(here, memory.descriptor, self._process.pid)
        answer = self._ask(_Attach(), _START_S)
        if isinstance(answer, Crashed):
            message = f"expected a process that measures kernels, got one that did not start: {answer.reason}"
            fix = 'Put what a script does under `if __name__ == "__main__":`, since that process imports it, too.'
            raise UserError(Diagnostic("MEASURING", message, fix=fix))

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None


def _unnamed(size_bytes: int) -> _Memory:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("warploom")
    else:
        with TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    try:
        os.ftruncate(descriptor, size_bytes)
        return _Memory(descriptor, mmap.mmap(descriptor, size_bytes))
    except BaseException:
        os.close(descriptor)
        raise


def _received(pipe: Connection, array: _Array) -> NDArray[Any]:
    descriptor = recv_handle(pipe)
    try:
        return np.ndarray(array.shape, array.dtype, buffer=mmap.mmap(descriptor, array.size_bytes))
    finally:
        os.close(descriptor)


def _serve(pipe: Connection, shared: Sequence[_Array]) -> None:
    """The arrays of the kernels are the child's own: shared memory comes in small pages, which makes large strides slower. They
    begin with cache lines, or stores around the caches would be measured as if they were others."""
    views = [_received(pipe, array) for array in shared]
    arrays = [aligned_copy(view) for view in views]
    while True:
        try:
            request: _Request = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            match request:
                case _Attach():
                    pipe.send(0.0)
                case _Run():
                    for array, view in zip(arrays, views, strict=True):
                        array[...] = view
                    elapsed = request.kernel.run(arrays, request.parameters, request.threads)
                    for buffer, array, view in zip(request.kernel.buffers, arrays, views, strict=True):
                        if buffer.role is Role.OUTPUT:
                            view[...] = array
                    pipe.send(elapsed)
                case _Time():
                    pipe.send(_times([k.call(arrays, request.parameters) for k in request.kernels], request))
                case _TimeTogether():
                    together = [Together.of(program, arrays, request.parameters) for program in request.programs]
                    pipe.send(retime(together, request.threads, rounds=request.rounds))
        except WarploomError as error:
            pipe.send(Crashed(str(error)))
        except OSError as error:
            pipe.send(Crashed(f"{type(error).__name__}: {error}"))


@dataclass(frozen=True, slots=True)
class Together:
    """Kernels that run one after the other, as one `Runnable`: each time after a run that does not count, so that the caches hold
    what this program leaves there, not another one."""

    calls: tuple[Call, ...]

    @classmethod
    def of(cls, program: Sequence[Step], arrays: Sequence[NDArray[Any]], parameters: Mapping[str, float]) -> Together:
        return cls(tuple(kernel.call([arrays[n] for n in which], parameters) for kernel, which in program))

    def run_timed(self, threads: int = 1, repeats: int = 1, samples: int = 1) -> tuple[tuple[float, float], ...]:
        found: list[tuple[float, float]] = []
        for call in self.calls:
            call.run_timed(threads)
        for _ in range(samples):
            times = [call.run_timed(threads)[0] for _ in range(repeats) for call in self.calls]
            found.append((sum(wall for wall, _ in times), sum(busy for _, busy in times)))
        return tuple(found)


def _times(calls: Sequence[Call], request: _Time) -> tuple[Timing, ...]:
    if request.rounds:
        return retime(calls, request.threads, rounds=request.rounds, effort=request.effort)
    return tuple(time_call(call, request.threads, request.effort, request.best_ms) for call in calls)
