"""Memory, meetings and barriers of a run on symbols."""

import pytest
from tests.synth.compiled.programs import HEAD, body, proved

from warploom.core import UnsupportedError, f32, u32
from warploom.synth.compiled import Argument, ArrayArgument


def words(count: int) -> tuple[Argument, ...]:
    return ArrayArgument("out", u32, (count,)), ArrayArgument("a", u32, (count,))


def verdict(lines: str, threads: int = 32, declarations: str = "", count: int | None = None) -> tuple[str, str]:
    def same(out, a):
        for i in range(min(threads, len(a))):
            out[i] = a[i]

    proof = proved(body(lines, declarations=declarations), same, words(count or threads), 1, threads)
    return proof.verdict, proof.fault.kind if proof.fault else str(proof.difference or "")


COPY = "\tld.global.u32 %r2, [%rd2];\n"
STORE = "\tst.global.u32 [%rd1], %r2;\n"


def test_copy() -> None:
    assert verdict(COPY + STORE) == ("proved", "")


def test_warp_barrier_orders_a_warp_but_not_the_block() -> None:
    tile = ".shared .align 4 .b8 tile[256];"
    there = "\tshl.b32 %r3, %r1, 2;\n\tmov.u32 %r4, tile;\n\tadd.s32 %r5, %r4, %r3;\n\tst.shared.u32 [%r5], %r2;\n"
    back = "\txor.b32 %r6, %r3, {by};\n\tadd.s32 %r6, %r4, %r6;\n\tld.shared.u32 %r7, [%r6];\n\tst.shared.u32 [%r6], %r7;\n"
    sync = "\tbar.warp.sync 0xffffffff;\n"
    near, far = back.replace("{by}", "4"), back.replace("{by}", "128")
    assert verdict(COPY + there + sync + near + STORE, 64, tile) == ("proved", "")
    assert verdict(COPY + there + near + STORE, 64, tile) == ("refuted", "race")
    assert verdict(COPY + there + sync + far + STORE, 64, tile) == ("refuted", "race")
    assert verdict(COPY + there + "\tbar.sync 0;\n" + far + STORE, 64, tile) == ("proved", "")
    assert verdict(COPY + there + "\tbarrier.sync 3, 64;\n" + far + STORE, 64, tile) == ("proved", "")


def test_uninitialised_shared_memory_and_registers_are_undefined() -> None:
    tile = ".shared .align 4 .b8 tile[256];"
    kind, told = verdict("\tmov.u32 %r4, tile;\n\tld.shared.u32 %r2, [%r4];\n" + STORE, 32, tile)
    assert kind == "refuted" and "shared variable tile before it is written" in told
    kind, told = verdict("\tadd.s32 %r2, %r5, 1;\n" + STORE)
    assert kind == "refuted" and "register %r5 before it is written" in told
    assert verdict("\tld.global.u32 %r2, [%rd9];\n" + STORE) == ("refuted", "undefined value")


def test_access_past_the_end_misaligned_or_of_read_only_data() -> None:
    assert verdict(COPY + STORE, 33, count=32)[1] == "out of bounds"
    assert verdict("\tld.global.u32 %r2, [%rd2+4];\n" + STORE) == ("refuted", "out of bounds")
    assert verdict("\tld.global.u32 %r2, [%rd2+2];\n" + STORE) == ("refuted", "misaligned")
    written = COPY + STORE + "\tld.global.nc.u32 %r3, [%rd1];\n\tst.global.u32 [%rd1], %r3;\n"
    assert verdict(written) == ("refuted", "read-only")


def test_two_blocks_that_store_one_element_race() -> None:
    def spec(out, a):
        for i in range(32):
            out[i] = a[i]

    proof = proved(body(COPY + STORE), spec, words(32), 2, 32)
    assert proof.fault is not None and proof.fault.kind == "race"
    assert [a.block[0] for a in proof.fault.accesses] == [0, 1]


def test_reductions_may_come_in_any_order() -> None:
    def spec(out, a):
        for i in range(32):
            out[i % 4] += a[i]

    def reduced(opcode: str) -> tuple[str, str]:
        lines = COPY + f"\tand.b32 %r3, %r1, 28;\n\tmul.wide.u32 %rd4, %r3, 4;\n\tsub.s64 %rd1, %rd1, %rd4;\n\t{opcode};\n"
        proof = proved(body(lines), spec, words(32), 1, 32)
        return proof.verdict, proof.fault.kind if proof.fault else ""

    assert reduced("red.global.add.u32 [%rd1], %r2") == ("proved", "")
    assert reduced("atom.global.add.u32 %r9, [%rd1], %r2") == ("proved", "")
    assert reduced("st.global.u32 [%rd1], %r2") == ("refuted", "race")


def test_shuffle_waits_for_the_threads_of_its_mask() -> None:
    split = "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra $low;\n\tadd.s32 %r3, %r1, 0;\n$low:\n"
    meet = COPY + split + "\tshfl.sync.bfly.b32 %r4|%p2, %r2, 1, 31, -1;\n\tshfl.sync.bfly.b32 %r2|%p2, %r4, 1, 31, -1;\n" + STORE
    assert verdict(meet) == ("proved", "")
    apart = COPY + "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra $low;\n\tshfl.sync.idx.b32 %r4, %r2, 20, 31, -1;\n$low:\n" + STORE
    assert verdict(apart)[0] == "proved"  # PTX ISA: it waits for the threads that have not ended
    stuck = COPY + (
        "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra $low;\n\tshfl.sync.idx.b32 %r4, %r2, 20, 31, -1;\n\tbar.sync 0;\n\tbra $end;\n"
        "$low:\n\tbar.sync 0;\n$end:\n"
    )
    assert verdict(stuck + STORE) == ("refuted", "shuffle")


def test_vote_and_ballot_of_known_predicates() -> None:
    lines = COPY + (
        "\tsetp.lt.u32 %p1, %r1, 5;\n\tvote.sync.ballot.b32 %r3, %p1, -1;\n\tsetp.eq.s32 %p2, %r3, 31;\n"
        "\tvote.sync.all.pred %p3, %p2, -1;\n\t@!%p3 add.s32 %r2, %r2, 1;\n"
    )
    assert verdict(lines + STORE) == ("proved", "")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("\tsetp.lt.s32 %p1, %r2, 0;\n\t@%p1 bra $on;\n$on:\n", "control that does not depend on data"),
        (
            "\tcvt.u64.u32 %rd9, %r2;\n\tadd.s64 %rd9, %rd9, %rd2;\n\tld.global.u32 %r2, [%rd9];\n",
            "a place in a that is no whole element",
        ),
        ("\tpopc.b32 %r2, %r2;\n", "depend on data"),
        ("\ttex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [%rd9, {%r1}];\n", "tex.1d.v4.s32.s32"),
        ("\tvabsdiff.u32.u32.u32 %r2, %r2, %r2;\n", "vabsdiff"),
        ("$again:\n\tbra $again;\n", "step limit"),
    ],
)
def test_what_is_not_followed_is_said_with_its_line(lines: str, told: str) -> None:
    with pytest.raises(UnsupportedError, match=told) as error:
        verdict(COPY + lines + STORE)
    assert error.value.diagnostics[0].span.line > 10


def test_unsupported_code_that_no_thread_reaches_does_not_matter() -> None:
    assert verdict(COPY + "\tbra $on;\n\tvabsdiff.u32.u32.u32 %r2, %r2, %r2;\n$on:\n" + STORE) == ("proved", "")


def test_half_words_of_floats() -> None:
    text = (
        HEAD
        + """
.visible .entry k(.param .u64 out, .param .u64 in)
{
	.reg .b16 %h<4>;
	.reg .f32 %f<4>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	ld.global.v2.f32 {%f1, %f2}, [%rd2];
	mov.b64 %rd3, {%f2, %f1};
	st.global.b64 [%rd1], %rd3;
	ret;
}
"""
    )

    def swap(out, a):
        out[0], out[1] = a[1], a[0]

    arguments = (ArrayArgument("out", f32, (2,)), ArrayArgument("a", f32, (2,)))
    assert proved(text, swap, arguments, 1, 1).verdict == "proved"
