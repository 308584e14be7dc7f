"""The lift: a completed kernel with run-time sizes meets its spec for every size, not only the one it was completed at.

Proved, with block numbers and sizes symbolic and thread numbers concrete: every access lies inside its array, every element that
the spec stores is stored by exactly one thread of the grid, no other element is, and the values are equal. What is outside of the
supported form is `unchecked` with the reason; a fault is `refuted` only when the kernel also fails at a concrete witness size.
Source: Swizzle Inventor, section 2, Listing 3 (the kernel around the bounded part), which is not proved there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, Literal

from warploom.core import Diagnostic, UserError
from warploom.core.launch import INT_MAX
from warploom.core.linear import Linear, variable
from warploom.gpu import safe_sizes
from warploom.ir import Kernel, Param
from warploom.sketch import Sketch, TermSpec, parse_spec
from warploom.solve import Constraint, Formula, Sat, conjunction, disjunction, negation
from warploom.synth.lift.affine import UnliftableError
from warploom.synth.lift.conditions import Conditions
from warploom.synth.lift.coverage import Residues, match, quotient
from warploom.synth.lift.generic_block import GenericBlock
from warploom.synth.lift.generic_index import GenericIndex
from warploom.synth.lift.sizes import elements, spec_constants, telling_sizes, untested_constant
from warploom.synth.lift.trace import Demand, Event, Trace
from warploom.synth.lift.values import FaultError, Values
from warploom.synth.proof.check import check
from warploom.synth.proof.prove import Proof, prove
from warploom.terms import Algebra, FormTooLargeError, Usage, algebra_for, element_text

_ZERO = Linear((), 0)
_LARGEST_WITNESS = 20_000
"""Array elements of a size at which a fault is confirmed by running the kernel."""
_NEAR = 4
"""Sizes next to the instance, per run-time size, that are tried before the solver's witness."""
_LARGEST_REPLAY = 400_000
"""Array elements of the size that the solver names, where nothing smaller shows the fault."""
_WITNESSES = (0, 1, 2, 8, 64, *(1 << k for k in range(10, 31)), INT_MAX)
"""Sizes up to which the solver is asked for a witness."""
_LARGEST_PROOF = 2_000
"""Array elements up to which that run is symbolic."""
_MOST_TESTED = 60_000
"""Array elements of all sizes together at which a kernel without a proof for every size is tested."""


@dataclass(frozen=True, slots=True)
class LiftResult:
    """Claim about a kernel at all sizes, or the reason why there is none."""

    verdict: Literal["proved", "refuted", "unchecked"]
    domain: str
    """Domain of a claim that is `proved`: sizes and elements."""
    reason: str = ""
    """The fault, if refuted; why nothing is known, if unchecked."""
    witness: tuple[tuple[str, int], ...] = ()
    """Sizes at which the kernel fails, if it is `refuted`."""
    diagnostics: tuple[Diagnostic, ...] = ()
    doubt: str = ""
    """Reason why the kernel may be wrong at sizes that were not run, if it is `unchecked`."""


def lift(sketch: Sketch, kernel: Kernel) -> LiftResult:
    """Proof that `kernel`, the completed sketch, computes the spec for all sizes that its 32-bit indices and a launch allow."""
    spec = sketch.spec
    if spec is None:
        return LiftResult("unchecked", "", "the sketch has no spec")
    if isinstance(spec, TermSpec):
        return LiftResult("unchecked", "", "arrays of terms say what one size must give, not every size")
    attempt = _Lift(sketch, kernel, spec)
    if not kernel.sizes:
        proof = attempt.prove_at({})
        reason = proof.reason or "no run-time size: the bounded proof is the whole proof"
        return LiftResult(proof.verdict, proof.domain, reason, (), proof.diagnostics)
    try:
        domains = attempt.run()
    except (UnliftableError, FormTooLargeError) as error:
        return attempt.not_proved(str(error))
    except FaultError as fault:
        return attempt.confirmed(fault)
    if attempt.unknown:
        return attempt.not_proved(attempt.unknown)
    limits = safe_sizes(kernel)
    if limits.unbounded:
        return attempt.not_proved(limits.unbounded)
    if not limits.holds(attempt.instance):
        at = _sizes_text(attempt.instance)
        doubt = f"32-bit indices or the grid may be too small at {at}: they are known to hold for {limits.text} only"
        return LiftResult("unchecked", "", doubt, doubt=doubt)
    return LiftResult("proved", f"{', '.join(domains)}; {limits.text}")


class _Lift:
    """One kernel and its spec."""

    def __init__(self, sketch: Sketch, kernel: Kernel, spec: Callable[..., Any]) -> None:
        self.sketch = sketch
        self.kernel = kernel
        self.spec = spec
        self.unknown = ""
        self.instance = {s: sketch.complete_at.get(s, 1) for s in kernel.sizes}
        self._facts: list[Constraint] = []
        self._conditions: Conditions | None = None

    def algebra(self, param: Param) -> Algebra:
        operators = {o.name: o.identity for o in self.kernel.operators}
        return algebra_for(param.dtype, self.sketch.algebra, operators)

    # ------------------------------------------------------------ the proof

    def run(self) -> list[str]:
        """Domains of the proof, one per kind of output. Raises UnliftableError or FaultError."""
        indices, blocks = self._grid()
        launched = list(indices.facts)
        trace = GenericBlock(self.kernel, indices, is_spec=False).run()
        try:
            source = parse_spec(self.spec, self.kernel)
        except UserError as error:  # it runs as Python, but not for every size at once
            raise UnliftableError("; ".join(f"{d.span}: {d.message}" for d in error.diagnostics[:1])) from error
        spec_indices = GenericIndex(source, (_ZERO, _ZERO, _ZERO))
        wanted = GenericBlock(source, spec_indices, is_spec=True).run()
        _check_initial_reads(wanted)
        self._facts = [*launched, *indices.facts, *spec_indices.facts]
        self._facts += [Constraint(variable(s).scaled(-1)) for s in self.kernel.sizes]
        self._facts += [Constraint(variable(s).shifted(-INT_MAX)) for s in self.kernel.sizes]
        natural = [*self.kernel.sizes, *indices.natural, *spec_indices.natural]
        natural += [quotient(p.name, d) for p in self.kernel.params for d in range(len(p.shape))]
        conditions = self._conditions = Conditions(self._facts, natural)
        in_grid = conjunction(part for name, extent in blocks.items() for part in _in_range(extent, name))

        @cache
        def launched_at(guard: Formula) -> Formula:
            """One formula for all events under one guard."""
            return conjunction([in_grid, guard])

        self._check_demands(wanted.demands, lambda guard: guard, conditions, "the spec accesses ")
        self._check_demands(trace.demands, launched_at, conditions, "")
        self._check_output_reads(trace, in_grid, conditions)
        domains: dict[str, None] = {}
        for param in self.kernel.params:
            if param.is_output:
                events = [replace(e, guard=launched_at(e.guard)) for e in trace.events if e.array == param.name]
                cells, quotients = wanted.cells.get(param.name, {}), (indices.quotients, spec_indices.quotients)
                residues = match(param.name, events, cells, list(blocks), *quotients, self.kernel.sizes)
                self._check_free_blocks(events, blocks, conditions)
                used = self._check_array(param, residues, conditions)
                domains[used.domain(self.algebra(param))] = None
        self.unknown = conditions.unknown
        return list(domains)

    def _grid(self) -> tuple[GenericIndex, dict[str, Linear[str]]]:
        """Indices of the generic block, and the extent of the grid per block symbol."""
        indices = GenericIndex(self.kernel, (_ZERO, _ZERO, _ZERO))
        symbols: list[Linear[str]] = []
        blocks: dict[str, Linear[str]] = {}
        for axis, extent in zip("xyz", self.kernel.grid, strict=True):
            form = indices.size_form(extent)
            name = f"block.{axis}"
            if form == Linear((), 1):
                symbols.append(_ZERO)
            else:
                symbols.append(variable(name))
                blocks[name] = form
        indices.symbols_of_grid = (symbols[0], symbols[1], symbols[2])
        indices.natural += blocks
        return indices, blocks

    def _check_demands(
        self, demands: list[Demand], launched_at: Callable[[Formula], Formula], conditions: Conditions, who: str
    ) -> None:
        open_demands: list[tuple[Demand, Formula]] = []
        for demand in demands:
            guard = launched_at(demand.guard)
            if not conditions.is_seen(guard, negation(demand.faulty)):
                open_demands.append((demand, conjunction([guard, demand.faulty])))
        if not _none_can_hold([f for _, f in open_demands], conditions):
            for demand, formula in open_demands:
                if not conditions.is_impossible(formula):
                    raise FaultError(f"{who}{demand.text}: not always", formula)

    def _check_output_reads(self, trace: Trace, in_grid: Formula, conditions: Conditions) -> None:
        """Old content may be read by the thread that stores the element; that none is stored twice is asked of every array."""
        for read in trace.output_reads:
            own = [e.guard for e in trace.events if (e.array, e.thread, e.place) == (read.array, read.thread, read.place)]
            if not conditions.under(conjunction([in_grid, read.guard]))(disjunction(own)):
                element = element_text(read.array, read.place)
                raise UnliftableError(f"{read.span}: the kernel reads {element} of its output, which another thread may store")

    def _check_free_blocks(self, events: list[Event], blocks: Mapping[str, Linear[str]], conditions: Conditions) -> None:
        """Blocks that differ in a number no store depends on would all store the same elements."""
        for event in events:
            used = {name for form in event.place for name, _ in form.terms}
            for name, extent in blocks.items():
                several = conjunction([event.guard, Constraint(extent.scaled(-1).shifted(2))])
                if name not in used and not conditions.is_impossible(several):
                    raise FaultError(f"{element_text(event.array, event.place)} is stored by several blocks", several)

    def _check_array(self, param: Param, residues: dict[tuple[int, ...], Residues], conditions: Conditions) -> Usage:
        """Coverage, uniqueness and values of one output; the operators met."""
        faults: list[tuple[str, Formula]] = []
        for residue, found in residues.items():
            place = ", ".join(f"{quotient('', d).removeprefix('.')}:{r}" for d, r in enumerate(residue))
            faults += [(text, f) for text, f in _coverage_faults(param.name, place, found, conditions)]
        if not _none_can_hold([f for _, f in faults], conditions):
            for text, formula in faults:
                if not conditions.is_impossible(formula):
                    raise FaultError(text, formula)
        types = {p.name: p.dtype for p in self.kernel.params}
        return Values(param, self.algebra(param), conditions, types).check(residues)

    # ------------------------------------------------------------ refutation

    def prove_at(self, sizes: Mapping[str, int]) -> Proof:
        told = next((p for p in self.kernel.params if p.is_output), None) or self.kernel.params[0]
        return prove(self.kernel, self.spec, sizes, self.algebra(told))

    def confirmed(self, fault: FaultError) -> LiftResult:
        """The fault at a size where the kernel is seen to fail; `unchecked` when none was found.

        Sizes next to the instance come first, so that completions with a common fault fail at a common size.
        """
        assert self._conditions is not None
        near = islice(telling_sizes(self.kernel, self.instance, _LARGEST_PROOF), _NEAR * len(self.instance))
        if result := self._first_refuted(near):
            return result
        for bound in _WITNESSES:
            small = [Constraint(variable(s).shifted(-bound)) for s in self.kernel.sizes]
            answer = self._conditions.check(conjunction([fault.formula, *small]))
            if isinstance(answer, Sat):
                sizes = {s: answer.model.get(s, 0) for s in self.kernel.sizes}
                if elements(self.kernel, sizes) > _LARGEST_REPLAY:
                    doubt = f"{fault.text}: by the lift it fails at {_sizes_text(sizes)}, which is too large to run here"
                    return self.not_proved(fault.text, doubt)
                if result := self._refuted_at(sizes, _LARGEST_REPLAY):
                    return result
                return self.not_proved(f"{fault.text}, yet no fault was seen at {_sizes_text(sizes)}")
        return self.not_proved(fault.text)

    def not_proved(self, reason: str, doubt: str = "") -> LiftResult:
        """The kernel tested at sizes that are likely to tell: a refutation, or `unchecked` with what was tested."""
        tested: list[Mapping[str, int]] = []
        of_spec = spec_constants(self.spec, self.kernel)
        if result := self._first_refuted(telling_sizes(self.kernel, self.instance, _LARGEST_WITNESS, of_spec), tested):
            return result
        if not doubt and (beyond := untested_constant(self.kernel, [self.instance, *tested], of_spec)):
            doubt = f"not proved for every size ({reason}), and no size beyond the constant {beyond} was small enough to run"
        return LiftResult("unchecked", "", f"{reason}; {_tested_text(tested)}" if tested else reason, doubt=doubt)

    def _first_refuted(
        self, candidates: Iterable[Mapping[str, int]], tested: list[Mapping[str, int]] | None = None
    ) -> LiftResult | None:
        """The first refutation; sizes at which the kernel is right are added to `tested`."""
        left = _MOST_TESTED
        for sizes in candidates:
            left -= elements(self.kernel, sizes)
            if left < 0:
                break
            try:
                result = self._refuted_at(sizes)
            except UserError:
                continue  # The spec itself fails at this size.
            if result:
                return result
            if tested is not None:
                tested.append(sizes)
        return None

    def _refuted_at(self, sizes: Mapping[str, int], most: int = _LARGEST_WITNESS) -> LiftResult | None:
        count = elements(self.kernel, sizes)
        if min(sizes.values()) < 0 or count > most:
            return None
        if count <= _LARGEST_PROOF:
            proof = self.prove_at(sizes)
            if proof.verdict == "proved":
                return None
            if proof.verdict == "refuted":
                reason = f"at {_sizes_text(sizes)}: {proof.reason}"
                return LiftResult("refuted", proof.domain, reason, tuple(sizes.items()), self._at(sizes, proof.diagnostics))
        checked = check(self.kernel, self.spec, sizes)
        if checked.verdict != "refuted":
            return None
        reason = f"at {_sizes_text(sizes)}: {checked.counterexample}"
        return LiftResult("refuted", "", reason, tuple(sizes.items()), self._at(sizes, checked.diagnostics))

    def _at(self, sizes: Mapping[str, int], diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Faults of a run at other sizes than the completed ones, told as such."""
        text = _sizes_text(sizes)
        hint = f"The kernel must be right at every size, not only at complete_at ({_sizes_text(self.instance)})"
        hint += "; a size there that fills the last block shows a hole no tail." if self.sketch.kernel.holes else "."
        return tuple(replace(d, message=f"at {text}: {d.message}", fix=f"{d.fix} {hint}".strip()) for d in diagnostics)


def _none_can_hold(formulas: list[Formula], conditions: Conditions) -> bool:
    return conditions.are_impossible_together(formulas) or conditions.is_impossible(disjunction(formulas))


def _in_range(extent: Linear[str], name: str) -> Iterator[Constraint]:
    yield Constraint(variable(name).scaled(-1))
    yield Constraint(variable(name).plus(extent, -1).shifted(1))


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{s} = {v}" for s, v in sizes.items())


def _tested_text(tested: list[Mapping[str, int]]) -> str:
    if len(tested[0]) > 1:
        return "right at " + "; ".join(map(_sizes_text, tested))
    ((name, _),) = tested[0].items()
    return f"right at {name} = {', '.join(str(sizes[name]) for sizes in tested)}"


def _check_initial_reads(trace: Trace) -> None:
    """Checks that an output read by the spec before it is stored is stored by the same iteration, or by none."""
    for array, place, iteration in trace.initial_reads:
        cells = trace.cells.get(array, {})
        cell = cells.get(place)
        if cells and (cell is None or cell.iteration != iteration):
            raise UnliftableError(f"the spec reads {element_text(array, place)}, which another iteration may store")


def _coverage_faults(array: str, place: str, found: Residues, conditions: Conditions) -> Iterator[tuple[str, Formula]]:
    """Formulas that hold when an element of this residue is stored wrongly often; those seen to be impossible left out."""
    element = f"an element of {array} (residue {place})"
    for k, first in enumerate(found.cells):
        for second in found.cells[:k]:
            if not conditions.is_impossible(conjunction([first.present, second.present])):
                raise UnliftableError(f"{element} is stored by two iterations of the spec")
    for cell in found.cells:
        if not any(conditions.is_seen(cell.present, e.present) for e in found.events):
            absent = (negation(e.present) for e in found.events)
            yield f"{element} is not stored", conjunction([cell.present, *absent])
    for k, event in enumerate(found.events):
        for other in found.events[:k]:
            yield f"{element} is stored twice", conjunction([event.present, other.present])
