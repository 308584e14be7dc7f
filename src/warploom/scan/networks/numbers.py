"""Two kinds of numbers for the formulas of `states`: Python's integers, and unbounded symbolic ones with an open offset d.

Remainders by an open d are not linear, so they are split by hand: x = base + digit * d + rest with 0 <= rest < d, digit < r, and
base a multiple of e = r * d (with h and g = h / r below d, rest is split again). What multiples are is said in linear terms: two
of them are equal, or one or two units apart, or at least three. Facts hold in all models; not all facts are there, so a proof is
sound and a failure to prove means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from warploom.scan.networks.states import UNITS, Unit
from warploom.solve import INT, Builder, Handle, Unsat

RLIMIT = 4_000_000


class Exact:
    """Numbers at one level of a run."""

    def __init__(self, offset: int, radix: int, offsets: Sequence[int]) -> None:
        below = max(1, offset // radix)
        self._units: dict[Unit, int] = {"g": max(1, below // radix), "h": below, "d": offset, "e": offset * radix}
        self._offsets = offsets
        self._radix = radix

    def constant(self, value: int) -> int:
        return value

    def add(self, left: int, right: int) -> int:
        return left + right

    def subtract(self, left: int, right: int) -> int:
        return left - right

    def scaled(self, factor: int, value: int) -> int:
        return factor * value

    def unit(self, unit: Unit | int) -> int:
        return unit if isinstance(unit, int) else self._units[unit]

    def below(self, unit: Unit | int, levels: int) -> Unit | int:
        return max(1, self.unit(unit) // self._radix**levels)

    def remainder(self, value: int, unit: Unit | int) -> int:
        return value % self.unit(unit)

    def digit(self, value: int) -> int:
        return value % self._units["e"] // self._units["d"]

    def low(self, value: int) -> int:
        return next((value % offset for offset in self._offsets if value % offset), value)

    def at_least(self, left: int, right: int) -> bool:
        return left >= right

    def equal(self, left: int, right: int) -> bool:
        return left == right

    def both(self, left: bool, right: bool) -> bool:
        return left and right

    def negation(self, condition: bool) -> bool:
        return not condition

    def select(self, condition: bool, then: int, otherwise: int) -> int:
        return then if condition else otherwise


class Symbolic:
    """Numbers over z3's integers.

    `offset` None: d is open, and the offset `levels_below` levels down is any positive multiple of the last of `offsets`, the
    offsets of the lowest levels; else d is that number.
    """

    def __init__(self, radix: int, offsets: Sequence[int], offset: int | None = None, levels_below: int = 0) -> None:
        self._builder = Builder()
        self._offsets = offsets
        self._radix = radix
        self._offset = offset
        self._facts: list[Handle] = []
        self._split: dict[str, tuple[Handle, list[Handle], Handle]] = {}
        self._lows: dict[str, Handle] = {}
        self._chain: tuple[Unit, ...] = UNITS[-2 - (levels_below if offset is None else 0) :]
        self._units: dict[Unit, Handle] = {}
        lowest = self._integer("lowest") if offset is None else self.constant(offset)
        for level, unit in enumerate(self._chain):
            self._units[unit] = self.scaled(radix**level, lowest)
        self._bases = [self.constant(0)]
        if offset is None:
            self._facts += [self.at_least(lowest, self.constant(1)), self._divides(offsets[-1], lowest)]

    def variable(self, name: str) -> Handle:
        return self._integer(name)

    def constant(self, value: int) -> Handle:
        return self._builder.constant(value, INT)

    def add(self, left: Handle, right: Handle) -> Handle:
        return self._builder.add(left, right)

    def subtract(self, left: Handle, right: Handle) -> Handle:
        return self._builder.subtract(left, right)

    def scaled(self, factor: int, value: Handle) -> Handle:
        return self._builder.multiply(self.constant(factor), value)

    def unit(self, unit: Unit | int) -> Handle:
        return self.constant(unit) if isinstance(unit, int) else self._units[unit]

    def below(self, unit: Unit | int, levels: int) -> Unit | int:
        if isinstance(unit, int):
            return max(1, unit // self._radix**levels)
        if self._offset is None:
            place = self._chain.index(unit) - levels
            assert place >= 0, "levels_below was too small"
            return self._chain[place]
        return max(1, self._offset * self._radix ** (UNITS.index(unit) - 2) // self._radix**levels)

    def remainder(self, value: Handle, unit: Unit | int) -> Handle:
        if isinstance(unit, int):
            return self._builder.remainder(value, unit)
        if unit not in self._units:
            return self.remainder(value, self.below("d", UNITS.index("d") - UNITS.index(unit)))
        _, parts, total = self._parts(value)
        for part in parts[: self._chain.index(unit)]:
            total = self.add(total, part)
        return total

    def digit(self, value: Handle) -> Handle:
        part = self._parts(value)[1][-1]
        digit = self.constant(0)
        for k in range(1, self._radix):
            digit = self.select(self.equal(part, self.scaled(k, self._units["d"])), self.constant(k), digit)
        return digit

    def low(self, value: Handle) -> Handle:
        key = str(value)
        if key not in self._lows:
            low = self._integer(f"low{len(self._lows)}")
            self._lows[key] = low
            for small, large in zip(self._offsets, self._offsets[1:], strict=False):
                self._place_of_low(low, self.remainder(value, small), self.remainder(value, large), self.constant(large))
            if self._offset is None:
                self._place_of_low(low, self.remainder(value, "d"), self.remainder(value, "e"), self._units["e"])
        return self._lows[key]

    def at_least(self, left: Handle, right: Handle) -> Handle:
        return self._builder.at_least(left, right)

    def equal(self, left: Handle, right: Handle) -> Handle:
        return self._builder.equal(left, right)

    def both(self, left: Handle, right: Handle) -> Handle:
        return self._builder.both([left, right])

    def negation(self, condition: Handle) -> Handle:
        return self._builder.negation(condition)

    def select(self, condition: Handle, then: Handle, otherwise: Handle) -> Handle:
        return self._builder.select(condition, then, otherwise)

    def proves(self, assumed: Sequence[Handle], goal: Handle) -> bool:
        """Whether the goal follows; False also when that could not be decided."""
        answer = self._builder.check([*self._facts, *self._multiples(), *assumed, self.negation(goal)], RLIMIT)
        return isinstance(answer, Unsat)

    def _integer(self, name: str) -> Handle:
        return self._builder.variable(name, INT)

    def _divides(self, divisor: int, value: Handle) -> Handle:
        return self.equal(self._builder.remainder(value, divisor), self.constant(0))

    def _parts(self, value: Handle) -> tuple[Handle, list[Handle], Handle]:
        """Multiple of e; for each unit from the lowest to d a multiple of it below the next; and the rest below the lowest."""
        key = str(value)
        if key not in self._split:
            number = len(self._split)
            base, rest = self._integer(f"base{number}"), self._integer(f"rest{number}")
            parts = [self._integer(f"{unit}{number}") for unit in self._chain[:-1]]
            total = self.add(base, rest)
            for part, unit in zip(parts, self._chain, strict=False):
                total = self.add(total, part)
                multiples = [self.equal(part, self.scaled(k, self._units[unit])) for k in range(self._radix)]
                self._facts.append(self._builder.either(multiples))
            lowest = self._units[self._chain[0]]
            below = self.at_least(self.subtract(lowest, self.constant(1)), rest)
            known = self._offsets[-1] if self._offset is None else self._offset * self._radix
            self._facts += [self.equal(value, total), below, self.at_least(rest, self.constant(0)), self._divides(known, base)]
            self._bases.append(base)
            self._split[key] = (base, parts, rest)
        return self._split[key]

    def _multiples(self) -> list[Handle]:
        """Multiples of every unit, for all pairs of values that were split."""
        facts: list[Handle] = []
        multiples = self._bases
        for level in reversed(range(len(self._chain))):
            unit = self._units[self._chain[level]]
            if level < len(self._chain) - 1:
                parts = [self.constant(0), *(parts[level] for _, parts, _ in self._split.values())]
                multiples = [self.add(base, part) for base, part in zip(multiples, parts, strict=True)]
            for one, other in combinations(multiples, 2):
                gap = self.subtract(one, other)
                near = [self.equal(gap, self.scaled(k, unit)) for k in range(-2, 3)]
                far = [self.at_least(gap, self.scaled(3, unit)), self.at_least(self.scaled(-3, unit), gap)]
                facts.append(self._builder.either([*near, *far]))
        return facts

    def _place_of_low(self, low: Handle, small: Handle, large: Handle, limit: Handle) -> None:
        """The lowest digit that is not 0 is here, or at this level or above, or below."""
        zero = self.constant(0)
        here = self.both(self.equal(small, zero), self.negation(self.equal(large, zero)))
        above = self.equal(large, zero)
        self._facts.append(self._implies(here, self.equal(low, large)))
        self._facts.append(self._implies(above, self.at_least(low, limit)))

    def _implies(self, condition: Handle, conclusion: Handle) -> Handle:
        return self._builder.either([self.negation(condition), conclusion])
