"""Transformation swizzles: the paper's template of grouped fans and rotations as a factored set of functions.

    xform(i, n, k) = group(gs, rotate . fan)(i)                                                    (eq. 5, 6)
    fan(i)         = (i * cf + floor(i / df)) mod gs,   df | gs,   (gs / df) | cf                  (eq. 3)
    rot(x)         = (x + k * cr + floor(k / dr) + c) mod gs, inside groups of gs / df if `wrap`   (eq. 2, 7)

with dr a divisor of n or of the number of parameter values, or too large to matter (as in the authors' implementation).

Source: Swizzle Inventor, sections 5.3, 5.4. A function is a pair (fan, rotation) where the fan depends on i alone and the
rotation on k alone; a set of 10^6 functions is filtered as 10^2 fans times 10^4 rotations without ever being tabulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.kernel.cost import DIVISION_COST, MULTIPLY_COST, is_power_of_two
from warploom.ir.kernel.nodes import HoleArg, IndexBinary, IndexExpr
from warploom.ir.swizzle.functions import (
    MAX_TABLE_CELLS,
    BoolArray,
    Functions,
    IntArray,
    Tables,
    distinct,
    row_blocks,
    row_hashes,
)
from warploom.ir.swizzle.sums import ModularSum, quotient, remainder

_GLANCE = 4
"""Points of one k that are looked at before all points."""


@dataclass(frozen=True, slots=True)
class Fan:
    """The part of the template that depends on i."""

    group: int
    scale: int
    period: int
    wrap: bool

    @property
    def modulus(self) -> int:
        """Modulus of the rotation that follows."""
        return self.group // self.period if self.wrap else self.group


@dataclass(frozen=True, slots=True)
class XformGrammar:
    """Open parameters of the template."""

    n: int
    grouped: bool
    """gs any divisor of n, df any divisor of gs, wrap, dr (Space 3); else gs = df = n, no wrap, no dr."""
    fans: bool = True
    """cf open; else cf = 1."""
    coefficients: tuple[int, ...] | None = None
    """The only values (mod gs) of cf and cr."""
    constants: tuple[int, ...] | None = None
    """The only values (mod gs) of c."""
    groups: bool = True
    """gs and wrap open too, when `grouped`."""


@dataclass(frozen=True, eq=False, slots=True)
class _FanClass:
    """Fans followed by a rotation of the same modulus, tabulated: [fans, points]."""

    modulus: int
    numbers: IntArray
    base: Tables
    fanned: Tables


class XformSet:
    """All functions of the grammar on points (i, k)."""

    def __init__(self, points: IntArray, grammar: XformGrammar) -> None:
        self.grammar = grammar
        self.values = grammar.n
        self.points = len(points)
        self._i = points[:, 0]
        if self._i.min() < 0 or self._i.max() >= grammar.n:
            raise ValueError(f"primary index outside 0..{grammar.n - 1}")
        self._k_values, self._k_of_point = np.unique(points[:, 1], return_inverse=True)
        self._points_of_k: list[IntArray] = [np.flatnonzero(self._k_of_point == j) for j in range(len(self._k_values))]
        self._fans = _fans(grammar)
        self._fan_spans = np.array([self._fan_span(f) for f in self._fans])
        self._fan_costs = np.array([_fan_cost(f, grammar.n) for f in self._fans])
        self._base, self._fanned = (np.stack(part) for part in zip(*(self._fan_table(f) for f in self._fans), strict=True))
        moduli = np.array([f.modulus for f in self._fans])
        self._classes = [self._fan_class(int(m), np.flatnonzero(moduli == m)) for m in np.unique(moduli)]
        self._by_amount: dict[tuple[int, int], tuple[IntArray, IntArray]] = {}
        self._rotations: dict[int, tuple[IntArray, IntArray]] = {}

    def _fan_table(self, fan: Fan) -> tuple[Tables, Tables]:
        """Per point: start of the rotated group, position in it before the rotation."""
        local = self._i % fan.group
        moved = (local * fan.scale + local // fan.period) % fan.group
        turned = moved % fan.modulus
        return (self._i - local + moved - turned).astype(np.int16), turned.astype(np.int16)

    def _fan_span(self, fan: Fan) -> tuple[int, int]:
        """Least and greatest value of the fan before its remainder, with the coefficient's sign as printed."""
        local = self._i % fan.group
        moved = local * int(_signed(np.array(fan.scale), np.array(fan.group))) + (local // fan.period) % max(1, fan.group)
        return int(moved.min()), int(moved.max())

    def _fan_class(self, modulus: int, numbers: IntArray) -> _FanClass:
        """The fans of one modulus without those that move every point alike."""
        tables = np.concatenate([self._base[numbers], self._fanned[numbers]], axis=1)
        keep = numbers[distinct(tables, self._fan_costs[numbers])]
        return _FanClass(modulus, keep, self._base[keep], self._fanned[keep])

    @property
    def size_bound(self) -> int:
        return self._size_bound

    @cached_property
    def _size_bound(self) -> int:
        return sum(len(c.numbers) * len(self._rotation_tables(c.modulus)[0]) for c in self._classes)

    def matching(self, allowed: BoolArray) -> Functions | None:
        # Most constrained parameter values first: they leave the fewest rotations.
        freedom = np.array([int(allowed[p].sum()) / (len(p) * self.values) for p in self._points_of_k])
        order = np.argsort(freedom, kind="stable")
        kept: list[tuple[IntArray, IntArray]] = []
        total = 0
        for fans in self._classes:
            found = self._matching_class(fans, order, allowed)
            if len(found[0]):
                kept.append((fans.numbers[found[0]], found[1]))
                total += len(found[0])
                if total * self.points > MAX_TABLE_CELLS:
                    return None
        return self._tabulate(kept)

    def _matching_class(self, fans: _FanClass, order: IntArray, allowed: BoolArray) -> tuple[IntArray, IntArray]:
        """(fan, rotation) pairs of one modulus whose values are all allowed."""
        tables, _ = self._rotation_tables(fans.modulus)
        amounts = np.arange(fans.modulus, dtype=np.int16)
        pairs: tuple[IntArray, IntArray] | None = None
        # A few points show most fans to be hopeless.
        points = self._points_of_k[int(order[0])]
        points = points[:: max(1, len(points) // _GLANCE)]
        values = fans.base[:, points, None] + (fans.fanned[:, points, None] + amounts) % fans.modulus
        fits: BoolArray = np.logical_and.reduce(allowed[points[None, :, None], values], axis=1)
        live = np.flatnonzero(fits.any(axis=1))
        if not len(live):
            return live, live
        for j in (int(number) for number in order):
            points = self._points_of_k[j]
            moved = (fans.fanned[live][:, points, None] + amounts) % fans.modulus
            values = fans.base[live][:, points, None] + moved
            fits = np.logical_and.reduce(allowed[points[None, :, None], values], axis=1)
            if pairs is None:
                fan, amount = np.nonzero(fits)
                pairs = self._rotations_by(fans.modulus, j, live[fan], amount)
            else:
                row = np.searchsorted(live, pairs[0])
                keep = fits[row, tables[pairs[1], j]]
                pairs = pairs[0][keep], pairs[1][keep]
            if len(pairs[0]) == 0:
                break
            live = np.unique(pairs[0])
        assert pairs is not None
        return pairs

    def takes(self, tables: Tables) -> BoolArray:
        found = np.zeros(len(tables), np.bool_)
        for fans in reversed(self._classes):
            left = np.flatnonzero(~found)
            found[left[self._equal_in(fans, tables[left])[0]]] = True
        return found

    def equal_to(self, tables: Tables) -> list[Functions]:
        found = [self._equal_in(fans, tables) for fans in self._classes]
        functions = self._tabulate([(fan, rotation) for _, fan, rotation in found if len(fan)])
        place = {functions.tables[n].tobytes(): n for n in range(len(functions))}
        places = (place.get(np.ascontiguousarray(table, np.int16).tobytes()) for table in tables)
        return [functions.select(np.array([] if at is None else [at], np.int64)) for at in places]

    def _equal_in(self, fans: _FanClass, tables: Tables) -> tuple[IntArray, IntArray, IntArray]:
        """(table, fan, rotation): all pairs of one modulus that make a table."""
        points = self._points_of_k[0]
        points = points[:: max(1, len(points) // _GLANCE)]
        every = np.arange(self.points)
        lead = np.array([at[0] for at in self._points_of_k])
        rotations = self._rotation_tables(fans.modulus)[0].astype(np.int16)
        hashes = row_hashes(rotations)
        order = np.argsort(hashes, kind="stable")
        found: list[tuple[IntArray, IntArray, IntArray]] = []
        none = np.zeros(0, np.int64)
        for block in row_blocks(len(tables), len(fans.numbers) * len(points)):
            start = block.start
            table, fan = np.indices((len(tables[block]), len(fans.numbers))).reshape(2, -1)
            table, fan, _ = self._turned_by(fans, tables, start + table, fan, points, np.zeros(len(points), np.int64))
            for part in row_blocks(len(table), self.points):
                rows, numbers, turns = self._turned_by(fans, tables, table[part], fan[part], every, lead[self._k_of_point])
                turns = np.ascontiguousarray(turns[:, lead])
                at = order[np.minimum(np.searchsorted(hashes[order], row_hashes(turns)), len(order) - 1)]
                same = (rotations[at] == turns).all(axis=1)
                found.append((rows[same], fans.numbers[numbers[same]], at[same]))
        rows, numbers, turns = zip(*found, strict=True) if found else ((none,), (none,), (none,))
        return np.concatenate(rows), np.concatenate(numbers), np.concatenate(turns)

    @staticmethod
    def _turned_by(
        fans: _FanClass, tables: Tables, table: IntArray, fan: IntArray, points: IntArray, lead: IntArray
    ) -> tuple[IntArray, IntArray, Tables]:
        """The pairs of a table and a fan that differ, at each of some points, by the same rotation as at its leading one, and
        by how much.
        """
        turned: Tables = tables[table[:, None], points] - fans.base[fan[:, None], points]
        amount: Tables = (turned - fans.fanned[fan[:, None], points]) % np.int16(fans.modulus)
        fits = (turned >= 0) & (turned < fans.modulus) & (amount == amount[:, lead])
        left = fits.all(axis=1)
        return table[left], fan[left], amount[left]

    def _rotations_by(self, modulus: int, j: int, fan: IntArray, amount: IntArray) -> tuple[IntArray, IntArray]:
        """(fan, rotation) pairs whose rotation turns by `amount` at the j-th parameter value."""
        key = (modulus, j)
        if key not in self._by_amount:
            column = self._rotation_tables(modulus)[0][:, j]
            order = np.argsort(column, kind="stable")
            self._by_amount[key] = order, np.searchsorted(column[order], np.arange(modulus + 1))
        order, starts = self._by_amount[key]
        count = starts[amount + 1] - starts[amount]
        offset = np.repeat(starts[amount] - np.cumsum(count) + count, count)
        return np.repeat(fan, count), order[offset + np.arange(int(count.sum()))]

    def _rotation_tables(self, modulus: int) -> tuple[IntArray, IntArray]:
        """[rotations, distinct k] amounts mod `modulus`, deduplicated, cheapest kept; and their (cr, dr, c, cost)."""
        if modulus not in self._rotations:
            k = self._k_values
            grammar = self.grammar
            scales = np.arange(modulus) if grammar.coefficients is None else np.unique(np.mod(grammar.coefficients, modulus))
            offsets = np.arange(modulus) if grammar.constants is None else np.unique(np.mod(grammar.constants, modulus))
            extent = int(k.max()) + 1
            periods = [0]
            if grammar.grouped:
                periods += [d for d in range(2, extent) if extent % d == 0 or grammar.n % d == 0]
            grid = np.array(np.meshgrid(periods, scales, offsets, indexing="ij")).reshape(3, -1)
            divided = np.where(grid[0][:, None] > 0, k[None, :] // np.maximum(grid[0], 1)[:, None], 0)
            tables = (k[None, :] * grid[1][:, None] + divided + grid[2][:, None]) % modulus
            costs = (
                np.array([_scale_cost(int(s), modulus, first=False) for s in scales])[np.searchsorted(scales, grid[1])]
                + np.array([0 if p == 0 else 2 if is_power_of_two(p) else 1 + DIVISION_COST for p in periods])[
                    np.searchsorted(periods, grid[0])
                ]
                + (grid[2] != 0)
            )
            keep = distinct(tables.astype(np.int16), costs)
            self._rotations[modulus] = tables[keep], np.stack([grid[1], grid[0], grid[2], costs], axis=1)[keep]
        return self._rotations[modulus]

    def _tabulate(self, kept: list[tuple[IntArray, IntArray]]) -> Functions:
        if not kept:
            empty = np.zeros(0, np.int64)
            return Functions(np.zeros((0, self.points), np.int16), empty, self._expression_of(np.zeros((0, 4), np.int64)), empty)
        total, done = sum(len(numbers) for numbers, _ in kept), 0
        stacked: Tables = np.empty((total, self.points), np.int16)
        costs: list[IntArray] = []
        params: list[IntArray] = []
        for numbers, rotations in kept:
            modulus = self._fans[int(numbers[0])].modulus
            tables, settings = self._rotation_tables(modulus)
            amounts = tables.astype(np.int16)
            for block in row_blocks(len(numbers), self.points):
                turned: Tables = self._fanned[numbers[block]] + amounts[rotations[block]][:, self._k_of_point]
                turned -= np.int16(modulus) * (turned >= modulus)
                turned += self._base[numbers[block]]
                stacked[done : done + len(turned)] = turned
                done += len(turned)
            costs.append(settings[rotations, 3] + self._fan_costs[numbers] - self._spared(numbers, settings[rotations]))
            params.append(np.column_stack([numbers, settings[rotations, :3]]))
        all_costs, all_params = np.concatenate(costs), np.concatenate(params)
        keep = distinct(stacked, all_costs)
        return Functions(stacked[keep], all_costs[keep], self._expression_of(all_params), keep)

    def _spared(self, numbers: IntArray, settings: IntArray) -> IntArray:
        """[pairs] cost of the final remainder where the sum stays within the group anyway."""
        low, high = self._fan_spans[numbers].T
        scale, period, offset = (settings[:, c] for c in range(3))
        modulus = np.array([f.modulus for f in self._fans])[numbers]
        signed, moved = _signed(scale, modulus), _signed(offset, modulus)
        k_low, k_high = int(self._k_values.min()), int(self._k_values.max())
        steps = np.where(period > 0, k_high // np.maximum(period, 1), 0)
        low = low + np.minimum(signed * k_low, signed * k_high) + moved
        high = high + np.maximum(signed * k_low, signed * k_high) + steps + moved
        plain = np.array([not f.wrap for f in self._fans])[numbers]
        group = np.array([f.group for f in self._fans])[numbers]
        return np.where(plain & (low >= 0) & (high < group), np.array([_modulo_cost(f.group) for f in self._fans])[numbers], 0)

    def _expression_of(self, params: IntArray) -> Callable[[int], IndexExpr]:
        def build(row: int) -> IndexExpr:
            number, scale, period, offset = (int(v) for v in params[row])
            return _expression(self.grammar.n, self._fans[number], scale, period, offset)

        return build


def _signed(value: IntArray, modulus: IntArray) -> IntArray:
    """The representative nearest zero, as expressions print it."""
    return np.where(value <= modulus // 2, value, value - modulus)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _fans(grammar: XformGrammar) -> list[Fan]:
    n = grammar.n
    fans: list[Fan] = []
    for group in _divisors(n) if grammar.grouped and grammar.groups else [n]:
        if not grammar.fans:
            scales = [1 % group]
        elif grammar.coefficients is None:
            scales = list(range(group))
        else:
            scales = sorted({c % group for c in grammar.coefficients})
        for scale in scales:
            for period in _divisors(group) if grammar.grouped else [group]:
                repeats = group // period
                if repeats > 1 and scale % repeats:
                    continue
                fans.append(Fan(group, scale, period, wrap=False))
                if grammar.grouped and grammar.groups and repeats > 1:
                    fans.append(Fan(group, scale, period, wrap=True))
    return fans


def _scale_cost(scale: int, modulus: int, *, first: bool) -> int:
    """Cost of `scale * variable` as a summand of a sum mod `modulus`."""
    signed = scale if scale <= modulus // 2 else scale - modulus
    if signed == 0:
        return 0
    joined = 0 if first and signed > 0 else 1
    if abs(signed) == 1:
        return joined
    return joined + (1 if is_power_of_two(abs(signed)) else MULTIPLY_COST)


def _modulo_cost(n: int) -> int:
    return 1 if is_power_of_two(n) else DIVISION_COST


def _fan_cost(fan: Fan, n: int) -> int:
    cost = _scale_cost(fan.scale, fan.group, first=True) + _modulo_cost(fan.group)
    if fan.period < fan.group:
        cost += 1 + _modulo_cost(fan.period)
    if fan.group < n:
        cost += 2 * _modulo_cost(fan.group) + 1
    if fan.wrap:
        cost += 3 * _modulo_cost(fan.modulus) + 1
    return cost


def _expression(n: int, fan: Fan, scale: int, period: int, offset: int) -> IndexExpr:
    i: IndexExpr = HoleArg(0)
    k: IndexExpr = HoleArg(1)
    local = i if fan.group == n else remainder(i, fan.group)
    total = ModularSum(fan.group)
    total.add(local, fan.scale)
    if fan.period < fan.group:
        total.add(quotient(local, fan.period), 1)
    rotation = ModularSum(fan.modulus)
    rotation.add(k, scale)
    if period:
        rotation.add(quotient(k, period), 1)
    rotation.constant(offset)
    if fan.wrap:
        fanned = remainder(total.expr(), fan.group)
        start = IndexBinary("-", fanned, remainder(fanned, fan.modulus))
        turned = remainder(IndexBinary("+", fanned, rotation.expr()), fan.modulus)
        moved: IndexExpr = IndexBinary("+", start, turned)
    else:
        total.add(k, scale)
        if period:
            total.add(quotient(k, period), 1)
        total.constant(offset)
        moved = remainder(total.expr(), fan.group)
    if fan.group == n:
        return moved
    return IndexBinary("+", IndexBinary("-", i, local), moved)
