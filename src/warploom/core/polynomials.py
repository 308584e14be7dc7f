"""Polynomials over the names of sizes, with rational coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Monomial: TypeAlias = tuple[str, ...]
"""Sizes multiplied together, sorted, one name as often as its power; () is 1."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """Sum of coefficient * product of sizes; two are equal as polynomials exactly when they are equal as values."""

    terms: tuple[tuple[Monomial, Fraction], ...]
    """Sorted, no coefficient 0."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for monomial, _ in self.terms for name in monomial))

    @property
    def is_constant(self) -> bool:
        return not any(monomial for monomial, _ in self.terms)

    @property
    def constant(self) -> Fraction:
        """The summand without a size."""
        return self.terms[0][1] if self.terms and not self.terms[0][0] else Fraction(0)

    @property
    def is_natural(self) -> bool:
        """Whether no coefficient is negative, so that the value never is."""
        return all(c >= 0 for _, c in self.terms)

    @property
    def is_never_negative(self) -> bool:
        """Whether that is plain for all sizes of 1 or more; False may also mean that it is not plain."""
        return all(c >= 0 for m, c in self.terms if m) and sum(c for _, c in self.terms) >= 0

    def plus(self, other: Polynomial, factor: Fraction | int = 1) -> Polynomial:
        """`self + factor * other`."""
        return polynomial((*self.terms, *((m, c * factor) for m, c in other.terms)))

    def times(self, other: Polynomial) -> Polynomial:
        return polynomial((tuple(sorted(m + n)), c * d) for m, c in self.terms for n, d in other.terms)

    def scaled(self, factor: Fraction | int) -> Polynomial:
        return polynomial((m, c * factor) for m, c in self.terms)

    def above(self, other: Polynomial) -> Polynomial:
        """A polynomial that is nowhere below either of the two at natural sizes."""
        ours, theirs = dict(self.terms), dict(other.terms)
        zero = Fraction(0)
        return polynomial((m, max(ours.get(m, zero), theirs.get(m, zero))) for m in {**ours, **theirs})

    def at(self, sizes: Mapping[str, int]) -> Fraction:
        """The value. KeyError if a size is missing."""
        total = Fraction(0)
        for monomial, coefficient in self.terms:
            for name in monomial:
                coefficient *= sizes[name]
            total += coefficient
        return total

    def whole_at(self, sizes: Mapping[str, int]) -> int:
        """The value of a polynomial with whole coefficients."""
        return int(self.at(sizes))

    def __str__(self) -> str:
        """`h*w + 31*h - 7`."""
        text = ""
        for monomial, coefficient in sorted(self.terms, key=lambda t: (-len(t[0]), t[0])):
            size = abs(coefficient)
            part = "*".join([*([str(size)] if size != 1 or not monomial else []), *monomial])
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {part}" if text else f"-{part}" if coefficient < 0 else part
        return text or "0"


def polynomial(terms: Iterable[tuple[Monomial, Fraction]]) -> Polynomial:
    """The sum of terms in which a monomial may stand several times, or with 0."""
    total: dict[Monomial, Fraction] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return Polynomial(tuple(sorted((m, c) for m, c in total.items() if c)))


def number(value: int | Fraction) -> Polynomial:
    return polynomial([((), Fraction(value))])


def size(name: str) -> Polynomial:
    return Polynomial((((name,), Fraction(1)),))
