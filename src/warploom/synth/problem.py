"""A sketch with its specification at the sizes where it is completed: the engine that searches it and the judges of a completion.

`complete` searches it space by space; `filling` gives its holes to a larger search as choices.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, cast, get_args

from warploom.core import Diagnostic, Status, UserError
from warploom.core.limits import peak_mb
from warploom.ir import HoleArg, IndexExpr, fill, index_cost, simplify, verify
from warploom.sketch import Sketch, TermSpec
from warploom.solve import StopSearchError
from warploom.synth.counted import counted_accesses
from warploom.synth.lift.sizes import elements
from warploom.synth.network.network import HoleUses, Priced
from warploom.synth.proof.judge import Judged, judge
from warploom.synth.proof.operators import check_operators
from warploom.synth.proof.prove import prove
from warploom.synth.proof.room import check_room
from warploom.synth.proof.specs import check_launch
from warploom.synth.proof.symbolic import SpecResult, run_spec
from warploom.synth.report import Completion, Report, SpaceSummary
from warploom.synth.search.engine import Engine
from warploom.synth.search.sketch_model import Chosen
from warploom.synth.smt.engine import SmtEngine
from warploom.terms import Algebra, algebra_for

SAME_FAULTS = 8
"""Completions that fail with one and the same fault before the fault is taken to be the sketch's own."""
MOST_INSTANCES = 6
"""Sizes at which a sketch is completed together before every answer is judged by itself."""
MOST_ELEMENTS = 4_000
"""Array elements of such a size."""
EngineName: TypeAlias = Literal["propagation", "smt"]


class DisagreementError(Exception):
    """Warploom's own judges contradict each other, which ends the search: no answer of theirs can be trusted."""

    def __init__(self, judged: Judged) -> None:
        super().__init__(judged.disagreement)
        self.judged = judged


class Problem:
    """UserError for a sketch that is wrong in itself."""

    def __init__(self, sketch: Sketch, seed: int = 0, objective: str | None = None) -> None:
        """`seed`: of the independent checker's inputs; `objective`: parts in order, such as `accumulates, wavefronts, index`."""
        self.priced = None if objective is None else priced_by(objective)
        self.sketch = sketch
        self.kernel = sketch.kernel
        self.seed = seed
        self.started = time.process_time()
        self.wall_started = time.perf_counter()
        self.phases: dict[str, float] = {}
        """CPU seconds by phase."""
        self.judgements: dict[tuple[tuple[str, IndexExpr], ...], Judged] = {}
        self.refused: list[Judged] = []
        self.more: list[tuple[dict[str, int], SpecResult]] = []
        """Other sizes that are completed at the same time, with what the spec computes there."""
        self.objective: tuple[str, ...] = ("accumulates",)
        """The quantities by which answers are compared, index operations aside."""
        self.open_question = ""
        """Reason why some completion is neither proved nor refuted."""
        if sketch.spec is None:
            raise UserError(
                Diagnostic(
                    "SPEC_MISSING",
                    f"expected sketch '{sketch.name}' to say what it computes, got no spec",
                    self.kernel.span,
                    "pass spec=FUNCTION to @wl.sketch",
                )
            )
        self.spec = sketch.spec
        self.sizes = dict(sketch.complete_at)
        missing = [s for s in self.kernel.sizes if s not in self.sizes]
        if missing:
            raise UserError(
                Diagnostic(
                    "SIZE_MISSING",
                    f"expected complete_at to give every run-time size, got none for {', '.join(missing)}",
                    self.kernel.span,
                    f'pass complete_at={{"{missing[0]}": ...}} to @wl.sketch: the size of the bounded instance to complete',
                )
            )
        verify(self.kernel)
        check_launch(self.kernel, self.sizes)
        check_room(self.kernel, self.sizes)
        self.algebra = kernel_algebra(sketch)

    def prepare(self) -> tuple[Diagnostic, ...]:
        """Runs the spec and checks the operators; the faults of these, which no completion mends."""
        started = time.process_time()
        self.expected = run_spec(self.spec, self.kernel, self.sizes)
        self.phases["spec"] = time.process_time() - started
        self.operators = check_operators(self.kernel)
        return self.operators.faults

    def engine(self, name: EngineName = "propagation") -> Engine | SmtEngine:
        """The engine for all sizes known so far."""
        given = self.spec.given if isinstance(self.spec, TermSpec) else None
        known = self.kernel, self.sizes, self.expected.outputs, self.expected.stored, self.algebra, self.meets_spec, given
        if name == "smt" and self.priced:
            message = "expected the objective accumulates, index for the engine smt, which does not know what requests cost"
            raise UserError(Diagnostic("OBJECTIVE", message))
        if name == "smt" and self.sketch.requires:
            message = "expected a sketch without requirements for the engine smt, which does not know banks"
            raise UserError(Diagnostic("REQUIRE_ENGINE", message, self.sketch.requires[0].span, "Leave out the engine."))
        free = frozenset(r.array for r in self.sketch.requires)
        made = SmtEngine(*known) if name == "smt" else Engine(*known, self.more, self.priced, free)
        self.objective = made.objective
        if not self.more:
            self.phases |= made.phases
        return made

    def adds_instance(self, judged: Judged) -> bool:
        """Takes the size at which an answer fails as one more instance to complete, where expressions over sizes differ."""
        sizes = dict(judged.witness)
        known = [self.sizes, *(s for s, _ in self.more)]
        if not sizes or not self.kernel.holes or isinstance(self.spec, TermSpec):
            return False
        if sizes in known or len(known) > MOST_INSTANCES or elements(self.kernel, sizes) > MOST_ELEMENTS:
            return False
        self.more.append((sizes, run_spec(self.spec, self.kernel, sizes)))
        return True

    # ------------------------------------------------------------ judgement

    def meets_spec(self, holes: Mapping[str, IndexExpr]) -> bool:
        """Whether a completion that propagation cannot judge is right; one that no law decides is an open question."""
        kernel = fill(self.kernel, holes)
        for sizes, expected in ((self.sizes, self.expected), *self.more):
            proof = prove(kernel, self.spec, sizes, self.algebra, expected)
            if proof.verdict == "unchecked":
                self.open_question = self.open_question or proof.reason
            if proof.verdict != "proved":
                return False
        return True

    def is_acceptable(self, holes: Mapping[str, IndexExpr]) -> bool:
        """Whether a completion stands every judgement; ends the search once the same fault keeps coming."""
        judged = self.judged(holes)
        if judged.verdict == "refuted":
            self.refused.append(judged)
            if len(self.refused) >= SAME_FAULTS and len({_fault(j) for j in self.refused}) == 1:
                raise StopSearchError("the same fault in every completion tried")
            return False
        if judged.proof.verdict == "unchecked":
            self.open_question = self.open_question or judged.proof.reason
        return True

    def judged(self, holes: Mapping[str, IndexExpr]) -> Judged:
        """Proof, independent check and lift of a completion, made once. DisagreementError."""
        key = tuple(sorted(holes.items(), key=lambda item: item[0]))
        if key not in self.judgements:
            kernel = fill(self.kernel, holes)
            judged = judge(self.sketch, kernel, self.spec, self.sizes, self.algebra, self.seed, self.expected)
            if self.operators.unproved and judged.verdict == "proved":
                judged = replace(judged, verdict="tested", domain="", reason=f"not proved: {self.operators.unproved[0]}")
            if judged.disagreement:
                raise DisagreementError(judged)
            self.judgements[key] = judged
        return self.judgements[key]

    def report(
        self,
        status: Status,
        judged: Judged | None,
        reason: str,
        *,
        completions: tuple[Completion, ...] = (),
        space: int | None = None,
        optimal_in: int | None = None,
        spaces: tuple[SpaceSummary, ...] = (),
    ) -> Report:
        """The report on the completions, best first, of which `judged` is the weakest, or the judgement that left none."""
        kernel = fill(self.kernel, completions[0].holes) if completions else None
        return Report(
            case=self.sketch.name,
            status=status,
            verdict=judged.verdict if judged is not None else "unchecked" if completions else None,
            domain="" if judged is None else judged.domain,
            cases=None if judged is None else judged.cases,
            reason=reason,
            space=space,
            optimal_in=optimal_in,
            completions=completions,
            kernel=kernel,
            spaces=spaces,
            objective=self.objective,
            accesses=() if kernel is None else counted_accesses(kernel, self.sizes, with_registers="registers" in self.objective),
            lift="" if judged is None else judged.lift,
            seconds=time.process_time() - self.started,
            wall_s=time.perf_counter() - self.wall_started,
            peak_mb=peak_mb(),
            statistics=self.phases,
            diagnostics=() if judged is None else judged.diagnostics,
            proved_at=() if judged is None else judged.proved_at,
            untouched=() if judged is None else judged.proof.untouched,
        )


def priced_by(objective: str) -> tuple[Priced, ...]:
    """The costs that count between accumulates and index, written as `wavefronts, shuffles`; UserError (OBJECTIVE)."""
    parts = [part.strip() for part in objective.split(",")]
    first, *rest = parts
    priced = tuple(rest[:-1] if rest[-1:] == ["index"] else rest)
    known = get_args(Priced)
    if first != "accumulates" or len(set(priced)) < len(priced) or not set(priced) <= set(known):
        message = f"expected accumulates, then some of {', '.join(known)}, each once, then index, got {objective!r}"
        raise UserError(Diagnostic("OBJECTIVE", message, fix='Write "accumulates, wavefronts, shuffles, index".'))
    return cast("tuple[Priced, ...]", priced)


def _fault(judged: Judged) -> tuple[str, ...]:
    """The codes and places that two completions have in common when they fail in the same way."""
    return tuple(f"{d.code} {d.span} {[str(span) for _, span in d.notes]}" for d in judged.diagnostics) or (judged.reason,)


def completion_of(chosen: Chosen, uses: tuple[HoleUses, ...]) -> Completion:
    """The chosen functions as expressions, short for the arguments that occur."""
    holes = {use.hole.name: simplified(chosen.holes[use.hole.name], use) for use in uses}
    return Completion(holes, chosen.accumulates, 0, sum(index_cost(e) for e in holes.values()), prices=chosen.prices)


def kernel_algebra(sketch: Sketch) -> Algebra:
    """The algebra of a sketch's elements: its outputs' type, the declared name, its own operators."""
    outputs = [p for p in sketch.kernel.params if p.is_output] or list(sketch.kernel.params)
    operators = {o.name: o.identity for o in sketch.kernel.operators}
    return algebra_for(outputs[0].dtype, sketch.algebra, operators)


def simplified(expr: IndexExpr, use: HoleUses) -> IndexExpr:
    """`expr` shortened for the arguments that the hole is really given."""
    points = use.points
    ranges: dict[IndexExpr, range] = {
        HoleArg(n): range(int(points[:, n].min()), int(points[:, n].max()) + 1) for n in range(points.shape[1]) if len(points)
    }
    return simplify(expr, ranges, bitwise=False)
