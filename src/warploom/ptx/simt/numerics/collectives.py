"""Warp-wide operations over registers laid out [warps, 32].

`active` [warps, 32] says which lanes execute the instruction (not exited, not masked off, guard true). A member mask is
the instruction's operand, u32 per warp [warps] or one value; lanes outside `active & members` neither give nor get.
Results at lanes that do not execute are unspecified: the caller writes back under `active`.

Source: PTX ISA 9.0, sections 9.7.9 (shfl.sync) and 9.7.13 (vote.sync, match.sync, activemask, redux.sync, elect.sync).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from warploom.ptx.simt.numerics.float_arithmetic import float_abs, float_max, float_min
from warploom.ptx.simt.numerics.scalars import Bits, Flags, signed, unsupported

ShuffleMode = Literal["up", "down", "bfly", "idx"]
_LANES = np.arange(32, dtype=np.int64)
_PLACES = np.uint32(1) << np.arange(32, dtype=np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Shuffle:
    """The values that each lane of a shfl receives; all fields [warps, 32].

    value: the source lane's register, or the lane's own where the source is out of range.
    in_range: the destination predicate.
    source: the lane read (its own where out of range).
    undefined: an executing lane that reads a lane outside `active & members`; PTX leaves its value open.
    """

    value: Bits
    in_range: Flags
    source: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    undefined: Flags


def shfl(mode: ShuffleMode, a: Bits, b: Bits, c: Bits, active: Flags, members: Bits | None = None) -> Shuffle:
    """shfl[.sync].mode.b32: a, b (lane or offset) and c (clamp in bits 4..0, segment mask in bits 12..8) [warps, 32].

    b and c may be zero-dimensional. `members` is the mask of shfl.sync; None for the old shfl without .sync.
    """
    offset = (b & np.uint32(31)).astype(np.int64)
    clamp = (c & np.uint32(31)).astype(np.int64)
    segment = ((c >> np.uint32(8)) & np.uint32(31)).astype(np.int64)
    lowest = _LANES & segment
    highest = lowest | (clamp & ~segment)
    match mode:
        case "up":
            source = _LANES - offset
            in_range = source >= highest
        case "down":
            source = _LANES + offset
            in_range = source <= highest
        case "bfly":
            source = _LANES ^ offset
            in_range = source <= highest
        case "idx":
            source = lowest | (offset & ~segment)
            in_range = source <= highest
    source = np.where(in_range, source, _LANES)
    giving = np.broadcast_to(active if members is None else active & mask_lanes(members), a.shape)
    if source.ndim == 1:
        value, given = a[..., source], giving[..., source]
    else:
        value, given = np.take_along_axis(a, source, axis=-1), np.take_along_axis(giving, source, axis=-1)
    return Shuffle(value, np.broadcast_to(in_range, a.shape), np.broadcast_to(source, a.shape), active & ~given)


def ballot(flags: Flags, active: Flags, members: Bits) -> Bits:
    """vote.sync.ballot: per warp [warps] the u32 of the member lanes whose flag holds."""
    return lane_mask(flags & active & mask_lanes(members))


def vote(mode: Literal["all", "any", "uni"], flags: Flags, active: Flags, members: Bits) -> Flags:
    """vote.sync.mode.pred per warp [warps], over `active & members`; `uni`: all flags equal."""
    voting = active & mask_lanes(members)
    everyone = np.all(flags | ~voting, axis=-1)
    match mode:
        case "all":
            return everyone
        case "any":
            return np.any(flags & voting, axis=-1)
        case "uni":
            return everyone | ~np.any(flags & voting, axis=-1)


def match_any(a: Bits, active: Flags, members: Bits) -> Bits:
    """match.any.sync (b32, b64): per lane [warps, 32] the u32 mask of member lanes that hold its value."""
    voting = active & mask_lanes(members)
    equal = (a[..., :, None] == a[..., None, :]) & voting[..., None, :]
    return (equal * _PLACES).sum(axis=-1, dtype=np.uint32)


def match_all(a: Bits, active: Flags, members: Bits) -> tuple[Bits, Flags]:
    """match.all.sync (b32, b64): per warp [warps] the member mask and True if all members agree, else 0 and False."""
    voting = active & mask_lanes(members)
    first = np.take_along_axis(a, np.argmax(voting, axis=-1)[..., None], axis=-1)
    agreed = np.all((a == first) | ~voting, axis=-1)
    return np.where(agreed, lane_mask(voting), np.uint32(0)), agreed


def redux(
    operator: str, type_name: str, a: Bits, active: Flags, members: Bits, *, absolute: bool = False, nan: bool = False
) -> Bits:
    """redux.sync per warp [warps], over `active & members`: add, min, max of u32 and s32; and, or, xor of b32; min, max of f32.

    `absolute` and `nan` are the .abs and .NaN modifiers of f32. Warps without a voting lane get the neutral element.
    """
    voting = active & mask_lanes(members)
    if type_name == "f32":
        return _redux_f32(operator, a, voting, absolute, nan)
    values = signed(a) if type_name == "s32" else a
    low, high = (-(2**31), 2**31 - 1) if type_name == "s32" else (0, 2**32 - 1)
    kind = values.dtype.type
    match operator:
        case "add":
            return np.add.reduce(np.where(voting, a, np.uint32(0)), axis=-1, dtype=np.uint32)
        case "min":
            return np.minimum.reduce(np.where(voting, values, kind(high)), axis=-1).view(np.uint32)
        case "max":
            return np.maximum.reduce(np.where(voting, values, kind(low)), axis=-1).view(np.uint32)
        case "and":
            return np.bitwise_and.reduce(np.where(voting, a, np.uint32(0xFFFFFFFF)), axis=-1)
        case "or":
            return np.bitwise_or.reduce(np.where(voting, a, np.uint32(0)), axis=-1)
        case "xor":
            return np.bitwise_xor.reduce(np.where(voting, a, np.uint32(0)), axis=-1)
        case _:
            raise unsupported(f"redux.sync.{operator}.{type_name}")


def elect(active: Flags, members: Bits) -> tuple[Bits, Flags]:
    """elect.sync: per warp [warps] the elected lane (u32) and, [warps, 32], the predicate: the lowest voting lane."""
    voting = active & mask_lanes(members)
    leader = np.argmax(voting, axis=-1)
    return leader.astype(np.uint32), voting & (leader[..., None] == _LANES)


def activemask(active: Flags) -> Bits:
    """activemask.b32 per warp [warps]."""
    return lane_mask(active)


def lane_mask(flags: Flags) -> Bits:
    """Flags [warps, 32] as u32 masks [warps], lane 0 in bit 0."""
    return np.packbits(np.ascontiguousarray(flags), axis=-1, bitorder="little").view(np.dtype("<u4"))[..., 0]


def mask_lanes(masks: Bits) -> Flags:
    """Masks u32 [warps] (or one) as flags [warps, 32]."""
    return (np.asarray(masks)[..., None] & _PLACES) != 0


def _redux_f32(operator: str, a: Bits, voting: Flags, absolute: bool, nan: bool) -> Bits:
    if operator not in ("min", "max"):
        raise unsupported(f"redux.sync.{operator}.f32")
    neutral = np.uint32(0x7F800000 if operator == "min" else 0xFF800000)
    values = float_abs("f32", a) if absolute else a
    # A NaN stays one only if every voting lane (or, with `nan`, any) holds one; so the others must lose to it as well.
    filler = np.where(np.any(voting, axis=-1, keepdims=True), np.uint32(0x7FFFFFFF), neutral)
    values = np.where(voting, values, neutral if nan else filler)
    fold = float_min if operator == "min" else float_max
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        values = fold("f32", values[..., :half], values[..., half:], nan=nan)
    return values[..., 0]
