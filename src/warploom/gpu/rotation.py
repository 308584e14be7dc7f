"""Dynamic permutations of register arrays, found in index expressions and written as steps with constant indices.

Source: Swizzle Inventor, section 6.3 (barrel array rotation, after Catanzaro et al.): rotating by a dynamic amount r takes one
conditional rotation by 2^s for each bit s of r. Exchanging every place p with p ^ r takes one conditional exchange per bit alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom.ir import (
    Compare,
    For,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexVar,
    Ranges,
    grid,
    leaves,
    map_index,
    simplify,
    tabulate,
)

MOST_POINTS = 1 << 20
Table: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rotation:
    """`index` = (static + amount * stride) rotated inside groups: read a copy of the array rotated so, at `static`."""

    amount: IndexExpr
    """Amount without the loop variable; 0 <= amount < group / stride."""
    stride: int
    group: int
    """Rotation wraps inside groups of this many registers (the whole array, mostly)."""
    static: IndexExpr
    """Index over loop variables that are unrolled."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """One for each of the ceil(log2(group / stride)) bits of the amount."""
        return tuple(Step(bit, self.stride << bit) for bit in range((self.group // self.stride - 1).bit_length()))


@dataclass(frozen=True, slots=True)
class Exchange:
    """`index` = static ^ amount: read a copy of the array with every place p exchanged with p ^ amount, at `static`."""

    amount: IndexExpr
    """Amount without the loop variable."""
    bits: int
    """Every bit that the amount may have; all places p ^ bits are registers."""
    static: IndexExpr
    """Index over loop variables that are unrolled."""

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(Step(bit, 1 << bit) for bit in range(self.bits.bit_length()) if self.bits >> bit & 1)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that is taken where `bit` of the amount is set."""

    bit: int
    distance: int
    """Distance between a register and the one its value comes from."""


Permutation: TypeAlias = Rotation | Exchange


def find_permutation(index: IndexExpr, loop: IndexVar, registers: int, ranges: Ranges) -> Permutation | None:
    """`index` into an array of `registers` as a permutation by an amount free of `loop`, with the fewest steps.

    Decided on all values of all variables.
    """
    others = tuple(e for e in dict.fromkeys(leaves(index)) if e != loop)
    axes = grid((*others, loop), ranges, MOST_POINTS)
    if axes is None or not others:
        return None
    points, trips = int(np.prod([axes[e].size for e in others])), axes[loop].size
    shape = tuple(axes[e].size for e in (*others, loop))
    table = np.broadcast_to(tabulate(index, axes), shape).reshape(points, trips)
    if not table.size or table.min() < 0 or table.max() >= registers:
        return None
    first = IndexConst(int(axes[loop].flat[0]))
    at_first = map_index(index, lambda e: first if e == loop else None)
    lows: dict[IndexExpr, IndexConst] = {e: IndexConst(int(axes[e].flat[0])) for e in others}
    static = simplify(map_index(index, lows.get), ranges)
    found = [*_rotations(table, at_first, static, registers, ranges), *_exchanges(table, at_first, static, registers, ranges)]
    return min(found, key=lambda p: (len(p.steps), _inside_groups(p, registers)), default=None)


def _inside_groups(permutation: Permutation, registers: int) -> bool:
    return isinstance(permutation, Rotation) and permutation.group < registers


def _rotations(table: Table, at_first: IndexExpr, static: IndexExpr, registers: int, ranges: Ranges) -> Iterator[Rotation]:
    base = table[0]
    for group in (g for g in range(registers, 1, -1) if registers % g == 0):
        amounts = (table[:, :1] - base[0]) % group
        if np.array_equal(table, base // group * group + (base + amounts) % group):
            stride = gcd(group, *(int(a) for a in np.unique(amounts)))
            start = IndexBinary("%", IndexBinary("-", at_first, IndexConst(int(base[0]))), IndexConst(group))
            yield Rotation(simplify(IndexBinary("//", start, IndexConst(stride)), ranges), stride, group, static)


def _exchanges(table: Table, at_first: IndexExpr, static: IndexExpr, registers: int, ranges: Ranges) -> Iterator[Exchange]:
    base = table[0]
    amounts = table[:, :1] ^ base[0]
    bits = int(np.bitwise_or.reduce(amounts, axis=None))
    if np.array_equal(table, base ^ amounts) and registers % (1 << bits.bit_length()) == 0:
        yield Exchange(simplify(IndexBinary("^", at_first, IndexConst(int(base[0]))), ranges), bits, static)


def inverse(permutation: Permutation, ranges: Ranges) -> Permutation:
    """The permutation that brings values stored at `static` to `index`."""
    match permutation:
        case Rotation(amount, stride, group):
            count = IndexConst(group // stride)
            return replace(permutation, amount=simplify(IndexBinary("%", IndexBinary("-", count, amount), count), ranges))
        case Exchange():
            return permutation
        case _:
            assert_never(permutation)


def covers(static: IndexExpr, loop: For, registers: int) -> bool:
    """Whether `loop` takes `static` through every register once."""
    if not isinstance(loop.start, IndexConst) or not isinstance(loop.stop, IndexConst):
        return False
    values = np.arange(loop.start.value, loop.stop.value, loop.step)
    places = np.broadcast_to(tabulate(static, {IndexVar(loop.var): values}), values.shape)
    return sorted(places.tolist()) == list(range(registers))


def source_of(permutation: Permutation, step: Step, position: IndexExpr, registers: int) -> IndexExpr:
    """The register from which register `position` comes in a step that is taken."""
    distance = IndexConst(step.distance)
    match permutation:
        case Exchange():
            return IndexBinary("^", position, distance)
        case Rotation(group=group):
            size = IndexConst(group)
            inside = IndexBinary("%", IndexBinary("+", position, distance), size)
            if group == registers:
                return inside
            return IndexBinary("+", IndexBinary("*", IndexBinary("//", position, size), size), inside)
        case _:
            assert_never(permutation)


def described(permutation: Permutation, array: str, amount: str, registers: int) -> str:
    """A comment that says what all steps together do."""
    match permutation:
        case Exchange():
            return f"{array}[p] and {array}[p ^ {amount}] exchanged"
        case Rotation(stride=stride, group=group):
            what = f"every group of {group} of {array}" if group < registers else array
            return f"{what} rotated by {amount}" + (f" * {stride}" if stride > 1 else "")
        case _:
            assert_never(permutation)


def has_bit(amount: IndexExpr, bit: int) -> IndexExpr:
    return Compare("!=", IndexBinary("&", amount, IndexConst(1 << bit)), IndexConst(0))
