"""The upper levels of a search tree by exhaustive enumeration, with and without a cut, and what lies behind the candidates that
the cut keeps.

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, section 5.4 (Table 3).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from warploom.core.limits import why
from warploom.solve.model import Alternative, Cost, Model, Strategy, declared_order
from warploom.solve.runs.executor import Failed, Finished, Task, run_tasks
from warploom.solve.search.spending import BUDGET_SPENT, UNLIMITED, Budget, Meter, StopSearchError
from warploom.solve.search.tree_size import Interval, interval, walks

S = TypeVar("S")
A = TypeVar("A")

_TELL = 256
"""Candidates from one report of progress to the next."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Counts by depth, the root first. `kept`: neither the candidate nor one above it is cut. Leaves and dead ends count at
    their own depth; at the last level they are not told apart."""

    nodes: tuple[int, ...]
    kept: tuple[int, ...]
    leaves: tuple[int, ...]
    """Leaves among the kept candidates."""
    dead_ends: tuple[int, ...]
    """Dead ends among the kept candidates."""
    complete: bool = True
    reason: str = ""
    """Reason why it is not."""

    def plus(self, other: Levels) -> Levels:
        def add(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(x + y for x, y in zip(a, b, strict=True))

        return Levels(
            add(self.nodes, other.nodes),
            add(self.kept, other.kept),
            add(self.leaves, other.leaves),
            add(self.dead_ends, other.dead_ends),
            self.complete and other.complete,
            self.reason or other.reason,
        )


@dataclass(frozen=True, slots=True)
class Frontier(Generic[S]):
    """Kept candidates at the last level, each equally likely to be in `sample`."""

    levels: Levels
    sample: tuple[S, ...]


def enumerate_levels(
    model: Model[S, A],
    depth: int,
    *,
    below: Cost | None = None,
    all_nodes: bool = True,
    sample: int = 0,
    seed: int = 0,
    strategy: Strategy = declared_order,
    budget: Budget = UNLIMITED,
    progress: Callable[[Levels], None] | None = None,
) -> Frontier[S]:
    """Depth first, so that memory does not grow. With `all_nodes` false, what is cut is not enumerated any further.

    A budget or an interruption ends it with what was counted (`complete` false).
    """
    walk = _Walk(model, depth, below, all_nodes, sample, seed, strategy, budget, progress)
    return walk.run((), 0)


@dataclass(frozen=True, slots=True)
class Part(Generic[S, A]):
    """One task of `count_levels`: what is behind one candidate; picklable where `make` is."""

    make: Callable[[], Model[S, A]]
    path: tuple[int, ...]
    """Position of each alternative from the root on."""
    depth: int
    below: Cost | None
    all_nodes: bool
    budget: Budget = UNLIMITED


def count_levels(
    make: Callable[[], Model[S, A]],
    depth: int,
    *,
    below: Cost | None = None,
    all_nodes: bool = True,
    parts: int = 64,
    executor: Executor | None = None,
    budget: Budget = UNLIMITED,
    progress: Callable[[Levels], None] | None = None,
) -> Levels:
    """`enumerate_levels` on an executor's workers: the tree is cut at the first level with at least `parts` candidates. Each part
    has the budget for itself, wall seconds excepted."""
    model = make()
    top = _Walk(model, depth, below, all_nodes, 0, 0, declared_order, budget, None)
    split = 0
    frontier: list[tuple[int, ...]] = [()]
    while split < depth and len(frontier) < parts and frontier:
        split += 1
        frontier = [p for path in frontier for p in top.paths(path)]
    levels = _Walk(model, split, below, all_nodes, 0, 0, declared_order, budget, None).run((), 0).levels
    # The last level of the upper part is the first one of the parts, which count it.
    rows = (levels.nodes, levels.kept, levels.leaves, levels.dead_ends)
    nodes, kept, leaves, dead_ends = ((*row[:split], *(0,) * (depth - split + 1)) for row in rows)
    total = Levels(nodes, kept, leaves, dead_ends)
    began = time.monotonic()

    def is_late() -> bool:
        return budget.wall_s is not None and time.monotonic() - began > budget.wall_s

    tasks = [Task(str(n), Part(make, path, depth, below, all_nodes, budget)) for n, path in enumerate(frontier)]
    done = 0
    try:
        for result in run_tasks(tasks, run_part, executor=executor, stop=is_late):
            done += 1
            match result:
                case Finished(value=value):
                    total = total.plus(value)
                case Failed(reason=reason):
                    total = replace(total, complete=False, reason=total.reason or reason)
            if progress is not None:
                progress(total)
        reason = "" if done == len(tasks) else f"{BUDGET_SPENT}wall seconds"
    except KeyboardInterrupt as stop:
        reason = why(stop)
    if reason:
        total = replace(total, complete=False, reason=reason)
    return total


def run_part(part: Part[S, A]) -> Levels:
    walk = _Walk(part.make(), part.depth, part.below, part.all_nodes, 0, 0, declared_order, part.budget, None)
    return walk.run(part.path, len(part.path)).levels


def leaves_behind(
    model: Model[S, A], frontier: Frontier[S], *, probes: int, seed: int = 0, strategy: Strategy = declared_order
) -> Interval:
    """Leaves of the tree that is cut down to the frontier's level and whole below: those above the frontier are counted, those
    behind it estimated by `probes` walks from each candidate of its sample."""
    above = sum(frontier.levels.leaves[:-1])
    width = frontier.levels.kept[-1]
    means = [
        interval([p.leaves for p in walks(model, candidate, probes, seed=seed + n, strategy=strategy)]).mean
        for n, candidate in enumerate(frontier.sample)
    ]
    if not means:
        return Interval(float(above), 0.0)
    estimate = interval(means)
    return Interval(above + width * estimate.mean, width * estimate.half_width)


class _Walk(Generic[S, A]):
    def __init__(
        self,
        model: Model[S, A],
        depth: int,
        below: Cost | None,
        all_nodes: bool,
        sample: int,
        seed: int,
        strategy: Strategy,
        budget: Budget,
        progress: Callable[[Levels], None] | None,
    ) -> None:
        self._model = model
        self._depth = depth
        self._below = below
        self._all = all_nodes
        self._sample_size = sample
        self._random = random.Random(seed)
        self._strategy = strategy
        self._meter = Meter(budget)
        self._progress = progress
        self._nodes, self._kept, self._leaves, self._dead = ([0] * (depth + 1) for _ in range(4))
        self._sample: list[S] = []

    def run(self, path: tuple[int, ...], level: int) -> Frontier[S]:
        """Runs on from the candidate at the end of a path; what is above it is not counted."""
        reason = ""
        try:
            found = self._at(path)
            if found is not None:
                candidate, is_kept = found
                self._visit(candidate, level, is_kept)
        except StopSearchError as stop:
            reason = str(stop)
        except KeyboardInterrupt as stop:
            reason = why(stop)
        return Frontier(replace(self._levels(), complete=not reason, reason=reason), tuple(self._sample))

    def paths(self, path: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Paths of the children that would be visited."""
        found = self._at(path)
        if found is None:
            return []
        candidate, is_kept = found
        children: list[tuple[int, ...]] = []
        for position, alternative in enumerate(self._alternatives(candidate) or ()):
            child = alternative.expand()
            if child is not None and (self._all or (is_kept and not self._is_cut(child))):
                children.append((*path, position))
        return children

    def _at(self, path: tuple[int, ...]) -> tuple[S, bool] | None:
        candidate = self._model.root()
        if candidate is None:
            return None
        is_kept = True
        for position in path:
            is_kept = is_kept and not self._is_cut(candidate)
            alternatives = list(self._alternatives(candidate) or ())
            child = alternatives[position].expand()
            if child is None:
                return None
            candidate = child
        return candidate, is_kept and not self._is_cut(candidate)

    def _visit(self, candidate: S, level: int, is_kept: bool) -> None:
        self._nodes[level] += 1
        self._kept[level] += is_kept
        self._spend()
        if level == self._depth:
            if is_kept:
                self._draw(candidate)
            return
        alternatives = self._alternatives(candidate)
        if alternatives is None:
            self._leaves[level] += is_kept
            return
        is_dead = True
        for alternative in alternatives:
            child = alternative.expand()
            if child is None:
                continue
            is_dead = False
            child_kept = is_kept and not self._is_cut(child)
            if child_kept or self._all:
                self._visit(child, level + 1, child_kept)
        self._dead[level] += is_dead and is_kept

    def _alternatives(self, candidate: S) -> Iterator[Alternative[S]] | None:
        choices = self._model.open_choices(candidate)
        return self._model.alternatives(candidate, self._strategy(choices)) if choices else None

    def _is_cut(self, candidate: S) -> bool:
        return self._below is not None and self._model.bound(candidate) >= self._below

    def _draw(self, candidate: S) -> None:
        seen = self._kept[self._depth]
        if len(self._sample) < self._sample_size:
            self._sample.append(candidate)
        elif self._sample_size:
            place = self._random.randrange(seen)
            if place < self._sample_size:
                self._sample[place] = candidate

    def _levels(self) -> Levels:
        return Levels(tuple(self._nodes), tuple(self._kept), tuple(self._leaves), tuple(self._dead))

    def _spend(self) -> None:
        count = sum(self._nodes)
        self._meter.spend(count)
        if self._progress is not None and count % _TELL == 0:
            self._progress(self._levels())
