"""Completes a sketch: searches its spaces, proves the answer, checks it independently, lifts it to every run-time size."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np

from warploom.core import Diagnostic, Status, Verdict
from warploom.core.limits import LimitReachedError, why
from warploom.ir import IndexExpr
from warploom.ir.swizzle import SPACES, function_set, kind_of
from warploom.sketch import Sketch
from warploom.solve import BUDGET_SPENT, Budget, Cost, Statistics
from warploom.synth.advice import advice, shuffles_apart, tried
from warploom.synth.problem import DisagreementError, EngineName, Problem, completion_of, simplified
from warploom.synth.proof.judge import Judged
from warploom.synth.report import Completion, Report, SpaceSummary
from warploom.synth.search.engine import Engine, SpaceResult
from warploom.synth.search.impossible import Impossible
from warploom.synth.search.prices import Limit
from warploom.synth.search.sketch_model import Chosen

MOST_NODES = 200
"""Nodes of a search that only looks for a cheaper answer."""
_WEAKNESS: dict[Verdict, int] = {"proved": 0, "tested": 1, "unchecked": 2, "refuted": 3}
Progress = Callable[[str], None]
"""Receives a short line on what is going on."""


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
    objective: str | None = None,
) -> Report:
    """The cheapest completion of `sketch`: fewest accumulates, then cheapest index expressions; where an index of shared memory
    is open, fewest wavefronts and shuffles come before these.

    space: search this space only (1, 2 or 3); None: in that order until the answer is found and no larger space can beat it.
    all_solutions: every completion of the first space that has one. budget_s (CPU seconds) and budget_nodes end the search with
    the best so far; so does KeyboardInterrupt. seed: of the independent checker's inputs. Raises UserError for a sketch that is
    wrong in itself. engine: `smt` asks z3 instead, an independent and slower way that does not look for cheap index expressions
    (budget_nodes counts its queries). objective: parts in order, such as `accumulates, sectors, index`.
    Source: Swizzle Inventor, sections 4.3, 5.4.
    """
    with without_collection():
        return _Completing(
            sketch, all_solutions, budget_s, budget_nodes, seed, progress or (lambda _: None), engine, objective
        ).run(space)


@contextmanager
def without_collection() -> Generator[None]:
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
        objective: str | None,
    ) -> None:
        self.problem = Problem(sketch, seed, objective)
        self.all_solutions = all_solutions
        self.budget_s = budget_s
        self.budget_nodes = budget_nodes
        self.progress = progress
        self.engine_name: EngineName = engine
        self.results: list[SpaceResult] = []
        self.best: tuple[int, tuple[tuple[Cost, Chosen], ...]] | None = None
        """Search space and its answers, cheapest first."""
        self.completions: tuple[Completion, ...] = ()
        self.interrupted = ""

    def run(self, space: int | None) -> Report:
        try:
            return self._run(space)
        except DisagreementError as error:
            self.best, self.completions = None, ()
            return self._finished("error", error.judged, error.judged.disagreement, self.results, None)

    def _run(self, space: int | None) -> Report:
        if faults := self.problem.prepare():
            return self._refused(faults)
        self.engine = self.problem.engine(self.engine_name)
        spaces = SPACES if space is None else (space,)
        results = self._search(spaces)
        judged = self._judge_answers()
        while judged is not None and judged.verdict == "refuted" and self._adds_instance(judged):
            results = self._search(spaces)
            judged = self._judge_answers() or judged
        if judged is not None and judged.verdict == "refuted":
            # Faults that the search does not see (races, other sizes): look again, judging every answer.
            self.engine = self.engine.judged_by(self.problem.is_acceptable)
            results = self._search(spaces)
            judged = self._judge_answers() or self._common_fault(judged)
        return self._report(results, judged)

    def _adds_instance(self, judged: Judged) -> bool:
        """Completes at the size at which an answer fails, too."""
        started = time.process_time()
        if not isinstance(self.engine, Engine) or not self.problem.adds_instance(judged):
            return False
        self.progress(f"completing at {', '.join(f'{s} = {v}' for s, v in judged.witness)}, too")
        self.engine = self.problem.engine()
        phases = self.problem.phases
        phases["sizes"] = phases.get("sizes", 0.0) + time.process_time() - started
        return True

    # ------------------------------------------------------------ search

    def _search(self, spaces: tuple[int, ...]) -> list[SpaceResult]:
        started = time.process_time()
        try:
            return self._search_spaces(spaces)
        finally:
            self.problem.phases["search"] = self.problem.phases.get("search", 0.0) + time.process_time() - started

    def _search_spaces(self, spaces: tuple[int, ...]) -> list[SpaceResult]:
        self.results = []
        self.best = None
        bound = self.engine.accumulates_bound
        if bound is None:
            return [SpaceResult(s, (), True, True, "", 0.0, Statistics()) for s in spaces]
        has_prices = len(self.engine.objective) > 1
        if len(spaces) > 1 and self.engine.has_enabled_sets and not self.all_solutions and not has_prices:
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
                if found.answers and self.engine.meets_bounds(found.answers[0][0]):
                    self.results, self.best = [found], (space, found.answers)
                    return self.results
        if has_prices and not self.all_solutions and (aimed := self._aimed(spaces)) is not None:
            return aimed
        for space in spaces:
            # Where an answer is known, and more are looked for because of what they cost, there is an end to it.
            most = MOST_NODES if has_prices and self.best is not None and not self.all_solutions else None
            result = self._search_space(space, self._cheaper(), most_nodes=most)
            is_best = self.best is not None and (self.all_solutions or self.engine.meets_bounds(self.best[1][0][0]))
            if not result.complete or is_best:
                break
        return self.results

    def _aimed(self, spaces: tuple[int, ...]) -> list[SpaceResult] | None:
        """The search for an answer in which every request costs as little as any can: it is quick, as most candidates are cut."""
        limit = "least" if "wavefronts" in self.engine.objective else None
        for space in spaces:
            found = self._search_space(space, self.engine.good_enough(2), limit=limit, parts=2, most_nodes=MOST_NODES)
            if found.answers:
                self.results = [found]
                return self.results
        self.results.clear()
        return None

    def _cheaper(self) -> Cost | None:
        """The cost that a larger space must go below: cheaper index expressions alone are no reason to take it."""
        return None if self.best is None else (*self.best[1][0][0][:-1], 0)

    def _search_space(
        self,
        space: int,
        below: Cost | None,
        most_accumulates: int | None = None,
        limit: Limit | None = None,
        parts: int = 1,
        most_nodes: int | None = None,
    ) -> SpaceResult:
        self.progress(f"space {space}: searching")
        result = self.engine.search_space(
            space,
            all_answers=self.all_solutions,
            below=below,
            most_accumulates=most_accumulates,
            limit=limit,
            parts=parts,
            budget=self._budget(most_nodes),
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

    def _budget(self, most_nodes: int | None = None) -> Budget:
        """The budget that is left; a search of `most_nodes` has no more than these and half of the time."""
        used = sum(r.statistics.tried for r in self.results)
        nodes = None if self.budget_nodes is None else max(0, self.budget_nodes - used)
        seconds = None if self.budget_s is None else max(0.0, self.budget_s - (time.process_time() - self.problem.started))
        if most_nodes is not None:
            nodes = most_nodes if nodes is None else min(nodes, most_nodes)
            seconds = None if seconds is None else seconds / 2
        return Budget(nodes, seconds)

    # ------------------------------------------------------------ judgement

    def _judge_answers(self) -> Judged | None:
        """Judge the best answer, or all that were asked for; those that fail are dropped. The weakest verdict of the rest."""
        if self.best is None:
            return None
        _, answers = self.best
        self.progress("proving")
        started = time.process_time()
        uses = self.engine.network.holes
        completions = sorted(
            (completion_of(chosen, uses) for _, chosen in answers), key=lambda c: (c.accumulates, c.prices, c.cost)
        )
        kept: list[Completion] = []
        verdicts: list[Judged] = []
        refuted: Judged | None = None
        try:
            for completion in completions:
                judged = self.problem.judged(completion.holes)
                if judged.verdict == "refuted":
                    refuted = refuted or judged
                    continue
                kept.append(replace(completion, executed=judged.proof.executed, verdict=judged.verdict))
                verdicts.append(judged)
        except KeyboardInterrupt as stop:
            self.interrupted = f"{why(stop)} during the proof"
            kept += completions[len(kept) :]
        self.problem.phases["prove"] = self.problem.phases.get("prove", 0.0) + time.process_time() - started
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
            spaces = ", ".join(str(r.space) for r in results)
            if judged is not None:
                return self._finished("refused", judged, judged.reason, results, None)
            if stopped or self.problem.open_question:
                reason = stopped or f"not decided: {self.problem.open_question}"
                return self._advised(self._finished("unknown", None, reason, results, None), results, stopped)
            impossible: Impossible | None = None
            example: Judged | None = None
            with suppress(LimitReachedError):  # the search ended, and its answer stands without an example
                example = self._example()
                if isinstance(self.engine, Engine):
                    impossible = self.engine.impossible(results[-1].space)
            if example is not None and not self.problem.kernel.holes:
                return self._finished("refused", example, example.reason, results, None)
            shown = "" if example is None else f"; for example, the simplest one fails: {_shown(example)}"
            asked = "".join(
                f" with {r.array} free of bank conflicts, as line {r.span.line} requires" for r in self.problem.sketch.requires
            )
            told = "" if impossible is None else f"; {impossible.text()}"
            is_fault = example is not None and bool(example.diagnostics)  # tells more than an element that is wrong
            reason = f"no completion exists in space {spaces}{asked}: exhausted{told}{shown if is_fault or not told else ''}"
            report = self._finished("unsat", None, reason, results, None)
            report = replace(report, impossible=impossible, advice=shuffles_apart(self.problem.kernel))
            return report if impossible is not None and impossible.whatever else self._advised(report, results, "")
        space, _ = self.best
        cut = "" if judged is None else judged.cut
        doubt = judged.doubt if judged is not None else ""
        status: Status = "unknown" if self.interrupted or doubt else "solved"
        return self._finished(status, judged, self.interrupted or doubt or cut, results, space)

    def _advised(self, report: Report, results: list[SpaceResult], stopped: str) -> Report:
        uses = self.engine.network.holes
        limits = {"--budget": self.budget_s, "--nodes": self.budget_nodes} if stopped.startswith(BUDGET_SPENT) else {}
        told = advice(results, uses, stopped, limits)
        return replace(report, tried=tried(results, uses), advice=(*report.advice, *told))

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
        judged = self.problem.judged(holes)
        return judged if judged.verdict == "refuted" else None

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
                "solved" if r.answers else "unsat" if r.complete and not self.problem.open_question else "unknown",
                len(r.answers),
                r.complete,
                r.is_cheapest,
                r.statistics.nodes,
                r.statistics.refuted,
                r.seconds,
            )
            for r in results
        )
        return self.problem.report(
            status,
            judged,
            reason,
            completions=completions,
            space=space,
            optimal_in=self._optimal_in(results, completions) if completions else None,
            spaces=summaries,
        )

    def _refused(self, faults: tuple[Diagnostic, ...]) -> Report:
        return replace(self.problem.report("refused", None, faults[0].message), verdict="refuted", diagnostics=faults)

    def _optimal_in(self, results: list[SpaceResult], completions: tuple[Completion, ...]) -> int | None:
        """The spaces are nested, so a space that was covered speaks for the smaller ones too."""
        cost = (completions[0].accumulates, *completions[0].prices, 0)
        if self.engine.meets_bounds(cost):
            return SPACES[-1]
        if self.engine.meets_bounds(cost, 2):
            self.problem.objective = self.engine.objective[:2]  # nothing shows that what comes after it is least
            return SPACES[-1]
        if len(cost) > 2 and not self.problem.open_question and results[0].is_cheapest:
            return max(r.space for n, r in enumerate(results) if all(before.is_cheapest for before in results[: n + 1]))
        self.problem.objective = self.engine.objective[:1]
        if self.engine.meets_bounds(cost, 1):
            return SPACES[-1]
        if self.problem.open_question:
            return None
        covered = [r.space for r in results if r.complete]
        return max(covered) if covered else None


def _shown(judged: Judged) -> str:
    """The first fault with its place, else the first element that differs."""
    return f"{judged.diagnostics[0].message} ({judged.diagnostics[0].span})" if judged.diagnostics else judged.reason
