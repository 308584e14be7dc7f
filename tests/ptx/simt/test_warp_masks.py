"""Mistakes about who takes part: masks that leave out a lane, counts of a barrier that differ, copies that are still going on."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ptx import Launch, launch

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def run(body: str, block: int = 32, words: int = 64) -> Launch:
    text = f"""{HEAD}.visible .entry k(.param .u64 out) {{
.reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>;
.shared .align 16 .b8 s[256];
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
{body}
ret; }}"""
    return launch(text, grid=1, block=block, args=[np.zeros(words, np.uint32)])


@pytest.mark.parametrize(
    "instruction",
    [
        "shfl.sync.idx.b32 %r2, %r1, 0, 31, MASK;", "vote.sync.ballot.b32 %r2, %p1, MASK;", "bar.warp.sync MASK;",
        "redux.sync.add.s32 %r2, %r1, MASK;", "match.any.sync.b32 %r2, %r1, MASK;",
    ],
)  # fmt: skip
@pytest.mark.parametrize(("mask", "guard", "count"), [("255", "", 24), ("-1", "", 0), ("255", "@%p1 ", 0), ("15", "@%p1 ", 4)])
def test_a_lane_that_its_own_mask_leaves_out(instruction: str, mask: str, guard: str, count: int) -> None:
    found = run(f"setp.lt.u32 %p1, %r1, 8; mov.u32 %r2, 0;\n{guard}{instruction.replace('MASK', mask)}").findings
    assert [(one.kind, one.count, one.thread) for one in found] == (
        [("shuffle_inactive", count, (32 - 24 if not guard else 4, 0, 0))] * (count > 0)
    )


@pytest.mark.parametrize(
    ("arrived", "waited", "kinds"),
    [
        ("64", "64", []),
        ("96", "64", ["barrier_divergence"]),
        ("64", "32", ["barrier_divergence"]),
        ("32", "64", ["barrier_divergence"]),
    ],
)
def test_threads_give_a_barrier_one_count(arrived: str, waited: str, kinds: list[str]) -> None:
    body = f"setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1, {waited}; bra E; A: bar.arrive 1, {arrived}; E:"
    found = run(body, block=64).findings
    assert sorted({one.kind for one in found}) == kinds


def test_a_barrier_without_a_count_takes_that_of_the_block() -> None:
    body = "setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1; bra E; A: bar.arrive 1, COUNT; E:"
    assert not run(body.replace("COUNT", "64"), block=64).findings
    found, *_ = run(body.replace("COUNT", "32"), block=64).findings
    assert found.kind == "barrier_divergence" and "32 threads here and for 64" in found.message and len(found.others) == 1


COPY = "mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.s32 %r5, %r3, %r4; cp.async.ca.shared.global [%r5], [%rd3], 4;"


def test_a_read_of_a_copy_that_is_going_on_names_the_copy() -> None:
    found = run(f"{COPY}\ncp.async.commit_group;\nld.shared.u32 %r6, [%r5];").findings
    assert [one.kind for one in found] == ["early_copy_read"]
    ((what, span),) = found[0].others
    assert what == "the copy" and span.line == found[0].span.line - 2


@pytest.mark.parametrize(("wait", "is_early"), [("cp.async.wait_all;", False), ("", True)])
def test_reads_of_parts_of_a_word_do_not_lose_copies(wait: str, is_early: bool) -> None:
    """A narrower access makes the marks of shared memory finer while the copy is in flight."""
    narrow = "cvt.u16.u32 %h1, %r1; add.s32 %r6, %r5, 128; st.shared.u16 [%r6], %h1;"
    found = run(f"{COPY}\n{narrow}\n{wait}\nld.shared.u32 %r7, [%r5];").findings
    assert [one.kind for one in found] == ["early_copy_read"] * is_early
