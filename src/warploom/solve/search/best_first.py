"""Best-first branch and bound: the candidate with the lowest bound is expanded first, so that a complete run is a proof with the
fewest candidates. Dives give answers early and take over where memory ends."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic, TypeVar

from warploom.solve.model import Cost
from warploom.solve.search.incumbent import Child, Incumbent, Leaf
from warploom.solve.search.spending import Outcome

S = TypeVar("S")
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class BestFirst:
    queue: int = 100_000
    """Candidates kept; beyond, the best one is searched depth first."""
    dive_every: int = 64
    """Expansions from one greedy descent to a leaf to the next; 0: none, which expands the fewest candidates."""
    dive_nodes: int = 1_000
    """Expansions of one depth-first search while the queue is full; what it leaves goes back."""
    batch: int = 1
    """Leaves evaluated together."""


def best_first(incumbent: Incumbent[S, A], options: BestFirst | None = None) -> Outcome[A]:
    """Complete unless a budget or an interruption ends it; `bound` of the outcome holds in any case."""
    run = _BestFirst(incumbent, options or BestFirst())
    outcome = incumbent.outcome(run.cover)
    return Outcome(outcome.answers, outcome.complete, outcome.reason, outcome.statistics, run.bound())


class _BestFirst(Generic[S, A]):
    def __init__(self, incumbent: Incumbent[S, A], options: BestFirst) -> None:
        self._incumbent = incumbent
        self._options = options
        self._queue: list[tuple[Cost, int, int, Child[S]]] = []
        """(bound, minus depth, serial number, candidate): among equals the deepest, then the oldest."""
        self._serial = 0
        self._leaves: list[Leaf[S, A]] = []
        self._in_hand: Cost | None = None
        """Bound of the candidate that was taken from the queue and is not covered yet."""
        self._unknown = True
        """The bound is unknown until the root is there."""

    def cover(self) -> Cost | None:
        root = self._incumbent.root()
        self._unknown = False
        if root is not None:
            self._push(root, 0)
        expansions = 0
        while self._queue:
            bound, depth, _, child = heappop(self._queue)
            if self._incumbent.is_beaten(bound):
                self._incumbent.statistics.bounded += 1 + len(self._queue)
                self._queue.clear()
            else:
                self._in_hand = bound
                expansions += 1
                if len(self._queue) >= self._options.queue:
                    self._search_below(child, -depth)
                elif self._options.dive_every and expansions % self._options.dive_every == 1:
                    self._dive(child, -depth)
                else:
                    self._expand(child, -depth)
                self._in_hand = None
            if self._leaves and (len(self._leaves) >= self._options.batch or not self._queue):
                self._evaluate()
        return None

    def bound(self) -> Cost | None:
        """A lower bound on the cost of every answer; None: not known, or there is none."""
        if self._unknown:
            return None
        bounds = [leaf.cost for leaf in self._leaves]
        if self._queue:
            bounds.append(self._queue[0][0])
        if self._in_hand is not None:
            bounds.append(self._in_hand)
        if self._incumbent.cut is not None:
            bounds.append(self._incumbent.cut)
        return min(bounds, default=None)

    def _push(self, child: Child[S], depth: int) -> None:
        self._serial += 1
        heappush(self._queue, (child.bound, -depth, self._serial, child))

    def _expand(self, child: Child[S], depth: int) -> None:
        children = self._incumbent.children(child)
        if children is None:
            self._keep(child)
            return
        for c in children:
            self._push(c, depth + 1)

    def _dive(self, child: Child[S], depth: int) -> None:
        while (children := self._incumbent.children(child)) is not None:
            depth += 1
            if not children:
                return
            best = min(children, key=lambda c: (c.bound, self._incumbent.guess(c)))
            for c in children:
                if c is not best:
                    self._push(c, depth)
            child = best
        self._keep(child)

    def _search_below(self, child: Child[S], depth: int) -> None:
        stack = [(child, depth)]
        limit = self._options.dive_nodes if len(self._queue) < 2 * self._options.queue else None
        expanded = 0
        while stack and (limit is None or expanded < limit):
            child, depth = stack.pop()
            if self._incumbent.is_beaten(child.bound):
                self._incumbent.statistics.bounded += 1
                continue
            expanded += 1
            children = self._incumbent.children(child)
            if children is None:
                self._keep(child)
                if len(self._leaves) >= self._options.batch:
                    self._evaluate()
            else:
                stack += [(c, depth + 1) for c in sorted(children, key=lambda c: c.bound, reverse=True)]
        for c, d in stack:
            self._push(c, d)

    def _keep(self, child: Child[S]) -> None:
        leaf = self._incumbent.leaf(child)
        if leaf is not None:
            self._leaves.append(leaf)

    def _evaluate(self) -> None:
        self._incumbent.evaluate(self._leaves)
        self._leaves.clear()
