"""Bitwise logic, shifts and selection by value.

Source: PTX ISA 9.0, sections 9.7.6 (comparison: slct, selp), 9.7.8 (logic and shift).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from warploom.ptx.simt.numerics.scalars import UNSIGNED, Bits, Flags, scalar_type, signed

Combine = Literal["and", "or", "xor"]


def logic_and(a: Bits, b: Bits) -> Bits:
    """a & b; b16, b32, b64 and predicates."""
    return a & b


def logic_or(a: Bits, b: Bits) -> Bits:
    """a | b; b16, b32, b64 and predicates."""
    return a | b


def logic_xor(a: Bits, b: Bits) -> Bits:
    """a ^ b; b16, b32, b64 and predicates."""
    return a ^ b


def logic_not(a: Bits) -> Bits:
    """~a; b16, b32, b64 and predicates."""
    return ~a


def cnot(a: Bits) -> Bits:
    """1 where a is zero, else 0, in a's width."""
    return (a == 0).astype(a.dtype)


def combine(operator: Combine, p: Flags, q: Flags) -> Flags:
    """The BoolOp modifier of set, setp and lop3."""
    match operator:
        case "and":
            return p & q
        case "or":
            return p | q
        case "xor":
            return p ^ q


def lop3(a: Bits, b: Bits, c: Bits, table: int) -> Bits:
    """Any function of three bits: bit 4a + 2b + c of `table` is its value; b32. Bits of the table from 8 on say nothing."""
    low, difference = table & 15, (table ^ (table >> 4)) & 15
    if not difference:
        return _pair(b, c, low) | (a & np.uint32(0))
    masked = a & _pair(b, c, difference)
    return masked ^ _pair(b, c, low) if low else masked


def lop3_predicate(operator: Literal["and", "or"], a: Bits, b: Bits, c: Bits, table: int, q: Flags) -> tuple[Bits, Flags]:
    """lop3.BoolOp: the value d, and (d != 0) BoolOp q."""
    value = lop3(a, b, c, table)
    return value, combine(operator, value != 0, q)


def shl(type_name: str, a: Bits, amount: Bits) -> Bits:
    """a << amount (u32); zero from the type's width on; b16, b32, b64."""
    return a << _amount(type_name, amount)


def shr(type_name: str, a: Bits, amount: Bits) -> Bits:
    """a >> amount (u32), filling with zeros or, for s types, the sign; amounts clamp at the width."""
    count = _amount(type_name, amount)
    if type_name[0] == "s":
        return (signed(a) >> signed(count)).view(a.dtype)
    return a >> count


def shf(direction: Literal["l", "r"], mode: Literal["clamp", "wrap"], a: Bits, b: Bits, c: Bits) -> Bits:
    """The 64-bit value {b, a} shifted by c: its high word (l) or low word (r); c clamps at 32 or wraps modulo 32."""
    count = (np.minimum(c, np.uint32(32)) if mode == "clamp" else c & np.uint32(31)).astype(np.uint64)
    pair = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
    if direction == "l":
        return ((pair << count) >> np.uint64(32)).astype(np.uint32)
    return (pair >> count).astype(np.uint32)


def selp(a: Bits, b: Bits, p: Flags) -> Bits:
    """a where p, else b; any width."""
    return np.where(p, a, b)


def slct(select_type: Literal["s32", "f32"], a: Bits, b: Bits, c: Bits, *, ftz: bool = False) -> Bits:
    """a where c >= 0, else b; -0.0 counts as zero, NaN picks b; with `ftz` a subnormal c is zero."""
    if select_type == "s32":
        return np.where(signed(c) >= 0, a, b)
    floor = np.float32(-(2.0**-126)) if ftz else np.float32(0)
    value = c.view(np.float32)
    return np.where(value > floor if ftz else value >= floor, a, b)


def _amount(type_name: str, amount: Bits) -> Bits:
    """The shift count in the value's type; NumPy gives zero or the sign for counts from the width on."""
    bits = scalar_type(type_name).bits
    if bits == 32:
        return np.minimum(amount, np.uint32(32))
    return np.minimum(amount, np.uint32(bits)).astype(UNSIGNED[bits])


def _pair(b: Bits, c: Bits, table: int) -> Bits:
    """A function of two bits: bit 2b + c of the 4-bit table; zero-dimensional where constant."""
    match table:
        case 0b0000:
            return np.zeros((), np.uint32)
        case 0b0001:
            return ~(b | c)
        case 0b0010:
            return ~b & c
        case 0b0011:
            return ~b
        case 0b0100:
            return b & ~c
        case 0b0101:
            return ~c
        case 0b0110:
            return b ^ c
        case 0b0111:
            return ~(b & c)
        case 0b1000:
            return b & c
        case 0b1001:
            return ~(b ^ c)
        case 0b1010:
            return c
        case 0b1011:
            return ~b | c
        case 0b1100:
            return b
        case 0b1101:
            return b | ~c
        case 0b1110:
            return b | c
        case _:
            return np.full((), 0xFFFFFFFF, np.uint32)
