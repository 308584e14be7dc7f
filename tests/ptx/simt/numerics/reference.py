"""Reference arithmetic on Python integers and fractions, one value at a time; shares nothing with what it checks."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np

# name: (bits, exponent bits, mantissa bits, padding below the mantissa)
FORMATS = {"f16": (16, 5, 10, 0), "bf16": (16, 8, 7, 0), "f32": (32, 8, 23, 0), "f64": (64, 11, 52, 0), "tf32": (32, 8, 10, 13)}
FORMATS |= {"e5m2": (8, 5, 2, 0), "e4m3": (8, 4, 3, 0)}
NAN, INF = "nan", "inf"
CANONICAL = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF, "e4m3": 0x7F, "e5m2": 0x7F}


def unpack(name: str, bits: int) -> tuple[int, Fraction | str]:
    """(sign, magnitude): a fraction, INF or NAN."""
    width, exponent_bits, mantissa_bits, padding = FORMATS[name]
    sign = bits >> (width - 1)
    exponent = (bits >> (mantissa_bits + padding)) & ((1 << exponent_bits) - 1)
    mantissa = (bits >> padding) & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if name == "e4m3":
        if exponent == 15 and mantissa == 7:
            return sign, NAN
    elif exponent == (1 << exponent_bits) - 1:
        return sign, NAN if mantissa else INF
    if exponent == 0:
        return sign, Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
    return sign, Fraction(mantissa + (1 << mantissa_bits)) * Fraction(2) ** (exponent - bias - mantissa_bits)


def value(name: str, bits: int) -> Fraction:
    sign, size = unpack(name, bits)
    assert isinstance(size, Fraction)
    return -size if sign else size


def pack(name: str, sign: int, size: Fraction, rounding: str = "rn", satfinite: bool = False) -> int:
    """The magnitude rounded to the format; the zero's sign is the given one."""
    width, exponent_bits, mantissa_bits, padding = FORMATS[name]
    bias = (1 << (exponent_bits - 1)) - 1
    top = sign << (width - 1)
    if size == 0:
        return top
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    unit = Fraction(2) ** (exponent - mantissa_bits)
    quotient, rest = divmod(size.numerator * unit.denominator, size.denominator * unit.numerator)
    left = Fraction(rest, size.denominator * unit.numerator)
    half = Fraction(1, 2)
    if (
        (rounding == "rn" and (left > half or (left == half and quotient % 2)))
        or (rounding == "rna" and left >= half)
        or (rounding == "rm" and left and sign)
        or (rounding == "rp" and left and not sign)
    ):
        quotient += 1
    if quotient == 1 << (mantissa_bits + 1):
        quotient, exponent = quotient >> 1, exponent + 1
    field = quotient if quotient < 1 << mantissa_bits else quotient - (1 << mantissa_bits) + ((exponent + bias) << mantissa_bits)
    largest = {"e4m3": 0x7E}.get(name, (((1 << exponent_bits) - 1) << mantissa_bits) - 1)
    if field > largest:
        towards = rounding in ("rn", "rna") or (rounding == "rm" and sign == 1) or (rounding == "rp" and sign == 0)
        field = largest + 1 if towards and not satfinite else largest
    return top | (field << padding)


def infinity(name: str, sign: int) -> int:
    width, exponent_bits, mantissa_bits, padding = FORMATS[name]
    return (sign << (width - 1)) | (((1 << exponent_bits) - 1) << (mantissa_bits + padding))


def nan_of(name: str, *operands: int) -> int:
    """The NaN that arithmetic delivers: canonical, or for f64 the first NaN operand quieted."""
    if name != "f64":
        return CANONICAL[name]
    for bits in operands:
        if unpack(name, bits)[1] == NAN:
            return bits | (1 << 51)
    return 0xFFF8000000000000


def fma(name: str, a: int, b: int, c: int, rounding: str) -> int:
    (sa, x), (sb, y), (sc, z) = unpack(name, a), unpack(name, b), unpack(name, c)
    if NAN in (x, y, z):
        return nan_of(name, a, b, c)
    sp = sa ^ sb
    if INF in (x, y):
        if 0 in (x, y) or (z == INF and sc != sp):
            return nan_of(name)
        return infinity(name, sp)
    if z == INF:
        return infinity(name, sc)
    assert isinstance(x, Fraction) and isinstance(y, Fraction) and isinstance(z, Fraction)
    total = (-1) ** sp * x * y + (-1) ** sc * z
    if total == 0:
        if x * y == 0 and z == 0 and sp == sc:
            return pack(name, sp, Fraction(0))
        return pack(name, int(rounding == "rm"), Fraction(0))
    return pack(name, int(total < 0), abs(total), rounding)


def one(name: str) -> int:
    return pack(name, 0, Fraction(1))


def add(name: str, a: int, b: int, rounding: str) -> int:
    if NAN in (unpack(name, a)[1], unpack(name, b)[1]):
        return nan_of(name, a, b)
    return fma(name, a, one(name), b, rounding)


def mul(name: str, a: int, b: int, rounding: str) -> int:
    if NAN in (unpack(name, a)[1], unpack(name, b)[1]):
        return nan_of(name, a, b)
    sign = unpack(name, a)[0] ^ unpack(name, b)[0]
    return fma(name, a, b, sign << (FORMATS[name][0] - 1), rounding)


def div(name: str, a: int, b: int, rounding: str) -> int:
    (sa, x), (sb, y) = unpack(name, a), unpack(name, b)
    sign = sa ^ sb
    if NAN in (x, y) or (x == 0 and y == 0) or (x == INF and y == INF):
        return CANONICAL.get(name, 0xFFF8000000000000)
    if x == INF or y == 0:
        return infinity(name, sign)
    if y == INF:
        return pack(name, sign, Fraction(0))
    assert isinstance(x, Fraction) and isinstance(y, Fraction)
    return pack(name, sign, x / y, rounding)


def is_root(name: str, bits: int, root: int, rounding: str) -> bool:
    """Whether `root` is the rounded square root, decided by squares of its neighbours' bounds."""
    sign, x = unpack(name, bits)
    if x == NAN or (sign and x != 0):
        return root == CANONICAL.get(name, 0xFFF8000000000000)
    if x == 0 or x == INF:
        return root == bits
    assert isinstance(x, Fraction)
    here, above, below = value(name, root), value(name, root + 1), value(name, root - 1)
    match rounding:
        case "rm" | "rz":
            return here**2 <= x < above**2
        case "rp":
            return below**2 < x <= here**2
        case _:
            return ((below + here) / 2) ** 2 <= x <= ((here + above) / 2) ** 2


def edges(name: str) -> list[int]:
    """Zeros, subnormals, normal bounds, ones, largest, infinities, NaNs, with both signs."""
    width, exponent_bits, mantissa_bits, padding = FORMATS[name]
    bias, ones = (1 << (exponent_bits - 1)) - 1, (1 << mantissa_bits) - 1
    fields = [0, 1, 2, ones, 1 << mantissa_bits, (1 << mantissa_bits) + 1, bias << mantissa_bits, (bias << mantissa_bits) + 1]
    fields += [(bias << mantissa_bits) - 1, ((bias - mantissa_bits - 1) << mantissa_bits) if bias > mantissa_bits else 3]
    top = ((1 << exponent_bits) - 1) << mantissa_bits
    fields += [top - 1, top, top + 1, top + ones]
    return [(field << padding) | (sign << (width - 1)) for field in fields for sign in (0, 1)]


def samples(name: str, count: int, seed: int) -> np.ndarray:
    """Random bits, random values near one another in exponent, and the edges, shuffled."""
    width, _, mantissa_bits, padding = FORMATS[name]
    word = np.dtype(f"u{width // 8}")
    random = np.random.default_rng(seed)
    anything = random.integers(0, (1 << width) - 1, count, dtype=word, endpoint=True)
    base = one(name if name in FORMATS else "f32") >> (mantissa_bits + padding)
    near = (random.integers(base - min(4, base), base + 4, count).astype(word) << word.type(mantissa_bits + padding)) | (
        random.integers(0, 1 << mantissa_bits, count).astype(word) << word.type(padding)
    )
    sparse = near & (word.type((1 << width) - 1) << random.integers(0, mantissa_bits, count).astype(word))
    signs = random.integers(0, 2, count).astype(word) << word.type(width - 1)
    at_edges = random.choice(np.array(edges(name), word), count)
    chosen = np.choose(random.integers(0, 4, count), [anything, near | signs, sparse | signs, at_edges])
    return chosen.astype(word)


def single(number: float) -> int:
    return struct.unpack("<I", struct.pack("<f", number))[0]
