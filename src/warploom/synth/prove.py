"""Proof that a completed kernel computes its spec at given sizes: equal output terms under an algebra, no fault in the run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from warploom.core import Diagnostic, DType, scalar_of
from warploom.ir import Kernel
from warploom.synth.symbolic import Execution, SpecResult, execute, run_spec
from warploom.terms import (
    Algebra,
    FormTooLargeError,
    Normaliser,
    Term,
    component,
    element_text,
    evaluate,
    iterate_post,
)

Spec = Callable[..., Any] | Mapping[str, npt.NDArray[np.object_]]
"""A Python function on arrays, or the post-condition itself: output -> object array of terms (None: any value)."""

_TRIALS = 8
_LEAVES = frozenset({"atom", "constant", "component", "pack"})


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known about a completed kernel at one set of sizes."""

    verdict: Literal["proved", "refuted", "unchecked"]
    """refuted: an output differs or the run has faults. unchecked: terms that no law of the algebra makes equal, yet no
    numbers were found that tell them apart; or canonical forms too large."""
    domain: str
    """With `proved`: what the proof speaks about."""
    counterexample: str = ""
    """The first differing element with both terms."""
    differing: int = 0
    """Elements not shown equal."""
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    accumulates: int = 0
    executed: int = 0


def prove(kernel: Kernel, spec: Spec, sizes: Mapping[str, int], algebra: Algebra, expected: SpecResult | None = None) -> Proof:
    """Run kernel and spec on symbolic elements and compare every output element under `algebra`.

    expected: what `spec` computes at these sizes, if it is known already. Raises UserError when the spec itself fails or the
    kernel has open holes.
    """
    execution = execute(kernel, sizes)
    return compare(kernel, execution, expected or _result_of(spec, kernel, sizes), algebra)


def _result_of(spec: Spec, kernel: Kernel, sizes: Mapping[str, int]) -> SpecResult:
    if callable(spec):
        return run_spec(spec, kernel, sizes)
    stored = {name: np.array([t is not None for t in a.ravel().tolist()]).reshape(a.shape) for name, a in spec.items()}
    return SpecResult(dict(spec), stored)


def compare(kernel: Kernel, execution: Execution, expected: SpecResult, algebra: Algebra) -> Proof:
    """The verdict on an execution against a spec's result."""
    normaliser = Normaliser(algebra)
    used: set[str] = set()
    seen: set[Term] = set()
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
                for term in (got, want):
                    used |= _operators(term, seen)
                try:
                    outcome = _same(got, want, param.dtype, normaliser)
                except FormTooLargeError as error:
                    return Proof("unchecked", algebra.domain, reason=str(error), diagnostics=execution.diagnostics)
                if outcome is True:
                    continue
            elif want is None:
                continue
            else:
                outcome = False
            text = (
                f"{element_text(param.name, index)}: expected {_shown(want, normaliser)}, "
                f"got {_shown(got, normaliser) if got is not None else 'an element that is never written'}"
            )
            if outcome is False:
                different += 1
                counterexample = counterexample or text
            else:
                open_questions += 1
                question = question or text
    domain = algebra.domain_of(used)
    common = (execution.diagnostics, execution.accumulates, execution.executed)
    if different or execution.diagnostics:
        reason = counterexample or execution.diagnostics[0].message
        return Proof("refuted", domain, counterexample, different + open_questions, reason, *common)
    if open_questions:
        reason = f"no law of the algebra ({domain}) makes these equal, and no numbers tell them apart: {question}"
        return Proof("unchecked", domain, question, open_questions, reason, *common)
    return Proof("proved", domain, "", 0, "", *common)


def _operators(root: Term, seen: set[Term]) -> set[str]:
    """Operators below `root` that were not met before."""
    fresh = list(iterate_post(root, seen))
    seen.update(fresh)
    return {t.op for t in fresh} - _LEAVES


def _same(got: Term, want: Term, dtype: DType, normaliser: Normaliser) -> bool | None:
    """Equal, different, or None: not equal by law, not told apart by numbers."""
    if got is want:
        return True
    pairs = [(got, want)]
    if dtype.lanes > 1:
        pairs = [(component(got, k), component(want, k)) for k in range(dtype.lanes)]
    for a, b in pairs:
        if normaliser.canonical(a) is not normaliser.canonical(b):
            return _told_apart(a, b, normaliser.algebra)
    return True


def _told_apart(a: Term, b: Term, algebra: Algebra) -> bool | None:
    """False when the terms differ under the algebra, None when they could still be equal for the machine."""
    if algebra.name not in ("machine", "reals", "integers", "xor/and"):
        return False
    rng = random.Random(0)
    for _ in range(_TRIALS):
        numbers: dict[Term, int] = {}

        def value_of(element: Term, numbers: dict[Term, int] = numbers) -> int:
            return numbers.setdefault(element, rng.getrandbits(algebra.dtype.bits))

        values = evaluate([a, b], scalar_of(algebra.dtype), value_of)
        if values is None or values[0] != values[1]:
            return False
    return None


def _shown(term: Term, normaliser: Normaliser) -> str:
    return str(normaliser.canonical(term))
