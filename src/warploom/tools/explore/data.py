"""Arrays on which the kernels of `explore` run, and the outputs that they are compared with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import Backbone, Program, Role, evaluate_program, random_inputs
from warploom.tools.command.outcome import Progress
from warploom.tools.explore.options import Function, KernelOptions, points_of

Array: TypeAlias = NDArray[Any]

EVALUATED = 3_000_000_000
"""Points of instructions that the reference evaluation is asked for at most; above it, only kernels with a NumPy reference are
checked at their own size."""
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


def reference_data(function: Function, program: Program, options: KernelOptions, progress: Progress) -> Data:
    """Inputs and outputs where something is run on them at these sizes. UserError (SIZES) where memory does not hold them."""
    if not options.is_measured:
        return Data({}, {}, {}, "")
    needed = _COPIES * sum(region.elements * max(8, region.dtype.size_bytes) for region in program.arguments)
    if needed > (memory := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")):
        message = f"expected arrays that fit {memory / 1e9:.3g} GB of memory, got about {needed / 1e9:.3g} GB with their copies"
        raise UserError(Diagnostic("SIZES", message, fix="Give smaller sizes."))
    progress("computing the reference")
    kernel = function if isinstance(function, TensorKernel) else None
    try:
        return data_for(program, kernel, options.seed)
    except MemoryError as error:
        raise UserError(
            Diagnostic("SIZES", f"expected arrays that fit in memory, got: {error}", fix="Give smaller sizes.")
        ) from error


def data_for(program: Program, kernel: TensorKernel | None, seed: int) -> Data:
    """Random inputs of every array the program reads, and its outputs."""
    scalars = {p.name: 1.5 if kernel is None else dict(kernel.parameters).get(p.name, 1.5) for p in program.parameters}
    inputs = random_inputs(program.arguments, seed)
    points = points_of(program)
    outputs: dict[str, Array] = {}
    reference = ""
    if kernel is not None:
        outputs, reference = kernel.reference(inputs, scalars), "NumPy"
    if points <= EVALUATED and (kernel is None or len(program.stages) > 1):
        evaluated = evaluate_program(program, inputs, scalars)
        outputs, reference = evaluated | outputs, reference or "evaluation"
    return Data(inputs, scalars, outputs, reference)


def stage_arrays(stage: Backbone, data: Data) -> dict[str, Array] | None:
    """Arrays that a stage reads; None where an earlier stage would have to be run first."""
    known = {**data.outputs, **data.inputs}
    read = [r.name for r in stage.regions if r.role is Role.INPUT]
    return {name: known[name] for name in read} if all(name in known for name in read) else None
