"""Completes a sketch: searches its spaces, proves the answer, checks it independently, lifts it to every run-time size."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import numpy as np

from warploom.core import Diagnostic, Status, UserError, Verdict
from warploom.core.limits import LimitReachedError, peak_mb, why
from warploom.ir import HoleArg, IndexExpr, fill, index_cost, simplify, verify
from warploom.ir.swizzle import SPACES, function_set, kind_of
from warploom.sketch import Sketch, TermSpec
from warploom.solve import Budget, Cost, Statistics, StopSearchError
from warploom.synth.lift.sizes import elements
from warploom.synth.network.network import HoleUses
from warploom.synth.proof.judge import Judged, judge
from warploom.synth.proof.operators import check_operators
from warploom.synth.proof.prove import prove
from warploom.synth.proof.room import check_room
from warploom.synth.proof.specs import check_launch
from warploom.synth.proof.symbolic import SpecResult, run_spec
from warploom.synth.report import Completion, Report, SpaceSummary
from warploom.synth.search.engine import Engine, SpaceResult
from warploom.synth.search.model import Chosen
from warploom.synth.smt.engine import SmtEngine
from warploom.terms import Algebra, algebra_for

SAME_FAULTS = 8
"""Completions that fail with one and the same fault before the fault is taken to be the sketch's own."""
MOST_INSTANCES = 6
"""Sizes at which a sketch is completed together before every answer is judged by itself."""
MOST_ELEMENTS = 4_000
"""Array elements of such a size."""
_WEAKNESS: dict[Verdict, int] = {"proved": 0, "tested": 1, "unchecked": 2, "refuted": 3}
Progress = Callable[[str], None]
"""Receives a short line on what is going on."""
EngineName = Literal["propagation", "smt"]


def complete(
    sketch: Sketch,
    *,
    space: int | None = None,
    all_solutions: bool = False,
    budget_s: float | None = None,
    budget_nodes: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    engine: EngineName = "propagation",
) -> Report:
    """The cheapest completion of `sketch`: fewest accumulates, then cheapest index expressions.

    space: search this space only (1, 2 or 3); None: in that order until the answer is found and no larger space can beat it.
    all_solutions: every completion of the first space that has one. budget_s (CPU seconds) and budget_nodes end the search with
    the best so far; so does KeyboardInterrupt. seed: of the independent checker's inputs. Raises UserError for a sketch that is
    wrong in itself. engine: `smt` asks z3 instead, an independent and slower way that does not look for cheap index expressions
    (budget_nodes counts its queries). Source: Swizzle Inventor, sections 4.3, 5.4.
    """
    with _without_collection():
        return _Completing(sketch, all_solutions, budget_s, budget_nodes, seed, progress or (lambda _: None), engine).run(space)


@contextmanager
def _without_collection() -> Generator[None]:
    """Pauses the cyclic garbage collector, and restores what was before.

    Terms, networks and tables are acyclic, so reference counts free them; the collector would walk through the many live ones
    again and again, a sixth of the whole time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _DisagreementError(Exception):
    """Warploom's own judges contradict each other, which ends the search: no answer of theirs can be trusted."""

    def __init__(self, judged: Judged) -> None:
        super().__init__(judged.disagreement)
        self.judged = judged


class _Completing:
    def __init__(
        self,
        sketch: Sketch,
        all_solutions: bool,
        budget_s: float | None,
        budget_nodes: int | None,
        seed: int,
        progress: Progress,
        engine: EngineName,
    ) -> None:
        self.sketch = sketch
        self.kernel = sketch.kernel
        self.all_solutions = all_solutions
        self.budget_s = budget_s
        self.budget_nodes = budget_nodes
        self.seed = seed
        self.progress = progress
        self.engine_name: EngineName = engine
        self.started = time.process_time()
        self.wall_started = time.perf_counter()
        self.phases: dict[str, float] = {}
        self.results: list[SpaceResult] = []
        self.best: tuple[int, tuple[tuple[Cost, Chosen], ...]] | None = None
        """Search space and its answers, cheapest first."""
        self.completions: tuple[Completion, ...] = ()
        self.judgements: dict[tuple[tuple[str, IndexExpr], ...], Judged] = {}
        self.refused: list[Judged] = []
        self.more: list[tuple[dict[str, int], SpecResult]] = []
        """Other sizes that are completed at the same time, with what the spec computes there."""
        self.open_question = ""
        """Reason why some completion is neither proved nor refuted."""
        self.interrupted = ""
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

    def run(self, space: int | None) -> Report:
        try:
            return self._run(space)
        except _DisagreementError as error:
            self.best, self.completions = None, ()
            return self._finished("error", error.judged, error.judged.disagreement, self.results, None)

    def _run(self, space: int | None) -> Report:
        started = time.process_time()
        expected = self.expected = run_spec(self.spec, self.kernel, self.sizes)
        self.phases["spec"] = time.process_time() - started
        self.operators = check_operators(self.kernel)
        if self.operators.faults:
            return self._refused(self.operators.faults)
        given = self.spec.given if isinstance(self.spec, TermSpec) else None
        make = Engine if self.engine_name == "propagation" else SmtEngine
        self.engine = make(self.kernel, self.sizes, expected.outputs, expected.stored, self.algebra, self._meets_spec, given)
        self.phases |= self.engine.phases
        spaces = SPACES if space is None else (space,)
        results = self._search(spaces)
        judged = self._judge_answers()
        while judged is not None and judged.verdict == "refuted" and self._adds_instance(judged):
            results = self._search(spaces)
            judged = self._judge_answers() or judged
        if judged is not None and judged.verdict == "refuted":
            # Faults that the search does not see (races, other sizes): look again, judging every answer.
            self.engine.evaluate = self._is_acceptable
            if isinstance(self.engine, Engine):
                self.engine.merges = False  # what does not matter here may matter at other sizes
            results = self._search(spaces)
            judged = self._judge_answers() or self._common_fault(judged)
        return self._report(results, judged)

    # ------------------------------------------------------------ several sizes

    def _adds_instance(self, judged: Judged) -> bool:
        """Takes the size at which an answer fails as one more instance to complete, where expressions over sizes differ."""
        sizes = dict(judged.witness)
        known = [self.sizes, *(s for s, _ in self.more)]
        if not sizes or not self.kernel.holes or not isinstance(self.engine, Engine) or isinstance(self.spec, TermSpec):
            return False
        if sizes in known or len(known) > MOST_INSTANCES or elements(self.kernel, sizes) > MOST_ELEMENTS:
            return False
        self.progress(f"completing at {', '.join(f'{s} = {v}' for s, v in sizes.items())}, too")
        started = time.process_time()
        self.more.append((sizes, run_spec(self.spec, self.kernel, sizes)))
        expected = self.expected
        self.engine = Engine(
            self.kernel, self.sizes, expected.outputs, expected.stored, self.algebra, self._meets_spec, None, self.more
        )
        self.phases["sizes"] = self.phases.get("sizes", 0.0) + time.process_time() - started
        return True

    # ------------------------------------------------------------ search

    def _search(self, spaces: tuple[int, ...]) -> list[SpaceResult]:
        started = time.process_time()
        try:
            return self._search_spaces(spaces)
        finally:
            self.phases["search"] = self.phases.get("search", 0.0) + time.process_time() - started

    def _search_spaces(self, spaces: tuple[int, ...]) -> list[SpaceResult]:
        self.results = []
        self.best = None
        bound = self.engine.accumulates_bound
        if bound is None:
            return [SpaceResult(s, (), True, True, "", 0.0, Statistics()) for s in spaces]
        if len(spaces) > 1 and self.engine.has_enabled_sets and not self.all_solutions:
            # Aim for the bound first: an answer that meets it is optimal everywhere. A space without one is not exhausted yet.
            for space in spaces[:2]:
                found = self._search_space(space, None, most_accumulates=bound)
                if found.answers or found.reason:
                    self.results = [found]
                    return self.results
            self.results.clear()
        if isinstance(self.engine, Engine) and self.engine.may_cancel and not self.all_solutions:
            for space in spaces:
                found = self.engine.search_without_cancelling(space, budget=self._budget(), progress=self._tell(space))
                if found.answers and found.answers[0][0][0] <= bound:
                    self.results, self.best = [found], (space, found.answers)
                    return self.results
        for space in spaces:
            below = None if self.best is None else (self.best[1][0][0][0], 0)
            result = self._search_space(space, below)
            if not result.complete or (self.best is not None and (self.all_solutions or self.best[1][0][0][0] <= bound)):
                break
        return self.results

    def _search_space(self, space: int, below: Cost | None, most_accumulates: int | None = None) -> SpaceResult:
        self.progress(f"space {space}: searching")
        result = self.engine.search_space(
            space,
            all_answers=self.all_solutions,
            below=below,
            most_accumulates=most_accumulates,
            budget=self._budget(),
            progress=self._tell(space),
        )
        self.results.append(result)
        if result.answers:
            self.best = (space, result.answers)
        return result

    def _tell(self, space: int) -> Callable[[Statistics], None]:
        def tell(statistics: Statistics) -> None:
            self.progress(f"space {space}: {statistics.nodes} nodes, {statistics.refuted} refuted, {statistics.answers} answers")

        return tell

    def _budget(self) -> Budget:
        used = sum(r.statistics.tried for r in self.results)
        nodes = None if self.budget_nodes is None else max(0, self.budget_nodes - used)
        seconds = None if self.budget_s is None else max(0.0, self.budget_s - (time.process_time() - self.started))
        return Budget(nodes, seconds)

    # ------------------------------------------------------------ judgement

    def _meets_spec(self, holes: Mapping[str, IndexExpr]) -> bool:
        """Whether a completion that propagation cannot judge is right; one that no law decides is an open question."""
        kernel = fill(self.kernel, holes)
        for sizes, expected in ((self.sizes, self.expected), *self.more):
            proof = prove(kernel, self.spec, sizes, self.algebra, expected)
            if proof.verdict == "unchecked":
                self.open_question = self.open_question or proof.reason
            if proof.verdict != "proved":
                return False
        return True

    def _is_acceptable(self, holes: Mapping[str, IndexExpr]) -> bool:
        """Whether a completion stands every judgement; ends the search once the same fault keeps coming."""
        judged = self._judged(holes)
        if judged.verdict == "refuted":
            self.refused.append(judged)
            if len(self.refused) >= SAME_FAULTS and len({_fault(j) for j in self.refused}) == 1:
                raise StopSearchError("the same fault in every completion tried")
            return False
        if judged.proof.verdict == "unchecked":
            self.open_question = self.open_question or judged.proof.reason
        return True

    def _judged(self, holes: Mapping[str, IndexExpr]) -> Judged:
        key = tuple(sorted(holes.items(), key=lambda item: item[0]))
        if key not in self.judgements:
            kernel = fill(self.kernel, holes)
            judged = judge(self.sketch, kernel, self.spec, self.sizes, self.algebra, self.seed, self.expected)
            if self.operators.unproved and judged.verdict == "proved":
                judged = replace(judged, verdict="tested", domain="", reason=f"not proved: {self.operators.unproved[0]}")
            if judged.disagreement:
                raise _DisagreementError(judged)
            self.judgements[key] = judged
        return self.judgements[key]

    def _judge_answers(self) -> Judged | None:
        """Judge the best answer, or all that were asked for; those that fail are dropped. The weakest verdict of the rest."""
        if self.best is None:
            return None
        _, answers = self.best
        self.progress("proving")
        started = time.process_time()
        completions = sorted((self._completion(chosen) for _, chosen in answers), key=lambda c: (c.accumulates, c.cost))
        kept: list[Completion] = []
        verdicts: list[Judged] = []
        refuted: Judged | None = None
        try:
            for completion in completions:
                judged = self._judged(completion.holes)
                if judged.verdict == "refuted":
                    refuted = refuted or judged
                    continue
                kept.append(replace(completion, executed=judged.proof.executed, verdict=judged.verdict))
                verdicts.append(judged)
        except KeyboardInterrupt as stop:
            self.interrupted = f"{why(stop)} during the proof"
            kept += completions[len(kept) :]
        self.phases["prove"] = self.phases.get("prove", 0.0) + time.process_time() - started
        self.completions = tuple(kept)
        if not kept and refuted is not None:
            self.best = None
            return refuted
        return max(verdicts, key=lambda j: _WEAKNESS[j.verdict], default=None)

    def _common_fault(self, first: Judged) -> Judged | None:
        """The first fault, when the search for a completion without one ended without an answer."""
        complete = all(r.complete for r in self.results)
        if complete or any("same fault" in r.reason for r in self.results):
            return first
        return None

    # ------------------------------------------------------------ report

    def _report(self, results: list[SpaceResult], judged: Judged | None) -> Report:
        stopped = next((r.reason for r in results if not r.complete), "") or self.interrupted
        if self.best is None:
            tried = ", ".join(str(r.space) for r in results)
            if judged is not None:
                return self._finished("refused", judged, judged.reason, results, None)
            if stopped or self.open_question:
                return self._finished("unknown", None, stopped or f"not decided: {self.open_question}", results, None)
            try:
                example = self._example()
            except LimitReachedError:  # the search ended, and its answer stands without an example
                example = None
            if example is not None and not self.kernel.holes:
                return self._finished("refused", example, example.reason, results, None)
            shown = "" if example is None else f"; for example, the simplest one fails: {_shown(example)}"
            return self._finished("unsat", None, f"no completion exists in space {tried}: exhausted{shown}", results, None)
        space, _ = self.best
        cut = "" if judged is None else judged.cut
        doubt = judged.doubt if judged is not None else ""
        status: Status = "unknown" if self.interrupted or doubt else "solved"
        return self._finished(status, judged, self.interrupted or doubt or cut, results, space)

    def _example(self) -> Judged | None:
        """The reason why the simplest completion fails: shows faults that no hole can mend."""
        holes: dict[str, IndexExpr] = {}
        for use in self.engine.network.holes:
            if not len(use.points):
                holes[use.hole.name] = kind_of(use.hole).unused(use.hole)
                continue
            found = function_set(use.hole, use.points, SPACES[0]).matching(np.ones((len(use.points), use.values), np.bool_))
            if not found:
                return None
            holes[use.hole.name] = simplified(found.expr(0), use)
        judged = self._judged(holes)
        return judged if judged.verdict == "refuted" else None

    def _completion(self, chosen: Chosen) -> Completion:
        holes = {use.hole.name: simplified(chosen.holes[use.hole.name], use) for use in self.engine.network.holes}
        return Completion(holes, chosen.accumulates, 0, sum(index_cost(e) for e in holes.values()))

    def _finished(
        self,
        status: Status,
        judged: Judged | None,
        reason: str,
        results: list[SpaceResult],
        space: int | None,
    ) -> Report:
        completions = self.completions if space is not None else ()
        summaries = tuple(
            SpaceSummary(
                r.space,
                "solved" if r.answers else "unsat" if r.complete and not self.open_question else "unknown",
                len(r.answers),
                r.complete,
                r.is_cheapest,
                r.statistics.nodes,
                r.statistics.refuted,
                r.seconds,
            )
            for r in results
        )
        return Report(
            case=self.sketch.name,
            status=status,
            verdict=judged.verdict if judged is not None else "unchecked" if completions else None,
            domain="" if judged is None else judged.domain,
            cases=None if judged is None else judged.cases,
            reason=reason,
            space=space,
            optimal_in=self._optimal_in(results, completions) if completions else None,
            completions=completions,
            kernel=fill(self.kernel, completions[0].holes) if completions else None,
            spaces=summaries,
            lift="" if judged is None else judged.lift,
            seconds=time.process_time() - self.started,
            wall_s=time.perf_counter() - self.wall_started,
            peak_mb=peak_mb(),
            statistics=self.phases,
            diagnostics=() if judged is None else judged.diagnostics,
            proved_at=() if judged is None else judged.proved_at,
            untouched=() if judged is None else judged.proof.untouched,
        )

    def _refused(self, faults: tuple[Diagnostic, ...]) -> Report:
        return Report(
            case=self.sketch.name,
            status="refused",
            verdict="refuted",
            domain="",
            cases=None,
            reason=faults[0].message,
            space=None,
            optimal_in=None,
            completions=(),
            kernel=None,
            spaces=(),
            lift="",
            seconds=time.process_time() - self.started,
            wall_s=time.perf_counter() - self.wall_started,
            peak_mb=peak_mb(),
            statistics=self.phases,
            diagnostics=faults,
        )

    def _optimal_in(self, results: list[SpaceResult], completions: tuple[Completion, ...]) -> int | None:
        """The spaces are nested, so a space that was covered speaks for the smaller ones too."""
        if completions[0].accumulates == self.engine.accumulates_bound:
            return SPACES[-1]
        if self.open_question:
            return None
        covered = [r.space for r in results if r.complete]
        return max(covered) if covered else None


def _shown(judged: Judged) -> str:
    """The first fault with its place, else the first element that differs."""
    return f"{judged.diagnostics[0].message} ({judged.diagnostics[0].span})" if judged.diagnostics else judged.reason


def _fault(judged: Judged) -> tuple[str, ...]:
    """The codes and places that two completions have in common when they fail in the same way."""
    return tuple(f"{d.code} {d.span} {[str(span) for _, span in d.notes]}" for d in judged.diagnostics) or (judged.reason,)


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
