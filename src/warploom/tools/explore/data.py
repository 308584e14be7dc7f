"""Arrays on which the kernels of `explore` run, and the outputs that they are compared with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError, bf16
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import Backbone, Program, Role, evaluate_program, places_of, random_inputs
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
    kernel = function if isinstance(function, TensorKernel) else None
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
    return data_for(program, function if isinstance(function, TensorKernel) else None, seed)


def data_for(program: Program, kernel: TensorKernel | None, seed: int, budget_s: float | None = None) -> Data:
    """Random inputs of every array the program reads, and its outputs where they take no longer than the budget."""
    scalars = {p.name: 1.5 if kernel is None else dict(kernel.parameters).get(p.name, 1.5) for p in program.parameters}
    inputs = random_inputs(program.arguments, seed, places_of(program.stages))
    points = points_of(program)
    outputs: dict[str, Array] = {}
    reference = ""
    if kernel is not None and (budget_s is None or points <= budget_s * COMPUTED_PER_S):
        outputs, reference = kernel.reference(inputs, scalars), "NumPy"
    evaluated_points = EVALUATED if budget_s is None else min(EVALUATED, budget_s * EVALUATED_PER_S)
    if points <= evaluated_points and (kernel is None or len(program.stages) > 1):
        evaluated = evaluate_program(program, inputs, scalars)
        outputs, reference = evaluated | outputs, reference or "evaluation"
    return Data(inputs, scalars, outputs, reference, frozenset(r.name for r in program.arguments if r.dtype == bf16))


def stage_arrays(stage: Backbone, data: Data) -> dict[str, Array] | None:
    """Arrays that a stage reads; None where an earlier stage would have to be run first."""
    known = {**data.outputs, **data.inputs}
    read = [r.name for r in stage.regions if r.role is Role.INPUT]
    return {name: known[name] for name in read} if all(name in known for name in read) else None
