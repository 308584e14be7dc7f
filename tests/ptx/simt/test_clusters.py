"""Clusters: shared memory of other blocks, the two halves of their barrier, mbarriers there, and what is found or refused."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.core import UnsupportedError, UserError
from warploom.ptx import Launch, launch

from .written import kernel

SHARED = ".shared .align 128 .b8 tile[512]; .shared .align 8 .b64 bar;\n"
BARRIER = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
NEXT = "mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank; add.u32 %r7, %r5, 1; rem.u32 %r7, %r7, %r6;\n"
"""%r7: the rank of the next block of the cluster."""
FILL = "mov.u32 %r8, tile; mad.lo.u32 %r8, %r1, 4, %r8; st.shared.u32 [%r8], %r4;\n"
"""Each word of the tile gets the number of its thread in the grid."""
FETCH = "mapa.shared::cluster.u32 %r9, %r8, %r7; ld.shared::cluster.u32 %r10, [%r9]; st.global.u32 [%rd3], %r10;\n"


def run(body: str, *, grid: int = 4, block: int = 32, cluster: int | tuple[int, ...] = 2, **more: int) -> Launch:
    return launch(
        kernel(SHARED + body), grid=grid, block=block, args=[np.zeros(grid * block, np.uint32)], cluster=cluster, **more
    )


def found(ran: Launch) -> list[tuple[str, str]]:
    return [(one.kind, one.message) for one in ran.findings]


def test_a_block_reads_the_next_ones_memory() -> None:
    ran = run(NEXT + FILL + BARRIER + FETCH + BARRIER, grid=6, cluster=3)
    assert (ran.status, ran.findings) == ("finished", ())
    numbers = np.arange(192).reshape(2, 3, 32)
    assert (ran.arrays[0].reshape(2, 3, 32) == np.roll(numbers, -1, axis=1)).all()


def test_generic_addresses_and_ranks() -> None:
    generic = (
        "cvt.u64.u32 %rd4, %r8; cvta.shared.u64 %rd4, %rd4; mapa.u64 %rd5, %rd4, %r7; ld.u32 %r10, [%rd5];\n"
        "getctarank.u64 %r11, %rd5; getctarank.u64 %r12, %rd4; shl.b32 %r11, %r11, 8; shl.b32 %r12, %r12, 16;\n"
        "isspacep.shared::cluster %p1, %rd5; isspacep.shared::cta %p2, %rd5; isspacep.global %p3, %rd5;\n"
        "selp.u32 %r13, 1, 0, %p1; selp.u32 %r14, 2, 0, %p2; selp.u32 %r15, 4, 0, %p3; or.b32 %r13, %r13, %r14;\n"
        "or.b32 %r13, %r13, %r15; shl.b32 %r13, %r13, 24; or.b32 %r10, %r10, %r11; or.b32 %r10, %r10, %r12;\n"
        "or.b32 %r10, %r10, %r13; st.global.u32 [%rd3], %r10;\n"
    )
    ran = run(NEXT + FILL + BARRIER + generic + BARRIER)
    assert (ran.status, ran.findings) == ("finished", ())
    numbers = np.arange(128).reshape(2, 2, 32)[:, ::-1]
    ranks = np.arange(2)[:, None]
    assert (ran.arrays[0].reshape(2, 2, 32) == numbers | (1 - ranks) << 8 | ranks << 16 | 1 << 24).all()


def test_special_registers_of_a_box_of_blocks() -> None:
    names = [
        f"%{name}.{axis}" for name in ("ctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"
    ]
    names += ["%cluster_ctarank", "%cluster_nctarank"]
    count = len(names)
    body = "mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ctaid.y; mov.u32 %r7, %ctaid.z; mad.lo.u32 %r6, %r7, 4, %r6;\n"
    body += f"mad.lo.u32 %r5, %r6, 2, %r5; mul.wide.u32 %rd4, %r5, {4 * count}; add.u64 %rd4, %rd1, %rd4;\n"
    body += "".join(f"mov.u32 %r8, {name}; st.global.u32 [%rd4+{4 * n}], %r8;\n" for n, name in enumerate(names))
    body += "mov.pred %p1, %is_explicit_cluster; @!%p1 trap;\n"
    ran = launch(kernel(body), grid=(2, 4, 2), block=1, args=[np.zeros((2, 4, 2, count), np.uint32)], cluster=(1, 2, 2))
    assert (ran.status, ran.findings) == ("finished", ())
    for z, y, x in np.ndindex(2, 4, 2):
        want = [x, y, z, x, y // 2, 0, 2, 2, 1, 0, y % 2, z % 2, 1, 2, 2, y % 2 + 2 * (z % 2), 4]
        assert ran.arrays[0][z, y, x].tolist() == want


@pytest.mark.parametrize("of", ["the first", "the last"])
def test_missing_barriers(of: str) -> None:
    body = NEXT + FILL + (FETCH + BARRIER if of == "the first" else BARRIER + FETCH)
    ((kind, message),) = found(run(body))
    assert kind == "shared_race"
    assert ("races with a write by thread" if of == "the first" else "may have ended before") in message
    assert message.endswith("no barrier of the cluster lies between")


def test_a_barrier_of_the_block_is_none_of_the_cluster() -> None:
    kinds = {kind for kind, _ in found(run(NEXT + FILL + "bar.sync 0;\n" + FETCH + BARRIER))}
    assert kinds == {"shared_race"}


def test_relaxed_arrivals_need_a_fence() -> None:
    relaxed = "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
    assert {kind for kind, _ in found(run(NEXT + FILL + relaxed + FETCH + BARRIER))} == {"shared_race"}
    assert not run(NEXT + FILL + "fence.acq_rel.cluster;\n" + relaxed + FETCH + BARRIER).findings
    assert run(NEXT + FILL + "fence.acq_rel.cta;\n" + relaxed + FETCH + BARRIER).findings


def test_what_comes_between_arrival_and_wait_is_not_ordered() -> None:
    body = NEXT + "barrier.cluster.arrive;\n" + FILL + "barrier.cluster.wait;\n" + FETCH + BARRIER
    assert {kind for kind, _ in found(run(body))} == {"shared_race"}
    late = NEXT + FILL + BARRIER + "barrier.cluster.arrive;\n" + FETCH + "barrier.cluster.wait;\n" + FILL
    assert {kind for kind, _ in found(run(late))} == {"shared_race"}


@pytest.mark.parametrize(("scope", "clean"), [("cluster", True), ("gpu", True), ("cta", False)])
def test_scopes_of_atomics(scope: str, clean: bool) -> None:
    body = f"mov.u32 %r5, tile; mapa.shared::cluster.u32 %r6, %r5, 0;\n{BARRIER}"
    body += f"red.relaxed.{scope}.shared::cluster.add.u32 [%r6], 1;\n{BARRIER}ld.shared.u32 %r7, [%r5];\n"
    body = "mov.u32 %r8, tile; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r8], 0;\n" + body
    ran = run(body + "st.global.u32 [%rd3], %r7;\n")
    assert (not ran.findings) == clean
    if clean:
        assert (ran.arrays[0].reshape(4, 32) == np.array([64, 0, 64, 0])[:, None]).all()


def test_atomics_of_the_clusters_scope_do_not_reach_other_clusters() -> None:
    body = "atom.relaxed.cluster.global.add.u32 %r5, [%rd1], 1;\n"
    assert not run(body, grid=2).findings
    assert {kind for kind, _ in found(run(body, grid=4))} == {"global_race"}
    fenced = "setp.eq.u32 %p1, %r4, 0; @%p1 st.global.u32 [%rd1+4], 7; @%p1 fence.acq_rel.cluster;\n"
    fenced += (
        "@%p1 st.relaxed.cluster.global.u32 [%rd1], 1;\nw: ld.relaxed.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0;\n"
    )
    fenced += "@%p2 bra w; fence.acq_rel.cluster; ld.global.u32 %r6, [%rd1+4];\n"
    assert not [1 for kind, _ in found(run(fenced, grid=2, limit=100_000)) if kind == "global_race"]
    assert [1 for kind, _ in found(run(fenced, grid=4, limit=100_000)) if kind == "global_race"]


INIT = "setp.eq.u32 %p1, %r1, 0; mov.u32 %r8, tile; mov.u32 %r9, bar;\n@%p1 mbarrier.init.shared.b64 [bar], 1;\n" + BARRIER
WAIT = "w: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra w;\n"


def test_stores_that_an_mbarrier_counts() -> None:
    body = NEXT + INIT + (
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
        "mapa.shared::cluster.u32 %r10, %r8, %r7; mapa.shared::cluster.u32 %r11, %r9, %r7; mad.lo.u32 %r10, %r1, 4, %r10;\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r10], %r4, [%r11];\n"
    )  # fmt: skip
    read = "mad.lo.u32 %r12, %r1, 4, %r8; ld.shared.u32 %r13, [%r12]; st.global.u32 [%rd3], %r13;\n"
    ran = run(body + WAIT + read + BARRIER)
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[0].reshape(2, 2, 32) == np.arange(128).reshape(2, 2, 32)[:, ::-1]).all()
    assert {kind for kind, _ in found(run(body + read + BARRIER))} >= {"early_copy_read"}
    added = body.replace("st.async", "red.async.relaxed.cluster").replace("bytes.u32", "bytes.add.u32")
    zeros = "mad.lo.u32 %r12, %r1, 4, tile; st.shared.u32 [%r12], 1;\n"
    ran = run(zeros + added + WAIT + read + BARRIER)
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[0].reshape(2, 2, 32) == 1 + np.arange(128).reshape(2, 2, 32)[:, ::-1]).all()


def test_a_bulk_copy_into_another_block_and_an_arrival_there() -> None:
    body = NEXT + INIT + FILL + (
        "bar.sync 0;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
        "mapa.shared::cluster.u32 %r10, tile, %r7; mapa.shared::cluster.u32 %r11, %r9, %r7; add.u32 %r10, %r10, 128;\n"
        "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], [tile], 128, [%r11];\n"
    )  # fmt: skip
    read = "mad.lo.u32 %r12, %r1, 4, tile; ld.shared.u32 %r13, [%r12+128]; st.global.u32 [%rd3], %r13;\n"
    ran = run(body + WAIT + read + BARRIER)
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[0].reshape(2, 2, 32) == np.arange(128).reshape(2, 2, 32)[:, ::-1]).all()
    arrive = NEXT + INIT + FILL + (
        "mapa.shared::cluster.u32 %r11, %r9, %r7; bar.sync 0;\n"
        "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];\n"
    )  # fmt: skip
    assert not run(arrive + WAIT + FETCH + BARRIER).findings


MULTICAST = INIT + (
    "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\nmov.b16 %h1, MASK; mov.u32 %r5, %cluster_ctarank;\n"
    "setp.eq.u32 %p3, %r4, 0;\n"
    "@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%rd4], 128, [bar], %h1;\n"
)
READ = "mad.lo.u32 %r12, %r1, 4, tile; ld.shared.u32 %r13, [%r12]; st.global.u32 [%rd3], %r13;\n"


def multicast(mask: int, *, cluster: int = 2, body: str = WAIT + READ + BARRIER) -> Launch:
    text = kernel(f"{SHARED}ld.param.u64 %rd4, [p1];\n{MULTICAST.replace('MASK', str(mask))}{body}", parameters=2)
    data = np.arange(100, 132, dtype=np.uint32)
    return launch(text, grid=2, block=32, args=[np.zeros(64, np.uint32), data], cluster=cluster, limit=20_000)


def test_multicast() -> None:
    ran = multicast(3)
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[0].reshape(2, 32) == np.arange(100, 132)).all()
    assert multicast(1).status == "deadlock"
    ((kind, message),) = found(multicast(4))
    assert (kind, message) == ("bad_call", "a copy to the blocks of the mask 0x4 in a cluster of 2")
    assert {kind for kind, _ in found(multicast(3, body=READ + BARRIER))} >= {"early_copy_read"}


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("mapa.shared::cluster.u32 %r9, tile, 2;\n", "bad_call", "the block of rank 2 in a cluster of 2"),
        ("barrier.cluster.arrive;\nbarrier.cluster.arrive;\n", "bad_call", "a second arrival at the barrier of the cluster"),
        ("barrier.cluster.wait;\n", "bad_call", "a wait for the barrier of the cluster without an arrival before"),
        (NEXT + FILL + BARRIER + FETCH.replace("ld.shared::cluster", "ld.shared"), "out_of_bounds",
         "a read of 4 bytes at address"),
        (NEXT + FILL + BARRIER + FETCH.replace("mapa.shared::cluster.u32 %r9, %r8, %r7", "mov.u32 %r9, 0xE2000000"),
         "out_of_bounds", "an access to shared memory of the block of rank 3 in a cluster of 2"),
        (NEXT + FILL + BARRIER + FETCH.replace("[%r9]", "[%r9+600]"), "out_of_bounds", "shared memory of a block of the cluster"),
        (NEXT + "setp.eq.u32 %p1, %r5, 0; @%p1 exit; mov.u32 %r11, 0;\n"
         "w: add.u32 %r11, %r11, 1; setp.lt.u32 %p2, %r11, 300; @%p2 bra w;\n" + FILL + FETCH,
         "out_of_bounds", "which has ended: no barrier of the cluster keeps it"),
        (NEXT + "setp.eq.u32 %p1, %r5, 0; @%p1 bar.sync 1, 64;\nbarrier.cluster.arrive; barrier.cluster.wait;\n",
         "deadlock", "64 threads wait at bar.sync 1"),
    ],
)  # fmt: skip
def test_faults(body: str, kind: str, message: str) -> None:
    ran = run(body, limit=1_000_000)
    assert ran.status == ("deadlock" if kind == "deadlock" else "fault")
    fatal = next(one for one in ran.findings if one.is_fatal)
    assert fatal.kind == kind and message in fatal.message
    if kind == "deadlock":
        assert [text for text, _ in fatal.others] == ["64 threads wait at barrier.cluster.wait"]


@pytest.mark.parametrize(
    ("directives", "grid", "cluster", "expected"),
    [
        ("", 3, 2, "expected a grid of k that clusters of (2, 1, 1) blocks divide, got (3, 1, 1)"),
        ("", 17, 17, "expected a cluster of at most (16, 16, 16) for k, got (17, 1, 1)"),
        ("", (8, 4), (8, 4), "expected at most 16 blocks in a cluster of k, got 32"),
        (".maxclusterrank 4", 8, 8, "expected at most 4 blocks in a cluster of k, got 8"),
        (".reqnctapercluster 2, 1, 1", 4, 4, "expected clusters of (2, 1, 1) blocks (.reqnctapercluster of k), got (4, 1, 1)"),
    ],
)
def test_launches_that_do_not_fit(directives: str, grid: int, cluster: int, expected: str) -> None:
    text = kernel("mov.u32 %r5, 0;").replace(".param .u64 p0) {", f".param .u64 p0) {directives} {{")
    with pytest.raises(UserError) as caught:
        launch(text, grid=grid, block=32, args=[np.zeros(4096, np.uint32)], cluster=cluster)
    assert expected in str(caught.value)


def test_the_kernels_own_cluster() -> None:
    text = kernel("mov.u32 %r5, %cluster_nctarank; st.global.u32 [%rd3], %r5;")
    text = text.replace(".param .u64 p0) {", ".param .u64 p0) .reqnctapercluster 4 {")
    assert set(launch(text, grid=4, block=32, args=[np.zeros(128, np.uint32)]).arrays[0].tolist()) == {4}
    assert set(run("mov.u32 %r5, %cluster_nctarank; st.global.u32 [%rd3], %r5;", cluster=1).arrays[0].tolist()) == {1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [tile], %r1;", "an address, a value and an mbarrier"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [tile], {%r1}, [bar];", "2 sources"),
    ],
)
def test_wrong_operands_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        run(text)


@pytest.mark.parametrize(
    "text",
    [
        "st.async.shared::cluster.b32 [tile], %r1, [bar];",
        "mapa.shared::cta.u32 %r9, tile, 0;",
        "mapa.shared::cluster.b32 %r9, tile, 0;",
        "getctarank.shared::cta.u32 %r9, tile;",
        "barrier.cluster.arrive.acquire;",
        "barrier.cluster.wait.relaxed;",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u16 [tile], %h1, [bar];",
        "red.async.shared::cluster.mbarrier::complete_tx::bytes.cas.u32 [tile], %r1, [bar];",
        "red.async.shared::cluster.mbarrier::complete_tx::bytes.min.f32 [tile], %f1, [bar];",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        run(text)
    assert caught.value.diagnostics[0].span.line > 1
