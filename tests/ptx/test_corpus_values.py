"""CUDA C++ of the corpus on the interpreter, against NumPy and Python's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.ptx.corpus import text

from warploom.ptx.simt import launch

Array = NDArray[Any]
LANES = np.arange(32)
FULL = 0xFFFFFFFF


def _run(name: str, args: list[Any], *, block: Any = 32, expect_findings: bool = False, **options: Any) -> list[Array]:
    done = launch(text(f"nvrtc/{name}"), args=args, grid=1, block=block, **options)
    assert done.status == "finished", done.findings
    assert expect_findings or not done.findings
    return [done.arrays.get(index, np.zeros(0)) for index in range(len(args))]


def _signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _warp(x: list[int]) -> tuple[list[int], list[int]]:
    def each(function: Callable[[int], int]) -> list[int]:
        return [_signed(function(lane)) for lane in range(32)]

    v = x
    v = each(lambda t: v[t] + v[t ^ 16])
    v = each(lambda t: v[t] + v[t - 3 if t >= 3 else t])
    v = each(lambda t: v[t] + v[t + 5 if t % 8 + 5 < 8 else t])
    v = each(lambda t: v[t] + v[t * 7 % 32])
    votes = sum(1 << t for t in range(32) if v[t] > 3)
    if any(v[t] < 9 for t in range(32) if votes >> t & 1):
        first = (votes & -votes).bit_length()
        v = each(
            lambda t: (
                v[t] ^ (votes.bit_count() + first + 32 - (v[t] & FULL).bit_length() + int(f"{v[t] & FULL:032b}"[::-1], 2)) & FULL
            )
        )
    if all(value > 0 for value in v):
        v = each(lambda t: v[t] + v[t])
    v = each(lambda t: v[t] + sum(1 << other for other in range(32) if v[other] == v[t]))
    same = len(set(v)) == 1
    v = each(lambda t: v[t] + (FULL + 1 if same else 0))
    bits = int(np.float64(v[1]).view(np.int64))
    z = [(bits + (bits & (2**64 - 1)).bit_count()) & (2**64 - 1)] * 32

    def last(t: int) -> int:
        funnel = ((t << 32 | v[t] & FULL) << 7) >> 32
        bytes_of = [(v[t] >> 8 * n) & 255 for n in range(4)]
        added = sum(((bytes_of[n] + (t >> 8 * n & 255)) & 255) << 8 * n for n in range(4))
        dot = sum(_signed(b, 8) * _signed(t >> 8 * n, 8) for n, b in enumerate(bytes_of)) + 3
        product = _signed(v[t], 24) * 3
        return v[t] + funnel + added + dot + abs(v[t] - t) + 1 + ((v[t] & FULL) * 77 >> 32) + product

    return each(last), z


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("capability", [75, 90, 120])
def test_warp(seed: int, capability: int) -> None:
    rng = np.random.default_rng(seed)
    high = (5, 40, 2**30, 2**31 - 1, 2, 300)[seed]
    x = rng.integers(0 if seed % 2 else -high, high, 32, dtype=np.int32)
    # Some lanes vote with a mask that leaves them out, which is reported: nothing defines their vote.
    _, y, z = _run(f"warp/{capability}", [x, np.zeros(32, np.int32), np.zeros(32, np.uint64)], expect_findings=True)
    expected, doubles = _warp(x.tolist())
    assert y.tolist() == expected
    assert z.tolist() == doubles


def test_reduce() -> None:
    x = np.random.default_rng(0).integers(0, 2**32, 32, dtype=np.uint32)
    _, y = _run("reduce/80", [x, np.zeros(32, np.uint32)])
    assert set(y.tolist()) == {(int(x.astype(np.uint64).sum()) + int(x.max()) + int(np.bitwise_xor.reduce(x))) & FULL}


def test_shared() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (32, 40)).astype(np.float32)
    table = np.array([1.0, 2.0, 3.0] + [0.0] * 13)
    tile = x[:, :32] * table[LANES & 15]
    words = [ord(letter) for letter in 'text "quoted" \n\t\\']
    v = tile.T + np.array([3, 8])[LANES & 3 & 1] + np.array([words[(31 - c) % 16] for c in LANES])
    for start in range(0, 32, 8):
        rows = v[start : start + 8]
        if (rows > 118).any():
            rows += np.count_nonzero(rows < 60)
    expected = np.zeros((32, 40))
    expected[:, :32] = v
    _, y, _ = _run("shared/75", [x, np.zeros((32, 40), np.float32), 40], block=(32, 8), dynamic_shared_bytes=128)
    np.testing.assert_array_equal(y, expected)


def test_atomics() -> None:
    x, u = np.array([5, 0, 100, 3, 255, 0, 0, 0, 0, 0, 31, 0, 9], np.int32), np.array([0, 6, 0, 3, 0, 1, 2], np.uint32)
    y, z, w = np.zeros(3, np.float32), np.array([0, 0, 3], np.uint64), np.zeros(1)
    found = _run("atomics/75", [x, y, z, w, u], expect_findings=True)
    assert found[0][:7].tolist() == [37, -496, 0, 31, 0, 31, 0]
    assert 0 <= found[0][8] < 32 and found[0][10] == 5 and found[0][11] == 10
    assert found[1][[0, 2]].tolist() == [32, 64]
    assert (found[2][0], found[2][2], found[3][0]) == (32, 4, 32)
    assert found[4][[1, 3, 5, 6]].tolist() == [(6 + 32) % 8, (3 - 32) % 8, 97, 98]


def test_vectors() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-99, 99, (64, 4)).astype(np.float32), rng.integers(-(2**20), 2**20, (32, 2), dtype=np.int32)
    c, d = rng.integers(0, 256, (32, 4), dtype=np.uint8), rng.integers(-9, 9, (32, 2)) + 0.75
    e = rng.integers(-(2**15), 2**15, (32, 2), dtype=np.int16)
    outputs = [np.zeros((96, 4), np.float32), np.zeros((32, 2), np.int64), np.zeros((32, 4), np.int8)]
    found = _run("vectors/75", [a, b, c, d, e, *outputs])
    added = np.stack([b[:, 0], c[:, 1], d[:, 0], e[:, 1]], axis=1).astype(np.float32)
    np.testing.assert_array_equal(found[5], np.concatenate([a[:32] + added, a[:32], a[32:]]))
    np.testing.assert_array_equal(found[6], np.stack([b[:, 0], np.trunc(d[:, 1]).astype(np.int64)], axis=1))
    np.testing.assert_array_equal(found[7], np.column_stack([c[:, :3].view(np.int8), e[:, 0].astype(np.int8)]))


def _arithmetic_inputs() -> list[Array]:
    rng = np.random.default_rng(3)
    return [
        rng.uniform(0.25, 9, 33).astype(np.float32), rng.uniform(0.25, 9, 33), _nonzero(rng, -(2**31), 2**31, np.int32),
        _nonzero(rng, 0, 2**32, np.uint32), _nonzero(rng, -(2**40), 2**40, np.int64), rng.integers(0, 256, 32, dtype=np.uint8),
    ]  # fmt: skip


def _nonzero(rng: np.random.Generator, low: int, high: int, kind: type[np.integer[Any]]) -> Array:
    values = rng.integers(low, high, 33, dtype=kind)
    values[::3] = rng.choice(np.array([1, 5, 100, 77, 3]), 11)
    return np.where(values == 0, 1, values).astype(kind)


def test_integer_arithmetic() -> None:
    f, d, i, u, l, b = given = _arithmetic_inputs()
    outputs = [
        np.zeros(320, np.float32),
        np.zeros(128),
        np.zeros(256, np.int32),
        np.zeros(224, np.uint32),
        np.zeros(160, np.int64),
    ]
    found = _run("arithmetic/75", [*given, *outputs])
    for t in range(32):
        x, y, p = float(f[t]), float(f[t + 1]), float(d[t])
        m, n, v, w, k, j = int(i[t]), int(i[t + 1]), int(u[t]), int(u[t + 1]), int(l[t]), int(l[t + 1])
        ints = [
            _quotient(m, n), m - _quotient(m, n) * n, m >> (n & 31), _quotient(m, 7), m - _quotient(m, 12) * 12,
            abs(m) + min(m, n) + max(m, n),
            int(x) + math.ceil(y) + int(p) + int(f[t].view(np.int32)) + _signed(m, 16) + _signed(n, 8), t if m > n else ~m,
        ]  # fmt: skip
        assert found[8][8 * t : 8 * t + 8].tolist() == [_signed(value) for value in ints], t
        shifted = v >> w if w < 32 else 0
        words = [
            v // w, v % w, shifted, int(x) + int(p) + round(y), v * w + int(b[t]) + (v >> 3 & 31),
            (v * w >> 32) + (v == w) + ((v < 3 and w > 9) or m == n), (v & w) | (v ^ ~w),
        ]  # fmt: skip
        assert found[9][7 * t : 7 * t + 7].tolist() == [value & FULL for value in words], t
        longs = [_quotient(k, j), k - _quotient(k, j) * j, k * j + m, k >> 5 | j << 9, int(p) + (k * j >> 64) + int(x)]
        assert found[10][5 * t : 5 * t + 5].tolist() == [_signed(value, 64) for value in longs], t


def test_float_arithmetic() -> None:
    f, d, i, u, l, _ = given = _arithmetic_inputs()
    outputs = [
        np.zeros(320, np.float32),
        np.zeros(128),
        np.zeros(256, np.int32),
        np.zeros(224, np.uint32),
        np.zeros(160, np.int64),
    ]
    found = _run("arithmetic/75", [*given, *outputs])
    for t in range(32):
        x, y, p, q = (float(value) for value in (f[t], f[t + 1], d[t], d[t + 1]))
        m, v, k = int(i[t]), int(u[t]), int(l[t])
        floats = [
            x / y, math.sqrt(x), 1 / math.sqrt(x), x / y, math.sin(x) + math.cos(y) + math.exp(x),
            min(x, y) + max(x, y) + x + math.floor(y) + math.ceil(x) + math.trunc(y) + round(x), x * y + 1,
            x + y + 2**x + math.log2(y) + x**y + math.tanh(x) + math.erf(x) + math.lgamma(x),
            x + y + x * y + 1 / x + min(max(y, 0), 1) + math.fmod(x, y) + y, m + v + k,
        ]  # fmt: skip
        np.testing.assert_allclose(found[6][10 * t : 10 * t + 10], floats, rtol=3e-6, atol=3e-6)
        doubles = [
            p / q, math.sqrt(p) + math.sin(q) + math.exp(p) + q ** (1 / 3),
            p * q + 1.5 + math.floor(p) + 1 / q + float(np.float32(p)), m + v + k + x,
        ]  # fmt: skip
        np.testing.assert_allclose(found[7][4 * t : 4 * t + 4], doubles, rtol=1e-14)


def test_halves() -> None:
    rng = np.random.default_rng(0)
    a = rng.uniform(0.5, 2, 34).astype(np.float16)
    b = rng.uniform(-2, 2, (34, 2)).astype(np.float16)
    c = (rng.uniform(-2, 2, 34).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    d = (rng.uniform(-2, 2, (34, 2)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    outputs = [np.zeros(64, np.float16), np.zeros((64, 2), np.float16), np.zeros(32, np.uint16), np.zeros((32, 2), np.uint16)]
    found = _run("halves/80", [a, b, c, d, *outputs])
    wide, pairs = a.astype(np.float64), b.astype(np.float64)
    quotient = (wide[:32] * wide[1:33] + 0.5) / wide[2:34]
    np.testing.assert_allclose(found[4][:32], quotient, rtol=2**-9)
    larger = np.maximum(wide[:32], wide[1:33])
    total = np.sqrt(wide[:32]) + np.exp(wide[:32]) + larger + LANES + np.where(wide[:32] < wide[1:33], wide[:32], wide[1:33])
    np.testing.assert_allclose(found[4][32:], total, rtol=2**-8)
    np.testing.assert_allclose(found[5][:32], pairs[:32] * pairs[1:33] + pairs[2:34] + pairs[:32] ** 2 + pairs[:32], atol=2**-7)
    np.testing.assert_array_equal(found[5][32:], b[:32][LANES ^ 1])

    def values(bits: Array) -> Array:
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    np.testing.assert_allclose(values(found[6]), (values(c[:32]) + values(c[1:33])) * 1.5, rtol=2**-6, atol=2**-6)
    np.testing.assert_allclose(values(found[7]), values(d[:32]) * values(d[1:33]) + values(d[2:34]), atol=2**-6)


@pytest.mark.parametrize("n", [0, 1, 4, 5])
@pytest.mark.parametrize("name", ["calls/75", "calls/75/debug", "calls/90"])
def test_calls(name: str, n: int) -> None:
    x, y = np.float32([1.5]), np.arange(10, 10 + 7 * 5 + 1, dtype=np.int32)
    found = _run(name, [x, y, n], block=1)

    def twice(value: float) -> float:
        return 2 * value + n

    def thrice(value: float) -> float:
        return 3 * value if n > 3 else value

    v = (twice, thrice)[n & 1](1.5)
    values = [v + place for place in range(5)]
    values[n % 5] += 1
    local = [int(y[place * n]) for place in range(8)]
    local[n & 7] += 1
    expected = values[n % 5] + 2 * v + twice(v) + local[(n + 3) & 7] + math.factorial(n)
    assert found[0].tolist() == [expected]


def _control(x: list[int], y: list[int], t: int, n: int) -> None:
    v = x[t]
    match v:
        case 0:
            y[0] = x[t + 1] * 3
        case 1:
            y[t] = _quotient(x[t + 2], 5)
            v = x[t]
        case 2:
            v -= t
            y[5] = v
        case 3:
            y[1] = 4
        case 4:
            v ^= x[9]
        case 5:
            y[t * 3] = v
            return
        case 6:
            v, x = n, y
            v *= n
            y[2] = v
        case 7:
            v *= n
            y[2] = v
        case 8:
            y[0], y[3] = y[0] + 1, y[0]
        case 10:
            v = x[x[t]]
        case 11:
            y[4] = (v & FULL).bit_count() * t
        case _:
            v = -1
    while v > 0:
        if v == 13:
            break
        v -= x[v & 15]
        if v & 1:
            continue
        v >>= 1
    for i in range(n):
        for j in range(i, n, 3):
            if x[j] > t:
                y[t] = v
                return
            v += x[i] * j
    y[t] = v


@pytest.mark.parametrize("first", [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 20])
@pytest.mark.parametrize("name", ["control/75", "control/75/debug"])
def test_control(name: str, first: int) -> None:
    rng = np.random.default_rng(first)
    x = rng.integers(1, 12, 40, dtype=np.int32)
    x[0] = first
    y = rng.integers(1, 12, 40, dtype=np.int32)
    _, found, _ = _run(name, [x, y.copy(), 9], block=1)
    expected = y.tolist()
    _control(x.tolist(), expected, 0, 9)
    assert found.tolist() == expected


def test_control_diverges() -> None:
    rng = np.random.default_rng(5)
    x = rng.choice(np.array([2, 4, 7, 10, 12, 14]), 40).astype(np.int32)
    _, found, _ = _run("control/75", [x, np.zeros(100, np.int32), 9], expect_findings=True)
    for t in range(6, 32):
        expected = [0] * 100
        _control(x.tolist(), expected, t, 9)
        assert found[t] == expected[t]


def test_pipeline() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (64, 4)).astype(np.float32)
    _, y = _run("pipeline/80", [x, np.zeros((64, 4), np.float32)])
    np.testing.assert_array_equal(y, np.concatenate([x[:32][::-1], x[32:][::-1]]))


def test_templates_and_structs() -> None:
    rng = np.random.default_rng(0)
    x, coefficients = rng.uniform(-1, 1, 32).astype(np.float32), rng.uniform(-1, 1, 5).astype(np.float32)
    ptx = text("nvrtc/templates/75")
    (poly,) = (line.split()[2].rstrip("(") for line in ptx.splitlines() if ".entry" in line and "poly" in line)
    done = launch(ptx, poly, grid=1, block=32, args=[x, np.zeros_like(x), coefficients.tobytes()])
    np.testing.assert_allclose(done.arrays[1], np.polyval(coefficients[::-1].astype(np.float64), x), rtol=0, atol=1e-6)
    assert launch(ptx, "empty", grid=1, block=32, args=[]).status == "finished"
