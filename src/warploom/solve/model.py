"""A problem as decisions: choices with finite domains, what one decision forces on the others, a bound, a cost.

A *model* knows its decisions and propagates them; a search knows nothing but that. Holes of a sketch, tile sizes, loop kinds and
parameters of a family are all choices to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

S = TypeVar("S")
A_co = TypeVar("A_co", covariant=True)
Cost = tuple[int, ...]
"""Compared lexicographically; smaller is better."""
Goal = Literal["first", "best", "all"]


@dataclass(frozen=True, slots=True)
class Alternative(Generic[S]):
    """One way to decide a choice, not yet propagated."""

    bound: Cost
    """Lower bound on the cost of every answer behind it, known before propagation."""
    expand: Callable[[], S | None]
    """The propagated candidate; None when propagation refutes it."""
    value: Hashable = None
    """The decided value; it is the same wherever the same is decided for this choice. None: the model does not say."""


class Model(Protocol[S, A_co]):
    """A problem over candidates of type S with answers of type A_co. Candidates are never changed in place."""

    def root(self) -> S | None:
        """The candidate before any decision, propagated; None when already refuted."""
        ...

    def open_choices(self, candidate: S) -> Sequence[tuple[int, int]]:
        """(choice, size of its domain) for every choice with more than one alternative; empty = fully decided."""
        ...

    def alternatives(self, candidate: S, choice: int) -> Iterator[Alternative[S]]:
        """Alternatives in ascending order of bound; they cover the choice's domain and exclude each other."""
        ...

    def bound(self, candidate: S) -> Cost:
        """A lower bound on the cost of every answer that completes the candidate."""
        ...

    def answer(self, candidate: S) -> tuple[Cost, A_co] | None:
        """The answer of a fully decided candidate; None if it turns out to be none."""
        ...


Strategy = Callable[[Sequence[tuple[int, int]]], int]
"""Picks the choice to branch on among (choice, domain size)."""


def smallest_domain(choices: Sequence[tuple[int, int]]) -> int:
    """The choice with the fewest alternatives; the first of them on a tie."""
    return min(choices, key=lambda c: c[1])[0]


def declared_order(choices: Sequence[tuple[int, int]]) -> int:
    """The open choice with the smallest number."""
    return min(choices)[0]


def ordered(first: Sequence[int]) -> Strategy:
    """These choices first, in this order, then the others in theirs."""
    place = {choice: n for n, choice in enumerate(first)}
    return lambda choices: min((place.get(c, len(place)), c) for c, _ in choices)[1]
