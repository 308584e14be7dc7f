"""Dynamic rotations of register arrays, found in index expressions and written as steps with constant indices.

Source: Swizzle Inventor, section 6.3 (barrel array rotation, after Catanzaro et al.): rotating by a dynamic amount r takes one
conditional rotation by 2^s for each bit s of r.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from warploom.ir import (
    Compare,
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


@dataclass(frozen=True, slots=True)
class Rotation:
    """`index` = (static + amount * stride) rotated inside groups: read a copy of the array rotated so, at `static`."""

    amount: IndexExpr
    """Without the loop variable; 0 <= amount < group / stride."""
    stride: int
    group: int
    """Rotation wraps inside groups of this many registers (the whole array, mostly)."""
    static: IndexExpr
    """Over loop variables that are unrolled."""

    @property
    def steps(self) -> tuple[int, ...]:
        """Distances of the conditional rotations, for bit 0, 1, ... of the amount: ceil(log2(group / stride)) of them."""
        return tuple(self.stride << s for s in range((self.group // self.stride - 1).bit_length()))


def find_rotation(index: IndexExpr, loop: IndexVar, registers: int, ranges: Ranges) -> Rotation | None:
    """`index` into an array of `registers` as a rotation by an amount free of `loop`; decided on all values."""
    others = tuple(e for e in dict.fromkeys(leaves(index)) if e != loop)
    axes = grid((*others, loop), ranges, MOST_POINTS)
    if axes is None or not others:
        return None
    points, trips = int(np.prod([axes[e].size for e in others])), axes[loop].size
    shape = tuple(axes[e].size for e in (*others, loop))
    table = np.broadcast_to(tabulate(index, axes), shape).reshape(points, trips)
    if table.min() < 0 or table.max() >= registers:
        return None
    base, first = table[0], int(axes[loop].flat[0])
    best: Rotation | None = None
    for group in (g for g in range(registers, 1, -1) if registers % g == 0):
        amounts = (table[:, :1] - base[0]) % group
        rotated = base // group * group + (base + amounts) % group
        if not np.array_equal(table, rotated):
            continue
        stride = gcd(group, *(int(a) for a in np.unique(amounts)))
        at_first = map_index(index, lambda e: IndexConst(first) if e == loop else None)
        start = IndexBinary("%", IndexBinary("-", at_first, IndexConst(int(base[0]))), IndexConst(group))
        amount = simplify(IndexBinary("//", start, IndexConst(stride)), ranges)
        lows: dict[IndexExpr, IndexConst] = {e: IndexConst(int(axes[e].flat[0])) for e in others}
        found = Rotation(amount, stride, group, simplify(map_index(index, lambda e, at=lows: at.get(e)), ranges))
        if best is None or len(found.steps) < len(best.steps):
            best = found
    return best


def rotated_position(position: IndexExpr, distance: int, group: int, registers: int) -> IndexExpr:
    """Where register `position` comes from when every group is rotated by `distance`."""
    if group == registers:
        return IndexBinary("%", IndexBinary("+", position, IndexConst(distance)), IndexConst(group))
    inside = IndexBinary("%", IndexBinary("+", position, IndexConst(distance)), IndexConst(group))
    return IndexBinary("+", IndexBinary("*", IndexBinary("//", position, IndexConst(group)), IndexConst(group)), inside)


def has_bit(amount: IndexExpr, bit: int) -> IndexExpr:
    return Compare("!=", IndexBinary("&", amount, IndexConst(1 << bit)), IndexConst(0))
