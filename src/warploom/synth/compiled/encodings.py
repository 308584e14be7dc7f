"""Bits of floats of every type, and the numbers that they stand for."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import isfinite

import numpy as np

from warploom.core import FACTORS, DType, f16, f32, f64, values_of, words_of

_FLOAT_CODES: dict[str, tuple[str, str]] = {f16.name: ("<e", "<H"), f32.name: ("<f", "<I"), f64.name: ("<d", "<Q")}


def decoded(bits: int, kind: DType) -> float | Fraction:
    """The number that the bits of a float of type `kind` stand for; a float where it is infinite or NaN."""
    if kind.name == "bf16":
        number: float = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    elif kind in FACTORS:
        word = np.uint8(bits) if kind.is_held else np.uint32(bits).view(np.float32)
        number = float(values_of(kind, np.array([word]))[0])
    else:
        floating, word = _FLOAT_CODES[kind.name]
        number = struct.unpack(floating, struct.pack(word, bits))[0]
    return Fraction(number) if isfinite(number) else number


def encoded(number: float, kind: DType) -> int:
    """Bits of a number that `kind` holds, rounded to nearest otherwise. OverflowError beyond its range."""
    if kind.name == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", number))[0]
        nearest: float = struct.unpack("<f", struct.pack("<I", bits))[0]
        if nearest != number:  # to the odd one of two neighbours: rounded to the nearest twice, it would not be the nearest
            bits = (bits - (abs(nearest) > abs(number))) | 1
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF
    if kind in FACTORS:
        found = np.array([number], np.float32)
        return int(words_of(kind, found)[0]) if kind.is_held else int(values_of(kind, found).view(np.uint32)[0])
    floating, word = _FLOAT_CODES[kind.name]
    return struct.unpack(word, struct.pack(floating, number))[0]
