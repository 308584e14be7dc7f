"""Products of four warps together, a group (`wgmma`): both factors of a part of a nest lie in shared memory in atoms.

An atom is 8 lines of 128 bytes that begins at a multiple of 1024 bytes, its pieces of 16 bytes permuted by `atoms_swizzle`.
A factor of 64 rows (or n columns) lies along the sum, a row in each line, or along its rows, a summed index in each line:

    along the sum    row r, k:   line (r mod 8) + stride (r / 8) + k
    along the rows   row r, k:   r mod line + leading (r / line) + line (k mod 8) + stride (k / 8)

in elements from the first one, before the permutation. Warp w of a group has rows 16 w to 16 w + 15 of one instruction, and a
thread's results lie as those of `mma.sync` do. So a part that whole warps can compute is one for groups where its factors lie so.
Where warps have more rows each, one after the other, an instruction takes every second 8 of them (or fourth, ...).

Source: PTX ISA 9.0, section 9.7.15.5 (wgmma: matrices in shared memory).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle import Xor
from warploom.machines import ATOM_ROWS, COLUMNS, GROUP_ROWS, GROUP_WARPS, MatrixInstruction
from warploom.schedule.nest.nodes import Affine, Kind, Loop, Nest
from warploom.schedule.nest.swizzle import Swizzle

Ints = NDArray[np.int64]
ATOM_BYTES = 1024
_ROWS_OF_WARP = GROUP_ROWS // GROUP_WARPS


@dataclass(frozen=True, slots=True)
class GroupFactor:
    """Where a factor lies, in elements."""

    is_along_sum: bool
    leading: int
    """Elements from a line's rows to the next ones, where it lies along its rows and has several lines of them; else 0."""
    stride: int
    """Elements from 8 lines to the next 8."""
    of_group: int
    """Elements from the rows of one group to those of the next; 0 for columns, which all have alike."""


@dataclass(frozen=True, slots=True)
class Group:
    """How groups compute a part."""

    rows: GroupFactor
    columns: GroupFactor
    width: int
    """Columns of the result of one instruction."""
    parts: tuple[int, ...]
    """Elements to the first of the rows of each instruction."""

    def row(self, part: int, half: int) -> int:
        """Which of a thread's rows is in one half of an instruction's registers."""
        return half * len(self.parts) + part


class _Factor(Protocol):
    """The parts of a `matrices.Factor` that this module asks for."""

    @property
    def base(self) -> Affine: ...
    @property
    def is_transposed(self) -> bool: ...
    @property
    def by_pair(self) -> int: ...
    @property
    def by_one(self) -> int: ...
    @property
    def across(self) -> int: ...
    @property
    def inward(self) -> int: ...
    @property
    def parts(self) -> tuple[int, ...]: ...
    @property
    def slices(self) -> tuple[int, ...]: ...


def atoms_swizzle(element_bytes: int) -> Swizzle:
    """The permutation in atoms: pieces of 16 bytes by the number of their line."""
    return Swizzle(Xor(ATOM_ROWS, 1), 16 // element_bytes)


def group_of(
    nest: Nest, on: MatrixInstruction, shape: Sequence[int], rows: _Factor, columns: _Factor, buffers: tuple[int, int],
    swizzles: tuple[Swizzle | None, Swizzle | None], loops: Mapping[int, Loop],
) -> Group | None:  # fmt: skip
    """None where groups cannot compute the part. shape: threads of the block, by dimension."""
    width = COLUMNS * len(columns.parts)
    if not on.has_groups or len(shape) > 3 or (shape[2:] or [1])[0] % GROUP_WARPS or not on.has_group_columns(width):
        return None
    if any(nest.buffers[b].alignment != ATOM_BYTES or s != atoms_swizzle(on.factor_bytes)
           for b, s in zip(buffers, swizzles, strict=True)):  # fmt: skip
        return None
    if columns.base.terms or columns.base.constant or rows.base.constant:
        return None
    of_warps = 0
    for number, stride in rows.base.terms:
        if loops[number].kind is not Kind.THREAD or loops[number].hardware != 2:
            return None
        of_warps += stride
    of_group = GROUP_WARPS * of_warps
    own = [part + half * rows.across for part in rows.parts for half in range(on.halves)]
    count = len(rows.parts)
    lying = [
        _lying(
            on, rows, [w * of_warps + own[half * count + n] - own[n] for w in range(GROUP_WARPS) for half in range(2)], of_group
        )
        for n in range(count)
    ]
    left, right = lying[0], _lying(on, columns, [p - columns.parts[0] for p in columns.parts], 0)
    if left is None or right is None or any(other != left for other in lying):
        return None
    parts = tuple(own[:count])
    return Group(left, right, width, parts) if _begin_atoms(on, (*parts, of_group, columns.parts[0])) else None


def _lying(on: MatrixInstruction, factor: _Factor, starts: Sequence[int], of_group: int) -> GroupFactor | None:
    """How the factor lies; None: in no way that `wgmma` reads. starts: where each 8 of its rows begin."""
    places = np.arange(ATOM_ROWS)
    one, deep = np.arange(ATOM_ROWS), np.arange(on.deep)
    steps = places // 2 * factor.by_pair + places % 2 * factor.by_one
    if factor.is_transposed:
        own, summed = one, steps[deep % 8]
    else:
        own, summed = steps, deep % on.group
    summed = summed + deep // on.group * factor.inward
    found = (np.array(starts)[:, None] + own).reshape(-1)[:, None] + summed
    line = on.atom_line
    rows = np.arange(len(found))[:, None]
    if not factor.is_transposed:
        stride = starts[1] if len(starts) > 1 else ATOM_ROWS * line
        wanted = line * (rows % 8) + stride * (rows // 8) + deep
        leading = 0
        slices_lie = all(s >= 0 and s % line + on.deep <= line for s in factor.slices)
    else:
        leading = starts[line // 8] if len(starts) > line // 8 else 0
        stride = int(summed[8]) if on.deep > 8 else ATOM_ROWS * line
        wanted = rows % line + leading * (rows // line) + line * (deep % 8) + stride * (deep // 8)
        slices_lie = _begin_atoms(on, factor.slices)
    if not slices_lie or not (found == wanted).all() or not _begin_atoms(on, (leading, stride)):
        return None
    return GroupFactor(not factor.is_transposed, leading, stride, of_group)


def _begin_atoms(on: MatrixInstruction, starts: Sequence[int]) -> bool:
    return all(s >= 0 and s * on.factor_bytes % ATOM_BYTES == 0 for s in starts)
