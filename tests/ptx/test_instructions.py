"""The instruction table: found by spelling, roles of operands, effects."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.ptx.instructions import (
    ROWS,
    destinations,
    find_row,
    instruction_table,
    is_memory_barrier,
    is_strong,
    operand_names,
    operand_slots,
    reads_memory,
    sources,
    space,
    types,
    writes_memory,
)
from warploom.ptx.syntax import Instruction, parse

from .syntax.spellings import STATEMENTS, kernel


def instruction(text: str) -> Instruction:
    body = parse(kernel(text)).functions[0].body
    assert body is not None
    (found,) = body.items
    assert isinstance(found, Instruction)
    return found


@pytest.mark.parametrize(
    ("text", "title", "written", "read"),
    [
        ("add.s32 a, b, 3;", "add (integer)", "a", "b"),
        ("@!p add.f32 a, b, c;", "add (float)", "a", "p b c"),
        ("fma.rn.bf16x2 a, b, c, d;", "fma (half)", "a", "b c d"),
        ("fma.rn.f32.f16 a, b, c, d;", "fma.f32.f16", "a", "b c d"),
        ("add.cc.u32 a, b, c;", "add.cc", "a", "b c"),
        ("setp.lt.and.s32 p|q, a, 1, !r;", "setp", "p q", "a r"),
        ("setp.eq.f16x2 p|_, a, b;", "setp (f16x2)", "p", "a b"),
        ("mov.b64 {a, _}, b;", "mov", "a", "b"),
        ("mov.u64 a, table+8;", "mov", "a", "table"),
        ("mov.u32 a, %tid.x;", "mov", "a", "%tid.x"),
        ("mov.u32 a, WARP_SZ;", "mov", "a", ""),
        ("ld.global.v2.f32 {a, b}, [c+4], policy;", "ld", "a b", "c policy"),
        ("ld.global.nc.u8 a, [c];", "ld.global.nc", "a", "c"),
        ("st.shared.v2.u32 [a], {b, 3};", "st", "", "a b"),
        ("atom.add.u32 _, [a], b;", "atom", "", "a b"),
        ("atom.cas.b32 d, [a], b, c;", "atom", "d", "a b c"),
        ("red.add.u32 [a], b;", "red", "", "a b"),
        ("bar.sync 0, a;", "bar.sync", "", "a"),
        ("barrier.cta.red.popc.u32 d, 0, 64, !p;", "barrier.red", "d", "p"),
        ("bar.red.and.pred d, 0, p;", "bar.red", "d", "p"),
        ("bar.warp.sync m;", "bar.warp.sync", "", "m"),
        ("barrier.cluster.arrive.release;", "barrier.cluster.arrive", "", ""),
        ("bra L;", "bra", "", ""),
        ("brx.idx a, t;", "brx.idx", "", "a"),
        ("call (r, s), f, (a, 3);", "call", "r s", "f a"),
        ("call f, (a);", "call", "", "f a"),
        ("call f;", "call", "", "f"),
        ("call (r), %rd1, (a), proto;", "call", "r", "%rd1 a proto"),
        ("shfl.sync.up.b32 a|p, b, c, 0, m;", "shfl.sync", "a p", "b c m"),
        ("elect.sync _|p, m;", "elect.sync", "p", "m"),
        ("vadd.s32.u32.s32.sat d.h0, a.b3, b.h1, c;", "vadd", "d", "a b c"),
        ("tex.2d.v4.f32.f32 {a, b, c, d}, [t, s, {x, y}], {o, u};", "tex", "a b c d", "t s x y o u"),
        ("sust.b.1d.b32.trap [s, {x}], {v};", "sust", "", "s x v"),
        ("cp.async.ca.shared.global [a], [b], 16, c;", "cp.async", "", "a b c"),
        ("cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group", "", ""),
        ("cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [a], [b, {c}], [d];", "cp.async.bulk.tensor",
         "", "a b c d"),
        ("cp.async.mbarrier.arrive.shared.b64 [a];", "cp.async.mbarrier.arrive", "", "a"),
        ("mbarrier.arrive.expect_tx.shared.b64 s, [a], n;", "mbarrier.arrive.expect_tx", "s", "a n"),
        ("mbarrier.try_wait.b64 p, [a], s, t;", "mbarrier.try_wait", "p", "a s t"),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {a, b}, c, d, p, 1, 1;", "wgmma.mma_async", "a b", "a b c d p"),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k16 {a}, {b}, {c}, {d}, e, 0;", "mma.sp.sync", "a", "b c d e"),
        ("tcgen05.wait::ld.sync.aligned;", "tcgen05.wait", "", ""),
        ("tcgen05.mma.ws.sp.cta_group::1.kind::f16 [a], b, c, [d], e, p;", "tcgen05.mma.ws.sp", "", "a b c d e p"),
        ("fence.proxy.tensormap::generic.acquire.gpu [a], 128;", "fence", "", "a"),
        ("frobnicate.u32 a, b, [c];", None, "a", "b c"),
        ("frobnicate.u32 [a], b;", None, "", "a b"),
    ],
)  # fmt: skip
def test_roles(text: str, title: str | None, written: str, read: str) -> None:
    found = instruction(text)
    row = find_row(found)
    assert (row and row.title) == title
    assert destinations(found) == tuple(written.split())
    assert sources(found) == tuple(read.split())


def test_every_spelling_of_the_tests_has_a_row_and_fits_it() -> None:
    for text in STATEMENTS:
        body = parse(kernel(text)).functions[0].body
        assert body is not None
        for item in body.items:
            if isinstance(item, Instruction) and item.opcode not in ("frobnicate", "call"):
                assert operand_slots(item) is not None, item.name


@pytest.mark.parametrize(
    ("text", "reads", "writes", "orders"),
    [
        ("ld.global.u32 a, [b];", True, False, False), ("ld.acquire.gpu.u32 a, [b];", True, False, True),
        ("st.global.u32 [a], b;", False, True, False), ("st.release.sys.u32 [a], b;", False, True, True),
        ("atom.add.u32 a, [b], c;", True, True, False), ("atom.acq_rel.gpu.add.u32 a, [b], c;", True, True, True),
        ("bar.sync 0;", False, False, True), ("membar.gl;", False, False, True), ("fence.sc.gpu;", False, False, True),
        ("bar.warp.sync -1;", False, False, True), ("shfl.sync.idx.b32 a, b, c, d, e;", False, False, False),
        ("call f;", True, True, True), ("frobnicate a;", True, True, True), ("add.s32 a, b, c;", False, False, False),
        ("cp.async.wait_all;", False, False, True), ("prefetch.global.L2 [a];", False, False, False),
        ("discard.global.L2 [a], 128;", False, True, False),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {a}, [b];", True, False, False),
    ],
)  # fmt: skip
def test_memory(text: str, reads: bool, writes: bool, orders: bool) -> None:
    found = instruction(text)
    assert (reads_memory(found), writes_memory(found), is_memory_barrier(found)) == (reads, writes, orders)


def test_strong_accesses() -> None:
    strong = (
        "ld.volatile.u32 a, [b];",
        "ld.relaxed.gpu.u32 a, [b];",
        "ld.mmio.relaxed.sys.u32 a, [b];",
        "ld.acquire.cta.u32 a, [b];",
    )
    assert all(is_strong(instruction(t)) for t in strong)
    assert not is_strong(instruction("ld.weak.global.u32 a, [b];"))


def test_spaces_and_types() -> None:
    assert space(instruction("ld.shared::cluster.u32 a, [b];")) == "shared"
    assert space(instruction("ld.param::func.u32 a, [b];")) == "param"
    assert space(instruction("ld.u32 a, [b];")) == ""
    assert types(instruction("cvt.rn.relu.f16.f32 a, b;")) == ("f16", "f32")


def test_names_of_an_operand() -> None:
    (operand,) = instruction("x [a, {b, !c, d[e], f+4}];").operands
    assert operand_names(operand) == ("a", "b", "c", "d", "e", "f")


def test_rows_are_told_apart() -> None:
    keys = [(r.name, r.types) for r in ROWS]
    assert len(set(keys)) == len(keys)
    assert all(r.ptx >= (1, 0) and (r.sm == 0 or 10 <= r.sm <= 130) for r in ROWS)


def test_table() -> None:
    text = instruction_table({"interpreter": {"add": "yes", "add (half)": "no"}})
    lines = text.splitlines()
    assert len(lines) == len(ROWS) + 2
    assert lines[0].endswith("| together | interpreter |")
    assert "| `add` (integer) | 9.7.1.1 | integer | 1.0 |  |  |  | yes |" in lines
    assert "| `add` (half) | 9.7.4.1 | half | 4.2 | sm_53 |  |  | no |" in lines
    assert "| `shfl.sync` | 9.7.9.6 | warp | 6.0 | sm_30 |  | warp |  |" in lines
    assert len({line.count("|") for line in lines}) == 1


def test_what_each_instruction_needs(golden: Callable[[Path, str], None]) -> None:
    """First version of the ISA, first architecture, section and kind, as the ISA's chapters have them."""
    lines = [f"{r.name} {r.section} {r.kind} ptx {r.ptx[0]}.{r.ptx[1]} sm_{r.sm} {'/'.join(sorted(r.types))}" for r in ROWS]
    golden(Path(__file__).parent / "instructions.txt", "\n".join(lines) + "\n")
