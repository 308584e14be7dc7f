"""Quotients by constants: which words compute them, for every number of the type."""

from collections.abc import Iterator
from itertools import product

import pytest
from tests.synth.compiled.programs import body, proved

from warploom.core import BY_NAME, DType, f32, i8, i16, i32, i64, integer_range, u8, u16, u32, u64
from warploom.synth.compiled import Argument, ArrayArgument
from warploom.synth.compiled.arithmetic import Arithmetic
from warploom.synth.compiled.data import Data, Value
from warploom.synth.compiled.division import Quotient, Words
from warploom.synth.compiled.numbers import wrapped
from warploom.terms import Term, apply, atom, constant

X = atom("x", (0,))


def steps(made: Arithmetic, kind: DType, magic: int, shift: int, form: str) -> Value:
    """A quotient as compilers write it, with this magic number and shift."""
    bits = kind.bits
    wide = BY_NAME[f"u{2 * bits}"]
    high = made.data.extract(made.wide_product(kind)(X, magic & ((1 << bits) - 1)), bits, bits, wide.bits)
    word = BY_NAME[f"u{bits}"]
    add, subtract = made.signless("add", word), made.signless("sub", word)
    if form == "add and shift":
        half = made.shift("shr", word)(subtract(X, high), 1)
        return made.shift("shr", word)(add(half, high), shift)
    if form == "shift first":
        first = made.shift("shr", word)(X, 1)
        return made.shift("shr", word)(
            made.data.extract(made.wide_product(word)(first, magic & ((1 << bits) - 1)), bits, bits, wide.bits), shift
        )
    if form == "signed with x":
        high = add(high, X)
    moved = made.shift("shr", kind)(high, shift)
    return moved if kind.kind == "uint" else add(moved, made.shift("shr", word)(high, bits - 1))


def number(x: int, kind: DType, magic: int, shift: int, form: str) -> int:
    """The same on a number."""
    bits = kind.bits
    mask = (1 << bits) - 1
    if form == "add and shift":
        high = x * magic >> bits
        return ((x - high & mask) >> 1) + high >> shift
    if form == "shift first":
        return ((x >> 1) * magic >> bits) >> shift
    high = x * magic >> bits
    high = wrapped(high + x if form == "signed with x" else high, kind)
    return (high >> shift) + (high < 0)


def every_form() -> Iterator[tuple[DType, str, int, int, int]]:
    for kind, forms in ((u8, ("plain", "add and shift", "shift first")), (i8, ("plain", "signed with x"))):
        for divisor, shift, form in product((3, 7, 12, 25, 100), range(1, 7), forms):
            power = kind.bits + shift + (1 if form == "add and shift" else 0)
            by = divisor // 2 if form == "shift first" else divisor
            least = -(-(1 << power) // by) - ((1 << kind.bits) if form in ("add and shift", "signed with x") else 0)
            low, high = integer_range(kind)
            for magic in range(max(least - 1, low), min(least + 2, high + 1)):
                yield kind, form, divisor, shift, magic


def test_words_are_the_quotient_only_where_every_number_says_so() -> None:
    right = found = 0
    for kind, form, divisor, shift, magic in every_form():
        low, high = integer_range(kind)
        is_right = all(number(x, kind, magic, shift, form) == int(x / divisor) for x in range(low, high + 1))
        data = Data()
        data.made(X, kind)
        made = Arithmetic(data)
        word = steps(made, kind, magic, shift, form)
        words = Words(Quotient("div", X, kind, divisor), data.kinds)
        if form == "shift first" and not divisor % 2:
            first = made.shift("shr", kind)(X, 1)
            assert isinstance(first, Term)
            words = Words(Quotient("div", first, kind, divisor // 2), data.kinds, 1)
        assert isinstance(word, Term)
        is_found = words.is_quotient(word)
        assert is_right or not is_found, (kind, form, divisor, shift, magic)
        right, found = right + is_right, found + is_found
    assert right >= found > 20


def verdict(lines: str, kind: DType, divisor: int, op: str = "/") -> str:
    bits = kind.bits
    load = {64: "\tadd.s64 %rd1, %rd1, %rd3;\n\tadd.s64 %rd2, %rd2, %rd3;\n\tld.global.u64 %rd9, [%rd2];\n"}.get(
        bits, "\tld.global.u32 %r2, [%rd2];\n"
    )
    store = "\tst.global.u64 [%rd1], %rd10;\n" if bits == 64 else "\tst.global.u32 [%rd1], %r3;\n"

    def quotient(out, x):
        for i in range(2):
            out[i] = x[i] / divisor

    def remainder(out, x):
        for i in range(2):
            out[i] = x[i] % divisor

    def floored(out, x):
        for i in range(2):
            out[i] = x[i] // divisor

    arguments: tuple[Argument, ...] = (ArrayArgument("out", kind, (2,)), ArrayArgument("x", kind, (2,)))
    return proved(body(load + lines + store), {"/": quotient, "%": remainder, "//": floored}[op], arguments, 1, 2).verdict


U7 = (
    "\tmul.hi.u32 %r4, %r2, 613566757;\n\tsub.s32 %r5, %r2, %r4;\n\tshr.u32 %r5, %r5, 1;\n\tadd.s32 %r5, %r5, %r4;\n"
    "\tshr.u32 %r3, %r5, 2;\n"
)
I7 = (
    "\tmul.hi.s32 %r4, %r2, -1840700269;\n\tadd.s32 %r4, %r4, %r2;\n\tshr.u32 %r5, %r4, 31;\n\tshr.s32 %r6, %r4, 2;\n"
    "\tadd.s32 %r3, %r6, %r5;\n"
)
I8 = "\tshr.s32 %r4, %r2, 31;\n\tshr.u32 %r4, %r4, 29;\n\tadd.s32 %r4, %r2, %r4;\n\tshr.s32 %r3, %r4, 3;\n"
U10 = "\tmul.hi.u64 %rd10, %rd9, -3689348814741910323;\n\tshr.u64 %rd10, %rd10, 3;\n"
I3 = "\tmul.hi.s64 %rd11, %rd9, 6148914691236517206;\n\tshr.u64 %rd12, %rd11, 63;\n\tadd.s64 %rd10, %rd11, %rd12;\n"
U28 = (
    "\tcvt.u64.u32 %rd9, %r2;\n\tshr.u64 %rd9, %rd9, 2;\n\tmul.lo.s64 %rd9, %rd9, 613566757;\n\tshr.u64 %rd9, %rd9, 32;\n"
    "\tcvt.u32.u64 %r3, %rd9;\n"
)
REST = "\tmul.lo.s32 %r3, %r3, 7;\n\tsub.s32 %r3, %r2, %r3;\n"


@pytest.mark.parametrize(
    ("lines", "old", "new", "kind", "divisor", "op"),
    [
        (U7, "613566757", "613566756", u32, 7, "/"),
        (U7, "%r5, 2", "%r5, 3", u32, 7, "/"),
        (U7, "shr.u32 %r5, %r5, 1", "shr.s32 %r5, %r5, 1", u32, 7, "//"),
        (U7 + REST, "%r3, 7", "%r3, 6", u32, 7, "%"),
        (I7, "-1840700269", "-1840700268", i32, 7, "/"),
        (I7, "add.s32 %r3, %r6, %r5", "mov.b32 %r3, %r6", i32, 7, "/"),
        (I7, "shr.u32 %r5, %r4, 31", "shr.u32 %r5, %r4, 30", i32, 7, "/"),
        (I8, "%r4, 29", "%r4, 30", i32, 8, "/"),
        (U10, "910323", "910324", u64, 10, "/"),
        (I3, "517206", "517207", i64, 3, "/"),
        (I3, "517206", "517205", i64, 3, "/"),
        (U28, "613566757", "613566758", u32, 28, "/"),
        (U28, "%rd9, 2", "%rd9, 1", u32, 28, "/"),
        ("\tdiv.u32 %r3, %r2, 7;\n", "div.u32", "div.s32", u32, 7, "/"),
        ("\trem.u32 %r3, %r2, 7;\n", "rem.u32", "rem.s32", u32, 7, "%"),
        ("\trem.u32 %r3, %r2, 8;\n", "8;", "16;", u32, 8, "%"),
        ("\tshr.s32 %r3, %r2, 3;\n", "shr.s32", "shr.u32", i32, 8, "//"),
    ],
)  # fmt: skip
def test_compiled_quotients(lines: str, old: str, new: str, kind: DType, divisor: int, op: str) -> None:
    assert verdict(lines, kind, divisor, op) == "proved"
    assert lines.count(old) == 1
    assert verdict(lines.replace(old, new), kind, divisor, op) != "proved"


def test_towards_zero_is_not_down() -> None:
    assert verdict(I7, i32, 7, "//") == "refuted"
    assert verdict("\tdiv.s32 %r3, %r2, 7;\n", i32, 7, "//") == "refuted"
    assert verdict("\tshr.s32 %r3, %r2, 3;\n", i32, 8, "/") == "refuted"


def test_the_domain_of_a_quotient_by_data() -> None:
    def quotient(out, x):
        for i in range(2):
            out[i] = x[i] / x[1 - i]

    lines = "\tld.global.u32 %r2, [%rd2];\n\tmul.wide.u32 %rd5, %r1, 8;\n\tsub.s64 %rd6, %rd2, %rd5;\n"
    lines += "\tld.global.u32 %r4, [%rd6+4];\n\tdiv.s32 %r3, %r2, %r4;\n\tst.global.u32 [%rd1], %r3;\n"
    arguments: tuple[Argument, ...] = (ArrayArgument("out", i32, (2,)), ArrayArgument("x", i32, (2,)))
    proof = proved(body(lines), quotient, arguments, 1, 2)
    assert proof.verdict == "proved" and "no integer divided by 0, nor the least one by -1" in proof.domain


def test_a_product_of_two_words_is_no_multiple() -> None:
    square = "\tmul.lo.s32 %r2, %r2, %r9;\n"
    assert verdict("\tmov.b32 %r9, 1;\n" + square + U7, u32, 7) == "proved"
    assert verdict("\tadd.s32 %r9, %r2, 1;\n" + square + U7, u32, 7) == "refuted"


def test_what_a_float_or_an_unknown_word_makes_of_a_number_is_not_followed() -> None:
    eighth = Quotient("div", X, u32, 8)
    same = apply("*", X, constant(1))
    word = apply(">>", same, constant(3))
    assert Words(eighth, {X: u32, same: u32, word: u32}).is_quotient(word)
    assert not Words(eighth, {X: u32, same: f32, word: u32}).is_quotient(word)
    assert not Words(eighth, {X: u32, word: u32}).is_quotient(word)


def test_a_float_that_becomes_a_word_is_none_of_its_bits() -> None:
    """2^40 as a word of 32 bits is the greatest one, and not 0."""
    shifted, large = apply(">>", X, constant(3)), apply("cast.f32.u32", constant(1 << 40))
    word = apply("+", shifted, large)
    kinds = {X: u32, shifted: u32, large: u32, word: u32}
    assert Words(Quotient("div", X, u32, 8), kinds).is_quotient(shifted)
    assert not Words(Quotient("div", X, u32, 8), kinds).is_quotient(word)


def test_sums_of_many_floors_are_not_taken_apart() -> None:
    """The time for them doubles with each."""
    word, kinds = X, {X: u32}
    for bits in range(1, 6):
        word = apply(">>", word, constant(1))
        kinds[word] = u32
        assert Words(Quotient("div", X, u32, 1 << bits), kinds).is_quotient(word) == (bits < 5)


@pytest.mark.parametrize("kind", [u8, i8, u16, i16, u32, i32, u64, i64])
def test_a_number_times_a_quotient_is_no_quotient(kind: DType) -> None:
    data = Data()
    data.made(X, kind)
    made = Arithmetic(data)
    double = made.signless("mul", kind)(made.shift("shr", kind)(X, 3), 2)
    assert isinstance(double, Term)
    for divisor in (2, 4, 8):
        assert not Words(Quotient("div", X, kind, divisor), data.kinds).is_quotient(double)
