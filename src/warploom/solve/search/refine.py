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
    neighbours: int = 48
    """Neighbours of the best measured candidates that each round tries."""
    elites: int = 8
    """Number of the best measured candidates that have neighbours."""
    reopened: float = 2.0
    """Decisions of a neighbour that are taken anew, on average; at least one."""
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
        self._length, self._length_due = 0.0, 0
        self._until: float | None = None

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
        self._begin(_FIRST_SHARE * (self._incumbent.wall_budget_s or 0.0))
        if self._incumbent.hints.drafts is None:
            self._draft(root, [None] * self._options.first_dives)
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
            self._begin(self._options.balance * (time.monotonic() - began))
            elites = self._elites()
            # The best one has as many neighbours as all others together.
            from_elites = [elites[0 if n % 2 == 0 else (n // 2) % len(elites)] for n in range(self._options.neighbours) if elites]
            plan: list[_Draft[S, A] | None] = [*from_elites, *[None] * self._options.dives]
            self._random.shuffle(plan)
            self._draft(root, plan)

    def _begin(self, seconds: float) -> None:
        """Gives the next drafts so much time, if time counts."""
        self._until = None if self._incumbent.wall_budget_s is None else time.monotonic() + seconds

    def _has_time(self) -> bool:
        return self._until is None or len(self._pool) < self._options.batch or time.monotonic() < self._until

    def _draft(self, root: Child[S], plan: Sequence[_Draft[S, A] | None]) -> None:
        """A neighbour of each elite in the plan, a descent from the root for each None, as long as there is time."""
        elites = [d for d in plan if d is not None]
        for elite in plan:
            if not self._has_time():
                return
            if elite is None:
                self._dive(root)
            else:
                other = self._random.choice(elites) if self._random.random() < self._options.mixed else None
                self._vary(root, elite, None if other is elite else other)

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
        """A neighbour: some decisions of the elite are taken anew, the others kept where they are still possible. With a second
        elite, its decisions are taken there instead."""
        if not elite.path:
            return
        reopened = self._reopened(len(elite.path))
        first = min(reopened)
        child = self._resumed(root, elite, first)
        if child is None:
            return
        anew = {elite.path[n][0] for n in reopened}
        wanted = dict(elite.path)
        kept = [d for d in elite.path[first + 1 :] if d[0] not in anew]
        while (choice := self._incumbent.next_choice(child.candidate)) is not None:
            value = wanted.get(choice, self._value(elite, choice))
            if kept and not anew and self._incumbent.hints.decide is not None:
                child, kept = self._with(child, tuple(kept)), []
                if self._incumbent.is_beaten(child.bound):
                    return
                continue
            following = None
            if choice not in anew and value is not None:
                following = self._incumbent.child(child, choice, value)
            elif choice in anew and other is not None:
                given = dict(other.path).get(choice, self._value(other, choice))
                following = None if given is None else self._incumbent.child(child, choice, given)
            if following is None:
                children = self._incumbent.children(child) or []
                others = [c for c in children if c.value != value] if choice in anew else children
                if not (others or children):
                    return
                following = self._drawn(others or children, self._random.choice(self._options.temperatures))
                anew.discard(choice)
            child = following
        self._keep(child)

    def _with(self, child: Child[S], decisions: Path) -> Child[S]:
        """The descendant with those of the decisions that are still possible, the first ones first."""
        following = self._incumbent.jump(child, decisions)
        if following is not None:
            return following
        if len(decisions) == 1:
            return child
        half = len(decisions) // 2
        return self._with(self._with(child, decisions[:half]), decisions[half:])

    def _reopened(self, decisions: int) -> set[int]:
        """Positions in a path: mostly few, now and then up to half of it."""
        chance = 1.0 / max(self._options.reopened, 1.0)
        count = 1
        while self._random.random() > chance and count < decisions:
            count += 1
        if self._random.random() < self._options.leaps:
            count = self._random.randint(count, max(count, decisions // 2))
        return set(self._random.sample(range(decisions), count))

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
_FRUITLESS = 5
"""Rounds without a new candidate that end the search."""
