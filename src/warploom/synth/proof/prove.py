"""Proof that a completed kernel computes its spec at given sizes: equal output terms under an algebra, no fault in the run."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from warploom.core import Diagnostic, DType, f64, scalar_of
from warploom.ir import Kernel, Param
from warploom.sketch import Spec
from warploom.synth.proof.operators import expanded
from warploom.synth.proof.symbolic import Execution, SpecResult, execute, preset, run_spec
from warploom.terms import (
    Algebra,
    FormTooLargeError,
    Normaliser,
    Term,
    Usage,
    algebra_for,
    beyond_numbers,
    component,
    element_text,
    evaluate,
    iterate_post,
    without_value,
)

_Outcome = Literal["equal", "different", "open"]
"""open: not equal by law, not told apart by numbers."""
_TRIALS = 8
_SMALL_TRIALS = 4


@dataclass(frozen=True, slots=True)
class Proof:
    """Verdict on a completed kernel at one set of sizes."""

    verdict: Literal["proved", "refuted", "unchecked"]
    """refuted: an output differs or the run has faults. unchecked: terms that no law of the algebra makes equal, yet no
    numbers were found that tell them apart; or canonical forms too large."""
    domain: str
    """Domain of a claim that is `proved`: what the proof speaks about."""
    counterexample: str = ""
    """The first differing element with both terms."""
    differing: int = 0
    """Elements not shown equal."""
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    accumulates: int = 0
    executed: int = 0
    untouched: tuple[tuple[str, int], ...] = ()
    """Outputs with elements that neither kernel nor spec stores to, and how many: nothing is said of those."""


def prove(kernel: Kernel, spec: Spec, sizes: Mapping[str, int], algebra: Algebra, expected: SpecResult | None = None) -> Proof:
    """Run kernel and spec on symbolic elements and compare every output element under `algebra`.

    expected: what `spec` computes at these sizes, if it is known already. Raises UserError when the spec itself fails or the
    kernel has open holes.
    """
    wanted = expected or run_spec(spec, kernel, sizes)
    execution = execute(kernel, sizes)
    done: dict[Term, Term] = {}
    for array in execution.outputs.values():
        for index, term in np.ndenumerate(array):
            array[index] = None if term is None else preset(term, spec, done)
    return compare(kernel, execution, wanted, algebra)


def compare(kernel: Kernel, execution: Execution, expected: SpecResult, algebra: Algebra) -> Proof:
    """The verdict on an execution against a spec's result."""
    normaliser = Normaliser(algebra, {p.name: p.dtype for p in kernel.params})
    usages: dict[str, Usage] = {}
    different = open_questions = 0
    counterexample = question = ""
    for param in kernel.params:
        if not param.is_output:
            continue
        got_array, want_array = execution.outputs[param.name], expected.outputs[param.name]
        for index in np.ndindex(got_array.shape):
            got = cast("Term | None", got_array[index])
            want = cast("Term | None", want_array[index])
            if got is None and not expected.stored[param.name][index]:
                continue
            if got is not None and want is not None:
                usage = usages.setdefault(scalar_of(param.dtype).name, Usage(param.dtype))
                usage.add(got)
                usage.add(want)
                try:
                    outcome = _same(got, want, param, kernel, normaliser)
                except FormTooLargeError as error:
                    return Proof("unchecked", algebra.domain, reason=str(error), diagnostics=execution.diagnostics)
                if outcome == "equal":
                    continue
            elif want is None:
                continue
            else:
                outcome = "different"
            text = (
                f"{element_text(param.name, index)}: expected {_shown(want, normaliser)}, "
                f"got {_shown(got, normaliser) if got is not None else 'an element that is never written'}"
            )
            if outcome == "different":
                different += 1
                counterexample = counterexample or text
            else:
                open_questions += 1
                question = question or text
    domain = _joined(usages, algebra)
    if (undefined := _undefined(usages, normaliser, execution, expected)) is not None:
        reason = f"expected operations that have a value for some data, got {undefined}"
        return Proof("unchecked", domain, reason=reason, diagnostics=execution.diagnostics)
    untouched = _untouched(execution, expected)
    common = (execution.diagnostics, execution.accumulates, execution.executed, untouched)
    if different or execution.diagnostics:
        reason = counterexample or execution.diagnostics[0].message
        return Proof("refuted", domain, counterexample, different + open_questions, reason, *common)
    if open_questions:
        reason = f"no law of the algebra ({domain}) makes these equal, and no numbers tell them apart: {question}"
        return Proof("unchecked", domain, question, open_questions, reason, *common)
    return Proof("proved", domain, "", 0, "", *common)


def _undefined(
    usages: Mapping[str, Usage], normaliser: Normaliser, execution: Execution, expected: SpecResult
) -> Term | None:  # fmt: skip
    """An operation that has no value whatever the data, or that takes an infinity or NaN for a number."""
    for usage in usages.values():
        for dtype, partial in usage.partial.items():
            is_own = dtype == normaliser.algebra.dtype or dtype.is_float == normaliser.algebra.dtype.is_float is True
            try:
                found = without_value(partial, normaliser if is_own else Normaliser(algebra_for(dtype)))
                if found is not None:
                    return found
            except FormTooLargeError:
                return partial[0]
    if not any(usage.has_limits for usage in usages.values()):
        return None
    seen: set[Term] = set()
    for arrays in (execution.outputs, expected.outputs):
        for root in (t for array in arrays.values() for t in array.ravel().tolist() if isinstance(t, Term)):
            terms = list(iterate_post(root, seen))
            seen.update(terms)
            if (found := beyond_numbers(t for t in terms if normaliser.algebra.is_ring(t.op))) is not None:
                return found
    return None


def _untouched(execution: Execution, expected: SpecResult) -> tuple[tuple[str, int], ...]:
    counts = {name: int((~(stored | expected.stored[name])).sum()) for name, stored in execution.stored.items()}
    return tuple((name, count) for name, count in counts.items() if count)


def _joined(usages: Mapping[str, Usage], algebra: Algebra) -> str:
    """One domain for outputs of all types."""
    parts = [usage.domain(algebra) for usage in usages.values()] or [algebra.domain_of(())]
    laws = dict.fromkeys(part.split("; ")[0] for part in parts)
    return "; ".join([", ".join(laws), *dict.fromkeys(c for part in parts for c in part.split("; ")[1:])])


def _same(got: Term, want: Term, param: Param, kernel: Kernel, normaliser: Normaliser) -> _Outcome:
    if got is want:
        return "equal"
    pairs = [(got, want)]
    if param.dtype.lanes > 1:
        pairs = [(component(got, k), component(want, k)) for k in range(param.dtype.lanes)]
    outcome: _Outcome = "equal"
    for a, b in pairs:
        if normaliser.canonical(a) is not normaliser.canonical(b):
            outcome = "open"
            if _are_told_apart(expanded(a, kernel.operators), expanded(b, kernel.operators), param, kernel, normaliser.algebra):
                return "different"
    return outcome


def _are_told_apart(a: Term, b: Term, param: Param, kernel: Kernel, algebra: Algebra) -> bool:
    """Whether terms of different canonical form differ: on some numbers, or under an algebra declared to know no more laws."""
    if algebra.name in ("commutative", "syntactic"):
        return True
    is_exact = algebra.modulus_bits == 0
    types = {p.name: scalar_of(p.dtype) for p in kernel.params}
    rng = random.Random(0)
    for trial in range(_TRIALS + _SMALL_TRIALS):  # small ones: equal numbers and zeros, which comparisons tell apart
        numbers: dict[Term, int] = {}

        def value_of(element: Term, numbers: dict[Term, int] = numbers, is_small: bool = trial >= _TRIALS) -> int:
            if element not in numbers:
                array = (element.args[0] if element.op == "component" else element).data[0]
                dtype = types.get(array, scalar_of(param.dtype))
                numbers[element] = rng.randint(-(dtype.kind != "uint"), 2) if is_small else _drawn(dtype, is_exact, rng)
            return numbers[element]

        values = evaluate([a, b], f64 if is_exact else scalar_of(param.dtype), value_of, casts=True)
        if values is not None and values[0] != values[1]:
            return True
    return False


def _drawn(dtype: DType, is_exact: bool, rng: random.Random) -> int:
    """A number that the type holds exactly."""
    if dtype.is_float:
        most = {16: 200, 32: 1 << 20}.get(dtype.bits, 1 << 40)
        return rng.randint(-most, most)
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "int" else 0
    high = low + (1 << dtype.bits) - 1
    return rng.randint(max(low, -1000), min(high, 1000)) if is_exact else rng.randint(low, high)


def _shown(term: Term, normaliser: Normaliser) -> str:
    return str(normaliser.canonical(term))
