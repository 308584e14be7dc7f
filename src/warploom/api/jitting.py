"""`wl.jit`: tensor functions that are called with arrays."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

from warploom.api.exploring import Explored, check_numbers
from warploom.api.result import Progress, worked
from warploom.api.running import RunningFunction
from warploom.core import Diagnostic, UserError
from warploom.schedule.backbone import Program
from warploom.schedule.calls import (
    Calls,
    Class,
    EvaluatedRunner,
    GpuCalls,
    GpuClass,
    GpuKernels,
    Runner,
    ShapeClass,
    Signature,
    narrowest,
    plain_class,
    rest_runner,
)
from warploom.schedule.cpu import core_count
from warploom.schedule.cuda import CudaKernel
from warploom.schedule.frontend import TensorFunction, TensorHolder, tensor_within
from warploom.schedule.recurrences import is_recurrence, read_recurrence
from warploom.tools.command.duration import seconds_of
from warploom.tools.command.outcome import Outcome, nothing_said
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.options import KernelOptions, machine_of
from warploom.tools.explore.result import ExploredOutcome
from warploom.tools.explore.run_time import AskedSizes, asked_sizes, searched_at
from warploom.tools.kernels import background
from warploom.tools.kernels.background import Answer, Request
from warploom.tools.kernels.on_gpu import known_gpu_class, known_kernels, rest_kernels, spread_class, target_of
from warploom.tools.kernels.tuning import known_class, known_runner, plain_program, search

TUNE = "WARPLOOM_TUNE"
"""Environment variable: the time of a search at the first call of each size that nothing was kept for, such as `30s`."""
BACKGROUND = "WARPLOOM_BACKGROUND"
"""Environment variable: `1` searches beside the program for each size that nothing was kept for, a time such as `30s` so long for
each; `0` never."""
SearchMode: TypeAlias = Literal["background", "off"]
_BACKGROUND_S = 60.0
_PLAIN = 63
"""Further classes of plain loops that are remembered."""


class SearchWarning(UserWarning):
    """A search in the background failed; calls go on as before."""


class JitFunction(TensorHolder):
    """A tensor function that is called with arrays: NumPy's, or tensors in the memory of the CPU or of a GPU.

    A call computes at once: by a kernel that a search found for these sizes, else by plain compiled loops, else by evaluating the
    mathematics. On a GPU plain loops are spread over threads, one for each result. Outputs are written where they are given, and
    returned.
    """

    def __init__(
        self,
        function: TensorFunction,
        threads: int | None = None,
        kernels: Path | None = None,
        search: SearchMode | None = None,
    ) -> None:
        self.tensor = function
        """The function as `@wl.tensor` gives it: to explore, to evaluate."""
        self.threads = threads if threads is not None else core_count()
        self.kernels = kernels
        """Folder of kernels that were exported."""
        self.__name__ = self.__qualname__ = function.name
        signature = Signature.of(function)
        self._gpu = GpuCalls(signature, self._on_gpu, rest=lambda sizes, arch: rest_kernels(function, sizes, target_of(arch)))
        self._calls = Calls(signature, self._made, self._gpu, rest=lambda sizes: rest_runner(function, sizes, self.threads))
        self._found: list[ShapeClass] = []
        """Classes of shapes that this program searched or found in a store, the newest first."""
        self._plain: list[ShapeClass] = []
        self._search: SearchMode | None = search
        self._gpu_found: dict[tuple[object, ...], GpuKernels] = {}
        """Kernels of GPUs that this program searched or found in a store, by target and sizes."""
        self._gpu_classes: dict[str, list[GpuClass]] = {}
        """Classes of shapes that this program searched or found in a store, by target, the newest first."""
        self._gpu_plain: dict[str, list[GpuClass]] = {}
        self._asked: dict[tuple[object, ...], threading.Event] = {}
        """Targets and sizes that were searched for in the background, or will be; set: its answer is there."""
        self._arrived: deque[tuple[Callable[[], object] | None, str]] = deque()
        """Answers of searches in the background since the last call: how they are used, or why there is none."""
        self._is_failed = False
        """A search in the background failed, which was told: there will be no others."""

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.tensor.name

    @property
    def text(self) -> str:
        """How it is called: `product(A, B, [C])`."""
        return self._calls.signature.text

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output, or a tuple of several.

        Beside tensors of a GPU `stream=` says on which stream; `device=` copies NumPy's arrays to that GPU and back. UserError:
        CALL_ARGUMENTS, CALL_ARRAY, CALL_DTYPE, CALL_SHAPE, CALL_MEMORY, CALL_INDEX, and beside tensors of a GPU CALL_DEVICE,
        CALL_STREAM, NO_DEVICE, CUDA_DRIVER, LAUNCH_FAILED.
        """
        if self._arrived:
            self._take()
        if "torch._dynamo" in sys.modules:
            return self._untraced(arrays, named)
        return self._calls(arrays, named)

    # torch.compile does not trace into the call, which it could not follow: it calls it between two of its graphs.
    __call__._torchdynamo_disable = True  # pyright: ignore[reportFunctionMemberAccess]
    __call__._torchdynamo_disable_msg = (  # pyright: ignore[reportFunctionMemberAccess]
        "it runs a compiled kernel; for one whole graph, wrap it in an operator: warploom explore --code DIR/ writes one"
    )

    @cached_property
    def _untraced(self) -> Callable[[tuple[Any, ...], Mapping[str, Any]], Any]:
        """The calls, into whose functions torch.compile does not look either."""
        return sys.modules["torch"].compiler.disable(self._calls.__call__, reason="it runs a compiled kernel")

    def tune(
        self,
        *arrays: Any,
        sizes: Mapping[str, int | str] | None = None,
        target: str | None = None,
        budget_s: float | None = None,
        nodes: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        **named: Any,
    ) -> Explored:
        """Searches the fastest kernel for the sizes of these arrays (which are not computed with), or for `sizes`; the following
        calls of these sizes run it, in later programs too.

        A size may be a class, as for `wl.explore`: `"?"` any value, `"?:64"` multiples of 64, `"?:64@4096"` searched for 4096.
        The kernel takes it as an argument, and serves all calls whose sizes are in the class, but those for whose own sizes a
        kernel is known. Beside arrays, `sizes` names classes only; they are searched for the size of the arrays.

        A kernel is used if its results were compared with the function and it is faster than the plain loop. The line has `kept`,
        and `not_kept` with the reason where it was not written; `note` says why plain loops are kept: what was measured against
        what. budget_s: wall seconds of search, check and proof, 60 if not said. target: `cpu`, or a GPU's such as `sm_90`, which
        need not be here; if not said, that of the arrays.
        """
        if sizes is not None and not isinstance(sizes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - without a checker
            raise UserError(Diagnostic("OPTION", f"expected sizes by name, got {sizes!r}", fix='Write sizes={"n": 1024}.'))
        other = next((name for name in named if name not in (*self._calls.signature.all, "out", "device", "stream")), None)
        if other is not None:
            message = f"expected a parameter of {self.text} or an option of tune, got {other!r}"
            raise UserError(
                Diagnostic("OPTION", message, fix="Options are sizes, target, budget_s (seconds), nodes, seed, progress.")
            )
        has_arrays = bool(arrays or named)
        if has_arrays and any(not str(size).startswith("?") for size in (sizes or {}).values()):
            message = f"expected either arrays as in a call of {self.text}, or sizes, got both"
            raise UserError(Diagnostic("OPTION", message, fix='Beside arrays, name classes of sizes only: sizes={"m": "?"}.'))
        if not has_arrays and sizes is None:
            message = f"expected either arrays as in a call of {self.text}, or sizes, got none"
            raise UserError(Diagnostic("OPTION", message, fix=f"Write {self.name}.tune(sizes={{...}}) or pass arrays."))
        check_numbers({"budget_s": budget_s, "nodes": nodes})
        asked = asked_sizes((str(name), str(size)) for name, size in (sizes or {}).items())
        if has_arrays:
            known, on = self._asked_for(arrays, named)
            target, asked = target or on, AskedSizes({**known, **asked.values}, asked.run_time)
        on, _ = machine_of(target or "cpu", self.threads)
        whole = searched_at(asked.values, asked.run_time)
        program = plain_program(self.tensor, whole)  # refuses wrong sizes before anything is measured
        self.tensor.at_run_time(program, asked.run_time, has_strides=on.kind == "cuda")
        return self._tuned(whole, asked.run_time, budget_s, nodes, seed, progress or nothing_said, on.name)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until no search in the background is left that calls so far have asked for; whether that is so."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        return all(event.wait(None if end is None else max(0.0, end - time.monotonic())) for event in list(self._asked.values()))

    def kind(self, *arrays: Any, **named: Any) -> str:
        """Kind of kernel that a call with these arrays runs: `found` by a search, `plain` loops, or `evaluated`."""
        self._take()
        sizes, on = self._asked_for(arrays, named)
        return self._calls.runner(sizes).kind if on == "cpu" else self._made_for_gpu(sizes, on).kind

    def _take(self) -> None:
        """Uses from now on what searches in the background have found; tells the first failure."""
        while self._arrived:
            try:
                use, error = self._arrived.popleft()
            except IndexError:  # another thread took it
                return
            if use is not None:
                use()
            if error and not self._is_failed:
                self._is_failed = True
                told = f"the search for a faster {self.name} in the background failed, there will be no others: {error}"
                warnings.warn(told, SearchWarning, stacklevel=3)

    def _search_beside(self, sizes: Mapping[str, int], budget_s: float, on: str = "cpu") -> None:
        key = self._key(sizes, on)
        done = threading.Event()
        if self._is_failed or self._asked.setdefault(key, done) is not done:
            return

        def tell(answer: Answer) -> None:
            use, error = None, answer.error
            try:
                if answer.kept:
                    use = self._use_of(sizes, on)
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
            if use is not None or error:
                self._arrived.append((use, error))
            done.set()

        if not background.searches.ask(Request(self.tensor, dict(sizes), self.threads, budget_s, target=on), tell):
            del self._asked[key]

    def _use_of(self, sizes: Mapping[str, int], on: str) -> Callable[[], object] | None:
        """How a call begins to use what the store has now, beside calls that run."""
        if on != "cpu":
            kernels = known_kernels(self.tensor, sizes, on, self.kernels)
            return None if kernels is None else lambda: self._use_on_gpu(sizes, on, kernels)
        runner = known_runner(self.tensor, sizes, self.threads, self.kernels)
        return None if runner is None else lambda: self._calls.is_chosen(sizes) or self._calls.use(sizes, runner)

    def _key(self, sizes: Mapping[str, int], on: str) -> tuple[object, ...]:
        return (on, *(sizes[name] for name in self._calls.signature.sizes))

    def _asked_for(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Mapping[str, int], str]:
        """Sizes and target of a call with these arguments."""
        if self._gpu.takes(arrays, named):
            sizes, arch = self._gpu.place_of(arrays, named)
            return sizes, target_of(arch)
        return self._calls.signature.bind(arrays, named).sizes, "cpu"

    def _background_s(self) -> float | None:
        """Seconds for each search in the background; None where nothing is searched there. UserError (OPTION)."""
        asked = os.environ.get(BACKGROUND, "")
        # A process that this one started to measure kernels runs its program's file again: no search in a search.
        if self._search == "off" or (self._search is None and asked in ("", "0")) or multiprocessing.parent_process() is not None:
            return None
        budget_s = _BACKGROUND_S if asked in ("", "0", "1") else seconds_of(asked)
        if not budget_s:
            raise UserError(Diagnostic("OPTION", f"expected 0, 1 or a time such as 30s in {BACKGROUND}, got {asked!r}"))
        return budget_s

    def _tuned(
        self, sizes: Mapping[str, int], run_time: Mapping[str, int], budget_s: float | None, nodes: int | None, seed: int,
        tell: Progress, target: str = "cpu",
    ) -> Explored:  # fmt: skip
        on, threads = machine_of(target, self.threads)
        options = KernelOptions(
            target=on, sizes=dict(sizes), run_time=dict(run_time), threads=threads, budget_s=budget_s, nodes=nodes, seed=seed
        )
        results: list[Runner | ShapeClass | GpuKernels | GpuClass | None] = []

        def work(watch: Stopwatch) -> Outcome:
            tuned = search(self.tensor, options, watch, tell)
            results.append(tuned.made)
            return tuned.outcome

        outcome = worked(self.name, work, None)
        for made in results:
            if isinstance(made, ShapeClass):
                self._found = _with_class(self._found, made)
                self._calls.ask_again()
            elif isinstance(made, GpuClass):
                self._gpu_classes[on.name] = _with_class(self._gpu_classes.get(on.name, []), made)
                self._gpu.ask_again()
            elif isinstance(made, GpuKernels):
                self._use_on_gpu(sizes, on.name, made)
            elif made is not None:
                self._calls.use(sizes, made)
        found = outcome.explored if isinstance(outcome, ExploredOutcome) else None
        return Explored(line=outcome.line, options=options, implementations=found, report=None, function=self.tensor)

    def _made(self, sizes: Mapping[str, int]) -> Runner:
        known = known_runner(self.tensor, sizes, self.threads, self.kernels)
        if known is not None:
            return known
        found = narrowest(self._found, sizes)
        if found is None and (found := known_class(self.tensor, sizes, self.threads, self.kernels)) is not None:
            self._found.append(found)
        if found is not None:
            return found.runner(sizes)
        if (budget_s := _tune_s()) is not None:
            self._tuned(sizes, {}, budget_s, None, 0, nothing_said)
            if (tuned := self._calls.known(sizes)) is not None:
                return tuned
        plain = narrowest(self._plain, sizes)
        if plain is None:
            plain = plain_class(self.tensor, sizes, self.threads)
            if plain is None:
                return EvaluatedRunner(self.tensor.program(sizes))
            self._plain = [plain, *self._plain[:_PLAIN]]
        if (beside_s := self._background_s()) is not None:
            self._search_beside(sizes, beside_s)
        return plain.runner(sizes)

    def _on_gpu(self, sizes: Mapping[str, int], arch: str) -> tuple[Program, Sequence[CudaKernel]]:
        made = self._made_for_gpu(sizes, target_of(arch))
        return made.program, made.kernels

    def _made_for_gpu(self, sizes: Mapping[str, int], on: str) -> GpuKernels:
        key = self._key(sizes, on)
        found = self._gpu_found.get(key) or known_kernels(self.tensor, sizes, on, self.kernels)
        if found is None and (known := self._gpu_class(sizes, on)) is not None:
            return known.launches(sizes)
        if found is None and (budget_s := _tune_s()) is not None:
            self._tuned(sizes, {}, budget_s, None, 0, nothing_said, on)
            found = self._gpu_found.get(key)
        if found is not None:
            self._gpu_found[key] = found
            return found
        plain = narrowest(self._gpu_plain.get(on, []), sizes)
        if plain is None:
            plain = spread_class(self.tensor, sizes, on)
            self._gpu_plain[on] = [plain, *self._gpu_plain.get(on, [])[:_PLAIN]]
        if (beside_s := self._background_s()) is not None:
            self._search_beside(sizes, beside_s, on)
        return plain.launches(sizes)

    def _gpu_class(self, sizes: Mapping[str, int], on: str) -> GpuClass | None:
        """The class of shapes that serves these sizes, of this program or the store; what the store has is remembered."""
        found = narrowest(self._gpu_classes.get(on, []), sizes)
        if found is None and (found := known_gpu_class(self.tensor, sizes, on, self.kernels)) is not None:
            self._gpu_classes.setdefault(on, []).append(found)
        return found

    def _use_on_gpu(self, sizes: Mapping[str, int], on: str, kernels: GpuKernels) -> None:
        self._gpu_found[self._key(sizes, on)] = kernels
        self._gpu.ask_again()

    def __reduce__(self) -> tuple[type[JitFunction], tuple[object, ...]]:
        """Its parts; kernels are looked up, or compiled again, where it is read."""
        return JitFunction, (self.tensor, self.threads, self.kernels, self._search)

    def __repr__(self) -> str:
        return f"<jit {self.text}>"


def _with_class(classes: Sequence[Class], made: Class) -> list[Class]:
    """The classes with this one first, in the place of an older one of the same sizes."""
    same = (made.fixed, made.multiples)
    return [made, *(c for c in classes if (c.fixed, c.multiples) != same)]


def _tune_s() -> float | None:
    """Seconds for a search at the first call of each size; None where none is made. UserError (OPTION)."""
    asked = os.environ.get(TUNE)
    # A process that this one started to measure kernels runs its program's file again: no search in a search.
    if not asked or multiprocessing.parent_process() is not None:
        return None
    budget_s = seconds_of(asked)
    if not budget_s:
        raise UserError(Diagnostic("OPTION", f"expected a time such as 30s in {TUNE}, got {asked!r}"))
    return budget_s


@overload
def jit(function: Callable[..., Any], /) -> JitFunction | RunningFunction: ...
@overload
def jit(
    *, threads: int | None = None, kernels: str | Path | None = None, search: SearchMode | None = None
) -> Callable[[Callable[..., Any]], JitFunction | RunningFunction]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    threads: int | None = None,
    kernels: str | Path | None = None,
    search: SearchMode | None = None,
) -> JitFunction | RunningFunction | Callable[[Callable[..., Any]], JitFunction | RunningFunction]:
    """Reads the decorated function as a tensor function that can be called with arrays: `@wl.jit`, or `@wl.jit(threads=2)`.

    threads: of its kernels, one per core if not said. kernels: a folder that `warploom kernels export` wrote, for a package that
    ships its kernels; name only folders whose code you would run. search: `background` looks for faster kernels beside the
    program, in a process of the lowest priority, for the sizes of its calls; later calls use what was found. `off`: never; if not
    said, as the environment variable WARPLOOM_BACKGROUND says (`1`, or a time for each search). A function with a running result
    (`Y[i] = Y[i - 1] + X[i]`) becomes a `RunningFunction`. Raises UserError with every problem of the source.
    """
    around = dict(sys._getframe(1).f_locals)  # pyright: ignore[reportPrivateUsage]
    if threads is not None and (type(threads) is not int or threads < 1):
        raise UserError(Diagnostic("OPTION", f"expected a whole number of 1 or more as threads, got {threads!r}"))
    if search not in (None, "background", "off"):
        raise UserError(Diagnostic("OPTION", f"expected background or off as search, got {search!r}"))
    folder = None if kernels is None else Path(kernels)

    def made(wanted: Callable[..., Any]) -> JitFunction | RunningFunction:
        if isinstance(wanted, TensorFunction):
            return JitFunction(wanted, threads, folder, search)
        if not callable(wanted):
            message = f"expected a function, got {wanted!r}"
            raise UserError(Diagnostic("NOT_A_FUNCTION", message, fix="Write @wl.jit above a `def`."))
        if is_recurrence(wanted):
            return RunningFunction(read_recurrence(wanted, around), threads)
        read = tensor_within(wanted, around)
        # A faulty function of a file that is loaded: it is told when that function is asked for.
        return JitFunction(read, threads, folder, search) if isinstance(read, TensorFunction) else read  # pyright: ignore

    return made if function is None else made(function)
