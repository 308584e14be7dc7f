"""Terms are shared by all that is equal: two operations of different types must not become one term."""

from __future__ import annotations

import pytest

from warploom.core import DType, f32, i16, i32, i64, u16, u32, u64
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, CompiledProof, prove_equivalent
from warploom.synth.compiled.numbers import value_of
from warploom.terms import apply, atom

_HEAD = (
    ".version 8.5\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b)\n{\n"
    "\t.reg .pred %p<9>;\n\t.reg .b16 %h<20>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<20>;\n"
    "\t.reg .f32 %f<20>;\n\t.reg .f64 %fd<20>;\n"
    "\tld.param.u64 %rd1, [out];\n\tld.param.u64 %rd2, [a];\n\tld.param.u64 %rd3, [b];\n"
)


def compared(one: str, other: str, out: DType, a: DType, b: DType = i16) -> CompiledProof:
    """Whether two bodies leave the same; one thread."""
    programs = [lower(parse(f"{_HEAD}{text}\n\tret;\n}}\n")) for text in (one, other)]
    arguments = (ArrayArgument("out", out, (8,)), ArrayArgument("a", a, (16,)), ArrayArgument("b", b, (16,)))
    return prove_equivalent(programs[0], programs[1], None, arguments, (1, 1, 1), (1, 1, 1))


_MIXED_SUM = """
    ld.global.s32 %r1, [%rd2]; ld.global.s16 %r2, [%rd3];
    add.s32 %r3, %r1, %r2; cvt.u16.u32 %h5, %r3; shr.s16 %h6, %h5, 4;
    cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; add.s16 %h7, %h1, %h2; shr.u16 %h8, %h7, 4;
    st.global.b16 [%rd1], {first}; st.global.b16 [%rd1+2], %h8;"""
"""One sum of 16 bits, shifted as a signed and as an unsigned word."""
_CHOICES = """
    ld.global.s32 %r1, [%rd2]; setp.lt.s32 %p1, %r1, 5;
    selp.s64 %rd5, 1, 0, %p1; neg.s64 %rd6, %rd5; shr.s64 %rd7, %rd6, 4;
    selp.u64 %rd8, 1, 0, %p1; neg.s64 %rd9, %rd8; shr.u64 %rd10, %rd9, 4;
    st.global.b64 [%rd1], {first}; st.global.b64 [%rd1+8], %rd10;"""
"""One choice between 1 and 0 as a signed and as an unsigned word."""
_CONSTANTS = """
    add.f64 %fd1, 0d3FF0000000000000, 0d4000000000000000; add.f32 %f1, 0f3F800000, 0f40000000;
    mov.b64 {{%r1, %r2}}, %fd1; st.global.b32 [%rd1], {first};"""
"""One sum of constants, of 64 and then of 32 bits."""
_WIDTHS = """
    ld.global.s32 %r1, [%rd2]; setp.lt.s32 %p1, %r1, 5; selp.b64 %rd5, 1, 0, %p1; selp.b32 %r5, 1, 0, %p1;
    sub.u64 %rd6, 0, %rd5; shr.u64 %rd7, %rd6, 32; st.global.b64 [%rd1], {first};"""
_TRUNCATED = """
    ld.global.u16 %h1, [%rd3]; ld.global.u16 %h2, [%rd3+2]; mov.b32 %r2, {{%h1, %h2}}; mov.b32 %r9, 128;
    mov.b64 %rd5, {{%r2, %r9}}; sub.u64 %rd6, %rd5, 255; cvt.u32.u64 %r3, %rd6; st.global.b32 [%rd1+8], %r3;
    ld.global.u64 %rd11, [%rd3+8]; xor.b64 %rd10, %rd5, %rd11; mov.b64 {{%r4, %r5}}, %rd10; ld.global.u32 %r6, [%rd3+12];
    st.global.b32 [%rd1], {first};"""
"""A constant in the upper half of a word of which the lower half is used as well."""
_CASES = [
    pytest.param(_MIXED_SUM, "%h6", "%h8", u16, i32, i16, id="sum of mixed signs"),
    pytest.param(_CHOICES, "%rd7", "%rd10", u64, i32, i16, id="choice of numbers"),
    pytest.param(_CONSTANTS, "%r2", "0", u32, f32, i16, id="sum of constants"),
    pytest.param(_WIDTHS, "%rd7", "0", u64, i32, i16, id="choice in two widths"),
    pytest.param(_TRUNCATED, "%r5", "%r6", u32, i32, u16, id="constant above"),
]


@pytest.mark.parametrize(("text", "right", "wrong", "out", "a", "b"), _CASES)
def test_equal_operands_in_two_types_are_two_values(text: str, right: str, wrong: str, out: DType, a: DType, b: DType) -> None:
    original = text.format(first=right)
    assert compared(original, original, out, a, b).verdict == "proved"
    assert compared(original, text.format(first=wrong), out, a, b).verdict != "proved"


def test_a_choice_of_numbers_is_one_choice_in_every_width() -> None:
    text = """
    ld.global.s32 %r1, [%rd2]; setp.lt.s32 %p1, %r1, 5;
    selp.b64 %rd5, 7, 3, %p1; selp.b32 %r5, 7, 3, %p1; cvt.u64.u32 %rd6, %r5; st.global.b64 [%rd1], {first};"""
    assert compared(text.format(first="%rd5"), text.format(first="%rd6"), u64, i32).verdict == "proved"


def test_numbers_do_not_tell_equal_words_apart() -> None:
    """A word that is read once as signed and once as unsigned: the numbers that are tried must be read alike."""
    text = """
    ld.global.s32 %rd6, [%rd3]; ld.global.u32 %rd5, [%rd3]; st.global.b32 [%rd1+16], %rd6;
    shr.u64 %rd7, %rd5, 32; mul.lo.u64 %rd7, %rd7, %rd5; st.global.b64 [%rd1], {first};"""
    assert compared(text.format(first="%rd7"), text.format(first="0"), u32, i32, u16).verdict in ("proved", "unchecked")


def test_numbers_are_compared_in_the_type_of_the_comparison() -> None:
    text = "ld.global.u32 %r1, [%rd2]; {test} selp.b16 %h1, 7, 3, %p1; st.global.b16 [%rd1], %h1;"
    one = text.format(test="setp.le.u32 %p1, %r1, 65539;")
    other = text.format(test="max.u32 %r2, %r1, 65539; setp.eq.u32 %p1, %r2, 65539;")
    assert compared(one, other, u16, u32).verdict in ("proved", "unchecked")


@pytest.mark.parametrize(
    ("op", "kind", "wanted"), [("cast.f32.i32", i32, None), ("cast.u32.i64", i64, 5), ("cast.i32.f32", f32, 5)]
)
def test_numbers_say_nothing_of_floats_that_are_converted_to_integers(op: str, kind: DType, wanted: int | None) -> None:
    element = atom("a", (0,))
    made = apply(op, element)
    assert value_of(made, {made: kind}, lambda _: 5) == wanted
