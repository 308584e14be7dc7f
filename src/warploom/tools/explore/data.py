"""Arrays on which the kernels of `explore` run, and the outputs that they are compared with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError, bf16, to_numpy
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import (
    Backbone,
    Content,
    Operator,
    Program,
    Role,
    can_bound,
    converts_to_integers,
    evaluate_bounded,
    evaluate_program,
    exact_whole,
    inputs_of,
    marks_of,
    only_chooses,
    places_of,
    stores_all,
    turns_of,
)
from warploom.tools.command.outcome import Progress
from warploom.tools.explore.budget import OutOfTimeError, within
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.options import Function, KernelOptions, points_of, sizes_of

Array: TypeAlias = NDArray[Any]

EVALUATED = 3_000_000_000
"""Points of instructions that the reference evaluation is asked for at most; above it, only kernels with a NumPy reference are
checked at their own size."""
EVALUATED_PER_S = EVALUATED // 60
"""The same for each wall second of a budget."""
COMPUTED_PER_S = 10_000_000_000
"""Points of instructions for each wall second of a budget that a NumPy reference is asked for at most."""
HANDLED_PER_S = 60_000_000
"""Elements of arrays that are filled, copied, and compared in a wall second, about; a budget that allows for fewer than there are
is no use."""
TOLERANCE = 1e-3
"""Relative to the largest element of an output, where nothing better is known: sums are taken in other orders."""
FURTHER_S = 0.5
"""CPU seconds that the references of further data sets take at most, about."""
_MOST_SETS = 24
_LEAST_SETS, _CHOSEN_SETS = 4, 12
"""Numbers of a kind, at least, where there is time; of functions with conditions."""
_STEP_S = 1e-4
_POINT_S = 4e-9
_BOUNDED_POINT_S = 3.2e-8
"""About what a step of a reduction and a point of an instruction take in the evaluation, and in that with bounds."""
_INEXACT_WHOLE = 3
"""Largest whole number, but for extremes, where results are not exact: exponentials of greater ones hide all others."""
_COPIES = 3
"""Copies of each array: the reference's, the searching and the measuring process's."""


@dataclass(frozen=True, slots=True)
class Data:
    """Inputs of a program, and the outputs that it must make of them."""

    inputs: Mapping[str, Array]
    scalars: Mapping[str, float]
    outputs: Mapping[str, Array]
    """Outputs by name, those that are known; empty where the reference would take too long."""
    reference: str
    """`NumPy`, `evaluation` or nothing."""
    in_bf16: frozenset[str] = frozenset()
    """Arrays that are rounded to bf16."""
    content: Content = Content.RANDOM
    tolerance: float = TOLERANCE
    """As of `difference`; 0 where results are exact."""
    allowed: Mapping[str, Array] | None = None
    """How far each element of the outputs may be off, in place of the tolerance."""
    before: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """Contents of arrays that kernels write, before they run, where these are not zeros."""


class TooManyElementsError(Exception):
    """The arrays alone would take longer than the budget; the text says so."""


def reference_data(
    function: Function, program: Program, options: KernelOptions, progress: Progress, budget_s: float | None = None
) -> Data:
    """Inputs and outputs where something is run on them at these sizes, those outputs that the budget has time for.

    UserError (SIZES) where memory does not hold them. TooManyElementsError, before any array is made, where they need more wall
    seconds than the budget has.
    """
    if not options.is_measured:
        return Data({}, {}, {}, "")
    if isinstance(function, InParts):
        whole = function.whole_at(sizes_of(function, options.sizes, options.run_time))
        return reference_data(function.whole, whole, options, progress, budget_s)
    elements = sum(region.elements for region in program.arguments)
    if budget_s is not None and elements > budget_s * HANDLED_PER_S:
        raise TooManyElementsError(
            f"budget: arrays of {elements:.3g} elements take about {elements / HANDLED_PER_S:.3g} s to fill and compare, got "
            f"{budget_s:g} s; give more time or smaller sizes"
        )
    needed = _COPIES * sum(region.elements * max(8, region.dtype.size_bytes) for region in program.arguments)
    if needed > (memory := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")):
        message = f"expected arrays that fit {memory / 1e9:.3g} GB of memory, got about {needed / 1e9:.3g} GB with their copies"
        raise UserError(Diagnostic("SIZES", message, fix="Give smaller sizes."))
    progress("computing the reference")
    kernel = kernel_of(function)
    try:
        with within(budget_s) if budget_s is not None else nullcontext():
            return data_for(program, kernel, options.seed, budget_s)
    except OutOfTimeError:
        return data_for(program, kernel, options.seed, 0.0)
    except MemoryError as error:
        raise UserError(
            Diagnostic("SIZES", f"expected arrays that fit in memory, got: {error}", fix="Give smaller sizes.")
        ) from error


def data_of(function: Function, program: Program, sizes: Mapping[str, int], seed: int) -> Data:
    """Inputs and outputs of a program of the function at these sizes: of a sum in parts those of the whole."""
    if isinstance(function, InParts):
        return data_of(function.whole, function.whole_at(sizes), sizes, seed)
    return data_for(program, kernel_of(function), seed)


def kernel_of(function: Function) -> TensorKernel | None:
    """The kernel with its reference in NumPy, of a sum in parts that of the whole; None for a function alone."""
    whole = function.whole if isinstance(function, InParts) else function
    return whole if isinstance(whole, TensorKernel) else None


def data_for(program: Program, kernel: TensorKernel | None, seed: int, budget_s: float | None = None) -> Data:
    """The first data set: inputs of every array the program reads, and its outputs where they take no longer than the budget.

    Whole numbers where all results are exact on them, since one element left out shows there; random ones elsewhere.
    """
    scalars = _whole_scalars(program)
    whole = exact_whole(program, scalars)
    if whole is not None:
        inputs = _inputs(program, Content.WHOLE, 0, seed, scalars, whole)
        return _data(program, kernel, inputs, scalars, Content.WHOLE, budget_s)
    given = _scalars(program, {} if kernel is None else kernel.parameters)
    return _data(program, kernel, _inputs(program, Content.RANDOM, 0, seed, given), given, Content.RANDOM, budget_s)


def further_data(
    program: Program, seed: int, parameters: Mapping[str, float], first: Content | None = None, effort: Effort | None = None
) -> Iterator[Data]:
    """Data sets of all kinds that tell something of the program, with outputs. `first`: the kind that was compared at these sizes
    already; `parameters`: scalars that the function is made for.

    On whole numbers results must be the reference's where they are exact. Elsewhere each element has its own bound, where
    `evaluate_bounded` takes the program. Outputs hold NaN before, where all of them are stored.
    """
    effort = effort or Effort()
    written = {r.name for stage in program.stages for r in stage.regions if r.role is Role.OUTPUT}
    whole_scalars, scalars = _whole_scalars(program), _scalars(program, parameters)
    whole = exact_whole(program, whole_scalars)
    plan = [one for one in _plan(program, is_exact=whole is not None) if one != (first, 0)]
    plan = (plan[effort.start % len(plan) :] + plan[: effort.start % len(plan)])[: effort.sets(program)] if plan else []
    for content, number in plan:
        is_exact = whole is not None and content in (Content.WHOLE, Content.SPECIAL)
        given = whole_scalars if is_exact else scalars
        inputs = _inputs(program, content, number, seed, given, _INEXACT_WHOLE if whole is None else whole)
        allowed: dict[str, Array] | None = None
        if can_bound(program) and content is not Content.SPECIAL:
            made = evaluate_bounded(program, inputs, given, is_exact=is_exact)
            outputs = {n: a.values for n, a in made.items()}
            if not is_exact:
                allowed = {n: a.allowed for n, a in made.items()}
        else:
            outputs = evaluate_program(program, inputs, given)
        outputs = {n: a for n, a in outputs.items() if n in written}
        in_bf16, tolerance = _in_bf16(program, is_exact=is_exact), 0.0 if is_exact else TOLERANCE
        yield Data(inputs, given, outputs, "evaluation", in_bf16, content, tolerance, allowed, _before(program))


@dataclass(frozen=True, slots=True)
class Effort:
    """How many data sets are worth while."""

    spend_s: float = FURTHER_S
    """CPU seconds, about."""
    run_s: float = 0.0
    """CPU seconds of a run of the kernels, where these are many."""
    most: int = _MOST_SETS
    start: int = 0
    """The set to begin with, where several sizes share them out."""

    def sets(self, program: Program) -> int:
        return min(self.most, int(self.spend_s / (self.run_s + seconds_of(program))))


def seconds_of(program: Program) -> float:
    """CPU seconds that one reference takes, about."""
    instructions = [(stage, i) for stage in program.plain.stages for i in stage.instructions]
    if can_bound(program):
        return 1e-4 * len(instructions) + _BOUNDED_POINT_S * points_of(program.plain)
    carries = [(stage, i.carry) for stage, i in instructions if i.carry is not None]
    steps = sum(prod(stage.axes[a].size for a in carry.reduced) for stage, carry in carries)
    return _STEP_S * (steps + len(instructions)) + _POINT_S * points_of(program.plain)


def _plan(program: Program, *, is_exact: bool) -> list[tuple[Content, int]]:
    """Kinds and numbers of data sets, in the order of what they tell."""
    turns = max((turns_of(r.shape) for r in program.arguments if r.role is Role.INPUT), default=0)
    first = [(Content.RANDOM, 0), (Content.WHOLE, 0)]
    special = [(Content.SPECIAL, n) for n in range(2)] if only_chooses(program) else []
    rounds: list[tuple[Content, int]] = []
    is_bounded = not is_exact and can_bound(program)
    for n in range(min(max(_CHOSEN_SETS if _has_conditions(program) else _LEAST_SETS, turns), _MOST_SETS)):
        later = [(Content.WHOLE, n + 1)]
        if is_bounded:
            later = [(Content.FAR, n), (Content.RANDOM, n + 1), *later, *([(Content.WIDE, 0)] if n == 0 else [])]
        rounds += later
    return [*first, *special, *rounds][:_MOST_SETS]


def _has_conditions(program: Program) -> bool:
    return any(i.operator is Operator.SELECT for stage in program.plain.stages for i in stage.instructions)


def _inputs(
    program: Program, content: Content, number: int, seed: int, scalars: Mapping[str, float], whole: int = 1
) -> dict[str, Array]:
    marks = marks_of(program.plain.stages, scalars)
    return inputs_of(content, number, program.arguments, seed, places_of(program.stages), whole=whole, marks=marks)


def _data(
    program: Program,
    kernel: TensorKernel | None,
    inputs: dict[str, Array],
    scalars: Mapping[str, float],
    content: Content,
    budget_s: float | None,
) -> Data:
    points, is_exact = points_of(program), content is Content.WHOLE
    outputs: dict[str, Array] = {}
    reference, allowed = "", None
    if kernel is not None and (budget_s is None or points <= budget_s * COMPUTED_PER_S):
        outputs, reference = kernel.reference(inputs, scalars), "NumPy"
    evaluated_points = EVALUATED if budget_s is None else min(EVALUATED, budget_s * EVALUATED_PER_S)
    if points <= evaluated_points and (kernel is None or len(program.stages) > 1):
        evaluated = evaluate_program(program, inputs, scalars)
        outputs, reference = evaluated | outputs, reference or "evaluation"
        is_few = points * _BOUNDED_POINT_S <= evaluated_points * _POINT_S
        if is_few and not is_exact and converts_to_integers(program) and can_bound(program):
            allowed = {n: a.allowed for n, a in evaluate_bounded(program, inputs, scalars).items()}
    tolerance = 0.0 if is_exact else TOLERANCE
    return Data(inputs, scalars, outputs, reference, _in_bf16(program, is_exact=is_exact), content, tolerance, allowed)


def _in_bf16(program: Program, *, is_exact: bool) -> frozenset[str]:
    return frozenset() if is_exact else frozenset(r.name for r in program.arguments if r.dtype == bf16)


def _scalars(program: Program, known: Mapping[str, float]) -> dict[str, float]:
    """The known ones; others differ from each other, so that one in another's place shows."""
    return {p.name: known.get(p.name, 1.5 + 0.25 * n) for n, p in enumerate(program.parameters)}


def _whole_scalars(program: Program) -> dict[str, float]:
    return {p.name: 2.0 + n for n, p in enumerate(program.parameters)}


def _before(program: Program) -> dict[str, Array]:
    """NaN, and numbers that are no likely results, for arrays of which every element is stored."""
    found: dict[str, Array] = {}
    for region in program.arguments:
        if region.role is not Role.INPUT and stores_all(program, region.name):
            dtype = to_numpy(region.dtype)
            found[region.name] = np.full(region.elements, np.nan if region.dtype.is_float else 85, dtype)
    return found


def stage_arrays(stage: Backbone, data: Data) -> dict[str, Array] | None:
    """Arrays that a stage reads; None where an earlier stage would have to be run first."""
    known = {**data.outputs, **data.inputs}
    read = [r.name for r in stage.regions if r.role is Role.INPUT]
    return {name: known[name] for name in read} if all(name in known for name in read) else None
