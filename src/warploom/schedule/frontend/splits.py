"""Indices that are divided (`i // 2`, `i % 2`) at a size: one axis for each part, in which all of these are affine.

With i = 32 * a + b and b below 32, `i // 32` is a and `i % 32` is b. Where a sum is divided (`(i + 1) // 2`), the parts are those
of i + s with the least s for which everything is affine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warploom.core.linear import Linear, collected
from warploom.schedule.frontend.tree import Digit

MOST_POINTS = 4096
"""Longest period, in values of the index, after which the divided indices may repeat."""


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of an index, and what is affine in them."""

    sizes: tuple[tuple[str, int], ...]
    """Name of each axis of more than one iteration, outer to inner, and its size."""
    index: Linear[str]
    """The index itself."""
    digits: dict[Digit, Linear[str]]
    is_ragged: bool
    """There are points before the index's first value, or behind its last."""
    period: int


def split_of(name: str, size: int, digits: Iterable[Digit], taken: Sequence[str]) -> Split | None:
    """None where no parts make all of them affine. `taken`: names of other axes."""
    wanted = list(dict.fromkeys(digits))
    radices = sorted({d.divisor // math.gcd(d.scale, d.divisor) for d in wanted})
    if any(b % a for a, b in itertools.pairwise(radices)) or radices[-1] > MOST_POINTS:
        return None
    period = radices[-1]
    weights = list(dict.fromkeys((1, *radices)))
    for shift in range(period):
        found = [_affine(d, weights, shift) for d in wanted]
        if all(f is not None for f in found):
            return _made(name, size, shift, weights, {d: f for d, f in zip(wanted, found, strict=True) if f is not None}, taken)
    return None


def _affine(digit: Digit, weights: Sequence[int], shift: int) -> Linear[int] | None:
    """The digit over the parts with these weights; None where it is not affine in them."""
    base = digit.at(-shift)
    steps = {w: digit.at(w - shift) - base for w in weights}
    for x in range(weights[-1]):
        parts = ((x % upper) // w * steps[w] for w, upper in itertools.pairwise(weights))
        if digit.at(x - shift) != base + sum(parts):
            return None
    return Linear(tuple((w, s) for w, s in steps.items() if s), base)


def _made(
    name: str, size: int, shift: int, weights: Sequence[int], digits: dict[Digit, Linear[int]], taken: Sequence[str]
) -> Split:
    covered = size + shift
    uppers = [*weights[1:], covered * weights[-1]]
    counts = {w: min(-(-covered // w), upper // w) for w, upper in zip(weights, uppers, strict=True)}
    kept = [w for w in reversed(weights) if counts[w] > 1]
    names: dict[int, str] = {}
    for position, weight in enumerate(kept):
        own = name if position == 0 else f"{name}_by_{weight}"
        while own in taken or own in names.values():
            own += "_"
        names[weight] = own

    def over(sum_: Linear[int]) -> Linear[str]:
        return collected(((names[w], c) for w, c in sum_.terms if w in names), sum_.constant)

    reached = math.prod(counts.values())
    return Split(
        tuple((names[w], counts[w]) for w in kept),
        over(Linear(tuple((w, w) for w in weights), -shift)),
        {d: over(f) for d, f in digits.items()},
        shift > 0 or reached > size,
        weights[-1],
    )


def index_of_part(axis: str) -> str:
    """The index of which an axis of this name may be a part: `i` of `i_by_2`."""
    index, _, weight = axis.rstrip("_").rpartition("_by_")
    return index if weight.isdigit() else ""


def span_of(coefficient: int, digits: Sequence[tuple[Digit, int]], size: int, period: int) -> tuple[int, int]:
    """Least and greatest value of coefficient * i + sum of factor * digit over i from 0 to size - 1: at the points of the first
    or the last period, since from one period to the next it grows by the same."""
    points = sorted({*range(min(size, period)), *range(max(0, size - period), size)})
    values = [coefficient * i + sum(factor * digit.at(i) for digit, factor in digits) for i in points]
    return min(values), max(values)
