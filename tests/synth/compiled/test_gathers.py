"""Elements at indices that data give: which kernels read what the spec reads, and for which data."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.synth.compiled.programs import body, proved

from warploom.core import DType, UnsupportedError, UserError, f32, i32, i64, u8, u32, vector_of
from warploom.synth.compiled import ArrayArgument, CompiledProof, run_plain_spec

N, X = 4, 100
PARAMETERS = ".param .u64 out, .param .u64 in, .param .u64 x"
START = "\tld.param.u64 %rd8, [x];\n"
INDEX = START + "\tld.global.u32 %r2, [%rd2];\n"
READ = "\tadd.s64 %rd9, %rd8, %rd9;\n\tld.global.f32 %f1, [%rd9];\n"
STORE = "\tst.global.f32 [%rd1], %f1;\n"
WIDE = "\tmul.wide.s32 %rd9, %r2, 4;\n"


def proof(lines: str, spec: Callable[..., Any], index: DType = i32, shape: tuple[int, ...] = (X,)) -> CompiledProof:
    arguments = ArrayArgument("out", f32, (N,)), ArrayArgument("idx", index, (N,)), ArrayArgument("x", f32, shape)
    return proved(body(lines, PARAMETERS), spec, arguments, 1, N)


def verdict(lines: str, spec: Callable[..., Any], index: DType = i32, shape: tuple[int, ...] = (X,)) -> str:
    try:
        return proof(lines, spec, index, shape).verdict
    except UnsupportedError:
        return "not followed"


def gather(out, idx, x):
    for i in range(N):
        out[i] = x[idx[i]]


def after(out, idx, x):
    for i in range(N):
        out[i] = x[idx[i] + 1]


def table(out, idx, x):
    for i in range(N):
        out[i] = x[idx[i] & 31]


def both(out, idx, x):
    for i in range(N):
        out[i] = x[idx[i]] + x[idx[N - 1 - i]]


def reordered(out, idx, x):
    for i in range(N):
        out[i] = x[idx[N - 1 - i]] + x[idx[i]]


def rows(out, idx, x):
    for i in range(N):
        out[i] = x[idx[i], 3]


def test_the_domain_says_where_indices_lie() -> None:
    assert "0 <= idx[i] < 100 in reads of x" in proof(INDEX + WIDE + READ + STORE, gather).domain
    lines = INDEX + WIDE + "\tadd.s64 %rd9, %rd8, %rd9;\n\tld.global.f32 %f1, [%rd9+4];\n" + STORE
    assert "0 <= idx[i] + 1 < 100 in reads of x" in proof(lines, after).domain
    lines = INDEX + "\tand.b32 %r2, %r2, 31;\n" + WIDE + READ + STORE
    assert "idx" not in proof(lines, table).domain


@pytest.mark.parametrize(
    ("right", "wrong", "spec", "index"),
    [
        (WIDE, "\tmul.wide.s32 %rd9, %r2, 8;\n", gather, i32),
        (WIDE, WIDE + "\tadd.s64 %rd9, %rd9, 4;\n", gather, i32),
        (WIDE, "\tmul.wide.s32 %rd9, %r2, 2;\n", gather, i32),
        # no index inside has the sign bit, and none times 4 leaves 32 bits
        ("\tmul.wide.u32 %rd9, %r2, 4;\n", "\tmul.wide.u32 %rd9, %r2, 0x40000004;\n", gather, i32),
        ("\tshl.b32 %r2, %r2, 2;\n\tcvt.u64.u32 %rd9, %r2;\n",
         "\tshl.b32 %r2, %r2, 26;\n\tshr.u32 %r2, %r2, 24;\n\tcvt.u64.u32 %rd9, %r2;\n", gather, i32),
        ("\tadd.s32 %r2, %r2, 1;\n" + WIDE, "\tadd.s32 %r2, %r2, 2;\n" + WIDE, after, i32),
        ("\tadd.u32 %r2, %r2, 0x40000000;\n\tsub.u32 %r2, %r2, 0x40000000;\n" + WIDE,
         "\tadd.u32 %r2, %r2, 0xffffffff;\n\tcvt.u64.u32 %rd9, %r2;\n\tadd.s64 %rd9, %rd9, 1;\n\tshl.b64 %rd9, %rd9, 2;\n",
         gather, u32),
        ("\tand.b32 %r2, %r2, 31;\n" + WIDE, "\tand.b32 %r2, %r2, 63;\n" + WIDE, table, i32),
        ("\tshl.b32 %r2, %r2, 2;\n\tand.b32 %r2, %r2, 124;\n\tcvt.u64.u32 %rd9, %r2;\n",
         "\tshl.b32 %r2, %r2, 2;\n\tand.b32 %r2, %r2, 252;\n\tcvt.u64.u32 %rd9, %r2;\n", table, i32),
        ("\tcvt.u64.u32 %rd9, %r2;\n\tand.b64 %rd9, %rd9, 31;\n\tshl.b64 %rd9, %rd9, 2;\n",
         "\tcvt.u64.u32 %rd9, %r2;\n\tand.b64 %rd9, %rd9, 30;\n\tshl.b64 %rd9, %rd9, 2;\n", table, i32),
    ],
)  # fmt: skip
def test_addresses(right: str, wrong: str, spec, index: DType) -> None:
    assert verdict(INDEX + right + READ + STORE, spec, index) == "proved"
    assert verdict(INDEX + wrong + READ + STORE, spec, index) != "proved"


def test_the_low_half_of_a_wide_index() -> None:
    """Its high half is zero where it lies inside."""
    place = "\tadd.s64 %rd2, %rd2, %rd3;\n"
    lines = START + place + "\tld.global.u32 %r2, [%rd2];\n" + WIDE + READ + STORE
    assert verdict(lines, gather, i64) == "proved"
    assert verdict(lines.replace("[%rd2]", "[%rd2+4]"), gather, i64) != "proved"


def test_bytes_as_indices() -> None:
    place = "\tshr.u64 %rd4, %rd3, 2;\n\tsub.s64 %rd2, %rd2, %rd3;\n\tadd.s64 %rd2, %rd2, %rd4;\n"
    lines = START + place + "\tld.global.{t} %r2, [%rd2];\n" + WIDE + READ + STORE
    assert verdict(lines.replace("{t}", "u8"), gather, u8) == "proved"
    assert verdict(lines.replace("{t}", "s8"), gather, u8) == "proved"  # below 100 there is no sign
    assert verdict(lines.replace("{t}", "s8"), gather, u8, (200,)) == "not followed"


def test_two_reads_may_meet() -> None:
    """Sums commute, whatever the indices are; differences do not."""
    other = "\tmul.wide.u32 %rd5, %r1, 8;\n\tsub.s64 %rd6, %rd2, %rd5;\n\tld.global.u32 %r6, [%rd6+12];\n"
    lines = INDEX + WIDE + READ + other + "\tmul.wide.s32 %rd9, %r6, 4;\n\tadd.s64 %rd9, %rd8, %rd9;\n"
    lines += "\tld.global.f32 %f2, [%rd9];\n\t{op}.f32 %f1, %f1, %f2;\n" + STORE
    for spec in (both, reordered):
        assert verdict(lines.replace("{op}", "add"), spec) == "proved"
        assert verdict(lines.replace("{op}", "sub"), spec) == "refuted"


def test_rows_of_a_matrix() -> None:
    row = "\tmul.wide.s32 %rd9, %r2, 32;\n\tadd.s64 %rd9, %rd9, {k};\n"
    lines = INDEX + row + READ + STORE
    assert verdict(lines.replace("{k}", "12"), rows, shape=(10, 8)) == "proved"
    assert "0 <= idx[i] < 10 in reads of x" in proof(lines.replace("{k}", "12"), rows, shape=(10, 8)).domain
    assert verdict(lines.replace("{k}", "16"), rows, shape=(10, 8)) != "proved"


def quadruples(out, idx, x):
    for i in range(N):
        out[i] = x[idx[i], 0] + x[idx[i], 1] + x[idx[i], 2] + x[idx[i], 3]


@pytest.mark.parametrize(("row", "found"), [(16, "proved"), (20, "not followed")])
def test_vectors_are_aligned_wherever_the_index_leads(row: int, found: str) -> None:
    lines = (
        INDEX
        + f"\tmul.wide.s32 %rd9, %r2, {row};\n\tadd.s64 %rd9, %rd8, %rd9;\n\tld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd9];\n"
    )
    lines += "\tadd.f32 %f1, %f1, %f2;\n\tadd.f32 %f3, %f3, %f4;\n\tadd.f32 %f1, %f1, %f3;\n" + STORE
    assert verdict(lines, quadruples, shape=(10, row // 4)) == found


@pytest.mark.parametrize("more", ["st.global.f32 [%rd8], %f1;\n", "red.global.add.f32 [%rd8], %f1;\n"])
def test_an_array_that_is_read_by_data_is_not_written(more: str) -> None:
    one = "\tsetp.eq.s32 %p1, %r1, 0;\n\t@%p1 " + more
    with pytest.raises(UnsupportedError, match="no store to x"):
        proof(INDEX + WIDE + READ + one + STORE, gather)
    with pytest.raises(UnsupportedError, match="read at an index from data and written"):
        proof(INDEX + "\tmov.f32 %f1, 0f00000000;\n" + one + WIDE + READ + STORE, gather)


def test_stores_at_indices_from_data_are_not_followed() -> None:
    lines = INDEX + WIDE + "\tsub.s64 %rd1, %rd1, %rd3;\n\tadd.s64 %rd1, %rd1, %rd9;\n\tmov.f32 %f1, 0f00000000;\n" + STORE
    with pytest.raises(UnsupportedError, match="an address that does not depend on data"):
        proof(lines, gather)

    def scatter(out, idx, x):
        for i in range(N):
            out[idx[i]] = x[i]

    with pytest.raises(UnsupportedError, match="an index of out that does not depend on data"):
        proof(lines, scatter)


def test_specs_that_are_not_followed() -> None:
    def from_what_it_stores(out, idx, x):
        for i in range(N):
            out[i] = out[idx[i]]

    def outside(out, idx, x):
        for i in range(N):
            out[i] = x[idx[i]] + x[idx[i] + X]

    def of_a_part(out, idx, x):
        part = x[10:]
        for i in range(N):
            out[i] = part[idx[i]]

    def by_floats(out, idx, x):
        for i in range(N):
            out[i] = x[x[i]]

    lines = INDEX + WIDE + READ + STORE
    with pytest.raises(UnsupportedError, match="store nothing to out"):
        proof(lines, from_what_it_stores)
    with pytest.raises(UserError, match="all lie inside for some data"):
        proof(lines, outside)
    with pytest.raises(UnsupportedError, match="does not depend on data"):
        proof(lines, of_a_part)
    with pytest.raises(UnsupportedError, match="no integer"):
        proof(lines, by_floats)


def first_parts(out, idx, x):
    for i in range(N):
        out[i] = x[idx[i]].x


PAIR = vector_of(f32, 2)


@pytest.mark.parametrize(
    ("spec", "out", "x"),
    [
        (gather, f32, ArrayArgument("x", f32, (X,), "zeros")),
        (gather, PAIR, ArrayArgument("x", PAIR, (X,))),
        (first_parts, f32, ArrayArgument("x", PAIR, (X,))),
    ],
)
def test_data_lead_into_whole_elements_of_data_only(spec, out: DType, x: ArrayArgument) -> None:
    with pytest.raises(UnsupportedError, match="expected an index of x that does not depend on data") as caught:
        run_plain_spec(spec, (ArrayArgument("out", out, (N,)), ArrayArgument("idx", i32, (N,)), x))
    assert "of a whole array that holds data, no vectors" in str(caught.value)


@pytest.mark.parametrize(("scale", "load"), [(2, "u16"), (8, "u64"), (1, "u8")])
def test_a_read_of_another_size_is_none_of_the_spec(scale: int, load: str) -> None:
    """Though it is at as many elements of its own size."""
    arguments = ArrayArgument("out", u32, (N,)), ArrayArgument("idx", i32, (N,)), ArrayArgument("x", u32, (X,))
    lines = INDEX + f"\tmul.wide.s32 %rd9, %r2, {scale};\n\tadd.s64 %rd9, %rd8, %rd9;\n\tld.global.{load} "
    lines += (
        "%rd10, [%rd9];\n\tst.global.u32 [%rd1], %rd10;\n" if load == "u64" else "%r3, [%rd9];\n\tst.global.u32 [%rd1], %r3;\n"
    )
    with pytest.raises(UnsupportedError, match="whose elements have another size"):
        proved(body(lines, PARAMETERS), gather, arguments, 1, N)
