"""The parameters of `xforms` as pairs of a fan (depends on i) and a rotation (depends on k).

    value(i, k) = (fan(i) + rot(k)) mod g + floor(i/g)*g
    fan(i) = (cf*(i mod g) + floor((i mod g)/df)) mod g          rot(k) = (cr*k + floor(k/dr)) mod g, or mod gcd(g, cf)

rot(0) = fan(0) = 0, so the values at k = 0 and at i = 0 tell both apart: only pairs that agree there are compared in full, and
only one large table, that of the distinct functions, is ever built.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.cost import DIVISION_COST, MULTIPLY_COST, is_power_of_two
from warploom.ir.swizzle import IntArray, Tables, distinct, row_hashes

ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """All pairs of one g and one gcd(g, cf), numbered row-major from `start` on."""

    start: int
    group: int
    fans: Tables
    """[fans, i]"""
    rotations: Tables
    """[rotations, k], distinct."""
    scales: IntArray
    """[fans] cf."""
    settings: IntArray
    """[rotations, (cr, dr, wrap, cost)]"""


class XformTemplate:
    """Every setting of the parameters for i below `i_extent` and k below `k_extent`, numbered."""

    def __init__(self, n: int, i_extent: int, k_extent: int, *, is_grouped: bool) -> None:
        self._n = n
        self._i: IntArray = np.arange(i_extent, dtype=np.int64)
        self._k: IntArray = np.arange(k_extent, dtype=np.int64)
        self._periods = [d for d in divisors(k_extent) if d > 1]
        self._blocks: list[_Block] = []
        costs = [np.zeros(0, np.int64)]
        for g in [g for g in divisors(n) if g > 1] if is_grouped and n > 1 else [n]:
            for step in divisors(g):
                block, cost = self._block(sum(len(c) for c in costs), g, step, wrap=is_grouped)
                self._blocks.append(block)
                costs.append(cost)
        self.costs: IntArray = np.concatenate(costs)
        """[settings]"""

    def _block(self, start: int, g: int, step: int, *, wrap: bool) -> tuple[_Block, IntArray]:
        # All cf with gcd(g, cf) = step share df and the rotations.
        scales: IntArray = np.array([cf for cf in range(g) if gcd(g, cf) == step], np.int64)
        local = self._i % g
        fans = ((scales[:, None] * local + local // (g // step)) % g).astype(np.int16)
        costs = np.array([_scale_cost(int(s), g) for s in scales]) + modulo_cost(g)
        costs += 2 * modulo_cost(g) + 1 if g < self._n else 0
        costs += 1 + modulo_cost(g // step) if 1 < step < g else 0
        rotations, settings = self._rotations(g, step, wrap=wrap)
        return _Block(start, g, fans, rotations, _signed(scales, g), settings), (costs[:, None] + settings[:, 3]).ravel()

    def _rotations(self, g: int, step: int, *, wrap: bool) -> tuple[Tables, IntArray]:
        """[rotations, k] amounts below g, distinct; and (cr, dr, wrap, cost) of the cheapest of each."""
        tables: list[IntArray] = []
        settings: list[IntArray] = []
        periods = np.array(self._periods, np.int64)
        division = np.array([0 if d == len(self._k) else 1 + modulo_cost(d) for d in self._periods], np.int64)
        for modulus in (g, step) if wrap and step < g else (g,):
            cr, dr = (part.ravel() for part in np.meshgrid(np.arange(modulus), periods, indexing="ij"))
            tables.append((cr[:, None] * self._k + self._k // dr[:, None]) % modulus)
            cost = np.array([_joined_cost(int(c), modulus) for c in range(modulus)], np.int64)[:, None] + division
            wrapped = np.full(len(cr), int(modulus < g), np.int64)
            settings.append(np.stack([_signed(cr, modulus), dr, wrapped, cost.ravel() + wrapped * modulo_cost(step)], axis=1))
        stacked, all_settings = np.concatenate(tables).astype(np.int16), np.concatenate(settings)
        keep = distinct(stacked, all_settings[:, 3])
        return stacked[keep], all_settings[keep]

    def distinct(self) -> IntArray:
        """Numbers of one cheapest setting for each function, cheapest first."""
        order: IntArray = np.argsort(self.costs, kind="stable")
        _, first, group, count = np.unique(self._hashes()[order], return_index=True, return_inverse=True, return_counts=True)
        keep = np.zeros(len(order), np.bool_)
        keep[first[count == 1]] = True
        unsure = np.flatnonzero(count[group] > 1)
        table: Tables = np.empty((len(unsure), len(self._i) * len(self._k)), np.int16)
        self.tabulate(order[unsure], table)
        keep[unsure[distinct(table, np.arange(len(unsure), dtype=np.int64))]] = True
        return order[keep]

    def _hashes(self) -> NDArray[np.uint64]:
        """[settings]: of the values at k = 0 and at i = 0."""
        parts: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
        for block in self._blocks:
            along_i = row_hashes(block.fans + self._start(block.group))
            # Any odd factor keeps the two sums apart.
            along_k = row_hashes(block.rotations) * np.uint64(0x9E3779B97F4A7C15)
            parts.append((along_i[:, None] + along_k).ravel())
        return np.concatenate(parts)

    def _start(self, group: int) -> Tables:
        return (self._i - self._i % group).astype(np.int16)

    def tabulate(self, numbers: IntArray, out: Tables) -> None:
        """Write the functions of the settings `numbers` into `out` ([numbers, i * k])."""
        for block in self._blocks:
            end = block.start + len(block.fans) * len(block.rotations)
            rows = np.flatnonzero((numbers >= block.start) & (numbers < end))
            start = self._start(block.group)[:, None]
            for first in range(0, len(rows), ROWS_AT_ONCE):
                chunk = rows[first : first + ROWS_AT_ONCE]
                fan, rotation = np.divmod(numbers[chunk] - block.start, len(block.rotations))
                values = block.fans[fan][:, :, None] + block.rotations[rotation][:, None, :]
                values -= np.int16(block.group) * (values >= block.group)
                values += start
                out[chunk] = values.reshape(len(chunk), -1)

    def parameters(self, number: int) -> tuple[int, int, int, int, bool]:
        """g, cf, cr, dr, wrap with cf and cr as printed: between -g/2 and g/2."""
        block = next(b for b in reversed(self._blocks) if b.start <= number)
        fan, rotation = divmod(number - block.start, len(block.rotations))
        cr, dr, wrap, _ = (int(v) for v in block.settings[rotation])
        return block.group, int(block.scales[fan]), cr, dr, bool(wrap)


def _signed(value: IntArray, modulus: int) -> IntArray:
    return np.where(value <= modulus // 2, value, value - modulus)


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def modulo_cost(n: int) -> int:
    return 1 if is_power_of_two(n) else DIVISION_COST


def _scale_cost(scale: int, modulus: int) -> int:
    """Cost of `scale * variable` mod `modulus`."""
    signed = scale if scale <= modulus // 2 else scale - modulus
    if signed in (0, 1):
        return 0
    return 1 if abs(signed) == 1 or is_power_of_two(abs(signed)) else MULTIPLY_COST


def _joined_cost(scale: int, modulus: int) -> int:
    """Cost of `+ scale * variable` mod `modulus`."""
    signed = scale if scale <= modulus // 2 else scale - modulus
    if signed == 0:
        return 0
    return 1 if abs(signed) == 1 else 2 if is_power_of_two(abs(signed)) else 1 + MULTIPLY_COST
