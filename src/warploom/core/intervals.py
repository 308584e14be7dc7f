"""Interval arithmetic: which integers an expression can be, given an interval for each of its parts.

Ends may be infinite. A result holds every value; where a method says so, it is the smallest interval that does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

Bound: TypeAlias = int | float
"""An integer, or plus or minus `math.inf`."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `low` to `high`, both included."""

    low: Bound
    high: Bound

    @property
    def is_finite(self) -> bool:
        return -math.inf < self.low and self.high < math.inf

    @property
    def only(self) -> int | None:
        """The single value, if there is just one."""
        return int(self.low) if self.low == self.high else None

    def holds(self, value: Bound) -> bool:
        return self.low <= value <= self.high

    def union(self, other: Interval) -> Interval:
        """The smallest interval around both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    # ------------------------------------------------------------ exact, where the operands do not depend on each other

    def plus(self, other: Interval) -> Interval:
        return Interval(_sum(self.low, other.low), _sum(self.high, other.high))

    def minus(self, other: Interval) -> Interval:
        return self.plus(other.scaled(-1))

    def times(self, other: Interval) -> Interval:
        corners = [_product(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    def scaled(self, factor: int) -> Interval:
        low, high = _product(factor, self.low), _product(factor, self.high)
        return Interval(low, high) if factor >= 0 else Interval(high, low)

    def least(self, other: Interval) -> Interval:
        """Values of `min`."""
        return Interval(min(self.low, other.low), min(self.high, other.high))

    def greatest(self, other: Interval) -> Interval:
        """Values of `max`."""
        return Interval(max(self.low, other.low), max(self.high, other.high))

    def floor_divided(self, other: Interval) -> Interval:
        """Quotients rounded down; anything where the divisor may be 0."""
        if other.holds(0):
            return ANYTHING
        corners = [_floor(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    # ------------------------------------------------------------ wider than need be

    def remainder(self, other: Interval) -> Interval:
        """Remainders that belong to the quotient rounded down: of the divisor's sign. Exact for one positive divisor."""
        if other.low > 0:
            n = other.only
            if n is not None and self.is_finite and self.low // n == self.high // n:
                return Interval(self.low % n, self.high % n)
            return Interval(0, min(other.high - 1, self.high) if self.low >= 0 else other.high - 1)
        return Interval(other.low + 1, 0) if other.high < 0 else ANYTHING

    def shifted_left(self, by: Interval) -> Interval:
        return self.times(_powers(by)) if by.is_finite and by.low >= 0 else ANYTHING

    def shifted_right(self, by: Interval) -> Interval:
        return self.floor_divided(_powers(by)) if by.is_finite and by.low >= 0 else ANYTHING

    def bits_of_both(self, other: Interval) -> Interval:
        """Values of `&`."""
        if self.low >= 0 and other.low >= 0:
            return Interval(0, min(self.high, other.high))
        return Interval(0, other.high) if other.low >= 0 else Interval(0, self.high) if self.low >= 0 else ANYTHING

    def bits_of_either(self, other: Interval) -> Interval:
        """Values of `|` and `^`."""
        if min(self.low, other.low) < 0:
            return ANYTHING
        top = max(self.high, other.high)
        return NATURAL if _is_endless(top) else Interval(0, (1 << int(top).bit_length()) - 1)


ANYTHING = Interval(-math.inf, math.inf)
NATURAL = Interval(0, math.inf)
TRUTH = Interval(0, 1)


def only(value: int) -> Interval:
    """The interval of one value."""
    return Interval(value, value)


def _powers(by: Interval) -> Interval:
    return Interval(1 << int(by.low), 1 << int(by.high))


def _is_endless(bound: Bound) -> bool:
    return bound in (math.inf, -math.inf)


def _sum(a: Bound, b: Bound) -> Bound:
    """The sum of two ends on the same side, which are never opposite infinities; integers of any size."""
    return a if _is_endless(a) else b if _is_endless(b) else a + b


def _product(a: Bound, b: Bound) -> Bound:
    if a == 0 or b == 0:
        return 0
    return (math.inf if (a > 0) == (b > 0) else -math.inf) if _is_endless(a) or _is_endless(b) else a * b


def _floor(a: Bound, b: Bound) -> Bound:
    """a // b for b != 0; a quotient by an infinite divisor is 0 or -1."""
    if _is_endless(b):
        return 0 if a == 0 or (a > 0) == (b > 0) else -1
    return (a if b > 0 else -a) if _is_endless(a) else a // b
