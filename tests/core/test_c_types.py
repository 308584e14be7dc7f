"""C's types of operations. A compiler would say the same of `decltype(a + b)`; what is kept narrow is so for all values."""

from __future__ import annotations

import itertools

import pytest

from warploom.core import BY_NAME, bf16, common_type, f16, f32, f64, i8, i16, i32, i64, promoted, u8, u16, u32, u64
from warploom.core.c_types import result_type


def test_types_of_sums_are_those_of_c() -> None:
    assert [promoted(t) for t in (i8, u8, i16, u16, i32, u32, i64, f16)] == [i32, i32, i32, i32, i32, u32, i64, f16]
    assert promoted(BY_NAME["char2"]) is BY_NAME["char2"]
    for a, b, expected in [
        (i8, u8, i32), (i32, u32, u32), (u32, i64, i64), (u64, i64, u64), (i64, i32, i64), (u16, i8, i32), (i32, i32, i32),
        (f16, i64, f16), (u32, f32, f32), (f16, f32, f32), (f64, f32, f64), (f16, bf16, f32), (bf16, bf16, bf16),
    ]:  # fmt: skip
        assert common_type(a, b) is common_type(b, a) is expected


@pytest.mark.parametrize(
    ("sign", "operands", "fits", "expected"),
    [
        ("+", (i8, i8), True, i32),
        ("+", (i8, None), True, i32),
        ("-", (u32, i32), True, u32),
        ("*", (f32, i64), True, f32),
        ("max", (u8, u8), True, u8),
        ("max", (u8, None), True, u8),
        ("max", (u8, None), False, i32),
        ("&", (i8, u8), True, i32),
        ("~", (i8,), True, i8),
        ("~", (u8,), True, i32),
        ("neg", (i8,), True, i32),
        ("<<", (i8, i64), True, i32),
        (">>", (i8, i64), True, i8),
        (">>", (None, i64), True, i32),
        ("<<", (u64, i8), True, u64),
        ("+", (BY_NAME["char2"], BY_NAME["char2"]), True, BY_NAME["char2"]),
    ],
)
def test_types_of_results(sign: str, operands: tuple[object, ...], fits: bool, expected: object) -> None:
    assert result_type(sign, operands, fits=fits) is expected  # pyright: ignore[reportArgumentType]


def test_a_number_that_does_not_fit_widens_integers_but_not_floats() -> None:
    assert result_type("+", (i32, None), fits=False, literals=[i64]) is i64
    assert result_type("+", (f32, None), fits=True, literals=[f64]) is f32
    assert result_type("max", (i8, None), fits=True, literals=[i32]) is i8


def test_a_narrow_result_holds_every_value() -> None:
    """All pairs of a few values of bytes: what `int` computes is a value of the type that is kept narrow."""
    meanings = {"min": min, "max": max, "&": int.__and__, "|": int.__or__, "^": int.__xor__, ">>": int.__rshift__}
    for dtype, values in ((i8, (-128, -7, 0, 1, 127)), (u8, (0, 3, 128, 255))):
        for sign, meaning in meanings.items():
            assert result_type(sign, (dtype, dtype), fits=True) is dtype
            for a, b in itertools.product(values, values):
                if sign != ">>" or 0 <= b < 32:
                    assert min(values) <= meaning(a, b) <= max(values)
