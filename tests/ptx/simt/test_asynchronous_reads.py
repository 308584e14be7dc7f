"""Mistakes with what asynchronous copies and products read and write until their wait, each beside its clean twin."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ptx import Launch, launch
from warploom.ptx.simt.descriptors import Descriptor

from . import test_tcgen05 as blackwell
from .test_wgmma import BYTES, FILL, WAIT, word
from .written import HEADER

TILE = word(Descriptor(0, 16, 1024, 3), 1)
OTHER = word(Descriptor(8192, 16, 1024, 3), 1)
COMMIT, COVERED = "wgmma.commit_group.sync.aligned;\n", "wgmma.wait_group.sync.aligned 0;\n"
FENCE = "wgmma.fence.sync.aligned;\n"
STORED = "".join(f"st.global.b32 [%rd4+{4 * i}], %d{i};\n" for i in range(4))
OVERWRITE = "mad.lo.u32 %r5, %r1, 4, tile; st.shared.u32 [%r5], %r1;\n"


def product(a: str = f"{TILE:#x}", b: int = OTHER, d: str = "%d") -> str:
    turned = ", 0, 0" if not a.startswith("{") else ", 0"
    names = ", ".join(f"{d}{i}" for i in range(4))
    return f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{names}}}, {a}, {b:#x}, 1, 1, 1{turned};\n"


def text_of(body: str) -> str:
    start = "mul.wide.u32 %rd4, %r1, 16; add.u64 %rd4, %rd2, %rd4;\n"
    zeros = "".join(f"mov.b32 %d{i}, 0; mov.b32 %e{i}, 0;\n" for i in range(4))
    registers = ".reg .b32 %r<10>, %a<4>; .reg .f32 %d<4>, %e<4>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n"
    fill = FILL.replace(FENCE.strip(), "")
    return f"{HEADER}.visible .entry k(.param .u64 image, .param .u64 out) {{\n{registers}{fill}{start}{zeros}{body}ret;\n}}\n"


def ran(body: str) -> Launch:
    image = np.ones(BYTES // 2, np.float16).view(np.uint8)
    done = launch(text_of(body), grid=1, block=128, args=[image, np.zeros((128, 4), np.float32)])
    assert done.status == "finished"
    return done


def told(done: Launch) -> list[tuple[str, str]]:
    """Kind and instruction of each finding."""
    assert all(f.span.source is not None for f in done.findings)
    return [(f.kind, (f.span.source or "").split()[0]) for f in done.findings]


# accumulators and fragments of A


@pytest.mark.parametrize("wait", [COMMIT, COVERED, f"{COMMIT}wgmma.wait_group.sync.aligned 1;\n"])
def test_an_accumulator_that_is_stored_before_its_wait(wait: str) -> None:
    done = ran(FENCE + product() + wait + STORED)
    assert set(told(done)) == {("early_copy_read", "st.global.b32")}
    found = done.findings[0]
    assert "reads %d0, an accumulator of a product, before a wgmma.wait_group" in found.message
    assert found.others[0][1].source is not None and found.others[0][1].source.startswith("wgmma.mma_async")


def test_an_accumulator_after_its_wait() -> None:
    done = ran(FENCE + product() + WAIT + STORED)
    assert not done.findings and (done.arrays[1] == 16).all()


def test_a_wait_that_leaves_one_group_covers_the_one_before() -> None:
    two = FENCE + product() + COMMIT + product(d="%e") + COMMIT + "wgmma.wait_group.sync.aligned 1;\n"
    assert not ran(two + STORED).findings
    assert told(ran(two + STORED.replace("%d0", "%e0"))) == [("early_copy_read", "st.global.b32")]


def test_copies_that_compilers_make_of_accumulators_are_no_use() -> None:
    moved = "".join(f"mov.f32 %e{i}, %d{i};\n" for i in range(4))
    chain = FENCE + product() + moved + product(d="%e") + moved.replace("%e", "%x").replace("%d", "%e").replace("%x", "%d")
    assert not ran(chain + WAIT + STORED).findings
    assert set(told(ran(chain + COMMIT + STORED))) == {("early_copy_read", "st.global.b32")}


@pytest.mark.parametrize("change", ["mov.b32 %d0, 0;\n", "add.f32 %d0, %e0, %e1;\n"])
def test_an_accumulator_that_is_set_before_its_wait(change: str) -> None:
    assert told(ran(FENCE + product() + COMMIT + change + COVERED)) == [("register_race", change.split()[0])]
    assert not ran(FENCE + product() + WAIT + change).findings


LOADED = "mad.lo.u32 %r5, %r1, 16, tile; ld.shared.v4.u32 {%a0, %a1, %a2, %a3}, [%r5];\n"


def test_a_fragment_of_a_that_is_changed_before_the_wait() -> None:
    first = LOADED + FENCE + product("{%a0, %a1, %a2, %a3}")
    assert told(ran(first + COMMIT + "add.u32 %a2, %a2, 1;\n" + COVERED)) == [("register_race", "add.u32")]
    assert "a fragment of A" in ran(first + COMMIT + "add.u32 %a2, %a2, 1;\n" + COVERED).findings[0].message
    assert not ran(first + COMMIT + "add.u32 %r6, %a2, 1;\n" + COVERED + "add.u32 %a2, %a2, 1;\n").findings


def test_lanes_whose_guard_is_false_use_nothing() -> None:
    body = FENCE + product() + COMMIT + "setp.gt.u32 %p2, %r1, 999; @%p2 st.global.b32 [%rd4], %d0;\n" + COVERED
    assert not ran(body).findings
    assert len(ran(body.replace("999", "99")).findings) == 1


# wgmma.fence


def test_the_first_product_needs_a_fence() -> None:
    (found,) = ran(product() + WAIT + STORED).findings
    assert found.kind == "register_race" and "is the first of its warp, without a wgmma.fence" in found.message


@pytest.mark.parametrize(
    ("change", "a"), [("add.f32 %d1, %d1, %d2;\n", f"{TILE:#x}"), ("add.u32 %a1, %a1, 1;\n", "{%a0, %a1, %a2, %a3}")]
)
def test_registers_that_are_changed_need_a_fence_before_the_next_product(change: str, a: str) -> None:
    start = LOADED + FENCE + product(a) + WAIT + change
    (found,) = ran(start + product(a) + WAIT + STORED).findings
    assert found.kind == "register_race" and "has changed without a wgmma.fence between" in found.message
    assert (found.others[0][1].source or "").startswith("add")
    assert not ran(start + FENCE + product(a) + WAIT + STORED).findings
    assert not ran(LOADED + FENCE + product(a) + product(a) + WAIT + STORED).findings


# shared memory under products


def test_shared_memory_that_is_stored_to_before_the_wait() -> None:
    early = FENCE + product() + COMMIT + "bar.sync 0;\n" + OVERWRITE + COVERED
    (found,) = ran(early).findings
    assert (found.kind, (found.span.source or "").rpartition("; ")[2]) == ("shared_race", "st.shared.u32 [%r5], %r1;")
    assert "which is still being read by wgmma.mma_async" in found.message and "wgmma" in (found.others[0][1].source or "")
    assert not ran(FENCE + product() + WAIT + "bar.sync 0;\n" + OVERWRITE).findings


def test_a_wait_that_covers_only_the_group_before() -> None:
    two = (
        FENCE
        + product(b=TILE)
        + COMMIT
        + product(f"{OTHER:#x}", OTHER)
        + COMMIT
        + "wgmma.wait_group.sync.aligned 1;\nbar.sync 0;\n"
    )
    assert not ran(two + OVERWRITE + COVERED).findings
    late = OVERWRITE.replace("[%r5]", "[%r5+8192]")
    assert told(ran(two + late + COVERED)) == [("shared_race", "mad.lo.u32")]


LOAD = """.shared .align 8 .b64 bar;
setp.eq.u32 %p3, %r1, 0;
@%p3 mbarrier.init.shared.b64 [bar], 1;
@%p3 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
bar.sync 0;
@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+1024], [%rd1], 256, [bar];
w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;
"""


def test_a_bulk_load_over_a_matrix_that_is_being_multiplied() -> None:
    (found,) = ran(FENCE + product() + COMMIT + LOAD + COVERED).findings
    assert found.kind == "shared_race" and "which is still being read by wgmma.mma_async" in found.message
    assert "cp.async.bulk" in (found.span.source or "") and found.byte == 1024
    assert not ran(FENCE + product() + WAIT + LOAD).findings


def test_one_thread_of_a_warpgroup_tells_that_its_products_have_read() -> None:
    """Thread 0 arrives, and thread 32 loads over what the warp of thread 64 has read."""
    head = ".shared .align 8 .b64 done, bar; setp.eq.u32 %p2, %r1, 0; setp.eq.u32 %p3, %r1, 32;\n"
    head += "@%p2 mbarrier.init.shared.b64 [done], 1;\n@%p2 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n"
    tells = "@%p2 mbarrier.arrive.shared.b64 _, [done];\n@!%p3 bra e2;\n"
    waits = "w: mbarrier.try_wait.parity.shared.b64 %p2, [done], 0; @!%p2 bra w;\n"
    loads = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\ncp.async.bulk.shared::cluster.global"
    loads += ".mbarrier::complete_tx::bytes [tile+4096], [%rd1], 256, [bar];\ne2:\n"
    products = FENCE + product() + WAIT
    assert not ran(head + products + tells + waits + loads).findings
    assert told(ran(head + products + tells + loads)) == [("shared_race", "cp.async.bulk.shared::cluster.global" + TAIL)]
    early = ran(head + FENCE + product() + COMMIT + tells.partition("@!")[0] + COVERED + "@!%p3 bra e2;\n" + waits + loads)
    assert told(early) == [("shared_race", "cp.async.bulk.shared::cluster.global" + TAIL)]


TAIL = ".mbarrier::complete_tx::bytes"


def test_stores_need_a_proxy_fence_before_a_product() -> None:
    plain = OVERWRITE + "bar.sync 0;\n" + FENCE + product() + WAIT
    (found,) = ran(plain).findings
    assert found.kind == "shared_race" and "which a thread has written without a fence.proxy.async between" in found.message
    assert "st.shared" in (found.others[0][1].source or "")
    fence = "fence.proxy.async.shared::cta;\n"
    assert not ran(OVERWRITE + fence + plain.removeprefix(OVERWRITE)).findings
    assert not ran(plain.replace("bar.sync 0;\n", "bar.sync 0;\n" + fence)).findings  # after the barrier, in every thread
    assert len(ran(fence + plain).findings) == 1
    assert len(ran(OVERWRITE + "fence.proxy.async.global;\n" + plain.removeprefix(OVERWRITE)).findings) == 1


COPIED = "mad.lo.u32 %r5, %r1, 4, tile; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd1, %rd5;\n"
COPIED += "cp.async.ca.shared.global [%r5], [%rd5], 4;\n"
ARRIVED = "cp.async.wait_all;\n"


def test_copies_need_a_proxy_fence_after_their_wait_before_a_product() -> None:
    fence, rest = "fence.proxy.async.shared::cta;\n", "bar.sync 0;\n" + FENCE + product() + WAIT
    for early in ("", fence):
        (found,) = ran(COPIED + early + ARRIVED + rest).findings
        assert found.kind == "shared_race" and "which a thread has written without a fence.proxy.async between" in found.message
        assert "cp.async.ca" in (found.others[0][1].source or "")
    assert not ran(COPIED + ARRIVED + fence + rest).findings
    assert not ran(COPIED + ARRIVED + rest.replace("bar.sync 0;\n", "bar.sync 0;\n" + fence)).findings


# bulk copies out of shared memory

BULK = """{head}.visible .entry k(.param .u64 out)
{{
.reg .pred %p, %more; .reg .b32 %t, %k, %place, %x; .reg .b64 %out;
.shared .align 16 .b8 tile[256];
ld.param.u64 %out, [out];
mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0; mov.u32 %k, 0;
mad.lo.u32 %place, %t, 4, tile;
loop:
mad.lo.u32 %x, %k, 64, %t;
st.shared.u32 [%place], %x;
fence.proxy.async.shared::cta;
bar.sync 0;
@%p cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 256;
@%p cp.async.bulk.commit_group;
bar.sync 0;
@%p cp.async.bulk.wait_group.read 0;
bar.sync 0;
add.u64 %out, %out, 256;
add.u32 %k, %k, 1; setp.lt.u32 %more, %k, 3; @%more bra loop;
ret;
}}
"""


def stored(*changes: tuple[str, str]) -> Launch:
    text = BULK.format(head=HEADER)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    done = launch(text, grid=2, block=64, args=[np.zeros(192, np.uint32)])
    assert done.status == "finished"
    return done


def of_shared(done: Launch) -> list[tuple[str, str]]:
    """Both blocks write the same, which races; what concerns shared memory is looked at."""
    return [one for one in told(done) if one[0] != "global_race"]


def test_a_tile_that_is_stored_after_the_wait() -> None:
    done = stored()
    assert of_shared(done) == [] and (done.arrays[0] == np.arange(192)).all()


@pytest.mark.parametrize(
    "change",
    [
        ("@%p cp.async.bulk.wait_group.read 0;", ""),
        ("@%p cp.async.bulk.wait_group.read 0;", "@%p cp.async.bulk.wait_group.read 1;"),
        ("@%p cp.async.bulk.commit_group;", ""),
        ("@%p cp.async.bulk.wait_group.read 0;", "@!%p cp.async.bulk.wait_group.read 0;"),
        ("wait_group.read 0;\nbar.sync 0;", "wait_group.read 0;"),
    ],
)
def test_a_tile_that_is_overwritten_before_the_copy_has_read_it(change: tuple[str, str]) -> None:
    assert of_shared(stored(change)) == [("shared_race", "st.shared.u32")]


@pytest.mark.parametrize(
    "change",
    [
        ("fence.proxy.async.shared::cta;\n", ""),
        ("fence.proxy.async.shared::cta;\n", "@%p fence.proxy.async.shared::cta;\n"),
        ("fence.proxy.async.shared::cta;\n", "fence.acq_rel.cta;\n"),
    ],
)
def test_a_copy_of_what_threads_stored_without_a_proxy_fence(change: tuple[str, str]) -> None:
    assert of_shared(stored(change)) == [("shared_race", "@%p")]


def test_a_proxy_fence_of_all_proxies() -> None:
    assert of_shared(stored(("fence.proxy.async.shared::cta;", "fence.proxy.async;"))) == []
    after = ("bar.sync 0;\n@%p cp.async.bulk.global", "bar.sync 0;\n@%p fence.proxy.async;\n@%p cp.async.bulk.global")
    assert of_shared(stored(("fence.proxy.async.shared::cta;\n", ""), after)) == []


def test_a_copy_into_another_block_reads_until_its_mbarrier_tells() -> None:
    """From shared memory of the block to that of a block of the cluster: here the block itself."""
    copy = "@%p cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 256;\n@%p cp.async.bulk.commit_group;\n"
    sent = "@%p mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;\n@%p cp.async.bulk.shared::cluster.shared::cta"
    sent += ".mbarrier::complete_tx::bytes [there], [tile], 256, [full];\n"
    start = "mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0; mov.u32 %k, 0;\n"
    made = ".reg .pred %there; .shared .align 16 .b8 there[256]; .shared .align 8 .b64 full;\n"
    made += start + "@%p mbarrier.init.shared.b64 [full], 1;\nbar.sync 0;\n"
    wait = "w: mbarrier.try_wait.parity.shared.b64 %there, [full], %k; @!%there bra w;\n"
    end = "@%p cp.async.bulk.wait_group.read 0;\n"
    once = ("setp.lt.u32 %more, %k, 3;", "setp.lt.u32 %more, %k, 2;")
    assert of_shared(stored((copy, sent), (start, made), (end, wait), once)) == []
    assert of_shared(stored((copy, sent), (start, made), (end, ""), once)) != []


# tcgen05


def test_shared_memory_under_products_in_tensor_memory() -> None:
    changed = "bar.sync 0; mov.u32 %r9, tile; st.shared.u32 [%r9+1024], %r1;\n"
    for wait, kinds in ((changed + blackwell.WAIT, {"shared_race"}), (blackwell.WAIT, set[str]())):
        done, _, _ = blackwell.multiplied(128, 16, "kind::f16", ("f16", "f16"), blackwell.CODE, wait=wait)
        assert {f.kind for f in done.findings} == kinds


def test_a_later_commit_covers_what_an_earlier_one_told_of() -> None:
    """Two commits after one product: a wait for either has it."""
    both = "@%p2 mbarrier.init.shared.b64 [where], 1;\n".replace("where", "bar2")
    first = "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar2];\n"
    head = ".shared .align 8 .b64 bar2;\n" + both
    done, _, _ = blackwell.multiplied(
        128, 16, "kind::f16", ("f16", "f16"), blackwell.CODE, body=head, wait=first + blackwell.WAIT
    )
    assert not done.findings
