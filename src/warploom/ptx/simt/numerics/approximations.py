"""Operations that hardware approximates: their reference values and documented error bounds.

The reference is the value computed in double precision and rounded once, so within half an ulp plus 2^-26 ulp of the
mathematical value; hardware may differ from it by the bound. `approximation_of` tells which instructions these are.

Source: PTX ISA 9.0, sections 9.7.3 (div to tanh) and 9.7.4 (half precision), which state the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from warploom.ptx.simt.numerics.float_arithmetic import canonical_f32
from warploom.ptx.simt.numerics.float_exact import div_f64, sqrt_f64
from warploom.ptx.simt.numerics.float_formats import decode, encode, flush
from warploom.ptx.simt.numerics.scalars import Bits, Reals, Rounding, join, scalar_type, split, unsupported


@dataclass(frozen=True, slots=True)
class Approximation:
    """Largest distance of hardware from the reference value: a sentence for reports.

    ulps: the bound in units in the last place of the result, where the manual states one; None where it is stated
    otherwise (absolute, relative, or not at all).
    """

    bound: str
    ulps: float | None = None


_BOUNDS: dict[tuple[str, str, str], Approximation] = {
    ("div", "approx", "f32"): Approximation("2 ulp for |b| in [2^-126, 2^126]", 2),
    ("div", "full", "f32"): Approximation("2 ulp over the full range", 2),
    ("rcp", "approx", "f32"): Approximation("1 ulp", 1),
    ("rcp", "approx", "f64"): Approximation("about 20 bits: only the upper 32 bits are read and written"),
    ("sqrt", "approx", "f32"): Approximation("relative error 2^-23 over the full range"),
    ("rsqrt", "approx", "f32"): Approximation("relative error 2^-22.9 over the full range"),
    ("rsqrt", "approx", "f64"): Approximation("not stated; with ftz only the upper 32 bits are read and written"),
    ("sin", "approx", "f32"): Approximation("absolute error 2^-20.5 in [-2 pi, 2 pi], 2^-14.7 in [-100 pi, 100 pi]"),
    ("cos", "approx", "f32"): Approximation("absolute error 2^-20.5 in [-2 pi, 2 pi], 2^-14.7 in [-100 pi, 100 pi]"),
    ("lg2", "approx", "f32"): Approximation("absolute error 2^-22 for operands in (0.5, 2); else relative error 2^-22"),
    ("ex2", "approx", "f32"): Approximation("2 ulp over the full range", 2),
    ("ex2", "approx", "f16"): Approximation("relative error 2^-9.9"),
    ("ex2", "approx", "bf16"): Approximation("relative error 2^-7"),
    ("tanh", "approx", "f32"): Approximation("relative error 2^-11"),
    ("tanh", "approx", "f16"): Approximation("absolute error 2^-10.987"),
    ("tanh", "approx", "bf16"): Approximation("relative error 2^-8"),
}


def approximation_of(opcode: str, modifiers: Sequence[str]) -> Approximation | None:
    """The bound of an instruction that hardware approximates, None for exact and correctly rounded ones.

    `modifiers` are the instruction's, without dots, in any order: ("approx", "ftz", "f32").
    """
    for mode in ("approx", "full"):
        if mode in modifiers:
            for name in modifiers:
                found = _BOUNDS.get((opcode, mode, name.removesuffix("x2")))
                if found is not None:
                    return found
            return Approximation("not stated")
    return None


def float_div(type_name: str, a: Bits, b: Bits, *, rounding: Rounding | str = "rn", ftz: bool = False) -> Bits:
    """a / b of f32 or f64, correctly rounded under rn, rz, rm, rp; NaN results are canonical, of f64 0xfff8000000000000.

    approx and full (f32) deliver the rn quotient; approx treats b above 2^126 as PTX says: 0, or NaN if a is infinite.
    """
    if ftz:
        a, b = flush(type_name, a), flush(type_name, b)
    result = _quotient(type_name, a, b, _direction(rounding))
    if rounding == "approx" and type_name == "f32":
        size = b & np.uint32(0x7FFFFFFF)
        huge = (size > np.uint32(0x7E800000)) & (size < np.uint32(0x7F800000))
        if huge.any():
            number, infinite = (a & np.uint32(0x7FFFFFFF)) < np.uint32(0x7F800000), (a & np.uint32(0x7FFFFFFF)) == 0x7F800000
            sign = (a ^ b) & np.uint32(0x80000000)
            result = np.where(huge & number, sign, np.where(huge & infinite, np.uint32(0x7FFFFFFF), result))
    return flush(type_name, result) if ftz else result


def float_rcp(type_name: str, a: Bits, *, rounding: Rounding | str = "rn", ftz: bool = False) -> Bits:
    """1 / a of f32 or f64, correctly rounded under rn, rz, rm, rp; approx delivers the rn value.

    rcp.approx.ftz.f64 reads only the upper 32 bits of a and clears the lower 32 bits of the result.
    """
    if type_name == "f64" and rounding == "approx":
        return _upper_half(a, lambda value: 1.0 / value)
    if ftz:
        a = flush(type_name, a)
    one = np.array(0x3F800000 if type_name == "f32" else 0x3FF0000000000000, a.dtype)
    result = _quotient(type_name, one, a, _direction(rounding))
    return flush(type_name, result) if ftz else result


def float_sqrt(type_name: str, a: Bits, *, rounding: Rounding | str = "rn", ftz: bool = False) -> Bits:
    """The square root of f32 or f64, correctly rounded under rn, rz, rm, rp; approx delivers the rn value."""
    if ftz:
        a = flush(type_name, a)
    direction = _direction(rounding)
    if type_name == "f32" and direction == "rn":
        return canonical_f32(np.sqrt(a.view(np.float32)))
    value = decode(type_name, a)
    # The root of 24 bits in 53 falls on a number or midpoint of f32 only when it is exact.
    root = sqrt_f64(value, direction) if type_name == "f64" else np.sqrt(value)
    return encode(type_name, root, direction)


def float_rsqrt(type_name: str, a: Bits, *, ftz: bool = False) -> Bits:
    """1 / sqrt(a), rsqrt.approx of f32 and f64; f64 with ftz as `float_rcp` approx."""
    if type_name == "f64" and ftz:
        return _upper_half(a, _inverse_root)
    return float_function("rsqrt", type_name, a, ftz=ftz)


def float_function(opcode: str, type_name: str, a: Bits, *, ftz: bool = False) -> Bits:
    """sin, cos, lg2, ex2, tanh, rsqrt: the approx instructions of f32; ex2 and tanh of f16, bf16 and their x2 too."""
    row = scalar_type(type_name)
    if row.lanes == 2:
        return join(float_function(opcode, row.element.name, split(a, 2), ftz=ftz))
    function = _FUNCTIONS.get(opcode)
    if function is None:
        raise unsupported(f"{opcode}.approx.{type_name}")
    if ftz:
        a = flush(type_name, a)
    result = encode(type_name, function(decode(type_name, a)))
    return flush(type_name, result) if ftz else result


def _inverse_root(value: Reals) -> Reals:
    return 1.0 / np.sqrt(value)


_FUNCTIONS: dict[str, Callable[[Reals], Reals]] = {
    "sin": np.sin,
    "cos": np.cos,
    "lg2": np.log2,
    "ex2": np.exp2,
    "tanh": np.tanh,
    "rsqrt": _inverse_root,
}


def _direction(rounding: str) -> Rounding:
    match rounding:
        case "rn" | "rz" | "rm" | "rp":
            return rounding
        case "approx" | "full":
            return "rn"
        case _:
            raise unsupported(f"rounding .{rounding}")


def _quotient(type_name: str, a: Bits, b: Bits, rounding: Rounding) -> Bits:
    if type_name == "f32" and rounding == "rn":
        return canonical_f32(a.view(np.float32) / b.view(np.float32))
    x, y = decode(type_name, a), decode(type_name, b)
    if type_name == "f64":
        return encode("f64", div_f64(x, y, rounding))
    # The double nearest to a quotient of 24-bit numbers is a number or midpoint of f32 only when it is exact.
    return encode(type_name, x / y, rounding)


def _upper_half(a: Bits, function: Callable[[Reals], Reals]) -> Bits:
    upper = np.uint64(0xFFFFFFFF00000000)
    value = flush("f64", a & upper).view(np.float64)
    return flush("f64", encode("f64", function(value))) & upper
