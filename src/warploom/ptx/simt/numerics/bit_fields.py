"""Counting, finding, extracting and permuting bits.

Source: PTX ISA 9.0, sections 9.7.1 (popc to bmsk) and 9.7.9 (prmt).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from warploom.ptx.simt.numerics.scalars import UNSIGNED, Bits, join, scalar_type, signed, split

_PERMUTATIONS: dict[str, tuple[int, int, int, int]] = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def popc(type_name: str, a: Bits) -> Bits:
    """The number of one bits of b32 or b64, as u32."""
    del type_name
    return np.bitwise_count(a).astype(np.uint32)


def clz(type_name: str, a: Bits) -> Bits:
    """The number of leading zeros of b32 or b64 (32 or 64 for zero), as u32."""
    bits = scalar_type(type_name).bits
    return np.uint32(bits) - np.bitwise_count(_smear(a, bits)).astype(np.uint32)


def bfind(type_name: str, a: Bits, *, shiftamt: bool = False) -> Bits:
    """The position (u32) of the highest one bit, for s types of the highest bit unlike the sign; 0xffffffff if none.

    `shiftamt`: instead the left shift that brings that bit to the top. Types s/u 32 and 64.
    """
    row = scalar_type(type_name)
    if row.is_signed:
        a = np.where(signed(a) < 0, ~a, a)
    position = np.bitwise_count(_smear(a, row.bits)).astype(np.uint32) - np.uint32(1)
    if not shiftamt:
        return position
    return np.where(position == np.uint32(0xFFFFFFFF), position, np.uint32(row.bits - 1) - position)


def fns(mask: Bits, base: Bits, offset: Bits) -> Bits:
    """The position of the offset-th one bit of mask from bit base (upwards if offset > 0, downwards if < 0), or ~0.

    With offset 0: base if that bit is one. All operands 32 bits; offset is read as s32.
    """
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    step = signed(offset)
    result = np.full(mask.shape, 0xFFFFFFFF, np.uint32)
    is_set = (mask >> np.minimum(base, np.uint32(31))) & np.uint32(1)
    result = np.where((step == 0) & (is_set == 1) & (base < 32), base, result)
    for forward, positions in ((True, range(32)), (False, range(31, -1, -1))):
        wanted = step if forward else -step.astype(np.int64)
        seen = np.zeros(mask.shape, np.int64)
        for position in positions:
            inside = (base <= position) if forward else (base >= position)
            hit = inside & (((mask >> np.uint32(position)) & np.uint32(1)) == 1)
            seen += hit
            result = np.where(hit & (seen == wanted) & (base < 32), np.uint32(position), result)
    return result


def brev(type_name: str, a: Bits) -> Bits:
    """The bits of b32 or b64 in reverse order."""
    bits = scalar_type(type_name).bits
    word = UNSIGNED[bits].type
    whole = (1 << bits) - 1
    distance = bits // 2
    mask = whole
    while distance:
        mask ^= (mask << distance) & whole
        a = ((a >> word(distance)) & word(mask)) | ((a & word(mask)) << word(distance))
        distance //= 2
    return a


def bfe(type_name: str, a: Bits, position: Bits, length: Bits) -> Bits:
    """Bits [position, position + length) of a, zero- or (s types) sign-extended; types s/u 32 and 64.

    Only the low 8 bits of position and length (u32) count; bits beyond the top read as the extension, and the sign is
    the field's top bit or, when the field sticks out, a's.
    """
    row = scalar_type(type_name)
    word = UNSIGNED[row.bits].type
    start = (position & np.uint32(255)).astype(word)
    width = (length & np.uint32(255)).astype(word)
    mask = _low_ones(width, row.bits)
    field = (a >> start) & mask
    if not row.is_signed:
        return field
    top = np.minimum(start + np.maximum(width, word(1)) - word(1), word(row.bits - 1))
    inside = mask & _low_ones(word(row.bits) - np.minimum(start, word(row.bits)), row.bits)
    negative = (((a >> top) & word(1)) == 1) & (width != 0)
    return np.where(negative, field & inside | ~inside, field)


def bfi(type_name: str, a: Bits, b: Bits, position: Bits, length: Bits) -> Bits:
    """b with bits [position, position + length) replaced by the low bits of a; b32 or b64, as `bfe` otherwise."""
    bits = scalar_type(type_name).bits
    word = UNSIGNED[bits].type
    start = (position & np.uint32(255)).astype(word)
    mask = _low_ones((length & np.uint32(255)).astype(word), bits) << start
    return (b & ~mask) | ((a << start) & mask)


def szext(type_name: str, mode: Literal["clamp", "wrap"], a: Bits, width: Bits) -> Bits:
    """The low `width` bits of a, sign- (s32) or zero-extended (u32); width 0 gives 0; from 32 on a itself or width mod 32."""
    count = np.minimum(width, np.uint32(32)) if mode == "clamp" else width & np.uint32(31)
    mask = _low_ones(count, 32)
    field = a & mask
    if type_name != "s32":
        return field
    negative = ((a >> (np.maximum(count, np.uint32(1)) - np.uint32(1))) & np.uint32(1)) == 1
    return np.where(negative & (count != 0), field | ~mask, field)


def bmsk(mode: Literal["clamp", "wrap"], start: Bits, width: Bits) -> Bits:
    """Ones at bits [start, start + width) of 32; both modulo 32 (wrap), or a start or width from 32 on sticks out (clamp)."""
    position, count = start & np.uint32(31), width & np.uint32(31)
    if mode == "wrap":
        return _low_ones(count, 32) << position
    return _low_ones(np.minimum(width, np.uint32(32)), 32) << np.minimum(start, np.uint32(32))


def prmt(mode: str, a: Bits, b: Bits, c: Bits) -> Bits:
    """Four bytes picked from {b, a} (a holds bytes 0 to 3).

    mode "": by the four nibbles of c, whose top bit replicates the byte's sign; f4e, b4e, rc8, ecl, ecr, rc16: by the
    fixed pattern that the two low bits of c choose.
    """
    if mode:
        c = np.array(_PERMUTATIONS[mode], np.uint32)[np.asarray(c & np.uint32(3))]
    if np.ndim(c) == 0:
        return _permute(a, b, int(c))
    source = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    result = np.uint32(0)
    for place in range(4):
        control = c >> np.uint32(4 * place)
        byte = (source >> ((control & np.uint32(7)) << np.uint32(3)).astype(np.uint64)).astype(np.uint32) & np.uint32(255)
        if not mode:
            sign = np.where(byte >= 128, np.uint32(255), np.uint32(0))
            byte = np.where((control & np.uint32(8)) == 8, sign, byte)
        result = result | (byte << np.uint32(8 * place))
    return np.asarray(result)


def _permute(a: Bits, b: Bits, selector: int) -> Bits:
    """prmt by one selector for all lanes."""
    a, b = np.broadcast_arrays(a, b)
    source = (split(a, 4), split(b, 4))
    result = np.empty((*a.shape, 4), np.uint8)
    for place in range(4):
        control = selector >> 4 * place
        byte = source[control >> 2 & 1][..., control & 3]
        result[..., place] = (byte >> np.uint8(7)) * np.uint8(255) if control & 8 else byte
    return join(result)


def _smear(a: Bits, bits: int) -> Bits:
    """Every bit at and below the highest one bit set."""
    distance = 1
    while distance < bits:
        a = a | (a >> a.dtype.type(distance))
        distance *= 2
    return a


def _low_ones(count: Bits, bits: int) -> Bits:
    """The `count` lowest bits set; all from `bits` on. NumPy shifts by the width or more give zero."""
    word = UNSIGNED[bits].type
    return ~(~word(0) << count.astype(word))
