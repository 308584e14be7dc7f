"""Floating-point arithmetic against exact rationals, every rounding direction."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from ptx.simt.numerics import reference
from warploom.ptx.simt.numerics import (
    copysign,
    float_abs,
    float_add,
    float_div,
    float_fma,
    float_max,
    float_min,
    float_mul,
    float_neg,
    float_rcp,
    float_sqrt,
    float_sub,
)
from warploom.ptx.simt.numerics import (
    testp as property_of,
)

DIRECTIONS = ("rn", "rz", "rm", "rp")
NARROW = ("f16", "bf16", "f32")


def _check(result: np.ndarray, wanted: list[int], *operands: np.ndarray) -> None:
    wrong = np.flatnonzero(result != np.array(wanted, result.dtype))
    lanes = [[hex(int(operand[lane])) for operand in operands] for lane in wrong[:5]]
    assert not len(wrong), (lanes, [hex(int(result[lane])) for lane in wrong[:5]], [hex(wanted[lane]) for lane in wrong[:5]])


def _columns(name: str, count: int, seed: int, operands: int) -> list[np.ndarray]:
    edge = np.array(reference.edges(name))
    crossed = np.array(list(itertools.product(edge, repeat=operands))) if operands < 3 else np.empty((0, operands))
    columns = [reference.samples(name, count, seed + place) for place in range(operands)]
    return [np.concatenate([column, crossed[:, place].astype(column.dtype)]) for place, column in enumerate(columns)]


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("name", [*NARROW, "f64"])
def test_add_sub_mul(name: str, rounding: str) -> None:
    a, b = _columns(name, 600, 1, 2)
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    sign = 1 << (reference.FORMATS[name][0] - 1)
    _check(float_add(name, a, b, rounding=rounding), [reference.add(name, x, y, rounding) for x, y in pairs], a, b)
    _check(float_mul(name, a, b, rounding=rounding), [reference.mul(name, x, y, rounding) for x, y in pairs], a, b)
    flipped = [y if reference.unpack(name, y)[1] == reference.NAN else y ^ sign for _, y in pairs]
    negated = [reference.add(name, x, y, rounding) for (x, _), y in zip(pairs, flipped, strict=True)]
    _check(float_sub(name, a, b, rounding=rounding), negated, a, b)


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("name", [*NARROW, "f64"])
def test_fma(name: str, rounding: str) -> None:
    a, b, c = _columns(name, 2500, 7, 3)
    wanted = [reference.fma(name, int(x), int(y), int(z), rounding) for x, y, z in zip(a, b, c, strict=True)]
    _check(float_fma(name, a, b, c, rounding=rounding), wanted, a, b, c)


def test_fma_f64_at_the_ends_of_the_range() -> None:
    """Products whose low halves underflow, or that overflow although the sum does not; addends next to the products."""
    random = np.random.default_rng(13)
    count = 3000
    low = np.arange(count) % 2 == 0
    total = np.where(low, random.integers(2046 - 1072, 2046 - 930, count), random.integers(2040, 2052, count) + 1023)
    first = total // 2 + random.integers(-20, 20, count)
    first, second = (np.clip(part, 1, 2046) for part in (first, total - first))
    a, b = (
        (part.astype(np.uint64) << np.uint64(52)) | random.integers(0, 2**52, count).astype(np.uint64) for part in (first, second)
    )
    product = float_mul("f64", a, b, rounding="rz")
    c = (product ^ np.uint64(1 << 63)) + random.integers(0, 2, count).astype(np.uint64)
    c[::3] = 0
    wanted = [reference.fma("f64", int(x), int(y), int(z), "rn") for x, y, z in zip(a, b, c, strict=True)]
    _check(float_fma("f64", a, b, c), wanted, a, b, c)


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("rounding", DIRECTIONS)
def test_fma_where_rounding_twice_goes_wrong(name: str, rounding: str) -> None:
    """The product lies half a unit from the addend's grid, and less than a double's unit beside that."""
    width, _, mantissa, _ = reference.FORMATS[name]
    word = np.dtype(f"u{width // 8}")
    random = np.random.default_rng(3)
    count = 800
    one = reference.one(name)
    a = (one + random.integers(0, 4, count)).astype(word)
    b = (one + random.integers(0, 1 << 12, count)).astype(word) - word.type(((mantissa + 1) << mantissa) & (2**width - 1))
    b ^= random.integers(0, 2, count).astype(word) << word.type(width - 1)
    c = (one + random.integers(0, 8, count)).astype(word)
    tiny = word.type(one) - (random.integers(40, 100, count).astype(word) << word.type(mantissa))
    wanted = [reference.fma(name, int(x), int(y), int(z), rounding) for x, y, z in zip(a, b, c, strict=True)]
    _check(float_fma(name, a, b, c, rounding=rounding), wanted, a, b, c)
    half = np.full(count, one - ((mantissa + 1) << mantissa), word)
    beside = float_fma(name, half, np.full(count, one, word), c)
    wanted = [reference.fma(name, int(z), one, int(t), rounding) for z, t in zip(c, tiny, strict=True)]
    _check(float_fma(name, c, np.full(count, one, word), tiny, rounding=rounding), wanted, c, tiny)
    assert beside.dtype == word


def test_fma_f32_subnormal_results_round_once() -> None:
    """The product is half the least subnormal, less 2^-46 of itself: beside an odd addend a double rounds it to a tie."""
    random = np.random.default_rng(5)
    a = np.full(400, 0x3F800001 - (75 << 23), np.uint32)
    b = np.full(400, 0x3F7FFFFE - (75 << 23), np.uint32)
    c = random.integers(0x00400000, 0x00800000, 400).astype(np.uint32)
    wanted = [reference.fma("f32", int(x), int(y), int(z), "rn") for x, y, z in zip(a, b, c, strict=True)]
    _check(float_fma("f32", a, b, c), wanted, a, b, c)


def test_fma_f64_near_cancellation_and_the_range_ends() -> None:
    random = np.random.default_rng(9)
    a, b = (random.integers(0, 2**62, 1500).astype(np.uint64) for _ in range(2))
    near = float_mul("f64", a, b) ^ np.uint64(1 << 63)
    _check(
        float_fma("f64", a, b, near),
        [reference.fma("f64", int(x), int(y), int(z), "rn") for x, y, z in zip(a, b, near, strict=True)],
        a,
        b,
        near,
    )


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_div_rcp_sqrt(name: str, rounding: str) -> None:
    a, b = _columns(name, 600, 21, 2)
    # Division delivers the canonical NaN for every NaN operand.
    wanted = [reference.div(name, int(x), int(y), rounding) for x, y in zip(a, b, strict=True)]
    _check(float_div(name, a, b, rounding=rounding), wanted, a, b)
    _check(float_rcp(name, a, rounding=rounding), [reference.div(name, reference.one(name), int(x), rounding) for x in a], a)
    roots = float_sqrt(name, a, rounding=rounding)
    wrong = [hex(int(x)) for x, root in zip(a, roots, strict=True) if not reference.is_root(name, int(x), int(root), rounding)]
    assert not wrong


def test_every_f16_product_and_sum_with_chosen_operands() -> None:
    everything = np.arange(1 << 16, dtype=np.uint16)[::13].copy()
    for other in (0x0001, 0x3C01, 0xC3FF, 0x7BFF, 0x8000):
        b = np.full_like(everything, other)
        _check(float_mul("f16", everything, b), [reference.mul("f16", int(x), other, "rn") for x in everything], everything)


def test_ftz_flushes_operands_and_results() -> None:
    tiny, one, least = np.array([0x80000001], np.uint32), np.array([0x3F800000], np.uint32), np.array([0x00800000], np.uint32)
    assert float_mul("f32", tiny, one, ftz=True)[0] == 0x80000000
    assert float_mul("f32", tiny, one)[0] == 0x80000001
    half = np.array([0x3F000000], np.uint32)
    assert float_mul("f32", least, half)[0] == 0x00400000
    assert float_mul("f32", least, half, ftz=True)[0] == 0
    assert float_fma("f32", tiny, one, tiny, ftz=True)[0] == 0x80000000
    assert float_sub("f32", tiny, tiny, ftz=True)[0] == 0
    assert float_abs("f32", tiny, ftz=True)[0] == 0
    assert float_neg("f16", np.array([0x0001], np.uint16), ftz=True)[0] == 0x8000


@pytest.mark.parametrize("name", NARROW)
def test_saturation(name: str) -> None:
    a, b = _columns(name, 300, 31, 2)

    def clamp(bits: int) -> int:
        sign, size = reference.unpack(name, bits)
        if size == reference.NAN or sign:
            return 0
        return reference.one(name) if size == reference.INF or size > 1 else bits

    wanted = [clamp(reference.add(name, int(x), int(y), "rn")) for x, y in zip(a, b, strict=True)]
    _check(float_add(name, a, b, sat=True), wanted, a, b)


def test_relu_of_fma() -> None:
    a, b, c = _columns("bf16", 400, 41, 3)
    plain = [reference.fma("bf16", int(x), int(y), int(z), "rn") for x, y, z in zip(a, b, c, strict=True)]
    wanted = [bits if reference.unpack("bf16", bits)[0] == 0 else 0 for bits in plain]
    _check(float_fma("bf16", a, b, c, relu=True), wanted, a, b, c)


def _key(name: str, bits: int) -> tuple[Fraction | float, int]:
    sign, size = reference.unpack(name, bits)
    number: Fraction | float = float("inf") if size == reference.INF else size  # type: ignore[assignment]
    return (-number if sign else number, -sign)


@pytest.mark.parametrize("name", [*NARROW, "f64"])
@pytest.mark.parametrize("nan", [False, True])
def test_min_and_max(name: str, nan: bool) -> None:
    a, b = _columns(name, 300, 51, 2)
    for function, pick in ((float_min, min), (float_max, max)):

        def wanted(x: int, y: int, pick=pick) -> int:
            x_nan, y_nan = (reference.unpack(name, bits)[1] == reference.NAN for bits in (x, y))
            if (x_nan and y_nan) or (nan and (x_nan or y_nan)):
                return reference.CANONICAL.get(name, 0xFFF8000000000000)
            if x_nan or y_nan:
                return y if x_nan else x
            return pick(x, y, key=lambda bits: _key(name, bits))

        _check(function(name, a, b, nan=nan), [wanted(int(x), int(y)) for x, y in zip(a, b, strict=True)], a, b)
        numbers = [
            reference.NAN not in (reference.unpack(name, int(x))[1], reference.unpack(name, int(y))[1])
            for x, y in zip(a, b, strict=True)
        ]
        x, y = a[numbers], b[numbers]
        _check(function(name, x, y, nan=nan), [wanted(int(p), int(q)) for p, q in zip(x, y, strict=True)], x, y)


def test_xorsign_abs_takes_magnitudes_and_joins_signs() -> None:
    a, b = np.array([0xC0000000, 0x3F800000, 0x7FC00000], np.uint32), np.array([0x40400000, 0xBF000000, 0xC0400000], np.uint32)
    assert float_max("f32", a, b, xorsign_abs=True).tolist() == [0xC0400000, 0xBF800000, 0xC0400000]
    assert float_min("f32", a, b, xorsign_abs=True).tolist() == [0xC0000000, 0xBF000000, 0xC0400000]


def test_packed_halves_are_the_scalar_operation() -> None:
    for name in ("f16", "bf16"):
        low, high, low_b, high_b = (reference.samples(name, 500, seed) for seed in (61, 62, 63, 64))
        a = low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))
        b = low_b.astype(np.uint32) | (high_b.astype(np.uint32) << np.uint32(16))
        for function in (float_add, float_sub, float_mul, float_min, float_max):
            whole = function(f"{name}x2", a, b)
            assert np.array_equal(whole.astype(np.uint16), function(name, low, low_b))
            assert np.array_equal((whole >> np.uint32(16)).astype(np.uint16), function(name, high, high_b))


def test_sign_operations_and_properties() -> None:
    bits = np.array(reference.edges("f32"), np.uint32)
    assert np.array_equal(float_abs("f32", bits), bits & np.uint32(0x7FFFFFFF))
    assert np.array_equal(float_neg("f32", bits), bits ^ np.uint32(0x80000000))
    assert copysign("f32", np.array([0x80000000], np.uint32), np.array([0x3F800000], np.uint32))[0] == 0xBF800000
    sizes = [reference.unpack("f32", int(x))[1] for x in bits]
    least = Fraction(2) ** -126
    finite = [size not in (reference.NAN, reference.INF) for size in sizes]
    subnormal = [isinstance(size, Fraction) and 0 < size < least for size in sizes]
    assert property_of("finite", "f32", bits).tolist() == finite
    assert property_of("infinite", "f32", bits).tolist() == [size == reference.INF for size in sizes]
    assert property_of("number", "f32", bits).tolist() == [size != reference.NAN for size in sizes]
    assert property_of("notanumber", "f32", bits).tolist() == [size == reference.NAN for size in sizes]
    assert property_of("subnormal", "f32", bits).tolist() == subnormal
    assert property_of("normal", "f32", bits).tolist() == [f and not s for f, s in zip(finite, subnormal, strict=True)]


def test_zero_dimensional_operands_broadcast() -> None:
    one = np.array(0x3F800000, np.uint32)
    lanes = np.array([0x3F800000, 0x40000000], np.uint32)
    assert float_add("f32", lanes, one).tolist() == [0x40000000, 0x40400000]
    assert float_fma("f32", one, lanes, one, rounding="rz").tolist() == [0x40000000, 0x40400000]
    assert int(float_mul("f32", one, one)) == 0x3F800000
    assert int(float_add("f16x2", one, one)) == 0x43800000
