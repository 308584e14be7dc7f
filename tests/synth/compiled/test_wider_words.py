"""Numbers and sums in words wider than the array's: they must not be taken modulo the array's type."""

import pytest
from tests.synth.compiled.programs import HEAD

from warploom.core import u32
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, prove_equivalent

WORDS = ["mul.wide.u32 %rd20, %r10, %r12", "mul.wide.u32 %rd21, %r11, %r13"]
HIGH, LOW = ["shr.u64 %rd24, %rd23, 32", "cvt.u32.u64 %r20, %rd24"], ["cvt.u32.u64 %r20, %rd23"]


def verdict(one: list[str], other: list[str]) -> str:
    """Whether two texts leave the same word, from four words of data."""
    programs = [
        HEAD
        + ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .pred %p<9>;\n.reg .b16 %h<30>;\n.reg .b32 %r<30>;\n"
        + ".reg .b64 %rd<30>;\nld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\n"
        + "".join(f"ld.global.u32 %r{10 + k}, [%rd2+{4 * k}];\n" for k in range(4))
        + "".join(f"{line};\n" for line in lines)
        + "st.global.u32 [%rd1], %r20;\nret;\n}\n"
        for lines in (one, other)
    ]
    arguments = ArrayArgument("out", u32, (1,)), ArrayArgument("in", u32, (4,))
    return prove_equivalent(*(lower(parse(p)) for p in programs), "k", arguments, (1, 1, 1), (1, 1, 1)).verdict


@pytest.mark.parametrize(
    "operation",
    [
        ["min.u64 %rd23, %rd22, %rd20"],
        ["shr.u64 %rd23, %rd22, 9"],
        ["abs.s64 %rd23, %rd22"],
        ["mul.hi.u64 %rd23, %rd22, %rd21"],
        ["setp.lt.u64 %p1, %rd21, %rd20", "selp.b64 %rd23, %rd22, 5, %p1"],
        ["setp.lt.u64 %p1, %rd22, %rd20", "selp.b64 %rd23, %rd20, %rd21, %p1"],
    ],
)
def test_a_sum_of_wider_words_keeps_its_high_bits(operation: list[str]) -> None:
    plain = [*WORDS, "add.s64 %rd22, %rd20, %rd21", *operation, *HIGH]
    turned = [line.replace("%rd20, %rd21", "%rd21, %rd20") if "add" in line else line for line in plain]
    more = [*plain[:3], "add.s64 %rd22, %rd22, 0x10000000000", *operation, *HIGH]
    assert verdict(plain, turned) == "proved"
    assert verdict(plain, more) != "proved"


@pytest.mark.parametrize("number", ["0x100000000", "0x8000000100000000"])
@pytest.mark.parametrize(
    "lines",
    [
        ["setp.gt.u64 %p1, %rd20, {k}", "selp.b32 %r20, %r11, 33, %p1"],
        ["setp.gt.u64 %p1, %rd20, %rd21", "selp.b64 %rd23, %rd20, {k}, %p1", *HIGH],
        ["setp.gt.u64 %p1, %rd20, %rd21", "selp.b64 %rd23, %rd20, {k}, %p1", *LOW, "xor.b32 %r20, %r20, 1", *HIGH],
        ["min.u64 %rd23, %rd20, {k}", *HIGH],
        ["div.u64 %rd23, {k}, %rd20", *LOW],
    ],
)
def test_a_number_in_a_wider_word_is_not_cut(lines: list[str], number: str) -> None:
    one, other = ([*WORDS, *(line.replace("{k}", k) for line in lines)] for k in ("1", number))
    assert verdict(one, one) == "proved"
    assert verdict(one, other) != "proved"


def test_a_number_that_a_narrow_choice_compares_with_is_not_cut() -> None:
    lines = ["cvt.u16.u32 %h20, %r11", "setp.gt.u32 %p1, %r10, {k}", "selp.b16 %h21, %h20, 33, %p1", "cvt.u32.u16 %r20, %h21"]
    one, other = ([line.replace("{k}", k) for line in lines] for k in ("0", "65536"))
    assert (verdict(one, one), verdict(one, other)) == ("proved", "refuted")


def test_negative_numbers_are_large_unsigned_words() -> None:
    wide = ["cvt.u64.s32 %rd20, %r10", "cvt.u64.s32 %rd21, %r11", "max.u64 %rd23, %rd20, %rd21", *LOW]
    assert verdict(["max.s32 %r20, %r10, %r11"], wide) == "refuted"
    shifted = ["cvt.u64.s32 %rd20, %r10", "shr.u64 %rd23, %rd20, 40", *LOW]
    assert verdict(["shr.s32 %r20, %r10, 31"], shifted) == "refuted"


def test_a_kernel_is_not_refuted_for_the_type_in_which_it_was_computed() -> None:
    """Minima of signed words in an array of unsigned ones: numbers that tell kernels apart are taken in the kernels' types."""
    signed = ["min.s32 %r20, %r10, {k}"]
    one, other = ([line.replace("{k}", k) for line in signed] for k in ("64", "0x40"))
    assert verdict(one, other) == "proved"
    swapped = ["mov.u32 %r19, 64", "min.s32 %r20, %r19, %r10"]
    assert verdict(one, swapped) != "refuted"
    assert verdict(one, ["min.u32 %r20, %r10, 64"]) == "refuted"


def test_the_high_word_of_a_product_of_64_bit_words() -> None:
    assert verdict([*WORDS, "mul.hi.u64 %rd23, %rd20, %rd21", *LOW], [*WORDS, "mul.hi.s64 %rd23, %rd20, %rd21", *LOW]) != "proved"


HALVES = ["cvt.u16.u32 %h1, %r12", "cvt.u16.u32 %h2, %r13"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["and.b32 %r14, %r10, 0x7fffffff", "shr.u32 %r15, %r14, 31", "cvt.u32.u16 %r20, %r15"], ["shr.u32 %r15, %r10, 31"]),
        (["add.s32 %r14, %r10, 0x10000", "abs.s32 %r15, %r14"], ["add.s32 %r14, %r10, 0x20000", "abs.s32 %r15, %r14"]),
        (
            ["add.s32 %r14, %r10, 0x10000", "setp.lt.u32 %p1, %r14, 77", *HALVES, "selp.b16 %h3, %h1, %h2, %p1"],
            ["add.s32 %r14, %r10, 0x20000", "setp.lt.u32 %p1, %r14, 77", *HALVES, "selp.b16 %h3, %h1, %h2, %p1"],
        ),
    ],
)
def test_words_of_the_array_s_type_inside_of_narrower_ones_keep_their_high_bits(one: list[str], other: list[str]) -> None:
    """A part of a word, or a choice between halves, is converted to the array's type again."""
    end = ["cvt.u32.u16 %r20, %h3"] if "selp" in other[-1] else ["cvt.u32.u16 %r20, %r15"]
    assert verdict([*one, *end], [*one, *end]) == "proved"
    assert verdict([*one, *end], [*other, *end]) != "proved"
