"""Functions with a running result: called by `wl.jit` as tensor functions are, and handed to `scan`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warploom import scan
from warploom.api.lifting import Lifted
from warploom.api.result import Progress, worked
from warploom.schedule.backbone import Program
from warploom.schedule.calls import Calls, GpuCalls, Runner, Signature, spread_nest
from warploom.schedule.cpu import c_source, core_count
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.recurrences import (
    Recurrence,
    RunningHolder,
    SerialLoops,
    program_of,
    scan_runner,
    serial_loop,
    serial_nest,
)
from warploom.tools.command.outcome import Outcome, nothing_said
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.running import lifted_running, loop_module
from warploom.tools.kernels.on_gpu import target_of


class RunningFunction(RunningHolder):
    """A function with a running result that is called with arrays, as a `JitFunction` is.

    A call runs the serial loop, compiled, rows on several threads; on a GPU one thread for each row. After `tune` it runs the
    scan that `lift` has proved, on several threads, for the sizes for which that was faster.
    """

    def __init__(self, recurrence: Recurrence, threads: int | None = None) -> None:
        self.recurrence = recurrence
        """Its states, and how they step."""
        self.threads = threads if threads is not None else core_count()
        self.name = self.__name__ = self.__qualname__ = recurrence.name
        signature = Signature(
            recurrence.name, recurrence.arrays, recurrence.scalars, recurrence.parameters, recurrence.sizes
        )  # fmt: skip
        self._serial = SerialLoops(recurrence, self.threads)
        self._gpu = GpuCalls(signature, self._on_gpu, rest=self._on_gpu)
        self._calls = Calls(signature, self._serial.runner, self._gpu, rest=self._serial.runner)

    @property
    def text(self) -> str:
        """How it is called: `running(X, [Y])`."""
        return self._calls.signature.text

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output, or a tuple of several; as calls of a `JitFunction`."""
        return self._calls(arrays, named)

    @property
    def loop(self) -> str:
        """Python text of the serial loop over one row, which `lift` lifts. UnsupportedError (RUNNING) where it has no word for
        it."""
        return serial_loop(self.recurrence).text

    def lift(self, *, budget_s: float | None = None, progress: Progress | None = None) -> RunningScan:
        """The associative operator that computes the loop, with its proof: the answer of `wl.lift` for `loop`."""
        found: list[tuple[scan.Module, scan.Lifting | None]] = []

        def work(watch: Stopwatch) -> Outcome:
            outcome, module, lifting = lifted_running(self.name, self.recurrence, watch, progress or nothing_said)
            found.append((module, lifting))
            return outcome

        outcome = worked(self.name, work, budget_s)
        module, lifting = found[0] if found else (loop_module(self.recurrence), None)
        return RunningScan(line=outcome.line, module=module, lifting=lifting, function=self)

    def tune(self, *arrays: Any, budget_s: float | None = None, progress: Progress | None = None, **named: Any) -> RunningScan:
        """Lifts the loop, and times the scan on these arrays against the serial loop; the following calls of these sizes run what
        was faster. Outputs among the arrays are written. UserErrors as calls."""
        found = self.lift(budget_s=budget_s, progress=progress)
        operator = None if found.lifting is None or found.verdict != "proved" else found.lifting.operator
        binding = self._calls.signature.bind(arrays, named)
        if operator is None or binding.is_empty:
            return found
        serial = self._serial.runner(binding.sizes)
        made = scan_runner(self.recurrence, binding.sizes, serial_loop(self.recurrence), operator, serial, self.threads)
        if made is not None and _time_s(made, binding.arrays, binding.scalars) < _time_s(serial, binding.arrays, binding.scalars):
            self._calls.use(binding.sizes, made)
        else:
            self._calls.use(binding.sizes, serial)
        return found

    def kind(self, *arrays: Any, **named: Any) -> str:
        """Kind of kernel that a call with these arrays runs: the `plain` loop, the `scan`, or it is `evaluated`."""
        if self._gpu.takes(arrays, named):
            return "plain"
        return self._calls.runner(self._calls.signature.bind(arrays, named).sizes).kind

    def code(self, sizes: Mapping[str, int]) -> str:
        """C of the serial loop at these sizes."""
        return c_source(serial_nest(self.recurrence, sizes)).text

    def _on_gpu(self, sizes: Mapping[str, int], arch: str) -> tuple[Program, Sequence[CudaKernel]]:
        """A kernel in which each thread runs the loop of one row."""
        nest = spread_nest(serial_nest(self.recurrence, sizes))
        return program_of(self.recurrence, sizes), [cuda_kernel(nest, Options(arch=target_of(arch)))]

    def __reduce__(self) -> tuple[type[RunningFunction], tuple[object, ...]]:
        return RunningFunction, (self.recurrence, self.threads)

    def __repr__(self) -> str:
        return f"<jit {self.text}: a running result>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunningScan(Lifted):
    """The operator of a running result, and the function that is called with arrays."""

    function: RunningFunction
    """The function that a call runs."""

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output, or a tuple of several; as calls of its `function`."""
        return self.function(*arrays, **named)


def _time_s(runner: Runner, arrays: Sequence[Any], scalars: Sequence[float]) -> float:
    """The least of three runs, after one that is not counted."""
    runner.run(arrays, scalars)
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        runner.run(arrays, scalars)
        times.append(time.perf_counter() - start)
    return min(times)
