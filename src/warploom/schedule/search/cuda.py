"""Kernels measured on a CUDA device: compiled by workers while one process of its own launches and times them in turn."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import WarploomError
from warploom.gpu import Compiled
from warploom.schedule.backbone import Backbone
from warploom.schedule.cpu import spread_of
from warploom.schedule.cuda import CudaKernel, Options, compile_kernel, cuda_kernel, run, time
from warploom.schedule.nest import Nest
from warploom.schedule.search.arrays import Arrays, difference, random_arrays, scalar_values, with_outputs
from warploom.schedule.search.evaluate import CAREFUL_ROUNDS, Measurement, Timed, Unfit, device_turn
from warploom.solve import Failed, Finished, ProcessExecutor, Task, process_executor, run_tasks

_QUICK, _CAREFUL = 10, 60
"""Launches that are timed."""
_TIMEOUT_S = 60.0
_START_S = 600.0


@dataclass(frozen=True, slots=True)
class Built:
    kernel: CudaKernel
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class _Launches:
    """One request to the measuring process."""

    kernels: tuple[Built, ...]
    data: Path
    scalars: Mapping[str, float]
    tolerance: float
    repeats: int
    check: bool
    device: int


def build(nest: Nest, options: Options) -> Built:
    kernel = cuda_kernel(nest, options)
    return Built(kernel, compile_kernel(kernel))


class CudaEvaluator:
    """A launch that fails or hangs ends the measuring process, and the next one begins with a new context."""

    def __init__(
        self,
        backbone: Backbone,
        options: Options,
        *,
        device: int = 0,
        executor: Executor | None = None,
        reference: Arrays | None = None,
        tolerance: float = 1e-3,
        arrays: Arrays | None = None,
        scalars: Mapping[str, float] | None = None,
    ) -> None:
        """`reference` and `tolerance` as of `CpuEvaluator`."""
        self._options = options
        self._device = device
        self._executor = executor
        self._reference = dict(reference or {})
        self._tolerance = tolerance
        self._arrays = with_outputs(backbone, random_arrays(backbone) if arrays is None else arrays)
        self._scalars = dict(scalars) if scalars is not None else scalar_values(backbone)
        self._data = Path()
        self._launcher: ProcessExecutor | None = None

    @property
    def name(self) -> str:
        return f"cuda-{self._device}-{self._options}"

    @contextmanager
    def open(self) -> Generator[None]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warploom-")))
            self._data = folder / "arrays.npz"
            named = {f"a:{n}": a for n, a in self._arrays.items()} | {f"r:{n}": a for n, a in self._reference.items()}
            with self._data.open("wb") as file:
                np.savez(file, allow_pickle=False, **named)
            owned = self._executor is None
            self._executor = self._executor or stack.enter_context(process_executor())
            try:
                yield
            finally:
                self._end_launcher()
                self._executor = None if owned else self._executor

    def effort_s(self, nest: Nest, most_s: float) -> float:
        del nest, most_s
        return 0.0

    def measure(self, nests: Sequence[Nest], best_ms: float | None) -> Iterator[tuple[int, Measurement]]:
        for position, built in self._built(nests):
            if isinstance(built, Unfit):
                yield position, built
                continue
            measurement = self._launch((built,), _QUICK, check=False)[0]
            if isinstance(measurement, Timed) and (best_ms is None or measurement.time_ms < best_ms):
                measurement = self._launch((built,), _QUICK, check=True)[0]
                if isinstance(measurement, Timed):
                    best_ms = measurement.time_ms if best_ms is None else min(best_ms, measurement.time_ms)
            yield position, measurement

    def retime(self, nests: Sequence[Nest], rounds: int = CAREFUL_ROUNDS) -> Sequence[Measurement]:
        found: dict[int, Measurement] = {}
        built: dict[int, Built] = {}
        for position, one in self._built(nests):
            checked = one if isinstance(one, Unfit) else self._launch((one,), _QUICK, check=True)[0]
            if isinstance(one, Unfit) or isinstance(checked, Unfit):
                found[position] = checked if isinstance(checked, Unfit) else Unfit("not built")
            else:
                built[position] = one
        if built:
            measured = self._launch(tuple(built.values()), _CAREFUL, check=False)
            found |= dict(zip(built, measured, strict=True))
        return [found[n] for n in range(len(nests))]

    def _built(self, nests: Sequence[Nest]) -> Iterator[tuple[int, Built | Unfit]]:
        tasks = [Task(str(n), nest) for n, nest in enumerate(nests)]
        for result in run_tasks(tasks, partial(build, options=self._options), executor=self._executor):
            match result:
                case Finished(task=task, value=value):
                    yield int(task.key), value
                case Failed(task=task, reason=reason):
                    yield int(task.key), Unfit(reason)

    def _launch(self, kernels: tuple[Built, ...], repeats: int, *, check: bool) -> list[Measurement]:
        if self._launcher is None:
            self._launcher = process_executor(1)
            # A process that starts slowly, on a machine with much to do, is no fault of the kernel.
            self._launcher.submit(_started).result(_START_S)
        request = _Launches(
            kernels, self._data, self._scalars, self._tolerance, repeats, check and bool(self._reference), self._device
        )
        with device_turn(f"cuda-{self._device}"):
            try:
                return self._launcher.submit(launch_and_time, request).result(_TIMEOUT_S)
            except TimeoutError:
                reason = f"no answer within {_TIMEOUT_S:g} s"
            except (BrokenExecutor, WarploomError, RuntimeError) as error:
                reason = str(error)
        self._end_launcher()
        return [Unfit(reason)] * len(kernels)

    def _end_launcher(self) -> None:
        if self._launcher is not None:
            self._launcher.terminate()
            self._launcher = None


def _started() -> None:
    """Called in the measuring process, once it has imported what it needs."""


def launch_and_time(request: _Launches) -> list[Measurement]:
    """Runs in the measuring process. Several kernels take turns, each round in the reverse order of the one before."""
    arrays, reference = _load(request.data)
    if request.check:
        for built in request.kernels:
            results = {name: array.copy() for name, array in arrays.items()}
            run(built.kernel, built.compiled, results, request.scalars, device=request.device)
            if wrong := difference(results, reference, request.tolerance):
                return [Unfit(wrong)] * len(request.kernels)
    rounds = 1 if len(request.kernels) == 1 else 3
    medians: list[list[float]] = [[] for _ in request.kernels]
    leasts = [float("inf")] * len(request.kernels)
    for n in range(rounds):
        for k in range(len(request.kernels))[:: 1 if n % 2 == 0 else -1]:
            built = request.kernels[k]
            timing = time(built.kernel, built.compiled, arrays, request.scalars, repeats=request.repeats, device=request.device)
            medians[k].append(timing.median_ms)
            leasts[k] = min(leasts[k], timing.best_ms)
    runs = rounds * request.repeats
    return [
        Timed(float(np.median(m)), runs=runs, spread=spread_of(m), least_ms=least)
        for m, least in zip(medians, leasts, strict=True)
    ]


@cache
def _load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    with np.load(path) as file:
        named: dict[str, NDArray[Any]] = {name: file[name] for name in file.files}
    return (
        {n.removeprefix("a:"): a for n, a in named.items() if n.startswith("a:")},
        {n.removeprefix("r:"): a for n, a in named.items() if n.startswith("r:")},
    )
