"""One search over programs that compute the same with reductions in more or fewer parts: how many is the first decision.

The lower bound of a program is the sum of those of its kernels' spaces: a program whose bound is above the best time found is
left out. The others are searched for a part of the budget each; the fastest then has the rest, and what more there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from typing import TypeAlias

from warploom.core.limits import INTERRUPTION
from warploom.schedule.backbone import Program
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features, KernelSpace
from warploom.schedule.search.explore import Exploration, Live, Options
from warploom.schedule.search.kernel_model import milliseconds
from warploom.schedule.search.program import (
    MakeBound,
    MakeEvaluator,
    MakePrograms,
    ProgramExploration,
    explore,
    recipes,
)
from warploom.schedule.targets import Target
from warploom.solve import BUDGET_SPENT, EventSink, Mcts, Order, Refine
from warploom.solve.space import Candidate

Search: TypeAlias = Callable[[int, Options], ProgramExploration]
"""Explores the program of so many parts."""
Bounding: TypeAlias = Callable[[int], float]
"""The bound of its whole space, in ms."""
More: TypeAlias = Callable[[int, tuple[Exploration[Candidate], ...]], float]
"""Asked with the fastest so far where the budget is spent, its parts and the explorations of its kernels, in the middle of a
search or behind it: how many wall seconds more there are; 0: none."""

_PROBED = 0.4
"""Share of the budget in which every program is searched."""
_LEAST_NODES, _LEAST_S = 100, 3.0
"""Candidates, or wall seconds, of such a search at least: with a smaller budget fewer numbers of parts are searched."""
_NEAR = 1.02
"""A program that is slower than the best by at most this factor shares the rest of the budget with it."""
_RISES = 2
"""So many programs in a row that are slower than those before them end the first round."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One number of parts."""

    parts: int
    bound_ms: float | None
    """Bound of its whole space; None where fewer parts had said that it is none of the fastest."""
    time_ms: float | None
    """The fastest found; None where the bound ruled it out, or nothing was found."""


@dataclass(frozen=True, slots=True)
class PartsExploration:
    parts: int
    """Number of parts of the fastest program."""
    found: ProgramExploration
    """Its exploration; `complete` says that no number of parts has anything faster."""
    tried: tuple[Tried, ...]
    others: tuple[Exploration[Candidate], ...]
    """Explorations of the other programs, and earlier ones of this one: their nodes are part of the search."""


def explore_parts(
    values: Sequence[int], bounding: Bounding, search: Search, options: Options, more: More | None = None
) -> PartsExploration:
    """`values`: numbers of parts, in the order in which they are tried, one at least. The budget is one of all programs together.
    An interruption ends the search with the best so far."""
    state = _State(values, bounding, search, _Budget(options), more)
    try:
        if state.only_round() if len(values) == 1 else state.first_round() and state.second_round():
            state.further_rounds()
    except KeyboardInterrupt:  # between two searches
        if not state.made:
            raise
        state.interrupted()
    return state.result()


def explore_programs(
    programs: Mapping[int, Program],
    target: Target,
    make_bound: MakeBound = Bound,
    options: Options | None = None,
    *,
    fixed: Mapping[int, Mapping[str, str]] | None = None,
    features: Features | None = None,
    evaluators: MakeEvaluator | None = None,
    timers: MakePrograms | None = None,
    journal: Path | None = None,
    events: EventSink | None = None,
    progress: Callable[[Live], None] | None = None,
    executor: Executor | None = None,
    more: More | None = None,
) -> PartsExploration:
    """The fastest of programs that compute the same, by their parts, in the order in which they are tried. `fixed`: decisions by
    hand of each; `timers` and the others as of `explore`, which makes one program's search. UserError as there."""
    options, decided = options or Options(), fixed or {}
    spaces: dict[int, tuple[KernelSpace, ...]] = {}
    timed: list[float] = []
    """Times of programs that have an implementation."""

    def bounding(parts: int) -> float:
        made = recipes(programs[parts], target, make_bound, features, options.order, decided.get(parts))
        spaces[parts] = tuple(recipe.space() for recipe in made)
        models = [recipe.model(space) for recipe, space in zip(made, spaces[parts], strict=True)]
        return sum(milliseconds(model.bound(model.root())) for model in models)

    def search(parts: int, limits: Options) -> ProgramExploration:
        found = explore(
            programs[parts],
            target,
            make_bound,
            replace(limits, fixed=decided.get(parts, {})),
            features=features,
            evaluators=evaluators,
            programs=timers,
            journal=journal,
            events=events,
            progress=progress,
            executor=executor,
            spaces=spaces.get(parts),
            is_needed=not timed,
        )
        spaces.setdefault(parts, found.spaces)
        timed.extend([ms] if (ms := _ms(found)) < inf else [])
        return found

    return explore_parts(tuple(programs), bounding, search, options, more)


class _Budget:
    """A budget, and how much of it is left."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._began = time.monotonic()
        self._nodes = self._evaluations = 0

    def probe(self, share: float) -> Options | None:
        """Options with this share of the whole, at least what a search needs to tell anything; None where that is not left."""
        whole, (left_s, nodes, evaluations) = self._options, self._left()
        if (left_s is not None and left_s < _LEAST_S) or (nodes is not None and nodes < _LEAST_NODES):
            return None
        wanted_s = None if whole.budget_s is None else max(_LEAST_S, share * whole.budget_s)
        wanted_nodes = None if whole.nodes is None else max(_LEAST_NODES, int(share * whole.nodes))
        return replace(
            whole,
            budget_s=wanted_s if left_s is None or wanted_s is None else min(left_s, wanted_s),
            nodes=wanted_nodes if nodes is None or wanted_nodes is None else min(nodes, wanted_nodes),
            evaluations=None if whole.evaluations is None else max(1, min(evaluations or 0, int(share * whole.evaluations))),
        )

    def further(self, seconds: float) -> Options:
        """Options with so many wall seconds more."""
        self._options = replace(self._options, budget_s=time.monotonic() - self._began + seconds)
        return self.part(1.0)

    def part(self, share: float) -> Options:
        """Options with this share of what is left."""
        whole, (left_s, nodes, evaluations) = self._options, self._left()
        return replace(
            whole,
            budget_s=None if left_s is None else share * left_s,
            nodes=None if nodes is None else max(1, int(share * nodes)),
            evaluations=None if evaluations is None else max(1, int(share * evaluations)),
        )

    def spend(self, found: ProgramExploration) -> None:
        self._nodes += sum(stage.nodes for stage in found.stages)
        self._evaluations += sum(stage.evaluated for stage in found.stages)

    @property
    def is_spent(self) -> bool:
        return any(left is not None and left <= 0 for left in self._left())

    def _left(self) -> tuple[float | None, int | None, int | None]:
        whole = self._options
        left_s = None if whole.budget_s is None else max(0.0, whole.budget_s - (time.monotonic() - self._began))
        nodes = None if whole.nodes is None else max(0, whole.nodes - self._nodes)
        evaluations = None if whole.evaluations is None else max(0, whole.evaluations - self._evaluations)
        return left_s, nodes, evaluations


@dataclass(slots=True)
class _State:
    values: Sequence[int]
    bounding: Bounding
    search: Search
    budget: _Budget
    more: More | None = None
    bounds: dict[int, float] = field(default_factory=dict[int, float])
    made: dict[int, ProgramExploration] = field(default_factory=dict[int, ProgramExploration])
    """The best exploration of each program that was searched."""
    earlier: list[ProgramExploration] = field(default_factory=list[ProgramExploration])

    @property
    def best_ms(self) -> float:
        return min((_ms(found) for found in self.made.values()), default=inf)

    @property
    def fastest(self) -> int:
        """Number of parts of the fastest program; among equally fast ones the fewest."""
        return min(self.made, key=lambda parts: (_ms(self.made[parts]), parts))

    def first_round(self) -> bool:
        """Whether it was not interrupted."""
        rises, last = 0, inf
        for parts in self.values:
            if rises >= _RISES:
                break
            if self.made and self.budget.probe(_PROBED / len(self.values)) is None:
                break  # before its spaces are made, which takes longest where there is little time
            self.bounds[parts] = self.bounding(parts)
            if self.bounds[parts] >= self.best_ms:
                continue
            options = self.budget.probe(_PROBED / len(self.values))
            if options is None and self.made:
                break
            if not self._searched(parts, options or self.budget.part(1.0)):
                return False
            now = _ms(self.made[parts])
            rises, last = (rises + 1 if now > last or now == inf else 0), now
        return True

    def only_round(self) -> bool:
        """Whether the search of the only program was not interrupted."""
        (parts,) = self.values
        is_through = self._searched(parts, self.budget.part(1.0), is_last=True)
        self.bounds[parts] = self.made[parts].root_bound_ms
        return is_through

    def second_round(self) -> bool:
        """The fastest program has what is left; the next one half of that, where it is nearly as fast. Descents are others than
        those of the first round. Whether it was not interrupted."""
        order = sorted(self.made, key=lambda parts: (_ms(self.made[parts]), parts))
        near = [parts for parts in order[:2] if _ms(self.made[parts]) <= _NEAR * self.best_ms and not self.made[parts].complete]
        for n, parts in enumerate(near):
            options, is_last = self.budget.part(1 / (len(near) - n)), n == len(near) - 1
            if self.budget.is_spent:
                break
            if not self._searched(parts, replace(options, strategy=_reseeded(options.strategy)), is_last=is_last):
                return False
        return True

    def further_rounds(self) -> None:
        """The fastest program again, as long as there is more time, with other descents each time."""
        for n in count(2 if len(self.values) > 1 else 1):
            found = self.made[self.fastest]
            if self.more is None or found.complete or not found.reason.startswith(BUDGET_SPENT):
                return
            seconds = self.more(self.fastest, found.stages)
            if seconds <= 0:
                return
            options = self.budget.further(seconds)
            if self.budget.is_spent:
                return
            options = replace(options, strategy=_reseeded(options.strategy, n))
            if not self._searched(self.fastest, options, is_last=True):
                return

    def _searched(self, parts: int, options: Options, *, is_last: bool = False) -> bool:
        """Whether the search was not interrupted. is_last: whoever gives more time is asked within it."""
        if is_last and self.more is not None:
            options = replace(options, more=partial(self._more_s, self.more, parts))
        found = self.search(parts, options)
        self.budget.spend(found)
        before = self.made.get(parts)
        if before is not None:
            kept, other = _joined(before, found)
            self.earlier.append(other)
            self.made[parts] = replace(kept, reason=found.reason)
        else:
            self.made[parts] = found
        return found.reason != INTERRUPTION

    def _more_s(self, more: More, parts: int, now: Exploration[Candidate]) -> float:
        """Asked within the search of a program of one kernel, which has found `now`."""
        if not self.made or (now.time_ms is not None and now.time_ms < self.best_ms):
            return more(parts, (now,))
        return more(self.fastest, self.made[self.fastest].stages)

    def interrupted(self) -> None:
        parts = self.fastest
        self.made[parts] = replace(self.made[parts], reason=INTERRUPTION)

    def result(self) -> PartsExploration:
        parts, best_ms = self.fastest, self.best_ms
        others = [found for p, found in self.made.items() if p != parts] + self.earlier
        is_complete = all(self.made[p].complete if p in self.made else self.bounds.get(p, 0.0) >= best_ms for p in self.values)
        interrupted = any(found.reason == INTERRUPTION for found in self.made.values())
        found = self.made[parts]
        found = replace(found, complete=is_complete, reason=INTERRUPTION if interrupted else found.reason)
        times = {p: _ms(found) for p, found in self.made.items()}
        tried = tuple(Tried(p, self.bounds.get(p), times[p] if times.get(p, inf) < inf else None) for p in sorted(self.values))
        return PartsExploration(parts, found, tried, tuple(stage for other in others for stage in other.stages))


def _joined(
    before: ProgramExploration, found: ProgramExploration
) -> tuple[ProgramExploration, ProgramExploration]:  # fmt: skip
    """The better of two explorations of one program, and the other one: kernel by kernel, where their times are added."""
    if found.complete or len(found.stages) < 2 or before.together or found.together or len(before.stages) != len(found.stages):
        return (found, before) if _ms(found) < _ms(before) or found.complete else (before, found)
    pairs = [(b, f) if _stage_ms(b) <= _stage_ms(f) else (f, b) for b, f in zip(before.stages, found.stages, strict=True)]
    return (
        replace(found, stages=tuple(better for better, _ in pairs)),
        replace(before, stages=tuple(other for _, other in pairs)),
    )


def _stage_ms(stage: Exploration[Candidate]) -> float:
    return inf if stage.time_ms is None or stage.best is None else stage.time_ms


def _reseeded(order: Order, by: int = 1) -> Order:
    return replace(order, seed=order.seed + by) if isinstance(order, Refine | Mcts) else order


def _ms(found: ProgramExploration) -> float:
    """Infinite where a kernel has no implementation."""
    return inf if found.time_ms is None or any(stage.best is None for stage in found.stages) else found.time_ms
