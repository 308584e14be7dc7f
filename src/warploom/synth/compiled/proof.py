"""Verdict on one launch of a PTX kernel: no fault, and every element as the spec wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from warploom.core import DType
from warploom.ptx import Program, Routine
from warploom.synth.compiled.comparison import Comparison, Difference, Element
from warploom.synth.compiled.exchanges import RECONVERGED
from warploom.synth.compiled.execution import Argument, ArrayArgument, ScalarArgument, Symbol, SymbolicRun, run_symbolically
from warploom.synth.compiled.faults import Fault, FaultError, Triple
from warploom.terms import Algebra, Term, algebra_for

_WIDE = frozenset({"u64", "s64", "b64"})


@dataclass(frozen=True, slots=True)
class CompiledProof:
    """What is known about a compiled kernel."""

    verdict: Literal["proved", "refuted", "unchecked"]
    """unchecked: no law of the algebra makes some element equal to what is wanted, and no numbers tell them apart."""
    domain: str
    """With `proved`: over what."""
    reason: str = ""
    difference: Difference | None = None
    fault: Fault | None = None
    instances: tuple[tuple[tuple[str, int], ...], ...] = ()
    """Run-time sizes at which it was run; empty for a kernel without any."""
    seconds: float = 0.0
    """CPU seconds."""
    thread_steps: int = 0
    """Instructions executed, summed over the threads of all instances."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one array must hold after the launch."""

    terms: npt.NDArray[np.object_]
    """None: any value."""
    stored: npt.NDArray[np.bool_]
    """Which elements the spec stored to."""
    algebra: Algebra


def prove_launch(
    program: Program,
    kernel: str | None,
    arguments: tuple[Argument, ...],
    grid: Triple,
    block: Triple,
    wanted: Mapping[str, Wanted],
    *,
    dynamic_shared_bytes: int = 0,
    symbols: Mapping[str, Symbol] | None = None,
    replaced: Callable[[Term], Term] | None = None,
) -> CompiledProof:
    """Runs the launch on symbols and compares every array with what is wanted of it.

    A kernel that compares 64-bit numbers is proved with the arrays in the opposite order, too. One that asks for activemask is
    proved again with each thread alone; where that fails, the domain says that threads are
    taken to reconverge. replaced: applied to what the kernel computed, for elements that are known to hold something else than a
    symbol of their own. symbols: see `run_symbolically`; arrays among them are compared, too.
    UserError and UnsupportedError as `run_symbolically`.
    """
    once = partial(_prove_once, program, kernel, arguments, grid, block, wanted, dynamic_shared_bytes, symbols or {}, replaced)
    proof = once(is_alone=False)
    if proof.verdict == "proved" and _compares_addresses(program.kernel(kernel)):
        turned = once(is_alone=False, is_turned=True)
        if turned.verdict != "proved":
            reason = f"it depends on where the arrays lie in memory: with all of them in the opposite order {turned.reason}"
            return replace(turned, verdict="unchecked", domain="", reason=reason)
    if proof.verdict != "proved" or RECONVERGED not in proof.domain:
        return proof
    alone = once(is_alone=True)
    steps = proof.thread_steps + alone.thread_steps
    if alone.verdict != "proved":
        return replace(proof, thread_steps=steps)
    return replace(proof, domain=proof.domain.replace(RECONVERGED, "activemask: threads together or alone"), thread_steps=steps)


def _prove_once(
    program: Program,
    kernel: str | None,
    arguments: tuple[Argument, ...],
    grid: Triple,
    block: Triple,
    wanted: Mapping[str, Wanted],
    dynamic_shared_bytes: int,
    symbols: Mapping[str, Symbol],
    replaced: Callable[[Term], Term] | None,
    *,
    is_alone: bool,
    is_turned: bool = False,
) -> CompiledProof:
    try:
        run = run_symbolically(
            program, kernel, arguments, grid, block, dynamic_shared_bytes=dynamic_shared_bytes, symbols=symbols,
            is_alone=is_alone, is_turned=is_turned,
        )  # fmt: skip
    except FaultError as error:
        return CompiledProof("refuted", "", error.fault.message, fault=error.fault)
    variables = tuple(s for s in symbols.values() if isinstance(s, ArrayArgument))
    everything = (*arguments, *variables)
    types: dict[str, DType] = {a.name: a.dtype for a in everything}
    domains: list[str] = []
    worst = CompiledProof("proved", "", thread_steps=run.thread_steps)
    for argument in everything:
        if isinstance(argument, ScalarArgument) or argument.name not in wanted:
            continue
        want = wanted[argument.name]
        comparison = Comparison(want.algebra, types, run.data.ordered_kinds)
        outcome = comparison.compare(_elements(run, argument, want, replaced), run.data.kinds)
        domains += [want.algebra.domain_of(outcome.operators), *sorted(comparison.notes)]
        if outcome.verdict == "different":
            told = str(outcome.difference)
            return replace(worst, verdict="refuted", reason=told, difference=outcome.difference)
        if outcome.verdict == "open":
            worst = replace(worst, verdict="unchecked", reason=outcome.reason, difference=outcome.difference)
    for kind, partial in run.data.partial.items():
        comparison = Comparison(algebra_for(kind), types, ())
        if undefined := comparison.without_value(partial):
            worst = replace(worst, verdict="unchecked", reason=undefined)
        domains += sorted(comparison.notes)
    return replace(worst, domain=joined_domain([*dict.fromkeys(domains), *run.notes, *run.unnamed_stores(everything)]))


def _compares_addresses(routine: Routine) -> bool:
    """Whether 64-bit numbers, which may be addresses, are compared."""
    return any(
        i.opcode in ("setp", "set", "min", "max", "slct") and not _WIDE.isdisjoint(i.modifiers) for i in routine.instructions
    )


def joined_domain(parts: list[str]) -> str:
    """Domains of several arrays or instances in one text; moving alone says nothing beside more."""
    kept = list(dict.fromkeys(p for text in parts for p in text.split(", ")))
    more = [p for p in kept if p != "elements moved unchanged"]
    return ", ".join(more or kept)


def _elements(
    run: SymbolicRun, argument: ArrayArgument, want: Wanted, replaced: Callable[[Term], Term] | None
) -> Iterator[Element]:
    """Every element that the kernel or the spec stored."""
    written = run.written(argument)
    flat: list[Any] = want.terms.ravel().tolist()
    stored: list[bool] = want.stored.ravel().tolist()
    for k in range(argument.count):
        term: Term | None = flat[k]
        if (k not in written and not stored[k]) or term is None:
            continue
        index = tuple(int(i) for i in np.unravel_index(k, argument.shape))
        got = None if k not in written and argument.content == "undefined" else run.content(argument, k)
        if replaced is not None and isinstance(got, Term):
            got = replaced(got)
        line = run.routine.span(written[k]).line if k in written else None
        yield Element(argument.name, index, argument.dtype, term, got, line)
