"""The one loop of all searches: which children a candidate has, what is cut, counted and spent, and the best answers so far.

An order (`depth_first`, `best_first`, `mcts`, `refine`) only says which candidate is expanded next and which leaf is evaluated.

An answer's cost is the model's, or comes from outside: a measurement, which is dear and never made twice for one answer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from warploom.core.limits import why
from warploom.solve.model import Alternative, Cost, Goal, Model, Strategy, declared_order
from warploom.solve.search.spending import BUDGET_SPENT, UNLIMITED, Budget, Meter, Outcome, Statistics, StopSearchError

S = TypeVar("S")
A = TypeVar("A")

Measure: TypeAlias = "Callable[[Sequence[A]], Iterable[tuple[int, Cost | None]]]"
"""(position, cost) of each answer as it becomes known, in any order; None for one that turns out to be none."""

Path: TypeAlias = tuple[tuple[int, Hashable], ...]
"""(choice, value) of each decision."""
Decisions: TypeAlias = "tuple[Decisions, int, Hashable] | None"
"""The last decision behind those before it."""

PATIENCE = 250
"""Candidates tried for a cheaper answer once one is good enough."""
PROGRESS_S = 0.5
"""Wall time between two reports while nothing better is found."""
_LOOK = 8
"""Candidates from one look at the clock to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints(Generic[S, A]):
    """Functions that a strategy may use beyond `Model`; each may be missing."""

    key: Callable[[A], Hashable] | None = None
    """Equal for answers that are the same implementation; missing: those with the same decisions are."""
    measure: Measure[A] | None = None
    """Missing: the model's cost counts."""
    estimate: Callable[[S], float] | None = None
    """A guess at the best cost (its first component) behind a candidate, for ordering only; missing: its bound."""
    appraise: Callable[[A], float] | None = None
    """A better guess at the cost of an answer, before it is measured; missing: the estimate of its candidate."""
    value: Callable[[S, int], Hashable] | None = None
    """Gives the value of a choice in a fully decided candidate, comparable to `Alternative.value`; missing: it is known only
    where the choice was branched on."""
    decide: Callable[[S, Sequence[tuple[int, Hashable]]], S | None] | None = None
    """A candidate with several decisions taken at once, in any order; None where they contradict it. Missing: one by one."""
    begin: Callable[[S, random.Random], Path] | None = None
    """Decisions with which a descent from a candidate may begin, because good answers mostly have them; needs `decide`. Missing:
    none."""
    ways: int = 0
    """So many of the first `begin`s are different ways that leave nothing out, whatever the chance; 0: not known."""
    starts: int = 0
    """So many of the first `begin`s are tried before anything else, also beyond the share of a budget for first dives."""
    effort_s: Callable[[A, float], float] | None = None
    """A guess at the CPU seconds of measuring an answer, a rough one where it surely is below the number given; missing: they do
    not count."""
    is_amount: Callable[[int], bool] | None = None
    """Whether the values of a choice are amounts, in order; missing: none are."""
    sort: Callable[[int], Hashable] | None = None
    """Equal for choices that answers mostly take alike, None for others; missing: None for all."""
    retraced: Callable[[S, S], Path] | None = None
    """The decisions that lead from a candidate to a fully decided one behind it, in the order of a descent; missing: those of its
    path, which `begin` may have taken in another order."""
    is_open: Callable[[S, int, Hashable], bool] | None = None
    """Whether a choice may be decided so and is not yet; False only where it surely is not. Missing: unknown."""
    features: Callable[[A], Sequence[Hashable]] | None = None
    """Gives the features from which corrections of the model are learned; missing: the decisions that were branched on."""
    drafts: Callable[[int, int], Iterable[Sequence[Hashable]]] | None = None
    """(how many, seed): values that lead to complete candidates, made elsewhere (`solve.search.drafts`); missing: made here."""


@dataclass(frozen=True, slots=True, eq=False)
class Child(Generic[S]):
    bound: Cost
    """Lower bound, at least the parent's."""
    candidate: S
    choice: int
    value: Hashable
    """The alternative's, else its position."""
    remake: Callable[[], S | None]
    """Makes the candidate again."""
    above: Decisions = None

    @property
    def path(self) -> Path:
        """The decisions that led here, root first."""
        path: list[tuple[int, Hashable]] = []
        decisions = self.above
        while decisions is not None:
            path.append(decisions[1:])
            decisions = decisions[0]
        return tuple(reversed(path))


@dataclass(frozen=True, slots=True, eq=False)
class Leaf(Generic[S, A]):
    """A fully decided candidate that has not been evaluated."""

    candidate: S
    cost: Cost
    """The model's."""
    answer: A
    key: Hashable


@dataclass(frozen=True, slots=True)
class Progress:
    statistics: Statistics
    best: Cost | None
    wall_s: float


class Incumbent(Generic[S, A]):
    """The best answer so far of one search, or of several one after the other, and the cut that it implies.

    Goal `first`: the first answer ends the search; `all`: nothing is cut, and every answer is kept. Once an answer is below
    `good_enough`, only `patience` further candidates are tried (reason `good enough`). With `below`, only cheaper answers count;
    with `margin`, only those cheaper than (1 - margin) times the best so far, so that a complete search proves that much only.
    """

    def __init__(
        self,
        model: Model[S, A],
        *,
        hints: Hints[S, A] | None = None,
        goal: Goal = "best",
        below: Cost | None = None,
        good_enough: Cost | None = None,
        patience: int = PATIENCE,
        margin: float = 0.0,
        budget: Budget = UNLIMITED,
        strategy: Strategy = declared_order,
        statistics: Statistics | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.model = model
        self.hints: Hints[S, A] = hints or Hints()
        self.statistics = statistics or Statistics()
        self.best: tuple[Cost, A] | None = None
        self.cut = None if goal == "all" else below
        """Candidates whose bound is not below it are of no use."""
        self._goal = goal
        self._all: list[tuple[Cost, A]] = []
        """The answers, if the goal is `all`."""
        self._good_enough = good_enough
        self._patience = patience
        self._improved_at = 0
        self._margin = margin
        self._meter = Meter(budget)
        self._strategy = strategy
        self._progress = progress
        self._seen: set[Hashable] = set()
        self._told_s = time.monotonic()

    @property
    def wall_budget_s(self) -> float | None:
        return self._meter.budget.wall_s

    @property
    def node_budget(self) -> int | None:
        return self._meter.budget.nodes

    @property
    def wall_s(self) -> float:
        return self._meter.wall_s

    def is_beaten(self, bound: Cost) -> bool:
        return self.cut is not None and bound >= self.cut

    def root(self) -> Child[S] | None:
        """None where there is nothing to search."""
        root = self.model.root()
        if root is None:
            self.statistics.refuted += 1
            return None
        self.statistics.nodes += 1
        self._spend()
        bound = self.model.bound(root)
        if self.is_beaten(bound):
            self.statistics.bounded += 1
            return None
        return Child(bound, root, -1, None, self.model.root)

    def children(self, parent: Child[S]) -> list[Child[S]] | None:
        """The children that may hold an answer cheaper than the cut, in the model's order; None: the candidate is fully decided.

        StopSearchError when the budget is spent.
        """
        children = self.expand(parent)
        return None if children is None else list(children)

    def expand(self, parent: Child[S]) -> Iterator[Child[S]] | None:
        """Like `children`, each made only when it is asked for, with the cut as it is then."""
        choice = self.next_choice(parent.candidate)
        if choice is None:
            return None
        return self._children(parent, choice, enumerate(self.model.alternatives(parent.candidate, choice)), by_bound=True)

    def in_any_order(self, parent: Child[S], chance: random.Random) -> Iterator[Child[S]] | None:
        """Like `expand`, with the alternatives shuffled."""
        choice = self.next_choice(parent.candidate)
        if choice is None:
            return None
        alternatives = list(enumerate(self.model.alternatives(parent.candidate, choice)))
        chance.shuffle(alternatives)
        return self._children(parent, choice, alternatives, by_bound=False)

    def _children(
        self, parent: Child[S], choice: int, alternatives: Iterable[tuple[int, Alternative[S]]], *, by_bound: bool
    ) -> Iterator[Child[S]]:
        """`by_bound`: the alternatives after a beaten one are no better."""
        is_dead_end = True
        for position, alternative in alternatives:
            if self.is_beaten(alternative.bound):
                self.statistics.bounded += 1
                is_dead_end = False
                if by_bound:
                    break
                continue
            child = self._expanded(parent, choice, position, alternative)
            if child is None:
                continue
            is_dead_end = False
            if self.is_beaten(child.bound):
                self.statistics.bounded += 1
            else:
                yield child
        self.statistics.dead_ends += is_dead_end

    def next_choice(self, candidate: S) -> int | None:
        """The one that `children` branches on; None: fully decided."""
        choices = self.model.open_choices(candidate)
        return self._strategy(choices) if choices else None

    def child(self, parent: Child[S], choice: int, value: Hashable) -> Child[S] | None:
        """The child that decides so; None where there is none or it is beaten."""
        for position, alternative in enumerate(self.model.alternatives(parent.candidate, choice)):
            if value == (position if alternative.value is None else alternative.value):
                child = self._expanded(parent, choice, position, alternative)
                return None if child is None or self.is_beaten(child.bound) else child
        return None

    def beside(self, parent: Child[S], value: Hashable, most: int | None) -> Iterator[tuple[int, Child[S]]]:
        """The children that decide in another way, nearest first, each with its distance from the one with the value: counted in
        the model's order, at most `most`, negative before it. None where the value is no alternative."""
        choice = self.next_choice(parent.candidate)
        if choice is None:
            return
        every = list(enumerate(self.model.alternatives(parent.candidate, choice)))
        at = next((n for n, alternative in every if value == (n if alternative.value is None else alternative.value)), None)
        if at is None:
            return
        steps = {1: 0, -1: 0}
        for position, alternative in sorted(every, key=lambda one: abs(one[0] - at)):
            way = 1 if position > at else -1
            if position == at or (most is not None and steps[way] >= most):
                continue
            child = self._expanded(parent, choice, position, alternative)
            if child is not None and not self.is_beaten(child.bound):
                steps[way] += 1
                yield way * steps[way], child

    def jump(self, parent: Child[S], decisions: Path) -> Child[S] | None:
        """The descendant with all the decisions taken; None where there is none, or no way to take several at once."""
        decide = self.hints.decide
        if decide is None or not decisions:
            return parent if not decisions else None
        candidate = decide(parent.candidate, decisions)
        if candidate is None:
            self.statistics.refuted += 1
            self._spend()
            return None
        self.statistics.nodes += 1
        self._spend()
        above = parent.above
        for choice, value in decisions:
            above = (above, choice, value)
        bound = max(parent.bound, self.model.bound(candidate))
        return Child(bound, candidate, *decisions[-1], lambda: decide(parent.candidate, decisions), above)

    def follow(self, child: Child[S], decisions: Path) -> Child[S]:
        """The descendant with those of the decisions that are still possible, the first ones first."""
        is_open = self.hints.is_open
        if is_open is not None:
            decisions = tuple(d for d in decisions if is_open(child.candidate, *d))
        if self.hints.decide is None:
            for choice, value in decisions:
                if self.next_choice(child.candidate) == choice:
                    child = self.child(child, choice, value) or child
            return child
        if not decisions:
            return child
        following = self.jump(child, decisions)
        if following is None and len(decisions) > 1:
            following = self.jump(child, self._possible(child.candidate, decisions)[1])
        return following or child

    def _possible(self, candidate: S, decisions: Path) -> tuple[S, Path]:
        """The candidate with those of the decisions that are possible, and these."""
        assert self.hints.decide is not None
        half = len(decisions) // 2
        taken: Path = ()
        for part in (decisions[:half], decisions[half:]):
            decided = self.hints.decide(candidate, part)
            if decided is not None:
                candidate, taken = decided, (*taken, *part)
            elif len(part) > 1:
                candidate, further = self._possible(candidate, part)
                taken = (*taken, *further)
        return candidate, taken

    def leaf(self, child: Child[S]) -> Leaf[S, A] | None:
        """None for what is no answer, or one that was handed out before."""
        found = self.model.answer(child.candidate)
        if found is None:
            self.statistics.rejected += 1
            return None
        cost, answer = found
        key = child.path if self.hints.key is None else self.hints.key(answer)
        if key in self._seen:
            self.statistics.duplicates += 1
            return None
        self._seen.add(key)
        return Leaf(child.candidate, cost, answer, key)

    def evaluate(self, leaves: Sequence[Leaf[S, A]]) -> list[Cost | None]:
        """The cost of each; None for one that is no answer. StopSearchError when the budget is spent."""
        costs: list[Cost | None] = [None] * len(leaves)
        allowed = self._meter.budget.evaluations
        now = leaves if allowed is None else leaves[: max(0, allowed - self.statistics.evaluated)]
        for position, cost in self._costs(now):
            costs[position] = cost
            self._take(cost, now[position].answer)
        if len(now) < len(leaves):
            raise StopSearchError(f"{BUDGET_SPENT}evaluations")
        return costs

    def adopt(self, cost: Cost, answer: A) -> None:
        """An answer, if it counts: with goal `all` it does, else it must be better than the best so far."""
        if self._goal == "all":
            self.statistics.answers += 1
            self._all.append((cost, answer))
            return
        limit = self.cut if self.best is None else self.best[0]
        if limit is not None and cost >= limit:
            return
        self.statistics.answers += 1
        self._improved_at = self.statistics.tried
        self.best = (cost, answer)
        cut = (int(cost[0] * (1 - self._margin)), *cost[1:]) if self._margin else cost
        self.cut = cut if self.cut is None else min(cut, self.cut)
        self._tell()
        if self._goal == "first":
            raise StopSearchError("")

    def outcome(self, body: Callable[[], Cost | None]) -> Outcome[A]:
        """Runs a strategy; it returns once it has covered the space, with the bound that is proved for what is left."""
        bound: Cost | None = None
        reason: str | None = None
        try:
            bound = body()
        except StopSearchError as stop:
            reason = str(stop)
        except KeyboardInterrupt as stop:
            reason = why(stop)
        with suppress(KeyboardInterrupt):
            self._tell()
        answers = tuple(sorted(self._all, key=lambda a: a[0])) if self.best is None else (self.best,)
        return Outcome(answers, reason is None, reason or "", self.statistics, bound)

    def guess(self, child: Child[S]) -> float:
        return float(child.bound[0]) if self.hints.estimate is None else self.hints.estimate(child.candidate)

    def _expanded(self, parent: Child[S], choice: int, position: int, alternative: Alternative[S]) -> Child[S] | None:
        candidate = alternative.expand()
        if candidate is None:
            self.statistics.refuted += 1
            self._spend()
            return None
        self.statistics.nodes += 1
        self._spend()
        bound = max(parent.bound, self.model.bound(candidate))
        value = position if alternative.value is None else alternative.value
        return Child(bound, candidate, choice, value, alternative.expand, (parent.above, choice, value))

    def _costs(self, leaves: Sequence[Leaf[S, A]]) -> Iterable[tuple[int, Cost | None]]:
        if self.hints.measure is None:
            return [(n, leaf.cost) for n, leaf in enumerate(leaves)]
        return self.hints.measure([leaf.answer for leaf in leaves])

    def _take(self, cost: Cost | None, answer: A) -> None:
        self.statistics.evaluated += 1
        if cost is None:
            self.statistics.rejected += 1
        else:
            self.adopt(cost, answer)
        self._spend_seconds()

    def _spend(self) -> None:
        tried = self.statistics.tried
        self._meter.spend(tried)
        is_enough = self._good_enough is not None and self.best is not None and self.best[0] < self._good_enough
        if is_enough and tried > self._improved_at + self._patience:
            raise StopSearchError("good enough")
        if tried % _LOOK == 0:
            self._tell_at_times()

    def _spend_seconds(self) -> None:
        self._meter.spend_seconds()
        self._tell_at_times()

    def _tell_at_times(self) -> None:
        if time.monotonic() - self._told_s > PROGRESS_S:
            self._tell()

    def _tell(self) -> None:
        self._told_s = time.monotonic()
        if self._progress is not None:
            self._progress(Progress(self.statistics, None if self.best is None else self.best[0], self.wall_s))
