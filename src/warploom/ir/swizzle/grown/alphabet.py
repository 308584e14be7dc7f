"""Every primitive on indices below n up to a price, as columns of numbers: evaluated thousands at a time.

Each moves one digit d = floor(x / unit) mod count of its index x: rot and fan to
(d * scale + floor(d / run) + k * turn + floor(k / period) + constant) mod count,
xor to d ^ (floor(k / period) mod mask) ^ constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle.functions import IntArray
from warploom.ir.swizzle.primitives import (
    Fan,
    Primitive,
    Rot,
    Window,
    Xor,
    core_cost,
    divide_cost,
    mask_range,
    scale_cost,
    window_cost,
    windowed,
)

NEVER = 255
"""A divisor that makes any quotient of indices and parameters 0; both are below it."""
PARAMETERS = 128
"""Indices and parameters are below this."""
USUAL = 64
"""Where indices and parameters are below this, all periods in 2..63 are offered, else all in 2..127."""
ROT, FAN, XOR = 0, 1, 2
Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
_TABLED = 1 << 21
"""Cells of a table of all primitives."""
_HALF = np.float32(0.5)


@dataclass(frozen=True, eq=False)
class Alphabet:
    """[primitives] columns; row 0 is the identity."""

    size: int
    kind: IntArray
    unit: IntArray
    count: IntArray
    scale: IntArray
    run: IntArray
    turn: IntArray
    period: IntArray
    constant: IntArray
    cost: IntArray
    """Cost for parameters in the range of the xors' masks; `masking` is what other parameters add."""
    window: IntArray
    """Number of the digit."""
    shared: IntArray
    """Cost that two sums on the same digit share."""
    takes_sum: IntArray
    """1 where it needs its digit mod count only."""
    gives_sum: IntArray
    """1 where it ends with a remainder."""

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def _factors(self) -> Floats:
        """[columns, primitives] for `image`; divisors beside their reciprocals."""
        columns = (self.unit, self.count, self.scale, self.turn, self.constant)
        return np.stack([*columns, *(1 / d for d in (self.unit, self.count, self.run, self.period))]).astype(np.float32)

    def image(self, rows: IntArray, index: Floats, parameter: Floats) -> Floats:
        """[rows, points]: where each primitive takes [rows or 1, points] indices.

        Whole numbers as floats, which divide faster: exact below 2**16 for divisors below 2**8.
        """
        unit, count, scale, turn, constant, per_unit, per_count, per_run, per_period = self._factors[:, rows, None]
        digit = np.floor((index + _HALF) * per_unit)
        digit -= np.floor((digit + _HALF) * per_count) * count
        quotient = np.floor((parameter + _HALF) * per_period)
        moved = digit * scale
        moved += np.floor((digit + _HALF) * per_run)
        moved += parameter * turn + (quotient + constant)
        moved -= np.floor((moved + _HALF) * per_count) * count
        masks = np.flatnonzero(self.kind[rows] == XOR)
        if len(masks):
            picked = rows[masks]
            low = (self.count[picked] & -self.count[picked])[:, None]
            flat = np.broadcast_to(quotient, moved.shape)[masks].astype(np.int64) & (low - 1)
            before = np.broadcast_to(digit, moved.shape)[masks].astype(np.int64)
            moved[masks] = before ^ flat ^ self.constant[picked][:, None]
        moved -= digit
        moved *= unit
        moved += index
        return moved

    def table(self, parameters: int) -> Bytes | None:
        """[primitives, parameters, size]: where each takes an index with each parameter below that; None if that is large."""
        if parameters not in self._tables:
            cells = len(self) * parameters * self.size
            self._tables[parameters] = self._tabled(parameters) if cells <= _TABLED else None
        return self._tables[parameters]

    @cached_property
    def _tables(self) -> dict[int, Bytes | None]:
        return {}

    def _tabled(self, parameters: int) -> Bytes:
        parameter, index = (grid.ravel().astype(np.float32)[None] for grid in np.indices((parameters, self.size)))
        images = self.image(np.arange(len(self)), index, parameter)
        return images.astype(np.uint8).reshape(len(self), parameters, self.size)

    def masking(self, parameters: int) -> IntArray:
        """[primitives] 1 where a xor must cut its parameter's quotient to the mask."""
        reach = (parameters - 1) // self.period
        return ((self.kind == XOR) & (reach >= (self.count & -self.count))).astype(np.int64)

    def valid(self, parameters: int) -> IntArray:
        """[primitives] 1 where its period can matter, so that it is no cheaper primitive in disguise."""
        return ((self.period == NEVER) | (self.period < parameters)).astype(np.int64)

    def primitive(self, row: int) -> Primitive:
        window = Window(self.size, int(self.unit[row]), int(self.count[row]))
        period = 0 if int(self.period[row]) == NEVER else int(self.period[row])
        count, constant = window.count, int(self.constant[row])
        match int(self.kind[row]):
            case 0:
                return windowed(Rot(count, int(self.turn[row]), period, constant), window)
            case 1:
                return windowed(Fan(count, int(self.scale[row])), window)
            case _:
                return windowed(Xor(count, period, constant), window)


def windows(size: int) -> list[Window]:
    """All digits of an index below `size`."""
    units = [u for u in range(1, size) if size % u == 0]
    return [Window(size, u, q) for u in units for q in range(2, size // u + 1) if size // u % q == 0]


def reach_of(*ranges: int) -> int:
    """The first period that is not offered for indices and parameters below these."""
    return USUAL if max(ranges) <= USUAL else PARAMETERS


@lru_cache(maxsize=4)
def alphabet(size: int, limit: int, reach: int = USUAL) -> Alphabet:
    """All primitives up to the cost `limit`, with periods below `reach`."""
    blocks = [identity_row(size)]
    for number, window in enumerate(windows(size)):
        blocks += [
            _rotations(window, number, limit, reach),
            _fans(window, number, limit),
            mask_rows(window, number, limit, reach),
        ]
    return Alphabet(size, *np.concatenate(blocks).T)


def identity_row(size: int) -> IntArray:
    """[1, columns of an alphabet]"""
    return np.array([[FAN, 1, size, 1, NEVER, 0, NEVER, 0, 0, -1, 0, 0, 0]], np.int64)


def _rotations(window: Window, number: int, limit: int, reach: int) -> IntArray:
    n = window.count
    turns = np.array([scale_cost(s, n, first=False) for s in range(n)])
    periods = np.array([NEVER, *range(2, reach)])
    floors = np.array([0, *(1 + divide_cost(p) for p in range(2, reach))])
    base = divide_cost(n) + window_cost(window)
    cost = turns[:, None, None] + floors[None, :, None] + (np.arange(n) > 0)[None, None, :] + base
    cost[0, 0, 0] = limit + 1
    turn, floor, constant = np.nonzero(cost <= limit)
    table = np.zeros((len(turn), 13), np.int64)
    table[:, :5] = ROT, window.unit, n, 1, NEVER
    table[:, 5], table[:, 6], table[:, 7], table[:, 8] = turn, periods[floor], constant, cost[turn, floor, constant]
    table[:, 9:] = number, base, 1, 1
    return table


def _fans(window: Window, number: int, limit: int) -> IntArray:
    n = window.count
    base = divide_cost(n) + window_cost(window)
    rows: list[tuple[int, ...]] = []
    for scale in range(2, n):
        cost = core_cost(Fan(n, scale), window, 1)
        shared = math.gcd(scale, n)
        if cost <= limit:
            run = n // shared if shared > 1 else NEVER
            rows.append((FAN, window.unit, n, scale, run, 0, NEVER, 0, cost, number, base, int(shared == 1), 1))
    return np.array(rows, np.int64).reshape(-1, 13)


def mask_rows(window: Window, number: int, limit: int, reach: int = USUAL) -> IntArray:
    """[xors, columns of an alphabet] on that digit, up to a cost."""
    n = window.count
    cores: list[Xor] = []
    if mask_range(n) > 1:
        cores += [Xor(n, period, 0) for period in range(1, reach)]
        if window.whole or window.unit & (window.unit - 1):  # else a mask of the whole index
            cores += [Xor(n, 0, constant) for constant in range(1, mask_range(n))]
    costs = [core_cost(core, window, 1) for core in cores]
    rows = [
        (XOR, window.unit, n, 1, NEVER, 0, core.period or NEVER, core.constant, cost, number, 0, 0, 0)
        for core, cost in zip(cores, costs, strict=True)
        if cost <= limit
    ]
    return np.array(rows, np.int64).reshape(-1, 13)
