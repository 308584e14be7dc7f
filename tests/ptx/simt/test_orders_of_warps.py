"""Orders that reach a thread through others, loops that wait for an mbarrier in vain, and what compilers leave undefined."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ptx import Launch, launch

from .test_tcgen05 import run as in_tensor_memory
from .written import kinds, run

HANDED = """.shared .align 4 .b8 tile[256]; .shared .align 8 .b64 full;
setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 64; mad.lo.u32 %r5, %r1, 4, tile;
@%p1 mbarrier.init.shared.b64 [full], 1;
bar.sync 0;
@!%p2 bra takes;
st.shared.u32 [%r5], %r1;
bar.sync 1, 64;
@%p1 mbarrier.arrive.shared.b64 _, [full];
bra end;
takes:
w: mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
@!%p3 bra w;
ld.shared.u32 %r6, [%r5-256];
st.global.u32 [%rd3], %r6;
end:
"""
"""Threads 0 to 63 store and meet; one of them tells the other 64."""


def test_a_thread_tells_what_others_did_before_they_met_it() -> None:
    ran = run(HANDED, block=128)
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[0][64:] == np.arange(64)).all()


@pytest.mark.parametrize("change", [("bar.sync 1, 64;\n", ""), ("w: mbarrier", "bra past;\nw: mbarrier")])
def test_without_a_meeting_or_a_wait_it_is_a_race(change: tuple[str, str]) -> None:
    text = HANDED.replace(*change).replace("ld.shared.u32 %r6", "past:\nld.shared.u32 %r6")
    assert set(kinds(run(text, block=128))) <= {"shared_race", "uninitialised_shared"}
    assert "shared_race" in kinds(run(text, block=128))


def test_a_release_before_the_meeting_tells_only_of_its_own_thread() -> None:
    early = HANDED.replace("@%p1 mbarrier.arrive.shared.b64 _, [full];\n", "")
    early = early.replace("bar.sync 1, 64;\n", "@%p1 mbarrier.arrive.shared.b64 _, [full];\nbar.sync 1, 64;\n")
    assert kinds(run(early, block=128)) == ["shared_race"]


def test_an_mbarrier_needs_a_barrier_after_its_init() -> None:
    (found,) = run(HANDED.replace("bar.sync 0;\n", ""), block=128).findings[:1]
    assert found.kind == "shared_race" and "mbarrier.init" in (found.others[0][1].source or "")
    warp = HANDED.replace("bar.sync 0;\n", "bar.warp.sync -1;\n")
    assert "shared_race" in kinds(run(warp, block=128))


# loops that wait in vain

SPIN = """.shared .align 8 .b64 full;
setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32;
@%p1 mbarrier.init.shared.b64 [full], COUNT;
bar.sync 0;
@%p1 mbarrier.arrive.shared.b64 _, [full];
MIDDLE
w: mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
BACK
END
"""


def spun(count: int = 2, middle: str = "", back: str = "@!%p3 bra w;", end: str = "", limit: int = 2_000_000) -> Launch:
    text = SPIN.replace("COUNT", str(count)).replace("MIDDLE", middle).replace("BACK", back).replace("END", end)
    return run(text, block=64, limit=limit)


@pytest.mark.parametrize(
    ("back", "end"), [("@!%p3 bra w;", ""), ("@%p3 bra out;\nbra w;\nout:", ""), ("@!%p3 bra.uni w;", "bar.sync 0;")]
)
def test_a_phase_that_nobody_ends(back: str, end: str) -> None:
    ran = spun(back=back, end=end)
    (found,) = ran.findings
    assert (ran.status, found.kind, found.count) == ("deadlock", "deadlock", 64)
    assert "it lacks 1 arrival" in found.message and "try_wait" in (found.span.source or "")
    assert spun(1, back=back, end=end).status == "finished"


def test_others_at_a_barrier_wait_in_vain_too() -> None:
    ran = spun(middle="@!%p2 bra meet;", end="meet: bar.sync 0;")
    assert (ran.status, ran.findings[0].count) == ("deadlock", 32)


def test_one_who_still_works_ends_the_phase() -> None:
    """Thread 63 counts for long before it arrives; others wait at a barrier that it completes, or in the loop."""
    late = "setp.eq.u32 %p4, %r1, 63; @!%p4 bra w; mov.u32 %r9, 0;\n"
    late += "c: add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 3000; @%p5 bra c; mbarrier.arrive.shared.b64 _, [full];"
    assert spun(middle=late).status == "finished"


def test_a_loop_that_does_more_is_left_alone() -> None:
    ran = spun(back="add.u32 %r9, %r9, 1; @!%p3 bra w;", limit=200_000)
    assert ran.status == "limit"


def test_the_phase_before_is_over_already() -> None:
    """A wait for the other parity passes at once."""
    text = SPIN.replace("COUNT", "2").replace("MIDDLE", "").replace("BACK", "@!%p3 bra w;").replace("END", "")
    assert run(text.replace("], 0;", "], 1;"), block=64).status == "finished"


# equal stores, halves that nobody uses, tensor memory that is freed

EQUAL = ".shared .align 4 .b8 tile[256]; VALUE st.shared.u32 [tile], %r5; bar.sync 0; ld.shared.u32 %r6, [tile];"
EQUAL += " st.global.u32 [%rd3], %r6;"


def test_equal_stores_of_warps() -> None:
    from .written import kernel

    def found(value: str, *, race: bool, body: str = EQUAL) -> list[str]:
        text = kernel(body.replace("VALUE", value))
        return kinds(launch(text, grid=1, block=64, args=[np.zeros(64, np.uint32)], equal_stores_race=race))

    assert found("mov.u32 %r5, 7;", race=True) == ["shared_race"]
    assert found("mov.u32 %r5, 7;", race=False) == []
    assert found("mov.u32 %r5, %r1;", race=False) == ["shared_race"]
    assert found("mov.u32 %r5, 7;", race=False, body=EQUAL.replace("bar.sync 0;", "")) == ["shared_race"]
    in_global = EQUAL.replace("st.shared.u32 [tile], %r5;", "st.global.u32 [%rd1], %r5; st.shared.u32 [tile], 0;")
    assert found("mov.u32 %r5, 7;", race=False, body=in_global) == ["global_race"]


@pytest.mark.parametrize(
    ("take", "count"),
    [
        ("mov.b64 {%r6, _}, %rd5;", 0),
        ("mov.b64 {_, %r6}, %rd5;", 1),
        ("mov.b64 {%r6, _}, %rd5; mov.b64 %rd6, %rd5;", 1),
        ("mov.b64 {%r6, _}, %rd5; st.global.u64 [%rd1], %rd5;", 1),
    ],
)
def test_halves_that_nobody_takes_out_may_hold_nothing(take: str, count: int) -> None:
    """LLVM writes this where it needs one half alone."""
    ran = run(f"mov.u32 %r5, 3; mov.b64 %rd5, {{%r5, %r9}}; {take} mov.u32 %r6, %r5; st.global.u32 [%rd3], %r6;", block=32)
    assert kinds(ran).count("uninitialised_register") == count


def test_tensor_memory_that_is_freed_while_others_use_it() -> None:
    load = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3], {%r1}; tcgen05.wait::st.sync.aligned;\n"
    free = "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, COLUMNS;\n"
    assert not in_tensor_memory(load).findings
    (found,) = in_tensor_memory(load, free=free).findings
    assert found.kind == "shared_race" and "may still use" in found.message and "tcgen05.st" in (found.others[0][1].source or "")


CLUSTER = """.shared .align 8 .b64 full; .shared .align 4 .b8 tile[128];
setp.eq.u32 %p1, %r1, 0; mov.u32 %r5, %cluster_ctarank; xor.b32 %r6, %r5, 1;
@%p1 mbarrier.init.shared.b64 [full], 32;
@%p1 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.relaxed.aligned;
barrier.cluster.wait.aligned;
mov.u32 %r7, full; mapa.shared::cluster.u32 %r8, %r7, %r6;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [full], 0;
@!%p3 bra w;
st.global.u32 [%rd3], %r5;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
"""


@pytest.mark.parametrize("change", ["", "@%p1 fence.mbarrier_init.release.cluster;\n"])
def test_an_mbarrier_of_another_block_needs_a_fence_after_its_init(change: str) -> None:
    from .written import kernel

    text = kernel(CLUSTER.replace(change, "") if change else CLUSTER)
    ran = launch(text, grid=2, block=32, args=[np.zeros(64, np.uint32)], cluster=2)
    assert ran.status == "finished" and set(kinds(ran)) == ({"shared_race"} if change else set())
