"""Blocks that hand values to each other: what one block may read, and what it must not do while a flag is open."""

from collections.abc import Mapping

import pytest

from warploom.core import UnsupportedError, i32, u32
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, HandedArgument, Handover, StoodError, Word, run_symbolically
from warploom.terms import Term

HEAD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 c, .param .u64 v, .param .u64 y)
{
    .reg .b16 %h<3>;
    .reg .b32 %r<12>;
    .reg .b64 %d<9>;
    .reg .pred %p<9>;
    ld.param.u64 %d1, [c];
    ld.param.u64 %d2, [v];
    ld.param.u64 %d3, [y];
    mov.u32 %r1, %tid.x;
"""
FLAGS = """
    mov.u32 %r3, 2;
    setp.gt.u32 %p3, %r1, 1;
    @%p3 bra J;
    mul.wide.u32 %d4, %r1, 4;
    add.s64 %d5, %d1, %d4;
    add.s64 %d6, %d2, %d4;
W:  ld.acquire.gpu.global.u32 %r3, [%d5+4];
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra W;
    ld.global.u32 %r4, [%d6];
J:  bar.warp.sync -1;
    setp.eq.u32 %p4, %r3, 2;
    vote.sync.ballot.b32 %r5, %p4, -1;
    brev.b32 %r6, %r5;
    bfind.shiftamt.u32 %r7, %r6;
    setp.gt.u32 %p5, %r1, %r7;
    @!%p5 bra K;
    mov.u32 %r4, 7;
K:  shfl.sync.idx.b32 %r8, %r4, 0, 31, -1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra E;
    st.global.u32 [%d2+8], %r8;
    membar.gl;
    st.release.gpu.global.u32 [%d1+12], 2;
E:  ret;
}
"""
"""Lanes 0 and 1 wait for a flag each; the nearest one that gives 2 is handed on."""
TICKET = """
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra A;
    st.global.u32 [%d2+8], 5;
    membar.gl;
    atom.global.add.u32 %r2, [%d1], 1;
    membar.gl;
A:  bar.sync 0;
    ld.global.u32 %r4, [%d2+4];
    st.global.u32 [%d3], %r4;
    ret;
}
"""
FIRST, SECOND = frozenset({("v", 0)}), frozenset({("v", 1)})
OPEN = (Word(1, SECOND), Word(2, SECOND))
KNOWN = {4: (Word(2, FIRST),), 8: OPEN}


def run(
    body: str, flags: Mapping[int, tuple[Word, ...]] | None = None, *, last: bool = False, threads: int = 32
) -> tuple[Handover, object]:
    handover = Handover("c", 2, KNOWN if flags is None else flags, at_ticket=SECOND, last=last)
    out = ArrayArgument("y", i32, (1,), "undefined")
    arguments = (ArrayArgument("c", u32, (4,), "zeros"), HandedArgument("v", ((0, i32),), 4, 3), out)
    found = run_symbolically(
        lower(parse(HEAD + body, "k.ptx")), "k", arguments, (3, 1, 1), (threads, 1, 1), handover=handover, only_block=(0, 0, 0)
    )
    return handover, found.arrays["v"].cells[8].value if 8 in found.arrays["v"].cells else None


@pytest.mark.parametrize(
    "count", ["bfind.shiftamt.u32 %r7, %r6;", "clz.b32 %r7, %r6;", "bfind.u32 %r7, %r6; sub.u32 %r7, 31, %r7;"]
)
def test_the_nearest_flag_decides_whatever_those_further_back_give(count: str) -> None:
    text = FLAGS.replace("bfind.shiftamt.u32 %r7, %r6;", count)
    found, value = run(text)
    assert isinstance(value, Term) and str(value) == "v[0, 0]"
    assert found.published == {12: [Word(2, frozenset({("v", 2)}))]} and found.stored == {("v", 2)}
    other = Handover("c", 2, KNOWN, last=True)
    assert not other.checkpoints
    with pytest.raises(StoodError):
        run(text, last=True)


def checkpoints(body: str, last: bool) -> object:
    handover = Handover("c", 2, KNOWN, last=last)
    out = ArrayArgument("y", i32, (1,), "undefined")
    arguments = (ArrayArgument("c", u32, (4,), "zeros"), HandedArgument("v", ((0, i32),), 4, 3), out)
    program = lower(parse(HEAD + body, "k.ptx"))
    try:
        run_symbolically(program, "k", arguments, (3, 1, 1), (32, 1, 1), handover=handover, only_block=(0, 0, 0))
    except StoodError:
        assert last
    return handover.checkpoints


def test_a_lane_with_an_open_flag_shows_what_it_takes_along() -> None:
    assert checkpoints(FLAGS, False) == checkpoints(FLAGS, True) != {}
    kept = FLAGS.replace("mov.u32 %r4, 7;", "mov.u32 %r4, %r3;")
    assert checkpoints(kept, False) != checkpoints(kept, True)


def test_a_ticket_hands_over_between_two_fences() -> None:
    found, value = run(TICKET)
    assert found.has_ticket and found.released == {("v", 2)} and value == 5
    assert run(TICKET.replace("membar.gl;\n    atom", "atom"))[0].released == frozenset()
    assert run(TICKET.replace("membar.gl;\n    atom", "membar.cta;\n    atom"))[0].released == frozenset()


AGAIN = "X: ld.acquire.gpu.global.u32 %r9, [%d5+8]; setp.eq.u32 %p2, %r9, 0; @%p2 bra X; ld.global.u32 %r4, [%d6];"
OTHER = "setp.ne.u32 %p6, %r1, 1; @%p6 bra F; st.release.gpu.global.u32 [%d1+12], 3; F: ret;"
PARTS = "setp.gt.u32 %p6, %r1, 1; selp.b32 %r9, 0xfffffffc, 3, %p6; vote.sync.ballot.b32 %r5, %p4, %r9;"
RELEASE = "st.release.gpu.global.u32 [%d1+12], 2;"
REFUSED = {
    "a second acquire while one is open": ("ld.global.u32 %r4, [%d6];", AGAIN, "one acquire before the lanes"),
    "a wait that counts": ("setp.eq.u32 %p2, %r3, 0;", "setp.eq.u32 %p2, %r3, 0; add.s64 %d6, %d6, 4;", "changes nothing"),
    "a flag of a later block": ("[%d5+4]", "[%d5+8]", "a block with an earlier ticket"),
    "two reads of one flag": ("mul.wide.u32 %d4, %r1, 4;", "mov.u64 %d4, 0;", "to be acquired once"),
    "a release of zero": (RELEASE, RELEASE.replace(", 2", ", 0"), "a word that is not zero"),
    "a release of data": (RELEASE, RELEASE.replace(", 2", ", %r8"), "a word that is not zero"),
    "one word twice": (RELEASE, RELEASE + RELEASE, "a word that is not zero"),
    "a later word that hands over less": ("E:  ret;", f"E:  {OTHER}", "what earlier ones did"),
    "a release of the counter": (RELEASE, RELEASE.replace("+12", ""), "behind its counter"),
    "a release of another array": (RELEASE, RELEASE.replace("%d1+12", "%d2+4"), "behind its counter"),
    "a release that the block alone sees": (RELEASE, RELEASE.replace("gpu", "cta"), "that other blocks see"),
    "a release of 64 bits": (RELEASE, "st.release.gpu.global.u64 [%d1+8], 2;", "that other blocks see"),
    "an acquire that the block alone sees": ("ld.acquire.gpu", "ld.acquire.cta", "that other blocks see"),
    "a flag that is stored": (RELEASE, "st.global.u32 [%d1+12], 2;", "releases and acquires only"),
    "a half word": ("st.global.u32 [%d2+8], %r8;", "mov.u16 %h1, 1; st.global.u16 [%d2+8], %h1;", "whole words"),
    "an update": ("st.global.u32 [%d2+8], %r8;", "red.global.add.u32 [%d2+8], %r8;", "whole words"),
    "a value stored twice": ("membar.gl;", "st.global.u32 [%d2+8], 1;", "to be stored once"),
    "a value before its flag": ("J:  bar", "J:  ld.global.u32 %r9, [%d2+4]; bar", "handed over before"),
    "a wait that goes on": ("@%p2 bra W;\n    ld.global.u32 %r4, [%d6];", "mov.u32 %r4, %r3;", "goes back to its load"),
    "a store while a flag is open": ("J:  bar", "st.global.u32 [%d3], %r4; J:  bar", "nothing that others see"),
    "an end while a flag is open": ("J:  bar", "ret; J:  bar", "nothing that others see"),
    "a ballot of some lanes": ("vote.sync.ballot.b32 %r5, %p4, -1;", PARTS, "of the whole warp"),
    "a ballot without lanes that ended": ("@%p3 bra J;", "@%p3 bra E;", "all lanes at the ballot"),
    "another vote": ("vote.sync.ballot.b32 %r5, %p4, -1;", "vote.sync.any.pred %p6, %p4, -1; mov.u32 %r5, 1;", "registers"),
    "a count of the ballot's bits": ("brev.b32 %r6, %r5;", "popc.b32 %r6, %r5;", "depend on data"),
    "a ballot that is changed": ("brev.b32 %r6, %r5;", "add.u32 %r5, %r5, 1; brev.b32 %r6, %r5;", "depend on data"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_followed(case: str) -> None:
    right, wrong, said = REFUSED[case]
    assert right in FLAGS
    if said == "registers":  # a vote is an exchange: the lanes must stand there
        assert checkpoints(FLAGS.replace(right, wrong), False) != checkpoints(FLAGS.replace(right, wrong), True)
        return
    with pytest.raises(UnsupportedError, match=said):
        run(FLAGS.replace(right, wrong))


def test_a_lowest_bit_that_an_open_flag_decides() -> None:
    with pytest.raises(UnsupportedError, match="lowest bit no open flag decides"):
        run(FLAGS, {4: (Word(1, FIRST), Word(2, FIRST)), 8: OPEN[1:]})


ATOM = "atom.global.add.u32 %r2, [%d1], 1;"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (ATOM, ATOM.replace("global", "global.cta"), "for a ticket"),
        (ATOM, ATOM.replace("add", "max"), "for a ticket"),
        (ATOM, ATOM.replace(", 1", ", 2"), "add 1 to the counter once"),
        (ATOM, ATOM.replace("%d1", "%d1+4"), "add 1 to the counter once"),
        (ATOM, ATOM + ATOM, "add 1 to the counter once"),
        ("    membar.gl;\nA:", "A:", "handed over before"),
        ("    membar.gl;\nA:  bar.sync 0;", "A:  bar.sync 0; membar.gl;", "handed over before"),
        ("A:  bar.sync 0;", "A:", "handed over before"),
    ],
)
def test_tickets_that_are_not_followed(right: str, wrong: str, said: str) -> None:
    assert right in TICKET
    with pytest.raises(UnsupportedError, match=said):
        run(TICKET.replace(right, wrong))
