"""Dive and refine: for a good model and dear measurements.

Each round makes many complete candidates with the model alone, by randomised greedy descents from the root and by deciding a few
decisions of the best measured candidates anew; measures those that promise most; and learns from them, by how much the model
errs (`residuals` for the ranking, averages per decision for the descents).
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from warploom.solve.model import Cost
from warploom.solve.search.drafts import TEMPERATURES, drawn
from warploom.solve.search.incumbent import Child, Incumbent, Leaf, Path
from warploom.solve.search.residuals import FeatureTable, likeliest_length, predict
from warploom.solve.search.spending import Outcome, StopSearchError

S = TypeVar("S")
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refine:
    seed: int = 0
    first_dives: int = 64
    """Descents from the root before anything is measured."""
    dives: int = 8
    """Dives of each further round."""
    weariness: float = 0.2
    """A candidate that n neighbours were asked for counts as dearer by the factor (1 + n) ** weariness when the next one is asked
    for, with a budget of nodes: better ones have more neighbours, and none has them all."""
    dived: float = 0.15
    """Share of the candidates tried in dives, at most, with a budget of nodes: once there is a good answer, most dives are beaten
    on the way."""
    neighbours: int = 48
    """Neighbours of the best measured candidates that each round tries."""
    elites: int = 8
    """Number of the best measured candidates from which the decisions of mixed neighbours are."""
    reopened: float = 2.0
    """Decisions of a neighbour that are taken anew, on average; at least one. With a budget of nodes,
    every other value of the last of them is tried."""
    mixed: float = 0.25
    """Share of neighbours whose new decisions are those of another elite."""
    leaps: float = 0.2
    """Share of neighbours in which up to half of the decisions are."""
    apart: float = 0.15
    """Share of features in which two of the elites differ at least."""
    temperatures: tuple[float, ...] = TEMPERATURES
    """Temperatures of descents, in turn: a child worse by this share of the best one's guess is chosen 1 / e as often."""
    batch: int = 8
    """Candidates measured each round."""
    pool: int = 512
    """Candidates kept that are not measured yet."""
    balance: float = 1.0
    """Seconds for making candidates per second of measuring, with a budget of wall seconds and while there are enough to
    measure."""
    boldness: float = 0.5
    """Standard deviations by which a candidate may be better than it is predicted."""
    learn_from: int = 200
    """Measured candidates that corrections are learned from: the best ones."""
    patience: int | None = 40
    """Rounds without a better answer after which it ends (`no improvement`); None: the budget ends it."""


def refine(incumbent: Incumbent[S, A], options: Refine | None = None) -> Outcome[A]:
    """Refines the best candidates; the search is never complete, and without a budget its patience or the lack of new answers
    ends it."""
    return incumbent.outcome(_Refine(incumbent, options or Refine()).improve)


@dataclass(slots=True, eq=False)
class _Draft(Generic[S, A]):
    """A complete candidate."""

    leaf: Leaf[S, A]
    path: Path
    estimate: float
    """Estimated cost by which descents choose."""
    guess: float
    """The best one before it is measured."""
    row: npt.NDArray[np.int32]
    cost: float = math.inf
    """Cost, once it is measured."""
    trail: list[Child[S]] = field(default_factory=list[Child[S]])
    """The candidates along its path, where it is an elite."""
    tries: int = 0
    """Neighbours that were asked for."""
    done: set[int] = field(default_factory=set[int])
    """Positions in its path of which every other value was tried, the other decisions left as they are."""


class _Refine(Generic[S, A]):
    def __init__(self, incumbent: Incumbent[S, A], options: Refine) -> None:
        self._incumbent = incumbent
        self._options = options
        self._random = random.Random(options.seed)
        self._table = FeatureTable()
        self._pool: list[_Draft[S, A]] = []
        self._measured: list[_Draft[S, A]] = []
        """Best first."""
        self._bias: dict[tuple[int, Hashable], float] = {}
        """By decision: logarithm by which candidates with it are dearer than the model says, against the average."""
        self._dives = 0
        self._counts_nodes = incumbent.node_budget is not None
        """Candidates are what is dear, not measurements."""
        self._turn = 0
        self._dived = 0
        """Candidates tried in dives."""
        self._length, self._length_due = 0.0, 0
        self._until: float | None = None
        self._until_tried: float | None = None

    def improve(self) -> Cost | None:
        try:
            return self._rounds()
        except StopSearchError:
            # A budget that is spent before anything was measured has at least candidates to show.
            if not self._incumbent.statistics.evaluated and self._incumbent.best is None:
                self._measure()
            raise

    def _rounds(self) -> Cost | None:
        root = self._incumbent.root()
        if root is None:
            return self._incumbent.cut
        idle = fruitless = 0
        self._begin(_FIRST_SHARE * (self._incumbent.wall_budget_s or 0.0), _FIRST_SHARE)
        if self._incumbent.hints.drafts is None:
            self._draft(root, [False] * self._options.first_dives)
        else:
            for values in self._incumbent.hints.drafts(self._options.first_dives, self._options.seed):
                self._follow(root, values)
                if not self._has_time():
                    break
        while True:
            best = self._incumbent.best
            began = time.monotonic()
            if not self._measure():
                fruitless += 1
            else:
                fruitless = 0
                self._learn()
            idle = idle + 1 if self._incumbent.best is best else 0
            if self._options.patience is not None and idle >= self._options.patience:
                raise StopSearchError("no improvement")
            if fruitless >= _FRUITLESS:
                raise StopSearchError("no new candidates")
            self._begin(self._options.balance * (time.monotonic() - began), _ROUND_SHARE)
            plan = [*[True] * (self._options.neighbours if self._measured else 0), *[False] * self._options.dives]
            self._random.shuffle(plan)
            self._draft(root, plan)

    def _begin(self, seconds: float, share: float) -> None:
        """Gives the next drafts so much time, if time counts, and this share of the nodes, if they do."""
        self._until = None if self._incumbent.wall_budget_s is None else time.monotonic() + seconds
        nodes = self._incumbent.node_budget
        self._until_tried = None if nodes is None else self._incumbent.statistics.tried + share * nodes

    def _has_time(self) -> bool:
        if len(self._pool) < self._options.batch:
            return True
        if self._until is not None and time.monotonic() >= self._until:
            return False
        return self._until_tried is None or self._incumbent.statistics.tried < self._until_tried

    def _draft(self, root: Child[S], plan: Sequence[bool]) -> None:
        """Neighbours of a measured candidate for each True in the plan, a descent from the root for each False, as long as there
        is time."""
        for is_neighbour in plan:
            if not self._has_time():
                return
            tried = self._incumbent.statistics.tried
            if is_neighbour:
                elite = self._parent()
                is_mixed = self._random.random() < self._options.mixed
                other = self._random.choice(self._elites()) if is_mixed else None
                self._vary(root, elite, None if other is elite else other)
            elif not self._measured or not self._counts_nodes or self._dived <= self._options.dived * tried:
                self._dive(root)
                self._dived += self._incumbent.statistics.tried - tried

    def _dive(self, root: Child[S]) -> None:
        temperatures = self._options.temperatures
        temperature = temperatures[self._dives % len(temperatures)]
        self._dives += 1
        self._descend(root, temperature)

    def _descend(self, child: Child[S], temperature: float) -> None:
        while True:
            children = self._incumbent.children(child)
            if children is None:
                self._keep(child)
                return
            if not children:
                return
            child = self._drawn(children, temperature)

    def _drawn(self, children: Sequence[Child[S]], temperature: float) -> Child[S]:
        return drawn(children, self._guess, self._random, temperature)

    def _guess(self, child: Child[S]) -> float:
        return self._incumbent.guess(child) * math.exp(self._bias.get((child.choice, child.value), 0.0))

    def _follow(self, child: Child[S], values: Sequence[Hashable]) -> None:
        """Follows the choices to the complete candidate that a draft names."""
        for value in values:
            choice = self._incumbent.next_choice(child.candidate)
            following = None if choice is None else self._incumbent.child(child, choice, value)
            if following is None:
                return
            child = following
        if self._incumbent.next_choice(child.candidate) is None:
            self._keep(child)

    def _vary(self, root: Child[S], elite: _Draft[S, A], other: _Draft[S, A] | None) -> None:
        """Neighbours: some decisions of the elite are taken anew, the last of them in every other way, the others kept where they
        are still possible. With a second elite, its decisions are taken there instead."""
        if not elite.path:
            return
        reopened = self._reopened(len(elite.path), elite.done if self._counts_nodes else None)
        child = self._resumed(root, elite, reopened[0])
        wanted = dict(elite.path)
        order = {choice: n for n, choice in enumerate(wanted)}
        for place, end in zip(reopened, [*reopened[1:], len(elite.path)], strict=True):
            anew = elite.path[place][0]
            choice = None
            while child is not None and choice != anew:
                choice = self._incumbent.next_choice(child.candidate)
                if choice is None or order.get(choice, -1) > place:
                    break  # propagation has decided it
                if choice != anew:
                    child = self._as_in(child, choice, elite)
                elif place != reopened[-1] or not self._counts_nodes:
                    child = self._anew(child, choice, elite, other)
                else:
                    for sibling in self._incumbent.expand(child) or ():
                        if sibling.value != wanted[anew]:
                            self._finish(sibling, elite, place + 1)
                    return
            if child is None:
                return
            child = self._incumbent.follow(child, elite.path[place + 1 : end])
            if self._incumbent.is_beaten(child.bound):
                return
        if child is not None:
            self._finish(child, elite, len(elite.path))

    def _finish(self, child: Child[S], elite: _Draft[S, A], first: int) -> None:
        """Keeps the complete candidate behind this one that has most of the elite's decisions from position `first` on."""
        following: Child[S] | None = self._incumbent.follow(child, elite.path[first:])
        while following is not None and not self._incumbent.is_beaten(following.bound):
            choice = self._incumbent.next_choice(following.candidate)
            if choice is None:
                self._keep(following)
                return
            following = self._as_in(following, choice, elite)

    def _anew(self, child: Child[S], choice: int, elite: _Draft[S, A], other: _Draft[S, A] | None) -> Child[S] | None:
        """The choice decided as in the other elite, else by a draw, in another way than in this one if there is one."""
        given = None if other is None else dict(other.path).get(choice, self._value(other, choice))
        following = None if given is None else self._incumbent.child(child, choice, given)
        if following is not None:
            return following
        value = dict(elite.path)[choice]
        if not self._counts_nodes:
            children = self._incumbent.children(child) or []
            others = [c for c in children if c.value != value] or children
            return self._drawn(others, self._random.choice(self._options.temperatures)) if others else None
        made = self._incumbent.in_any_order(child, self._random)
        last = None
        for last in made or ():
            if last.value != value:
                return last
        return last

    def _as_in(self, child: Child[S], choice: int, elite: _Draft[S, A]) -> Child[S] | None:
        """The choice decided as in the elite if that is possible, else by a draw."""
        value = dict(elite.path).get(choice, self._value(elite, choice))
        following = None if value is None else self._incumbent.child(child, choice, value)
        if following is not None:
            return following
        children = self._incumbent.children(child)
        return self._drawn(children, self._random.choice(self._options.temperatures)) if children else None

    def _reopened(self, decisions: int, done: set[int] | None = None) -> list[int]:
        """Positions in a path: mostly few, now and then up to half of it; a single one is not in `done`, and is put there."""
        chance = 1.0 / max(self._options.reopened, 1.0)
        count = 1
        while self._random.random() > chance and count < decisions:
            count += 1
        if self._random.random() < self._options.leaps:
            count = self._random.randint(count, max(count, decisions // 2))
        if count == 1 and done is not None:
            if left := [n for n in range(decisions) if n not in done]:
                place = self._random.choice(left)
                done.add(place)
                return [place]
            count = min(2, decisions)
        return sorted(self._random.sample(range(decisions), count))

    def _parent(self) -> _Draft[S, A]:
        """The measured candidate that is to have neighbours next."""
        if not self._counts_nodes:
            # The best one has as many neighbours as all others together.
            self._turn += 1
            elites = self._elites()
            return elites[0 if self._turn % 2 == 0 else (self._turn // 2) % len(elites)]
        found = min(self._measured, key=lambda d: d.cost * (1 + d.tries) ** self._options.weariness)
        found.tries += 1
        return found

    def _elites(self) -> list[_Draft[S, A]]:
        """The best measured ones of which no two are alike."""
        elites: list[_Draft[S, A]] = []
        for draft in self._measured:
            if len(elites) == self._options.elites:
                break
            if all(_difference(draft, e) >= self._options.apart for e in elites):
                elites.append(draft)
        return elites

    def _value(self, elite: _Draft[S, A], choice: int) -> Hashable:
        value = self._incumbent.hints.value
        return None if value is None else value(elite.leaf.candidate, choice)

    def _resumed(self, root: Child[S], elite: _Draft[S, A], steps: int) -> Child[S] | None:
        """The candidate after so many steps of the elite's path."""
        if not elite.trail:
            elite.trail.append(root)
        if self._incumbent.hints.decide is not None:
            return self._incumbent.jump(root, elite.path[:steps])
        while len(elite.trail) <= steps:
            choice, value = elite.path[len(elite.trail) - 1]
            child = self._incumbent.child(elite.trail[-1], choice, value)
            if child is None:
                return None
            elite.trail.append(child)
        return elite.trail[steps]

    def _keep(self, child: Child[S]) -> None:
        leaf = self._incumbent.leaf(child)
        if leaf is None:
            return
        path = child.path
        hints = self._incumbent.hints
        estimate = max(float(leaf.cost[0]) if hints.estimate is None else hints.estimate(leaf.candidate), _LEAST)
        guess = estimate if hints.appraise is None else max(hints.appraise(leaf.answer), _LEAST)
        row = self._table.row(path if hints.features is None else hints.features(leaf.answer))
        self._pool.append(_Draft(leaf, path, estimate, guess, row))

    def _measure(self) -> bool:
        """False when there is nothing to measure."""
        cut = self._incumbent.cut
        self._pool = [d for d in self._pool if cut is None or d.leaf.cost < cut]
        if not self._pool:
            return False
        batch = self._promising()
        chosen = {id(d) for d in batch}
        self._pool = [d for d in self._pool if id(d) not in chosen][: self._options.pool]
        costs = self._incumbent.evaluate([d.leaf for d in batch])
        for draft, cost in zip(batch, costs, strict=True):
            if cost is not None:
                draft.cost = max(float(cost[0]), _LEAST)
                self._measured.append(draft)
        self._measured.sort(key=lambda d: d.cost)
        elites = self._elites()
        for draft in self._measured:
            if draft not in elites:
                draft.trail.clear()
        del self._measured[self._options.learn_from :]
        return True

    def _promising(self) -> list[_Draft[S, A]]:
        """Sorts the pool by predicted cost; most of a batch from its top, one by the model alone, one by chance."""
        scores = np.log(np.array([d.guess for d in self._pool]))
        if len(self._measured) >= _ENOUGH:
            residuals = np.array([math.log(d.cost / d.guess) for d in self._measured])
            seen, asked = (self._table.bits([d.row for d in drafts]) for drafts in (self._measured, self._pool))
            if len(residuals) >= self._length_due:
                self._length, self._length_due = likeliest_length(seen, residuals), 2 * len(residuals)
            predicted = predict(seen, residuals, asked, self._length)
            scores = scores + predicted.mean - self._options.boldness * predicted.deviation
        order = np.argsort(scores, kind="stable")
        self._pool = [self._pool[n] for n in order]
        size = self._options.batch
        batch = self._pool[: max(1, size - 2)]
        rest = self._pool[len(batch) :]
        if rest and len(batch) < size:
            batch = [*batch, min(rest, key=lambda d: d.guess)]
            rest = [d for d in rest if d is not batch[-1]]
        if rest and len(batch) < size:
            batch = [*batch, self._random.choice(rest)]
        return batch

    def _learn(self) -> None:
        bias = _tendencies([(d.path, math.log(d.cost / d.guess)) for d in self._measured])
        if self._incumbent.hints.appraise is not None:
            appraised = [(d.path, math.log(d.guess / d.estimate)) for d in (*self._measured, *self._pool)]
            for decision, tendency in _tendencies(appraised).items():
                bias[decision] = bias.get(decision, 0.0) + tendency
        self._bias = bias


def _tendencies(known: Sequence[tuple[Path, float]]) -> dict[tuple[int, Hashable], float]:
    """By decision: by how much the paths with it are above the average."""
    average = math.fsum(value for _, value in known) / max(1, len(known))
    sums: dict[tuple[int, Hashable], tuple[float, int]] = {}
    for path, value in known:
        for decision in path:
            total, count = sums.get(decision, (0.0, 0))
            sums[decision] = total + value - average, count + 1
    return {decision: total / (count + _PRIOR) for decision, (total, count) in sums.items()}


def _difference(a: _Draft[S, A], b: _Draft[S, A]) -> float:
    common = len(np.intersect1d(a.row, b.row, assume_unique=True))
    return 1.0 - 2 * common / max(1, len(a.row) + len(b.row))


_LEAST = 1e-12
"""Costs above 0 have logarithms."""
_ENOUGH = 4
"""Candidates measured before anything is predicted."""
_PRIOR = 4
"""Candidates without error that each decision is credited with."""
_FIRST_SHARE = 0.08
"""Share of a budget of wall seconds for the first candidates."""
_ROUND_SHARE = 0.02
"""Share of a budget of nodes for the candidates of each further round."""
_FRUITLESS = 5
"""Rounds without a new candidate that end the search."""
