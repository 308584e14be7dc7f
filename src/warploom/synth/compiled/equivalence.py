"""Decides whether two PTX kernels leave the same in memory: a rewritten file against the original, on symbols."""

from __future__ import annotations

import numpy as np

from warploom.core import scalar_of
from warploom.ptx import Program
from warploom.synth.compiled.data import Undefined
from warploom.synth.compiled.execution import Argument, ArrayArgument, SymbolicRun, run_symbolically
from warploom.synth.compiled.faults import FaultError, Triple
from warploom.synth.compiled.proof import CompiledProof, Wanted, prove_launch
from warploom.terms import algebra_for


def prove_equivalent(
    original: Program,
    rewritten: Program,
    kernel: str | None,
    arguments: tuple[Argument, ...],
    grid: Triple,
    block: Triple,
    *,
    dynamic_shared_bytes: int = 0,
) -> CompiledProof:
    """Whether `rewritten` stores what `original` stores in this launch, under the laws of the elements' types.

    A launch in which the original itself has a fault is `unchecked`. UserError and UnsupportedError as `run_symbolically`.
    """
    try:
        run = run_symbolically(original, kernel, arguments, grid, block, dynamic_shared_bytes=dynamic_shared_bytes)
    except FaultError as error:
        return CompiledProof("unchecked", "", f"the original has a fault: {error.fault.message}", fault=error.fault)
    wanted = {a.name: _left_in(run, a) for a in arguments if isinstance(a, ArrayArgument)}
    return prove_launch(
        rewritten, kernel, arguments, grid, block, wanted, dynamic_shared_bytes=dynamic_shared_bytes
    )  # fmt: skip


def _left_in(run: SymbolicRun, argument: ArrayArgument) -> Wanted:
    """The array as the original left it; elements that it leaves undefined may hold anything."""
    terms = np.empty(argument.count, dtype=object)
    stored = np.zeros(argument.count, dtype=bool)
    written = run.written(argument)
    stored[list(written)] = True
    for k in range(argument.count):
        content = run.content(argument, k)
        terms[k] = None if isinstance(content, Undefined) else content
    laws = algebra_for(scalar_of(argument.dtype))
    return Wanted(terms.reshape(argument.shape), stored.reshape(argument.shape), laws, run.data.kinds)
