"""Requests of whole warps in every launch, beside the interpreter's counts in one."""

from __future__ import annotations

import pytest

from warploom.ptx import launch, lower, parse
from warploom.ptx.launches import Cost, Costs, NotDecided, assumptions, costs
from warploom.tools.bench.lint.languages import LANGUAGES, Built
from warploom.tools.bench.lint.planting import Kernel
from warploom.tools.ptx.arguments import extents

SEEDS = [pytest.param(kernel, built, id=kernel.name) for kernel, built in LANGUAGES["ptx"].built()]
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


@pytest.mark.parametrize(("kernel", "built"), SEEDS)
def test_the_interpreter_counts_no_more_and_as_much_where_all_lanes_take_part(kernel: Kernel, built: Built) -> None:
    one, values, _ = built.launches[0]
    grid, block = extents(one.grid, "grid"), extents(one.block, "block")
    answer = costs(built.source.program, built.name, assumptions(f"blockDim.x == {block[0]}"))
    assert isinstance(answer, Costs) and answer.known
    routine = built.source.program.routines[built.name]
    counted = launch(built.source.program, built.name, grid=grid, block=block, args=values, counts=True).counts
    assert counted is not None
    for cost in answer.known:
        line = counted.by_line.get(routine.span(cost.instruction).line)
        if line is None or not line.requests or routine.instructions[cost.instruction].opcode in ("atom", "red"):
            continue
        spent = line.wavefronts if cost.is_shared else line.sectors
        assert spent <= cost.most * line.requests
        if line.threads == 32 * line.requests:
            assert spent >= cost.least * line.requests


def own(body: str, assumed: str = "blockDim.x == 64") -> Costs | NotDecided:
    text = f"""{HEAD}.visible .entry k(.param .u64 out, .param .u32 n) {{
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>; .shared .align 16 .b8 s[8192];
ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, s;
{body}
ret; }}"""
    return costs(lower(parse(text, "own.ptx")), "k", assumptions(assumed) if assumed else ())


GLOBAL = "mul.wide.s32 %d2, {0}, {1}; add.s64 %d3, %d1, %d2; st.global.u32 [%d3+{2}], %r1;"


@pytest.mark.parametrize(
    ("index", "stride", "offset", "least", "most"),
    [
        ("%r2", 4, 0, 4, 4), ("%r2", 4, 4, 5, 5), ("%r2", 8, 0, 8, 8), ("%r2", 128, 0, 32, 32), ("%r1", 4, 0, 1, 1),
        ("%r4", 4, 0, 4, 5), ("%r5", 4, 0, 4, 4),
    ],
)  # fmt: skip
def test_sectors(index: str, stride: int, offset: int, least: int, most: int) -> None:
    """`%r4`: a row of any length begins anywhere; `%r5`: lanes in another order."""
    answer = own("add.s32 %r4, %r1, %r2; xor.b32 %r5, %r2, 31;" + GLOBAL.format(index, stride, offset))
    assert isinstance(answer, Costs) and not answer.open
    (cost,) = answer.known
    assert (cost.least, cost.most, cost.is_shared) == (least, most, False)
    assert cost.needed == (1 if index == "%r1" else 4)


@pytest.mark.parametrize(("shift", "wavefronts"), [(2, 1), (3, 2), (5, 8), (7, 32)])
def test_wavefronts(shift: int, wavefronts: int) -> None:
    answer = own(f"shl.b32 %r4, %r2, {shift}; add.s32 %r5, %r3, %r4; st.shared.u32 [%r5], %r1;")
    assert isinstance(answer, Costs)
    assert [(c.least, c.most, c.needed, c.ways) for c in answer.known] == [(wavefronts, wavefronts, 1, wavefronts)]


def test_a_pattern_may_differ_from_warp_to_warp() -> None:
    """Warp 0 keeps its distance, warp 1 doubles it."""
    body = "shr.u32 %r4, %r2, 5; add.s32 %r4, %r4, 2; shl.b32 %r5, %r2, %r4; add.s32 %r6, %r3, %r5; st.shared.u32 [%r6], %r1;"
    answer = own(body)
    assert isinstance(answer, Costs)
    assert answer.known == (Cost(answer.known[0].instruction, True, 1, 2, 1, 2),)


@pytest.mark.parametrize(
    "index", ["mov.u32 %r4, %laneid;", "ld.global.u32 %r4, [%d3];", "mul.lo.s32 %r4, %r2, %r1;", "xor.b32 %r4, %r2, %r1;"]
)
def test_what_is_not_known_of_lanes_is_open(index: str) -> None:
    body = "mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2;" + index
    answer = own(f"{body} shl.b32 %r5, %r4, 2; add.s32 %r6, %r3, %r5; st.shared.u32 [%r6], %r1;")
    assert isinstance(answer, Costs) and len(answer.open) == 1


@pytest.mark.parametrize("assumed", ["", "blockDim.x == 48", "blockDim.x <= 64"])
def test_blocks_must_be_known_and_whole_warps(assumed: str) -> None:
    answer = own("st.shared.u32 [%r3], %r2;", assumed)
    assert isinstance(answer, NotDecided) and "size of a block" in answer.reason
