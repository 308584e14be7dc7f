"""Decides whether two PTX kernels leave the same in memory: a rewritten file against the original, on symbols."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warploom.core import scalar_of
from warploom.ptx import Program
from warploom.synth.compiled.data import Undefined
from warploom.synth.compiled.execution import Argument, ArrayArgument, SymbolicRun, run_symbolically
from warploom.synth.compiled.faults import FaultError, Triple
from warploom.synth.compiled.proof import CompiledProof, Wanted, joined_domain, prove_launch, without_value
from warploom.terms import algebra_for

ANYTHING = "what the first leaves undefined may be anything"


def prove_equivalent(
    original: Program,
    rewritten: Program,
    kernel: str | None,
    arguments: tuple[Argument, ...],
    grid: Triple,
    block: Triple,
    *,
    dynamic_shared_bytes: int = 0,
    other_kernel: str | None = None,
    other_launch: tuple[Triple, Triple, int] | None = None,
) -> CompiledProof:
    """Whether `rewritten` stores what `original` stores in this launch, under the laws of the elements' types.

    A launch in which the original itself has a fault is `unchecked`, and so is one whose results depend on where the arrays lie.
    other_kernel: name of the rewritten kernel; None: the same. other_launch: its grid, block and bytes of dynamic shared memory,
    where they are others. UserError and UnsupportedError as `run_symbolically`.
    """
    try:
        run = run_symbolically(original, kernel, arguments, grid, block, dynamic_shared_bytes=dynamic_shared_bytes)
    except FaultError as error:
        return CompiledProof("unchecked", "", f"the original has a fault: {error.fault.message}", fault=error.fault)
    if run.ordered:
        return CompiledProof("unchecked", "", f"the original depends on where {', '.join(sorted(run.ordered))} lie in memory")
    wanted = {a.name: _left_in(run, a) for a in arguments if isinstance(a, ArrayArgument)}
    undefined, domains = without_value(run, {a.name: a.dtype for a in arguments})
    other_grid, other_block, other_bytes = other_launch or (grid, block, dynamic_shared_bytes)
    proof = prove_launch(
        rewritten, other_kernel or kernel, arguments, other_grid, other_block, wanted, dynamic_shared_bytes=other_bytes
    )
    if proof.verdict != "proved":
        return proof
    if undefined:
        return replace(proof, verdict="unchecked", domain="", reason=f"the original: {undefined}")
    if any(w.terms[w.stored].tolist().count(None) for w in wanted.values()):
        domains.append(ANYTHING)
    return replace(proof, domain=joined_domain([proof.domain, *domains, *run.notes, *run.unnamed_stores(arguments)]))


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
