"""Loops in the forms in which people write them first; each has a bounded operator."""

# ruff: noqa: B905, RUF007, SIM110
# pyright: basic

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


def smallest_or_none(xs: list[int]):
    best = None
    for x in xs:
        if best is None or x < best:
            best = x
    return best


def largest_with_place(xs: list[int]):
    best = None
    where = None
    for i, x in enumerate(xs):
        if best is None or x > best:
            best, where = x, i
    return best, where


def contains_zero(xs: list[int]):
    found = False
    for x in xs:
        if x == 0:
            found = True
            break
    return found


def balanced(text: str):
    depth = 0
    for c in text:
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def is_sorted(xs: list[int]):
    for i in range(1, len(xs)):
        if xs[i] < xs[i - 1]:
            return False
    return True


def can_jump(jumps: list[int]):
    reach = 0
    for i, jump in enumerate(jumps):
        if i > reach:
            return False
        reach = max(reach, i + jump)
    return True


def mean(xs: list[float]):
    total = 0
    for x in xs:
        total += x
    return total / len(xs)


def vowels(text: str):
    count = 0
    for c in text.lower():
        if c in "aeiou":
            count += 1
    return count


def to_integer(text: str):
    value = 0
    for c in text:
        if c.isdigit():
            value = value * 10 + int(c)
    return value


def to_integer_by_code(text: str):
    value = 0
    for c in text:
        value = value * 10 + ord(c) - ord("0")
    return value


def words(text: str):
    count = 0
    inside = False
    for c in text:
        if c == " " or c == "\n":
            inside = False
        elif not inside:
            inside = True
            count += 1
    return count


def lower_case(text: str):
    count = 0
    for c in text:
        if "a" <= c <= "z":
            count += 1
    return count


def word_count_isspace(text: str):
    count, inside = 0, False
    for c in text:
        if c.isspace():
            inside = False
        else:
            count += not inside
            inside = True
    return count


ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(text: str):
    total = 0
    before = 0
    for c in text:
        value = ROMAN.get(c, 0)
        if value > before:
            total += value - 2 * before
        else:
            total += value
        before = value
    return total


def tallies(xs: list[int]):
    counts = {"negative": 0, "zero": 0, "positive": 0}
    for x in xs:
        if x < 0:
            counts["negative"] += 1
        elif x == 0:
            counts["zero"] += 1
        else:
            counts["positive"] += 1
    return counts["negative"], counts["zero"], counts["positive"]


@dataclass
class Range:
    low: float = float("inf")
    high: float = float("-inf")


def extent(xs: list[int]):
    seen = Range()
    for x in xs:
        seen.low = min(seen.low, x)
        seen.high = max(seen.high, x)
    return seen.high - seen.low if seen.high >= seen.low else 0


def sum_by_while(xs: list[int]):
    i = 0
    total = 0
    n = len(xs)
    while i < n:
        total += xs[i]
        i += 1
    return total


def running_greatest(xs: list[int]) -> Iterator[float]:
    best = float("-inf")
    for x in xs:
        best = max(best, x)
        yield best


def running_total(xs: list[int]):
    total = 0
    out = []
    for x in xs:
        total += x
        out.append(total)
    return out


def differences(xs: list[int]):
    before = 0
    for x in xs:
        yield x - before
        before = x


def changes(xs: list[int]):
    count = 0
    for a, b in zip(xs, xs[1:]):
        if a != b:
            count += 1
    return count


def run_count(xs: list[int]):
    before = None
    runs = 0
    for x in xs:
        if x != before:
            runs += 1
        before = x
    return runs


def longest_equal_run(xs: list[int]):
    if not xs:
        return 0
    best = run = 1
    for i in range(1, len(xs)):
        if xs[i] == xs[i - 1]:
            run += 1
            best = max(best, run)
        else:
            run = 1
    return best


def trapezoids(points: list[tuple[float, float]]):
    area = 0.0
    for i in range(1, len(points)):
        x0, y0 = points[i - 1]
        x1, y1 = points[i]
        area += (x1 - x0) * (y0 + y1) / 2
    return area


def numpy_extent(xs: list[float]):
    low = np.inf
    high = -np.inf
    for x in xs:
        low = np.minimum(low, x)
        high = np.maximum(high, x)
    return high, low


def state_tuple(xs: list[int]):
    state = (0, 0)
    for x in xs:
        total, best = state
        total += x
        state = (total, max(best, total))
    return state[1]


def first_repeat(xs: list[int]):
    before = None
    for i, x in enumerate(xs):
        if x == before:
            return i
        before = x
    return None


def positives_until_zero(xs: list[int]):
    total = 0
    for x in xs:
        if x == 0:
            break
        if x < 0:
            continue
        total += x
    return total


def alternating(xs: list[int]):
    total = 0
    for i, x in enumerate(xs):
        if i % 2 == 0:
            total += x
        else:
            total -= x
    return total


def seen_letters(text: str):
    seen = 0
    for c in text:
        seen |= 1 << (ord(c) - ord("a"))
    return seen
