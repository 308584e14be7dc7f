"""Divisions by constants as fused steps, which give every number, infinity and NaN that a division gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warploom.core import DType

_LOWEST = -float(2**128 - 2**104)
_MOST_DIVISOR = 1 << 22


def is_divisor(dtype: DType, number: float) -> bool:
    """Whether `division_steps` are those of a division by `number`.

    With u the last place of a / d, the first quotient is off by less than 1.5 u, so that the excess is a whole number of u below
    2^24 and thus exact. The sum before the last rounding is off by less than 1.5 u / 2^24. With an odd d no a / d lies nearer to
    the middle of two floats than u / 2d; with an even d a subnormal quotient may be such a middle.
    """
    return dtype.name == "f32" and number % 2 == 1 and 1 < number <= _MOST_DIVISOR


@dataclass(frozen=True, slots=True)
class FloatType:
    """Names of a C type of f32, one or several, and of the functions on it that `division_steps` calls."""

    name: str
    product: str
    """x * y, rounded: no later sum takes it up."""
    fused: str
    """x * y + z, rounded once."""
    most: str
    """The greater of two; the second where the first is NaN."""
    constant: Callable[[float], str]
    """The text of a number."""


def division_steps(floats: FloatType, divisor: int) -> tuple[str, ...]:
    """Statements of a function of `a` that returns the float nearest to a / `divisor`, for every a.

    Source: Markstein 1990, for what is left of a after a first quotient, which is a float; infinities leave no number.
    """
    by, share, lowest = (floats.constant(number) for number in (divisor, 1 / divisor, _LOWEST))
    return (
        f"const {floats.name} q = {floats.product}(a, {share});",
        f"const {floats.name} excess = {floats.most}({floats.fused}(q, {by}, -a), {lowest});",
        f"return {floats.fused}(-excess, {share}, q);",
    )
