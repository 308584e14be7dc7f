"""Complete candidates near known ones: some of their decisions are taken anew, the others kept where they are still possible."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from warploom.solve.search.drafts import TEMPERATURES, drawn
from warploom.solve.search.incumbent import Child, Incumbent, Leaf, Path
from warploom.solve.search.residuals import FeatureTable

S = TypeVar("S")
A = TypeVar("A")

LEAST = 1e-12
"""Costs above 0 have logarithms."""
_LONG = 16
"""Candidates after which a neighbour is given up."""
_RUNNERS_UP = 1.3
"""Candidates that are dearer than the best by this factor at most are gone around beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    weariness: float = 0.2
    """A candidate that n neighbours were asked for counts as dearer by the factor (1 + n) ** weariness when the next one is asked
    for, with a budget of nodes: better ones have more neighbours, and none has them all."""
    boredom: float = 0.5
    """All that are like one elite, with n neighbours together, count as dearer by (1 + n / soon) ** boredom, too."""
    soon: float = 30.0
    elites: int = 12
    """The best measured candidates of which no two are alike."""
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
    """One is drawn for each decision that is taken anew: a child worse by this share of the best one's guess is chosen 1 / e as
    often."""


@dataclass(slots=True, eq=False)
class Draft(Generic[S, A]):
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
    is_retraced: bool = False
    """Its path has the order of a descent."""
    around: dict[bool, Iterator[Child[S]]] = field(default_factory=dict[bool, Iterator[Child[S]]])
    """Neighbours that are left of all that differ from it in amounts (True), and in one other decision (False), once begun."""


class Neighbours(Generic[S, A]):
    def __init__(
        self,
        incumbent: Incumbent[S, A],
        options: Near,
        chance: random.Random,
        guess: Callable[[Child[S]], float] | None = None,
    ) -> None:
        self._incumbent = incumbent
        self._options = options
        self._random = chance
        self._guess = guess or incumbent.guess
        self.table = FeatureTable()
        self.known: list[Draft[S, A]] = []
        """Measured ones, best first."""
        self._alike: list[list[Draft[S, A]]] | None = []
        """Each elite with those like it; None: not known."""
        self.counts_nodes = incumbent.node_budget is not None
        """Candidates are what is dear, not measurements."""
        self._turn = self._asked = 0

    def draft(self, child: Child[S]) -> Draft[S, A] | None:
        """The draft of a complete candidate; None for what is no answer, or a known one."""
        leaf = self._incumbent.leaf(child)
        if leaf is None:
            return None
        path = child.path
        hints = self._incumbent.hints
        estimate = max(float(leaf.cost[0]) if hints.estimate is None else hints.estimate(leaf.candidate), LEAST)
        guess = estimate if hints.appraise is None else max(hints.appraise(leaf.answer), LEAST)
        row = self.table.row(path if hints.features is None else hints.features(leaf.answer))
        return Draft(leaf, path, estimate, guess, row)

    def add(self, drafts: Sequence[Draft[S, A]], most: int) -> None:
        """Measured ones; the `most` cheapest of all are kept."""
        self.known = sorted([*self.known, *drafts], key=lambda d: d.cost)[:most]
        self._alike = None
        elites = self.elites()
        for draft in self.known:
            if draft not in elites:
                draft.trail.clear()

    def forget(self) -> None:
        self.known, self._alike = [], []

    def elites(self) -> list[Draft[S, A]]:
        return [alike[0] for alike in self._groups()]

    def _groups(self) -> list[list[Draft[S, A]]]:
        if self._alike is None:
            self._alike = []
            for draft in self.known:
                for alike in self._alike:
                    if _difference(draft, alike[0]) < self._options.apart:
                        alike.append(draft)
                        break
                else:
                    if len(self._alike) < self._options.elites:
                        self._alike.append([draft])
        return self._alike

    def made(self, root: Child[S]) -> Iterator[Child[S]]:
        """Neighbours of a known candidate."""
        near = self._retraced(root, self._parent())
        is_mixed = self._random.random() < self._options.mixed
        other = self._random.choice(self.elites()) if is_mixed else None
        return self._vary(root, near, None if other is near else other)

    def next_around(self, root: Child[S], *, amounts: bool) -> tuple[Draft[S, A], Child[S]] | None:
        """A good candidate that has neighbours left which differ from it in amounts, or in another decision, and the next of
        them; None: none has. No chance decides: every other one is the best's, then come the next ones in turn."""
        self._asked += 1
        elites = self.elites()
        others = [e for e in elites[1:] if e.cost <= _RUNNERS_UP * elites[0].cost]
        turn = self._asked // 2 % len(others) if others and self._asked % 2 else 0
        for elite in [*(others[turn:] if self._asked % 2 else ()), *elites]:
            if amounts not in elite.around:
                elite.around[amounts] = self._around(root, self._retraced(root, elite), amounts=amounts)
            if (child := next(elite.around[amounts], None)) is not None:
                return elite, child
        return None

    def _around(self, root: Child[S], elite: Draft[S, A], *, amounts: bool) -> Iterator[Child[S]]:
        """All that take one decision of the elite in another way, which is an amount or is none, all that take one amount a
        step up and another a step down, and all that take all decisions of a sort alike. The others stay as they are where that
        is possible; else the least guess decides."""
        is_amount = self._incumbent.hints.is_amount
        places = [n for n, (choice, _) in enumerate(elite.path) if (is_amount is not None and is_amount(choice)) == amounts]
        if not amounts:
            yield from self._alike_of_sort(root, elite)
            yield from self._stepped(root, elite, places[::-1] if self._incumbent.hints.retraced else places, 1, None)
            return
        yield from self._stepped(root, elite, places, 1, 1)
        for first, second in combinations(places, 2):
            for step, child in self._beside(self._before(root, elite, first), elite, first, 1):
                following = self._until(child, elite, first + 1, second)
                for back, traded in self._beside(following, elite, second, 1):
                    if back == -step:
                        yield from self._finished(traded, elite, second + 1, is_sure=True)
        yield from self._stepped(root, elite, places, 2, None)

    def _stepped(
        self, root: Child[S], elite: Draft[S, A], places: Sequence[int], least: int, most: int | None
    ) -> Iterator[Child[S]]:
        """Neighbours that take the decision at one of the places in another way, so many steps away."""
        for place in places:
            for step, child in self._beside(self._before(root, elite, place), elite, place, most):
                if abs(step) >= least:
                    yield from self._finished(child, elite, place + 1, is_sure=True)

    def _alike_of_sort(self, root: Child[S], elite: Draft[S, A]) -> Iterator[Child[S]]:
        """Neighbours that take all decisions of a sort in one other way."""
        sort = self._incumbent.hints.sort
        places: dict[Hashable, list[int]] = {}
        for place, (choice, _) in enumerate(elite.path):
            if sort is not None and (found := sort(choice)) is not None:
                places.setdefault(found, []).append(place)
        for first, *others in reversed([several for several in places.values() if len(several) > 1]):
            for _, child in self._beside(self._before(root, elite, first), elite, first, None):
                wanted = list(elite.path)
                for place in others:
                    wanted[place] = elite.path[place][0], child.value
                yield from self._finished(child, elite, first + 1, is_sure=True, wanted=tuple(wanted))

    def _before(self, root: Child[S], elite: Draft[S, A], place: int) -> Child[S] | None:
        """The candidate on the elite's path at which this decision is next, if there is one."""
        child = self._resumed(root, elite, place)
        return child if child is not None and self._incumbent.next_choice(child.candidate) == elite.path[place][0] else None

    def _until(self, child: Child[S], elite: Draft[S, A], first: int, place: int) -> Child[S] | None:
        """Takes the elite's decisions from position `first` on until this one is next, if it is still open then."""
        following: Child[S] | None = self._incumbent.follow(child, elite.path[first:place])
        while following is not None and not self._incumbent.is_beaten(following.bound):
            choice = self._incumbent.next_choice(following.candidate)
            if choice is None or choice == elite.path[place][0]:
                return None if choice is None else following
            if self._incumbent.hints.retraced:  # the first one has changed what there is to decide
                return None
            following = self._as_in(following, choice, elite, is_sure=True)
        return None

    def _beside(self, child: Child[S] | None, elite: Draft[S, A], place: int, most: int | None) -> Iterator[tuple[int, Child[S]]]:
        """The children that take the elite's next decision in another way, nearest first, with their distances in the model's
        order, which are at most `most`."""
        if child is not None:
            yield from self._incumbent.beside(child, elite.path[place][1], most)

    def _vary(self, root: Child[S], elite: Draft[S, A], other: Draft[S, A] | None) -> Iterator[Child[S]]:
        """Some decisions of the elite are taken anew, the last of them in every other way, the others kept where they
        are still possible. With a second elite, its decisions are taken there instead."""
        if not elite.path:
            return
        reopened = self.reopened(len(elite.path), elite.done if self.counts_nodes else None)
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
                elif place != reopened[-1] or not self.counts_nodes:
                    child = self._anew(child, choice, elite, other)
                else:
                    for sibling in self._incumbent.expand(child) or ():
                        if sibling.value != wanted[anew]:
                            yield from self._finished(sibling, elite, place + 1)
                    return
            if child is None:
                return
            child = self._incumbent.follow(child, elite.path[place + 1 : end])
            if self._incumbent.is_beaten(child.bound):
                return
        if child is not None:
            yield from self._finished(child, elite, len(elite.path))

    def _finished(
        self, child: Child[S], elite: Draft[S, A], first: int, *, is_sure: bool = False, wanted: Path | None = None
    ) -> Iterator[Child[S]]:
        """The complete candidate behind this one that has most of the elite's decisions (or those wanted) from position `first`
        on, if any; `is_sure`: without chance. Where paths are retraced, those are given up that leave too much to decide."""
        statistics = self._incumbent.statistics
        most = statistics.tried + _LONG if self._incumbent.hints.retraced else math.inf
        following: Child[S] | None = self._incumbent.follow(child, (wanted or elite.path)[first:])
        while following is not None and not self._incumbent.is_beaten(following.bound) and statistics.tried < most:
            choice = self._incumbent.next_choice(following.candidate)
            if choice is None:
                yield following
                return
            following = self._as_in(following, choice, elite, is_sure=is_sure)

    def _anew(self, child: Child[S], choice: int, elite: Draft[S, A], other: Draft[S, A] | None) -> Child[S] | None:
        """The choice decided as in the other elite, else by a draw, in another way than in this one if there is one."""
        given = None if other is None else dict(other.path).get(choice, self._value(other, choice))
        following = None if given is None else self._incumbent.child(child, choice, given)
        if following is not None:
            return following
        value = dict(elite.path)[choice]
        if not self.counts_nodes:
            children = self._incumbent.children(child) or []
            others = [c for c in children if c.value != value] or children
            return self._drawn(others)
        made = self._incumbent.in_any_order(child, self._random)
        last = None
        for last in made or ():
            if last.value != value:
                return last
        return last

    def _as_in(self, child: Child[S], choice: int, elite: Draft[S, A], *, is_sure: bool = False) -> Child[S] | None:
        """The choice decided as in the elite if that is possible, else by a draw, or by the least guess."""
        value = dict(elite.path).get(choice, self._value(elite, choice))
        following = None if value is None else self._incumbent.child(child, choice, value)
        if following is not None:
            return following
        children = self._incumbent.children(child) or []
        return min(children, key=self._guess, default=None) if is_sure else self._drawn(children)

    def _drawn(self, children: Sequence[Child[S]]) -> Child[S] | None:
        return drawn(children, self._guess, self._random, self._random.choice(self._options.temperatures)) if children else None

    def reopened(self, decisions: int, done: set[int] | None = None) -> list[int]:
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

    def _retraced(self, root: Child[S], draft: Draft[S, A]) -> Draft[S, A]:
        """The draft, its path in the order of a descent: a decision can be taken anew only when it is the next one."""
        retraced = self._incumbent.hints.retraced
        if retraced is not None and not draft.is_retraced:
            draft.path, draft.is_retraced = retraced(root.candidate, draft.leaf.candidate), True
            draft.trail.clear()
            draft.done.clear()
        return draft

    def _parent(self) -> Draft[S, A]:
        """The measured candidate that is to have neighbours next."""
        if not self.counts_nodes:
            # The best one has as many neighbours as all others together.
            self._turn += 1
            elites = self.elites()
            return elites[0 if self._turn % 2 == 0 else (self._turn // 2) % len(elites)]
        boredom, weariness = self._options.boredom, self._options.weariness
        best = math.inf
        found = self.known[0]
        for alike in self._groups():
            tries = sum(draft.tries for draft in alike)
            bored = (1.0 + tries / self._options.soon) ** boredom
            for draft in alike:
                cost = draft.cost * bored * (1.0 + draft.tries) ** weariness
                if cost < best:
                    best, found = cost, draft
        found.tries += 1
        return found

    def _value(self, elite: Draft[S, A], choice: int) -> Hashable:
        value = self._incumbent.hints.value
        return None if value is None else value(elite.leaf.candidate, choice)

    def _resumed(self, root: Child[S], elite: Draft[S, A], steps: int) -> Child[S] | None:
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


def _difference(a: Draft[S, A], b: Draft[S, A]) -> float:
    common = len(np.intersect1d(a.row, b.row, assume_unique=True))
    return 1.0 - 2 * common / max(1, len(a.row) + len(b.row))
