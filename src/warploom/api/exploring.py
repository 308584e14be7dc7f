"""`wl.explore`: the fastest implementation of a kernel, found by search over its open decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast, overload

from warploom.api.result import Progress, Result, no_answer, worked
from warploom.api.running import RunningFunction, RunningScan
from warploom.core import Diagnostic, UserError
from warploom.gpu import SketchCalls, cuda_source
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import Program
from warploom.schedule.calls import Calls, CompiledRunner, GpuCalls, Runner, Signature, rest_runner
from warploom.schedule.cpu import compile_nest
from warploom.schedule.cuda import CudaKernel, cuda_kernel
from warploom.schedule.cuda import Options as CudaOptions
from warploom.schedule.frontend import TensorFunction, TensorHolder
from warploom.schedule.nest import Nest
from warploom.schedule.recurrences import RunningHolder
from warploom.schedule.search import StrategyName
from warploom.schedule.sketches import TunableSketch
from warploom.sketch import Sketch
from warploom.synth import Report
from warploom.tools.command.outcome import Outcome, nothing_said
from warploom.tools.explore.code import arch_of
from warploom.tools.explore.command import STRATEGIES, arch_of_sketch, order_of
from warploom.tools.explore.kernel import explore_tensor
from warploom.tools.explore.options import KernelOptions, machine_of
from warploom.tools.explore.package import check_known
from warploom.tools.explore.place import LARGEST
from warploom.tools.explore.result import Explored as Implementations
from warploom.tools.explore.result import ExploredOutcome, code_text, page_text, save_package
from warploom.tools.explore.run_time import asked_sizes, at_values, greatest
from warploom.tools.explore.sketch import SketchOptions, explore_sketch, written
from warploom.tools.explore.target import explored
from warploom.tools.kernels.files import kernel_text, sketch_text
from warploom.tools.kernels.on_gpu import rest_kernels
from warploom.tools.synth.printed import print_checked

Kernel: TypeAlias = TensorFunction | TensorHolder | TensorKernel | TunableSketch | Sketch | str
"""Kernels that can be explored; a text names a kernel of the library or `FILE.py:FUNC`."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explored(Result):
    """A kernel and the fastest implementation found."""

    options: KernelOptions | None
    """The options of the question, for a tensor function; None for a sketch."""
    implementations: Implementations | None
    """The program and the implementation of each of its kernels; None without an answer, and for a sketch."""
    report: Report | None
    """Report on the completed sketch; None for a tensor function."""
    function: TensorFunction | None
    """The tensor function; None for a sketch."""

    def _said(self) -> Iterator[str]:
        if self.time_is:
            yield f"{self.line['time_ms']} ms {self.time_is}{' of the plain loop' if self.line.get('kind') == 'plain' else ''}"
        if self.line.get("kind") == "plain" and "note" in self.line:
            yield str(self.line["note"])
        if self.line.get("kept") is False:
            yield f"not kept: {self.line['not_kept']}"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Runs the kernel on arrays of the sizes it was explored for: the output, or a tuple of several.

        A kernel of the CPU takes what functions of `wl.jit` take. A kernel of a GPU runs where its tensors are (CuPy's,
        PyTorch's, JAX's, Numba's or any with `__cuda_array_interface__` or DLPack); `stream=` says on which stream. Arrays of
        NumPy are copied to the GPU that `device=` names, and back; without it they go through the interpreter of PTX. A sketch is
        called as `wl.complete`'s result is.

        UserError: NO_ANSWER, CALL_ARGUMENTS, CALL_ARRAY, CALL_DTYPE, CALL_SHAPE, CALL_MEMORY, CALL_INDEX, CALL_DEVICE,
        CALL_STREAM, NO_DEVICE, CUDA_DRIVER, LAUNCH_FAILED.
        """
        return self._calls(arrays, named)

    @cached_property
    def _calls(self) -> Calls | GpuCalls | SketchCalls:
        if self.report is not None and self.report.kernel is not None:
            kernel = self.report.kernel
            return SketchCalls(kernel, lambda: print_checked(kernel, {}, compiles=False).source)
        if self.implementations is None or self.options is None:
            raise no_answer(self, "a kernel to call")
        assert self.function is not None
        function, signature = self.function, Signature.of(self.function)
        if self.options.target.kind != "cpu":
            arch = arch_of(self.options.target)

            def kernels_at(sizes: Mapping[str, int], _: str) -> tuple[Program, list[CudaKernel]]:
                program, nests = self._nests_at(sizes)
                return program, [cuda_kernel(nest, CudaOptions(arch=arch)) for nest in nests]

            def rest_at(sizes: Mapping[str, int], _: str) -> tuple[Program, Sequence[CudaKernel]] | None:
                self._check_class(sizes)
                return rest_kernels(function, sizes, on.name)

            on = self.options.target
            return GpuCalls(signature, kernels_at, rest=rest_at)
        made, threads = self.implementations, self.options.threads
        kind, flags = "plain" if made.plain else "found", made.build.flags

        def at(sizes: Mapping[str, int]) -> Runner:
            program, nests = self._nests_at(sizes)
            return CompiledRunner(program, [compile_nest(nest, flags=flags) for nest in nests], threads, kind)

        def rest(sizes: Mapping[str, int]) -> Runner | None:
            self._check_class(sizes)
            return rest_runner(function, sizes, threads)

        return Calls(signature, at, rest=rest)

    def _nests_at(self, sizes: Mapping[str, int]) -> tuple[Program, Sequence[Nest]]:
        """The program and its nests at the sizes of a call. UserError (CALL_SHAPE) for sizes that they are not for."""
        self._check_class(sizes)
        made, options = self.implementations, self.options
        assert made is not None and options is not None
        if not options.run_time:
            return made.program, made.nests
        is_cuda = options.target.kind == "cuda"
        most = {name: up_to for nest in made.nests for name, up_to in greatest(nest, has_grid=is_cuda).items()}
        for name, size in sizes.items():
            if size > most.get(name, size):
                raise UserError(Diagnostic("CALL_SHAPE", f"expected {name} of at most {most[name]}, got {size}"))
        return at_values(made.program, made.nests, {name: sizes[name] for name in options.run_time})

    def _check_class(self, sizes: Mapping[str, int]) -> None:
        """UserError (CALL_SHAPE) for sizes for which it was not explored."""
        assert self.options is not None
        for name, size in sizes.items():
            multiple = self.options.run_time.get(name)
            if size % multiple if multiple is not None else size != self.sizes[name]:
                wanted = f"a multiple of {multiple}" if multiple is not None else f"{self.sizes[name]}, for which it was explored"
                raise UserError(Diagnostic("CALL_SHAPE", f"expected {wanted}, as {name}, got {size}"))

    def _of_cpu(self, wanted: str) -> tuple[Implementations, KernelOptions]:
        if self.implementations is None or self.options is None:
            if self.report is not None and self.report.kernel is not None:
                raise not_here(self)
            raise no_answer(self, wanted)
        if self.options.target.kind != "cpu":
            raise not_here(self)
        return self.implementations, self.options

    def _kernel(self) -> str:
        if self.report is not None and self.report.kernel is not None:
            return sketch_text(self.report.kernel, self.line)
        if self.implementations is None or self.options is None:
            raise no_answer(self, "a kernel to save")
        made, options = self.implementations, self.options
        assert self.function is not None
        check_known(options.run_time)
        return kernel_text(self.function, made, options, self.line)

    @property
    def decisions(self) -> dict[str, object]:
        """Choice -> what was decided; for a sketch its parameters and holes."""
        return cast("dict[str, object]", self.line.get("decisions", {}))

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the arrays, by name."""
        return cast("dict[str, int]", self.line.get("sizes", {}))

    @property
    def time_ms(self) -> float | None:
        """Time of the implementation; None without an answer. `time_is` says how it was taken."""
        return cast("float | None", self.line.get("time_ms"))

    @property
    def time_is(self) -> str:
        """`measured` or `modelled`; empty without a time."""
        return str(self.line.get("time_is", ""))

    @property
    def bound_ms(self) -> float | None:
        """Below which no machine of the target runs this implementation."""
        return cast("float | None", self.line.get("bound_ms"))

    @property
    def complete(self) -> bool:
        """Whether the whole space was searched."""
        return self.line.get("complete") is True

    @property
    def language(self) -> str:
        """Language of `code`: `C` or `CUDA C++`."""
        return "C" if self.options is not None and self.options.target.kind == "cpu" else "CUDA C++"

    @property
    def code(self) -> str:
        """C or CUDA C++ of all kernels, with how to call them at the top. UserError: NO_ANSWER."""
        if self.implementations is not None and self.options is not None:
            return code_text(self.line, self.implementations, self.options)
        if self.report is not None and self.report.kernel is not None:
            return cuda_source(self.report.kernel).text
        raise no_answer(self, "code")

    def save_package(self, folder: str | Path) -> list[Path]:
        """Writes the CPU kernel into a folder: C with one entry point, its header, a Python module that compiles and loads it,
        and a PyTorch operator with fake tensors; the files need no Warploom. UserError: NO_ANSWER, NOT_HERE, NOT_WRITTEN."""
        made, options = self._of_cpu("a kernel to save")
        return save_package(self.line, made, options, Path(folder))

    def _texts(self) -> Mapping[str, Callable[[], str]]:
        has_code = self.implementations is not None or (self.report is not None and self.report.kernel is not None)
        if not has_code:
            return super()._texts()
        if self.language == "C":
            return {**super()._texts(), ".c": lambda: self.code, ".kernel": self._kernel}
        return {**super()._texts(), ".cu": lambda: self.code, ".kernel": self._kernel}

    def _page(self) -> str:
        if self.implementations is not None and self.options is not None:
            return page_text(self.line, self.implementations, self.options)
        return super()._page()


@overload
def explore(
    kernel: Kernel,
    *,
    sizes: Mapping[str, int | str] | None = None,
    target: str = "cpu",
    budget_s: float | None = None,
    nodes: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    search: StrategyName | None = None,
    order: str | Sequence[str] | None = None,
    fixed: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Explored: ...
@overload
def explore(kernel: RunningFunction, *, budget_s: float | None = None, progress: Progress | None = None) -> RunningScan: ...
def explore(
    kernel: Kernel | RunningFunction,
    *,
    sizes: Mapping[str, int | str] | None = None,
    target: str = "cpu",
    budget_s: float | None = None,
    nodes: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    search: StrategyName | None = None,
    order: str | Sequence[str] | None = None,
    fixed: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Explored | RunningScan:
    """Searches the implementations of a kernel for the fastest. `warploom explore`.

    kernel: a tensor function, a sketch or a family of sketches, or the name of one. sizes: of its arrays; `"?"` is known at run
    time, `"?:64"` then a multiple of 64, `"?:64@4096"` one for which 4096 is searched. target: `cpu` (this
    machine), `cuda` or an architecture such as `sm_90`. budget_s: wall seconds of search, check and proof, 60 if not said.
    nodes: candidates looked at, a deterministic budget. threads: of a CPU kernel. search: a strategy; if not said, `refine`, and
    for a sketch depth first. order: choices to decide first, or `reverse`; for a sketch parameters and holes. fixed: choices
    decided by hand, with their values; a result's `decisions` give its implementation again. An interruption keeps the best so
    far. Of a function with a running result (`wl.jit`) nothing is searched: its loop is lifted, for all sizes and targets. Raises
    UserError for a kernel or options that are wrong in themselves.
    """
    if isinstance(kernel, TensorHolder):
        kernel = kernel.tensor
    found = explored(kernel) if isinstance(kernel, str) else TunableSketch.of(kernel) if isinstance(kernel, Sketch) else kernel
    if isinstance(found, RunningFunction):
        if search is not None or order is not None or fixed or nodes is not None:
            message = f"expected no options of a search for {found.name!r}, which has a running result, got some"
            raise UserError(Diagnostic("OPTION", message, fix="Leave nodes, search, order and fixed out."))
        return found.lift(budget_s=budget_s, progress=progress)
    assert not isinstance(found, RunningHolder)  # `wl.jit` makes the others
    case = kernel if isinstance(kernel, str) else found.name
    tell, decided = progress or nothing_said, _texts(fixed or {})
    first = order_of(order if order is None or isinstance(order, str) else ",".join(order))
    asked_for = asked_sizes((name, _size(name, size)) for name, size in (sizes or {}).items())
    _check({"budget_s": budget_s, "nodes": nodes, "threads": threads}, search)
    if isinstance(found, TunableSketch):
        if asked_for.run_time:
            message = "expected a kernel among tensor functions for sizes known at run time, got a sketch"
            raise UserError(Diagnostic("OPTION", message))
        asked = SketchOptions(
            arch_of_sketch(target),
            asked_for.values,
            budget_s,
            tuple(decided.items()),
            order=first,
            nodes=nodes,
            strategy=search,
            seed=seed,
        )
        outcome = worked(case, lambda watch: explore_sketch(case, found, asked, watch, tell), None)
        return _result(outcome, None, None)
    on, used = machine_of(target, threads)
    options = KernelOptions(
        target=on,
        sizes=asked_for.values,
        run_time=asked_for.run_time,
        threads=used,
        budget_s=budget_s,
        seed=seed,
        strategy=search,
        order=first,
        fixed=decided,
        nodes=nodes,
    )
    function = found.function if isinstance(found, TensorKernel) else found
    return _result(worked(case, lambda watch: explore_tensor(case, found, options, watch, tell), None), options, function)


def _result(outcome: Outcome, options: KernelOptions | None, function: TensorFunction | None) -> Explored:
    found = outcome.explored if isinstance(outcome, ExploredOutcome) else None
    return Explored(line=outcome.line, options=options, implementations=found, report=outcome.report, function=function)


def not_here(result: Result) -> UserError:
    message = f"expected a kernel of this machine's CPU, got one of a GPU: {result.case}"
    fix = 'Explore it for target="cpu"; CUDA of a result is its `code`, and it can be called.'
    return UserError(Diagnostic("NOT_HERE", message, fix=fix))


def _texts(fixed: Mapping[str, object]) -> dict[str, str]:
    found = {name: written(value) for name, value in fixed.items()}
    for name, text in found.items():
        if text is None:
            raise UserError(Diagnostic("OPTION", f"expected a text or whole numbers as the value of {name}, got {fixed[name]!r}"))
    return {name: text for name, text in found.items() if text is not None}


def _size(name: str, size: object) -> str:
    if type(size) is int and 1 <= size <= LARGEST:
        return str(size)
    if isinstance(size, str) and size.startswith("?"):
        return size
    raise UserError(Diagnostic("SIZES", f"expected a whole number from 1 to {LARGEST} for {name}, got {size!r}"))


def check_numbers(numbers: Mapping[str, float | None]) -> None:
    """UserError (OPTION) for what is no number above 0; None stands for a default."""
    for name, number in numbers.items():
        if number is not None and not (isinstance(number, int | float) and number > 0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserError(Diagnostic("OPTION", f"expected a number above 0 as {name}, got {number!r}"))


def _check(numbers: Mapping[str, float | None], search: str | None) -> None:
    check_numbers(numbers)
    if search is not None and search not in STRATEGIES:
        raise UserError(Diagnostic("OPTION", f"expected one of {', '.join(STRATEGIES)} as search, got {search!r}"))
