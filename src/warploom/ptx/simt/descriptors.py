"""Matrices in shared memory as wgmma and tcgen05.mma read them, by descriptor (PTX ISA 9.7.15.5.1, 9.7.16.4, 9.7.16.5).

A matrix has rows (of A; columns of B) and elements along k, 32 bytes of them for one instruction. In units of 16 bytes, with S
the stride and L the leading offset, both in the descriptor, and w units (1, 2, 4 or 8) in a line of the swizzle:
  k-major:  row r, unit u along k lies at w (r mod 8) + S (r / 8) + u; without a swizzle L u in place of u
  mn-major: unit u along the rows, element k at (u mod w) + L (u / w) + w (k mod 8) + S (k / 8); without a swizzle S and L change
and the swizzle mixes bits of the resulting address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.code import Access, Group, RunningBlocks
from warploom.ptx.simt.tensor_maps import swizzled

_UNIT = 16
_SWIZZLES_90 = {0: 0, 1: 3, 2: 2, 3: 1}
_SWIZZLES_100 = {0: 0, 2: 3, 4: 2, 6: 1}
Fault = Callable[[str, str], Exception]


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Offsets in bytes; `swizzle`: bits of a unit's number that are mixed."""

    start: int
    leading: int
    stride: int
    swizzle: int


def describe(word: int, *, is_blackwell: bool) -> Descriptor | str:
    """The fields of a descriptor; what is wrong with it otherwise."""
    kinds = _SWIZZLES_100 if is_blackwell else _SWIZZLES_90
    swizzle = kinds.get(word >> 61 if is_blackwell else word >> 62)
    if swizzle is None:
        return f"the swizzle mode {word >> 61}"
    if swizzle and word >> 49 & 7:  # without a swizzle nothing is counted from it
        return f"the base offset {word >> 49 & 7}"
    if is_blackwell and word >> 52 & 1:
        return "an absolute leading offset"
    field = 0x3FFF
    return Descriptor((word & field) << 4, (word >> 16 & field) << 4, (word >> 32 & field) << 4, swizzle)


def offsets(found: Descriptor, rows: int, deep: int, size: int, *, is_mn_major: bool) -> NDArray[np.int64]:
    """[rows, deep]: bytes of each element after the start, before the swizzle. size: bytes of an element."""
    r, k = np.arange(rows, dtype=np.int64)[:, None], np.arange(deep, dtype=np.int64)[None, :]
    line = _UNIT << found.swizzle
    if not is_mn_major:
        unit, inside = k * size // _UNIT, k * size % _UNIT
        return line * (r % 8) + found.stride * (r // 8) + unit * (_UNIT if found.swizzle else found.leading) + inside
    unit, inside = r * size // _UNIT, r * size % _UNIT
    far, deep_step = (found.leading, found.stride) if found.swizzle else (found.stride, found.leading)
    wide = 1 << found.swizzle
    return _UNIT * (unit % wide) + far * (unit // wide) + line * (k % 8) + deep_step * (k // 8) + inside


def places(found: Descriptor, rows: int, deep: int, size: int, *, is_mn_major: bool) -> NDArray[np.int64]:
    """[rows, deep]: bytes in the shared memory of a block."""
    return swizzled(found.start + offsets(found, rows, deep, size, is_mn_major=is_mn_major), found.swizzle)


def fetch(
    access: Access, word: int, shape: tuple[int, int, int], block: int, one: Group, running: RunningBlocks, *,
    is_mn_major: bool, is_blackwell: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """[rows, deep] bytes of a matrix of (rows, deep, size) in the shared memory of the batch, and the words that hold them.

    Fault for a descriptor that the interpreter does not know, or that reaches beyond the block's shared memory.
    """
    rows, deep, size = shape
    thread = int(one.threads[0])
    found = describe(word, is_blackwell=is_blackwell)
    if isinstance(found, str):
        message = f"a matrix descriptor {word:#018x} with {found}, which the interpreter does not know"
        raise running.fault("bad_call", message, access.code, access.instruction, thread)
    at = places(found, rows, deep, size, is_mn_major=is_mn_major)
    limit = running.launch.shared_bytes
    if int(at.max()) + size > limit:
        message = f"a matrix of {rows} by {deep} elements from byte {found.start} of shared memory, which has {limit} bytes, "
        message += f"reaches byte {int(at.max()) + size}"
        raise running.fault("out_of_bounds", message, access.code, access.instruction, thread)
    at = at + block * running.launch.shared_stride
    return at, np.unique(at >> 2)
