"""Models over plain finite domains: named choices, propagators as functions, a cost bound. For problems that need no more."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from warploom.solve.model import Alternative, Cost

V = TypeVar("V", bound=Hashable)
Domains = Mapping[str, tuple[V, ...]]
Propagator = Callable[[Domains[V]], Domains[V] | None]
"""Returns the domains with impossible alternatives removed (the same object if nothing changed), or None for a conflict."""


@dataclass(frozen=True)
class FiniteModel(Generic[V]):
    """Choices by name; propagators run to a fixed point after every decision."""

    domains: Domains[V]
    propagators: tuple[Propagator[V], ...]
    cost_bound: Callable[[Domains[V]], Cost]
    """A lower bound on the cost of every completion; exact when every domain has one alternative."""

    def root(self) -> Domains[V] | None:
        return self._propagated(self.domains)

    def open_choices(self, candidate: Domains[V]) -> Sequence[tuple[int, int]]:
        return [(n, len(alternatives)) for n, alternatives in enumerate(candidate.values()) if len(alternatives) > 1]

    def alternatives(self, candidate: Domains[V], choice: int) -> Iterator[Alternative[Domains[V]]]:
        name = list(candidate)[choice]
        decided = [{**candidate, name: (value,)} for value in candidate[name]]
        for domains in sorted(decided, key=self.cost_bound):
            yield Alternative(self.cost_bound(domains), partial(self._propagated, domains), domains[name][0])

    def bound(self, candidate: Domains[V]) -> Cost:
        return self.cost_bound(candidate)

    def answer(self, candidate: Domains[V]) -> tuple[Cost, dict[str, V]] | None:
        return self.cost_bound(candidate), {name: alternatives[0] for name, alternatives in candidate.items()}

    def _propagated(self, domains: Domains[V]) -> Domains[V] | None:
        changed = True
        while changed:
            changed = False
            for propagator in self.propagators:
                narrowed = propagator(domains)
                if narrowed is None or not all(narrowed.values()):
                    return None
                if narrowed is not domains:
                    domains, changed = narrowed, True
        return domains
