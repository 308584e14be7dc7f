"""Conclusions from addresses: variables are aligned and do not overlap, where they lie is not known."""

import pytest
from tests.synth.compiled.programs import body, proved
from tests.synth.compiled.test_attacks import LOAD, STORE, TILE, same

from warploom.core import UnsupportedError, u32
from warploom.synth.compiled import Argument, ArrayArgument, CompiledProof

ARRAYS: tuple[Argument, ...] = (ArrayArgument("out", u32, (64,)), ArrayArgument("a", u32, (64,)))
POINTERS = LOAD + "\tld.param.u64 %rd8, [out];\n\tld.param.u64 %rd9, [in];\n"
COUNTED = "\tcvt.u32.u64 %r9, %rd7;\n\tadd.s32 %r2, %r2, %r9;\n" + STORE
TESTED = "\t@%p1 add.s32 %r2, %r2, 1;\n" + STORE
QUARTER = (
    "\tand.b32 %r9, %r1, 3;\n\tsetp.ne.u32 %p1, %r9, 0;\n\t@%p1 bra $end;\n\tld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2];\n"
    "\tst.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};\n$end:\n"
)


def launched(lines: str, declarations: str = TILE, parameters: str = ".param .u64 out, .param .u64 in") -> CompiledProof:
    return proved(body(lines, parameters, declarations), same, ARRAYS, 1, 64)


def refused(lines: str, declarations: str = TILE) -> str:
    with pytest.raises(UnsupportedError) as caught:
        launched(lines, declarations)
    return str(caught.value)


def test_alignment_that_results_depend_on_stands_in_the_domain() -> None:
    moved = "elements moved unchanged"
    for mask, told in (
        (3, moved),
        (15, f"{moved}, a begins at a multiple of 16 bytes"),
        (255, f"{moved}, a begins at a multiple of 256 bytes"),
    ):
        proof = launched(POINTERS + f"\tand.b64 %rd7, %rd9, {mask};\n" + COUNTED)
        assert (proof.verdict, proof.domain) == ("proved", told), mask
    assert "a multiple of 512 bytes" in refused(POINTERS + "\tand.b64 %rd7, %rd9, 511;\n" + COUNTED)
    proof = launched(QUARTER)
    assert (proof.verdict, proof.domain) == ("proved", f"{moved}, a and out begin at multiples of 16 bytes")
    proof = launched(QUARTER, parameters=".param .u64 .ptr .global .align 16 out, .param .u64 .ptr .global .align 16 in")
    assert (proof.verdict, proof.domain) == ("proved", moved)


def test_shared_variables_are_aligned_as_declared() -> None:
    lines = (
        "\tshl.b32 %r3, %r1, 2;\n\tmov.u32 %r4, tile;\n\tadd.s32 %r5, %r4, %r3;\n\txor.b32 %r5, %r5, {m};\n"
        + LOAD + "\tst.shared.u32 [%r5], %r2;\n\tld.shared.u32 %r2, [%r5];\n" + STORE
    )  # fmt: skip
    assert launched(lines.replace("{m}", "8")).verdict == "proved"
    assert "tile begins at a multiple of 32 bytes" in refused(lines.replace("{m}", "16"))
    wide = "\tst.shared.v2.u32 [tile], {%r1, %r1};\n"
    assert "tile begins at a multiple of 8 bytes" in refused(wide, ".shared .align 4 .b8 tile[1024];")


@pytest.mark.parametrize(
    "lines",
    [
        "\tshr.u64 %rd7, %rd9, 20;\n\tand.b64 %rd7, %rd7, 1;\n" + COUNTED,
        "\tmul.hi.u64 %rd7, %rd9, 2;\n" + COUNTED,
        "\tclz.b64 %r9, %rd9;\n\tcvt.u64.u32 %rd7, %r9;\n\tand.b64 %rd7, %rd7, 1;\n" + COUNTED,
        "\tmin.u64 %rd7, %rd8, %rd9;\n\tsub.s64 %rd7, %rd7, %rd8;\n" + COUNTED,
        "\tcvt.rn.f32.u64 %f1, %rd9;\n" + STORE,
        "\tmov.b64 {%r9, %r10}, %rd9;\n\tadd.s32 %r2, %r2, %r10;\n" + STORE,
        "\tmov.u32 %r9, tile;\n\tmad.lo.u32 %r9, %r1, 8, %r9;\n\tst.shared.u64 [%r9], %rd9;\n"
        "\tld.shared.u32 %r9, [%r9 + 4];\n\tadd.s32 %r2, %r2, %r9;\n" + STORE,
        "\tsetp.lt.u64 %p1, %rd9, 4096;\n" + TESTED,
        "\tcvt.u32.u64 %r9, %rd9;\n\tcvt.u32.u64 %r10, %rd2;\n\tsetp.lt.u32 %p1, %r10, %r9;\n" + TESTED,
        "\tadd.s64 %rd7, %rd9, 256;\n\tsetp.eq.s64 %p1, %rd7, %rd8;\n" + TESTED,
        "\tst.global.u32 [%rd1], %rd9;\n",
    ],
)  # fmt: skip
def test_what_depends_on_the_place_of_a_variable_is_not_proved(lines: str) -> None:
    refused(POINTERS + lines)


@pytest.mark.parametrize(
    "lines",
    [
        "\tsetp.eq.s64 %p1, %rd9, 0;\n" + TESTED,
        "\tsetp.eq.s64 %p1, %rd9, %rd8;\n" + TESTED,
        "\tadd.s64 %rd7, %rd9, 256;\n\tsetp.gt.u64 %p1, %rd2, %rd7;\n" + TESTED,
        "\tsub.s64 %rd7, %rd2, %rd9;\n\tshr.u64 %rd7, %rd7, 8;\n" + COUNTED,
        "\tsub.s64 %rd7, %rd2, %rd1;\n\tadd.s64 %rd7, %rd1, %rd7;\n\tld.global.u32 %r2, [%rd7];\n" + STORE,
        "\tadd.s64 %rd7, %rd1, 3;\n\tand.b64 %rd7, %rd7, -4;\n\tst.global.u32 [%rd7], %r2;\n",
        "\tnot.b64 %rd7, %rd9;\n\tadd.s64 %rd7, %rd7, %rd9;\n\tadd.s64 %rd7, %rd7, 1;\n" + COUNTED,
        "\tmov.u32 %r3, tile;\n\tmad.lo.u32 %r3, %r1, 4, %r3;\n\tcvt.u64.u32 %rd7, %r3;\n\tcvta.shared.u64 %rd7, %rd7;\n"
        "\tst.u32 [%rd7], %r2;\n" + STORE,
    ],
)  # fmt: skip
def test_sums_differences_and_bounds_of_addresses_are_known(lines: str) -> None:
    assert launched(POINTERS + lines).verdict == "proved"


def test_every_order_of_arrays_in_memory_is_tried() -> None:
    """a < b < c in neither order of all three together, but in another one."""
    third = "\tld.param.u64 %rd7, [third];\n"
    both = "\tsetp.lt.u64 %p1, %rd8, %rd9;\n\tsetp.lt.u64 %p2, %rd9, %rd7;\n\txor.pred %p1, %p1, %p2;\n"
    text = body(POINTERS + third + both + TESTED, ".param .u64 out, .param .u64 in, .param .u64 third")
    found = proved(text, lambda out, a, third: same(out, a), (*ARRAYS, ArrayArgument("third", u32, (64,))), 1, 64)
    assert found.verdict == "unchecked" and "it depends on where the arrays lie in memory" in found.reason
