"""The second engine: a lowered sketch handed to z3 whole. Slower than propagation, and shares none of its reasoning.

For cross-checks, and for holes whose functions no table can list: a hole enters as the parameters of its grammar.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from warploom.core.limits import why
from warploom.ir import IndexExpr, Kernel, index_cost
from warploom.sketch import TermArrays
from warploom.solve import UNLIMITED, Budget, ClauseSession, Cost, Sat, Statistics, Unknown, Unsat
from warploom.synth.network.lower import lower
from warploom.synth.network.requirements import requirements
from warploom.synth.search.engine import SpaceResult
from warploom.synth.search.prices import Limit
from warploom.synth.search.sketch_model import Chosen
from warploom.synth.smt.holes import HoleFlags, Model, encode_hole
from warploom.synth.smt.network import NetworkClauses, strange_constants
from warploom.terms import Algebra

Evaluate = Callable[[dict[str, IndexExpr]], bool]


@dataclass(frozen=True, eq=False, slots=True)
class Completed:
    """A completion of the sketch."""

    holes: dict[str, IndexExpr]
    """Hole name -> expression over `HoleArg`."""
    accumulates: int
    """Accumulate statements whose guard is not false everywhere."""


Answer = Completed | Unsat | Unknown


class SmtEngine:
    """Answers like `Engine`; every query to z3 counts as one node of the budget, and CPU seconds become its time limit."""

    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[str, int],
        spec: Mapping[str, Any],
        stored: Mapping[str, Any],
        algebra: Algebra,
        evaluate: Evaluate,
        given: TermArrays | None = None,
        rlimit: int | None = None,
    ) -> None:
        """Arguments as of `Engine`; `rlimit`: z3's deterministic resource units per query (default: the session's)."""
        started = time.process_time()
        self.network = lower(kernel, sizes, given)
        self.required = requirements(self.network, spec, stored, algebra)
        self.evaluate = evaluate if self.required.is_loose else None
        self.rlimit = rlimit
        self.closed = sum(s.is_certain for s in self.network.statements)
        strange = strange_constants(self.network, self.required, self.required.entries)
        self.doubt = "constants among the products that accumulators add" if strange else ""
        self.phases = {"lower": time.process_time() - started}
        self.has_enabled_sets = False

    def judged_by(self, accepts: Evaluate) -> SmtEngine:
        """This engine, with answers that must be accepted, too, for faults that z3 is not asked about."""
        engine = copy(self)
        engine.evaluate = accepts
        return engine

    @property
    def accumulates_bound(self) -> int | None:
        """Statements that no hole can switch off."""
        return self.closed

    objective: tuple[str, ...] = ("accumulates",)

    def good_enough(self, parts: int = 1) -> Cost | None:
        return None

    def meets_bounds(self, cost: Cost, parts: int | None = None) -> bool:
        """Whether no completion has fewer accumulates."""
        return cost[0] <= self.closed

    def question(self, space: int, most_accumulates: int | None = None) -> Question:
        """The sketch in a search space, with at most so many accumulates, encoded but not asked yet."""
        return Question(self, space, most_accumulates)

    def solve(self, space: int, most_accumulates: int | None = None) -> Answer:
        """Some completion with at most so many accumulates."""
        return self.question(space, most_accumulates).ask()

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
        """A completion with the fewest accumulates (strictly fewer than `below`, if given), or all completions that differ.

        What requests of warps cost is not asked, so that `limit` must be None.
        """
        assert limit is None
        started = time.process_time()
        statistics = Statistics()
        limits = [n for n in (most_accumulates, None if below is None else below[0] - (below[1] <= 0)) if n is not None]
        question = self.question(space, min(limits, default=None))
        answers: list[tuple[Cost, Chosen]] = []
        reason = ""
        while not reason:
            if budget.nodes is not None and statistics.nodes >= budget.nodes:
                reason = "budget: nodes"
                break
            left = None if budget.cpu_s is None else budget.cpu_s - (time.process_time() - started)
            if left is not None and left <= 0:
                reason = "budget: CPU seconds"
                break
            try:
                answer = question.ask(left, statistics)
            except KeyboardInterrupt as stop:
                reason = why(stop)
                break
            if progress is not None:
                progress(statistics)
            if isinstance(answer, Unsat):
                break
            if isinstance(answer, Unknown):
                reason = answer.reason
                break
            statistics.answers += 1
            cost = answer.accumulates, sum(index_cost(e) for e in answer.holes.values())
            found = cost, Chosen(answer.holes, answer.accumulates)
            if all_answers:
                answers.append(found)
                question.exclude()
            else:
                answers = [found]
                if answer.accumulates <= self.closed:
                    break
                question.limit(answer.accumulates - 1)
        answers.sort(key=lambda a: a[0])
        complete = not reason
        cheapest = complete and (all_answers or not answers)
        return SpaceResult(space, tuple(answers), complete, cheapest, reason, time.process_time() - started, statistics)


class Question:
    """One clause session for a sketch in one search space; constraints can be added between answers."""

    def __init__(self, engine: SmtEngine, space: int, most_accumulates: int | None) -> None:
        self.engine = engine
        self.session = ClauseSession() if engine.rlimit is None else ClauseSession(engine.rlimit)
        self.uses = engine.network.holes
        self.holes: list[HoleFlags] = [
            encode_hole(self.session, f"hole {n}", u.hole, [tuple(p) for p in u.points.tolist()], space)
            for n, u in enumerate(self.uses)
        ]
        clauses = NetworkClauses(self.session, engine.network, engine.required, self.holes)
        self.counted: dict[str, int] = {}
        for number, fires in clauses.statements().items():
            counted = self.session.flag(f"statement {number}")
            self.session.add(-fires, counted)
            self.session.add(fires, -counted)
            self.counted[f"statement {number}"] = counted
        self.last: Sequence[int] = ()
        if most_accumulates is not None:
            self.limit(most_accumulates)

    def limit(self, most_accumulates: int) -> None:
        """Allows only completions with at most so many accumulates from now on."""
        self.session.at_most(most_accumulates - self.engine.closed, list(self.counted.values()))

    def exclude(self) -> None:
        """No completion that agrees with the last answer at every point of every hole from now on."""
        self.session.add(*(-x for x in self.last))

    def ask(self, timeout_s: float | None = None, statistics: Statistics | None = None) -> Answer:
        """Some completion; where requirements say too little, candidates are judged by evaluation until one passes."""
        statistics = statistics if statistics is not None else Statistics()
        while True:
            statistics.nodes += 1
            answer = self.session.check(timeout_s=timeout_s)
            if isinstance(answer, Unknown):
                return Unknown(f"budget: z3 stopped ({answer.reason}) after {answer.spent} resource units", answer.spent)
            if isinstance(answer, Unsat):
                return Unknown(self.engine.doubt, 0) if self.engine.doubt else answer
            completed = self._completed(answer)
            if self.engine.evaluate is None or self.engine.evaluate(completed.holes):
                return completed
            statistics.rejected += 1
            self.exclude()

    def _completed(self, answer: Sat[int]) -> Completed:
        model: Model = answer.model
        self.last = [x for h in self.holes for x in h.taken(model)]
        holes = {u.hole.name: h.expr(model) for u, h in zip(self.uses, self.holes, strict=True)}
        return Completed(holes, self.engine.closed + sum(model[name] for name in self.counted))
