"""The decision vector of a tunable sketch: its parameters, then its holes, searched by the one driver.

A setting of all parameters is a sketch; its holes are completed and proved by `synth`, the completed kernel is modelled, or timed
on a device. A setting whose bound is no better than the best kernel is never completed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from warploom.core import UserError, to_numpy
from warploom.gpu import (
    Compiled,
    CudaSource,
    compile_cuda,
    cuda_source,
    device_available,
    time_on_device,
    toolchain_available,
)
from warploom.ir import IndexExpr, Kernel, SizeVar, tabulate
from warploom.machines import Architecture
from warploom.schedule.sketches.cost import Modelled, modelled, unfilled
from warploom.schedule.sketches.tunable import Setting, TunableSketch
from warploom.sketch import Sketch
from warploom.solve import BUDGET_SPENT, Alternative, Cost, StopSearchError
from warploom.synth import Report, complete

PICOSECONDS_PER_MS = 10**9


@dataclass(frozen=True, eq=False, slots=True)
class Tuned:
    """A completed kernel of the family."""

    setting: Setting
    report: Report
    source: CudaSource
    modelled: Modelled
    """Modelled time in milliseconds, at the sizes asked for."""
    bound: Modelled
    """The modelled time that was known before its holes were filled."""
    measured_ms: float | None = None
    compiled: Compiled | None = None
    """None without the extra `cuda`."""

    @property
    def ms(self) -> float:
        return max(self.modelled.ms, self.bound.ms) if self.measured_ms is None else self.measured_ms


@dataclass(slots=True)
class SketchModel:
    """A `solve.Model`: candidates are settings of some parameters; answers are `Tuned` kernels."""

    family: TunableSketch
    sizes: Mapping[str, int]
    device: Architecture
    budget_s: float | None = None
    """Wall seconds from the making of the model; then the search ends with the best so far."""
    measures: bool = field(default_factory=device_available)
    """Time kernels on the device instead of modelling them."""
    progress: Callable[[str], None] = lambda _: None
    refused: list[tuple[Setting, str]] = field(default_factory=list[tuple[Setting, str]])
    """Settings without a kernel, and why."""
    completed: int = 0
    is_complete: bool = True
    """No setting's holes were given up."""
    _began: float = field(default_factory=time.monotonic)
    _sketches: dict[tuple[object, ...], tuple[Sketch, Modelled] | None] = field(
        default_factory=dict[tuple[object, ...], tuple[Sketch, Modelled] | None]
    )

    def root(self) -> Setting | None:
        return {}

    def open_choices(self, candidate: Setting) -> Sequence[tuple[int, int]]:
        return [(n, len(v)) for n, (name, v) in enumerate(self.family.parameters.items()) if name not in candidate]

    def alternatives(self, candidate: Setting, choice: int) -> Iterator[Alternative[Setting]]:
        name = list(self.family.parameters)[choice]
        children = [{**candidate, name: value} for value in self.family.parameters[name]]
        for bound, child in sorted(((self.bound(c), c) for c in children), key=lambda found: found[0]):
            yield Alternative(bound, partial(self._possible, child))

    def bound(self, candidate: Setting) -> Cost:
        """A setting of all parameters is judged by its transfers; before that, by the best of the settings behind it."""
        open_names = [name for name in self.family.parameters if name not in candidate]
        if open_names:
            name = open_names[-1]
            return min(self.bound({**candidate, name: value}) for value in self.family.parameters[name])
        found = self._sketch(candidate)
        return (0, 0) if found is None else _cost(found[1])

    def answer(self, candidate: Setting) -> tuple[Cost, Tuned] | None:
        found = self._sketch(candidate)
        if found is None:
            return None
        sketch, bound = found
        left_s = self._left_s()
        self.progress(f"{_text(candidate)}: completing the holes")
        report = complete(sketch, budget_s=left_s, progress=lambda text: self.progress(f"{_text(candidate)}: {text}"))
        self.completed += 1
        if report.kernel is None:
            self.is_complete &= report.status == "unsat"
            self.refused.append((candidate, report.reason))
            return None
        source = cuda_source(sketch.kernel, report.completions[0].holes)
        compiled = compile_cuda(source.text, arch=self.device.name) if toolchain_available() else None
        limits = (compiled.registers, compiled.shared_bytes) if compiled is not None else (0, 0)
        cost = modelled(report.kernel, self.sizes, self.device, *limits)
        time_ms = None
        if self.measures and compiled is not None:
            self.progress(f"{_text(candidate)}: timing")
            time_ms = time_on_device(report.kernel, source, compiled, _arrays(report.kernel, self.sizes), self.sizes).median_ms
        tuned = Tuned(candidate, report, source, cost, bound, time_ms, compiled)
        return _cost(cost) if time_ms is None else (round(time_ms * PICOSECONDS_PER_MS), 0), tuned

    def _left_s(self) -> float | None:
        """StopSearchError when nothing is left."""
        if self.budget_s is None:
            return None
        left = self.budget_s - (time.monotonic() - self._began)
        if left <= 0:
            raise StopSearchError(f"{BUDGET_SPENT}wall seconds")
        return left

    def _possible(self, candidate: Setting) -> Setting | None:
        is_whole = len(candidate) == len(self.family.parameters)
        return None if is_whole and self._sketch(candidate) is None else candidate

    def _sketch(self, setting: Setting) -> tuple[Sketch, Modelled] | None:
        """The sketch of a whole setting and its bound; None where these values do not go together."""
        key = tuple(setting[name] for name in self.family.parameters)
        if key not in self._sketches:
            try:
                sketch = self.family.build(**setting)
                self._sketches[key] = (sketch, unfilled(sketch.kernel, self.sizes, self.device))
            except UserError as error:
                self.refused.append((setting, error.diagnostics[0].message))
                self._sketches[key] = None
        return self._sketches[key]


def _cost(of: Modelled) -> Cost:
    """The time; of kernels that the same pipe binds as long, the one whose other pipes have less to do."""
    return round(of.ms * PICOSECONDS_PER_MS), round(sum(of.terms.values()) * PICOSECONDS_PER_MS)


def _text(setting: Setting) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items()) or "the sketch"


def _arrays(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    given: dict[IndexExpr, int] = {SizeVar(n): v for n, v in sizes.items()}
    rng = np.random.default_rng(0)
    found: dict[str, np.ndarray] = {}
    for param in kernel.params:
        shape = tuple(int(tabulate(e, given)) for e in param.shape) + ((param.dtype.lanes,) if param.dtype.lanes > 1 else ())
        contents = rng.uniform(-1, 1, shape) if param.is_input and param.dtype.is_float else np.zeros(shape)
        found[param.name] = contents.astype(to_numpy(param.dtype))
    return found
