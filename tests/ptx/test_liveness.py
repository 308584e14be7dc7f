"""Liveness, reaching definitions and pressure, against walks over random programs."""

import random
from collections.abc import Iterator

import pytest

from warploom.ptx.flow import FlowGraph, flow_graph
from warploom.ptx.liveness import Accesses, Liveness, accesses, liveness, pressure
from warploom.ptx.routine import Routine, lower
from warploom.ptx.syntax import parse


def routine(body: str, kind: str = ".entry k()") -> Routine:
    registers = ".reg .pred p, q; .reg .b32 a, b, c, d; .reg .b64 x, y; .reg .v2 .f32 v;"
    text = f".version 9.0\n.target sm_90\n{kind} {{ {registers} {body} }}"
    return next(iter(lower(parse(text)).routines.values()))


def test_straight_line() -> None:
    found = routine("add.s32 a, b, c; add.s32 d, a, a; st.global.b32 [x], d; ret;")
    live = liveness(found, flow_graph(found))
    assert live.live_in == (frozenset({"b", "c", "x"}),)
    assert live.live_out == (frozenset(),)


def test_loop_carries() -> None:
    found = routine("mov.u32 a, 0; L: add.s32 a, a, b; setp.lt.s32 p, a, 9; @p bra L; st.global.b32 [x], a; ret;")
    live = liveness(found, flow_graph(found))
    assert live.live_in[0] == {"b", "x"}
    assert live.live_in[1] == {"a", "b", "x"} == live.live_out[1]


def test_guarded_write_keeps_the_old_value() -> None:
    found = routine("@p mov.u32 a, b; st.global.b32 [x], a; ret;")
    assert liveness(found, flow_graph(found)).live_in[0] == {"p", "a", "b", "x"}


def test_element_write_keeps_the_others() -> None:
    found = routine("mov.f32 v.x, 0f00000000; st.global.f32 [x], v.y; ret;")
    assert liveness(found, flow_graph(found)).live_in[0] == {"v", "x"}


def test_results_in_registers_live_at_return() -> None:
    found = routine("mov.u32 r, a; @p ret; mov.u32 r, 2; ret;", ".func (.reg .b32 r) f()")
    graph = flow_graph(found)
    assert [set(s) for s in liveness(found, graph).live_out] == [{"r"}, {"r"}]


def test_pressure() -> None:
    found = routine("mov.u32 a, 1; mov.u64 x, 2; mov.f32 v.x, 0f00000000; st.global.b32 [x], a; st.global.f32 [x], v.y; ret;")
    peak = pressure(found, flow_graph(found))
    assert (peak.registers, peak.predicates, peak.instruction) == (5, 0, 1)
    many = routine("setp.eq.s32 p|q, 1, 2; @p ret; @q ret; ret;")
    assert pressure(many, flow_graph(many)).predicates == 2


def test_pressure_is_told_at_the_first_place_where_it_is_reached() -> None:
    twice = "mov.u32 a, 1; mov.u32 b, 2; st.global.b32 [x], a; st.global.b32 [x], b; "
    once = routine(twice + "ret;")
    for between in ("", "@p bra L; L: "):
        found = routine("setp.eq.s32 p, 1, 2; " + twice + between + twice + "ret;")
        assert pressure(found, flow_graph(found)).instruction == 1 + pressure(once, flow_graph(once)).instruction
    rising = routine("mov.u32 a, 1; st.global.b32 [x], a; " + twice + "ret;")
    assert pressure(rising, flow_graph(rising)).instruction == 3


def random_routine(seed: int) -> Routine:
    source = random.Random(seed)
    lines: list[str] = []
    for index in range(source.randrange(2, 9)):
        guard = source.choice(("", "", "@p ", "@!q "))
        lines.append(f"L{index}: {guard}add.s32 {source.choice('abcd')}, {source.choice('abcd')}, {source.choice('abcd')};")
        match source.randrange(5):
            case 0:
                lines.append(f"@{source.choice('pq')} bra L{source.randrange(index + 1)};")
            case 1:
                lines.append(f"setp.eq.s32 {source.choice('pq')}, {source.choice('abcd')}, 0;")
            case 2:
                lines.append("@p ret;")
            case _:
                pass
    return routine(" ".join(lines) + " st.global.b32 [x], a; ret;")


def following(graph: FlowGraph, index: int) -> list[int]:
    block = graph.blocks[graph.block_of(index)]
    return [index + 1] if index + 1 < block.end else [graph.blocks[s].start for s in block.successors]


def is_live_after(graph: FlowGraph, effects: tuple[Accesses, ...], name: str, index: int) -> bool:
    """By a search over single instructions."""
    seen = set[int]()
    pending = following(graph, index)
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        if name in effects[at].read:
            return True
        if name not in effects[at].killed:
            pending += following(graph, at)
    return False


def holds(graph: FlowGraph, effects: tuple[Accesses, ...], name: str, write: int, goal: int) -> bool:
    """Whether what `write` wrote may still be there before `goal`."""
    seen = set[int]()
    pending = following(graph, write)
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        if at == goal:
            return True
        if name not in effects[at].killed:
            pending += following(graph, at)
    return False


def live_after(routine: Routine, graph: FlowGraph, live: Liveness) -> Iterator[tuple[int, frozenset[str]]]:
    """(instruction, registers live after it), each block backwards; costs as much as the sets are large."""
    by_instruction = accesses(routine)
    for block in graph.blocks:
        now = set(live.live_out[block.index])
        for index in reversed(range(block.start, block.end)):
            yield index, frozenset(now)
            now.difference_update(by_instruction[index].killed)
            now.update(by_instruction[index].read)


@pytest.mark.parametrize("seed", range(120))
def test_against_walks(seed: int) -> None:
    found = random_routine(seed)
    graph = flow_graph(found)
    effects = accesses(found)
    reachable = {i for b in graph.order for i in range(graph.blocks[b].start, graph.blocks[b].end)}
    live = liveness(found, graph)
    for index, names in live_after(found, graph, live):
        if index in reachable:
            assert names == {n for n in found.registers if is_live_after(graph, effects, n, index)}
    most = max(
        (len([n for n in names if n in "abcd"]) + 2 * ("x" in names) for i, names in live_after(found, graph, live)), default=0
    )
    assert pressure(found, graph, live).registers >= most
