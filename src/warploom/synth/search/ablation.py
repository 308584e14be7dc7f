"""Completes a sketch without one of the ideas that make it fast, so that each idea's worth can be measured.

`naive-1`, `naive-2`: index holes take any expression of that depth instead of fans and rotations. `no-accumulators`: nothing is
known about what an accumulator must add; completions are evaluated on random numbers, then symbolically, one by one.
Source: Swizzle Inventor, section 7.4, table 2.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import numpy as np

from warploom.core import Diagnostic, Status, UserError, Verdict
from warploom.ir import IndexExpr, fill
from warploom.ir.swizzle import SPACES, FunctionSet, NaiveSet, function_set
from warploom.sketch import Sketch
from warploom.solve import Budget, Statistics, Strategy, search, smallest_domain
from warploom.synth.network.lower import lower
from warploom.synth.network.probe import Probe, make_probe
from warploom.synth.network.requirements import Requirements, requirements
from warploom.synth.problem import kernel_algebra, simplified
from warploom.synth.proof.judge import judge
from warploom.synth.proof.prove import prove
from warploom.synth.proof.symbolic import run_spec
from warploom.synth.search.engine import Engine
from warploom.synth.search.propagation import ConflictError, initial_candidate
from warploom.synth.search.sketch_model import Chosen, SketchModel, build_constraints

Missing = Literal["naive-1", "naive-2", "no-accumulators"]
WITHOUT: tuple[Missing, ...] = ("naive-1", "naive-2", "no-accumulators")
CONDITION_SPACES = (1, 2)
"""Conditions without constants, then with them; a naive index has no spaces of its own."""


@dataclass(frozen=True, eq=False, slots=True)
class Ablated:
    status: Status
    verdict: Verdict
    reason: str
    space: int | None
    """The space in which conditions (and, without accumulators, indices) were chosen."""
    accumulates: int | None
    holes: dict[str, IndexExpr]
    """Simplified; empty without an answer."""
    statistics: Statistics
    domain: str = ""
    """Domain of a claim that is `proved`."""
    cases: int | None = None
    """Inputs that the independent checker ran."""


def complete_without(sketch: Sketch, missing: Missing, budget_s: float | None = None, seed: int = 0) -> Ablated:
    """A completion of the first space that has one: the cheapest, but without accumulators any.

    `budget_s`: CPU seconds. Raises UserError for a sketch without a specification.
    """
    if sketch.spec is None:
        raise UserError(
            Diagnostic("SPEC_MISSING", f"expected sketch '{sketch.name}' to say what it computes", sketch.kernel.span)
        )
    return _Run(sketch, missing, budget_s, seed).run()


class _Run:
    def __init__(self, sketch: Sketch, missing: Missing, budget_s: float | None, seed: int) -> None:
        assert sketch.spec is not None
        self.sketch = sketch
        self.spec = sketch.spec
        self.missing: Missing = missing
        self.budget_s = budget_s
        self.seed = seed
        self.started = time.process_time()
        self.sizes = dict(sketch.complete_at)
        self.algebra = kernel_algebra(sketch)
        self.expected = run_spec(self.spec, sketch.kernel, self.sizes)
        self.statistics = Statistics()
        self.network = lower(sketch.kernel, self.sizes, None)

    def run(self) -> Ablated:
        for space in SPACES if self.missing == "no-accumulators" else CONDITION_SPACES:
            if self.missing == "no-accumulators":
                chosen, reason = self._evaluated(space)
            else:
                chosen, reason = self._naive(space, 1 if self.missing == "naive-1" else 2)
            if chosen is not None:
                return self._judged(space, chosen)
            if reason:
                return Ablated("unknown", "unchecked", reason, None, None, {}, self.statistics)
        reason = "no completion exists: exhausted"
        return Ablated("unsat", "unchecked", reason, None, None, {}, self.statistics)

    def _left(self) -> Budget:
        used = time.process_time() - self.started
        return Budget(cpu_s=None if self.budget_s is None else max(0.0, self.budget_s - used))

    def _is_right(self, holes: dict[str, IndexExpr]) -> bool:
        kernel = fill(self.sketch.kernel, holes)
        return prove(kernel, self.spec, self.sizes, self.algebra, self.expected).verdict == "proved"

    def _naive(self, space: int, depth: int) -> tuple[Chosen | None, str]:
        engine = _NaiveEngine(
            self.sketch.kernel, self.sizes, self.expected.outputs, self.expected.stored, self.algebra, self._is_right
        )
        engine.depth = depth
        if engine.accumulates_bound is None:
            return None, ""
        found = engine.search_space(space, budget=self._left())
        self._count(found.statistics)
        return (found.answers[0][1] if found.answers else None), "" if found.complete else found.reason

    def _evaluated(self, space: int) -> tuple[Chosen | None, str]:
        required = _without_accumulators(requirements(self.network, self.expected.outputs, self.expected.stored, self.algebra))
        constraints, folds = build_constraints(self.network, required)
        wanted = [
            (cell, term)
            for name, cells in self.network.outputs.items()
            for cell, term, is_stored in zip(
                cells.tolist(), self.expected.outputs[name].ravel().tolist(), self.expected.stored[name].ravel().tolist(),
                strict=True,
            )
            if is_stored
        ]  # fmt: skip
        probe = make_probe(self.network, wanted, self.algebra)
        sets: list[FunctionSet] = [function_set(u.hole, u.points, space) for u in self.network.holes]
        try:
            start = initial_candidate(self.network, required)
        except ConflictError:
            return None, ""
        everything = range(len(constraints))
        model = SketchModel(
            self.network, required, folds, constraints, [], sets, start, self._is_right, probe, pending=everything
        )
        strategy = smallest_domain if probe is None else _one_output_first(probe)
        outcome = search(model, goal="first", strategy=strategy, budget=self._left())
        self._count(outcome.statistics)
        return (outcome.answers[0][1] if outcome.answers else None), "" if outcome.answers else outcome.reason

    def _count(self, more: Statistics) -> None:
        self.statistics.nodes += more.nodes
        self.statistics.refuted += more.refuted
        self.statistics.rejected += more.rejected

    def _judged(self, space: int, chosen: Chosen) -> Ablated:
        holes = {use.hole.name: simplified(chosen.holes[use.hole.name], use) for use in self.network.holes}
        kernel = fill(self.sketch.kernel, holes)
        judged = judge(self.sketch, kernel, self.spec, self.sizes, self.algebra, self.seed, self.expected)
        status: Status = "error" if judged.verdict == "refuted" else judged.status
        return Ablated(
            status,
            judged.verdict,
            judged.reason,
            space,
            chosen.accumulates,
            holes,
            self.statistics,
            judged.domain,
            judged.cases,
        )


class _NaiveEngine(Engine):
    depth = 1

    def function_sets(self, space: int) -> list[FunctionSet]:
        made: dict[tuple[int, bytes], NaiveSet] = {}
        sets: list[FunctionSet] = []
        for use in self.network.holes:
            if use.hole.kind != "xform" or not len(use.points):
                sets.append(function_set(use.hole, use.points, space))
                continue
            key = use.hole.n, use.points.tobytes()
            if key not in made:
                made[key] = NaiveSet(use.points, use.hole.n, self.depth)
            sets.append(made[key])
        return sets


def _one_output_first(probe: Probe) -> Strategy:
    """The holes of an output with the fewest completions left, the smallest first: an output is evaluated once its last hole is
    reached, for all functions of that hole at once."""
    groups = [frozenset(np.flatnonzero(row).tolist()) for row in np.unique(probe.reads, axis=0)]

    def choose(choices: Sequence[tuple[int, int]]) -> int:
        left = dict(choices)
        asked = [[h for h in group if h in left] or list(left) for group in groups]
        return min(min(asked, key=lambda holes: prod(left[h] for h in holes)), key=lambda h: (left[h], h))

    return choose


def _without_accumulators(required: Requirements) -> Requirements:
    return replace(
        required,
        folds=0,
        terms=np.zeros((0, 1, 1), np.int64),
        multiplicity=np.zeros((0, 1), np.int64),
        entries=(),
        is_loose=True,
    )
