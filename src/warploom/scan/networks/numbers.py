"""Two kinds of numbers for the formulas of `states`: Python's integers, and unbounded symbolic ones with an open offset d.

Remainders by an open d are not linear, so they are split by hand: x = base + digit * d + rest with 0 <= rest < d, digit < r, and
base a multiple of e = r * d. What multiples are is said in linear terms: two of them are equal, or one or two units apart, or at
least three. Facts hold in all models; not all facts are there, so a proof is sound and a failure to prove means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from warploom.scan.networks.states import Unit
from warploom.solve import Arithmetic, Handle, Unsat

RLIMIT = 4_000_000


class Exact:
    """Numbers at one level of a run."""

    def __init__(self, offset: int, radix: int, offsets: Sequence[int]) -> None:
        self._units = {"d": offset, "e": offset * radix}
        self._offsets = offsets

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

    `offset` None: d is any positive multiple of the last of `offsets`, the offsets of the lowest levels; else it is that number.
    """

    def __init__(self, radix: int, offsets: Sequence[int], offset: int | None = None) -> None:
        self._arithmetic = Arithmetic()
        self._offsets = offsets
        self._radix = radix
        self._is_open = offset is None
        self._e = 0 if offset is None else radix * offset
        self._d = self._integer("d") if offset is None else self.constant(offset)
        self._units = {"d": self._d, "e": self.scaled(radix, self._d)}
        self._facts: list[Handle] = []
        self._split: dict[str, tuple[Handle, Handle, Handle]] = {}
        self._lows: dict[str, Handle] = {}
        self._bases = [self.constant(0)]
        if self._is_open:
            self._facts += [self._positive(self._d), self._divides(offsets[-1], self._d)]

    def variable(self, name: str) -> Handle:
        return self._integer(name)

    def constant(self, value: int) -> Handle:
        return self._arithmetic.constant(value, "int")

    def add(self, left: Handle, right: Handle) -> Handle:
        return self._arithmetic.add(left, right)

    def subtract(self, left: Handle, right: Handle) -> Handle:
        return self._arithmetic.subtract(left, right)

    def scaled(self, factor: int, value: Handle) -> Handle:
        return self._arithmetic.multiply(self.constant(factor), value)

    def unit(self, unit: Unit | int) -> Handle:
        return self.constant(unit) if isinstance(unit, int) else self._units[unit]

    def remainder(self, value: Handle, unit: Unit | int) -> Handle:
        if isinstance(unit, int):
            return self._arithmetic.remainder(value, unit)
        _, part, rest = self._parts(value)
        return rest if unit == "d" else self.add(part, rest)

    def digit(self, value: Handle) -> Handle:
        _, part, _ = self._parts(value)
        digit = self.constant(0)
        for k in range(1, self._radix):
            digit = self.select(self.equal(part, self.scaled(k, self._d)), self.constant(k), digit)
        return digit

    def low(self, value: Handle) -> Handle:
        key = str(value)
        if key not in self._lows:
            low = self._integer(f"low{len(self._lows)}")
            self._lows[key] = low
            for small, large in zip(self._offsets, self._offsets[1:], strict=False):
                self._place_of_low(low, self.remainder(value, small), self.remainder(value, large), self.constant(large))
            if self._is_open:
                self._place_of_low(low, self.remainder(value, "d"), self.remainder(value, "e"), self._units["e"])
        return self._lows[key]

    def at_least(self, left: Handle, right: Handle) -> Handle:
        return self._arithmetic.at_least(left, right)

    def equal(self, left: Handle, right: Handle) -> Handle:
        return self._arithmetic.equal(left, right)

    def both(self, left: Handle, right: Handle) -> Handle:
        return self._arithmetic.both([left, right])

    def negation(self, condition: Handle) -> Handle:
        return self._arithmetic.negation(condition)

    def select(self, condition: Handle, then: Handle, otherwise: Handle) -> Handle:
        return self._arithmetic.select(condition, then, otherwise)

    def proves(self, assumed: Sequence[Handle], goal: Handle) -> bool:
        """Whether the goal follows; False also when that could not be decided."""
        answer = self._arithmetic.check([*self._facts, *self._multiples(), *assumed, self.negation(goal)], RLIMIT)
        return isinstance(answer, Unsat)

    def _integer(self, name: str) -> Handle:
        return self._arithmetic.variable(name, "int")

    def _positive(self, value: Handle) -> Handle:
        return self.at_least(value, self.constant(1))

    def _divides(self, divisor: int, value: Handle) -> Handle:
        return self.equal(self._arithmetic.remainder(value, divisor), self.constant(0))

    def _parts(self, value: Handle) -> tuple[Handle, Handle, Handle]:
        """Multiple of e, multiple of d below e, and rest below d."""
        key = str(value)
        if key not in self._split:
            number = len(self._split)
            base, part, rest = (self._integer(f"{name}{number}") for name in ("base", "part", "rest"))
            total = self.add(self.add(base, part), rest)
            parts = [self.equal(part, self.scaled(k, self._d)) for k in range(self._radix)]
            below = self.at_least(self.subtract(self._d, self.constant(1)), rest)
            self._facts += [
                self.equal(value, total),
                self._arithmetic.either(parts),
                below,
                self.at_least(rest, self.constant(0)),
            ]
            self._facts.append(self._divides(self._offsets[-1] if self._is_open else self._e, base))
            self._bases.append(base)
            self._split[key] = (base, part, rest)
        return self._split[key]

    def _multiples(self) -> list[Handle]:
        """Of e, and of d, for all pairs of values that were split."""
        steps = [self.add(base, part) for base, part, _ in self._split.values()]
        facts: list[Handle] = []
        for unit, multiples in ((self._units["e"], self._bases), (self._d, [self._bases[0], *steps])):
            for one, other in combinations(multiples, 2):
                gap = self.subtract(one, other)
                near = [self.equal(gap, self.scaled(k, unit)) for k in range(-2, 3)]
                far = [self.at_least(gap, self.scaled(3, unit)), self.at_least(self.scaled(-3, unit), gap)]
                facts.append(self._arithmetic.either([*near, *far]))
        return facts

    def _place_of_low(self, low: Handle, small: Handle, large: Handle, limit: Handle) -> None:
        """The lowest digit that is not 0 is here, or at this level or above, or below."""
        zero = self.constant(0)
        here = self.both(self.equal(small, zero), self.negation(self.equal(large, zero)))
        above = self.equal(large, zero)
        self._facts.append(self._implies(here, self.equal(low, large)))
        self._facts.append(self._implies(above, self.at_least(low, limit)))

    def _implies(self, condition: Handle, conclusion: Handle) -> Handle:
        return self._arithmetic.either([self.negation(condition), conclusion])
