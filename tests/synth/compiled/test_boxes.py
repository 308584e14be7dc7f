"""One block for many: what differs from block to block is refused, or the box is split; what all of them store is counted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.synth.compiled.programs import body

from warploom.core import UnsupportedError, f32
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, Box, FaultError, NotAlikeError, SymbolicRun, boxes, run_symbolically
from warploom.synth.compiled.arithmetic import NotFollowedError
from warploom.synth.compiled.moving import SplitError
from warploom.synth.compiled.placed import placed
from warploom.synth.compiled.transfers import Transfers

OUT, IN = ArrayArgument("out", f32, (8,), "undefined"), ArrayArgument("a", f32, (8,))
BOX = Box((0, 0, 0), (4, 1, 1))
TILE = ".shared .align 16 .b8 tile[256];"


def run(lines: str) -> SymbolicRun:
    """Four blocks of one thread; %rd4 is the block's number, %r4 too, and %r9 the address of a tile."""
    start = "\tmov.u32 %r9, tile;\n\tmov.u32 %r4, %ctaid.x;\n\tcvt.u64.u32 %rd4, %r4;\n"
    program = lower(parse(body(start + lines, declarations=TILE), "k.ptx"))
    return run_symbolically(program, None, (OUT, IN), (4, 1, 1), (1, 1, 1), box=BOX)


def moves(by: int, rest: str) -> str:
    return f"\tmul.lo.u64 %rd5, %rd4, {by};\n\tadd.u64 %rd5, %rd5, %rd2;\n{rest}"


LOAD = "\tld.global.f32 %f1, [%rd5];\n"
COPY = "\tcp.async.ca.shared.global [%r9], [%rd5], 8, 4;\n"


def test_accesses_that_are_right_in_every_block() -> None:
    assert run(moves(8, LOAD)).moves == {"a": {"%ctaid.x": 8}}
    assert run(moves(8, COPY)).moves == {"a": {"%ctaid.x": 8}}


@pytest.mark.parametrize(
    ("lines", "kind", "told"),
    [
        (moves(12, LOAD), "out of bounds", "in a later block"),
        (moves(2, LOAD), "misaligned", "in every block"),
        (moves(4, COPY), "misaligned", "a multiple of 8, got byte 0 of a, or of a later block"),
        (moves(8, COPY.replace("rd5", "rd5+4")), "misaligned", "a multiple of 8, got byte 4 of a"),
    ],
)
def test_faults_of_later_blocks(lines: str, kind: str, told: str) -> None:
    with pytest.raises(FaultError, match=told) as caught:
        run(lines)
    assert caught.value.fault.kind == kind


def test_a_copy_of_fewer_bytes_asks_for_arrays_that_begin_at_multiples_of_its_size() -> None:
    assert "a begins at a multiple of 8 bytes" in run(moves(8, COPY)).notes


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (moves(8, "\tor.b64 %rd5, %rd5, 4;\n" + LOAD), "an address that moves evenly from block to block"),
        ("\tshl.b32 %r5, %r4, 2;\n\tadd.u32 %r5, %r5, %r9;\n\tst.shared.u32 [%r5], 1;\n", "that do not depend on the block"),
        ("\tshl.b32 %r5, %r4, 2;\n\tsub.u32 %r5, %r9, %r5;\n\tst.shared.u32 [%r5+12], 1;\n", "that do not depend on the block"),
        ("\tredux.sync.add.u32 %r5, %r4, 1;\n", "redux.sync of data"),
        ("\tredux.sync.add.u32 %r5, %r9, 1;\n", "redux.sync of data"),
        ("\tred.global.add.f32 [%rd1], 0f3F800000;\n", "no atomic operation where one block stands for several"),
    ],
)
def test_what_is_not_followed_in_a_box(lines: str, told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        run(lines)


def test_a_branch_by_the_number_of_the_block_is_not_followed() -> None:
    lines = "$t: .branchtargets $here, $there;\n\tbrx.idx %r4, $t;\n$here:\n\tst.global.u32 [%rd1], 0;\n$there:\n"
    with pytest.raises(UnsupportedError, match="a branch index of 0 to 1, got 0"):
        run(lines)


def test_an_address_in_memory_is_not_read_as_a_wider_word() -> None:
    transfers = Transfers(None, None, None)  # pyright: ignore[reportArgumentType] - none of them is asked
    with pytest.raises(NotFollowedError, match="an address in memory"):
        transfers._extended(placed(64, (("tile", 1),)), count=32, own=64, is_signed=False)


def test_a_grid_that_falls_into_too_many_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    def each_alone(*_: object, box: Box, **__: object) -> Box:
        if box.counts[0] > 1:
            raise SplitError("%ctaid.x", 1)
        return box

    monkeypatch.setattr(boxes, "run_symbolically", each_alone)

    def parts(count: int) -> int:
        return len(list(boxes.run_boxes(None, None, (), (count, 1, 1), (1, 1, 1))))  # pyright: ignore[reportArgumentType]

    assert parts(64) == 64
    with pytest.raises(NotAlikeError, match="at most 64 ways"):
        parts(65)


def test_accesses_that_move_by_parts_of_elements() -> None:
    moved = SimpleNamespace(moves={"a": {"%ctaid.x": 8, "%ctaid.y": 6}})
    with pytest.raises(NotAlikeError, match="whole elements"):
        boxes.elements_moved(moved, IN)  # pyright: ignore[reportArgumentType]
    moved.moves["a"]["%ctaid.y"] = 4
    assert boxes.elements_moved(moved, IN) == (2, 1, 0)  # pyright: ignore[reportArgumentType]


def test_stores_are_counted_by_element(monkeypatch: pytest.MonkeyPatch) -> None:
    part = boxes.Stores(BOX, np.array([0, 1], np.int64), (1, 0, 0))
    assert boxes.count_of_different(8, [part]) == (5, 8)
    monkeypatch.setattr(boxes, "_MOST_PLACES", 7)
    with pytest.raises(NotAlikeError, match="at most 7 elements"):
        boxes.count_of_different(8, [part])
