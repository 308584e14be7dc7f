"""Parameter-dependent primitives of one digit, after a coprime fan of the digit: the pivots of the second stage.

rot after fan is (d * cf + k * cr + floor(k / dr)) mod count. No constants: outside they rename the middle positions only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from warploom.ir.swizzle import IntArray, Window, divide_cost, scale_cost, window_cost
from warploom.ir.swizzle.grown import NEVER, ROT, USUAL, Alphabet, identity_row, mask_rows, reach_of, windows


@dataclass(frozen=True, eq=False)
class Pivots:
    """[pivots] letters of an alphabet of their own, cheapest first; the identity is one."""

    letters: Alphabet
    rows: IntArray
    costs: IntArray

    def image(self, which: IntArray, index: IntArray, parameter: IntArray) -> IntArray:
        points = index.astype(np.float32), parameter.astype(np.float32)
        return self.letters.image(self.rows[which], *points).astype(np.int64)


@lru_cache(maxsize=4)
def pivots(size: int, parameters: int) -> Pivots:
    """Pivots whose period can matter for parameters below `parameters`."""
    letters = _letters(size, 0 if reach_of(size, parameters) == USUAL else parameters)
    rows = np.flatnonzero(letters.valid(parameters))
    costs = letters.cost[rows] + letters.masking(parameters)[rows]
    order = np.argsort(costs, kind="stable")
    return Pivots(letters, rows[order], costs[order])


@lru_cache(maxsize=4)
def _letters(size: int, parameters: int) -> Alphabet:
    """An alphabet with all periods; past the usual range, where `parameters` is given, with those that divide it or a digit's
    values."""
    reach = reach_of(size, parameters)
    blocks = [identity_row(size)]
    for number, window in enumerate(windows(size)):
        masks = mask_rows(window, number, _ANY, reach)
        periods = [p for p in range(2, reach) if not parameters or parameters % p == 0 or window.count % p == 0]
        blocks += [_turned_fans(window, number, periods), masks[masks[:, 6] != NEVER]]
    return Alphabet(size, *np.concatenate(blocks).T)


_ANY = 1 << 10


def _turned_fans(window: Window, number: int, offered: Sequence[int]) -> IntArray:
    n = window.count
    scales = np.array([s for s in range(1, n) if math.gcd(s, n) == 1])
    scaled = np.array([scale_cost(int(s), n, first=True) for s in scales])
    turned = np.array([scale_cost(s, n, first=False) for s in range(n)])
    periods = np.array([NEVER, *offered])
    floors = np.array([0, *(1 + divide_cost(p) for p in offered)])
    base = divide_cost(n) + window_cost(window)
    grid = np.meshgrid(np.arange(len(scales)), np.arange(n), np.arange(len(periods)), indexing="ij")
    scale, turn, floor = (axis.reshape(-1)[1:] for axis in grid)
    used = (turn > 0) | (floor > 0)
    scale, turn, floor = scale[used], turn[used], floor[used]
    table = np.zeros((len(scale), 13), np.int64)
    table[:, :3] = ROT, window.unit, n
    table[:, 3], table[:, 4], table[:, 5], table[:, 6] = scales[scale], NEVER, turn, periods[floor]
    table[:, 8] = base + scaled[scale] + turned[turn] + floors[floor]
    table[:, 9] = number
    return table
