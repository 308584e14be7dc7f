"""Order of threads in a proof: barriers for who takes part, phase by phase; atomics in their scope; nothing by value."""

import pytest
from tests.synth.compiled.programs import body, proved

from warploom.core import UnsupportedError, f32, u32
from warploom.synth.compiled import Argument, ArrayArgument

TILE = ".shared .align 4 .b8 tile[1024];"
WRITE = (
    "\tld.global.u32 %r2, [%rd2];\n\tshl.b32 %r3, %r1, 2;\n\tmov.u32 %r4, tile;\n\tadd.s32 %r5, %r4, %r3;\n"
    "\tst.shared.u32 [%r5], %r2;\n"
)
READ = "\txor.b32 %r6, %r3, {by};\n\tadd.s32 %r6, %r4, %r6;\n\tld.shared.u32 %r7, [%r6];\n\tst.global.u32 [%rd1], %r7;\n"


def words(count: int) -> tuple[Argument, ...]:
    return ArrayArgument("out", u32, (count,)), ArrayArgument("a", u32, (count,))


def verdict(lines: str, by: int, threads: int = 128) -> tuple[str, str]:
    """out[i] = a[i ^ by], through shared memory."""

    def spec(out, a):
        for i in range(threads):
            out[i] = a[i ^ by]

    text = body(lines.replace("{by}", str(4 * by)), declarations=TILE)
    proof = proved(text, spec, words(threads), 1, threads)
    return proof.verdict, proof.fault.kind if proof.fault else ""


HALVES = "\tshr.u32 %r8, %r1, 6;\n\tadd.s32 %r8, %r8, 1;\n\tbar.sync %r8, 64;\n"


def test_a_counted_barrier_orders_the_threads_that_take_part() -> None:
    assert verdict(WRITE + HALVES + READ, 32) == ("proved", "")
    assert verdict(WRITE + HALVES + READ, 64) == ("refuted", "race")
    assert verdict(WRITE + "\tbar.sync 1, 128;\n" + READ, 64) == ("proved", "")


def test_threads_that_ended_do_not_count_at_a_counted_barrier() -> None:
    ended = "\tsetp.ge.u32 %p1, %r1, 64;\n\t@%p1 bra $end;\n\tbar.sync {b};\n" + READ + "$end:\n"

    def spec(out, a):
        for i in range(64):
            out[i] = a[i ^ 32]

    def run(barrier: str) -> tuple[str, str]:
        text = body((WRITE + ended).replace("{b}", barrier).replace("{by}", "128"), declarations=TILE)
        proof = proved(text, spec, words(128), 1, 128)
        return proof.verdict, proof.fault.kind if proof.fault else ""

    assert run("1, 64") == run("0") == ("proved", "")
    assert run("1, 128") == ("refuted", "barrier")


def test_which_warps_go_on_together_must_not_be_open() -> None:
    assert verdict(WRITE + "\tbar.sync 1, 64;\n" + READ, 0) == ("refuted", "barrier")


@pytest.mark.parametrize(
    "barrier", ["bar.sync 1, 48;", "bar.sync 16;", "setp.lt.u32 %p1, %r1, 64;\n\tselp.b32 %r9, 64, 128, %p1;\n\tbar.sync 1, %r9;"]
)
def test_counts_and_numbers_of_barriers(barrier: str) -> None:
    assert verdict(WRITE + f"\t{barrier}\n" + READ, 0) == ("refuted", "barrier")


def test_an_aligned_barrier_takes_whole_warps() -> None:
    split = "\tand.b32 %r8, %r1, 1;\n\tsetp.eq.u32 %p1, %r8, 0;\n\t@%p1 bra $on;\n\tbar.sync 1, 64;\n$on:\n\tbar.sync 2, 128;\n"
    assert verdict(WRITE + split + READ, 0) == ("refuted", "barrier")


PRODUCED = (
    "\tsetp.lt.u32 %p1, %r1, 32;\n\t@%p1 bra $first;\n\tbar.sync 1, 64;\n\tadd.s32 %r6, %r5, -128;\n\tld.shared.u32 %r7, [%r6];\n"
    "\tst.global.u32 [%rd1], %r7;\n\tbra $end;\n$first:\n{early}\tbar.arrive 1, 64;\n{late}$end:\n"
)


def produced(early: str, late: str) -> tuple[str, str]:
    def spec(out, a):
        for i in range(32, 64):
            out[i] = a[i - 32]

    start = WRITE.replace("\tst.shared.u32 [%r5], %r2;\n", "")
    text = body(start + PRODUCED.replace("{early}", early).replace("{late}", late), declarations=TILE)
    proof = proved(text, spec, words(64), 1, 64)
    return proof.verdict, proof.fault.kind if proof.fault else ""


def test_an_arrival_orders_what_came_before_it_only() -> None:
    store = "\tst.shared.u32 [%r5], %r2;\n"
    assert produced(store, "") == ("proved", "")
    assert produced(store, store) == ("refuted", "race")
    assert produced("", store)[0] == "refuted"


def test_an_arrival_waits_for_nobody() -> None:
    """The reads of the waiting warp are not ordered before the next steps of the arriving one."""
    twice = "\tst.shared.u32 [%r5], %r2;\n"
    assert produced(twice, "\tbar.arrive 1, 64;\n") == ("refuted", "barrier")


def test_a_warp_barrier_orders_the_lanes_that_its_mask_names() -> None:
    halves = (
        "\tand.b32 %r9, %r1, 16;\n\tsetp.eq.u32 %p1, %r9, 0;\n\tselp.b32 %r9, 0xffff, 0xffff0000, %p1;\n\tbar.warp.sync %r9;\n"
    )
    assert verdict(WRITE + halves + READ, 8, 32) == ("proved", "")
    assert verdict(WRITE + halves + READ, 16, 32) == ("refuted", "race")


# ---------------------------------------------------------------- atomics


def reduced(lines: str, blocks: int = 2, threads: int = 1) -> tuple[str, str]:
    """out[0] += a[0] once per thread."""

    def spec(out, a):
        for _ in range(blocks * threads):
            out[0] += a[0]

    text = body("\tsub.s64 %rd1, %rd1, %rd3;\n\tsub.s64 %rd2, %rd2, %rd3;\n\tld.global.u32 %r2, [%rd2];\n" + lines)
    proof = proved(text, spec, words(1), blocks, threads)
    return proof.verdict, proof.fault.kind if proof.fault else ""


def test_atomics_in_their_scope() -> None:
    for order in ("", ".relaxed.gpu", ".relaxed.sys"):
        assert reduced(f"\tred{order}.global.add.u32 [%rd1], %r2;\n") == ("proved", "")
    assert reduced("\tred.relaxed.cta.global.add.u32 [%rd1], %r2;\n") == ("refuted", "race")
    assert reduced("\tred.relaxed.cta.global.add.u32 [%rd1], %r2;\n", 1, 2) == ("proved", "")


def test_a_plain_store_before_an_update_of_the_same_thread_still_races() -> None:
    lines = "\tld.global.u32 %r3, [%rd1];\n\tst.global.u32 [%rd1], %r3;\n\tred.global.add.u32 [%rd1], %r2;\n"
    assert reduced(lines, 1, 2) == ("refuted", "race")


def test_updates_of_two_kinds_race() -> None:
    lines = "\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 red.global.add.u32 [%rd1], %r2;\n\t@!%p1 red.global.max.u32 [%rd1], 0;\n"
    assert reduced(lines, 1, 2) == ("refuted", "race")


def test_an_update_does_not_order_other_data() -> None:
    lines = WRITE + "\tred.shared.add.u32 [tile+1020], 1;\n" + READ
    assert verdict("\tst.shared.u32 [tile+1020], 0;\n" + lines, 1, 32)[0] == "refuted"


# ---------------------------------------------------------------- one value to one place


def stored(lines: str, threads: int = 32) -> tuple[str, str]:
    """out[0] = a[0]."""

    def spec(out, a):
        out[0] = a[0]

    start = (
        "\tsub.s64 %rd1, %rd1, %rd3;\n\tld.global.u32 %r2, [%rd2];\n\tsub.s64 %rd2, %rd2, %rd3;\n\tld.global.u32 %r3, [%rd2];\n"
    )
    proof = proved(body(start + lines), spec, words(threads), 1, threads)
    return proof.verdict, proof.fault.kind if proof.fault else ""


def test_lanes_of_one_instruction_may_store_one_value_to_one_place() -> None:
    assert stored("\tst.global.u32 [%rd1], %r3;\n") == ("proved", "")
    assert stored("\tst.global.u32 [%rd1], %r2;\n") == ("refuted", "race")


def test_two_instructions_or_two_warps_may_not() -> None:
    split = "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 st.global.u32 [%rd1], %r3;\n\t@!%p1 st.global.u32 [%rd1], %r3;\n"
    assert stored(split) == ("refuted", "race")
    assert stored("\tst.global.u32 [%rd1], %r3;\n", 64) == ("refuted", "race")


def test_who_stored_one_value_together_is_all_of_them() -> None:
    """Lane 1 is ordered after lane 0, but not after the other lanes that stored the same."""
    lines = (
        "\tst.shared.u32 [tile], 5;\n\tmov.u32 %r9, 3;\n\tsetp.gt.u32 %p1, %r1, 1;\n\t@%p1 mov.u32 %r9, -4;\n"
        "\tbar.warp.sync %r9;\n\tsetp.eq.u32 %p2, %r1, 1;\n\t@%p2 st.shared.u32 [tile], 6;\n" + WRITE
    )

    def spec(out, a):
        pass

    proof = proved(body(lines, declarations=TILE), spec, words(32), 1, 32)
    assert proof.fault is not None and proof.fault.kind == "race"


# ---------------------------------------------------------------- shuffles under guards


def test_a_lane_that_a_mask_names_and_a_guard_keeps_away() -> None:
    lines = "\tld.global.u32 %r2, [%rd2];\n\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 shfl.sync.idx.b32 %r2, %r2, %r1, 31, {mask};\n"
    lines += "\tst.global.u32 [%rd1], %r2;\n"

    def spec(out, a):
        for i in range(32):
            out[i] = a[i]

    def run(mask: str) -> str:
        return proved(body(lines.replace("{mask}", mask) + "\tbar.sync 0;\n"), spec, words(32), 1, 32).verdict

    assert (run("0xffff"), run("-1")) == ("proved", "refuted")


# ---------------------------------------------------------------- rounding


def moved(lines: str) -> tuple[str, str]:
    def spec(out, a):
        for i in range(4):
            out[i] = a[i]

    arguments = (ArrayArgument("out", f32, (4,)), ArrayArgument("a", f32, (4,)))
    text = body("\tld.global.f32 %f1, [%rd2];\n" + lines + "\tst.global.f32 [%rd1], %f1;\n")
    proof = proved(text, spec, arguments, 1, 4)
    return proof.verdict, proof.domain


@pytest.mark.parametrize(
    ("code", "domain"),
    [
        ("", "elements moved unchanged"),
        ("mov.b32 %r2, %f1;\n\tmov.b32 %f1, %r2;", "elements moved unchanged"),
        ("add.f32 %f1, %f1, 0f00000000;", "real sums reordered"),
        ("add.f32 %f1, %f1, 0f80000000;", "real sums reordered, zeros of either sign are equal"),
        ("add.ftz.f32 %f1, %f1, 0f00000000;", "real sums reordered, subnormal numbers flushed to zero"),
        ("add.rz.f32 %f1, %f1, 0f00000000;", "real sums reordered, rounding .rz taken as exact"),
        ("mul.f32 %f1, %f1, 0f3F800000;", "real sums reordered"),
        ("mov.b32 %f2, 0;\n\tfma.rn.f32 %f1, %f1, %f2, %f1;", "real sums reordered"),
        (
            "cvt.f64.f32 %d1, %f1;\n\tcvt.rn.f32.f64 %f1, %d1;",
            "same operations in the same order, conversions that keep the number left out",
        ),
        ("cvt.ftz.f32.f32 %f1, %f1;", "conversions that keep the number left out, subnormal numbers flushed to zero"),
    ],
)
def test_what_is_only_moved_and_what_may_change_bits(code: str, domain: str) -> None:
    assert moved(f"\t{code}\n") == ("proved", domain)


def test_a_known_number_whose_rounding_matters_is_not_followed() -> None:
    with pytest.raises(UnsupportedError, match="does not hold exactly"):
        moved("\tmov.u32 %r2, 16777217;\n\tcvt.rz.f32.u32 %f1, %r2;\n")
