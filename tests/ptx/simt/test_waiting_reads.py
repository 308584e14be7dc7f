"""Marks of reads of shared memory wait until something may ask for them: the findings are those of marks made at once."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ptx import Launch, launch
from warploom.ptx.simt import marks
from warploom.ptx.simt.marks import Read, WaitingReads
from warploom.ptx.simt.order_of_threads import Clock

_HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
.reg .pred %p<9>; .reg .b32 %r<20>;
.shared .align 16 .b8 s[2048];
mov.u32 %r0, %tid.x;
mov.u32 %r15, %ctaid.x;
shl.b32 %r1, %r0, 2;
mov.u32 %r2, s;
add.u32 %r1, %r1, %r2;
setp.eq.u32 %p1, %r0, 0;
setp.eq.u32 %p2, %r0, 40;
setp.eq.u32 %p3, %r15, 0;
setp.eq.u32 %p4, %r0, 63;
st.shared.u32 [%r1], %r0;
bar.sync 0;
"""
"""%r1: the thread's word; %p1: thread 0; %p2: thread 40, of the other warp, as %p4: thread 63; %p3: block 0."""
READ = "ld.shared.u32 %r3, [s]; "
WRITE = "@%p2 st.shared.u32 [s], 7; "


def run(body: str, blocks: int = 2, threads: int = 64) -> Launch:
    return launch(f"{_HEAD}{body}\nret;\n}}\n", grid=blocks, block=threads, args=[])


def races(body: str) -> list[tuple[str, int]]:
    return [(found.kind, found.block[0]) for found in run(body).findings if found.block is not None]


@pytest.mark.parametrize(
    "body",
    [
        READ + WRITE,
        "@%p1 ld.shared.u32 %r3, [s]; bar.warp.sync -1; " + WRITE,
        "@%p1 ld.shared.u32 %r3, [s]; membar.cta; " + WRITE,
        "@%p1 ld.shared.u32 %r3, [s]; ld.volatile.shared.u32 %r4, [%r1]; " + WRITE,
        "@%p1 ld.shared.u32 %r3, [s]; @%p2 st.shared.u8 [s+1], 7;",
        "@%p1 ld.shared.u32 %r3, [s]; " + "ld.shared.u32 %r4, [%r1]; " * marks.MOST_WAITING + WRITE,
        "@%p1 ld.shared.u32 %r3, [s]; @%p2 atom.shared.add.u32 %r4, [s], 1;",
        READ + "@%p4 st.shared.u32 [s], 7;",
        "@%p1 ld.shared.u32 %r3, [s]; @%p2 ld.shared.u32 %r3, [s]; " + WRITE,
    ],
    ids=[
        "store",
        "warps meet",
        "fence",
        "strong read",
        "byte",
        "many reads",
        "atomic",
        "a reader of several",
        "the second reader",
    ],
)
def test_a_store_after_a_read_is_a_race(body: str) -> None:
    assert races(body) == [("shared_race", 0)] or races(body) == [("shared_race", 0), ("shared_race", 0)]


@pytest.mark.parametrize("between", ["bar.sync 0; ", "bar.sync 0; ld.shared.u32 %r5, [%r1]; bar.sync 0; "])
def test_a_barrier_lies_between(between: str) -> None:
    assert races(READ + between + WRITE) == []


def test_a_barrier_of_some_blocks_forgets_nothing_of_the_others() -> None:
    turns = "mov.u32 %r9, 0; M: add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 600; @%p5 bra M; "
    body = f"{READ}@!%p3 bra L; bar.sync 0; L: {turns}{WRITE}"
    assert races(body) == [("shared_race", 1)]


def test_findings_are_those_of_marks_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(8)
    steps = [
        READ, WRITE, "ld.shared.u32 %r3, [%r1]; ", "@%p1 ld.shared.u32 %r3, [s+128]; ", "st.shared.u32 [%r1], %r0; ",
        "bar.sync 0; ",
        "bar.warp.sync -1; ", "membar.cta; ", "ld.volatile.shared.u32 %r4, [s+4]; ", "ld.shared.u32 %r4, [s+4]; ",
        "@%p1 st.shared.u8 [s+130], 1; ",
        "@!%p3 bra L#; bar.sync 0; L#: ", "@%p1 st.volatile.shared.u32 [s+4], 1; ", "ld.shared.v2.u32 {%r5, %r6}, [s+32]; ",
        "@%p2 st.shared.u32 [s+36], 1; ",
    ]  # fmt: skip
    bodies = [
        "".join(str(steps[i]).replace("#", f"{n}") for n, i in enumerate(random.integers(len(steps), size=9))) for _ in range(90)
    ]
    waiting = [run(body).findings for body in bodies]

    def at_once(self: WaitingReads, read: Read, clock: Clock) -> None:
        read.mark(self.region, clock, in_block=False)

    monkeypatch.setattr(WaitingReads, "add", at_once)
    monkeypatch.setattr(Clock, "has_barriers_alone", property(lambda self: False))
    monkeypatch.setattr(marks, "are_own", lambda old, me: False)
    monkeypatch.setattr("warploom.ptx.simt.races.are_own", lambda old, me: False)
    assert [run(body).findings for body in bodies] == waiting
    assert sum(map(bool, waiting)) > 20 and not all(waiting)
