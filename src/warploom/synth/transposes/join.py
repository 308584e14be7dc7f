"""The cheapest steps of a transpose: a join over the tables that one step (the *pivot*) forces on the others.

First among the words: every word of steps 1 and 3 that fulfils its demand is a pivot, cheapest first, and what it forces is
looked up among the words. An answer that no pivot begins costs at least what the demands leave to each step: so the bound. Then,
if that bound is not met, rotations after fans are the pivots, and what no word does is peeled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge

import numpy as np

from warploom.ir.swizzle import Composition, IntArray
from warploom.ir.swizzle.grown import candidates, forms
from warploom.synth.transposes.demands import Source, demands, fulfilling
from warploom.synth.transposes.pivots import pivots
from warploom.synth.transposes.problem import Tables, Transpose

EXACT_PIVOTS = 200
"""Pivots looked up among the words before the bound is given up."""
BEYOND = 20
"""Pivots peeled after the first answer."""
MOST_PEELED = 1500
LABELS = 3
"""Peeled pivots whose middle positions differ in their names only."""


@dataclass(frozen=True, slots=True)
class Answer:
    steps: tuple[Composition, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class Found:
    answer: Answer | None
    bound: int
    """No answer whose steps are words costs less."""
    pivots: int
    """Pivots whose forced tables were computed."""


@dataclass(frozen=True, order=True, slots=True)
class _Pivot:
    cost: int
    third: bool
    summed: bool
    number: int


class Join:
    """One transpose's search; `run` once."""

    def __init__(self, problem: Transpose) -> None:
        self._problem = problem
        self._outer = candidates(problem.outer, problem.inner)
        self._inner = candidates(problem.inner, problem.outer)
        self._more = pivots(problem.outer, problem.inner)
        self._demands = demands(problem)
        grid = np.meshgrid(np.arange(problem.outer), np.arange(problem.inner), indexing="ij")
        self._index, self._parameter = grid[0].reshape(-1), grid[1].reshape(-1)
        self._names = ("j", "i") if problem.kind == "rcr" else ("i", "j")
        self._counted = problem.kind != "sum"
        self._best: Answer | None = None
        self._least = (0, 0, 0)
        """Cost that the demands leave to each step at least."""
        self._pivots = 0

    def run(self) -> Found:
        bound = self._join_words()
        if self._best is None or self._best.cost > bound:
            self._join_peeled()
        return Found(self._best, bound, self._pivots)

    def _join_words(self) -> int:
        """The bound; `_best` is the cheapest answer of words that it knows of."""
        outer, inner = self._outer, self._inner
        first, second, third = (
            next((int(source.costs[n]) for n in fulfilling(source, demand)), source.limit + 1)
            for source, demand in zip((outer, inner, outer), self._demands, strict=True)
        )
        if not self._counted:
            third = 0
        self._least = (first, second, third)
        if max(first, third) > outer.limit or second > inner.limit:
            # Some step is no word, whatever the others are.
            return first + second + third
        beyond = outer.limit + 1
        bound = beyond + second + (beyond if self._counted else 0)
        for tried, pivot in enumerate(self._stream(self._counted, summed=False)):
            # In what no pivot so far begins, neither the first nor the third step costs less than this one.
            least = max(first, pivot.cost) + second + (max(third, pivot.cost) if self._counted else 0)
            if self._best is not None and least >= self._best.cost:
                break
            if tried == EXACT_PIVOTS:
                return min(bound, least)
            bound = min(bound, self._look_up(self._forced(pivot)))
        return bound

    def _look_up(self, tables: Tables) -> int:
        """Keeps the words for these tables if they beat the best; what the tables cost at least."""
        sources = (self._outer, self._inner, self._outer)
        names = (*self._names, self._names[0])
        steps: list[Composition] = []
        cost = 0
        counted = list(zip(sources, (tables.first, tables.second, tables.third), names, strict=True))[: self._problem.steps]
        for source, table, name in counted:
            number = source.find(table)
            cost += source.limit + 1 if number is None else int(source.costs[number])
            if number is not None:
                steps.append(source.composition(number, name))
        if len(steps) == len(counted) and (self._best is None or cost < self._best.cost):
            self._best = Answer(tuple(steps), cost)
        return cost

    def _join_peeled(self) -> None:
        seen: dict[bytes, int] = {}
        first, second, third = self._least
        after = 0
        for pivot in self._stream(True, summed=True):
            least = second + (pivot.cost + min(first, third) if self._counted else first)
            hopeless = self._best is not None and least >= self._best.cost
            if hopeless or after > BEYOND or self._pivots > MOST_PEELED:
                return
            tables = self._forced(pivot)
            names = _nameless(tables.third)
            seen[names] = seen.get(names, 0) + 1
            if seen[names] > LABELS:
                continue
            after += self._best is not None
            self._express(tables)

    def _express(self, tables: Tables) -> None:
        """Keeps the cheapest compositions of these tables if they beat the best."""
        limit = self._best.cost if self._best is not None else None
        steps: list[Composition] = []
        total = 0
        # The second step is the hardest to express: it decides first.
        parts = (
            (tables.second, self._names[1], tables),
            (tables.first, self._names[0], None),
            (tables.third, self._names[0], None),
        )
        for table, name, context in parts[: self._problem.steps]:
            step = self._cheapest(table, name, context)
            if step is None:
                return
            steps.append(step)
            total += self.cost(step)
            if limit is not None and total >= limit:
                return
        self._best = Answer((steps[1], steps[0], *steps[2:]), total)

    def cost(self, step: Composition) -> int:
        return step.cost(self._problem.m, self._problem.n)

    def _stream(self, with_third: bool, *, summed: bool) -> Iterator[_Pivot]:
        """Cheapest first; each fulfils its demand."""
        steps = (False, True) if with_third else (False,)
        return merge(*(self._fulfilling(summed, third) for third in steps))

    def _fulfilling(self, summed: bool, third: bool) -> Iterator[_Pivot]:
        source: Source = self._more if summed else self._outer
        for number in fulfilling(source, self._demands[2 if third else 0]):
            yield _Pivot(int(source.costs[number]), third, summed, number)

    def _forced(self, pivot: _Pivot) -> Tables:
        self._pivots += 1
        source: Source = self._more if pivot.summed else self._outer
        table = source.image(np.array([pivot.number]), self._index, self._parameter)
        table = table.reshape(self._problem.outer, self._problem.inner)
        tables = self._problem.from_third(table) if pivot.third else self._problem.from_first(table)
        assert tables is not None, "a pivot that fulfils its demand places every element"
        return tables

    def _cheapest(self, table: IntArray, name: str, tables: Tables | None) -> Composition | None:
        """The cheapest composition for the step with this table; `tables` for the second step, which may undo the third before
        it switches the index."""
        source = self._inner if tables is not None else self._outer
        number = source.find(table)
        if number is not None:
            return source.composition(number, name)
        m, n = self._problem.m, self._problem.n
        undone = None if tables is None else np.argsort(tables.third, axis=0)
        return min(forms(table, name, m, n, undone), key=self.cost, default=None)


def _nameless(third: IntArray) -> bytes:
    """The middle positions, named by where the first lane's elements stand."""
    names = np.argsort(third[:, 0])
    return names[third].astype(np.uint8).tobytes()
