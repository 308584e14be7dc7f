"""Blocks, dominators, loops, against definitions by paths on random graphs."""

import random
from itertools import pairwise

import pytest

from warploom.core import UserError
from warploom.ptx.flow import FlowGraph, branch_targets, flow_graph
from warploom.ptx.routine import Routine, lower
from warploom.ptx.syntax import parse


def routine(body: str) -> Routine:
    text = f".version 9.0\n.target sm_90\n.entry k() {{ .reg .pred p; .reg .b32 a; {body} }}"
    return lower(parse(text)).kernel()


def graph(body: str) -> FlowGraph:
    return flow_graph(routine(body))


def test_straight_line_is_one_block() -> None:
    found = graph("add.s32 a, a, 1; add.s32 a, a, 2; ret;")
    assert [(b.start, b.end, b.successors) for b in found.blocks] == [(0, 3, ())]


def test_empty_body() -> None:
    found = graph("")
    assert found.blocks == ()
    assert found.order == ()


def test_diamond() -> None:
    found = graph("@p bra E; add.s32 a, a, 1; bra X; E: add.s32 a, a, 2; X: ret;")
    assert [b.successors for b in found.blocks] == [(2, 1), (3,), (3,), ()]
    assert found.dominator == (None, 0, 0, 0)
    assert found.post_dominator == (3, 3, 3, None)
    assert found.block_of(3) == 2
    assert not found.loops


def test_guarded_return_falls_through() -> None:
    found = graph("@p ret; @!p exit; trap;")
    assert [b.successors for b in found.blocks] == [(1,), (2,), ()]


def test_call_does_not_end_a_block() -> None:
    assert len(graph("call k; add.s32 a, a, 1; ret;").blocks) == 1


def test_label_at_the_end() -> None:
    found = graph("@p bra L; add.s32 a, a, 1; L:")
    assert [b.successors for b in found.blocks] == [(1,), ()]


def test_nested_loops() -> None:
    found = graph("O: I: add.s32 a, a, 1; J: @p bra J; @p bra I; @p bra O; ret;")
    assert found.is_reducible
    assert {h: (sorted(l.blocks), l.latches, l.parent) for h, l in found.loops.items()} == {
        0: ([0, 1, 2, 3], (2, 3), None), 1: ([1], (1,), 0),
    }  # fmt: skip
    assert found.loop_nest(1) == (0, 1)
    assert found.loop_nest(4) == ()


def test_irreducible_cycle() -> None:
    found = graph("@p bra B; A: add.s32 a, a, 1; B: @p bra A; ret;")
    assert not found.is_reducible
    assert not found.loops


def test_indirect_branch() -> None:
    found = graph("t: .branchtargets A, B, A; brx.idx a, t; A: ret; B: ret;")
    assert found.blocks[0].successors == (1, 2)


def test_unreachable_blocks() -> None:
    found = graph("ret; L: add.s32 a, a, 1; bra L;")
    assert found.order == (0,)
    assert not found.dominates(0, 1)
    assert found.dominates(1, 1)
    assert not found.loops


def test_label_that_is_not_there() -> None:
    found = routine("t: .branchtargets A, Z; brx.idx a, t; A: ret;")
    with pytest.raises(UserError, match=r"expected a label of k after brx.idx, found 'Z'"):
        branch_targets(found, 0)


def random_body(seed: int) -> str:
    source = random.Random(seed)
    count = source.randrange(2, 12)
    lines: list[str] = []
    for index in range(count):
        lines.append(f"L{index}: add.s32 a, a, {index};")
        match source.randrange(4):
            case 0:
                lines.append(f"bra L{source.randrange(count)};")
            case 1 | 2:
                lines.append(f"@p bra L{source.randrange(count)};")
            case _:
                pass
    return " ".join(lines) + " ret;"


def reached(graph: FlowGraph, without: int) -> set[int]:
    """Blocks that can be reached from the entry without one."""
    seen = set[int]()
    pending = [0] if without != 0 else []
    while pending:
        at = pending.pop()
        if at not in seen:
            seen.add(at)
            pending += [s for s in graph.blocks[at].successors if s != without]
    return seen


@pytest.mark.parametrize("seed", range(150))
def test_against_definitions(seed: int) -> None:
    found = graph(random_body(seed))
    count = len(found.blocks)
    everything = reached(found, -1)
    assert set(found.order) == everything
    for a in range(count):
        cut = reached(found, a)
        for b in everything:
            assert found.dominates(a, b) == (b not in cut), (a, b)
    for block in range(count):
        above = found.dominator[block]
        assert (above is None) == (block == 0 or block not in everything)
    for before, after in pairwise(found.blocks):
        assert before.end == after.start
    for header, loop in found.loops.items():
        assert all(found.dominates(header, b) for b in loop.blocks)
        assert all(header in found.blocks[latch].successors for latch in loop.latches)
        if loop.parent is not None:
            assert loop.blocks < found.loops[loop.parent].blocks
    for block in everything:
        around = [h for h, loop in found.loops.items() if block in loop.blocks]
        assert sorted(found.loop_nest(block)) == sorted(around)


@pytest.mark.parametrize("seed", range(60))
def test_post_dominators_against_definition(seed: int) -> None:
    found = graph(random_body(seed))
    ends = {b.index for b in found.blocks if not b.successors}

    def can_end(start: int, without: int) -> bool:
        seen = set[int]()
        pending = [start]
        while pending:
            at = pending.pop()
            if at == without or at in seen:
                continue
            if at in ends:
                return True
            seen.add(at)
            pending += found.blocks[at].successors
        return False

    for block in range(len(found.blocks)):
        if not can_end(block, -1):
            continue
        nearest = found.post_dominator[block]
        all_after = {b for b in range(len(found.blocks)) if b != block and not can_end(block, b)}
        assert (nearest is None) == (not all_after)
        if nearest is not None:
            assert nearest in all_after
            assert all(b == nearest or not can_end(nearest, b) for b in all_after)
