"""Judges a completed kernel: proof on the bounded instance, independent check, lift to every size, in one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.core import Diagnostic, Status, Verdict
from warploom.core.limits import LimitReachedError
from warploom.gpu import index_overflow
from warploom.ir import Kernel, alignment_text
from warploom.sketch import Sketch, Spec
from warploom.synth.lift.lift import lift
from warploom.synth.proof.check import CheckResult, check
from warploom.synth.proof.prove import Proof, prove
from warploom.synth.proof.symbolic import SpecResult
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
    domain: str = ""
    """Domain of a claim that is `proved`, sizes included."""
    proved_at: tuple[tuple[str, int], ...] = ()
    """Sizes of the bounded proof, when it does not hold for every size."""
    doubt: str = ""
    """Reason why the kernel may be wrong at some size although no run has shown it."""
    witness: tuple[tuple[str, int], ...] = ()
    """Sizes at which the kernel fails, if the lift `refuted` it."""
    disagreement: str = ""
    """Contradiction between proof and checker: a bug of Warploom, about which the kernel says nothing."""

    cut: str = ""
    """The work that a spent budget left undone."""

    @property
    def status(self) -> Status:
        """The status of a sketch whose answer this is."""
        if self.disagreement:
            return "error"
        return "refused" if self.verdict == "refuted" else "unknown" if self.doubt else "solved"


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
    if overflow := index_overflow(kernel):
        return Judged(proof, None, "", "refuted", None, overflow.message, (overflow,))
    try:
        checked = check(kernel, spec, sizes, seed)
    except LimitReachedError as stop:
        return Judged(proof, None, "", "unchecked", None, proof.reason, proof.diagnostics, cut=f"{stop} during the check")
    cases, reason = checked.cases or None, proof.reason
    if checked.verdict == "refuted" and proof.verdict == "proved":
        text = (
            "a bug of Warploom, not of the sketch: its independent checker contradicts its proof "
            f"({checked.counterexample}); please report it with the sketch"
        )
        return Judged(proof, checked, "", "unchecked", cases, text, checked.diagnostics, disagreement=text)
    if checked.verdict == "refuted":
        return Judged(proof, checked, "", "refuted", cases, checked.counterexample, checked.diagnostics)
    verdict: Verdict = "proved" if proof.verdict == "proved" else "tested" if cases else "unchecked"
    aligned = f"; {text}" if (text := alignment_text(kernel)) else ""
    if not kernel.sizes:
        domain = proof.domain + aligned if verdict == "proved" else ""
        return Judged(proof, checked, "", verdict, cases, reason, proof.diagnostics, domain)
    at = tuple((s, sizes[s]) for s in kernel.sizes) if verdict == "proved" else ()
    try:
        result = lift(sketch, kernel)
    except LimitReachedError as stop:
        cut, least = f"{stop} during the lift", "tested" if cases else "unchecked"
        return Judged(proof, checked, f"unchecked: {stop}", least, cases, reason, proof.diagnostics, proved_at=at, cut=cut)
    if result.verdict == "refuted":
        fault = result.reason
        return Judged(proof, checked, fault, "refuted", cases, fault, result.diagnostics, witness=result.witness)
    if result.verdict == "proved":
        lifted, domain = f"proved for {result.domain}{aligned}", result.domain + aligned if verdict == "proved" else ""
        return Judged(proof, checked, lifted, verdict, cases, reason, proof.diagnostics, domain)
    least: Verdict = "tested" if cases and not result.doubt else "unchecked"
    diagnostics = (*proof.diagnostics, *result.diagnostics)
    lifted = f"{result.verdict}: {result.reason}"
    return Judged(proof, checked, lifted, least, cases, result.doubt or reason, diagnostics, proved_at=at, doubt=result.doubt)
