"""The decision vector of a tunable sketch: its parameters and its holes, decided by one search.

A candidate is the settings of the parameters that are still possible, and the holes that are decided. A hole may be decided
before the parameters: settings in which it cannot become that go at once. With one setting left, its holes are propagated and
decided one by one, and the completed kernel is proved by `synth`, then modelled, or timed on a device. The bound of a candidate
is the least of its settings', with the work of open holes as cheap as can be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import floor, log, log1p, prod
from typing import TypeAlias

import numpy as np

from warploom.core import Diagnostic, UserError, to_numpy
from warploom.gpu import (
    Compiled,
    CudaSource,
    compile_cuda,
    cuda_source,
    device_available,
    time_on_device,
    toolchain_available,
)
from warploom.ir import Hole, IndexExpr, Kernel, SizeVar, fill, tabulate
from warploom.machines import Architecture
from warploom.schedule.sketches.cost import Modelled, compulsory, modelled, unfilled
from warploom.schedule.sketches.relaxed import Relaxed, relaxed
from warploom.schedule.sketches.tunable import Setting, TunableSketch, Tuning
from warploom.sketch import Sketch
from warploom.solve import BUDGET_SPENT, PATIENCE, Alternative, Cost, StopSearchError, declared_order, smallest_domain
from warploom.synth import START, Filled, Filling, Report, complete, read_holes

PICOSECONDS_PER_MS = 10**9
DEFAULT_S = 60.0
"""Wall seconds of a search, when nobody says."""
UNLISTED = 1 << 40
"""Size of the domain of a hole before the parameters are decided; it is listed only where it is branched on."""
USUAL_THREADS = range(128, 257)
"""Threads of a block that leave room for others, and keep all multiprocessors busy at sizes that the model was not asked for."""
ALIKE = 1 / 16
"""Modelled times count as alike where they lie in the same of the steps of this share, counted from the time that all arrays take
to cross the memory bus. Of kernels alike, the one that issues fewest instructions is taken: the model is no closer than that, and
what a kernel issues beyond need is lost to whatever else runs or to a board with faster memory. A block of unusual threads is
taken where it is faster by a step at least."""
_ROUNDING = 1e-9
Decisions: TypeAlias = Mapping[str, str]
"""Hole -> expression, in the words of the sketch."""


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


@dataclass(frozen=True, slots=True)
class Other:
    """A value of a parameter that another one was preferred to."""

    parameter: str
    value: Tuning
    ms: float
    modelled: Modelled
    is_bound: bool
    """No kernel with it takes less; else it is the fastest of the kernels that were completed, one for each setting at least."""


@dataclass(frozen=True, eq=False, slots=True)
class Partial:
    """A candidate."""

    settings: tuple[int, ...]
    """Numbers of the settings that are possible."""
    holes: Decisions
    """The holes decided before the setting was."""
    filled: Filled | None = None
    """The holes of the only setting; None before they are looked at."""


@dataclass(frozen=True, eq=False, slots=True)
class _Built:
    """A setting with its sketch."""

    setting: Setting
    sketch: Sketch
    least: Relaxed | None
    """The part that every completion does, if it is known."""
    bounds: dict[tuple[tuple[str, str], ...], Modelled] = field(default_factory=dict[tuple[tuple[str, str], ...], Modelled])
    """By the decisions on the holes that the bound depends on."""

    @property
    def matters(self) -> frozenset[str]:
        """Holes that the bound depends on."""
        return frozenset(h.name for h in self.sketch.kernel.holes) if self.least is None else self.least.matters


class FamilyModel:
    """A `solve.Model[Partial, Tuned]`: the parameters, then the holes, as the numbers of their choices say."""

    def __init__(
        self,
        family: TunableSketch,
        sizes: Mapping[str, int],
        device: Architecture,
        budget_s: float | None = None,
        *,
        measures: bool | None = None,
        fixed: Decisions | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`budget_s`: wall seconds from here on; then the search ends with the best so far. None: `DEFAULT_S`, and the first
        kernel is found even if it takes longer. `measures`: time kernels on the
        device instead of modelling them; None: where there is one. `fixed`: holes decided by hand. UserError (UNKNOWN_CHOICE,
        KERNEL_SYNTAX) for a hole that no setting has, and for what is no expression of it in any."""
        self.family = family
        self.sizes = sizes
        self.device = device
        self.budget_s = budget_s
        self.measures = device_available() if measures is None else measures
        self.progress = progress
        self.completed = 0
        """Kernels that were completed and proved."""
        self._times: dict[int, Tuned] = {}
        """The fastest completed kernel, by the number of its setting."""
        self._firsts: dict[int, Modelled] = {}
        """The setting's first completed kernel, or its kernel with the holes of another setting's first."""
        self._found: dict[tuple[Hole, ...], Mapping[str, IndexExpr]] = {}
        """Completion of the first kernel, by the holes that settings have in common."""
        self.refused: list[tuple[Setting, str]] = []
        """Settings without a kernel, and why."""
        self._best: Cost | None = None
        self._idle = 0
        """Candidates since the best answer that can only have cheaper index expressions; `PATIENCE` of them are looked at."""
        self._began = time.monotonic()
        self._fillings: dict[int, Filling] = {}
        """By the number of the setting."""
        self._built = self._all_built()
        self._bus_ms = max((compulsory(built.sketch.kernel, sizes, device).ms for built in self._built), default=0.0)
        self.holes = tuple(dict.fromkeys(h.name for b in self._built for h in b.sketch.kernel.holes))
        """Names of the holes of all settings; their choices come behind those of the parameters."""
        self._parameters = tuple(family.parameters)
        self.fixed = dict(fixed or {})
        self._check_fixed()

    @property
    def names(self) -> tuple[str, ...]:
        """The choices by number."""
        return (*self._parameters, *self.holes)

    # ------------------------------------------------------------ solve.Model

    def root(self) -> Partial | None:
        possible = tuple(n for n, built in enumerate(self._built) if self._reads(built, self.fixed))
        return Partial(possible, self.fixed) if possible else None

    def next_choice(self, choices: Sequence[tuple[int, int]]) -> int:
        """A `solve.Strategy`: the parameters one after the other, then of the holes the one with the fewest functions."""
        parameters = [choice for choice in choices if choice[0] < len(self._parameters)]
        return declared_order(parameters) if parameters else smallest_domain(choices)

    def open_choices(self, candidate: Partial) -> Sequence[tuple[int, int]]:
        if len(candidate.settings) > 1:
            open_parameters = [(n, len(self._values(candidate, name))) for n, name in enumerate(self._parameters)]
            first = len(self._parameters)
            holes = [(first + n, UNLISTED) for n, name in enumerate(self.holes) if name not in candidate.holes]
            return [(n, size) for n, size in open_parameters if size > 1] + holes
        if candidate.filled is None:
            return [(self._number(candidate, START), 1)]
        inner = self._filling(candidate).open_choices(candidate.filled)
        return [(self._number(candidate, choice), size) for choice, size in inner]

    def alternatives(self, candidate: Partial, choice: int) -> Iterator[Alternative[Partial]]:
        if len(candidate.settings) > 1:
            yield from self._early(candidate, choice)
            return
        filling = self._filling(candidate)
        at = candidate.filled or filling.root_with(self._expressions(candidate))
        if at is None:
            return
        least = self._least(candidate)
        inner = START if candidate.filled is None else self._inner(candidate, choice)
        for found in filling.alternatives(at, inner):
            bound = *least, *found.bound
            if self._best is not None and bound[:-1] >= self._best[:-1]:
                self._idle += 1
                if self._idle > PATIENCE:
                    return
            yield Alternative(bound, partial(self._inside, candidate, found), found.value)

    def bound(self, candidate: Partial) -> Cost:
        if candidate.filled is None:
            return min((*self._cost(n, self._unfilled(self._built[n], candidate.holes)), 0, 0, 0) for n in candidate.settings)
        return (*self._least(candidate), *self._filling(candidate).bound(candidate.filled))

    def answer(self, candidate: Partial) -> tuple[Cost, Tuned] | None:
        found = None if candidate.filled is None else self._filling(candidate).answer(candidate.filled)
        if found is None or found[1].kernel is None:
            return None
        filled_cost, report = found
        built = self._built[candidate.settings[0]]
        self.completed += 1
        kernel = found[1].kernel
        source = cuda_source(built.sketch.kernel, report.completions[0].holes)
        compiled = compile_cuda(source.text, arch=self.device.name) if toolchain_available() else None
        registers = compiled.registers if compiled is not None else 0
        cost, bound = modelled(kernel, self.sizes, self.device, registers), self._unfilled(built, {})
        time_ms = None
        if self.measures and compiled is not None:
            self.progress(f"{text_of(built.setting)}: timing")
            time_ms = time_on_device(kernel, source, compiled, _arrays(kernel, self.sizes), self.sizes).median_ms
        tuned = Tuned(built.setting, report, source, cost, bound, time_ms, compiled)
        number = candidate.settings[0]
        self._firsts.setdefault(number, cost)
        self._found.setdefault(built.sketch.kernel.holes, report.completions[0].holes)
        least = self._least(candidate)
        time_found = self._cost(number, cost)[0] if time_ms is None else round(time_ms * PICOSECONDS_PER_MS)
        cost_found = max(time_found, least[0]) if time_ms is None else time_found, *least[1:], *filled_cost
        self._times[number] = min(tuned, self._times.get(number, tuned), key=lambda t: t.ms)
        if self._best is None or cost_found < self._best:
            self._best, self._idle = cost_found, 0
        return cost_found, tuned

    def unjudged(self, reason: str) -> tuple[Cost, Tuned] | None:
        """The kernel during whose proof the search was interrupted: unchecked for this reason, modelled, not compiled."""
        for number, filling in self._fillings.items():
            found = filling.unjudged(reason)
            if found is None or found[1].kernel is None:
                continue
            filled_cost, report = found
            built = self._built[number]
            source = cuda_source(built.sketch.kernel, report.completions[0].holes)
            cost, bound = modelled(found[1].kernel, self.sizes, self.device, 0), self._unfilled(built, {})
            return (*self._cost(number, cost), *filled_cost), Tuned(built.setting, report, source, cost, bound)
        return None

    @property
    def given_up(self) -> list[tuple[Setting, str]]:
        """Settings of which completions may have been missed, and why."""
        return [(self._built[n].setting, f.gave_up) for n, f in self._fillings.items() if f.gave_up]

    # ------------------------------------------------------------ what can be decided

    def open_values(self, candidate: Partial) -> dict[str, list[Tuning]]:
        """Parameter that is open -> its values."""
        found = {name: self._values(candidate, name) for name in self._parameters}
        return {name: values for name, values in found.items() if len(values) > 1}

    def others(self, chosen: Setting) -> Iterator[Other]:
        """Every value of a parameter that was not chosen, with the time of a kernel that has it, or a bound on that."""
        for name, values in self.family.parameters.items():
            for value in values:
                having = [n for n, built in enumerate(self._built) if built.setting[name] == value]
                if value == chosen[name] or not having:
                    continue
                completed = [self._times[n] for n in having if n in self._times]
                if len(completed) == len(having):
                    fastest = min(completed, key=lambda t: t.ms)
                    yield Other(name, value, fastest.ms, fastest.modelled, is_bound=False)
                else:
                    least = min((self._unfilled(self._built[n], {}) for n in having), key=lambda m: m.ms)
                    yield Other(name, value, least.ms, least, is_bound=True)

    def why_none(self) -> str:
        """Reason why a family without a kernel has none."""
        found = [reason for _, reason in self.given_up]
        for built in self._built if not found else ():
            if self.fixed:
                return "no completion holds what was decided"
            found.append(complete(built.sketch, budget_s=self._left_s()).reason)
            break
        found += [reason for _, reason in self.refused]
        return found[0] if found else ""

    def hole_values(self, candidate: Partial) -> tuple[Setting, dict[str, list[str] | None]]:
        """The setting with the least bound, and what its open holes may become; None: too many to list."""
        best = min(candidate.settings, key=lambda n: (self._cost(n, self._unfilled(self._built[n], candidate.holes)), n))
        values = self._values_in(Partial((best,), candidate.holes))
        return self._built[best].setting, {name: v for name, v in values.items() if name not in candidate.holes}

    # ------------------------------------------------------------ settings

    def _all_built(self) -> list[_Built]:
        found: list[_Built] = []
        for values in product(*self.family.parameters.values()):
            setting = dict(zip(self.family.parameters, values, strict=True))
            try:
                sketch = self.family.build(**setting)
                built = _Built(setting, sketch, relaxed(sketch.kernel))
                self._unfilled(built, {})
                found.append(built)
            except UserError as error:
                self.refused.append((setting, error.diagnostics[0].message))
        return found

    def _check_fixed(self) -> None:
        if unknown := [name for name in self.fixed if name not in self.holes]:
            known = ", ".join(self.names)
            message = f"expected a parameter or a hole of {self.family.name} ({known or 'it has none'}), got {unknown[0]!r}"
            raise UserError(Diagnostic("UNKNOWN_CHOICE", message, self.family.span, "`--choices` lists their values."))
        for name, text in self.fixed.items():
            having = [b for b in self._built if name in {h.name for h in b.sketch.kernel.holes}]
            if not any(self._reads(built, {name: text}) for built in having):
                self._refuse(having[0], name, text)

    def _refuse(self, built: _Built, name: str, text: str) -> None:
        try:
            read_holes(built.sketch, {name: text})
        except UserError as error:
            message = f"{error.diagnostics[0].message} in {text!r}, decided for hole {name}"
            fix = "write an expression of the hole's arguments, as --choices lists them"
            raise UserError(Diagnostic("UNKNOWN_VALUE", message, self.family.span, fix)) from error

    def _reads(self, built: _Built, holes: Decisions) -> bool:
        """Whether the setting has these holes, with arguments of which these can be expressions."""
        try:
            return len(read_holes(built.sketch, holes)) == len(holes)
        except UserError:
            return False

    def _values(self, candidate: Partial, name: str) -> list[Tuning]:
        possible = {self._built[n].setting[name] for n in candidate.settings}
        return [value for value in self.family.parameters[name] if value in possible]

    def _early(self, candidate: Partial, choice: int) -> Iterator[Alternative[Partial]]:
        """A parameter, or a hole before the parameters, decided."""
        name = self.names[choice]
        children: list[tuple[Tuning, Partial]] = []
        if choice < len(self._parameters):
            for value in self._values(candidate, name):
                left = tuple(n for n in candidate.settings if self._built[n].setting[name] == value)
                children.append((value, Partial(left, candidate.holes)))
        else:
            settings: dict[str, list[int]] = {}
            for n in candidate.settings:
                self._left_s()
                for text in self._texts(n, candidate.holes, name):
                    settings.setdefault(text, []).append(n)
            children = [(text, Partial(tuple(left), {**candidate.holes, name: text})) for text, left in settings.items()]
        bounds = [self.bound(child) for _, child in children]
        for n in sorted(range(len(children)), key=lambda n: bounds[n]):
            value, child = children[n]
            yield Alternative(bounds[n], partial(_itself, child), value)

    def _texts(self, setting: int, holes: Decisions, name: str) -> list[str]:
        texts = self._values_in(Partial((setting,), holes)).get(name, [])
        if texts is None:
            message = f"expected holes with few functions before the parameters, got {name}"
            raise UserError(Diagnostic("ORDER", message, self.family.span, "decide it behind the parameters, or by --set"))
        return texts

    # ------------------------------------------------------------ one setting

    def _filling(self, candidate: Partial) -> Filling:
        (number,) = candidate.settings
        if number not in self._fillings:
            self._left_s()
            self.progress(f"{text_of(self._built[number].setting)}: completing the holes")
            self._fillings[number] = Filling(self._built[number].sketch)
        return self._fillings[number]

    def _expressions(self, candidate: Partial) -> dict[str, IndexExpr]:
        return read_holes(self._built[candidate.settings[0]].sketch, candidate.holes)

    def _values_in(self, candidate: Partial) -> dict[str, list[str] | None]:
        """Open hole -> its values in the only setting."""
        return self._filling(candidate).values(self._expressions(candidate))

    def _inside(self, parent: Partial, found: Alternative[Filled]) -> Partial | None:
        self._left_s()
        filled = found.expand()
        return None if filled is None else Partial(parent.settings, parent.holes, filled)

    def _number(self, candidate: Partial, inner: int) -> int:
        """The choice of the vector for one of the setting's."""
        if inner < 0:
            return len(self.names) - 1 - inner
        kernel = self._built[candidate.settings[0]].sketch.kernel
        return len(self._parameters) + self.holes.index(kernel.holes[inner].name)

    def _inner(self, candidate: Partial, choice: int) -> int:
        if choice >= len(self.names):
            return len(self.names) - 1 - choice
        kernel = self._built[candidate.settings[0]].sketch.kernel
        return [h.name for h in kernel.holes].index(self.names[choice])

    def _left_s(self) -> float | None:
        """Wall seconds; StopSearchError when nothing is left."""
        if self.budget_s is None and self._best is None:
            return None
        left = (DEFAULT_S if self.budget_s is None else self.budget_s) - (time.monotonic() - self._began)
        if left <= 0:
            raise StopSearchError(f"{BUDGET_SPENT}wall seconds")
        return left

    # ------------------------------------------------------------ bounds

    def _least(self, candidate: Partial) -> Cost:
        """The least cost that the holes decided so far leave."""
        number = candidate.settings[0]
        built = self._built[number]
        least = self._unfilled(built, candidate.holes)
        if candidate.filled is not None and built.matters:
            decided = self._filling(candidate).decisions(candidate.filled)
            least = self._bound_of(built, {name: e for name, e in decided.items() if name in built.matters})
        return self._cost(number, least)

    def _cost(self, setting: int, of: Modelled) -> Cost:
        """The time, in steps of which all kernels are alike, one more for an unusual block; whether the block is unusual; what is
        issued; what all pipes have to do. The last two are a setting's, whatever its holes become (`_typical`). Where kernels are
        measured, the time in picoseconds comes first."""
        typical = self._typical(setting)
        rest = round(typical.issue_ms * PICOSECONDS_PER_MS), round(sum(typical.terms.values()) * PICOSECONDS_PER_MS)
        if self.measures:
            return round(of.ms * PICOSECONDS_PER_MS), 0, *rest
        is_unusual = prod(self._built[setting].sketch.kernel.block) not in USUAL_THREADS
        return self._step(of.ms * (1 + ALIKE if is_unusual else 1)), int(is_unusual), *rest

    def _typical(self, setting: int) -> Modelled:
        """Work that alike kernels are told apart by: of the setting's first completed kernel, or of its kernel with the holes of
        another setting's; before there is one, the part that every completion does."""
        if setting not in self._firsts:
            kernel = self._built[setting].sketch.kernel
            holes = self._found.get(kernel.holes)
            if holes is None:
                return self._unfilled(self._built[setting], {})
            self._firsts[setting] = modelled(fill(kernel, holes), self.sizes, self.device)
        return self._firsts[setting]

    def _step(self, ms: float) -> int:
        """The number of the step in which a time lies."""
        if self._bus_ms <= 0.0:
            return round(ms * PICOSECONDS_PER_MS)
        return floor(log(max(ms / self._bus_ms, 1.0)) / log1p(ALIKE) + _ROUNDING)

    def _unfilled(self, built: _Built, holes: Decisions) -> Modelled:
        matter = {name: text for name, text in holes.items() if name in built.matters}
        return self._bound_of(built, read_holes(built.sketch, matter))

    def _bound_of(self, built: _Built, decided: Mapping[str, IndexExpr]) -> Modelled:
        key = tuple(sorted((name, repr(expr)) for name, expr in decided.items()))
        if key not in built.bounds:
            kernel = fill(built.sketch.kernel, decided)
            built.bounds[key] = unfilled(kernel, relaxed(kernel) if decided else built.least, self.sizes, self.device)
        return built.bounds[key]


def _itself(candidate: Partial) -> Partial:
    return candidate


def text_of(setting: Setting) -> str:
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
