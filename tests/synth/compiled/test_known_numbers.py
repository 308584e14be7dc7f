"""Results that a proof computes of known numbers are those of the interpreter, bit by bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.synth.compiled.test_one_type import compared

from warploom.core import BY_NAME, UnsupportedError, f32, u32
from warploom.ptx.simt.numerics import bind, scalar_type

_TO_WHOLE = [f"cvt.{how}.{kind}.{kind}" for how in ("rni", "rzi", "rmi", "rpi") for kind in ("f32", "f64", "f16")]
_BETWEEN_FLOATS = [
    "cvt.rn.f32.f64", "cvt.rz.f32.f64", "cvt.rm.f32.f64", "cvt.rp.f32.f64", "cvt.rn.f16.f64", "cvt.rn.bf16.f64", "cvt.rn.f16.f32",
    "cvt.rn.bf16.f32", "cvt.rz.bf16.f32", "cvt.f32.f16", "cvt.f32.bf16", "cvt.f64.f32", "cvt.f64.f16", "cvt.rna.tf32.f32",
]  # fmt: skip
_FROM_INTEGERS = ["cvt.rn.f32.s32", "cvt.rz.f32.u32", "cvt.rn.f64.s32", "cvt.rn.f32.u64", "cvt.rn.f16.s32"]
_OF_INTEGERS = [
    "add.s32", "add.u64", "sub.s16", "mul.lo.s32", "mul.hi.s64", "mul.hi.u32", "mul.wide.s16", "mul.wide.u32", "mad.lo.u64",
    "mad.wide.s32", "mad.hi.u32", "div.s32", "div.u64", "rem.s64", "rem.u16", "abs.s32", "neg.s64", "min.s16", "min.u32",
    "max.s64", "max.relu.s32", "popc.b64", "clz.b32", "bfind.u32", "bfind.shiftamt.u32", "brev.b64", "bfe.s32", "bfe.u64",
    "bfi.b32", "and.b64", "or.b32", "xor.b16", "not.b16", "shl.b64", "shl.b16", "shr.s16", "shr.u32", "shf.l.clamp.b32",
    "shf.r.wrap.b32", "prmt.b32", "cvt.s32.s16", "cvt.u32.u8", "cvt.s16.s32", "cvt.u64.u32", "cvt.s64.s32",
]  # fmt: skip
_COMPARISONS = [
    *(f"setp.{how}.{kind}" for how in ("eq", "lt", "ge") for kind in ("s32", "u64", "s16", "f32", "f64")),
    *(f"setp.{how}.f32" for how in ("equ", "neu", "ltu", "geu", "num", "nan")),
]
_MINIMA = ["min.f32", "max.f64", "min.f16", "max.NaN.f32", "min.NaN.f32"]
_WORDS = (0, 1, 2, 5, 8, 31, 32, 33, 64, 255, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1)
_NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e10, 65504.0, 16777217.0, 2**-130, 1 + 2**-8 + 2**-40, float("inf"),
    float("-inf"), float("nan"),
)  # fmt: skip


def _operand(kind: str, chance: random.Random) -> tuple[int, int]:
    """Bits of a number of a type, and the bits of its register."""
    row = scalar_type(kind)
    if not row.is_float:
        return chance.choice([*_WORDS, chance.getrandbits(64)]) & ((1 << row.register_bits) - 1), row.register_bits
    number = chance.choice([*_NUMBERS, chance.uniform(-300, 300)])
    if kind == "bf16":
        return int(np.float32(number).view(np.uint32)) >> 16, 16
    with np.errstate(over="ignore"):
        word = np.array([number]).astype(f"f{row.register_bits // 8}").view(f"u{row.register_bits // 8}")
    return int(word[0]), row.register_bits


def _register(bits: int, number: int) -> str:
    return f"%{ {8: 'h', 16: 'h', 32: 'r', 64: 'rd'}[bits] }{number}"


@pytest.mark.parametrize("text", [*_TO_WHOLE, *_BETWEEN_FLOATS, *_FROM_INTEGERS, *_OF_INTEGERS, *_COMPARISONS, *_MINIMA])
def test_a_known_result_is_the_interpreters(text: str) -> None:
    opcode, *modifiers = text.split(".")
    operation = bind(opcode, modifiers)
    chance = random.Random(text)
    answers = 0
    for _ in range(6):
        operands = [_operand(kind, chance) for kind in operation.sources]
        with np.errstate(over="ignore"):
            result = operation.evaluate(*(np.array([word], f"u{bits // 8}") for word, bits in operands))
        word = result[0] if isinstance(result, tuple) else result
        bits = 32 if word.dtype == np.bool_ else word.dtype.itemsize * 8
        out, value = _register(bits, 11), int(word[0])
        sources = ", ".join(_register(own, 5 + n) for n, (_, own) in enumerate(operands))
        own = "".join(f"mov.b{max(b, 16)} {_register(b, 5 + n)}, {w}; " for n, (w, b) in enumerate(operands))
        if operation.results == ("pred",):
            own += f"{text} %p1, {sources}; selp.b32 {out}, 1, 0, %p1;"
        else:
            own += f"{text} {out}, {sources};"
        store = f" st.global.b{bits} [%rd1], {out};"
        kind = BY_NAME[modifiers[-1] if text in _MINIMA else f"u{bits}"]
        try:
            proof = compared(own + store, f"mov.b{bits} {out}, {value};" + store, kind, u32)
        except UnsupportedError:
            continue
        assert proof.verdict == "proved", (proof.reason, operands, value)
        answers += 1
    assert answers or text in _NEVER_FOLLOWED


_NEVER_FOLLOWED = {"max.relu.s32"}


def test_a_comparison_that_flushes_says_so() -> None:
    loads = "ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd2+4];"
    rest = "selp.b32 %r1, 7, 9, %p1; st.global.b32 [%rd1], %r1;"
    one, other = (f"{loads} setp.lt{how}.f32 %p1, %f1, %f2; {rest}" for how in (".ftz", ""))
    assert "subnormal numbers flushed to zero" in compared(one, other, u32, f32).domain


def test_what_the_first_leaves_undefined_is_named() -> None:
    load, store = "ld.global.u32 %r2, [%rd2];", "st.global.b32 [%rd1], %r3;"
    one = f"{load} shfl.sync.idx.b32 %r3, %r2, 5, 31, -1; {store}"
    proof = compared(one, f"{load} mov.b32 %r3, %r2; {store}", u32, u32)
    assert proof.domain == "what the first leaves undefined may be anything"


_CHOICE = "setp.lt.f32 %p1, %f1, 0f3F800000; selp.b32 %r1, {}, {}, %p1; {} st.global.b32 [%rd1], %r1;"


@pytest.mark.parametrize(
    ("one", "other", "rest"),
    [
        (-1, 0x7FFFFFFF, ""),
        (-1, 0x7FC00000, "and.b32 %r1, %r1, 1;"),
        (-1, 0x7FFFFFFF, "shr.u32 %r1, %r1, 31;"),
        (0x80000000, 0, ""),
        (0x80000000, 0, "shr.u32 %r1, %r1, 31;"),
    ],
)
def test_words_that_floats_choose_keep_their_bits(one: int, other: int, rest: str) -> None:
    """Bits of NaN, or of a negative zero, that stand for a mask."""
    programs = ["ld.global.f32 %f1, [%rd2]; " + _CHOICE.format(number, 7, rest) for number in (one, other)]
    assert compared(programs[0], programs[1], u32, f32).verdict != "proved"
    assert compared(programs[0], programs[0], u32, f32).verdict == "proved"


def test_nan_of_any_bits_are_one_where_floats_are_chosen() -> None:
    one, other = (
        f"ld.global.f32 %f1, [%rd2]; setp.lt.f32 %p1, %f1, 0f3F800000; selp.f32 %f2, %f1, {number}, %p1; "
        "st.global.f32 [%rd1], %f2;"
        for number in ("0f7FFFFFFF", "0f7FC00000")
    )
    proof = compared(one, other, f32, f32)
    assert proof.verdict == "proved" and "NaN of any bits are equal" in proof.domain


@pytest.mark.parametrize("how", ["ltu", "leu", "gtu", "geu", "equ", "neu"])
def test_integers_have_no_comparisons_of_unordered_numbers(how: str) -> None:
    text = f"ld.global.u32 %r2, [%rd2]; setp.{how}.s32 %p1, %r2, 3; selp.b32 %r1, 1, 0, %p1; st.global.b32 [%rd1], %r1;"
    with pytest.raises(UnsupportedError, match=f"the comparison .{how}"):
        compared(text, text, u32, u32)


@pytest.mark.parametrize(
    "text", ["cvt.s64.u64 %rd5, %r2;", "add.u64 %rd5, %rd5, %r2;", "st.global.b64 [%rd1], %r2;", "mov.b32 %r3, %h2;"]
)
def test_a_register_that_is_too_narrow_is_not_read(text: str) -> None:
    lines = f"ld.global.u32 %r2, [%rd2]; mov.b16 %h2, 1; mov.b64 %rd5, 0; {text} st.global.b64 [%rd1], %rd5;"
    with pytest.raises(UnsupportedError, match="expected a register of"):
        compared(lines, lines, u32, u32)
