"""A dive: from a candidate to a complete one behind it, led by guesses, going back where a decision turns out dear.

A guess is often the same for all values of a decision, and grows only later, when it is too late for a descent that never goes
back. A dive takes the candidate with the least guess of all that it has made, a deeper one before a shallower one whose guess is
hardly less: where the guess jumps, it returns to what it left open shortly before, and takes the jump where all else has it, too.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from typing import Generic, TypeVar

from warploom.solve.search.incumbent import Child, Incumbent

S = TypeVar("S")
A = TypeVar("A")

EAGERNESS = 0.05
"""Share by which the guess may grow with each decision before a dive looks back."""
TEMPERATURES = (0.02, 0.1, 0.3, 1.0)
"""Temperatures of dives, in turn."""
PATIENCE = 200
"""Candidates tried from one complete candidate to the next before a dive goes to the deepest candidate first, of these
to that with the least guess, and after as many more gives up."""
FIRST_NODES = 0.12
"""Share of a budget of nodes for dives before anything is evaluated."""
_LEAST = 1e-12
"""Guesses above 0 have logarithms."""


class Dive(Generic[S, A]):
    """`temperature` adds chance: the logarithm of each guess is disturbed by so much, for all that follows from the decision."""

    def __init__(
        self,
        incumbent: Incumbent[S, A],
        start: Child[S],
        chance: random.Random,
        temperature: float,
        guess: Callable[[Child[S]], float] | None = None,
    ) -> None:
        self._incumbent = incumbent
        self._guess = guess or incumbent.guess
        self._chance = chance
        self._temperature = temperature
        self._open: list[tuple[float, float, float, int, float, Child[S]]] = [(0.0, 0.0, 0.0, 0, 0.0, start)]
        """Priority, a second one, a draw among equals, decisions since the start, the sum of disturbances, the candidate."""

    @property
    def is_whole(self) -> bool:
        """Nothing is left: all candidates behind the start were given out, beaten or refuted."""
        return not self._open

    def following(self, patience: int = PATIENCE) -> Child[S] | None:
        """The next complete candidate; None: there is none, or it is given up."""
        statistics = self._incumbent.statistics
        began = statistics.tried
        is_hasty = False
        while self._open:
            tried = statistics.tried - began
            if tried > 2 * patience:
                return None
            if tried > patience and not is_hasty:
                is_hasty = True
                self._open = [(-depth, key, draw, depth, shift, child) for key, _, draw, depth, shift, child in self._open]
                heapq.heapify(self._open)
            *_, depth, shift, child = heapq.heappop(self._open)
            if self._incumbent.is_beaten(child.bound):
                continue
            children = self._incumbent.children(child)
            if children is None:
                return child
            for made in children:
                shifted = shift - EAGERNESS
                if self._temperature and len(children) > 1:
                    shifted += self._temperature * math.log(max(self._chance.expovariate(1.0), _LEAST))
                key = math.log(max(self._guess(made), _LEAST)) + shifted
                place = (-depth - 1.0, key) if is_hasty else (key, 0.0)
                heapq.heappush(self._open, (*place, self._chance.random(), depth + 1, shifted, made))
        return None
