"""`wl.complete`: the completions of a sketch, proved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

from numpy.typing import NDArray

from warploom.api.result import Progress, Result, no_answer, worked
from warploom.core import Diagnostic, UserError
from warploom.gpu import SketchCalls, device_available, is_on_device
from warploom.ir import Kernel, RunResult, run
from warploom.sketch import Sketch
from warploom.synth import Completion, EngineName, Report
from warploom.tools.command.outcome import nothing_said
from warploom.tools.kernels.files import sketch_text
from warploom.tools.synth.forms import SUFFIXES, Suffix, form_text
from warploom.tools.synth.printed import print_checked
from warploom.tools.synth.report import hole_texts
from warploom.tools.synth.synthesise import SynthOptions, synthesise
from warploom.tools.synth.targets import Target

_LARGEST_PICTURE = 200_000
"""Characters of a picture that a notebook shows; larger ones are for `save`."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Completed(Result):
    """A sketch and its completions."""

    sketch: Sketch
    """The sketch that was completed, still with its holes."""
    report: Report | None
    """The engine's report; None when it was stopped before it had something to say."""

    @property
    def completions(self) -> tuple[Completion, ...]:
        """Best first; one unless all were asked for. `holes` of each are expressions, `solutions` has them as texts."""
        return () if self.report is None else self.report.completions

    @property
    def solutions(self) -> tuple[dict[str, str], ...]:
        """One dictionary for each completion: hole name -> Python expression in the sketch's own variables."""
        return tuple(hole_texts(self.sketch.kernel, completion.holes) for completion in self.completions)

    @property
    def holes(self) -> dict[str, str]:
        """The best of `solutions`; empty without an answer."""
        return self.solutions[0] if self.completions else {}

    @property
    def kernel(self) -> Kernel | None:
        """The sketch filled with the best completion."""
        return None if self.report is None else self.report.kernel

    @property
    def space(self) -> int | None:
        """Search space of the answer: 1, 2 or 3."""
        return None if self.report is None else self.report.space

    @property
    def optimal_in(self) -> int | None:
        """Largest space in which no completion is better by the `objective` of the line; None when that is not proved."""
        return None if self.report is None else self.report.optimal_in

    @property
    def lift(self) -> str:
        """For kernels with run-time sizes: `proved for ...` the sizes, or why it is not; empty for bounded kernels."""
        return "" if self.report is None else self.report.lift

    @property
    def cases(self) -> int | None:
        """Inputs that the independent checker ran; None: it did not run."""
        return None if self.report is None else self.report.cases

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Faults of the sketch, with their places."""
        return () if self.report is None else self.report.diagnostics

    @cached_property
    def cuda(self) -> str:
        """CUDA C++ with a launch helper, read back and compared with the kernel. UserError: NO_ANSWER, READ_BACK_..."""
        return print_checked(self.sketch.kernel, self._best("CUDA C++").holes, compiles=False).source.text

    def run(self, arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int] | None = None) -> RunResult:
        """Runs the best completion in the reference interpreter; `arrays` of the result holds the outputs by name.

        Arrays have the parameters' shapes at `sizes`; outputs that are not given start at zero. UserError for those that do not
        fit, and without an answer (NO_ANSWER).
        """
        self._best("a kernel to run")
        assert self.kernel is not None, "a report with a completion has its kernel"
        return run(self.kernel, arrays, sizes)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Runs the best completion: on the GPU of its arguments where these are tensors of one (CuPy's, PyTorch's, JAX's, Numba's
        or any with `__cuda_array_interface__` or DLPack), else in the reference interpreter. The output, or a tuple of several.

        Outputs may be given or left out: they are made by the package of the first tensor then, zeros where nothing is stored.
        Sizes are told by shapes, or named. `stream=`: of the launch; the current one of PyTorch or CuPy, or that of the tensors,
        if not said. `device=`: a GPU to which NumPy's arrays are copied, and back.

        UserError: NO_ANSWER, CALL_ARGUMENTS, CALL_ARRAY, CALL_DTYPE, CALL_SHAPE, CALL_MEMORY, CALL_DEVICE, CALL_STREAM,
        NO_DEVICE, CUDA_DRIVER.
        """
        return self._calls(arrays, named)

    @cached_property
    def _calls(self) -> SketchCalls:
        holes = self._best("a kernel to call").holes
        assert self.kernel is not None, "a report with a completion has its kernel"
        return SketchCalls(self.kernel, lambda: print_checked(self.sketch.kernel, holes, compiles=False).source)

    def launch(
        self,
        arrays: Mapping[str, Any],
        sizes: Mapping[str, int] | None = None,
        *,
        stream: Any = None,
        device: int | str | None = None,
    ) -> None:
        """Runs the best completion on a GPU; `arrays` by parameter, outputs included, are changed in place. Returns when NumPy's
        arrays are back; on tensors of a GPU the kernel may still run, in the order of its stream.

        `stream`, `device` as in a call; NumPy's arrays go to device 0 if not said. UserError: those of a call, NO_DEVICE where
        there is no GPU (`run` needs none), ARRAY_MISSING.
        """
        calls = self._calls
        if not device_available():
            fix = "Write .run(arrays), which needs no GPU, or install the extra `cuda` where one is."
            raise UserError(Diagnostic("NO_DEVICE", "expected a CUDA device and its driver, got none", fix=fix))
        for param in calls.kernel.params:
            if param.name not in arrays:
                raise UserError(Diagnostic("ARRAY_MISSING", f"expected an array for {param.name}, got none", param.span))
        copies = device is None and not any(map(is_on_device, arrays.values()))
        calls.run(arrays, sizes or {}, stream, 0 if copies else device)

    def _best(self, wanted: str) -> Completion:
        if not self.completions:
            raise no_answer(self, wanted)
        return self.completions[0]

    def _repr_html_(self) -> str:
        """The table, and the picture of the warp where it is small enough for a notebook."""
        return super()._repr_html_() + (self._repr_svg_() or "")

    def _repr_svg_(self) -> str | None:
        """The picture alone, for front ends that show no HTML; None where there is none, or it is too large for a notebook."""
        picture = self._form(".svg") if self.completions else ""
        return picture if 0 < len(picture) <= _LARGEST_PICTURE else None

    def _texts(self) -> Mapping[str, Callable[[], str]]:
        texts = super()._texts()
        if not self.completions:
            return texts
        forms = {suffix: partial(self._form, suffix) for suffix in SUFFIXES}
        return {**texts, **forms, ".kernel": self._kernel}

    def _kernel(self) -> str:
        assert self.kernel is not None, "a report with a completion has its kernel"
        return sketch_text(self.kernel, self.line)

    def _form(self, suffix: Suffix) -> str:
        assert self.report is not None, "only results with a completion are asked"
        printed = print_checked(self.sketch.kernel, self._best("a file").holes, compiles=suffix in (".ptx", ".html"))
        target = Target(self.case, self.sketch)
        return form_text(suffix, target, self.report, self.line | printed.fields(), printed)


def complete(
    sketch: Sketch,
    *,
    space: Literal[1, 2, 3] | None = None,
    all_solutions: bool = False,
    budget_s: float | None = None,
    budget_nodes: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    engine: EngineName = "propagation",
    objective: str | None = None,
) -> Completed:
    """The cheapest completion of `sketch`: fewest accumulates, then cheapest index expressions. `warploom synth`.

    objective: parts in order, such as "accumulates, wavefronts, shuffles, index", which is the default where an index of shared
    memory is open; `sectors` are those of global memory, `registers` the different ones that the lanes of a warp take from in an
    access whose index is open.

    space: search this space only; None: 1, 2, 3 until the answer is found and no larger space can beat it. all_solutions: every
    completion of the first space that has one. budget_s (CPU seconds, proof included), budget_nodes and an interruption end it
    with the best so far. seed: of the independent checker's inputs. engine: `smt` asks z3 instead, slower and independent.
    Raises UserError for a sketch that is wrong in itself.
    """
    if not isinstance(sketch, Sketch):  # pyright: ignore[reportUnnecessaryIsInstance] - users without a type checker
        message = f"expected a sketch, got {sketch!r}"
        raise UserError(Diagnostic("NOT_A_SKETCH", message, fix="Write @wl.sketch(spec=...) above the function."))
    if space not in (None, 1, 2, 3):
        raise UserError(Diagnostic("SPACE", f"expected space 1, 2 or 3, got {space!r}"))
    options = SynthOptions(space, all_solutions, budget_s, budget_nodes, seed, engine=engine, objective=objective)
    target = Target(sketch.name, sketch)
    outcome = worked(sketch.name, lambda watch: synthesise(target, options, watch, progress or nothing_said), budget_s)
    return Completed(line=outcome.line, sketch=sketch, report=outcome.report)
