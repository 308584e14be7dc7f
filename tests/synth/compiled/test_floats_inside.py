"""Integers that are made of floats: the domain names the laws by which the floats were compared."""

from __future__ import annotations

import pytest
from tests.synth.compiled.test_one_type import compared

from warploom.core import f32, f64, i32, i64, u32

_REORDERED = {
    "a float's bits": (
        "add.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; mov.b32 %r1, %f5;",
        "add.f32 %f4, %f2, %f3; add.f32 %f5, %f1, %f4; mov.b32 %r1, %f5;",
    ),
    "a conversion": (
        "add.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; cvt.rzi.s32.f32 %r1, %f5;",
        "add.f32 %f4, %f2, %f3; add.f32 %f5, %f1, %f4; cvt.rzi.s32.f32 %r1, %f5;",
    ),
    "a comparison": (
        "add.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; setp.lt.f32 %p1, %f5, 0f00000000; selp.b32 %r1, 7, 9, %p1;",
        "add.f32 %f4, %f2, %f3; add.f32 %f5, %f1, %f4; setp.lt.f32 %p1, %f5, 0f00000000; selp.b32 %r1, 7, 9, %p1;",
    ),
    "a product that is divided": (
        "mul.f32 %f4, %f1, 0f40400000; div.rn.f32 %f5, %f4, 0f40400000; cvt.rzi.s32.f32 %r1, %f5;",
        "cvt.rzi.s32.f32 %r1, %f1;",
    ),
    "bits that are shifted": (
        "add.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; mov.b32 %r2, %f5; shr.u32 %r1, %r2, 3;",
        "add.f32 %f4, %f2, %f3; add.f32 %f5, %f1, %f4; mov.b32 %r2, %f5; shr.u32 %r1, %r2, 3;",
    ),
}
_LOADS = "ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd2+4]; ld.global.f32 %f3, [%rd2+8];\n"


@pytest.mark.parametrize("case", list(_REORDERED))
def test_sums_inside_of_integers_are_said_to_be_real(case: str) -> None:
    """As machine numbers the two differ: 1 + 2^24 - 2^24 is 0 or 1."""
    one, other = (f"{_LOADS}{body} st.global.b32 [%rd1], %r1;" for body in _REORDERED[case])
    proof = compared(one, other, i32, f32)
    assert proof.verdict == "proved"
    parts = proof.domain.split(", ")
    assert "real sums reordered" in parts and "int32 wrap" not in parts and "elements moved unchanged" not in parts


def test_the_laws_of_the_integers_around_them_are_said_too() -> None:
    around = "mov.b32 %r2, %f5; ld.global.u32 %r3, [%rd2+12]; add.u32 %r1, %r2, %r3; st.global.b32 [%rd1], %r1;"
    back = around.replace("%r2, %r3;", "%r3, %r2;")
    one, other = (f"{_LOADS}{body}" for body in ("add.f32 %f5, %f1, %f2;" + around, "add.f32 %f5, %f2, %f1;" + back))
    assert compared(one, other, u32, f32).domain == "uint32 wrap, real sums reordered"


def test_a_double_in_an_array_of_words() -> None:
    loads = "ld.global.f64 %fd1, [%rd2]; ld.global.f64 %fd2, [%rd2+8]; ld.global.f64 %fd3, [%rd2+16];"
    one = f"{loads} add.f64 %fd4, %fd1, %fd2; add.f64 %fd5, %fd4, %fd3; st.global.f64 [%rd1], %fd5;"
    other = f"{loads} add.f64 %fd4, %fd2, %fd3; add.f64 %fd5, %fd1, %fd4; st.global.f64 [%rd1], %fd5;"
    assert compared(one, other, i64, f64).domain == "real sums reordered"


def test_a_smaller_float_inside() -> None:
    one = f"{_LOADS} min.f32 %f5, %f1, %f2; mov.b32 %r1, %f5; st.global.b32 [%rd1], %r1;"
    other = f"{_LOADS} min.f32 %f5, %f2, %f1; mov.b32 %r1, %f5; st.global.b32 [%rd1], %r1;"
    assert "min and max of ordered values" in compared(one, other, u32, f32).domain


def test_what_divides_inside_is_not_zero() -> None:
    one = f"{_LOADS} div.rn.f32 %f4, %f1, %f2; cvt.rzi.s32.f32 %r1, %f4; st.global.b32 [%rd1], %r1;"
    other = f"{_LOADS} div.rn.f32 %f4, %f1, %f2; cvt.rzi.s32.f32 %r1, %f4; st.global.b32 [%rd1], %r1;"
    assert "no number divided by 0" in compared(one, other, i32, f32).domain
