"""Signs of zeros: what real numbers do not say is not said of words either."""

from __future__ import annotations

import pytest

from warploom.core import BY_NAME
from warploom.ptx import Program, lower
from warploom.ptx.syntax import parse
from warploom.synth.compiled import ArrayArgument, CompiledProof, prove_equivalent

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 x) {
.reg .b32 %r<4>; .reg .f32 %f<6>; .reg .b64 %d<3>; .reg .pred %p<2>;
ld.param.u64 %d1, [o]; ld.param.u64 %d2, [x];
ld.global.f32 %f1, [%d2]; ld.global.f32 %f2, [%d2+4]; ld.global.f32 %f3, [%d2+8];
"""
SIGN = "mov.b32 %r1, %f4; shr.u32 %r1, %r1, 31; st.global.u32 [%d1], %r1; ret; }"
WORD = "mov.b32 %r1, %f4; st.global.u32 [%d1], %r1; ret; }"
ZERO, NEGATIVE_ZERO = "mov.f32 %f4, 0f00000000;", "mov.f32 %f4, 0f80000000;"


def kernel(body: str) -> Program:
    return lower(parse(HEAD + body, "k.ptx"))


def compared(one: str, other: str, end: str, dtype: str = "u32") -> CompiledProof:
    arguments = (ArrayArgument("o", BY_NAME[dtype], (1,)), ArrayArgument("x", BY_NAME["f32"], (3,)))
    return prove_equivalent(kernel(one + end), kernel(other + end), "k", arguments, (1, 1, 1), (1, 1, 1))


def test_a_product_with_zero_has_no_known_bits() -> None:
    assert compared("mul.f32 %f4, %f1, 0f00000000;", ZERO, SIGN).verdict == "unchecked"


@pytest.mark.parametrize(
    ("product", "zero"),
    [
        ("mul.f32 %f4, 0fBF800000, 0f00000000;", NEGATIVE_ZERO),
        ("mul.f32 %f4, 0f00000000, 0f80000000;", NEGATIVE_ZERO),
        ("mul.f32 %f4, 0f80000000, 0f80000000;", ZERO),
        ("mov.f32 %f5, 0f80000000; add.f32 %f4, %f5, 0f00000000;", ZERO),
        ("mov.f32 %f5, 0f80000000; add.f32 %f4, %f5, 0f80000000;", NEGATIVE_ZERO),
        ("fma.rn.f32 %f4, 0fBF800000, 0f00000000, 0f00000000;", ZERO),
        ("fma.rn.f32 %f4, 0fBF800000, 0f00000000, 0f80000000;", NEGATIVE_ZERO),
    ],
)
def test_known_zeros_have_their_signs(product: str, zero: str) -> None:
    other = ZERO if zero == NEGATIVE_ZERO else NEGATIVE_ZERO
    assert compared(product, zero, SIGN).verdict == "proved"
    assert compared(product, other, SIGN).verdict == "refuted"


def test_a_branch_on_the_bits_of_a_zero() -> None:
    ends = "mov.b32 %r1, %f4; setp.eq.u32 %p1, %r1, 0; selp.f32 %f4, %f1, %f2, %p1; st.global.f32 [%d1], %f4; ret; }"
    plain = "mov.f32 %f4, %f1; st.global.f32 [%d1], %f4; ret; }"
    arguments = (ArrayArgument("o", BY_NAME["f32"], (1,)), ArrayArgument("x", BY_NAME["f32"], (3,)))
    one, other = kernel("mul.f32 %f4, 0fBF800000, 0f00000000;" + ends), kernel(plain)
    assert prove_equivalent(one, other, "k", arguments, (1, 1, 1), (1, 1, 1)).verdict == "refuted"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mul.f32 %f4, %f1, %f2;", "mul.f32 %f4, %f1, %f2; add.f32 %f4, %f4, 0f00000000;"),
        ("mul.f32 %f4, %f1, %f2;", "fma.rn.f32 %f4, %f1, %f2, 0f00000000;"),
        ("add.f32 %f4, %f1, 0f00000000;", "mov.f32 %f4, %f1;"),
        ("mul.f32 %f4, %f1, 0f00000000;", "mul.f32 %f4, %f2, 0f00000000;"),
    ],
)
def test_a_zero_that_is_left_out_is_told_where_bits_are_used(one: str, other: str) -> None:
    of_bits = compared(one, other, SIGN)
    assert of_bits.verdict == "proved" and "zeros of either sign are equal" in of_bits.domain
    of_floats = compared(one, other, "st.global.f32 [%d1], %f4; ret; }", "f32")
    assert of_floats.verdict == "proved" and "zeros" not in of_floats.domain


@pytest.mark.parametrize("one, other", [(ZERO, NEGATIVE_ZERO), (NEGATIVE_ZERO, ZERO)])
def test_zeros_that_are_stored_are_told(one: str, other: str) -> None:
    end = "st.global.f32 [%d1], %f4; ret; }"
    proof = compared(one, other, end, "f32")
    assert proof.verdict == "proved" and "zeros of either sign are equal" in proof.domain
    assert "zeros" not in compared(ZERO, ZERO, end, "f32").domain


def test_a_maximum_with_the_least_float_forgets_a_nan() -> None:
    greater = "setp.gt.f32 %p1, %f1, 0fFF7FFFFF; selp.f32 %f4, %f1, 0fFF7FFFFF, %p1;"
    proof = compared("mov.f32 %f4, %f1;", greater, "st.global.f32 [%d1], %f4; ret; }", "f32")
    assert (proof.verdict, proof.domain) == ("proved", "no value below the least float, no NaN")


def test_a_word_that_is_added_to_zero_is_no_longer_that_word() -> None:
    arguments = (ArrayArgument("o", BY_NAME["u32"], (1,)), ArrayArgument("x", BY_NAME["u32"], (3,)))
    one = kernel("add.f32 %f4, %f1, 0f00000000; st.global.f32 [%d1], %f4; ret; }")
    other = kernel("st.global.f32 [%d1], %f1; ret; }")
    assert prove_equivalent(one, other, "k", arguments, (1, 1, 1), (1, 1, 1)).verdict == "unchecked"
