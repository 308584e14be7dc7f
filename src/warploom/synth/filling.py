"""A sketch's holes as choices of a larger search, such as one over the parameters of a family of sketches.

A `solve.Model`: the statements to keep and the space are the first choice, then come the holes, one after the other; a candidate
whose holes are all decided is judged, which is its last choice. An answer is a judged completion. Where a judgement finds a
size at which the completion fails, that size is completed at, too: all other candidates are then void, and the search goes on
from a new root with more to propagate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from warploom.ir import HoleArg, IndexExpr, index_text, parse_index, tabulate
from warploom.ir.swizzle import SPACES, FunctionSet, IntArray, kind_of
from warploom.sketch import Sketch
from warploom.solve import Alternative, Cost, StopSearchError
from warploom.synth.network.network import HoleUses
from warploom.synth.problem import DisagreementError, Problem, completion_of, simplified
from warploom.synth.proof.judge import Judged
from warploom.synth.report import Completion, Report
from warploom.synth.search.engine import Engine
from warploom.synth.search.propagation import Candidate
from warploom.synth.search.sketch_model import SketchModel

START = -1
"""The choice of statements and space."""
JUDGE = -2
"""The choice, with one alternative, to judge what is decided."""


@dataclass(frozen=True, eq=False, slots=True)
class Filled:
    """A candidate: some holes decided, in one space."""

    engine: Engine | None
    """Void once the filling has another one; None of a sketch without holes, which is judged as it stands."""
    decided: Mapping[str, IndexExpr]
    """Holes decided before the search."""
    model: SketchModel | None = None
    """None: statements and space are open."""
    candidate: Candidate | None = None
    space: int = 0
    completion: Completion | None = None
    """The completion of a judged candidate."""
    judged: Judged | None = None


class Filling:
    """`solve.Model[Filled, Report]`. UserError for a sketch that is wrong in itself."""

    def __init__(self, sketch: Sketch, seed: int = 0) -> None:
        self.problem = Problem(sketch, seed)
        self.gave_up = ""
        """Reason why completions may have been missed."""
        self._unjudged: Filled | None = None
        """The candidate during whose judgement the search was interrupted."""
        self._engine: Engine | None = None
        self._sets: dict[int, list[FunctionSet]] = {}
        self._is_closed = not sketch.kernel.holes and not sketch.requires
        if faults := self.problem.prepare():
            self.gave_up = faults[0].message
        elif not self._is_closed:
            self._renew()

    # ------------------------------------------------------------ solve.Model

    def root(self) -> Filled | None:
        return self.root_with({})

    def root_with(self, decided: Mapping[str, IndexExpr]) -> Filled | None:
        """The root where some holes are decided before."""
        if self._is_closed and not self.gave_up:
            return Filled(None, decided, space=SPACES[0])
        engine = self._engine
        return None if engine is None or engine.accumulates_bound is None else Filled(engine, decided)

    def open_choices(self, candidate: Filled) -> Sequence[tuple[int, int]]:
        if candidate.engine is None:
            return [(JUDGE, 1)] if candidate.judged is None else []
        if candidate.model is None or candidate.candidate is None:
            return [(START, len(list(self._starts(candidate.engine))))]
        return candidate.model.open_choices(candidate.candidate) or ([(JUDGE, 1)] if candidate.judged is None else [])

    def alternatives(self, candidate: Filled, choice: int) -> Iterator[Alternative[Filled]]:
        if choice == JUDGE or candidate.engine is None:
            yield Alternative(self.bound(candidate), partial(self._judged, candidate))
        elif candidate.model is None or candidate.candidate is None:
            for bound, enabled, space in self._starts(candidate.engine):
                yield Alternative(bound, partial(self._started, candidate, enabled, space), (enabled, space))
        else:
            for found in candidate.model.alternatives(candidate.candidate, choice):
                yield Alternative(_in_space(candidate.space, found.bound), partial(self._followed, candidate, found), found.value)

    def bound(self, candidate: Filled) -> Cost:
        """Accumulates and prices, then the space, then index operations: a larger space is of no use for cheaper expressions."""
        if candidate.engine is None:
            return (candidate.completion.accumulates if candidate.completion else 0, candidate.space, 0)
        if candidate.model is None or candidate.candidate is None:
            bounds = candidate.engine.bounds or (0,)
            return (*bounds, SPACES[0], 0)
        return _in_space(candidate.space, candidate.model.bound(candidate.candidate))

    def answer(self, candidate: Filled) -> tuple[Cost, Report] | None:
        judged, completion = candidate.judged, candidate.completion
        if judged is None or completion is None:
            return None
        status = "unknown" if judged.doubt else "solved"
        report = self.problem.report(status, judged, judged.doubt or judged.cut, completions=(completion,), space=candidate.space)
        return self.bound(candidate), report

    def unjudged(self, reason: str) -> tuple[Cost, Report] | None:
        """The completion during whose judgement the search was interrupted, as an answer of which nothing is claimed."""
        found = self._unjudged
        if found is None or found.completion is None:
            return None
        report = self.problem.report("solved", None, reason, completions=(found.completion,), space=found.space)
        return self.bound(found), report

    # ------------------------------------------------------------ what is decided

    def decisions(self, candidate: Filled) -> dict[str, IndexExpr]:
        """The holes that are decided, with their expressions."""
        if candidate.engine is None or candidate.candidate is None:
            return dict(candidate.decided)
        uses = candidate.engine.network.holes
        functions = zip(uses, candidate.candidate.functions, strict=True)
        return {u.hole.name: simplified(f.expr(0), u) for u, f in functions if f is not None and len(f) == 1}

    def values(self, decided: Mapping[str, IndexExpr]) -> dict[str, list[str] | None]:
        """Hole -> what it may become in the largest space beside what is decided, as far as propagation sees at once; None: too
        many to list."""
        found, top = dict[str, list[str] | None](), self.root_with(decided)
        root = None if top is None else self._started(top, None, SPACES[-1])
        if root is None or root.engine is None or root.model is None or root.candidate is None:
            return {hole.name: [] for hole in self.problem.kernel.holes}
        for number, use in enumerate(root.engine.network.holes):
            functions = root.candidate.functions[number]
            if functions is None:
                found[use.hole.name] = None
                continue
            positions = range(len(functions))
            if len(functions) > 1:
                kept = (a.expand() for a in root.model.alternatives(root.candidate, number))
                tables = {f.tables[0].tobytes() for c in kept if c is not None and (f := c.functions[number]) is not None}
                positions = [j for j in positions if functions.tables[j].tobytes() in tables]
            found[use.hole.name] = [text_of(functions.expr(j), use) for j in positions]
        return found

    # ------------------------------------------------------------ steps

    def _renew(self) -> None:
        engine = self.problem.engine()
        assert isinstance(engine, Engine)
        self._engine, self._sets = engine, {}

    def _starts(self, engine: Engine) -> Iterator[tuple[Cost, int | None, int]]:
        """(bound, statements to keep, space), cheapest first."""
        spaces = SPACES if engine.is_widened_in(2) else (SPACES[0], *SPACES[2:])
        for enabled in engine.sets_to_try():
            _, *prices = engine.bounds or (0,)
            count = engine.accumulates_bound or 0 if enabled is None else engine.closed + enabled.bit_count()
            for space in spaces:
                yield (count, *prices, space, 0), enabled, space

    def _started(self, top: Filled, enabled: int | None, space: int) -> Filled | None:
        engine, decided = top.engine, top.decided
        if engine is None or engine is not self._engine:
            return None
        if space not in self._sets:
            self._sets[space] = engine.function_sets(space)
        model = engine.started(self._sets[space], enabled)
        if model is None:
            return None
        for number, use in enumerate(engine.network.holes):
            if use.hole.name in decided:
                table = table_of(decided[use.hole.name], use)
                if table is None or not model.decide(number, table):
                    return None
        candidate = model.root()
        return None if candidate is None else Filled(engine, decided, model, candidate, space)

    def _followed(self, parent: Filled, found: Alternative[Candidate]) -> Filled | None:
        child = found.expand() if parent.engine is self._engine else None
        return None if child is None else replace(parent, candidate=child)

    def _judged(self, parent: Filled) -> Filled | None:
        """The judged candidate; after a refutation that teaches something, the new root; else None."""
        engine = parent.engine
        if engine is not self._engine:
            return None
        try:
            completion = self._completion(parent)
            if completion is None:
                return None
            self._unjudged = replace(parent, completion=completion)
            judged = self.problem.judged(completion.holes)
            self._unjudged = None
        except DisagreementError as error:
            return self._end(error.judged.disagreement)
        except StopSearchError as stop:
            return self._end(str(stop))
        if judged.verdict != "refuted":
            count = completion.accumulates if engine is not None else judged.proof.accumulates
            done = replace(completion, accumulates=count, executed=judged.proof.executed, verdict=judged.verdict)
            return replace(parent, completion=done, judged=judged)
        if engine is None:
            return None
        if self.problem.adds_instance(judged):
            self._renew()
        elif engine.merges:
            self._engine = engine.judged_by(self.problem.is_acceptable)
        else:
            return None
        return self.root_with(parent.decided)

    def _completion(self, candidate: Filled) -> Completion | None:
        """The completion to judge; None where there is none."""
        if candidate.engine is None:
            return Completion({}, 0, 0, 0)
        answer = None if candidate.model is None or candidate.candidate is None else candidate.model.answer(candidate.candidate)
        if answer is None:
            self.gave_up = self.gave_up or self.problem.open_question
            return None
        return completion_of(answer[1], candidate.engine.network.holes)

    def _end(self, reason: str) -> None:
        """Nothing more is tried of this sketch."""
        self._engine, self.gave_up, self._unjudged = None, reason, None


def _in_space(space: int, bound: Cost) -> Cost:
    return (*bound[:-1], space, bound[-1])


def read_holes(sketch: Sketch, decided: Mapping[str, str]) -> dict[str, IndexExpr]:
    """Expressions of holes, by name, as a user writes them; UserError for one that is none over the hole's arguments."""
    holes = {hole.name: hole for hole in sketch.kernel.holes}
    return {name: parse_index(text, holes[name].arg_names) for name, text in decided.items() if name in holes}


def text_of(expr: IndexExpr, use: HoleUses) -> str:
    """A hole's expression in the words of the sketch."""
    return index_text(simplified(expr, use), use.hole.arg_names)


def table_of(expr: IndexExpr, use: HoleUses) -> IntArray | None:
    """Values of the expression on the hole's points, as the hole numbers them; None where it takes another value."""
    numbers = kind_of(use.hole).numbers(use.hole)
    if numbers is None:
        if not isinstance(expr, HoleArg) or expr.position >= use.values:
            return None
        return np.full(len(use.points), expr.position)
    points: dict[IndexExpr, IntArray] = {HoleArg(n): use.points[:, n] for n in range(use.points.shape[1])}
    try:
        values = np.broadcast_to(tabulate(expr, points), len(use.points))
    except KeyError:
        return None
    is_value = values[:, None] == np.array(numbers, np.int64)
    return is_value.argmax(axis=1) if is_value.any(axis=1).all() else None
