"""Monte-Carlo tree search with TAG (threshold ascent on graphs) and rollouts weighted by the model's lower bound.

Beyond the published method: the first rollout of a fresh child counts for it; costs are kept, not counts, so that a fallen
threshold scores them anew; subtrees that are beaten, refuted or exhausted leave the tree with no share in the scores, so that
the search ends where the space does; no answer is evaluated twice. Rollouts make few candidates: children are drawn without
making all of them, a dead end or a beaten candidate goes back twice as many levels as the one before, most decisions are taken
as in the cheapest answer so far, and half of the rollouts begin at the root.

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, section 5.1; de Mesmay et al., Bandit-based
optimization on graphs with application to library performance tuning.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right, insort
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from warploom.solve.model import Cost
from warploom.solve.search.drafts import TEMPERATURES
from warploom.solve.search.incumbent import Child, Incumbent, Leaf, Path
from warploom.solve.search.spending import Outcome, StopSearchError

S = TypeVar("S")
A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcts:
    seed: int = 0
    policy: Literal["tag", "uct"] = "tag"
    top: int = 10
    """The threshold is the cost of rank `top` among a node's children; so many costs are kept per node."""
    delta: float = 1.0
    """Larger explores less."""
    exploration: float = math.sqrt(2)
    """Exploration constant of UCT, whose rewards are best cost / cost."""
    sharpness: float = 1.0
    """Power of the rollouts' weights max(cut - bound, 0), or 1 / bound while there is no cut."""
    rollouts: Literal["guess", "bound"] = "guess"
    """Weights of a rollout's children: by a guess at the best behind each (`Hints.estimate`), at temperatures from greedy to free
    in turn; or, as published and where there is no such guess, by their bounds."""
    leans: tuple[float, ...] = (0.0, 0.9, 0.95, 0.98)
    """Shares of the decisions that a rollout takes as in the cheapest answer so far where it can; one is drawn for each."""
    returns: float = 0.5
    """Share of the rollouts that begin at the root, whatever the scores say."""
    patience: int = 200
    """Dead ends and known answers in one rollout before it is given up."""
    batch: int = 1
    """Rollouts whose answers are evaluated together."""
    stored: int = 20_000
    """Candidates kept in the tree; those of further nodes are made again when they are visited."""


def mcts(incumbent: Incumbent[S, A], options: Mcts | None = None) -> Outcome[A]:
    """Complete once every candidate is evaluated, beaten or refuted."""
    return incumbent.outcome(_Mcts(incumbent, options or Mcts()).cover)


class _Node(Generic[S]):
    __slots__ = ("above", "bound", "candidate", "children", "costs", "evaluated", "parent", "remake", "rewards", "visits")

    def __init__(self, child: Child[S], parent: _Node[S] | None, keep: bool) -> None:
        self.bound = child.bound
        self.above = child.above
        self.remake = child.remake
        self.candidate: S | None = child.candidate if keep else None
        self.parent = parent
        self.children: list[_Node[S]] | None = None
        """The live ones; None until it is expanded."""
        self.visits = 0
        self.costs: list[float] = []
        """The lowest found below it, ascending."""
        self.evaluated = 0
        self.rewards = 0.0
        """Sum of 1 / cost."""


@dataclass(slots=True)
class _Level(Generic[S]):
    """The children of one candidate of a rollout."""

    parent: Child[S]
    made: Iterator[Child[S]]
    best: Mapping[int, Hashable]
    """A child that decides so is taken."""
    passed: list[Child[S]] = field(default_factory=list[Child[S]])
    """Made and not taken."""


class _Mcts(Generic[S, A]):
    def __init__(self, incumbent: Incumbent[S, A], options: Mcts) -> None:
        self._incumbent = incumbent
        self._options = options
        self._random = random.Random(options.seed)
        self._stored = 0
        self._rollouts = 0
        self._paths: list[Path] = []
        """Decisions of each pending answer."""
        self._best: dict[int, Hashable] = {}
        """Those of the cheapest answer so far."""
        self._least = math.inf
        self._root: _Node[S] | None = None
        self._pending: list[tuple[_Node[S], Leaf[S, A]]] = []

    def cover(self) -> Cost | None:
        root = self._incumbent.root()
        if root is not None:
            self._root = self._node(root, None)
        try:
            while (top := self._root) is not None:
                if self._best and self._random.random() < self._options.returns:
                    self._roll_out(top)
                else:
                    self._iterate(top)
                if len(self._pending) >= self._options.batch:
                    self._evaluate()
        except StopSearchError:
            # A budget that is spent before anything was evaluated has at least answers to show.
            if not self._incumbent.statistics.evaluated:
                self._evaluate()
            raise
        self._evaluate()
        return self._incumbent.cut

    def _iterate(self, node: _Node[S]) -> None:
        """One walk down the tree and, from a fresh node, a rollout."""
        while True:
            if self._incumbent.is_beaten(node.bound):
                self._incumbent.statistics.bounded += 1
                self._remove(node)
                return
            if node.children is None and (node.visits == 0 or not self._expand(node)):
                self._roll_out(node)
                return
            children = self._live(node)
            if not children:
                self._remove(node)
                return
            fresh = [c for c in children if c.visits == 0]
            node = self._drawn(fresh, lambda c: c.bound) if fresh else self._selected(node, children)

    def _live(self, node: _Node[S]) -> list[_Node[S]]:
        children = node.children or []
        live = [c for c in children if not self._incumbent.is_beaten(c.bound)]
        self._incumbent.statistics.bounded += len(children) - len(live)
        node.children = live
        return live

    def _expand(self, node: _Node[S]) -> bool:
        """False for a fully decided candidate."""
        child = self._child(node)
        children = None if child is None else self._incumbent.children(child)
        if children is None and child is not None:
            return False
        node.children = [self._node(c, node) for c in children or ()]
        self._release(node)
        return True

    def _selected(self, node: _Node[S], children: list[_Node[S]]) -> _Node[S]:
        scores = self._tag(children) if self._options.policy == "tag" else self._uct(node, children)
        best = max(scores)
        return self._random.choice([c for c, score in zip(children, scores, strict=True) if score == best])

    def _tag(self, children: list[_Node[S]]) -> list[float]:
        costs = sorted(cost for c in children for cost in c.costs)
        threshold = costs[min(self._options.top, len(costs)) - 1] if costs else 0.0
        total = sum(c.visits for c in children)
        alpha = max(0.0, math.log(2 * total * len(children) / self._options.delta))

        def score(child: _Node[S]) -> float:
            successes = bisect_right(child.costs, threshold)
            return (successes + alpha + math.sqrt(alpha * (2 * successes + alpha))) / child.visits

        return [score(c) for c in children]

    def _uct(self, node: _Node[S], children: list[_Node[S]]) -> list[float]:
        best = min((c.costs[0] for c in children if c.costs), default=0.0)
        seen = math.log(max(1, node.visits))

        def score(child: _Node[S]) -> float:
            mean = best * child.rewards / child.evaluated if child.evaluated else 0.0
            return mean + self._options.exploration * math.sqrt(seen / child.visits)

        return [score(c) for c in children]

    def _roll_out(self, node: _Node[S]) -> None:
        start = self._child(node)
        leaf = None if start is None else self._descend(start)
        if leaf is None or isinstance(leaf, Leaf):
            above: _Node[S] | None = node
            while above is not None:
                above.visits += 1
                above = above.parent
        if leaf is None:
            return
        if isinstance(leaf, Leaf):
            self._pending.append((node, leaf))
        else:
            self._remove(node)

    def _descend(self, child: Child[S]) -> Leaf[S, A] | Literal["exhausted"] | None:
        """A new answer behind the candidate; None: given up.

        What makes a dead end, or a candidate that is beaten, was mostly decided long before: each further one goes back twice as
        many levels as the one before.
        """
        levels: list[_Level[S]] = []
        failures, is_whole = 0, True
        self._rollouts += 1
        lean = self._random.choice(self._options.leans)
        while True:
            leans = self._random.random() < lean
            made = self._incumbent.in_any_order(child, self._random, self._best if leans else None)
            if made is None and (leaf := self._incumbent.leaf(child)) is not None:
                self._paths.append(child.path)
                return leaf
            following = None
            if made is not None:
                levels.append(_Level(child, made, self._best if leans else {}))
                following = self._taken(levels[-1])
            if following is None:
                if made is not None:
                    levels.pop()
                if not levels:
                    return "exhausted" if is_whole else None
                failures += 1
                if failures > self._options.patience:
                    return None
                left = max(1, len(levels) + 1 - (1 << failures >> 1))
                is_whole = is_whole and left >= len(levels)
                del levels[left:]
                while levels and (following := self._taken(levels[-1])) is None:
                    levels.pop()
            if following is None:
                return "exhausted" if is_whole else None
            child = following

    def _taken(self, level: _Level[S]) -> Child[S] | None:
        """A child, removed from its level, with the probability that its weight has among all of them; None: there is none left.

        They are made one after the other in random order, and each is taken with its weight over the most that a child may have:
        most are never made.
        """
        for child in level.made:
            if level.best.get(child.choice, self) == child.value or self._random.random() < self._weight(child, level.parent):
                return child
            level.passed.append(child)
        if not level.passed:
            return None
        weights = [self._weight(child, level.parent) for child in level.passed]
        if not any(weights):
            weights = [1.0] * len(weights)
        return level.passed.pop(self._random.choices(range(len(weights)), weights)[0])

    def _weight(self, child: Child[S], parent: Child[S]) -> float:
        """The weight of a child over the most that it may be."""
        if self._options.rollouts == "guess" and self._incumbent.hints.estimate is not None:
            least = self._incumbent.guess(parent)
            temperature = TEMPERATURES[self._rollouts % len(TEMPERATURES)]
            unit = max(temperature, 1e-9) * max(abs(least), 1e-12)
            return math.exp(-min(max(self._incumbent.guess(child) - least, 0.0) / unit, 700.0))
        cut = self._incumbent.cut
        bound, least = float(child.bound[0]), float(parent.bound[0])
        share = (least + 1.0) / (bound + 1.0) if cut is None else max(cut[0] - bound, 0.0) / max(cut[0] - least, 1e-12)
        return share**self._options.sharpness

    def _drawn(self, choices: list[T], bound: Callable[[T], Cost]) -> T:
        cut = self._incumbent.cut
        bounds = [float(bound(c)[0]) for c in choices]
        if cut is None:
            weights = [1.0 / (b + 1.0) for b in bounds]
        else:
            weights = [max(cut[0] - b, 0.0) for b in bounds]
        if self._options.sharpness != 1.0:
            top = max(weights) or 1.0
            weights = [(w / top) ** self._options.sharpness for w in weights]
        if not any(weights):
            return self._random.choice(choices)
        return self._random.choices(choices, weights)[0]

    def _evaluate(self) -> None:
        costs = self._incumbent.evaluate([leaf for _, leaf in self._pending])
        for (node, _), path, cost in zip(self._pending, self._paths, costs, strict=True):
            if cost is None:
                continue
            if cost[0] < self._least:
                self._least, self._best = float(cost[0]), dict(path)
            above: _Node[S] | None = node
            while above is not None:
                insort(above.costs, float(cost[0]))
                del above.costs[self._options.top :]
                above.evaluated += 1
                above.rewards += 1.0 / max(float(cost[0]), 1.0)
                above = above.parent
        self._pending.clear()
        self._paths.clear()

    def _node(self, child: Child[S], parent: _Node[S] | None) -> _Node[S]:
        keep = self._stored < self._options.stored
        self._stored += keep
        return _Node(child, parent, keep)

    def _child(self, node: _Node[S]) -> Child[S] | None:
        candidate = node.candidate if node.candidate is not None else node.remake()
        return None if candidate is None else Child(node.bound, candidate, -1, None, node.remake, node.above)

    def _release(self, node: _Node[S]) -> None:
        if node.candidate is not None:
            node.candidate = None
            self._stored -= 1

    def _remove(self, node: _Node[S]) -> None:
        """Removes the node with all below it and the ancestors that have no other child."""
        below = [node]
        while below:
            gone = below.pop()
            self._release(gone)
            below += gone.children or ()
        parent = node.parent
        if parent is None:
            self._root = None
            return
        parent.children = [child for child in parent.children or () if child is not node]
        if not parent.children:
            self._remove(parent)
