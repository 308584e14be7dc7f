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
from itertools import zip_longest
from typing import Generic, TypeVar

import numpy as np

from warploom.solve.model import Cost
from warploom.solve.search.dives import FIRST_NODES, PATIENCE, TEMPERATURES, Dive
from warploom.solve.search.incumbent import Child, Incumbent, Path
from warploom.solve.search.neighbours import LEAST, Draft, Near, Neighbours
from warploom.solve.search.residuals import likeliest_length, predict
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
    dived: float = 0.15
    """Share of the candidates tried in dives, at most, with a budget of nodes: once there is a good answer, most dives are beaten
    on the way."""
    neighbours: int = 48
    """Neighbours of the best measured candidates that each round tries."""
    near: Near = field(default_factory=Near)
    """The neighbours that are tried, and of which candidates."""
    temperatures: tuple[float, ...] = TEMPERATURES
    """Temperatures of dives, in turn."""
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


class _Refine(Generic[S, A]):
    def __init__(self, incumbent: Incumbent[S, A], options: Refine) -> None:
        self._incumbent = incumbent
        self._options = options
        self._random = random.Random(options.seed)
        self._near = Neighbours(incumbent, options.near, self._random, self._guess)
        self._pool: list[Draft[S, A]] = []
        self._measured: list[Draft[S, A]] = []
        """Best first."""
        self._bias: dict[tuple[int, Hashable], float] = {}
        """By decision: logarithm by which candidates with it are dearer than the model says, against the average."""
        self._first: list[Draft[S, A]] = []
        """Drafts that are measured before all others."""
        self._around: set[Draft[S, A]] = set()
        """Drafts in the pool that differ from a good one in one decision that is no amount."""
        self._dives = 0
        self._dived = 0
        """Candidates tried in dives."""
        self._length, self._length_due = 0.0, 0
        self._until: float | None = None
        self._until_tried: float | None = None
        self._is_alike = incumbent.wall_budget_s is not None and incumbent.node_budget is None and incumbent.hints.ways > 0
        """Measurements are dear, and there are ways to begin: most of what is measured is the same for all seeds."""
        self._sweeps = incumbent.hints.retraced is not None
        """Neighbours of the best are made without chance, too."""
        self._patience = PATIENCE
        if self._sweeps and incumbent.node_budget is not None:
            self._patience = min(PATIENCE, max(_LEAST_PATIENCE, int(_PATIENT * incumbent.node_budget)))
        self._swept = 0
        """Candidates tried for these."""

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
        if self._is_alike:
            self._begin(_WAYS_SHARE * (self._incumbent.wall_budget_s or 0.0), FIRST_NODES)
            self._dive_all_ways(root)
        self._begin(_FIRST_SHARE * (self._incumbent.wall_budget_s or 0.0), FIRST_NODES)
        if self._incumbent.hints.drafts is None:
            self._try_starts(root)
            self._draft(root, [False] * (_BESIDE_WAYS if self._is_alike else self._options.first_dives))
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
            balance = _BALANCE if self._is_alike else self._options.balance
            self._begin(balance * (time.monotonic() - began), _ROUND_SHARE)
            plan = [*[True] * (self._options.neighbours if self._near.known else 0), *[False] * self._options.dives]
            self._random.shuffle(plan)
            if self._is_alike:
                self._go_around(root)
            elif self._sweeps and self._sweep(root):
                continue
            self._draft(root, plan)

    def _begin(self, seconds: float, share: float) -> None:
        """Gives the next drafts so much time, if time counts, and this share of the nodes, if they do."""
        self._until = None if self._incumbent.wall_budget_s is None else time.monotonic() + seconds
        nodes = self._incumbent.node_budget
        self._until_tried = None if nodes is None else self._incumbent.statistics.tried + share * nodes

    def _has_time(self) -> bool:
        if len(self._pool) < (self._options.batch if self._near.known else 1):
            return True
        if self._until is not None and time.monotonic() >= self._until:
            return False
        return self._until_tried is None or self._incumbent.statistics.tried < self._until_tried

    def _try_starts(self, root: Child[S]) -> None:
        """Dives from the first ways to begin, the same for all seeds, as long as they take no more than their share of the
        budget."""
        until, until_tried = self._until, self._until_tried
        self._begin(_STARTS_SHARE * (self._incumbent.wall_budget_s or 0.0), _STARTS_SHARE)
        chance = random.Random(0)
        while self._dives < self._incumbent.hints.starts and self._has_time():
            self._dive(root, chance)
        self._until, self._until_tried = until, until_tried

    def _draft(self, root: Child[S], plan: Sequence[bool]) -> None:
        """Neighbours of a measured candidate for each True in the plan, a dive from the root for each False, as long as there
        is time."""
        for is_neighbour in plan:
            if not self._has_time():
                return
            tried = self._incumbent.statistics.tried
            if is_neighbour:
                for child in self._near.made(root):
                    self._keep(child)
            elif not self._near.known or not self._near.counts_nodes or self._dived <= self._options.dived * tried:
                self._dive(root)
                self._dived += self._incumbent.statistics.tried - tried

    def _go_around(self, root: Child[S]) -> None:
        """Neighbours of the best without chance, which all seeds find: the next ones that differ in amounts are part of the next
        batch; of the others, as many as a third of the time is enough for, each batch takes those that promise most."""
        began = time.monotonic()
        until = began if self._until is None else began + (self._until - began) / 3
        most = max(1, int(_OF_AMOUNTS * self._options.batch))
        for amounts in (True, False):
            while len(self._first) < most or (not amounts and time.monotonic() < until):
                found = self._near.next_around(root, amounts=amounts)
                if found is None:
                    break
                elite, child = found
                draft = self._keep(child)
                if draft is None:
                    continue
                if len(self._first) < most and draft.guess <= _NEAR * elite.guess:
                    self._first.append(draft)
                elif not amounts:
                    self._around.add(draft)

    def _sweep(self, root: Child[S]) -> bool:
        """A batch of neighbours of the best without chance, which all seeds find: half of them differ in amounts, half in other
        decisions. False where there are none, or these have had their share."""
        statistics, made = self._incumbent.statistics, 0
        began = statistics.tried
        if self._swept > max(_SWEPT_FIRST, _SWEPT * began):
            return False
        for amounts in [True, True, False, False] * max(1, self._options.batch // 4):
            found = self._near.next_around(root, amounts=amounts)
            made += found is not None and self._keep(found[1]) is not None
        self._swept += statistics.tried - began
        return made > 0

    def _dive(self, root: Child[S], chance: random.Random | None = None) -> None:
        """chance: of a dive that is the same for all seeds, where the temperature is the lowest."""
        temperatures = self._options.temperatures
        temperature = temperatures[self._dives % len(temperatures)] if chance is None else min(temperatures)
        chance = chance or self._random
        begin = self._incumbent.hints.begin
        start = root
        if begin is not None and (self._dives < self._incumbent.hints.starts or self._dives % _FROM_ROOT != _FROM_ROOT - 1):
            start = self._incumbent.jump(root, begin(root.candidate, chance)) or root
        found = Dive(self._incumbent, start, chance, temperature, self._guess).following(self._patience)
        self._dives += 1
        draft = None if found is None else self._keep(found)
        is_first = self._incumbent.wall_budget_s is not None and not self._measured and not self._is_alike
        if draft is not None and start is not root and is_first:
            self._first.append(draft)

    def _dive_all_ways(self, root: Child[S]) -> None:
        """Dives from every way to begin, the same for all seeds. Measured first are those without chance, then of each way the
        one that promises most of the others."""
        begin, ways = self._incumbent.hints.begin, self._incumbent.hints.ways
        assert begin is not None
        chance = random.Random(0)
        starts = [self._incumbent.jump(root, begin(root.candidate, chance)) or root for _ in range(ways)]
        made: list[list[Draft[S, A]]] = [[] for _ in starts]
        for temperature in _WHOLE_TEMPERATURES:
            for start, drafts in zip(starts, made, strict=True):
                if not self._has_time():
                    break
                found = Dive(self._incumbent, start, chance, temperature, self._guess).following()
                draft = None if found is None else self._keep(found)
                if draft is not None:
                    drafts.append(draft)
        each = [[*drafts[:1], *sorted(drafts[1:], key=lambda d: d.guess)[:1]] for drafts in made]
        least = min((d.guess for drafts in each for d in drafts), default=0.0)
        turns = [sorted((d for d in turn if d is not None), key=lambda d: d.guess) for turn in zip_longest(*each)]
        self._first = [d for turn in turns for d in turn if d.guess <= _HOPEFUL * least]

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

    def _keep(self, child: Child[S]) -> Draft[S, A] | None:
        draft = self._near.draft(child)
        if draft is not None:
            self._pool.append(draft)
        return draft

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
                draft.cost = max(float(cost[0]), LEAST)
        measured = [draft for draft in batch if draft.cost < math.inf]
        self._measured = sorted([*self._measured, *measured], key=lambda d: d.cost)[: self._options.learn_from]
        self._near.add(measured, self._options.learn_from)
        return True

    def _promising(self) -> list[Draft[S, A]]:
        """Sorts the pool by predicted cost; most of a batch from its top, one by the model alone, one by chance. Those that are
        to be measured first begin it, whatever the model says of them."""
        scores = np.log(np.array([d.guess for d in self._pool]))
        if len(self._measured) >= _ENOUGH:
            residuals = np.array([math.log(d.cost / d.guess) for d in self._measured])
            seen, asked = (self._near.table.bits([d.row for d in drafts]) for drafts in (self._measured, self._pool))
            if len(residuals) >= self._length_due:
                self._length, self._length_due = likeliest_length(seen, residuals), 2 * len(residuals)
            predicted = predict(seen, residuals, asked, self._length)
            scores = scores + predicted.mean - self._options.boldness * predicted.deviation
        most = math.inf
        if self._is_alike and len(self._measured) >= _MANY:
            most = math.log(_NEAR * self._measured[0].cost)
        kept = {id(d) for d, score in zip(self._pool, scores, strict=True) if score <= most}
        order = np.argsort(scores, kind="stable")
        self._pool = [self._pool[n] for n in order]
        size = self._options.batch
        first = [d for d in self._first if id(d) in kept]
        first, self._first = (first[:size], first[size:]) if self._is_alike else (first[: max(1, size - 2)], [])
        self._around.intersection_update(self._pool)
        beside = [d for d in self._pool if d in self._around][: int(_OF_OTHERS * size)]
        batch = self._affordable(list(dict.fromkeys((*first, *beside, *self._pool))), max(1, size - 2, len(first)))
        chosen = {id(d) for d in batch}
        rest = [d for d in self._pool if id(d) not in chosen]
        if rest and len(batch) < size:
            batch = [*batch, min(rest, key=lambda d: d.guess)]
            rest = [d for d in rest if d is not batch[-1]]
        if rest and len(batch) < size:
            batch = [*batch, self._random.choice(rest[: _CHANCES * size] if self._is_alike else rest)]
        return batch

    def _affordable(self, drafts: Sequence[Draft[S, A]], most: int) -> list[Draft[S, A]]:
        """The first ones that it does not take too much of the budget to measure; those before them are dropped. Before anything
        is measured one may take more: a way to begin may be worth that."""
        effort_s, budget_s = self._incumbent.hints.effort_s, self._incumbent.wall_budget_s
        if effort_s is None or budget_s is None:
            return list(drafts[:most])
        most_s = max(_DEAREST_S, _DEAREST * budget_s)
        batch: list[Draft[S, A]] = []
        dear: set[int] = set()
        dearest_s = most_s if self._measured else max(most_s, _DEAREST_START * budget_s)
        for draft in drafts[: 2 * most]:
            if len(batch) == most:
                break
            taken_s = effort_s(draft.leaf.answer, most_s)
            if most_s < taken_s <= dearest_s:
                dearest_s = most_s
                batch.append(draft)
            elif taken_s > most_s:
                dear.add(id(draft))
            else:
                batch.append(draft)
        if batch:
            self._pool = [d for d in self._pool if id(d) not in dear]
        return batch or list(drafts[:1])

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


_ENOUGH, _MANY = 4, 16
"""Candidates measured before anything is predicted, and before anything is put off because of a prediction."""
_PRIOR = 4
"""Candidates without error that each decision is credited with."""
_FIRST_SHARE = 0.12
"""Share of a budget of wall seconds for the first candidates."""
_STARTS_SHARE = 0.5
"""Share of a budget for dives from the first ways to begin, at most."""
_ROUND_SHARE = 0.005
"""Share of a budget of nodes for the candidates of each further round."""
_WHOLE_TEMPERATURES = (0.0, 0.1, 0.3, 0.02)
"""Temperatures of the dives from each way to begin."""
_WAYS_SHARE = 0.2
"""Share of a budget of wall seconds for them, at most: rarely as much, or chance would decide how many there are."""
_SWEPT, _SWEPT_FIRST = 0.5, 200
"""Share of the candidates tried that are for neighbours without chance, at most, but so many at first."""
_PATIENT, _LEAST_PATIENCE = 0.06, 24
"""Share of a budget of nodes that is a dive's patience where neighbours are made without chance, too, but so many at least."""
_HOPEFUL = 3.0
"""Candidates that promise less than the best one by this factor are not measured first."""
_BESIDE_WAYS = 8
"""Other dives before anything is measured, where all seeds begin alike."""
_OF_AMOUNTS, _OF_OTHERS = 0.375, 0.25
"""Parts of a batch: neighbours of the best ones without chance that differ from them in amounts, and in another decision."""
_CHANCES = 4
"""The candidate that is measured by chance is then one of the best of so many batches."""
_BALANCE = 0.4
"""Seconds for making candidates per second of measuring then."""
_DEAREST, _DEAREST_S, _DEAREST_START = 0.08, 1.0, 0.2
"""Share of a budget of wall seconds that measuring one candidate may take; seconds that any may; share that one of the first
may."""
_NEAR = 1.5
"""A neighbour that promises less than the candidate that it is made of, or less than the best, by this factor is not measured at
once."""
_FROM_ROOT = 4
"""One dive in so many begins at the root, where there are decisions to begin with."""
_FRUITLESS = 5
"""Rounds without a new candidate that end the search."""
