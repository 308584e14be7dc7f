"""The upper levels of a search tree by exhaustive enumeration, with and without a cut, and what lies behind the candidates that
the cut keeps.

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, section 5.4 (Table 3).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar, cast, runtime_checkable

from warploom.core.limits import why
from warploom.solve.model import Alternative, Cost, Model, Strategy, declared_order
from warploom.solve.search.spending import UNLIMITED, Budget, Meter, StopSearchError
from warploom.solve.search.tree_size import Estimate, estimated, walks

S = TypeVar("S")
A = TypeVar("A")
S_contra = TypeVar("S_contra", contravariant=True)

_TELL = 256
"""Candidates from one report of progress to the next, at least."""
_AT_ONCE = 2
"""Levels that a model counts in one step, between two looks at the budget."""


@runtime_checkable
class Counting(Protocol[S_contra]):
    """A model that can count the candidates of the next levels without making them, as its only open choices are decided."""

    def widths(self, candidate: S_contra, levels: int, /) -> Sequence[int] | None:
        """By level, those that propagation does not refute; None where it cannot."""
        ...


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
    return _Walk(model, depth, below, all_nodes, sample, seed, strategy, budget, progress).run()


def leaves_behind(
    model: Model[S, A], frontier: Frontier[S], *, probes: int, seed: int = 0, strategy: Strategy = declared_order
) -> Estimate:
    """Leaves of the tree that is cut down to the frontier's level and whole below: those above the frontier are counted, those
    behind it estimated by `probes` walks from each candidate of its sample."""
    above = sum(frontier.levels.leaves[:-1])
    width = frontier.levels.kept[-1]
    means = [
        estimated([p.leaves for p in walks(model, candidate, probes, seed=seed + n, strategy=strategy)]).mean
        for n, candidate in enumerate(frontier.sample)
    ]
    if not means:
        return Estimate(float(above), 0.0)
    estimate = estimated(means)
    return Estimate(above + width * estimate.mean, width * estimate.half_width)


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
        self._told = 0

    def run(self) -> Frontier[S]:
        reason = ""
        try:
            root = self._model.root()
            if root is not None:
                self._visit(root, 0, not self._is_cut(root))
        except StopSearchError as stop:
            reason = str(stop)
        except KeyboardInterrupt as stop:
            reason = why(stop)
        return Frontier(replace(self._levels(), complete=not reason, reason=reason), tuple(self._sample))

    def _visit(self, candidate: S, level: int, is_kept: bool) -> None:
        self._nodes[level] += 1
        self._kept[level] += is_kept
        self._spend()
        if level == self._depth:
            if is_kept:
                self._draw(candidate)
            return
        if not is_kept and self._is_counted(candidate, level):
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

    def _is_counted(self, candidate: S, level: int) -> bool:
        """Whether the model has counted what is below a candidate that is cut, since nothing else is asked of it."""
        levels = self._depth - level
        if levels > _AT_ONCE or not isinstance(self._model, Counting):
            return False
        widths = cast("Counting[S]", self._model).widths(candidate, levels)
        if widths is None:
            return False
        for n, width in enumerate(widths, level + 1):
            self._nodes[n] += width
        self._spend()
        return True

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
        if self._progress is not None and count >= self._told + _TELL:
            self._told = count
            self._progress(self._levels())
