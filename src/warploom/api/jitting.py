"""`wl.jit`: tensor functions that are called with arrays."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, overload

from warploom.api.exploring import Explored
from warploom.api.result import Progress, worked
from warploom.core import Diagnostic, UserError
from warploom.schedule.calls import Calls, Runner, Signature, plain_runner
from warploom.schedule.cpu import core_count
from warploom.schedule.frontend import TensorFunction, TensorHolder, tensor_within
from warploom.tools.command.duration import seconds_of
from warploom.tools.command.outcome import Outcome, nothing_said
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.options import KernelOptions, machine_of
from warploom.tools.explore.result import ExploredOutcome
from warploom.tools.kernels.tuning import known_runner, plain_program, search

TUNE = "WARPLOOM_TUNE"
"""Environment variable: the time of a search at the first call of each size that nothing was kept for, such as `30s`."""


class JitFunction(TensorHolder):
    """A tensor function that is called with arrays: NumPy's, or tensors in the memory of the CPU that DLPack hands over.

    A call computes at once: by a kernel that `tune` found for these sizes, else by plain compiled loops, else by evaluating the
    mathematics. Outputs are written where they are given, and returned.
    """

    def __init__(self, function: TensorFunction, threads: int | None = None, kernels: Path | None = None) -> None:
        self.tensor = function
        """The function as `@wl.tensor` gives it: to explore, to evaluate."""
        self.threads = threads if threads is not None else core_count()
        self.kernels = kernels
        """Folder of kernels that were exported."""
        self.__name__ = self.__qualname__ = function.name
        self._calls = Calls(Signature.of(function), self._made)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.tensor.name

    @property
    def text(self) -> str:
        """How it is called: `product(A, B, [C])`."""
        return self._calls.signature.text

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output, or a tuple of several. UserError: CALL_ARGUMENTS, CALL_ARRAY, CALL_DTYPE, CALL_SHAPE, CALL_MEMORY."""
        return self._calls(arrays, named)

    def tune(
        self,
        *arrays: Any,
        sizes: Mapping[str, int] | None = None,
        budget_s: float | None = None,
        nodes: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        **named: Any,
    ) -> Explored:
        """Searches the fastest kernel for the sizes of these arrays (which are not computed with), or for `sizes`; the following
        calls of these sizes run it, in later programs too.

        A kernel is used if its results were compared with the function and it is faster than the plain loop. The line has `kept`,
        and `not_kept` with the reason where it was not written. budget_s: wall seconds, 60 if not said.
        """
        if (sizes is None) == (not arrays and not named):
            message = f"expected either arrays as in a call of {self.text}, or sizes, got {'both' if sizes else 'none'}"
            raise UserError(Diagnostic("OPTION", message, fix=f"Write {self.name}.tune(sizes={{...}}) or pass arrays."))
        if sizes is not None and not isinstance(sizes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - without a checker
            raise UserError(Diagnostic("OPTION", f"expected sizes by name, got {sizes!r}", fix='Write sizes={"n": 1024}.'))
        for name, number in {"budget_s": budget_s, "nodes": nodes}.items():
            if number is not None and not number > 0:
                raise UserError(Diagnostic("OPTION", f"expected a number above 0 as {name}, got {number!r}"))
        asked = self._calls.signature.bind(arrays, named).sizes if sizes is None else sizes
        plain_program(self.tensor, asked)  # refuses wrong sizes before anything is measured
        return self._tuned(asked, budget_s, nodes, seed, progress or nothing_said)

    def kind(self, *arrays: Any, **named: Any) -> str:
        """Kind of kernel that a call with these arrays runs: `found` by a search, `plain` loops, or `evaluated`."""
        return self._calls.runner(self._calls.signature.bind(arrays, named).sizes).kind

    def _tuned(self, sizes: Mapping[str, int], budget_s: float | None, nodes: int | None, seed: int, tell: Progress) -> Explored:
        on, threads = machine_of("cpu", self.threads)
        options = KernelOptions(target=on, sizes=dict(sizes), threads=threads, budget_s=budget_s, nodes=nodes, seed=seed)
        runners: list[Runner | None] = []

        def work(watch: Stopwatch) -> Outcome:
            tuned = search(self.tensor, options, watch, tell)
            runners.append(tuned.runner)
            return tuned.outcome

        outcome = worked(self.name, work, None)
        for runner in runners:
            if runner is not None:
                self._calls.use(sizes, runner)
        found = outcome.explored if isinstance(outcome, ExploredOutcome) else None
        return Explored(line=outcome.line, options=options, implementations=found, report=None, function=self.tensor)

    def _made(self, sizes: Mapping[str, int]) -> Runner:
        program = plain_program(self.tensor, sizes)
        known = known_runner(self.tensor, program, self.threads, self.kernels)
        if known is not None:
            return known
        # A process that this one started to measure kernels runs its program's file again: no search in a search.
        if (asked := os.environ.get(TUNE)) and multiprocessing.parent_process() is None:
            budget_s = seconds_of(asked)
            if not budget_s:
                raise UserError(Diagnostic("OPTION", f"expected a time such as 30s in {TUNE}, got {asked!r}"))
            self._tuned(sizes, budget_s, None, 0, nothing_said)
            if (found := self._calls.known(sizes)) is not None:
                return found
        return plain_runner(self.tensor, sizes, self.threads)

    def __repr__(self) -> str:
        return f"<jit {self.text}>"


@overload
def jit(function: Callable[..., Any], /) -> JitFunction: ...
@overload
def jit(*, threads: int | None = None, kernels: str | Path | None = None) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    function: Callable[..., Any] | None = None, /, *, threads: int | None = None, kernels: str | Path | None = None
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Reads the decorated function as a tensor function that can be called with arrays: `@wl.jit`, or `@wl.jit(threads=2)`.

    threads: of its kernels, one per core if not said. kernels: a folder that `warploom kernels export` wrote, for a package that
    ships its kernels; name only folders whose code you would run. Raises UserError with every problem of the source.
    """
    around = dict(sys._getframe(1).f_locals)  # pyright: ignore[reportPrivateUsage]
    if threads is not None and (type(threads) is not int or threads < 1):
        raise UserError(Diagnostic("OPTION", f"expected a whole number of 1 or more as threads, got {threads!r}"))

    folder = None if kernels is None else Path(kernels)

    def made(wanted: Callable[..., Any]) -> JitFunction:
        if isinstance(wanted, TensorFunction):
            return JitFunction(wanted, threads, folder)
        if not callable(wanted):
            message = f"expected a function, got {wanted!r}"
            raise UserError(Diagnostic("NOT_A_FUNCTION", message, fix="Write @wl.jit above a `def`."))
        read = tensor_within(wanted, around)
        # A faulty function of a file that is loaded: it is told when that function is asked for.
        return JitFunction(read, threads, folder) if isinstance(read, TensorFunction) else read  # pyright: ignore

    return made if function is None else made(function)
