"""Products of small floats with a scale for every 16 or 32 elements along k: kinds mxf8f6f4, mxf4 and mxf4nvf4.

Every element times its scale is exact in double precision; the sum goes as in `mma`. Elements of less than a byte come in three
packings (PTX ISA 9.0, 9.7.14.2 and 9.7.16.3):
  dense    two elements of e2m1 to a byte, the lower four bits first
  padded   in shared memory, 16 elements to 16 bytes: their bits from the lowest on, then zeros (eight bytes of e2m1, twelve of
           e2m3 and e3m2)
  held     in registers and in tensor memory, one element to a byte: e2m1 in bits 2 to 5, e2m3 and e3m2 in bits 0 to 5
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from warploom.ptx.simt.numerics.float_formats import decode, encode
from warploom.ptx.simt.numerics.scalars import Bits, Reals

Packing: TypeAlias = Literal["dense", "padded", "held"]
SMALL: dict[str, int] = {"e2m1": 4, "e2m3": 6, "e3m2": 6}
"""Types of less than a byte, with their bits."""
_PIECE = 16


def elements(type_name: str, raw: Bits, packing: Packing) -> Reals:
    """Values [..., elements] of bytes [..., bytes]; twice as many elements as bytes in the dense packing."""
    bits = SMALL.get(type_name)
    if bits is None:
        return decode(type_name, raw)
    mask = np.uint8((1 << bits) - 1)
    if packing == "held":
        return decode(type_name, (raw >> np.uint8(2 if bits == 4 else 0)) & mask)
    if packing == "dense":
        halves = np.stack([raw & mask, raw >> np.uint8(4)], axis=-1)
        return decode(type_name, halves.reshape(*raw.shape[:-1], -1))
    return decode(type_name, _unpadded(raw, bits))


def padded_as_held(raw: Bits, bits: int) -> Bits:
    """Bytes in the padded packing as bytes in that of tensor memory."""
    return _unpadded(raw, bits) << np.uint8(2 if bits == 4 else 0)


def _unpadded(raw: Bits, bits: int) -> Bits:
    """[..., bytes] of elements of 4 or 6 bits, 16 of them to 16 bytes: each element in a byte."""
    pieces = raw.reshape(*raw.shape[:-1], -1, _PIECE)
    single = np.unpackbits(pieces, axis=-1, bitorder="little")[..., : bits * _PIECE]
    weights = (1 << np.arange(bits)).astype(np.uint8)
    words = (single.reshape(*single.shape[:-1], _PIECE, bits) * weights).sum(axis=-1, dtype=np.uint8)
    return words.reshape(raw.shape)


def scaled(matrix: Reals, scale_type: str, scales: Bits) -> Reals:
    """Elements [..., rows, k] times the scales [..., rows, groups] of their groups along k."""
    return matrix * np.repeat(decode(scale_type, scales), matrix.shape[-1] // scales.shape[-1], axis=-1)


def product_of_values(left: Reals, right: Reals, addend: Bits, sum_type: str) -> Bits:
    """A B + C of values [..., rows, k] and [..., columns, k], rounded once to the type of C."""
    total = np.zeros(addend.shape, np.float64)
    for step in range(left.shape[-1]):
        total += left[..., :, None, step] * right[..., None, :, step]
    return encode(sum_type, total + decode(sum_type, addend))
