"""Two threads of one warp: neighbours on real texts, and the lemma of single steps by brute force at 6 to 8 bits."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.ptx.symbolic.test_compare import GUARD, INDEX
from tests.ptx.symbolic.test_emulate import emulated, loads

from warploom.ptx.symbolic import Emulation, Match, Neighbour, comparisons


def neighbours(body: str, delta: int, **options: object) -> Match | None:
    """Does the second load read what the first one of the lane `delta` away has read?"""
    emulation = emulated(body)
    source, target = loads(emulation)
    assert source.address is not None and target.address is not None
    table = emulation.table
    moved = {table.special("tid.x"): delta, table.special("laneid"): delta}
    return Neighbour(emulation, moved, **options).match(target.address, target.block, source.address, source.block)  # type: ignore[arg-type]


def test_neighbours_of_a_guarded_row_need_no_condition() -> None:
    body = GUARD.format(INDEX.format("%r1") + "add.s32 %r4, %r1, 1;" + INDEX.format("%r4"))
    assert neighbours(body, 1) == Match(())
    assert neighbours(body, -1) is None
    assert neighbours(body, 0) is None


def test_an_index_that_may_wrap_needs_one() -> None:
    body = GUARD.format("mad.lo.s32 %r5, %r2, %r2, %r1; add.s32 %r6, %r5, 2;" + INDEX.format("%r5") + INDEX.format("%r6"))
    assert neighbours(body, 2) == Match(())  # the same word before it is extended
    close = GUARD.format(
        "mad.lo.s32 %r5, %r2, %r2, %r1;" + INDEX.format("%r5") + INDEX.format("%r5").replace("[%rd3]", "[%rd3+8]")
    )
    match = neighbours(close, 2)
    assert match is not None
    assert [(str(c.term), c.offset, c.width, c.is_signed) for c in match.conditions] == [
        ("%tid.x + load(n) * load(n)", 2, 32, True)
    ]


def test_values_of_another_thread_are_not_ours() -> None:
    index = "ld.global.u32 %r5, [%rd1]; " + INDEX.format("%r5") * 2
    emulation = emulated(GUARD.format(index))
    _, source, target = loads(emulation)
    assert source.address is target.address and target.address is not None
    moved = Neighbour(emulation, {emulation.table.special("tid.x"): 1})
    assert moved.match(target.address, target.block, target.address, source.block) is None


def test_lanes_of_a_mask() -> None:
    body = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; and.b32 %r2, %r1, 31; xor.b32 %r3, %r2, 16;" + (
        INDEX.format("%r2") + INDEX.format("%r2").replace("[%rd3]", "[%rd3+4]")
    )
    match = neighbours(body, 1)
    assert match is not None
    assert [c.width for c in match.conditions] == [5]  # the last lane has no neighbour
    emulation = emulated(body, directives=".reqntid 64")
    table, algebra = emulation.table, emulation.algebra(0)
    low = algebra.trunc(table.special("tid.x"), 5)
    given = comparisons.less(algebra, low, table.const(31, 5), is_signed=False)
    source, target = loads(emulation)
    assert source.address is not None and target.address is not None
    found = Neighbour(emulation, {table.special("tid.x"): 1}, given=(given,)).match(target.address, 0, source.address, 0)
    assert found == Match(())


# single steps

WALK = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; ld.param.u32 %r2, [n]; "
LANES = np.arange(32)
DELTAS = (1, 2, 5, -3)


def walked(emulation: Emulation, delta: int, target: int = 1, *, whole_warp: bool = True) -> bool:
    """Whether a load is known to read what the first one reads `delta` lanes away, without a condition."""
    source, there = loads(emulation)[0], loads(emulation)[target]
    assert source.address is not None and there.address is not None
    tid, lane = emulation.table.special("tid.x"), emulation.table.special("laneid")
    found = Neighbour(emulation, {tid: delta, lane: delta}, whole_warp=whole_warp)
    return found.match(there.address, there.block, source.address, source.block) == Match(())


def at_offsets(*offsets_bytes: int) -> str:
    """Loads by the index %r4, and so much further on."""
    return INDEX.format("%r4") + "".join(f"ld.global.nc.f32 %f2, [%rd3+{offset}];" for offset in offsets_bytes)


def extended(words: NDArray[np.int64], width: int, *, is_signed: bool) -> NDArray[np.int64]:
    words = words & ((1 << width) - 1)
    return words - ((words >> (width - 1)) << width) if is_signed else words


def cases(width: int, bounds: range) -> Iterator[tuple[bool, str, int, int]]:
    """Signedness, comparison, bound, growth from lane to lane."""
    for is_signed in (True, False):
        low = -(1 << (width - 1)) if is_signed else 0
        for comparison in ("lt", "gt"):
            for bound in bounds:
                for growth in (1, 2, 3, -1, -2):
                    yield is_signed, comparison, low + bound, growth


@pytest.mark.parametrize(("width", "step", "least"), [(6, 7, 300), (7, 31, 120), (8, 61, 120)])
def test_single_steps_by_brute_force(width: int, step: int, least: int) -> None:
    """The index is a field of so many bits of `n + growth * tid`, and lanes load where it is on one side of a bound."""
    proved = alone = 0
    bases = np.arange(1 << width)[:, None]
    for is_signed, comparison, bound, growth in cases(width, range(0, 1 << width, step)):
        sign = "s" if is_signed else "u"
        body = f"""{WALK} mad.lo.s32 %r3, %r1, {growth}, %r2; bfe.{sign}32 %r4, %r3, 0, {width};
            setp.{comparison}.{sign}32 %p1, %r4, {bound}; @!%p1 bra END; {at_offsets(*(4 * growth * d for d in DELTAS))} END:"""
        emulation = emulated(body)
        index = extended(bases + growth * LANES, width, is_signed=is_signed)
        inactive = np.cumsum(index >= bound if comparison == "lt" else index <= bound, axis=1)
        for target, delta in enumerate(DELTAS, 1):
            if not walked(emulation, delta, target):
                continue
            proved += 1
            alone += walked(emulation, delta, target, whole_warp=False)
            reach = abs(delta)
            before = np.pad(inactive, ((0, 0), (1, 0)))
            together = before[:, reach + 1 :] == before[:, : 32 - reach]
            exact = index[:, reach:] - index[:, :-reach] == growth * reach
            assert exact[together].all(), (is_signed, comparison, bound, growth, delta)
    assert proved >= least
    assert proved > alone


GUARDED = "add.s32 %r4, %r1, %r2; ld.param.u32 %r5, [m]; {} @%p1 bra END;" + at_offsets(20) + "END:"


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("setp.ge.s32 %p1, %r4, %r5;", True),
        ("setp.lt.s32 %p1, %r4, -2147483647;", True),
        ("add.s32 %r6, %r4, 1; setp.ge.s32 %p1, %r6, %r5;", False),  # %r4 may be the greatest value in the first lane
        ("setp.ge.u32 %p1, %r4, %r5;", False),  # unsigned: passes the greatest signed value on
        ("setp.eq.s32 %p1, %r4, 2147483647;", True),
        ("setp.eq.s32 %p1, %r5, 2147483647;", False),
    ],
)
def test_bounds_on_one_side(guard: str, expected: bool) -> None:
    emulation = emulated(WALK + GUARDED.format(guard), ".param .u64 a, .param .u32 n, .param .u32 m")
    assert walked(emulation, 5) == expected
    assert not walked(emulation, 5, whole_warp=False)


def test_bounds_of_other_words() -> None:
    parameters = ".param .u64 a, .param .u32 n, .param .u16 m"
    narrow = """add.s32 %r3, %r1, %r2; cvt.u16.u32 %h1, %r3; ld.param.u16 %h2, [m]; setp.ge.s16 %p1, %h1, %h2; @%p1 bra END;
        cvt.s32.s16 %r4, %h1;"""
    assert walked(emulated(WALK + narrow + at_offsets(12) + "END:", parameters), 3)
    wide = """add.s32 %r3, %r1, %r2; cvt.u64.u32 %rd4, %r3; ld.param.u32 %r5, [m]; setp.ge.u32 %p1, %r3, %r5; @%p1 bra END;
        shl.b64 %rd5, %rd4, 2; add.s64 %rd3, %rd1, %rd5; ld.global.nc.f32 %f1, [%rd3]; ld.global.nc.f32 %f2, [%rd3+12]; END:"""
    emulation = emulated(WALK + wide, ".param .u64 a, .param .u32 n, .param .u32 m")
    assert walked(emulation, 3)
    assert not walked(emulation, 3, whole_warp=False)


def test_bounds_of_a_loop() -> None:
    """Lanes are in the same iteration, and the loop's own condition bounds the index."""
    body = f"""{WALK} add.s32 %r4, %r1, %r2; mov.u32 %r7, %ntid.x; setp.ge.s32 %p1, %r4, %r2; @%p1 bra END;
        LOOP: {at_offsets(12)} add.s32 %r4, %r4, %r7; setp.lt.s32 %p2, %r4, %r2; @%p2 bra LOOP; END:"""
    emulation = emulated(body)
    source, target = loads(emulation)
    assert source.address is not None and target.address is not None
    tid = emulation.table.special("tid.x")
    for whole_warp in (True, False):
        found = Neighbour(emulation, {tid: 3}, frozenset(emulation.graph.loops), whole_warp=whole_warp)
        match = found.match(target.address, target.block, source.address, source.block)
        assert match is not None
        assert (match == Match(())) == whole_warp


def test_steps_along_y() -> None:
    body = f"""{WALK.replace("tid.x", "tid.y")} add.s32 %r4, %r1, %r2; setp.ge.s32 %p1, %r4, %r2; @%p1 bra END;
        {at_offsets(12)} END:"""
    emulation = emulated(body)
    source, target = loads(emulation)
    assert source.address is not None and target.address is not None
    x, y = emulation.table.special("tid.x"), emulation.table.special("tid.y")
    for deltas, expected in (({x: 0, y: 3}, True), ({x: 6, y: 3}, True), ({x: 1, y: 3}, False)):
        match = Neighbour(emulation, deltas).match(target.address, target.block, source.address, source.block)
        assert match is not None
        assert (match == Match(())) == expected
