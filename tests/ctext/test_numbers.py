"""Literals mean their numbers: the C compiler's reading of them against the bits."""

from __future__ import annotations

import math
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from warploom.core import BY_NAME, bf16, f16, f32, f64, i8, i16, i32, i64, u8, u32, u64
from warploom.core.compiler import the_compiler
from warploom.ctext import (
    Text,
    binary,
    c_literal,
    c_type,
    cuda_type,
    decimal,
    exact_double,
    integer,
    is_narrow,
    literal,
    vector_type,
)
from warploom.ctext.numbers import rounded

INTEGERS = [0, 1, -1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), 2**64 - 1, -(2**31) - 1]
FLOATS = [
    0.0, -0.0, 1.0, -1.5, 0.1, 1e-5, 1e7, 16777217.0, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-52, 3.4e38, 1e39, -1e39, 2.0**-149,
    2.0**-150, 1e-46, math.inf, -math.inf, math.nan, 1e300, 5e-324, 1 / 3,
]  # fmt: skip


SHOW = """
static void show(const void *p, int n) {
    for (int i = 0; i < n; i++) printf("%02x", ((const unsigned char *)p)[i]);
    puts("");
}
"""


def test_c_reads_the_numbers_that_were_meant(tmp_path: Path) -> None:
    rows: list[tuple[str, str, bytes]] = []
    for dtype in (i32, u32, i64, u64, i16, u8):
        numpy_type = np.dtype(f"{dtype.kind[0]}{dtype.bits // 8}")
        for value in INTEGERS:
            bits = value & ((1 << dtype.bits) - 1)
            signed = bits - (1 << dtype.bits) if dtype.kind == "int" and bits >> (dtype.bits - 1) else bits
            rows.append((c_type(dtype) or "", literal(dtype, value).text, np.array(signed, numpy_type).tobytes()))
    for value in FLOATS:
        with np.errstate(over="ignore"):
            rows.append(("float", c_literal(f32, value).text, np.float32(value).tobytes()))
        rows.append(("double", c_literal(f64, value).text, np.float64(value).tobytes()))
        rows.append(("double", exact_double(value).text, np.float64(value).tobytes()))
    rows += [("int64_t", decimal(value).text, np.int64(value).tobytes()) for value in (-(2**63), -(2**31), 2**62)]
    lines = [f"    {{ {kind} x = {text}; show(&x, sizeof x); }}" for kind, text, _ in rows]
    source = tmp_path / "numbers.c"
    heads = ["#include <math.h>", "#include <stdint.h>", "#include <stdio.h>", SHOW, "int main(void) {"]
    source.write_text("\n".join([*heads, *lines, "    return 0;", "}", ""]))
    compiler = the_compiler()
    subprocess.run([*compiler.command, "-Wall", "-Werror", "-o", str(tmp_path / "numbers"), str(source)], check=True)
    shown = subprocess.run([str(tmp_path / "numbers")], check=True, capture_output=True, text=True).stdout.split()
    for (kind, text, expected), got in zip(rows, shown, strict=True):
        assert got == expected.hex(), f"{kind} {text}"


@pytest.mark.parametrize("dtype, value, expected", [
    (i32, -(2**31), "-2147483647 - 1"),
    (i64, -(2**63), "-9223372036854775807LL - 1"),
    (i32, 2**31, "-2147483647 - 1"),
    (i8, 200, "-56"),
    (u32, -1, "4294967295u"),
    (u64, -1, "18446744073709551615ULL"),
    (f32, -0.0, "-0.0f"),
    (f32, 1e300, "__int_as_float(0x7f800000)"),
    (f32, -math.inf, "__int_as_float(0xff800000)"),
    (f64, math.nan, "__longlong_as_double(0x7ff8000000000000LL)"),
    (f32, Fraction(1, 3), "0.33333334f"),
    (f16, 0.1, "__float2half(0.1f)"),
    (f16, 70000.0, "__float2half(70000.0f)"),
    (bf16, 1e39, "__float2bfloat16(__int_as_float(0x7f800000))"),
])  # fmt: skip
def test_cuda_literals(dtype, value, expected: str) -> None:
    assert literal(dtype, value).text == expected


def test_a_number_is_rounded_once() -> None:
    """The decimal digits of a double lie on the other side of the middle between two floats; and a half is not a float's half."""
    assert literal(f32, 1 + 2.0**-24).text == c_literal(f32, 1 + 2.0**-24).text == "1.0f"
    above = 1 + 2.0**-11 + 2.0**-40
    assert literal(f16, above).text == "__float2half(1.0009766f)"
    assert np.float16(np.float32("1.0009766")) == np.float16(above) != np.float16(np.float32(above))
    assert c_literal(f16, above).text == "1.0009766f"
    assert literal(bf16, 1 + 2.0**-8 + 2.0**-40).text == "__float2bfloat16(1.0078125f)"


def test_rounding_agrees_with_numpy() -> None:
    random_ = np.random.default_rng(3)
    values = random_.integers(0, 2**64, 400, np.uint64).view(np.float64)
    values = [*values, *(random_.standard_normal(200) * 10.0 ** random_.integers(-9, 6, 200)), 65519.99, 65520.0, 2.0**-25]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for value in map(float, values):
            for name, numpy_type in (("f32", np.float32), ("f16", np.float16)):
                assert np.array(rounded(value, name)).tobytes() == np.array(float(numpy_type(value))).tobytes() or value != value


def test_literals_bind_as_they_are_written() -> None:
    assert (integer(-5).at(15), integer(5).at(15), literal(f32, -1.0).at(15)) == ("(-5)", "5", "(-1.0f)")
    assert binary("*", Text("a"), integer(-(2**31))).text == "a * (-2147483647 - 1)"
    assert (integer(7).value, integer(-(2**31)).value, Text("7").value) == (7, -(2**31), None)


@pytest.mark.parametrize("name, lanes, expected", [
    ("f32", 4, "float4"), ("f64", 2, "double2"), ("f64", 4, None), ("u8", 4, "uchar4"), ("i64", 2, "longlong2"), ("f16", 2, None),
    ("f32", 3, None), ("i8", 2, "char2"), ("bf16", 4, None),
])  # fmt: skip
def test_vectors_that_one_access_moves(name: str, lanes: int, expected: str | None) -> None:
    found = vector_type(BY_NAME[name], lanes)
    assert (None if found is None else cuda_type(found)) == expected


def test_what_c_computes_as_int_is_narrow() -> None:
    assert [d.name for d in (i8, u8, i16, i32, u32, i64, f16, f32) if is_narrow(d)] == ["i8", "u8", "i16"]
