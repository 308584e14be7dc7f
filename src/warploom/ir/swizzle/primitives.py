"""Primitives of swizzle compositions: permutations of 0..n-1 that may depend on a parameter k, and their price.

    rot(n)(k, cr, dr, c)(i) = (i + k * cr + floor(k / dr) + c) mod n                                      (eq. 2)
    fan(n)(cf)(i)           = (i * cf + floor(i / df)) mod n,   df = n / gcd(cf, n)                       (eq. 3)
    group(gs, p)(i)         = floor(i / gs) * gs + p(i mod gs)                                            (eq. 4)
    cm2linear(n, m)(k)(i)   = (k * n + i) mod m                                                           (eq. 8)
    unit(n, u, p)(i)        = p(floor(i / u)) * u + (i mod u)                                             (eq. 9)
    xor(n)(k, dr)(i)        = i xor (floor(k / dr) mod b),   xor(n)(c)(i) = i xor c,   c < b

where dr of a rot may be negative: floor(k / -d) stands for -floor(k / d) (the authors' tool divides towards zero);
`floor(i / df)` of a coprime fan, and every term that is not written, are absent; b is the greatest power of two dividing
n, so that xor stays within 0..n-1 for any n and k.
Only cm2linear leaves 0..n-1: it takes an index of n values to one of m.
Source: Swizzle Inventor, sections 5.3 and 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from warploom.ir.kernel.cost import DIVISION_COST, MULTIPLY_COST, is_power_of_two
from warploom.ir.swizzle.functions import IntArray


@dataclass(frozen=True, slots=True)
class Rot:
    """Rotation by `k * scale + floor(k / period) + constant`; period 0 = no such term, -d = minus floor(k / d)."""

    n: int
    scale: int = 0
    period: int = 0
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Fan:
    """Spreads neighbours `scale` apart, without collisions."""

    n: int
    scale: int


@dataclass(frozen=True, slots=True)
class Xor:
    """Exclusive or with `floor(k / period)` mod `mask_range(n)`, or (period 0) with a constant below that."""

    n: int
    period: int = 0
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Cm2Linear:
    """Position in column-major order of element i of column k, mod `modulus`; `n` elements a column."""

    n: int
    modulus: int


@dataclass(frozen=True, slots=True)
class Group:
    """Permutes inside every group of `size` neighbours."""

    size: int
    inner: Primitive


@dataclass(frozen=True, slots=True)
class Unit:
    """Moves `unit` consecutive elements of n together."""

    n: int
    unit: int
    inner: Primitive


Primitive: TypeAlias = Rot | Fan | Xor | Cm2Linear | Group | Unit
Core: TypeAlias = Rot | Fan | Xor


def mask_range(n: int) -> int:
    """The greatest power of two that divides n: xor with anything below it stays in 0..n-1."""
    return n & -n


def domain(primitive: Primitive) -> int:
    """Number of values that the index may have; a group takes any multiple."""
    return primitive.size if isinstance(primitive, Group) else primitive.n


def image(primitive: Primitive, index: IntArray, parameter: IntArray) -> IntArray:
    """The image of `index` for the parameter's values, element by element (shapes broadcast)."""
    match primitive:
        case Rot(n, scale, period, constant):
            turned = index + parameter * scale + constant
            if period:
                turned = turned + parameter // abs(period) * (1 if period > 0 else -1)
            return turned % n
        case Fan(n, scale):
            shared = math.gcd(scale, n)
            return (index * scale + (index // (n // shared) if shared > 1 else 0)) % n
        case Xor(n, period, constant):
            masked = parameter // period % mask_range(n) if period else parameter * 0
            return index ^ masked ^ constant
        case Cm2Linear(n, modulus):
            return (parameter * n + index) % modulus
        case Group(size, inner):
            return index // size * size + image(inner, index % size, parameter)
        case Unit(_, unit, inner):
            return image(inner, index // unit, parameter) * unit + index % unit
        case _:
            assert_never(primitive)


def faults(primitive: Primitive) -> str:
    """Why the primitive is ill-defined; empty for a good one."""
    match primitive:
        case Rot(n, scale, period, constant):
            good = n > 0 and 0 <= scale < n and 0 <= constant < n
            return "" if good else f"expected 0 <= cr, c < {n}"
        case Fan(n, scale):
            return "" if 0 < scale < n or n == scale == 1 else f"expected 0 < cf < {n}"
        case Xor(n, period, constant):
            if period and constant:
                return "expected k or c, not both"
            good = n > 0 and period >= 0 and 0 <= constant < mask_range(n)
            return "" if good else f"expected 0 <= c < {mask_range(n)}, the greatest power of two that divides {n}, and dr >= 0"
        case Cm2Linear(n, modulus):
            return "" if n > 0 and modulus > 0 else "expected positive sizes"
        case Group(size, inner):
            return _inner_faults(inner, size)
        case Unit(n, unit, inner):
            if unit < 1 or n % unit:
                return f"expected a unit that divides {n}, got {unit}"
            return _inner_faults(inner, n // unit)
        case _:
            assert_never(primitive)


def _inner_faults(inner: Primitive, size: int) -> str:
    if isinstance(inner, Cm2Linear):
        return "expected a permutation of one index inside group and unit, got cm2linear"
    fits = size % domain(inner) == 0 if isinstance(inner, Group) else size == domain(inner)
    return faults(inner) if fits else f"expected a permutation of {size} elements, got one of {domain(inner)}"


@dataclass(frozen=True, slots=True)
class Window:
    """The digit `floor(i / unit) mod count` of an index below `size`: what a rot, fan or xor inside group and unit moves."""

    size: int
    unit: int
    count: int

    @property
    def whole(self) -> bool:
        return self.count == self.size


def windowed(core: Core, window: Window) -> Primitive:
    """`core` acting on that digit."""
    span = window.unit * window.count
    inner = core if window.unit == 1 else Unit(span, window.unit, core)
    return inner if span == window.size else Group(span, inner)


def digit(primitive: Group | Unit | Core, size: int) -> tuple[Window, Core]:
    """The digit of an index below `size` that a primitive moves, and how."""
    unit = 1
    while isinstance(primitive, Group | Unit):
        unit *= primitive.unit if isinstance(primitive, Unit) else 1
        assert not isinstance(primitive.inner, Cm2Linear)
        primitive = primitive.inner
    return Window(size, unit, primitive.n), primitive


def signed(value: int, n: int) -> int:
    """The representative nearest zero mod n, as code would use it."""
    value %= n
    return value if value <= n // 2 else value - n


def scale_cost(scale: int, n: int, *, first: bool) -> int:
    """Cost of `scale * variable` as a summand of a sum mod n."""
    factor = signed(scale, n)
    if factor == 0:
        return 0
    joined = 0 if first and factor > 0 else 1
    return joined + (0 if abs(factor) == 1 else 1 if is_power_of_two(abs(factor)) else MULTIPLY_COST)


def divide_cost(n: int) -> int:
    """Cost of a division or a remainder by n."""
    return 0 if n == 1 else 1 if is_power_of_two(n) else DIVISION_COST


def window_cost(window: Window) -> int:
    """Taking the digit out and putting it back: i + (digit' - digit) * unit."""
    if window.whole:
        return 0
    scaled = divide_cost(window.unit) + (0 if window.unit == 1 else 1 if is_power_of_two(window.unit) else MULTIPLY_COST)
    return scaled + (divide_cost(window.count) if window.unit * window.count < window.size else 0) + 2


def core_cost(core: Core, window: Window, parameters: int) -> int:
    """Cost of a primitive on that digit when its parameter is below `parameters`."""
    match core:
        case Rot(n, scale, period, constant):
            floor = 1 + divide_cost(abs(period)) if period else 0
            return scale_cost(scale, n, first=False) + floor + (constant != 0) + divide_cost(n) + window_cost(window)
        case Fan(n, scale):
            shared = math.gcd(scale, n)
            floor = 1 + divide_cost(n // shared) if shared > 1 else 0
            return scale_cost(scale, n, first=True) + floor + divide_cost(n) + window_cost(window)
        case Xor(n, period, constant):
            # A mask is shifted into place: only a digit that is no bit field has to be taken out.
            shift = int(window.unit > 1) if is_power_of_two(window.unit) else window_cost(window)
            term = 0
            if period:
                term = 1 + divide_cost(period) + (0 if (parameters - 1) // period < mask_range(n) else 1)
            return shift + term + (constant != 0)
        case _:
            assert_never(core)
