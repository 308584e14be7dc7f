"""Every kind of mistake, planted."""

import numpy as np
import pytest

from warploom.core import UnsupportedError, UserError
from warploom.ptx import launch

from .written import HEADER, kernel, kinds, run

SHARED = ".shared .align 16 .b32 tile[64]; mov.u64 %rd4, tile; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5;\n"
OTHER = "xor.b32 %r5, %r1, 63; mul.wide.u32 %rd7, %r5, 4; add.s64 %rd8, %rd4, %rd7;\n"


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_read_past_the_end() -> None:
    text = kernel("ld.global.u32 %r5, [%rd3+4];")
    ran = launch(text, grid=1, block=64, args=[np.zeros(64, np.uint32)])
    assert ran.status == "fault"
    (found,) = ran.findings
    assert found.kind == "out_of_bounds"
    assert (found.block, found.thread) == ((0, 0, 0), (63, 0, 0))
    assert "0 bytes past the end of argument 0 (256 bytes)" in found.message
    assert found.span.line == line_of(text, "ld.global.u32 %r5")


def test_write_before_the_start() -> None:
    ran = run("st.global.u32 [%rd3+-4], %r1;")
    assert (ran.status, kinds(ran)) == ("fault", ["out_of_bounds"])
    assert "4 bytes before the start of argument 0" in ran.findings[0].message


@pytest.mark.parametrize(
    "instruction", ["ld.global.u32 %r5, [%rd3+2];", "ld.global.v2.u32 {%r5, %r6}, [%rd3];", "ld.u32 %r5, [%rd3+1];"]
)
def test_misaligned(instruction: str) -> None:
    ran = run(instruction)
    assert (ran.status, kinds(ran)) == ("fault", ["misaligned"])


def test_pointer_to_nowhere() -> None:
    ran = run("mov.u64 %rd9, 16; ld.u32 %r5, [%rd9];")
    assert (ran.status, kinds(ran)) == ("fault", ["out_of_bounds"])


def test_beyond_shared_memory() -> None:
    ran = run(SHARED + "st.shared.u32 [%rd6+4], %r1;")
    assert (ran.status, kinds(ran)) == ("fault", ["out_of_bounds"])
    assert "shared memory, which has 256 bytes" in ran.findings[0].message
    assert ran.findings[0].thread == (63, 0, 0)


def test_write_to_a_constant() -> None:
    ran = run("mov.u64 %rd9, table; cvta.const.u64 %rd9, %rd9; st.u32 [%rd9], 1;", before=".const .b32 table[4];\n")
    assert (ran.status, kinds(ran)) == ("fault", ["read_only"])


def test_unwritten_shared_memory() -> None:
    ran = run(SHARED + "ld.shared.u32 %r6, [%rd6]; st.global.u32 [%rd3], %r6;")
    assert (ran.status, kinds(ran)) == ("finished", ["uninitialised_shared"])
    assert ran.findings[0].count == 64


@pytest.mark.parametrize("read", ["ld.global.u32 %r6, [%rd3];", "ld.global.nc.u32 %r6, [%rd3];", "ld.global.u8 %r6, [%rd3];"])
def test_what_is_discarded_is_undefined_until_it_is_stored(read: str) -> None:
    """Each warp discards the line of its 32 words."""
    discard = (
        "and.b32 %r5, %r1, 31; mul.wide.u32 %rd7, %r5, 4; sub.s64 %rd8, %rd3, %rd7; discard.global.L2 [%rd8], 128; bar.sync 0;\n"
    )
    ran = run(discard + read)
    assert (ran.status, kinds(ran)) == ("finished", ["discarded"])
    assert (ran.findings[0].count, ran.findings[0].message) == (
        64, "a read of argument 0 at byte 0, whose content was discarded and not stored anew"
    )  # fmt: skip
    assert set(ran.arrays[0].view(np.uint8).tolist()) == {0xA5}
    ran = run(discard + "st.global.u32 [%rd3], %r1;\n" + read)
    assert (ran.status, kinds(ran)) == ("finished", [])
    assert ran.arrays[0].tolist() == list(range(64))
    ran = run(discard + "atom.global.add.u32 %r6, [%rd3], 1;\n")
    assert kinds(ran) == ["discarded"]
    ran = run(discard.replace("[%rd8]", "[%rd8+4]"))
    assert (ran.status, kinds(ran)) == ("fault", ["misaligned"])


def test_a_line_that_another_thread_discards() -> None:
    text = "setp.eq.u32 %p1, %r1, 0;\n@%p1 discard.global.L2 [%rd3], 128;\nld.global.u32 %r6, [%rd3];\n"
    assert sorted(kinds(run(text))) == ["discarded", "global_race"]


def test_unwritten_register() -> None:
    ran = run("setp.lt.u32 %p1, %r1, 5;\n@%p1 mov.u32 %r9, 7;\nst.global.u32 [%rd3], %r9;")
    assert (ran.status, kinds(ran)) == ("finished", ["uninitialised_register"])
    assert (ran.findings[0].count, ran.findings[0].thread) == (59, (5, 0, 0))
    assert ran.arrays[0].tolist() == [7] * 5 + [0] * 59


def test_register_written_under_both_guards_is_fine() -> None:
    ran = run("setp.lt.u32 %p1, %r1, 5;\n@%p1 mov.u32 %r9, 7;\n@!%p1 mov.u32 %r9, 8;\nst.global.u32 [%rd3], %r9;")
    assert ran.findings == ()


def test_lanes_whose_guard_is_false_read_nothing() -> None:
    body = "setp.lt.u32 %p1, %r1, 5;\n@%p1 mov.u32 %r9, 7;\n@%p1 st.global.u32 [%rd3], %r9;\n"
    assert run(body).findings == ()
    wrong = run(body + "@!%p1 st.global.u32 [%rd3], %r9;")
    assert (kinds(wrong), wrong.findings[0].count) == (["uninitialised_register"], 59)
    carry = "setp.lt.u32 %p1, %r1, 5;\n@%p1 add.cc.u32 %r9, %r1, -1;\n@%p1 addc.u32 %r9, 5, 0;"
    assert run(carry).findings == ()


def test_register_written_on_one_path() -> None:
    ran = run("setp.lt.u32 %p1, %r1, 5;\n@%p1 bra L;\nmov.u32 %r9, 7;\nL: st.global.u32 [%rd3], %r9;")
    assert (kinds(ran), ran.findings[0].count) == (["uninitialised_register"], 5)


class TestRaces:
    WRITE = SHARED + "st.shared.u32 [%rd6], %r1;\n"
    READ = OTHER + "ld.shared.u32 %r6, [%rd8];\nst.global.u32 [%rd3], %r6;\n"

    def test_missing_barrier(self) -> None:
        text = kernel(self.WRITE + self.READ)
        ran = launch(text, grid=2, block=64, args=[np.zeros(128, np.uint32)])
        assert kinds(ran) == ["shared_race"]
        found = ran.findings[0]
        assert found.span.line == line_of(text, "ld.shared.u32 %r6")
        assert found.others[0][1].line == line_of(text, "st.shared.u32")
        assert "no barrier lies between" in found.message

    def test_with_a_barrier(self) -> None:
        assert run(self.WRITE + "bar.sync 0;\n" + self.READ, grid=2).findings == ()

    def test_write_after_read(self) -> None:
        body = self.WRITE + "bar.sync 0;\n" + self.READ + "st.shared.u32 [%rd6], %r3;\n"
        assert kinds(run(body)) == ["shared_race"]

    def test_warp_barrier_orders_one_warp_only(self) -> None:
        body = self.WRITE + "bar.warp.sync -1;\n" + self.READ
        assert kinds(run(body, block=64)) == ["shared_race"]
        near = self.WRITE + "bar.warp.sync -1;\n" + self.READ.replace("63", "31")
        assert run(near, block=64).findings == ()
        assert kinds(run(near.replace("bar.warp.sync -1;", ""), block=64)) == ["shared_race"]

    def test_different_values_by_one_instruction(self) -> None:
        assert kinds(run(SHARED + "st.shared.u32 [tile], %r1;")) == ["shared_race"]
        assert run(SHARED + "st.shared.u32 [tile], 7;", block=32).findings == ()
        assert kinds(run(SHARED + "st.shared.u32 [tile], 7;")) == ["shared_race"], "two warps are no lanes of one instruction"

    def test_a_store_of_what_was_there_is_a_race(self) -> None:
        first = SHARED + "st.shared.u32 [tile], 7;\n"
        assert kinds(run(first + "st.shared.u32 [tile], 7;", block=32)) == ["shared_race"]
        assert run(first + "bar.sync 0;\nst.shared.u32 [tile], 7;", block=32).findings == ()

    def test_a_counted_barrier_orders_who_takes_part(self) -> None:
        halves = "shr.u32 %r7, %r1, 6;\nadd.u32 %r7, %r7, 1;\nbar.sync %r7, 64;\n"
        near, far = self.READ.replace("63", "32"), self.READ.replace("63", "64")
        tile = ("tile[64]", "tile[128]")
        for read, found in ((near, []), (far, ["shared_race"])):
            text = kernel(self.WRITE + halves + read).replace(*tile)
            assert kinds(launch(text, grid=2, block=128, args=[np.zeros(256, np.uint32)])) == found

    def test_more_threads_at_a_barrier_than_it_takes(self) -> None:
        ran = run(self.WRITE + "bar.sync 1, 32;\n", block=64)
        assert kinds(ran) == ["barrier_divergence"] and "which takes 32" in ran.findings[0].message

    def test_an_arrival_orders_what_came_before_it(self) -> None:
        """The first warp stores and arrives, the second one waits and reads; what the second one stores is not ordered."""
        body = SHARED + (
            "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra $first;\nbar.sync 1, 64;\nxor.b32 %r5, %r1, 32;\nmul.wide.u32 %rd7, %r5, 4;\n"
            "add.s64 %rd8, %rd4, %rd7;\nld.shared.u32 %r6, [%rd8];\nbra $done;\n"
            "$first:\nst.shared.u32 [%rd6], %r1;\nbar.arrive 1, 64;\n{late}$done:\n"
        )
        assert run(body.replace("{late}", ""), block=64).findings == ()
        assert kinds(run(body.replace("{late}", "st.shared.u32 [%rd6], 5;\n"), block=64)) == ["shared_race"]

    def test_a_warp_barrier_orders_the_lanes_of_its_mask(self) -> None:
        body = self.WRITE + "bar.warp.sync {mask};\n" + self.READ.replace("63", "{by}")
        halves = "shr.u32 %r7, %r1, 4;\nsetp.eq.u32 %p1, %r7, 0;\nselp.b32 %r7, 0xffff, 0xffff0000, %p1;\n"
        assert run(body.replace("{mask}", "%r7").replace("{by}", "15").replace(SHARED, SHARED + halves), block=32).findings == ()
        far = body.replace("{mask}", "%r7").replace("{by}", "31").replace(SHARED, SHARED + halves)
        assert kinds(run(far, block=32)) == ["shared_race"]

    def test_bytes_of_one_word(self) -> None:
        body = SHARED + "cvt.u64.u32 %rd9, %r1; add.s64 %rd9, %rd4, %rd9; st.shared.u8 [%rd9], %r1;\n"
        assert run(body).findings == ()
        assert kinds(run(body + "ld.shared.u32 %r6, [tile];")) == ["shared_race"]

    def test_volatile_is_no_race(self) -> None:
        body = SHARED + "st.volatile.shared.u32 [%rd6], %r1;\n" + OTHER + "ld.volatile.shared.u32 %r6, [%rd8];\n"
        assert run(body).findings == ()

    def test_atomics_among_themselves(self) -> None:
        assert run(SHARED + "red.shared.add.u32 [tile], 1;").findings == ()
        assert kinds(run(SHARED + "red.shared.add.u32 [tile], 1;\nst.shared.u32 [tile], 5;")) == ["shared_race"]

    def test_two_blocks_write_one_word(self) -> None:
        ran = run("st.global.u32 [%rd1], %r2;", grid=2)
        assert kinds(ran) == ["global_race"]
        assert "nothing orders two blocks" in ran.findings[0].message

    def test_read_of_another_blocks_word(self) -> None:
        body = "st.global.u32 [%rd3], %r4;\nxor.b32 %r5, %r4, 64; mul.wide.u32 %rd7, %r5, 4; add.s64 %rd8, %rd1, %rd7;\n"
        assert kinds(run(body + "ld.global.u32 %r6, [%rd8];", grid=2)) == ["global_race"]
        own = body.replace("%r4, 64", "%r4, 1")
        assert kinds(run(own + "ld.global.u32 %r6, [%rd8];", grid=2)) == ["global_race"]
        assert run(own + "bar.sync 0;\nld.global.u32 %r6, [%rd8];", grid=2).findings == ()

    def test_blocks_in_different_batches(self) -> None:
        assert kinds(run("st.global.u32 [%rd1], %r2;", grid=40, block=1024)) == ["global_race"]

    PUBLISH = (
        "ld.param.u64 %rd11, [p1];\nst.global.u32 [%rd3], %r4;\n{release}\natom.global.add.u32 %r5, [%rd11], 1;\n{acquire}\n"
        "ld.global.u32 %r6, [%rd1];"
    )

    @pytest.mark.parametrize(
        ("release", "acquire", "found"),
        [
            ("membar.gl;", "membar.gl;", []),
            ("membar.gl;", "bar.sync 0;", []),
            ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;", []),
            ("membar.gl;", "", ["global_race"]),
            ("", "membar.gl;", ["global_race"]),
            ("membar.cta;", "membar.gl;", ["global_race"]),
            ("membar.gl;", "fence.acq_rel.cta;", ["global_race"]),
        ],
    )
    def test_published_with_fences_around_an_atomic(self, release: str, acquire: str, found: list[str]) -> None:
        body = self.PUBLISH.replace("{release}", release).replace("{acquire}", acquire)
        assert kinds(run(body, grid=2, others=(np.zeros(1, np.uint32),))) == found

    def test_scope_of_atomics(self) -> None:
        body = "ld.param.u64 %rd11, [p1];\nred{order}.global.add.u32 [%rd11], 1;"
        for order, found in (("", []), (".relaxed.gpu", []), (".relaxed.cta", ["global_race"])):
            assert kinds(run(body.replace("{order}", order), grid=2, others=(np.zeros(1, np.uint32),))) == found
        assert run(body.replace("{order}", ".relaxed.cta"), others=(np.zeros(1, np.uint32),)).findings == ()

    def test_a_fence_alone_orders_nothing(self) -> None:
        assert kinds(run(self.WRITE + "membar.cta;\n" + self.READ)) == ["shared_race"]

    def test_off(self) -> None:
        ran = launch(kernel(self.WRITE + self.READ), grid=1, block=64, args=[np.zeros(64, np.uint32)], checks=False)
        assert ran.findings == ()


class TestWarps:
    UPPER = "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra L;\nshfl.sync.idx.b32 %r5, %r1, 0, 31, 0xffffffe0;\n"
    """Lanes 5 and up read lane 0, which is elsewhere."""
    NEXT = "setp.eq.u32 %p1, %r1, 19;\nshfl.sync.down.b32 %r5, %r1, 1, 31, -1;\n"
    """In a block of 20, lane 19 reads one that does not exist."""
    STORE = "st.global.u32 [%rd3], %r5;\n"

    def test_shuffle_from_a_lane_not_named(self) -> None:
        text = kernel(self.UPPER + self.STORE + "L:")
        ran = launch(text, grid=1, block=32, args=[np.zeros(32, np.uint32)])
        (found,) = ran.findings
        assert found.kind == "shuffle_inactive"
        assert f"st.global.u32 uses %r5, which is undefined: shfl.sync.idx.b32 in line {line_of(text, 'shfl')} " in found.message
        assert "reads lane 0, which does not take part" in found.message
        assert (found.count, found.thread, found.span.line) == (27, (5, 0, 0), line_of(text, "st.global"))
        assert found.others[0][1].line == line_of(text, "shfl")

    def test_halves_that_name_themselves(self) -> None:
        body = "setp.lt.u32 %p1, %r1, 16;\nselp.b32 %r6, 0xffff, 0xffff0000, %p1;\n"
        assert run(body + "shfl.sync.bfly.b32 %r5, %r1, 8, 31, %r6;" + self.STORE, block=32).findings == ()
        ran = run(body + "shfl.sync.bfly.b32 %r5, %r1, 16, 31, %r6;" + self.STORE, block=32)
        assert kinds(ran) == ["shuffle_inactive"]
        assert ran.findings[0].count == 32

    def test_shuffle_from_an_exited_lane(self) -> None:
        body = "setp.eq.u32 %p1, %r1, 31;\n@%p1 ret;\nshfl.sync.idx.b32 %r5, %r1, 31, 31, -1;\n"
        assert kinds(run(body + self.STORE, block=32)) == ["shuffle_inactive"]

    def test_nobody_uses_what_is_undefined(self) -> None:
        assert run(self.UPPER + "L:", block=32).findings == ()
        assert run(self.NEXT + "@!%p1 " + self.STORE, block=20).findings == ()

    def test_overwritten_before_it_is_used(self) -> None:
        for load in ("ld.global.u32 %r5, [%rd3];", "mov.u32 %r5, 7;", "add.u32 %r5, %r1, 7;"):
            assert run(self.NEXT + f"@%p1 {load}\n" + self.STORE, block=20).findings == ()
            assert run(self.NEXT + f"{load}\n" + self.STORE, block=20).findings == ()
        ran = run(self.NEXT + "@!%p1 mov.u32 %r5, 7;\n" + self.STORE, block=20)
        assert (kinds(ran), ran.findings[0].count, ran.findings[0].thread) == (["shuffle_inactive"], 1, (19, 0, 0))

    def test_used_in_the_overwriting_instruction(self) -> None:
        assert kinds(run(self.NEXT + "@%p1 add.u32 %r5, %r5, 7;\n" + self.STORE, block=20)) == ["shuffle_inactive"]

    def test_used_after_a_branch(self) -> None:
        use = "@{} bra M;\n" + self.STORE + "bra N;\nM: st.global.u32 [%rd3], 1;\nN:"
        assert kinds(run(self.NEXT + use.format("!%p1"), block=20)) == ["shuffle_inactive"]
        assert run(self.NEXT + use.format("%p1"), block=20).findings == ()
        assert kinds(run(self.NEXT + "bar.sync 0;\n" + self.STORE, block=20)) == ["shuffle_inactive"]

    def test_used_as_a_branch_condition(self) -> None:
        body = self.NEXT + "setp.ne.u32 %p2, %r5, 3;\n@%p2 bra M;\nst.global.u32 [%rd3], 1;\nM:"
        assert kinds(run(body, block=20)) == ["shuffle_inactive"]

    def test_overwritten_on_one_path(self) -> None:
        body = self.NEXT + "@{} bra M;\nmov.u32 %r5, 7;\nM: " + self.STORE
        assert run(body.format("!%p1"), block=20).findings == ()
        assert kinds(run(body.format("%p1"), block=20)) == ["shuffle_inactive"]

    @pytest.mark.parametrize(
        "copies",
        ["mov.u32 %r6, %r5;", "mov.b64 %rd9, {%r5, %r1}; mov.b64 {%r6, %r7}, %rd9;", "selp.b32 %r6, %r5, %r1, %p1;",
         "@%p1 mov.u32 %r6, %r5; @!%p1 mov.u32 %r6, 0;"],
    )  # fmt: skip
    def test_copied(self, copies: str) -> None:
        store = "st.global.u32 [%rd3], %r6;\n"
        for there in (copies + "\n" + store, copies + "\n@%p1 mov.u32 %r5, 7;\n" + store):
            assert kinds(run(self.NEXT + there, block=20)) == ["shuffle_inactive"]
        assert run(self.NEXT + copies + "\n@%p1 mov.u32 %r6, 7;\n" + store, block=20).findings == ()
        assert run(self.NEXT + "@%p1 mov.u32 %r5, 7;\n" + copies + "\n" + store, block=20).findings == ()

    def test_not_chosen(self) -> None:
        assert run(self.NEXT + "selp.b32 %r6, %r1, %r5, %p1;\nst.global.u32 [%rd3], %r6;\n", block=20).findings == ()

    def test_words_apart(self) -> None:
        body = self.NEXT + "mov.b64 %rd9, {%r5, %r1};\n@%p1 mov.u64 %rd9, 7;\n"
        assert run(body + "mov.b64 {%r6, %r7}, %rd9;\nst.global.u32 [%rd3], %r6;\n", block=20).findings == ()

    def test_passed_to_a_function(self) -> None:
        before = ".func (.reg .b32 %o) f(.reg .b32 %i) { mov.u32 %o, 7; ret; }\n"
        assert kinds(run(self.NEXT + "call (%r6), f, (%r5);", block=20, before=before)) == ["shuffle_inactive"]
        assert run(self.NEXT + "call (%r5), f, (%r1);" + self.STORE, block=20, before=before).findings == ()
        assert run(self.NEXT + "@%p1 call (%r5), f, (%r1);" + self.STORE, block=20, before=before).findings == ()

    def test_guarded_shuffle(self) -> None:
        body = "mov.u32 %r5, 9;\nsetp.lt.u32 %p1, %r1, {};\n@%p1 shfl.sync.down.b32 %r5, %r1, 1, 31, 0xff;\n" + self.STORE
        ran = run(body.format(8), block=20)
        assert (kinds(ran), ran.findings[0].count, ran.findings[0].thread) == (["shuffle_inactive"], 1, (7, 0, 0))
        assert "reads lane 8" in ran.findings[0].message
        repaired = body.format(8).replace(self.STORE, "setp.eq.u32 %p2, %r1, 7;\n@%p2 mov.u32 %r5, 1;\n" + self.STORE)
        assert run(repaired, block=20).findings == ()

    def test_predicate_of_a_shuffle_is_defined(self) -> None:
        body = "shfl.sync.down.b32 %r5|%p2, %r1, 1, 31, -1;\nselp.u32 %r6, 1, 0, %p2;\nst.global.u32 [%rd3], %r6;\n"
        for block in (20, 32):
            ran = run(body, block=block)
            assert (ran.findings, ran.arrays[0].tolist()) == ((), [int(lane < 31) for lane in range(block)])

    def test_reported_once_per_thread(self) -> None:
        ran = run(self.NEXT + "add.u32 %r6, %r5, 1;\nadd.u32 %r7, %r5, 1;\n", block=20)
        assert (kinds(ran), ran.findings[0].count) == (["shuffle_inactive"], 1)

    def test_undefined_in_one_turn_of_a_loop(self) -> None:
        turns = "mov.u32 %r8, 0;\nM: " + self.NEXT.replace(", 1, 31", ", %r8, 31") + "{}add.u32 %r9, %r5, 1;\n"
        turns += "add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, 3;\n@%p2 bra M;\n"
        ran = run(turns.format(""), block=20)
        assert (kinds(ran), ran.findings[0].count) == (["shuffle_inactive"], 3)
        assert run(turns.format("setp.ge.u32 %p3, %r1, 18;\n@%p3 mov.u32 %r5, 0;\n"), block=20).findings == ()

    def test_unchecked(self) -> None:
        text = kernel(self.NEXT + self.STORE)
        assert launch(text, grid=1, block=20, args=[np.zeros(20, np.uint32)], checks=False).findings == ()

    def test_lanes_that_never_come(self) -> None:
        body = "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra L;\nshfl.sync.idx.b32 %r5, %r1, 0, 31, -1;\nbra M;\nL: bar.sync 0;\nM:"
        ran = run(body, block=32)
        assert (ran.status, kinds(ran)) == ("deadlock", ["deadlock"])
        texts = (ran.findings[0].message, *(text for text, _ in ran.findings[0].others))
        assert any("bar.sync 0" in text and "5 threads" in text for text in texts)
        assert any("shfl.sync" in text and "27 threads" in text for text in texts)

    def test_barrier_with_too_large_a_count(self) -> None:
        assert run("bar.sync 0, 96;", block=64).status == "deadlock"
        assert run("bar.sync 0, 64;", block=64).status == "finished"

    def test_two_barriers_at_once(self) -> None:
        body = "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\nbar.sync 1;\nbra M;\nL: bar.sync 2;\nM:"
        assert run(body).status == "deadlock"

    def test_lanes_at_different_barrier_instructions(self) -> None:
        body = "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra L;\nbar.sync 0;\nbra M;\nL: bar.sync 0;\nM:"
        assert kinds(run(body)) == ["barrier_divergence"]
        assert run(body.replace(" 5;", " 32;")).findings == ()

    def test_matrix_instruction_of_half_a_warp(self) -> None:
        ran = run("mov.u32 %r5, 0; movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r5;", block=16)
        assert kinds(ran) == ["shuffle_inactive"]


class TestStops:
    def test_trap(self) -> None:
        ran = run("setp.eq.u32 %p1, %r4, 70;\n@%p1 trap;", grid=2)
        assert (ran.status, kinds(ran)) == ("fault", ["trap"])
        assert (ran.findings[0].block, ran.findings[0].thread) == ((1, 0, 0), (6, 0, 0))

    def test_limit(self) -> None:
        assert run("L: bra L;", limit=10_000).status == "limit"

    def test_endless_recursion(self) -> None:
        deep = ".func f() { call f, (); ret; }\n"
        ran = run("call f, ();", before=deep)
        assert (ran.status, kinds(ran)) == ("fault", ["stack_overflow"])

    def test_call_of_nothing(self) -> None:
        body = "mov.u64 %rd9, 64;\nP: .callprototype ()_();\ncall %rd9, (), P;"
        assert kinds(run(body)) == ["bad_call"]

    def test_unknown_instruction_is_named_only_when_reached(self) -> None:
        assert run("bra L;\nfrobnicate.b32 %r5, %r6;\nL:").status == "finished"
        with pytest.raises(UnsupportedError, match=r"<ptx>:\d+:1: .*frobnicate.b32"):
            run("frobnicate.b32 %r5, %r6;")

    def test_unknown_modifier(self) -> None:
        with pytest.raises(UnsupportedError, match=r"<ptx>:\d+:1: .*add.frob.u32"):
            run("add.frob.u32 %r5, %r6, %r7;")

    def test_function_without_a_body(self) -> None:
        with pytest.raises(UnsupportedError, match="nobody"):
            run("call nobody, ();", before=".extern .func nobody();\n")


class TestRequests:
    def test_number_of_arguments(self) -> None:
        with pytest.raises(UserError, match="expected 1 arguments for k, got 0"):
            launch(kernel(""), grid=1, block=1, args=[])

    @pytest.mark.parametrize("value", [np.zeros(4, np.float32), 1.5, 2**32, np.float32(1), b"abc"])
    def test_wrong_type(self, value: object) -> None:
        text = f"{HEADER}.visible .entry k(.param .u32 n) {{ ret; }}"
        if isinstance(value, np.ndarray):
            text = text.replace("u32", "f32")
        with pytest.raises(UserError, match="expected a value of type"):
            launch(text, grid=1, block=1, args=[value])  # type: ignore[list-item]

    def test_shapes(self) -> None:
        for grid, block in ((0, 1), (1, (1, 2, 3, 4)), (1, 2048)):
            with pytest.raises(UserError, match="LAUNCH_SHAPE"):
                launch(kernel(""), grid=grid, block=block, args=[np.zeros(1)])

    def test_read_only_array_in_place(self) -> None:
        array = np.zeros(1, np.uint32)
        array.flags.writeable = False
        with pytest.raises(UserError, match=r"expected arrays that can be written .*argument 0 of k"):
            launch(kernel(""), grid=1, block=1, args=[array], in_place=True)
        assert launch(kernel(""), grid=1, block=1, args=[array]).status == "finished"

    def test_several_kernels(self) -> None:
        text = f"{HEADER}.visible .entry a() {{ ret; }}\n.visible .entry b() {{ ret; }}"
        with pytest.raises(UserError, match="found 2: a, b"):
            launch(text, grid=1, block=1, args=[])
        assert launch(text, "b", grid=1, block=1, args=[]).status == "finished"
