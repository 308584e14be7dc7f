"""cvt against fractions and Python integers: every width, sign, rounding and modifier."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ptx.simt.numerics import reference
from warploom.core import UnsupportedError
from warploom.ptx.simt.numerics import bind, convert, convert_pair

INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
DIRECTIONS = ("rn", "rz", "rm", "rp")


def _limits(name: str) -> tuple[int, int]:
    bits = int(name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def _integers(name: str, seed: int) -> tuple[list[int], np.ndarray]:
    low, high = _limits(name)
    bits = int(name[1:])
    random = np.random.default_rng(seed)
    chosen = [low, low + 1, -1, 0, 1, high - 1, high, high // 2, high // 2 + 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536]
    chosen += [(1 << place) + delta for place in (8, 11, 24, 25, 31, 53, 54, 62) for delta in (-1, 0, 1, 3)]
    chosen += [int.from_bytes(random.bytes(8), "little", signed=True) >> int(random.integers(64)) for _ in range(300)]
    # One bit far below a rounding position: only an exact sticky bit sees it.
    chosen += [(1 << 62) + (1 << 37) + 1, (1 << 62) + (1 << 38) - 1, (1 << 60) + (1 << 7), (1 << 60) + (1 << 7) + 1]
    chosen = [((number - low) % (1 << bits)) + low for number in chosen]
    return chosen, np.array([number & ((1 << bits) - 1) for number in chosen], f"u{bits // 8}")


@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer(source: str) -> None:
    numbers, bits = _integers(source, 1)
    for target in INTEGERS:
        width = int(target[1:])
        low, high = _limits(target)
        plain, clamped = convert(target, source, bits), convert(target, source, bits, sat=True)
        assert plain.dtype == clamped.dtype == np.dtype(f"u{width // 8}")
        assert plain.tolist() == [number & ((1 << width) - 1) for number in numbers], target
        assert clamped.tolist() == [max(low, min(high, number)) & ((1 << width) - 1) for number in numbers], target


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("rounding", DIRECTIONS)
def test_integer_to_float(source: str, rounding: str) -> None:
    numbers, bits = _integers(source, 2)
    for target in FLOATS:
        result = convert(target, source, bits, rounding=rounding)
        wanted = [reference.pack(target, int(number < 0), Fraction(abs(number)), rounding) for number in numbers]
        wrong = [number for number, got, want in zip(numbers, result.tolist(), wanted, strict=True) if got != want]
        assert not wrong, (target, wrong[:4])


def _round(size: Fraction, rounding: str) -> int:
    return {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[rounding](size)


def _floats(name: str, seed: int) -> np.ndarray:
    """Samples, and values about the bounds of the integer types and their halves."""
    samples = reference.samples(name, 250, seed)
    near = [Fraction(sign * (1 << place)) + Fraction(delta, 2) for place in (0, 1, 7, 8, 15, 16, 31, 32, 63, 64)
            for sign in (1, -1) for delta in (-3, -1, 0, 1, 3)]  # fmt: skip
    return np.concatenate([samples, np.array([reference.pack(name, int(x < 0), abs(x)) for x in near], samples.dtype)])


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("rounding", ["rni", "rzi", "rmi", "rpi"])
def test_float_to_integer(source: str, rounding: str) -> None:
    bits = _floats(source, 3)
    for target in INTEGERS:
        width = int(target[1:])
        low, high = _limits(target)

        def wanted(pattern: int, target=target, width=width, low=low, high=high) -> int:
            sign, size = reference.unpack(source, pattern)
            if size == reference.NAN:
                return 1 << (width - 1) if source == "f64" or width == 64 else 0
            if size == reference.INF:
                return (low if sign else high) & ((1 << width) - 1)
            return max(low, min(high, _round(reference.value(source, pattern), rounding))) & ((1 << width) - 1)

        result = convert(target, source, bits, rounding=rounding)
        wrong = [hex(x) for x, got in zip(bits.tolist(), result.tolist(), strict=True) if got != wanted(x)]
        assert not wrong, (target, wrong[:4])


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("rounding", ["rni", "rzi", "rmi", "rpi"])
def test_rounding_to_an_integer_within_a_float_type(name: str, rounding: str) -> None:
    bits = _floats(name, 4)
    for pattern, got in zip(bits.tolist(), convert(name, name, bits, rounding=rounding).tolist(), strict=True):
        sign, size = reference.unpack(name, pattern)
        if size == reference.NAN:
            assert reference.unpack(name, got)[1] == reference.NAN
        elif size == reference.INF:
            assert got == pattern
        else:
            number = _round(reference.value(name, pattern), rounding)
            assert got == reference.pack(name, sign, Fraction(abs(number))), hex(pattern)


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("source", [*FLOATS])
def test_float_to_float(source: str, rounding: str) -> None:
    bits = _floats(source, 5)
    for target in FLOATS:
        for pattern, got in zip(bits.tolist(), convert(target, source, bits, rounding=rounding).tolist(), strict=True):
            sign, size = reference.unpack(source, pattern)
            if size == reference.NAN:
                assert reference.unpack(target, got)[1] == reference.NAN
                assert target == "f64" or got == reference.CANONICAL[target]
            elif isinstance(size, Fraction):
                assert got == reference.pack(target, sign, size, rounding), (target, hex(pattern))
            else:
                assert got == reference.infinity(target, sign)


@pytest.mark.parametrize("name", ["f16", "bf16", "e4m3", "e5m2"])
def test_every_narrow_value_survives_f32(name: str) -> None:
    width = reference.FORMATS[name][0]
    bits = np.arange(1 << width).astype(f"u{width // 8}")
    wide = convert("f32", name, bits)
    back = convert(name, "f32", wide, rounding="rn", satfinite=name[0] == "e" and name != "e5m2")
    for pattern, middle, again in zip(bits.tolist(), wide.tolist(), back.tolist(), strict=True):
        sign, size = reference.unpack(name, pattern)
        if size == reference.NAN:
            assert middle == 0x7FFFFFFF and again == reference.CANONICAL[name]
        else:
            assert again == pattern
            assert middle == (reference.infinity("f32", sign) if size == reference.INF else reference.pack("f32", sign, size))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "rounding"), [("tf32", "rna"), ("tf32", "rn"), ("tf32", "rz"), ("e4m3", "rn"), ("e5m2", "rn")]
)
@pytest.mark.parametrize("satfinite", [False, True])
def test_matrix_formats(target: str, rounding: str, satfinite: bool) -> None:
    bits = np.concatenate([reference.samples("f32", 400, 6), reference.samples("tf32", 100, 7)])
    tight = np.array(
        [reference.single(number) for number in (447.9, 448, 455, 464, 464.1, 480, 57344, 59392, 61440, 61441, 0.0009)]
    )
    bits = np.concatenate([bits, tight.astype(np.uint32), tight.astype(np.uint32) | np.uint32(1 << 31)])
    result = convert(target, "f32", bits, rounding=rounding, satfinite=satfinite)
    for pattern, got in zip(bits.tolist(), result.tolist(), strict=True):
        sign, size = reference.unpack("f32", pattern)
        width = reference.FORMATS[target][0]
        if size == reference.NAN:
            assert got == reference.CANONICAL[target]
        elif isinstance(size, Fraction):
            wanted = reference.pack(target, sign, size, rounding, satfinite)
            # A format without infinity has only NaN beyond its range, and that has one sign.
            assert got == (0x7F if target == "e4m3" and wanted & 0x7F == 0x7F else wanted), hex(pattern)
        else:
            largest = {"tf32": 0x7F7FE000, "e4m3": 0x7E, "e5m2": 0x7B}[target] | (sign << (width - 1))
            beyond = 0x7F if target == "e4m3" else reference.infinity(target, sign)
            assert got == (largest if satfinite else beyond)


def test_modifiers() -> None:
    a = np.array([reference.single(x) for x in (-1.5, -0.0, 0.25, 3.0, 1e6)] + [0x7FC00000, 0xFF800000, 0x80000001], np.uint32)
    assert convert("f16", "f32", a, rounding="rn", relu=True).tolist() == [0, 0, 0x3400, 0x4200, 0x7C00, 0x7FFF, 0, 0]
    finite = convert("f16", "f32", a, rounding="rn", satfinite=True).tolist()
    assert finite == [0xBE00, 0x8000, 0x3400, 0x4200, 0x7BFF, 0x7FFF, 0xFBFF, 0x8000]
    assert convert("f32", "f32", a, sat=True).tolist() == [0, 0, 0x3E800000, 0x3F800000, 0x3F800000, 0, 0, 0]
    assert convert("f32", "f32", a, ftz=True).tolist()[-1] == 0x80000000
    assert convert("s32", "f32", np.array([0x80000001], np.uint32), rounding="rmi").tolist() == [0xFFFFFFFF]
    assert convert("s32", "f32", np.array([0x80000001], np.uint32), rounding="rmi", ftz=True).tolist() == [0]
    assert convert("s32", "s8", np.array([0x1280], np.uint32)).tolist() == [0xFFFFFF80]
    assert convert("f64", "f32", np.array([0x7FFFFFFF], np.uint32)).tolist() == [0x7FFFFFFFE0000000]
    with pytest.raises(UnsupportedError, match=r"cvt to \.s32"):
        convert("s32", "f32", a)


def test_packed_forms() -> None:
    a, b = np.array([reference.single(1.0)], np.uint32), np.array([reference.single(-2.0)], np.uint32)
    assert convert_pair("f16x2", "f32", a, b, rounding="rn").tolist() == [0x3C00C000]
    assert convert_pair("bf16x2", "f32", a, b, rounding="rz", relu=True).tolist() == [0x3F800000]
    assert convert_pair("e4m3x2", "f32", a, b, rounding="rn", satfinite=True).tolist() == [0x38C0]
    assert bind("cvt", ["rn", "satfinite", "e5m2x2", "f32"]).evaluate(a, b).tolist() == [0x3CC0]
    halves = bind("cvt", ["rn", "f16x2", "e4m3x2"]).evaluate(np.array([0x38C0], np.uint16))
    assert halves.tolist() == [0x3C00C000]
    assert bind("cvt", ["rn", "satfinite", "relu", "e4m3x2", "f16x2"]).evaluate(halves).tolist() == [0x3800]


def test_pack_integers() -> None:
    random = np.random.default_rng(8)
    a = np.concatenate([random.integers(0, 2**32, 60), random.integers(0, 300, 60)]).astype(np.uint32)
    b, c = np.roll(a, 7) ^ np.uint32(0xFFFFFFFF), np.roll(a, 3)
    for target, bits in (("s16", 16), ("u16", 16), ("s8", 8), ("u8", 8), ("s4", 4), ("u4", 4), ("s2", 2), ("u2", 2)):
        text = f"pack.sat.{target}.s32" + ("" if bits == 16 else ".b32")
        low, high = _limits(target)
        operands = (a, b) if bits == 16 else (a, b, c)
        result = bind("cvt", text.split(".")).evaluate(*operands)
        for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), result.tolist(), strict=True):
            parts = [max(low, min(high, number - (number >> 31 << 32))) & ((1 << bits) - 1) for number in (y, x)]
            above = 0 if bits == 16 else z << 2 * bits
            assert got == (parts[0] | parts[1] << bits | above) & 0xFFFFFFFF, target
