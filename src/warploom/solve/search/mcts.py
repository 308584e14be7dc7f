"""Monte-Carlo tree search with TAG (threshold ascent on graphs) and rollouts weighted by the model's lower bound.

Beyond the published method: the first rollout of a fresh child counts for it; costs are kept, not counts, so that a fallen
threshold scores them anew; subtrees that are beaten, refuted or exhausted leave the tree with no share in the scores, so that
the search ends where the space does; no answer is evaluated twice. A rollout is a dive (`dives.py`), which goes back where what
it decided turns out dear. A share of the candidates are neighbours of known answers (`neighbours.py`); the tree learns from them.

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, section 5.1; de Mesmay et al., Bandit-based
optimization on graphs with application to library performance tuning.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from warploom.solve.model import Cost
from warploom.solve.search.dives import FIRST_NODES, PATIENCE, TEMPERATURES, Dive
from warploom.solve.search.incumbent import Child, Incumbent
from warploom.solve.search.neighbours import LEAST, Draft, Near, Neighbours
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
    """Power of the weights max(cut - bound, 0), or 1 / bound while there is no cut, by which fresh children are drawn."""
    rollouts: Literal["guess", "bound"] = "guess"
    """The guide of a rollout: a guess at the best behind each candidate (`Hints.estimate`), or their bounds."""
    temperatures: tuple[float, ...] = TEMPERATURES
    """Temperatures of rollouts, in turn."""
    patience: int = PATIENCE
    """Candidates of one rollout before it no longer goes back, and after as many more is given up."""
    near: Near = field(default_factory=Near)
    """The neighbours that are tried, and of which candidates."""
    polished: float = 0.8
    """Share of the candidates tried in neighbours, once there is an answer."""
    remembered: int = 200
    """Answers that have neighbours: the best ones."""
    batch: int = 1
    """Rollouts whose answers are evaluated together."""
    stored: int = 20_000
    """Candidates kept in the tree; those of further nodes are made again when they are visited."""


def mcts(incumbent: Incumbent[S, A], options: Mcts | None = None) -> Outcome[A]:
    """Complete once every candidate is evaluated, beaten or refuted."""
    return incumbent.outcome(_Mcts(incumbent, options or Mcts()).cover)


class _Node(Generic[S]):
    __slots__ = (
        "above",
        "bound",
        "candidate",
        "children",
        "costs",
        "decision",
        "evaluated",
        "parent",
        "remake",
        "rewards",
        "visits",
    )

    def __init__(self, child: Child[S], parent: _Node[S] | None, keep: bool) -> None:
        self.bound = child.bound
        self.above = child.above
        self.decision = child.choice, child.value
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


class _Mcts(Generic[S, A]):
    def __init__(self, incumbent: Incumbent[S, A], options: Mcts) -> None:
        self._incumbent = incumbent
        self._options = options
        self._random = random.Random(options.seed)
        self._stored = 0
        self._rollouts = 0
        self._near = Neighbours(incumbent, options.near, self._random)
        self._polished = 0
        """Candidates tried in neighbours."""
        self._root: _Node[S] | None = None
        self._pending: list[tuple[_Node[S], Draft[S, A]]] = []

    def cover(self) -> Cost | None:
        root = self._incumbent.root()
        if root is None:
            return self._incumbent.cut
        self._root = self._node(root, None)
        try:
            while top := self._top():
                tried = self._incumbent.statistics.tried
                if self._near.known and self._polished < self._options.polished * tried:
                    self._polish(root, top)
                    self._polished += self._incumbent.statistics.tried - tried
                else:
                    self._iterate(top)
                if len(self._pending) >= self._options.batch or (self._pending and self._is_late()):
                    self._evaluate()
        except StopSearchError:
            # A budget that is spent before anything was evaluated has at least answers to show.
            if not self._incumbent.statistics.evaluated:
                self._evaluate()
            raise
        self._evaluate()
        return self._incumbent.cut

    def _top(self) -> _Node[S] | None:
        """None once the tree is empty."""
        return self._root

    def _is_late(self) -> bool:
        """Nothing is evaluated yet, and a share of the nodes is spent."""
        nodes = self._incumbent.node_budget
        return nodes is not None and not self._near.known and self._incumbent.statistics.tried >= FIRST_NODES * nodes

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

    def _polish(self, root: Child[S], top: _Node[S]) -> None:
        """Neighbours of a known answer; each counts for the nodes of the tree that it is behind."""
        for child in self._near.made(root):
            draft = self._near.draft(child)
            if draft is not None:
                node = self._above(top, child, draft)
                self._visit(node)
                self._pending.append((node, draft))

    def _above(self, node: _Node[S], child: Child[S], draft: Draft[S, A]) -> _Node[S]:
        """The lowest node of the tree that the candidate is behind, as far as its decisions tell."""
        decided = dict(child.path)
        value = self._incumbent.hints.value
        while True:
            following = None
            for below in node.children or ():
                choice, wanted = below.decision
                given = decided.get(choice, self if value is None else value(draft.leaf.candidate, choice))
                if given == wanted:
                    following = below
                    break
            if following is None:
                return node
            node = following

    def _visit(self, node: _Node[S]) -> None:
        above: _Node[S] | None = node
        while above is not None:
            above.visits += 1
            above = above.parent

    def _roll_out(self, node: _Node[S]) -> None:
        """A new answer behind the node, if the dive finds one; the node goes where it has none left."""
        start = self._child(node)
        if start is None:
            self._visit(node)
            return
        self._rollouts += 1
        temperature = self._options.temperatures[self._rollouts % len(self._options.temperatures)]
        guess = self._incumbent.guess if self._options.rollouts == "guess" else _bound
        dive = Dive(self._incumbent, start, self._random, temperature, guess)
        while (child := dive.following(self._options.patience)) is not None:
            draft = self._near.draft(child)
            if draft is not None:
                self._visit(node)
                self._pending.append((node, draft))
                return
        if dive.is_whole:
            self._remove(node)
        else:
            self._visit(node)

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
        costs = self._incumbent.evaluate([draft.leaf for _, draft in self._pending])
        known: list[Draft[S, A]] = []
        for (node, draft), cost in zip(self._pending, costs, strict=True):
            if cost is None:
                continue
            draft.cost = max(float(cost[0]), LEAST)
            known.append(draft)
            above: _Node[S] | None = node
            while above is not None:
                insort(above.costs, float(cost[0]))
                del above.costs[self._options.top :]
                above.evaluated += 1
                above.rewards += 1.0 / max(float(cost[0]), 1.0)
                above = above.parent
        self._near.add(known, self._options.remembered)
        self._pending.clear()

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


def _bound(child: Child[S]) -> float:
    return float(child.bound[0])
