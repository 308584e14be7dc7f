"""A search in independent parts: each takes some alternatives of the first decision and covers all that is behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeVar

from warploom.solve.model import Alternative, Cost, Model, Strategy, smallest_domain

S = TypeVar("S")
A = TypeVar("A")


class Split(Generic[S, A]):
    """A model cut at its first decision that has several alternatives; they are made once, for however many parts.

    The model must list them in the same order in every process that works on a part.
    """

    def __init__(self, model: Model[S, A], strategy: Strategy = smallest_domain) -> None:
        self.model = model
        self.top = model.root()
        """The candidate that is cut; None when there is no answer at all."""
        self.choice = -1
        self.alternatives: list[Alternative[S]] = []
        """None of them where nothing is left to decide."""
        while self.top is not None and (choices := model.open_choices(self.top)):
            self.choice = strategy(choices)
            self.alternatives = list(model.alternatives(self.top, self.choice))
            if len(self.alternatives) > 1:
                break
            self.top = self.alternatives.pop().expand() if self.alternatives else None

    def part(self, number: int, parts: int) -> Part[S, A]:
        """Alternatives `number`, `number + parts`, ...; part 0 has what needs no decision, too."""
        return Part(self, number, parts)


class Part(Generic[S, A]):
    """One part of a split, as a `Model[S, tuple[int, A]]`: answers come with the position of the alternative that led there.

    Sorted by cost, then position, the answers of all parts are in the order in which one search finds them.
    """

    def __init__(self, split: Split[S, A], number: int, parts: int) -> None:
        self._split = split
        self._model = split.model
        self._number = number
        self._parts = parts
        self._position = 0

    def root(self) -> S | None:
        return self._split.top if self._split.alternatives or self._number == 0 else None

    def open_choices(self, candidate: S) -> Sequence[tuple[int, int]]:
        if candidate is self._split.top and self._split.alternatives:
            return [(self._split.choice, len(self._split.alternatives))]
        return self._model.open_choices(candidate)

    def alternatives(self, candidate: S, choice: int) -> Iterator[Alternative[S]]:
        if candidate is not self._split.top:
            yield from self._model.alternatives(candidate, choice)
            return
        for position in range(self._number, len(self._split.alternatives), self._parts):
            alternative = self._split.alternatives[position]
            yield Alternative(alternative.bound, partial(self._expanded, position, alternative.expand))

    def bound(self, candidate: S) -> Cost:
        return self._model.bound(candidate)

    def answer(self, candidate: S) -> tuple[Cost, tuple[int, A]] | None:
        found = self._model.answer(candidate)
        return None if found is None else (found[0], (self._position, found[1]))

    def _expanded(self, position: int, expand: Callable[[], S | None]) -> S | None:
        self._position = position
        return expand()
