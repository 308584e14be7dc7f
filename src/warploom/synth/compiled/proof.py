"""Verdict on one launch of a PTX kernel: no fault, and every element as the spec wants it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from warploom.core import DType
from warploom.ptx import Program
from warploom.synth.compiled.arithmetic import NotFollowedError
from warploom.synth.compiled.cases import MOST_CASES, Cases, Facts, UndecidedError, decided, paths
from warploom.synth.compiled.comparison import Comparison, Difference, Element
from warploom.synth.compiled.exchanges import RECONVERGED
from warploom.synth.compiled.execution import Argument, ArrayArgument, Symbol, SymbolicRun, run_symbolically
from warploom.synth.compiled.faults import Fault, FaultError, Triple
from warploom.synth.compiled.gathers import Gathers
from warploom.synth.compiled.index_arrays import IndexArrays
from warploom.synth.compiled.operands import WARP_NUMBER
from warploom.synth.compiled.placed import is_about_places
from warploom.terms import Algebra, Term, algebra_for, atom, iterate_post

_MOST_ORDERED = 3
"""Arrays whose orders in memory are all tried."""


@dataclass(frozen=True, slots=True)
class CompiledProof:
    """Verdict on a compiled kernel, with its reason."""

    verdict: Literal["proved", "refuted", "unchecked"]
    """unchecked: no law of the algebra makes some element equal to what is wanted, and no numbers tell them apart."""
    domain: str
    """Domain of a claim that is `proved`."""
    reason: str = ""
    difference: Difference | None = None
    fault: Fault | None = None
    instances: tuple[tuple[tuple[str, int], ...], ...] = ()
    """Run-time sizes at which it was run; empty for a kernel without any."""
    seconds: float = 0.0
    """CPU seconds."""
    thread_steps: int = 0
    """Instructions executed, summed over the threads of all instances."""
    ordered: frozenset[str] = frozenset()
    """Variables whose order in memory decided something."""


@dataclass(slots=True)
class Wanted:
    """The content that one array must have after the launch."""

    terms: npt.NDArray[np.object_]
    """None: any value."""
    stored: npt.NDArray[np.bool_]
    """Flags of the elements that the spec stored to."""
    algebra: Algebra
    kinds: Mapping[Term, DType] | None = None
    """The types in which the terms are computed, where they are the machine's; None: a spec on real numbers, or one of which
    `terms.Stored` wrote out the conversions."""
    ordered_kinds: frozenset[DType] = frozenset()
    """Types of integers in which the terms take a smaller or larger value or shift to the right."""
    notes: set[str] = field(default_factory=set[str])
    """Statements of the domain about the data for which the spec has a meaning."""
    gathers: Gathers | IndexArrays | None = None
    """The elements that the spec reads at indices from data."""
    of_some: Mapping[int, Term] | None = None
    """In place of `terms`: what the spec stores, by element, of which the run need only have stored some."""


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

    A kernel that looks at the order of arrays in memory is proved in every order of them. One that asks for activemask is
    proved again with each thread alone; where that fails, the domain says that threads are
    taken to reconverge. replaced: applied to what the kernel computed, for elements that are known to hold something else than a
    symbol of their own. symbols: see `run_symbolically`; arrays among them are compared, too.
    UserError and UnsupportedError as `run_symbolically`.
    """
    once = partial(_prove_once, program, kernel, arguments, grid, block, wanted, dynamic_shared_bytes, symbols or {}, replaced)
    proof = once(is_alone=False)
    if proof.verdict == "proved" and proof.ordered:
        proof = _in_every_order(proof, [a.name for a in arguments], partial(once, is_alone=False))
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
    order: tuple[str, ...] = (),
) -> CompiledProof:
    try:
        run = run_symbolically(
            program, kernel, arguments, grid, block, dynamic_shared_bytes=dynamic_shared_bytes, symbols=symbols,
            is_alone=is_alone, order=order, gathers=_gathers(wanted),
        )  # fmt: skip
    except FaultError as error:
        return _sure(CompiledProof("refuted", "", error.fault.message, fault=error.fault), error.assumed)
    variables = tuple(s for s in symbols.values() if isinstance(s, ArrayArgument))
    return judged(run, (*arguments, *variables), wanted, replaced)


def prove_by_cases(
    program: Program, kernel: str, arguments: tuple[Argument, ...], wanted: Mapping[str, Wanted]
) -> CompiledProof:  # fmt: skip
    """Like `prove_launch`, for one thread that may branch on integers of data: path by path, and case by case of what is
    wanted."""
    alone = (1, 1, 1)
    floats = {a.name for a in arguments if a.dtype.is_float}
    terms = [
        t for want in wanted.values() for root in want.terms.ravel().tolist() if root is not None for t in iterate_post(root)
    ]
    if any(t.op == "atom" and t.data[0] in floats for t in terms):
        return CompiledProof("unchecked", "", "choices on floats, which may be no numbers, are not cut into cases")
    domains: list[str] = []
    found = 0

    def run(cases: Cases) -> SymbolicRun:
        return run_symbolically(program, kernel, arguments, alone, alone, cases=cases)

    try:
        for facts, path in paths(run):
            pending = [facts]
            while pending:
                case = pending.pop()
                found += 1
                if found > MOST_CASES:
                    return CompiledProof("unchecked", "", f"it has more than {MOST_CASES} cases")
                proof = CompiledProof("unchecked", "")
                try:
                    for all_of in ("choices", "extrema"):
                        here = {name: _decided(want, case, all_of) for name, want in wanted.items()}
                        replaced = partial(decided, facts=case, kinds=path.data.kinds, made=path.data.made)
                        proof = judged(path, arguments, here, replaced)
                        if proof.verdict == "proved":
                            break
                except UndecidedError as error:
                    for is_so in (True, False):
                        other = case.copy()
                        pending += [other] if other.add(error.comparison, is_so) else []
                    continue
                if proof.verdict != "proved":
                    return replace(proof, verdict="unchecked", domain="", reason=f"in one case {proof.reason}", difference=None)
                domains.append(proof.domain)
    except FaultError as error:
        return CompiledProof("unchecked", "", error.fault.message)
    except NotFollowedError as error:
        return CompiledProof("unchecked", "", str(error))
    return CompiledProof("proved", joined_domain(domains))


def _decided(want: Wanted, facts: Facts, all_of: str) -> Wanted:
    kinds = dict(want.kinds or {})
    made = kinds.__setitem__

    def choose(term: Term) -> Term:
        return decided(term, facts, kinds, lambda t, kind: made(t, kind) or t, all_of=all_of)

    terms = np.array([t if t is None else choose(t) for t in want.terms.ravel().tolist()], object).reshape(want.terms.shape)
    return replace(want, terms=terms, kinds=None if want.kinds is None else kinds)


def judged(
    run: SymbolicRun,
    everything: tuple[Argument, ...],
    wanted: Mapping[str, Wanted],
    replaced: Callable[[Term], Term] | None = None,
    *,
    is_shown: bool = True,
) -> CompiledProof:
    """Compares the arrays after a run without a fault with what is wanted there; is_shown as of `Comparison.compare`."""
    types: dict[str, DType] = {a.name: a.dtype for a in everything}
    domains: list[str] = []
    worst = CompiledProof("proved", "", thread_steps=run.thread_steps, ordered=run.ordered)
    for argument in everything:
        if not isinstance(argument, ArrayArgument) or argument.name not in wanted:
            continue
        want = wanted[argument.name]
        comparison = Comparison(want.algebra, types, run.data.ordered_kinds | want.ordered_kinds, want.gathers)
        elements = _elements(run, argument, want, replaced)
        outcome = comparison.compare(elements, run.data.kinds, want.kinds, is_shown=is_shown)
        domains += [*comparison.domain(outcome), *sorted(want.notes)]
        if outcome.verdict == "different":
            told = str(outcome.difference)
            return _sure(replace(worst, verdict="refuted", reason=told, difference=outcome.difference), run.notes)
        if outcome.verdict == "open":
            worst = replace(worst, verdict="unchecked", reason=outcome.reason, difference=outcome.difference)
    undefined, notes = without_value(run, types)
    if undefined:
        worst = replace(worst, verdict="unchecked", reason=undefined)
    domains += notes
    return replace(worst, domain=joined_domain([*dict.fromkeys(domains), *run.notes, *run.unnamed_stores(everything)]))


def without_value(run: SymbolicRun, types: Mapping[str, DType]) -> tuple[str, list[str]]:
    """Why operations of a run have a value for no data (empty: they have one), and for which data they have."""
    reason, domains = "", list[str]()
    for kind, operations in run.data.partial.items():
        comparison = Comparison(algebra_for(kind), types, ())
        reason = comparison.without_value(map(run.data.expanded, operations)) or reason
        domains += sorted(comparison.notes)
    return reason, domains


def _gathers(wanted: Mapping[str, Wanted]) -> Gathers | IndexArrays | None:
    return next((w.gathers for w in wanted.values() if w.gathers is not None), None)


def _sure(refuted: CompiledProof, assumed: Collection[str]) -> CompiledProof:
    """The refutation, where it does not rest on numbers of warps that hardware need not give."""
    if WARP_NUMBER not in assumed:
        return refuted
    reason = f"it depends on %warpid, which hardware numbers as it likes; by the thread's number: {refuted.reason}"
    return replace(refuted, verdict="unchecked", reason=reason, fault=None, difference=None)


def _in_every_order(proof: CompiledProof, arrays: list[str], once: Callable[..., CompiledProof]) -> CompiledProof:
    """The proof again with the arrays whose order was looked at in every other one."""
    done: set[tuple[str, ...]] = set()
    names, steps, domains = proof.ordered, proof.thread_steps, [proof.domain]
    while len(names) <= _MOST_ORDERED:
        done.add(tuple(a for a in arrays if a in names))  # as they lay at first
        order = next((o for o in permutations(sorted(names)) if o not in done), None)
        if order is None:
            return replace(proof, thread_steps=steps, domain=joined_domain(domains))
        done.add(order)
        other = once(order=order)
        steps += other.thread_steps
        if other.verdict != "proved":
            reason = f"it depends on where the arrays lie in memory: with {', '.join(order)} in this order {other.reason}"
            return replace(other, verdict="unchecked", domain="", reason=reason)
        names |= other.ordered
        domains.append(other.domain)
    reason = f"it depends on where the arrays lie in memory, in the order of more than {_MOST_ORDERED}"
    return replace(proof, verdict="unchecked", domain="", reason=reason)


def joined_domain(parts: list[str]) -> str:
    """Domains of several arrays or instances in one text; moving alone says nothing beside more."""
    kept = list(dict.fromkeys(p for text in parts for p in text.split(", ") if p))
    more = [p for p in kept if p != "elements moved unchanged"]
    return ", ".join(kept if all(map(is_about_places, more)) else more)


def _elements(
    run: SymbolicRun, argument: ArrayArgument, want: Wanted, replaced: Callable[[Term], Term] | None
) -> Iterator[Element]:
    """Every element that the kernel or the spec stored."""
    written = run.written(argument)
    if want.of_some is not None:
        for k in sorted(written):
            wanted = want.of_some.get(k)
            term = atom(argument.name, (k,)) if wanted is None else wanted
            found = run.content(argument, k)
            found = replaced(found) if replaced is not None and isinstance(found, Term) else found
            yield Element(argument.name, (k,), argument.dtype, term, found, run.routine.span(written[k]).line)
        return
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
