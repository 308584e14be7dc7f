"""Loops that tests call with arrays."""

from __future__ import annotations

from typing import Literal


def sums(xs: list[int]):
    out = []
    s = 0
    for x in xs:
        s += x
        out.append(s)
    return out


def best(xs: list[int]):
    most = s = 0
    for x in xs:
        s = max(s + x, 0)
        most = max(most, s)
    return most


def least_first(xs: list[int]):
    last, least = 0, float("inf")
    for x in xs:
        if x < 3:
            least = min(least, x)
        last = x
    return last, least


def smoothed(xs: list[float]):
    out = []
    s = 0.0
    for x in xs:
        s = 0.9 * s + x
        out.append(s)
    return out


def most(xs: list[float]):
    m = xs[0]
    for x in xs[1:]:
        m = max(m, x)
    return m


def words(text: str):
    n, inside = 0, False
    for c in text:
        if c == " ":
            inside = False
        elif not inside:
            inside = True
            n += 1
    return n


def letters(text: str):
    n = 0
    for c in text:
        if c.isupper() or c.isdigit():
            n += 1
    return n


def segments(pairs: list[tuple[int, bool]]):
    out = []
    s = 0
    for v, begins in pairs:
        s = v if begins else s + v
        out.append(s)
    return out


def beyond(xs: list[int], k: int):
    n = 0
    for x in xs:
        if x * k > k:
            n += x * k
    return n


def positive(xs: list[int], ys: list[int]):
    n = 0
    for x, y in zip(xs, ys, strict=True):
        assert x > 0
        n = max(n + x, y)
    return n


def listed(xs: list[Literal[-1, 0, 1]]):
    n = 0
    for x in xs:
        n += x
    return n


def squared(xs: list[int]):
    s = 0
    for x in xs:
        s = s * s + x
    return s


def widest_gap_and_sum(xs: list[int]):
    """Places of zeros may be infinite in parts without one."""
    best, last, s = 0, -1, 0
    for i, x in enumerate(xs):
        s += x
        if x == 0:
            if last >= 0:
                best = max(best, i - last)
            last = i
    return best + s


def two_constants(xs: list[int]):
    s = 0
    for x in xs:
        s += (2**62 if x > 0 else 0) + (2**62 if x > 1 else 0)
    return s


def asserted_square(xs: list[int]):
    s = 0
    for x in xs:
        assert x * x >= 9
        s = 2 * s + x
    return s


def crc8(bits: list[bool]):
    state = 0
    for bit in bits:
        top = state >> 7 & 1
        state = state << 1 & 255
        if top != bit:
            state = state ^ 7
    return state


def decayed(starts: list[int]):
    here = 0
    for start in starts:
        here = max(start, here - 2)
    return here
