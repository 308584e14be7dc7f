"""Sizes of arrays: polynomials with integer coefficients over the names of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Monomial: TypeAlias = tuple[str, ...]
"""Names multiplied together, sorted; () is 1."""


@dataclass(frozen=True, slots=True)
class SizeSum:
    """sum of coefficient * monomial; equal as polynomials exactly when equal as values of this class."""

    terms: tuple[tuple[Monomial, int], ...]
    """Sorted, no coefficient 0."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for monomial, _ in self.terms for name in monomial))

    @property
    def constant(self) -> int | None:
        """The value, if no name occurs."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[0][0] == () and len(self.terms) == 1 else None

    def at(self, sizes: Mapping[str, int]) -> int:
        """The value. KeyError if a size is missing."""
        total = 0
        for monomial, coefficient in self.terms:
            for name in monomial:
                coefficient *= sizes[name]
            total += coefficient
        return total

    @property
    def is_never_negative(self) -> bool:
        """Whether that is plain for all sizes of 1 or more; False may also mean that it is not plain."""
        return all(c >= 0 for m, c in self.terms if m) and sum(c for _, c in self.terms) >= 0

    def __add__(self, other: SizeSum) -> SizeSum:
        return _collected((*self.terms, *other.terms))

    def __sub__(self, other: SizeSum) -> SizeSum:
        return _collected((*self.terms, *((m, -c) for m, c in other.terms)))

    def __mul__(self, other: SizeSum) -> SizeSum:
        return _collected((tuple(sorted((*m, *n))), c * d) for m, c in self.terms for n, d in other.terms)

    def __str__(self) -> str:
        words: list[str] = []
        for monomial, coefficient in sorted(self.terms, key=lambda t: (-len(t[0]), t[0])):
            factors = [*([str(abs(coefficient))] if abs(coefficient) != 1 or not monomial else []), *monomial]
            sign = "-" if coefficient < 0 else "+" if words else ""
            words.append(f"{sign} {'*'.join(factors)}" if words else sign + "*".join(factors))
        return " ".join(words) or "0"


def size_constant(value: int) -> SizeSum:
    return _collected((((), value),))


def size_name(name: str) -> SizeSum:
    return SizeSum((((name,), 1),))


def _collected(terms: Iterable[tuple[Monomial, int]]) -> SizeSum:
    totals: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        totals[monomial] = totals.get(monomial, 0) + coefficient
    return SizeSum(tuple(sorted((m, c) for m, c in totals.items() if c)))
