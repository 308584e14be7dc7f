"""Machine arithmetic against Python integers and exact fractions; field arithmetic against Python's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warploom.ir as ir
from warploom.core import SCALARS, UnsupportedError, UserError, bf16, f16, f32, f64, i8, i32, i64, to_numpy, u8, u32, u64

MACHINE = ir.MachineArithmetic()
INTEGERS = [t for t in SCALARS if not t.is_float]
PRECISION = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}
LARGEST = {"f16": 65504, "bf16": (2**8 - 1) * 2**120, "f32": (2**24 - 1) * 2**104}


def wrap(value, dtype):
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value


def nearest(value: Fraction, dtype):
    """The float of `dtype` nearest to an exact value, ties to even; as a Python float."""
    digits, lowest = PRECISION[dtype.name]
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent += (size >= Fraction(2) ** (exponent + 1)) - (size < Fraction(2) ** exponent)
    unit = Fraction(2) ** max(exponent - digits + 1, lowest)
    rounded = round(value / unit) * unit
    if dtype.name in LARGEST and abs(rounded) > LARGEST[dtype.name]:
        return float("inf") if value > 0 else float("-inf")
    return float(rounded)


def integers(dtype):
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "int" else 0
    high = low + (1 << dtype.bits) - 1
    return st.integers(low, high) | st.sampled_from([low, low + 1, 0, 1, high])


def apply(op, operands, dtype):
    arrays = [np.array([[v]], to_numpy(dtype)) for v in operands]
    result, bad = MACHINE.apply(op, arrays, dtype, None)
    assert result.dtype == to_numpy(dtype)
    return result[0, 0].item(), bad is not None and bool(bad.any())


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_integers_wrap(dtype, data):
    a, b = data.draw(integers(dtype)), data.draw(integers(dtype))
    with np.errstate(all="ignore"):
        table = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b, "min": min(a, b), "max": max(a, b)}
        for op, exact in table.items():
            assert apply(op, (a, b), dtype) == (wrap(exact, dtype), False), op
        assert apply("neg", (a,), dtype)[0] == wrap(-a, dtype)
        assert apply("~", (a,), dtype)[0] == wrap(~a, dtype)
        towards_zero = (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0
        assert apply("/", (a, b), dtype) == (wrap(towards_zero, dtype), b == 0)
        assert apply("//", (a, b), dtype) == (wrap(a // b, dtype) if b else 0, b == 0)
        assert apply("%", (a, b), dtype) == (a % b if b else 0, b == 0)
        distance = b % (2 * dtype.bits) if b >= 0 else 3
        assert apply("<<", (a, distance), dtype)[0] == wrap(a << distance, dtype)
        assert apply(">>", (a, distance), dtype)[0] == a >> distance


@pytest.mark.parametrize("dtype", [f16, bf16, f32], ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_floats_round_to_nearest_even_once(dtype, data):
    values = st.floats(-1000, 1000, width=16) if dtype == f16 else st.floats(-1e10, 1e10, width=32)
    pair = [nearest(Fraction(data.draw(values)), dtype) for _ in range(2)]
    a, b = map(Fraction, pair)
    with np.errstate(all="ignore"):
        assert apply("+", pair, dtype)[0] == nearest(a + b, dtype)
        assert apply("-", pair, dtype)[0] == nearest(a - b, dtype)
        assert apply("*", pair, dtype)[0] == nearest(a * b, dtype)
        if b:
            assert apply("/", pair, dtype)[0] == nearest(a / b, dtype)


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64], ids=str)
@settings(max_examples=150, deadline=None)
@given(value=st.floats(-1e30, 1e30) | st.integers(-(2**63), 2**63 - 1))
def test_conversions_to_floats_round_once(dtype, value):
    exact = Fraction(value)
    with np.errstate(all="ignore"):
        if isinstance(value, int):
            got = MACHINE.from_index(np.array(value), dtype)
        else:
            got = MACHINE.cast(np.array(value), f64, dtype)
    assert got.dtype == to_numpy(dtype)
    assert got.item() == nearest(exact, dtype)


def test_bf16_ties_near_a_half():
    tie = 1 + 2.0**-8
    for value, expected in [(tie, 1.0), (tie + 2.0**-40, 1 + 2.0**-7), (tie - 2.0**-40, 1.0), (-tie - 2.0**-40, -1 - 2.0**-7)]:
        assert MACHINE.constant(value, bf16).item() == expected
    assert MACHINE.constant(2**62 + 2**54 + 1, bf16).item() == 2.0**62 + 2.0**55
    assert np.isnan(MACHINE.constant(float("nan"), bf16).item())
    assert MACHINE.constant(float("-inf"), bf16).item() == float("-inf")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_floats_to_integers_saturate(dtype):
    limits = np.iinfo(to_numpy(dtype))
    values = [0.9, -0.9, 3.99, float("inf"), float("-inf"), float("nan"), 1e30, -1e30]
    expected = [0, 0, 3, limits.max, limits.min, 0, limits.max, limits.min]
    with np.errstate(all="ignore"):
        assert MACHINE.cast(np.array(values), f64, dtype).tolist() == expected
        assert MACHINE.cast(np.array([-100.5], np.float32), f32, dtype).item() == max(limits.min, -100)


def test_integer_casts_wrap_and_min_ignores_nan():
    assert MACHINE.cast(np.array([300, -1], np.int32), i32, u8).tolist() == [44, 255]
    assert MACHINE.cast(np.array([200], np.uint8), u8, i8).tolist() == [-56]
    assert MACHINE.constant(-1, u64).item() == 2**64 - 1
    assert MACHINE.constant(2**63 + 1, i64).item() == -(2**63) + 1
    assert MACHINE.constant(2**40 + 5, u32).item() == 5
    nan = np.array([[float("nan")]], np.float32)
    assert MACHINE.apply("min", [nan, np.ones_like(nan)], f32, None)[0].item() == 1


@pytest.mark.parametrize("p", [2**61 - 1, 101, 2**89 - 1])
def test_a_field_computes_like_python(p):
    field = ir.FieldArithmetic(np.random.default_rng(0), p)
    a, b = field.random((5, 40)), field.random((5, 40))
    b[b == 0] = 1
    table = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x * pow(y, -1, p)}
    for op, exact in table.items():
        got = field.apply(op, [a, b], f32, None)[0]
        assert [int(v) for v in got.flat] == [exact(int(x), int(y)) % p for x, y in zip(a.flat, b.flat, strict=True)]
    assert [int(v) for v in field.apply("neg", [a], f32, None)[0].flat] == [-int(x) % p for x in a.flat]
    assert int(field.constant(-0.75, f32)) == -3 * pow(4, -1, p) % p
    assert int(field.from_index(np.array(-7), f32)) == -7 % p


def test_extremes_of_the_fast_field():
    p = 2**61 - 1
    field = ir.FieldArithmetic(np.random.default_rng(0))
    edge = [0, 1, 2**30, 2**31 - 1, 2**31, 2**60, p - 2, p - 1]
    a, b = np.array([[x] for x in edge], np.uint64), np.array([edge], np.uint64)
    got = field.apply("*", [a, b], i32, None)[0]
    assert [[int(v) for v in row] for row in got] == [[x * y % p for y in edge] for x in edge]


KERNEL = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[f32, 5], y: Global[f32, 4] | out):
    a = accumulator(f32, op='+', init=0, finalize=__state / f32(3))
    for i in range(2):
        a.add(x[thread_id + i] * f32(0.5), when=thread_id + i > 0)
    y[thread_id] = a.value()
"""


def test_a_kernel_over_a_field():
    field = ir.FieldArithmetic(np.random.default_rng(5))
    x = field.random((5,))
    got = ir.run(ir.parse_kernel(KERNEL), {"x": x}, arithmetic=field).arrays["y"]
    for t in range(4):
        total = sum(int(x[t + i]) for i in range(2) if t + i > 0)
        assert int(got[t]) == total * pow(6, -1, field.p) % field.p


def test_what_a_field_cannot_do():
    field = ir.FieldArithmetic(np.random.default_rng(5))
    divided = ir.parse_kernel(KERNEL.replace("__state / f32(3)", "f32(1) / (__state - __state)"))
    with pytest.raises(ir.RedrawError):
        ir.run(divided, {"x": field.random((5,))}, arithmetic=field)
    with pytest.raises(UnsupportedError, match="FIELD_OPERATION"):
        ir.run(ir.parse_kernel(KERNEL.replace("op='+'", "op='max'")), {"x": field.random((5,))}, arithmetic=field)
    with pytest.raises(UserError, match="expected x"):
        ir.run(ir.parse_kernel(KERNEL), {"x": np.zeros(5, np.float32)}, arithmetic=field)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.name)
def test_integers_of_any_size_become_values_by_wrapping(dtype):
    given = [-1, 0, 1, (1 << 70) + 5, -(1 << 66) - 3, (1 << dtype.bits) - 1]
    found = MACHINE.from_index(np.array(given, dtype=object), dtype)
    assert found.dtype == to_numpy(dtype) and found.tolist() == [wrap(value, dtype) for value in given]
