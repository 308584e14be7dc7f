"""Index remappings phi: element e of the array is kept at phi(e), a different address for every e.

none       phi(e) = e
padding    phi(e) = e + e // p + e // p2 + ...                              extra storage
swizzle    phi(e) = row * banks + composition(column), row = e // banks     permutes each row; `ir.swizzle`, i column, j row
table      phi(e) = table[e]                                                any injection
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np

from warploom.ir.swizzle import Composition, Rot, Xor, divide_cost
from warploom.scan.layouts.trace import Ints

TABLE_OPERATIONS = 4
"""Operations that looking up an address counts for: a load from constant memory, which lanes do not share."""


@dataclass(frozen=True, slots=True)
class Plain:
    def __str__(self) -> str:
        return "e"


@dataclass(frozen=True, slots=True)
class Padding:
    periods: tuple[int, ...]

    def __str__(self) -> str:
        return "e" + "".join(f" + e // {period}" for period in self.periods)


@dataclass(frozen=True, slots=True)
class Swizzle:
    banks: int
    composition: Composition
    """Composition that maps the column (i) and the row (j) of e."""

    def __str__(self) -> str:
        return f"j * {self.banks} + {self.composition}, i = e % {self.banks}, j = e // {self.banks}"


@dataclass(frozen=True, slots=True)
class Lookup:
    addresses: tuple[int, ...]

    def __str__(self) -> str:
        return f"{list(self.addresses)}[e]"


Remap: TypeAlias = Plain | Padding | Swizzle | Lookup


def addresses(remap: Remap, elements: int) -> Ints:
    """phi(0), ..., phi(elements - 1); ValueError if two are equal."""
    cells = np.arange(elements)
    match remap:
        case Plain():
            found = cells
        case Padding(periods):
            found = cells + sum(cells // period for period in periods)
        case Swizzle(banks, composition):
            found = cells // banks * banks + composition.apply(cells % banks, cells // banks)
        case Lookup(table):
            found = np.array(table[:elements])
        case _:
            assert_never(remap)
    if len(np.unique(found)) != elements:
        raise ValueError(f"two of {elements} elements share an address under {remap}")
    return found


def operations(remap: Remap, elements: int) -> int:
    """Index operations of one address, in units of `ir.index_cost`."""
    match remap:
        case Plain():
            return 0
        case Padding(periods):
            return sum(1 + divide_cost(period) for period in periods)
        case Swizzle(banks, composition):
            rows = -(-elements // banks)
            split = divide_cost(banks)
            # An exclusive or works on the whole address; a sum is taken out of the row and put back.
            put_back = 0 if all(isinstance(p, Xor) for p in composition.primitives) else divide_cost(banks) + 2
            return composition.cost(banks, rows) + split + put_back
        case Lookup():
            return TABLE_OPERATIONS
        case _:
            assert_never(remap)


def paddings(elements: int, banks: int) -> Iterator[Padding]:
    """Every single period below the size, and the multi-level ones by powers of the banks."""
    yield from (Padding((period,)) for period in range(1, elements))
    powers: list[int] = []
    while banks > 1 and banks ** (len(powers) + 1) < elements:
        powers.append(banks ** (len(powers) + 1))
        if len(powers) > 1:
            yield Padding(tuple(powers))


def swizzles(elements: int, banks: int) -> Iterator[Swizzle]:
    """Exclusive ors with bits of the row, and rotations by multiples of it or of its bits; pairs of exclusive ors."""
    rows = -(-elements // banks)
    periods = [2**k for k in range(max(1, rows.bit_length())) if 2**k < rows or k == 0]
    power_of_two = banks & (banks - 1) == 0
    masks = [Xor(banks, period) for period in periods] if power_of_two and banks > 1 else []
    yield from (Swizzle(banks, Composition("i", (mask,))) for mask in masks)
    yield from (Swizzle(banks, Composition("i", (one, two))) for n, one in enumerate(masks) for two in masks[:n])
    for period in periods:
        if banks > 1:
            yield from (Swizzle(banks, Composition("i", (_turn(banks, scale, period),))) for scale in range(1, banks))


def _turn(banks: int, scale: int, period: int) -> Rot:
    return Rot(banks, scale) if period == 1 else Rot(banks, scale - 1, period)
