"""Small search trees that are known whole: random ones, and one that looks like a kernel's space."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product

from warploom.solve import Alternative, Cost

Path = tuple[int, ...]


@dataclass
class RandomTree:
    """Candidates are paths. Some nodes are refuted, some leaves are no answers; bounds are a share of the true minimum."""

    seed: int
    depth: int = 6
    branching: int = 3
    refuted: float = 0.15
    tightness: float = 0.8
    interrupt_at: int = 0
    answered: list[Path] = field(default_factory=list)

    def chance(self, path: Path, what: str) -> float:
        return random.Random(f"{self.seed}/{path}/{what}").random()

    def is_leaf(self, path: Path) -> bool:
        return len(path) == self.depth or (len(path) > 2 and self.chance(path, "leaf") < 0.1)

    @cached_property
    def costs(self) -> dict[Path, int | None]:
        """The true minimum behind every candidate that propagation does not refute; None: no answer."""
        costs: dict[Path, int | None] = {}

        def walk(path: Path) -> int | None:
            if self.is_leaf(path):
                costs[path] = None if self.chance(path, "answer") < 0.1 else 1000 + int(9000 * self.chance(path, "cost"))
            else:
                below = [walk((*path, n)) for n in range(self.width(path)) if self.is_valid((*path, n))]
                costs[path] = min((c for c in below if c is not None), default=None)
            return costs[path]

        walk(())
        return costs

    @property
    def leaves(self) -> list[Path]:
        return [p for p in self.costs if self.is_leaf(p)]

    @property
    def dead_ends(self) -> list[Path]:
        return [p for p in self.costs if not self.is_leaf(p) and not any((*p, n) in self.costs for n in range(self.width(p)))]

    def width(self, path: Path) -> int:
        return 2 + int(self.chance(path, "width") * (self.branching - 1))

    def is_valid(self, path: Path) -> bool:
        return self.chance(path, "valid") >= self.refuted

    def root(self) -> Path:
        return ()

    def open_choices(self, candidate: Path) -> list[tuple[int, int]]:
        return [] if self.is_leaf(candidate) else [(len(candidate), self.width(candidate))]

    def alternatives(self, candidate: Path, choice: int) -> Iterator[Alternative[Path]]:
        for n in range(self.width(candidate)):
            child = (*candidate, n)
            yield Alternative((0,), lambda child=child: child if self.is_valid(child) else None, n)

    def bound(self, candidate: Path) -> Cost:
        cost = self.costs[candidate]
        return (int((10_000 if cost is None else cost) * self.tightness),)

    def answer(self, candidate: Path) -> tuple[Cost, Path] | None:
        self.answered.append(candidate)
        if len(self.answered) == self.interrupt_at:
            raise KeyboardInterrupt
        cost = self.costs[candidate]
        return None if cost is None else ((cost,), candidate)


SIZES = (1, 2, 4, 8, 16, 32)
KINDS = ("loop", "unroll", "vector")


@cache
def _surprise(name: str) -> float:
    return random.Random(name).random() ** 3


@dataclass(frozen=True)
class Tiling:
    """Candidates are tuples of decided values: six tile sizes, then three kinds. The model knows traffic and idle lanes; the true
    time has what it does not know, products of pairs of decisions. `duplicates`: a last decision that changes nothing."""

    duplicates: int = 2
    roughness: float = 0.25

    @property
    def domains(self) -> list[tuple[object, ...]]:
        return [*([SIZES] * 6), *([KINDS] * 3), tuple(range(self.duplicates))]

    def root(self) -> tuple[object, ...]:
        return ()

    def open_choices(self, candidate: tuple[object, ...]) -> list[tuple[int, int]]:
        n = len(candidate)
        return [] if n == len(self.domains) else [(n, len(self.domains[n]))]

    def alternatives(self, candidate: tuple[object, ...], choice: int) -> Iterator[Alternative[tuple[object, ...]]]:
        for value in self.domains[choice]:
            yield Alternative((0,), lambda value=value: self.fits((*candidate, value)), value)

    def fits(self, candidate: tuple[object, ...]) -> tuple[object, ...] | None:
        sizes = [s for s in candidate[:6] if isinstance(s, int)]
        return candidate if math.prod(sizes) <= 4096 else None

    def bound(self, candidate: tuple[object, ...]) -> Cost:
        return (int(1e6 * self.model(candidate)),)

    def model(self, candidate: tuple[object, ...]) -> float:
        sizes = [*candidate[:6], *([32] * 6)][:6]
        m, n, k = (int(str(sizes[i])) * int(str(sizes[i + 3])) for i in range(3))
        traffic = 1 / min(m, 64) + 1 / min(n, 64) + 0.1 / min(k, 64)
        kinds = candidate[6:9]
        lanes = 1.0 if len(kinds) < 3 or "vector" in kinds else 2.5
        return (1.0 + 4 * traffic) * lanes

    def answer(self, candidate: tuple[object, ...]) -> tuple[Cost, tuple[object, ...]] | None:
        return self.bound(candidate), candidate[:9]

    def value(self, leaf: tuple[object, ...], choice: int) -> object:
        return leaf[choice]

    def time(self, answer: tuple[object, ...]) -> Cost:
        factor = 1.0
        for i, j in product(range(9), repeat=2):
            if i < j:
                factor *= 1 + self.roughness * _surprise(f"{i}{j}{answer[i]}{answer[j]}")
        return (int(1e6 * self.model(answer) * factor),)
