"""Completes a sketch: searches its spaces, proves the answer, checks it independently, lifts it to every run-time size."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from warploom.core import Diagnostic, UserError
from warploom.ir import HoleArg, IndexExpr, Kernel, fill, index_cost, simplify, verify
from warploom.ir.swizzle import SPACES
from warploom.sketch import Sketch
from warploom.solve import Budget, Cost, Statistics
from warploom.synth.check import CheckResult, check
from warploom.synth.engine import Engine, SpaceResult
from warploom.synth.model import Chosen
from warploom.synth.network import HoleUses
from warploom.synth.operators import check_operators
from warploom.synth.prove import Proof, prove
from warploom.synth.report import Completion, Report, SpaceSummary, Status, Verdict
from warploom.synth.smt_engine import SmtEngine
from warploom.synth.symbolic import SpecResult, run_spec
from warploom.terms import Algebra, algebra_for

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


@dataclass(frozen=True, eq=False, slots=True)
class _Judged:
    """An answer after proof, check and lift."""

    proof: Proof
    checked: CheckResult | None
    lift: str
    verdict: Verdict
    cases: int | None
    reason: str
    diagnostics: tuple[Diagnostic, ...]


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
        self.algebra = kernel_algebra(sketch)

    def run(self, space: int | None) -> Report:
        started = time.process_time()
        expected = self.expected = run_spec(self.spec, self.kernel, self.sizes)
        self.phases["spec"] = time.process_time() - started
        self.operators = check_operators(self.kernel)
        if self.operators.faults:
            return self._refused(self.operators.faults)
        make = Engine if self.engine_name == "propagation" else SmtEngine
        self.engine = make(self.kernel, self.sizes, expected.outputs, expected.stored, self.algebra, self._meets_spec)
        self.phases |= self.engine.phases
        spaces = SPACES if space is None else (space,)
        try:
            results = self._search(spaces)
        finally:
            self.phases["search"] = sum(r.seconds for r in self.results)
        return self._report(results)

    # ------------------------------------------------------------ search

    def _search(self, spaces: tuple[int, ...]) -> list[SpaceResult]:
        self.results: list[SpaceResult] = []
        self.best: tuple[int, tuple[tuple[Cost, Chosen], ...]] | None = None
        bound = self.engine.accumulates_bound
        if bound is None:
            return [SpaceResult(s, (), True, True, "", 0.0, Statistics()) for s in spaces]
        if len(spaces) > 1 and self.engine.has_enabled_sets and not self.all_solutions:
            # Aim for the bound first: an answer that meets it is optimal everywhere. A space without one is not exhausted yet.
            for space in spaces[:2]:
                found = self._search_space(space, None, most_accumulates=bound)
                if found.answers or not found.complete:
                    self.results = [found]
                    return self.results
            self.results.clear()
        for space in spaces:
            below = None if self.best is None else (self.best[1][0][0][0], 0)
            result = self._search_space(space, below)
            if not result.complete or (self.best is not None and (self.all_solutions or self.best[1][0][0][0] <= bound)):
                break
        return self.results

    def _search_space(self, space: int, below: Cost | None, most_accumulates: int | None = None) -> SpaceResult:
        self.progress(f"space {space}: searching")

        def tell(statistics: Statistics) -> None:
            self.progress(f"space {space}: {statistics.nodes} nodes, {statistics.refuted} refuted, {statistics.answers} answers")

        result = self.engine.search_space(
            space,
            all_answers=self.all_solutions,
            below=below,
            most_accumulates=most_accumulates,
            budget=self._budget(),
            progress=tell,
        )
        self.results.append(result)
        if result.answers:
            self.best = (space, result.answers)
        return result

    def _budget(self) -> Budget:
        used = sum(r.statistics.tried for r in self.results)
        nodes = None if self.budget_nodes is None else max(0, self.budget_nodes - used)
        seconds = None if self.budget_s is None else max(0.0, self.budget_s - (time.process_time() - self.started))
        return Budget(nodes, seconds)

    def _meets_spec(self, holes: Mapping[str, IndexExpr]) -> bool:
        """Whether a completion that propagation cannot judge is right."""
        return prove(fill(self.kernel, holes), self.spec, self.sizes, self.algebra, self.expected).verdict == "proved"

    # ------------------------------------------------------------ report

    def _report(self, results: list[SpaceResult]) -> Report:
        stopped = next((r.reason for r in results if not r.complete), "")
        if self.best is None:
            status: Status = "unknown" if stopped else "unsat"
            tried = ", ".join(str(r.space) for r in results)
            reason = stopped or f"no completion exists in space {tried}: exhausted"
            return self._finished(status, None, reason, results, (), None, None, "")
        space, answers = self.best
        completions = tuple(self._completion(chosen) for _, chosen in answers)
        order = sorted(range(len(completions)), key=lambda n: (completions[n].accumulates, completions[n].cost))
        completions = tuple(completions[n] for n in order)
        kernel = fill(self.kernel, completions[0].holes)
        self.progress("proving")
        started = time.process_time()
        judged = self._judge(kernel)
        self.phases["prove"] = time.process_time() - started
        completions = tuple(
            Completion(c.holes, c.accumulates, judged.proof.executed if n == 0 else c.executed, c.cost)
            for n, c in enumerate(completions)
        )
        status = "solved" if judged.verdict in ("proved", "tested", "unchecked") else "refused"
        reason = "" if status == "solved" else judged.reason
        return self._finished(status, judged, reason, results, completions, kernel, space, judged.lift, stopped)

    def _completion(self, chosen: Chosen) -> Completion:
        holes = {use.hole.name: simplified(chosen.holes[use.hole.name], use) for use in self.engine.network.holes}
        return Completion(holes, chosen.accumulates, 0, sum(index_cost(e) for e in holes.values()))

    def _judge(self, kernel: Kernel) -> _Judged:
        judged = judge(self.sketch, kernel, self.spec, self.sizes, self.algebra, self.seed, self.expected)
        if self.operators.unproved and judged.verdict == "proved":
            return replace(judged, verdict="tested", reason=f"not proved: {self.operators.unproved[0]}")
        return judged

    def _finished(
        self,
        status: Status,
        judged: _Judged | None,
        reason: str,
        results: list[SpaceResult],
        completions: tuple[Completion, ...],
        kernel: Kernel | None,
        space: int | None,
        lifted: str,
        stopped: str = "",
    ) -> Report:
        summaries = tuple(
            SpaceSummary(
                r.space,
                "solved" if r.answers else "unsat" if r.complete else "unknown",
                len(r.answers),
                r.complete,
                r.is_cheapest,
                r.statistics.nodes,
                r.statistics.refuted,
                r.seconds,
            )
            for r in results
        )
        proved = judged is not None and judged.verdict == "proved"
        return Report(
            case=self.sketch.name,
            status=status,
            verdict=None if judged is None else judged.verdict,
            domain=judged.proof.domain if judged is not None and proved else "",
            cases=None if judged is None else judged.cases,
            reason=reason,
            space=space,
            optimal_in=self._optimal_in(results, completions, stopped) if completions else None,
            completions=completions,
            kernel=kernel,
            spaces=summaries,
            lift=lifted,
            seconds=time.process_time() - self.started,
            wall_s=time.perf_counter() - self.wall_started,
            peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            statistics=self.phases,
            diagnostics=() if judged is None else judged.diagnostics,
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
            peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            statistics=self.phases,
            diagnostics=faults,
        )

    def _optimal_in(self, results: list[SpaceResult], completions: tuple[Completion, ...], stopped: str) -> int | None:
        """The spaces are nested, so a space that was covered speaks for the smaller ones too."""
        if completions[0].accumulates == self.engine.accumulates_bound:
            return SPACES[-1]
        covered = [r.space for r in results if r.complete]
        return max(covered) if covered else None


def judge(
    sketch: Sketch,
    kernel: Kernel,
    spec: Callable[..., Any],
    sizes: Mapping[str, int],
    algebra: Algebra,
    seed: int,
    expected: SpecResult | None = None,
) -> _Judged:
    """Proof on the instance, independent check, and lift to every size: the verdict that all of them support.

    expected: what `spec` computes at these sizes, if it is known already.
    """
    proof = prove(kernel, spec, sizes, algebra, expected)
    if proof.verdict == "refuted":
        return _Judged(proof, None, "", "refuted", None, proof.reason, proof.diagnostics)
    checked = check(kernel, spec, sizes, seed)
    if checked.verdict == "refuted":
        reason = f"the independent checker disagrees with the proof: {checked.counterexample}"
        return _Judged(proof, checked, "", "refuted", checked.cases, reason, checked.diagnostics)
    lifted, verdict, diagnostics = "", proof.verdict, proof.diagnostics
    if kernel.sizes:
        from warploom.synth.lift import lift

        result = lift(sketch, kernel)
        if result.verdict == "refuted":
            return _Judged(proof, checked, result.reason, "refuted", checked.cases, result.reason, result.diagnostics)
        lifted = f"proved for {result.domain}" if result.verdict == "proved" else f"{result.verdict}: {result.reason}"
        if result.verdict != "proved":
            verdict, diagnostics = "tested", (*diagnostics, *result.diagnostics)
    final: Verdict = "tested" if verdict == "unchecked" else verdict
    return _Judged(proof, checked, lifted, final, checked.cases, proof.reason, diagnostics)


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
