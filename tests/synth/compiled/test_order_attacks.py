"""Order of threads that is only apparent: threads that ended, accesses hidden behind later ones, masks that disagree."""

import pytest
from tests.synth.compiled.programs import body
from tests.synth.compiled.test_order import READ, TILE, WRITE, words

from warploom.core import UnsupportedError
from warploom.ptx import lower, parse
from warploom.synth.compiled import prove_launch, run_plain_spec

ENDS = WRITE + "\tsetp.ge.u32 %p1, %r1, 32;\n\t@%p1 exit;\n\t{barrier};\n" + READ.replace("{by}", "128")
FIRST = "\tsub.s64 %rd1, %rd1, %rd3;\n\tsub.s64 %rd2, %rd2, %rd3;\n\tld.global.u32 %r2, [%rd2];\n"
THREE_WARPS = (
    FIRST
    + "\tand.b32 %r9, %r1, 31;\n\tshr.u32 %r8, %r1, 5;\n\tsetp.eq.u32 %p1, %r8, 1;\n\tsetp.eq.u32 %p2, %r8, 2;\n"
    + "\tsetp.eq.u32 %p3, %r9, 0;\n\t@%p2 bra $two;\n\t@%p1 bra $one;\n\tbar.sync 1, 64;\n"
    + "\t@%p3 red.global.add.u32 [%rd1], %r2;\n\tbra $end;\n"
    + "$one:\n\t@%p3 {early};\n\tbar.sync 1, 64;\n{late}\tbra $end;\n"
    + "$two:\n{last}$end:\n"
)
UPDATE = "\t@%p3 red.global.add.u32 [%rd1], %r2;\n"
ONE_STORE = (
    FIRST
    + "\tsetp.eq.u32 %p1, %r1, 2;\n\tsetp.le.u32 %p2, %r1, {last};\n\tsetp.eq.u32 %p3, %r1, 1;\n\t@%p1 {early};\n"
    + "\t@!%p3 bar.warp.sync 0xfffffffd;\n\t@%p2 st.global.u32 [%rd1], %r2;\n"
)


def verdict(lines: str, spec, count: int, threads: int, declarations: str = TILE, shared: int = 0) -> tuple[str, str]:
    program = lower(parse(body(lines, declarations=declarations), "test.ptx"))
    wanted = run_plain_spec(spec, words(count))
    proof = prove_launch(program, None, words(count), (1, 1, 1), (threads, 1, 1), wanted, dynamic_shared_bytes=shared)
    return proof.verdict, proof.fault.kind if proof.fault else ""


def test_what_an_ended_thread_did_is_ordered_by_barriers_of_the_whole_block_only() -> None:
    def spec(out, a):
        for i in range(32):
            out[i] = a[i + 32]

    def run(barrier: str) -> tuple[str, str]:
        return verdict(ENDS.replace("{barrier}", barrier), spec, 64, 64)

    assert run("bar.sync 0") == ("proved", "")
    assert run("bar.warp.sync -1") == ("refuted", "race")
    assert run("bar.sync 1, 32") == ("refuted", "race")


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("ld.global.u32 %r5, [%rd1]", "\t@%p3 st.global.u32 [%rd1+4], %r5;\n"),
        ("red.global.or.b32 [%rd1], 7", ""),
    ],
)
def test_an_update_does_not_hide_what_came_before_it(early: str, late: str) -> None:
    def spec(updates):
        def run(out, a):
            if late:
                out[1] = out[0]
            else:
                out[0] = out[0] | 7
            for _ in range(updates):
                out[0] = out[0] + a[0]

        return run

    text = THREE_WARPS.replace("{early}", early).replace("{late}", late)
    assert verdict(text.replace("{last}", ""), spec(1), 4, 96) == ("proved", "")
    assert verdict(text.replace("{last}", UPDATE), spec(2), 4, 96) == ("refuted", "race")


@pytest.mark.parametrize("early", ["ld.global.u32 %r5, [%rd1]", "st.global.u32 [%rd1], %r1", "red.global.add.u32 [%rd1], 1"])
def test_every_lane_of_one_store_comes_after_what_was_before_it(early: str) -> None:
    def spec(out, a):
        out[0] = a[0]

    text = ONE_STORE.replace("{early}", early)
    assert verdict(text.replace("{last}", "0"), spec, 4, 32) == ("proved", "")
    assert verdict(text.replace("{last}", "1"), spec, 4, 32) == ("refuted", "race")


def test_arrays_of_dynamic_shared_memory_lie_upon_each_other() -> None:
    def spec(out, a):
        for i in range(32):
            out[i] = a[i]

    lines = (
        WRITE.replace("tile", "first")
        + "\tmov.u32 %r6, second;\n\tadd.s32 %r6, %r6, %r3;\n{more}\tld.shared.u32 %r7, [%r6];\n\tst.global.u32 [%rd1], %r7;\n"
    )
    both = ".extern .shared .align 16 .b8 first[];\n\t.extern .shared .align 4 .b8 second[];"
    assert verdict(lines.replace("{more}", ""), spec, 32, 32, both, 128) == ("proved", "")
    spoiled = lines.replace("{more}", "\tst.shared.u32 [%r6], %r1;\n").replace("[%r6];\n\tst.global", "[%r5];\n\tst.global")
    assert verdict(spoiled, spec, 32, 32, both, 128)[0] == "refuted"


def test_memory_that_the_kernel_writes_is_not_read_by_the_read_only_path() -> None:
    def spec(out, a):
        for i in range(32):
            out[i] = out[i] + 1

    lines = "\tld.global{nc}.u32 %r2, [%rd1];\n\tadd.s32 %r2, %r2, 1;\n\t{write};\n"
    store, update = "st.global.u32 [%rd1], %r2", "red.global.add.u32 [%rd1], 1"
    assert verdict(lines.replace("{nc}", "").replace("{write}", store), spec, 32, 32) == ("proved", "")
    assert verdict(lines.replace("{nc}", ".nc").replace("{write}", store), spec, 32, 32) == ("refuted", "read-only")
    assert verdict(lines.replace("{nc}", "").replace("{write}", update), spec, 32, 32) == ("proved", "")
    assert verdict(lines.replace("{nc}", ".nc").replace("{write}", update), spec, 32, 32) == ("refuted", "read-only")


@pytest.mark.parametrize(
    ("exchange", "number"),
    [
        ("vote.sync.ballot.b32 %r7, %p2, %r9", 8),
        ("redux.sync.max.u32 %r7, %r1, %r9", 31),
        ("bar.warp.sync %r9;\n\tmov.u32 %r7, 5", 5),
    ],
)
def test_lanes_that_a_mask_names_give_the_same_mask(exchange: str, number: int) -> None:
    def spec(out, a):
        for i in range(32):
            out[i] = number

    lines = (
        "\tsetp.eq.u32 %p1, %r1, 0;\n\tselp.b32 %r9, 0xffffffff, {other}, %p1;\n\tsetp.eq.u32 %p2, %r1, 3;\n"
        f"\t{exchange};\n\tst.global.u32 [%rd1], %r7;\n"
    )
    assert verdict(lines.replace("{other}", "0xffffffff"), spec, 32, 32) == ("proved", "")
    with pytest.raises(UnsupportedError, match="expected one mask in all lanes"):
        verdict(lines.replace("{other}", "0xfffffffe"), spec, 32, 32)


def test_discarded_memory_is_not_followed() -> None:
    def spec(out, a):
        for i in range(32):
            out[i] = a[i]

    with pytest.raises(UnsupportedError, match=r"discard"):
        verdict("\tld.global.u32 %r2, [%rd2];\n\tdiscard.global.L2 [%rd2], 128;\n\tst.global.u32 [%rd1], %r2;\n", spec, 32, 32)
