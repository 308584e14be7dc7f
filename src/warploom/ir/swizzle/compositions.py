"""Compositions of swizzle primitives: index maps of (i, j), with the notation of the paper's Table 3.

    composition := i | j | primitive(index) | (primitive o ... o primitive)(index)          index := i | j
    primitive   := rot(n)(settings) | fan(n)(cf=INT) | xor(n)(settings) | cm2linear(n, m)(k=index)
                 | group(gs, primitive) | unit(n, u, primitive)
    settings    := k=index, cr=INT, dr=INT, c=INT                           each optional, k with cr or dr; xor has no cr

The rightmost primitive acts first, on the index in the last parentheses; every parameter k is the other index. `i` alone is the
identity. Depth = number of primitives; group and unit do not count, since group(gs, p) o group(gs, q) = group(gs, p o q).
Source: Swizzle Inventor, section 8, Table 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

from warploom.ir.swizzle.functions import IntArray
from warploom.ir.swizzle.primitives import (
    Cm2Linear,
    Fan,
    Group,
    Primitive,
    Rot,
    Unit,
    Xor,
    core_cost,
    digit,
    divide_cost,
    domain,
    image,
    scale_cost,
    window_cost,
)


@dataclass(frozen=True, slots=True)
class Composition:
    """`primitives` from the outermost to the one that acts first, on the index called `start`."""

    start: str
    primitives: tuple[Primitive, ...] = ()

    @property
    def parameter(self) -> str:
        return "j" if self.start == "i" else "i"

    @property
    def depth(self) -> int:
        return len(self.primitives)

    def apply(self, i: IntArray, j: IntArray) -> IntArray:
        """Values at the given indices, element by element (shapes broadcast)."""
        value, k = (i, j) if self.start == "i" else (j, i)
        for primitive in reversed(self.primitives):
            value = image(primitive, value, k)
        return value

    def cost(self, i_count: int, j_count: int) -> int:
        """Weighted operations (as in `ir.kernel.cost`) for i and j below these counts.

        A value used twice is computed once, and a remainder is not taken where the next primitive takes the same one.
        """
        size, parameters = (i_count, j_count) if self.start == "i" else (j_count, i_count)
        total = 0
        inner: Primitive | None = None
        inner_size = size
        for primitive in reversed(self.primitives):
            if isinstance(primitive, Cm2Linear):
                total += scale_cost(primitive.n, primitive.modulus, first=False) + divide_cost(primitive.modulus)
            else:
                window, core = digit(primitive, size)
                total += core_cost(core, window, parameters)
            if inner is not None:
                total -= shared_cost(primitive, size, inner, inner_size)
            inner, inner_size = primitive, size
            size = primitive.modulus if isinstance(primitive, Cm2Linear) else size
        return total

    def __str__(self) -> str:
        if not self.primitives:
            return self.start
        chain = " o ".join(_text(primitive, self.parameter) for primitive in self.primitives)
        return f"{chain}({self.start})" if len(self.primitives) == 1 else f"({chain})({self.start})"


def shared_cost(outer: Primitive, outer_size: int, inner: Primitive, inner_size: int) -> int:
    """The cost that `outer o inner` saves because the remainder (and the digit) of `inner` need not be formed."""
    if isinstance(inner, Cm2Linear):
        if isinstance(outer, Cm2Linear):
            return 0
        window, core = digit(outer, outer_size)
        return divide_cost(core.n) if window.whole and _is_sum(core) else 0
    before, core = digit(inner, inner_size)
    if isinstance(core, Xor):
        return 0
    if isinstance(outer, Cm2Linear):
        return divide_cost(core.n) if before.whole and core.n % outer.modulus == 0 else 0
    window, turned = digit(outer, outer_size)
    if window != before or not _is_sum(turned):
        return 0
    return divide_cost(core.n) + window_cost(window)


def _is_sum(core: Rot | Fan | Xor) -> bool:
    """Whether its value mod n needs its index mod n only."""
    match core:
        case Rot():
            return True
        case Fan(n, scale):
            return math.gcd(scale, n) == 1
        case Xor():
            return False
        case _:
            assert_never(core)


def _text(primitive: Primitive, parameter: str) -> str:
    match primitive:
        case Rot(n, scale, period, constant):
            uses = bool(scale or period)
            settings = _settings(parameter, uses, cr=scale, dr=period, c=constant if constant or not uses else 0)
            return f"rot({n})({settings or 'c=0'})"
        case Fan(n, scale):
            return f"fan({n})(cf={scale})"
        case Xor(n, period, constant):
            settings = _settings(parameter, period > 0, cr=0, dr=period if period > 1 else 0, c=constant)
            return f"xor({n})({settings or 'c=0'})"
        case Cm2Linear(n, modulus):
            return f"cm2linear({n}, {modulus})(k={parameter})"
        case Group(size, inner):
            return f"group({size}, {_text(inner, parameter)})"
        case Unit(n, unit, inner):
            return f"unit({n}, {unit}, {_text(inner, parameter)})"
        case _:
            assert_never(primitive)


def _settings(parameter: str, uses: bool, **values: int) -> str:
    parts = [f"k={parameter}"] if uses else []
    return ", ".join(parts + [f"{name}={value}" for name, value in values.items() if value])


def check_domains(composition: Composition, i_count: int, j_count: int) -> str:
    """The reason why it is no map of these indices; empty where every primitive gets an index of its own size."""
    size = i_count if composition.start == "i" else j_count
    for primitive in reversed(composition.primitives):
        expected = domain(primitive)
        fits = size % expected == 0 if isinstance(primitive, Group) else size == expected
        if not fits:
            return f"expected an index below {expected} for {_text(primitive, composition.parameter)}, got one below {size}"
        if isinstance(primitive, Cm2Linear):
            size = primitive.modulus
    return ""
