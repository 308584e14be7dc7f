"""Judges a completed kernel: proof on the bounded instance, independent check, lift to every size, in one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.core import Diagnostic
from warploom.ir import Kernel
from warploom.sketch import Sketch, Spec
from warploom.synth.check import CheckResult, check
from warploom.synth.lift import lift
from warploom.synth.prove import Proof, prove
from warploom.synth.report import Verdict
from warploom.synth.symbolic import SpecResult
from warploom.terms import Algebra


@dataclass(frozen=True, eq=False, slots=True)
class Judged:
    """A completed kernel after proof, check and lift."""

    proof: Proof
    checked: CheckResult | None
    lift: str
    """`proved for ...`, or why the lift is not; empty for a bounded kernel."""
    verdict: Verdict
    cases: int | None
    """Inputs that the independent checker ran."""
    reason: str
    diagnostics: tuple[Diagnostic, ...]


def judge(
    sketch: Sketch,
    kernel: Kernel,
    spec: Spec,
    sizes: Mapping[str, int],
    algebra: Algebra,
    seed: int,
    expected: SpecResult | None = None,
) -> Judged:
    """Proof on the instance, independent check, and lift to every size: the verdict that all of them support.

    expected: what `spec` computes at these sizes, if it is known already.
    """
    proof = prove(kernel, spec, sizes, algebra, expected)
    if proof.verdict == "refuted":
        return Judged(proof, None, "", "refuted", None, proof.reason, proof.diagnostics)
    checked = check(kernel, spec, sizes, seed)
    if checked.verdict == "refuted":
        reason = f"the independent checker disagrees with the proof: {checked.counterexample}"
        return Judged(proof, checked, "", "refuted", checked.cases, reason, checked.diagnostics)
    lifted, verdict, diagnostics = "", proof.verdict, proof.diagnostics
    if kernel.sizes:
        result = lift(sketch, kernel)
        if result.verdict == "refuted":
            return Judged(proof, checked, result.reason, "refuted", checked.cases, result.reason, result.diagnostics)
        lifted = f"proved for {result.domain}" if result.verdict == "proved" else f"{result.verdict}: {result.reason}"
        if result.verdict != "proved":
            verdict, diagnostics = "tested", (*diagnostics, *result.diagnostics)
    # no input of the domain may have been found
    final: Verdict = "tested" if verdict == "unchecked" and checked.cases else verdict
    return Judged(proof, checked, lifted, final, checked.cases, proof.reason, diagnostics)
