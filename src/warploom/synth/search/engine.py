"""Completes a lowered sketch space by space: the statements worth keeping first, then the holes.

For each search space (paper section 5.4): every set of accumulate statements that the lower bound leaves, smallest first,
is tried with all other statements switched off; inside, the driver decides the holes by branch and bound on (accumulates,
index operations). A space without an answer was exhausted: that is a proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from warploom.core import NOWHERE
from warploom.ir import Hole, IndexExpr, Kernel, shared_arrays
from warploom.ir.swizzle import FunctionSet, function_set, kind_of
from warploom.sketch import TermArrays
from warploom.solve import PATIENCE, UNLIMITED, Budget, Cost, Statistics, search
from warploom.synth.network.lower import lower
from warploom.synth.network.network import Priced
from warploom.synth.network.probe import make_probe
from warploom.synth.network.requirements import requirements
from warploom.synth.network.sample import Sample, sampled
from warploom.synth.proof.symbolic import SpecResult
from warploom.synth.search.enabled import enabled_sets
from warploom.synth.search.impossible import Explainer, Impossible
from warploom.synth.search.prices import Limit, Prices
from warploom.synth.search.propagation import Candidate, ConflictError, initial_candidate
from warploom.synth.search.sketch_model import FREE_FOLDS, Chosen, SketchModel, build_constraints, disable, injective_elements
from warploom.synth.search.sums import SumConstraint
from warploom.terms import Algebra, Term

DEFAULT_PRICED: tuple[Priced, ...] = ("wavefronts", "shuffles")
"""The costs that count after the accumulates, where an index of shared memory is open."""
SHORT_PATIENCE = 16
"""Candidates tried for cheaper index expressions, where open indices of shared memory or sums of sums make each one dear to
propagate."""


@dataclass(frozen=True, slots=True)
class SpaceResult:
    """Answers of one search space."""

    space: int
    answers: tuple[tuple[Cost, Chosen], ...]
    """The best, or all of them, cheapest first."""
    complete: bool
    """The space was covered as far as the accumulates go: without an answer there is none, with one none has fewer."""
    is_cheapest: bool
    """No answer with as few accumulates has cheaper index expressions."""
    reason: str
    seconds: float
    statistics: Statistics
    open: tuple[tuple[str, int], ...] = ()
    """Holes that were open when the search began, and how many functions each had left."""


class Engine:
    """All that does not depend on the search space, computed once."""

    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[str, int],
        spec: Mapping[str, Any],
        stored: Mapping[str, Any],
        algebra: Algebra,
        evaluate: Callable[[dict[str, IndexExpr]], bool],
        given: TermArrays | None = None,
        more: Sequence[tuple[Mapping[str, int], SpecResult]] = (),
        priced: Sequence[Priced] | None = None,
        conflict_free: frozenset[str] = frozenset(),
    ) -> None:
        """`spec`: output -> required terms; `stored`: which elements are required.

        `given`: what inputs hold at first. `evaluate`: whether a completion meets the spec, for what propagation cannot judge.
        `more`: other sizes, with what the spec computes there, which the same completion must meet. `priced`: what counts after
        the accumulates, in order; None: wavefronts and shuffles, where an index of shared memory is open. `conflict_free`: shared
        arrays that allow no bank conflicts.
        """
        started = time.process_time()
        spec = {name: _joined(spec[name], [r.outputs[name] for _, r in more]) for name in spec}
        stored = {name: _joined(stored[name], [r.stored[name] for _, r in more]) for name in stored}
        kinds = (DEFAULT_PRICED if shared_arrays(kernel) else ()) if priced is None else (*priced, "wavefronts")
        self.network = lower(kernel, sizes, given, [s for s, _ in more], kinds, conflict_free)
        self.phases = {"lower": time.process_time() - started}
        started = time.process_time()
        self.required = requirements(self.network, spec, stored, algebra)
        self.constraints, self.folds = build_constraints(self.network, self.required)
        self.injective = injective_elements(self.network, self.required, self.constraints)
        self.evaluate = evaluate if self.required.is_loose else None
        self.spec, self.stored, self.algebra = spec, stored, algebra
        self.has_instances = bool(more)
        self.merges = True
        """Without `all_answers`, functions too many to list that agree wherever it matters are one."""
        self.has_sums = any(isinstance(c, SumConstraint) for c in self.constraints)
        self.probe = make_probe(self.network, self._wanted(spec, stored), algebra) if self.required.is_loose else None
        self.sample: Sample | None = None
        self.prices: Prices | None = None
        """Where an index that has a price is open."""
        self.waiting: set[int] = set()
        """Constraints that `free` was not propagated by."""
        self.free = self._free_root()
        self.sample = sampled(self.required, self.folds, self.constraints)
        self.last: tuple[int, tuple[bool, Cost | None, int | None, Limit | None], SpaceResult] | None = None
        self.closed = sum(s.is_certain for s in self.network.statements)
        self.enabled = None if self.free is None else enabled_sets(self.network, self.folds, self.free)
        banks = [r for r in self.network.requests if r.kind == "wavefronts" and (r.slots.holes or r.array in conflict_free)]
        if self.free is not None and (priced or banks):
            order = DEFAULT_PRICED if priced is None else priced
            self.prices = Prices(self.network, self.free, order, kernel.warp_size, conflict_free)
        self.phases["analyse"] = time.process_time() - started

    def is_widened_in(self, space: int) -> bool:
        """Whether the space has more functions than the one before it; space 2 has more for some kinds of holes only."""
        return space != 2 or any(kind_of(u.hole).widens(u.hole) for u in self.network.holes)

    def started(
        self, sets: list[FunctionSet], enabled: int | None, *, all_answers: bool = False, limit: Limit | None = None
    ) -> SketchModel | None:
        """The model with these functions, in which only the statements of `enabled` (None: any) add to what is required; None
        where others must. `limit`: what requests may cost."""
        assert self.free is not None
        model = self._model(sets, self.free, merges=self.merges and not all_answers, limit=limit)
        return model if enabled is None or disable(model, enabled) else None

    def judged_by(self, accepts: Callable[[dict[str, IndexExpr]], bool]) -> Engine:
        """This engine, with answers that must be accepted, too, for faults that the search does not see."""
        engine = copy(self)
        engine.evaluate = accepts
        engine.merges = False  # what does not matter here may matter at other sizes
        engine.last = None
        return engine

    def _wanted(self, spec: Mapping[str, Any], stored: Mapping[str, Any]) -> list[tuple[int, Term]]:
        """Output cells that the spec stores to, with their terms."""
        return [
            (cell, term)
            for name, cells in self.network.outputs.items()
            for cell, term, is_stored in zip(
                cells.tolist(), spec[name].ravel().tolist(), stored[name].ravel().tolist(), strict=True
            )
            if is_stored
        ]

    @cached_property
    def accumulates_bound(self) -> int | None:
        """No completion, in any grammar, has fewer accumulates; None when no completion exists at all."""
        if self.free is None:
            return None
        if self.enabled is None:
            certain = self._model([_Unlimited(u.values) for u in self.network.holes], self.free).bound(self.free)[0]
            return max(certain, int(bool(self.required.multiplicity.any())))
        if self.enabled.is_exhaustive and not self.enabled.sets:
            return None
        return self.closed + self.enabled.bound

    @property
    def bounds(self) -> Cost | None:
        """No completion, in any grammar, has fewer accumulates and, with as few, costs less in what counts after them."""
        count = self.accumulates_bound
        return None if count is None else (count, *(() if self.prices is None else self.prices.least))

    @property
    def objective(self) -> tuple[str, ...]:
        """The quantities by which answers are compared, index operations aside."""
        return ("accumulates", *(() if self.prices is None else self.prices.kinds))

    def meets_bounds(self, cost: Cost, parts: int | None = None) -> bool:
        """Whether no completion is better, index operations aside, or by the first so many parts of the objective."""
        return self.bounds is not None and cost[:-1][:parts] <= self.bounds[:parts]

    def good_enough(self, parts: int = 1) -> Cost | None:
        """Below it the first so many parts of the objective meet their bounds."""
        if self.bounds is None:
            return None
        *before, last = self.bounds[:parts]
        return (*before, last + 1)

    @property
    def has_enabled_sets(self) -> bool:
        """Whether sets of accumulate statements worth keeping are known up front."""
        return self.enabled is not None and bool(self.enabled.sets)

    @property
    def may_cancel(self) -> bool:
        """Contributions may cancel, so that counting prunes nothing for certain."""
        return self.folds.is_silent

    def search_without_cancelling(self, space: int, *, budget: Budget, progress: Callable[[Statistics], None]) -> SpaceResult:
        """The best completion in which no contributions cancel: found by counting; without one, nothing is known."""
        started = time.process_time()
        if self.free is None:
            return SpaceResult(space, (), False, False, "", 0.0, Statistics())
        sets = self.function_sets(space)
        good_enough = (0 if self.accumulates_bound is None else self.accumulates_bound + 1, 0)
        with self.folds.counting_exactly():
            outcome = search(self._model(sets, self.free), good_enough=good_enough, budget=budget, progress=progress)
        seconds = time.process_time() - started
        return SpaceResult(space, outcome.answers, bool(outcome.answers), False, outcome.reason, seconds, outcome.statistics)

    def search_space(
        self,
        space: int,
        *,
        all_answers: bool = False,
        below: Cost | None = None,
        most_accumulates: int | None = None,
        limit: Limit | None = None,
        parts: int = 1,
        budget: Budget = UNLIMITED,
        progress: Callable[[Statistics], None] | None = None,
    ) -> SpaceResult:
        """The best completion in the space (cheaper than `below`, of at most `most_accumulates`), or all of them.

        complete = the space holds no better one that meets these limits. With `most_accumulates` only sets of statements known
        up front are tried; where they are not all sets there are, finding nothing is not complete (reason: empty). With `limit`
        only completions that keep it are, and finding nothing is not complete either. An answer that meets the bounds of the
        first `parts` of the objective is good enough.
        """
        started = time.process_time()
        statistics = Statistics()
        if self.free is None:
            return SpaceResult(space, (), True, True, "", 0.0, statistics)
        sets = self.function_sets(space)
        asked = (all_answers, below, most_accumulates, limit)
        if not self.is_widened_in(space) and self.last is not None and self.last[:2] == (1, asked) and self.last[2].complete:
            return replace(self.last[2], space=2, seconds=0.0)  # no hole has more in space 2
        answers: list[tuple[Cost, Chosen]] = []
        complete, cheapest, reason = True, True, ""
        left: tuple[tuple[str, int], ...] = ()
        for enabled in self.sets_to_try(all_answers=all_answers, known_only=most_accumulates is not None):
            if enabled is not None and most_accumulates is not None and self.closed + enabled.bit_count() > most_accumulates:
                break
            if enabled is None and answers and self.meets_bounds(answers[0][0]):
                cheapest = False
                break
            if enabled is not None and not all_answers:
                best = answers[0][0] if answers else below
                if best is not None and (self.closed + enabled.bit_count(), 0) >= best:
                    break
            model = self.started(sets, enabled, all_answers=all_answers, limit=limit)
            if model is None:
                continue
            outcome = search(
                model,
                goal="all" if all_answers else "best",
                below=answers[0][0] if answers else below,
                good_enough=None if all_answers else self.good_enough(parts),
                patience=SHORT_PATIENCE if parts > 1 or self.has_sums else PATIENCE,
                budget=_rest(budget, statistics, started),
                statistics=statistics,
                progress=progress,
            )
            left = tuple((self.network.holes[hole].hole.name, size) for hole, size in model.left)
            answers = sorted([*answers, *outcome.answers] if all_answers else outcome.answers or answers, key=lambda a: a[0])
            if not outcome.complete:
                cheapest = False
                if outcome.reason != "good enough":
                    complete, reason = False, outcome.reason
                break
        if not answers and most_accumulates is not None and self.enabled is not None and not self.enabled.is_exhaustive:
            complete = False
        complete = complete and limit is None
        seconds = time.process_time() - started
        result = SpaceResult(space, tuple(answers), complete, complete and cheapest, reason, seconds, statistics, left)
        self.last = space, asked, result
        return result

    def impossible(self, space: int) -> Impossible | None:
        """Few elements that propagation alone shows not to be had at once in the space; None where it shows nothing."""
        if self.has_instances:
            return None
        explainer = Explainer(
            self.network, self.spec, self.stored, self.algebra, [_Unlimited(u.values) for u in self.network.holes]
        )
        return explainer.explain(self.function_sets(space))

    def function_sets(self, space: int) -> list[FunctionSet]:
        """One per hole; holes with the same grammar and points share theirs."""
        made: dict[tuple[Hole, int, bytes], FunctionSet] = {}
        sets: list[FunctionSet] = []
        for use in self.network.holes:
            key = replace(use.hole, name="", span=NOWHERE), len(use.points), use.points.tobytes()
            if key not in made:
                made[key] = function_set(use.hole, use.points, space)
            sets.append(made[key])
        return sets

    def sets_to_try(self, *, all_answers: bool = False, known_only: bool = False) -> tuple[int | None, ...]:
        """Sets of statements to search below, smallest first (None: all of them); for all answers one set that holds them all."""
        if self.enabled is None:
            return (None,)
        if not self.enabled.is_exhaustive:
            return self.enabled.sets if known_only else (None,) if all_answers else (*self.enabled.sets, None)
        if all_answers and self.enabled.sets:
            return (reduce(lambda a, b: a | b, self.enabled.sets),)
        return self.enabled.sets

    def _model(
        self, sets: list[FunctionSet], start: Candidate, *, merges: bool = False, limit: Limit | None = None
    ) -> SketchModel:
        return SketchModel(
            self.network, self.required, self.folds, self.constraints, self.injective, sets, start, self.evaluate, self.probe,
            pending=self.waiting, sample=self.sample, merges=merges, prices=self.prices, limit=limit,
        )  # fmt: skip

    def _free_root(self) -> Candidate | None:
        """Everything propagated while any hole may become any function at all."""
        try:
            candidate = initial_candidate(self.network, self.required)
        except ConflictError:
            return None
        unlimited: list[FunctionSet] = [_Unlimited(u.values) for u in self.network.holes]
        moves = [c for c in self.constraints if c is not self.folds]
        model = SketchModel(self.network, self.required, self.folds, moves, [], unlimited, candidate, None)
        moved = model.propagated(candidate, range(len(moves)), set())
        if moved is None or not self.required.folds:
            return moved
        self.folds.restrict_orders(moved)
        counting = self.constraints.index(self.folds)
        if self.folds.rows * self.folds.real.shape[1] > FREE_FOLDS:
            self.waiting.add(counting)
            return moved
        return self._model(unlimited, moved).propagated(moved, {counting}, set())


def _joined(first: Any, more: Sequence[Any]) -> Any:
    """The elements of several arrays, one array after the other."""
    return np.concatenate([first.ravel(), *(a.ravel() for a in more)]) if more else first


@dataclass(frozen=True, slots=True)
class _Unlimited:
    """The set of all functions: never listed."""

    values: int
    points: int = 0
    size_bound: int = 1 << 60

    def matching(self, allowed: object) -> None:
        return None


def _rest(budget: Budget, used: Statistics, started: float) -> Budget:
    if budget.cpu_s is None:
        return budget
    return replace(budget, cpu_s=max(0.0, budget.cpu_s - (time.process_time() - started)))
