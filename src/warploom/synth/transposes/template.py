"""Transposes in the paper's own template: every function of equations 5 to 7, joined exhaustively, so that none found is a proof.

    group(gs, rotate o fan)(i),   rotate in the whole group or (wrap) in its parts of gs / df        as `ir.swizzle.XformSet`

A function is a fan of the index and a sequence of amounts, one per parameter value. Which middle positions a third step makes
does not depend on its constant c up to their names: so the demand is tested without, and only what passes is tried with every c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warploom.ir.swizzle import Composition, Fan, Group, IntArray, Primitive, Rot
from warploom.synth.transposes.demands import demands, fulfilling
from warploom.synth.transposes.problem import Tables, Transpose


@dataclass(frozen=True, slots=True)
class _Fan:
    group: int
    scale: int
    period: int
    modulus: int
    """Modulus of the rotation that follows."""


@dataclass(frozen=True, eq=False)
class Template:
    """All functions of an index below `size` and a parameter below `parameters`."""

    size: int
    parameters: int

    @cached_property
    def fans(self) -> list[_Fan]:
        """One per effect."""
        found: dict[bytes, _Fan] = {}
        n = self.size
        for group in (g for g in range(n, 0, -1) if n % g == 0):
            for period in (d for d in range(group, 0, -1) if group % d == 0):
                repeats = group // period
                for scale in range(group):
                    if repeats > 1 and scale % repeats:
                        continue
                    for modulus in (group, repeats) if repeats > 1 else (group,):
                        fan = _Fan(group, scale, period, modulus)
                        found.setdefault(np.concatenate(_moved(fan, n)).astype(np.uint8).tobytes() + bytes([modulus]), fan)
        return list(found.values())

    @cached_property
    def tables(self) -> tuple[IntArray, IntArray, IntArray]:
        """[fans, size] start of the part that is rotated, place in it; [fans] modulus."""
        base, place = (np.stack(part) for part in zip(*(_moved(f, self.size) for f in self.fans), strict=True))
        return base, place, np.array([f.modulus for f in self.fans])

    def amounts(self, modulus: int) -> tuple[IntArray, list[tuple[int, int]]]:
        """[rotations without constant, parameters] and their (cr, dr), one per effect."""
        k, count = np.arange(self.parameters), self.parameters
        found: dict[bytes, tuple[IntArray, tuple[int, int]]] = {}
        for period in (0, *(d for d in range(2, count) if count % d == 0 or self.size % d == 0)):
            for scale in range(modulus):
                row = (k * scale + (k // period if period else 0)) % modulus
                found.setdefault(row.astype(np.uint8).tobytes(), (row, (scale, period)))
        return np.stack([row for row, _ in found.values()]), [setting for _, setting in found.values()]

    @cached_property
    def by_modulus(self) -> dict[int, tuple[IntArray, list[tuple[int, int]]]]:
        return {m: self.amounts(m) for m in sorted({f.modulus for f in self.fans})}

    @cached_property
    def by_amounts(self) -> dict[int, dict[bytes, tuple[int, int]]]:
        return {
            m: {row.astype(np.uint8).tobytes(): setting for row, setting in zip(*pair, strict=True)}
            for m, pair in self.by_modulus.items()
        }

    def fitting(self, table: IntArray) -> list[tuple[int, IntArray]]:
        """(fan, amounts) that give the [index, parameter] table, whether the grammar has such amounts or not."""
        base, place, modulus = self.tables
        # The amount is what the first index needs; the others must agree.
        amount = (table[0] - base[:, :1] - place[:, :1]) % modulus[:, None]
        live = np.arange(len(base))
        for points in (np.unique(np.linspace(0, self.size - 1, 4).astype(np.int64)), np.arange(self.size)):
            turned = (place[live][:, points, None] + amount[live][:, None, :]) % modulus[live, None, None]
            live = live[(turned + base[live][:, points, None] == table[points]).all(axis=(1, 2))]
        return [(int(fan), amount[fan]) for fan in live]

    def composed(self, fan: int, setting: tuple[int, int], constant: int) -> tuple[Primitive, ...]:
        chosen = self.fans[fan]
        turned = (*setting, constant) != (0, 0, 0)
        chain: list[Primitive] = []
        if turned:
            rotation: Primitive = Rot(chosen.modulus, *setting, constant)
            chain.append(Group(chosen.modulus, rotation) if chosen.modulus < self.size else rotation)
        if chosen.scale != 1 % chosen.group:
            spread: Primitive = Fan(chosen.group, chosen.scale)
            chain.append(Group(chosen.group, spread) if chosen.group < self.size else spread)
        return tuple(chain)

    def find(self, table: IntArray) -> tuple[Primitive, ...] | None:
        for fan, amounts in self.fitting(table):
            modulus = self.fans[fan].modulus
            setting = self.by_amounts[modulus].get(((amounts - amounts[0]) % modulus).astype(np.uint8).tobytes())
            if setting is not None:
                return self.composed(fan, setting, int(amounts[0]))
        return None


def _moved(fan: _Fan, n: int) -> tuple[IntArray, IntArray]:
    i = np.arange(n)
    local = i % fan.group
    spread = (local * fan.scale + local // fan.period) % fan.group
    return i - local + spread - spread % fan.modulus, spread % fan.modulus


@dataclass(frozen=True, eq=False, slots=True)
class _Functions:
    """[functions] of a template without constants, as a source of pivots."""

    template: Template
    fan: IntArray
    turns: IntArray
    """[rotations, parameters], those of every modulus below one another."""
    row: IntArray
    costs: IntArray

    def image(self, which: IntArray, index: IntArray, parameter: IntArray) -> IntArray:
        base, place, modulus = self.template.tables
        fan = self.fan[which]
        turned = place[fan[:, None], index] + self.turns[self.row[which][:, None], parameter]
        return base[fan[:, None], index] + turned % modulus[fan][:, None]


def _functions(template: Template) -> _Functions:
    modulus = template.tables[2]
    turns: list[IntArray] = []
    parts: list[IntArray] = []
    start = 0
    for m, (rows, _) in template.by_modulus.items():
        grid = np.meshgrid(np.flatnonzero(modulus == m), start + np.arange(len(rows)), indexing="ij")
        parts.append(np.stack([axis.reshape(-1) for axis in grid]))
        turns.append(rows)
        start += len(rows)
    fan, row = np.concatenate(parts, axis=1)
    return _Functions(template, fan, np.concatenate(turns), row, np.zeros(len(fan), np.int64))


def join_template(problem: Transpose) -> tuple[tuple[Composition, ...] | None, int]:
    """Steps in the template, or None, which is a proof; and how many pivots passed their demand."""
    outer, inner = Template(problem.outer, problem.inner), Template(problem.inner, problem.outer)
    by_third = problem.steps == 3
    source = _functions(outer)
    index, parameter = (
        axis.reshape(-1) for axis in np.meshgrid(np.arange(problem.outer), np.arange(problem.inner), indexing="ij")
    )
    names = ("j", "i") if problem.kind == "rcr" else ("i", "j")
    passed = 0
    for number in fulfilling(source, demands(problem)[2 if by_third else 0]):
        passed += 1
        table = source.image(np.array([number]), index, parameter)[0].reshape(problem.outer, problem.inner)
        tables = problem.from_third(table) if by_third else problem.from_first(table)
        assert tables is not None, "a pivot that fulfils its demand places every element"
        chains = _with_constants(outer, inner, tables, int(source.fan[number]), by_third=by_third)
        if chains is not None:
            steps = (*names, names[0])[: problem.steps]
            return tuple(Composition(name, chain) for name, chain in zip(steps, chains, strict=True)), passed
    return None, passed


def _with_constants(
    outer: Template, inner: Template, tables: Tables, fan: int, *, by_third: bool
) -> tuple[tuple[Primitive, ...], ...] | None:
    """The steps for some constant of the pivot, if any has all of them in the template.

    A constant renames the middle positions only: the second step's parameter, the first step's index, the third step's values.
    """
    seconds = inner.fitting(tables.second)
    if not seconds:
        return None
    modulus = outer.fans[fan].modulus
    middle = np.arange(outer.size)
    for constant in range(modulus):
        # The name before for each name after: outside the third step, or what the first step's fan makes of it.
        before = middle - middle % modulus + (middle - constant) % modulus
        if not by_third:
            place = np.argsort(tables.first[:, 0])
            turned = np.argsort(before)[tables.first[:, 0]]
            before = place[turned]
        for second_fan, amounts in seconds:
            m = inner.fans[second_fan].modulus
            sequence = amounts[before]
            setting = inner.by_amounts[m].get(((sequence - sequence[0]) % m).astype(np.uint8).tobytes())
            if setting is None:
                continue
            second = inner.composed(second_fan, setting, int(sequence[0]))
            first = outer.find(tables.first[before])
            third = outer.find(np.argsort(before)[tables.third]) if by_third else ()
            if first is not None and third is not None:
                return (first, second, third) if by_third else (first, second)
    return None
