"""Linear sums: `3*lane + k - 1` as integer coefficients of atoms, and a constant.

An atom is whatever a user of this module adds up: a name, the number of a loop, an expression that is not linear itself. Nothing
is asked of it but that it can be hashed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from warploom.core.intervals import Interval, only

A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Linear(Generic[A]):
    """Sum of coefficient * atom, plus `constant`. Two sums are equal exactly when they have the same value for all atoms.

    Written out by hand, each atom stands once and no coefficient is 0; `collected` takes any terms.
    """

    terms: tuple[tuple[A, int], ...] = ()
    """In the order in which the atoms first appeared; equality does not look at it."""
    constant: int = 0
    _hash: int | None = field(default=None, init=False, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Linear):
            return NotImplemented
        if self.constant != other.constant or len(self.terms) != len(other.terms):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            return False
        return self.terms == other.terms or dict(self.terms) == dict(other.terms)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((frozenset(self.terms), self.constant)))
        return self._hash or 0

    def __reduce__(self) -> tuple[object, ...]:
        return Linear, (self.terms, self.constant)  # hashes of names differ between processes

    def __str__(self) -> str:
        """`2*m - n + 3`, by the text of the atoms."""
        named = sorted((str(atom), c) for atom, c in self.terms)
        parts = [name if c == 1 else f"-{name}" if c == -1 else f"{c}*{name}" for name, c in named]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")

    # ------------------------------------------------------------ parts

    def coefficient(self, atom: A) -> int:
        return next((c for a, c in self.terms if a == atom), 0)

    @property
    def divisor(self) -> int:
        """The greatest number that divides the constant and all coefficients; 0 of 0."""
        return math.gcd(self.constant, *(c for _, c in self.terms))

    def only(self, atoms: Collection[A]) -> Linear[A]:
        """The terms over these atoms, without the constant."""
        return Linear(tuple(t for t in self.terms if t[0] in atoms), 0)

    def without(self, atoms: Collection[A]) -> Linear[A]:
        """The constant, and the terms over other atoms."""
        return Linear(tuple(t for t in self.terms if t[0] not in atoms), self.constant)

    # ------------------------------------------------------------ arithmetic

    def plus(self, other: Linear[A], factor: int = 1) -> Linear[A]:
        """`self + factor * other`."""
        constant = self.constant + factor * other.constant
        if not other.terms or not factor:
            return Linear(self.terms, constant)
        if not self.terms:
            return Linear(other.terms if factor == 1 else tuple((a, c * factor) for a, c in other.terms), constant)
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + factor * coefficient
        return Linear(_kept(total), constant)

    def scaled(self, factor: int) -> Linear[A]:
        return Linear(tuple((a, c * factor) for a, c in self.terms) if factor else (), self.constant * factor)

    def shifted(self, amount: int) -> Linear[A]:
        return Linear(self.terms, self.constant + amount)

    def divided(self, by: int) -> Linear[A] | None:
        """The exact quotient; None where a coefficient or the constant leaves a remainder."""
        if self.constant % by or any(c % by for _, c in self.terms):
            return None
        return Linear(tuple((a, c // by) for a, c in self.terms), self.constant // by)

    def substituted(self, values: Mapping[A, Linear[A]]) -> Linear[A]:
        """Atoms replaced by sums, all at once; those that have no value stay."""
        total: dict[A, int] = {}
        constant = self.constant
        for atom, coefficient in self.terms:
            value = values.get(atom)
            if value is None:
                total[atom] = total.get(atom, 0) + coefficient
                continue
            constant += coefficient * value.constant
            for inner, factor in value.terms:
                total[inner] = total.get(inner, 0) + coefficient * factor
        return Linear(_kept(total), constant)

    def renamed(self, name: Callable[[A], B]) -> Linear[B]:
        """The sum over other atoms; those that become one are collected."""
        return collected(((name(a), c) for a, c in self.terms), self.constant)

    # ------------------------------------------------------------ values

    def at(self, values: Mapping[A, int]) -> int:
        """The value. KeyError if that of an atom is missing."""
        return self.constant + sum(c * values[a] for a, c in self.terms)

    def bounds(self, ranges: Callable[[A], Interval]) -> Interval:
        """The smallest interval that holds every value, where the atoms do not depend on each other."""
        total = only(self.constant)
        for atom, coefficient in self.terms:
            total = total.plus(ranges(atom).scaled(coefficient))
        return total

    def span(self, most: Callable[[A], int]) -> tuple[int, int]:
        """Least and greatest value, where each atom runs from 0 to `most` of it."""
        low = high = self.constant
        for atom, coefficient in self.terms:
            reach = coefficient * most(atom)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high


def collected(terms: Iterable[tuple[A, int]], constant: int = 0) -> Linear[A]:
    """The sum of terms in which an atom may stand several times, or with 0."""
    total: dict[A, int] = {}
    for atom, coefficient in terms:
        total[atom] = total.get(atom, 0) + coefficient
    return Linear(_kept(total), constant)


def _kept(total: Mapping[A, int]) -> tuple[tuple[A, int], ...]:
    return tuple((a, c) for a, c in total.items() if c)


def variable(atom: A) -> Linear[A]:
    """The sum that is one atom."""
    return Linear(((atom, 1),), 0)
