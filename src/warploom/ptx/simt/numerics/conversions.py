"""cvt between integers and floats of every width, the packed forms, and cvt.pack.

Source: PTX ISA 9.0, sections 9.7.9 (cvt, cvt.pack) and 6.5 (conversion).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.numerics.float_arithmetic import relu_of, saturate
from warploom.ptx.simt.numerics.float_formats import bf16_of_f32, decode, encode, flush
from warploom.ptx.simt.numerics.scalars import (
    SIGNED,
    UNSIGNED,
    Bits,
    Reals,
    Rounding,
    ScalarType,
    join,
    scalar_type,
    signed,
    split,
    unsupported,
)

_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_INTEGER_TYPES = {"s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16}


def convert(
    result_type: str,
    source_type: str,
    a: Bits,
    *,
    rounding: str = "",
    ftz: bool = False,
    sat: bool = False,
    relu: bool = False,
    satfinite: bool = False,
) -> Bits:
    """cvt[.rounding][.ftz][.sat].result_type.source_type of one operand, in the result type's width.

    A wider register is cut to the source type first. rounding: "" where PTX needs none, rni rzi rmi rpi (to an integer,
    also within a float type), rn rz rm rp, rna (tf32).
    Integer to integer: extended by the source's sign, then cut, or clamped with `sat`.
    Float to integer: rounded and clamped to the result's range; NaN gives 0, or 1 << (width - 1) if the source is f64 or
    the result has 64 bits.
    Float to float: `sat` clamps to [+0, 1]; `ftz` concerns f32 operands and results; `relu`, `satfinite` as PTX.
    Packed: f16x2 and bf16x2 from e4m3x2, e5m2x2, e2m3x2, e3m2x2, e2m1x2 or ue8m0x2, and back to the first five.
    """
    row, source = scalar_type(result_type), scalar_type(source_type)
    a = fit(source_type, a, source.register_bits)
    if row.lanes == 2 and source.lanes == 2:
        parts = np.stack([a & np.uint8(15), a >> np.uint8(4)], axis=-1) if source.bits == 4 else split(a, 2)
        found = convert(row.element.name, source.element.name, parts, rounding=rounding, relu=relu, satfinite=satfinite)
        return _joined(row, found)
    if not source.is_float:
        if not row.is_float:
            return _resize(row, source, a, sat)
        result = _from_integer(row, source, a, _direction(rounding))
        return saturate(result_type, result) if sat else result
    if ftz and source_type == "f32":
        a = flush("f32", a)
    if not row.is_float:
        return _to_integer(row, source, a, rounding)
    if rounding in _TO_INTEGER:
        result = encode(result_type, _TO_INTEGER[rounding](decode(source_type, a)))
    elif result_type == "f64" and source_type == "f32":
        result = a.view(np.float32).astype(np.float64).view(np.uint64)
    elif result_type == "bf16" and source_type == "f32" and rounding == "rn" and not satfinite:
        result = bf16_of_f32(a)
    else:
        result = encode(result_type, decode(source_type, a), _direction(rounding), satfinite=satfinite)
    if ftz and result_type == "f32":
        result = flush("f32", result)
    if sat:
        result = saturate(result_type, result)
    return relu_of(result_type, result) if relu else result


def convert_pair(
    result_type: str, source_type: str, a: Bits, b: Bits, *, rounding: str, relu: bool = False, satfinite: bool = False
) -> Bits:
    """cvt to f16x2, bf16x2 or a packed type of bytes or less from two f32: a goes to the upper half, b to the lower one."""
    row = scalar_type(result_type)
    a, b = np.broadcast_arrays(a, b)
    parts = np.stack([b, a], axis=-1)
    return _joined(row, convert(row.element.name, source_type, parts, rounding=rounding, relu=relu, satfinite=satfinite))


def _joined(row: ScalarType, parts: Bits) -> Bits:
    """Two values, the lower one first, as a packed register; those of four bits in a byte."""
    return parts[..., 0] | (parts[..., 1] << np.uint8(4)) if row.bits == 4 else join(parts)


def convert_pack(convert_type: str, source_type: str, a: Bits, b: Bits, c: Bits | None = None) -> Bits:
    """cvt.pack.sat.convert_type.source_type[.b32]: a above b, both clamped; for 2, 4 and 8 bits, c is shifted up above."""
    bits = _INTEGER_TYPES.get(convert_type)
    if bits is None or source_type not in ("s32", "u32"):
        raise unsupported(f"cvt.pack.sat.{convert_type}.{source_type}")
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if convert_type[0] == "s" else (0, (1 << bits) - 1)

    def clamp(value: Bits) -> Bits:
        wide = (signed(value) if source_type == "s32" else value).astype(np.int64)
        return np.clip(wide, low, high).astype(np.uint32) & np.uint32((1 << bits) - 1)

    pair = (clamp(a) << np.uint32(bits)) | clamp(b)
    return pair if bits == 16 or c is None else pair | (c << np.uint32(2 * bits))


def fit(type_name: str, bits: Bits, register_bits: int) -> Bits:
    """A value in a register of another width: cut, or extended by the type's sign, as cvt, ld and st do."""
    if 8 * bits.dtype.itemsize == register_bits:
        return bits
    if 8 * bits.dtype.itemsize < register_bits and type_name[0] == "s":
        return signed(bits).astype(SIGNED[register_bits]).view(UNSIGNED[register_bits])
    return bits.astype(UNSIGNED[register_bits])


def _direction(rounding: str) -> Rounding:
    match rounding:
        case "":
            return "rn"
        case "rn" | "rz" | "rm" | "rp" | "rna":
            return rounding
        case _:
            raise unsupported(f"cvt with rounding .{rounding}")


def _limits(row: ScalarType) -> tuple[int, int]:
    return (-(1 << (row.bits - 1)), (1 << (row.bits - 1)) - 1) if row.is_signed else (0, (1 << row.bits) - 1)


def _resize(row: ScalarType, source: ScalarType, a: Bits, sat: bool) -> Bits:
    if not sat:
        return fit(source.name, a, row.bits)
    low, high = _limits(row)
    source_low, source_high = _limits(source)
    values: NDArray[Any] = signed(a) if source.is_signed else a
    kind = values.dtype.type
    clamped = np.clip(values, kind(max(low, source_low)), kind(min(high, source_high)))
    return fit(source.name, clamped.view(a.dtype), row.bits)


def _to_integer(row: ScalarType, source: ScalarType, a: Bits, rounding: str) -> Bits:
    function = _TO_INTEGER.get(rounding)
    if function is None:
        raise unsupported(f"cvt to .{row.name} with rounding .{rounding or '(none)'}")
    value = function(decode(source.name, a))
    low, high = _limits(row)
    # The largest 64-bit integers are no doubles; the least double above them is.
    above = value >= float(high + 1)
    below = value < float(low)
    nan = np.isnan(value)
    inside = np.where(above | below | nan, 0.0, value)
    kind = SIGNED if row.is_signed else UNSIGNED
    word = UNSIGNED[row.bits].type
    result = inside.astype(kind[64]).astype(kind[row.bits]).view(UNSIGNED[row.bits])
    mask = (1 << row.bits) - 1
    result = np.where(above, word(high & mask), np.where(below, word(low & mask), result))
    if not nan.any():
        return result
    indefinite = 1 << (row.bits - 1) if source.name == "f64" or row.bits == 64 else 0
    return np.where(nan, word(indefinite), result)


def _from_integer(row: ScalarType, source: ScalarType, a: Bits, rounding: Rounding) -> Bits:
    values: NDArray[Any] = signed(a) if source.is_signed else a
    if row.name == "f32" and rounding == "rn":
        return values.astype(np.float32).view(np.uint32)
    if source.bits < 64:
        return encode(row.name, values.astype(np.float64), rounding)
    if row.name == "f64" and rounding == "rn":
        return values.astype(np.float64).view(np.uint64)
    negative = values < 0 if source.is_signed else np.zeros(np.shape(a), np.bool_)
    magnitude = np.where(negative, np.negative(a), a)
    if row.name == "f64":
        return _large_to_f64(magnitude, negative, rounding).view(np.uint64)
    # 52 of the bits and a sticky one: enough for every narrower format.
    dropped = (magnitude & np.uint64(0xFFF)) != 0
    reduced = ((magnitude >> np.uint64(12)) | dropped.astype(np.uint64)).astype(np.float64) * 4096.0
    exact = np.where(magnitude < np.uint64(1 << 53), magnitude.astype(np.float64), reduced)
    return encode(row.name, np.where(negative, -exact, exact), rounding)


def _large_to_f64(magnitude: Bits, negative: NDArray[np.bool_], rounding: Rounding) -> Reals:
    """64-bit magnitudes to doubles in a directed rounding: cut to 53 bits, then one unit up where the direction says so."""
    drop = np.zeros(np.shape(magnitude), np.uint64)
    for step in range(53, 64):
        drop += (magnitude >> np.uint64(step)) != 0
    kept = magnitude >> drop
    inexact = (kept << drop) != magnitude
    up = inexact & (negative if rounding == "rm" else ~negative if rounding == "rp" else np.False_)
    value = np.ldexp((kept + up.astype(np.uint64)).astype(np.float64), drop.astype(np.int32))
    return np.where(negative, -value, value)
