"""Findings of the verifier, which has none for good files."""

from collections import Counter

import pytest
from benchmarks.fuzz import assembler
from tests.ptx.corpus import names, text

from warploom.gpu import toolchain_available
from warploom.ptx.syntax import parse
from warploom.ptx.verify import WARNINGS, verify

from .syntax.compiled import COMPILED

HEADER = ".version 9.0\n.target sm_90\n"
REGISTERS = (
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .f16 %hf<9>; .reg .f16x2 %hx<9>; "
    ".reg .b32 %r<9>; .reg .u32 %u<9>; .reg .s32 %s<9>; .reg .f32 %f<9>; "
    ".reg .b64 %d<9>; .reg .f64 %fd<9>; .reg .v2 .b32 %v; .shared .b32 sh[4];"
)


def said(body: str, header: str = HEADER) -> list[str]:
    text = f"{header}.visible .entry k(.param .u64 a)\n{{ {REGISTERS}\n{body}\nret;\n}}\n.func f() {{ ret; }}\n"
    return [f"{d.code}: {d.message}" for d in verify(parse(text))]


GOOD = (
    "add.s32 %r1, %u1, %s1;",
    "add.f32 %f1, %r1, 0f3F800000;",
    "add.f16 %hf1, %h1, %h2;",
    "and.b32 %f1, %f2, %u3;",
    "add.s32 %hx1, %hx2, %u3;",
    "mov.b32 %f1, %u1;",
    "mov.u32 %r1, %laneid;",
    "mov.u16 %h1, %tid.x;",
    "mov.u64 %d1, sh;",
    "mov.u64 %d1, sh+4;",
    "mov.b64 {%r1, %f1}, %d1;",
    "mov.b64 {%r1, _}, %fd1;",
    "mov.b32 %v.x, %v.y;",
    "mov.pred %p1, %p2;",
    "mul.wide.s32 %d1, %r1, 4;",
    "mad.wide.u16 %r1, %h1, %h2, %u1;",
    "mad.lo.cc.u32 %r1, %r2, %r3, %r4;",
    "shl.b64 %d1, %d2, %r1;",
    "bfe.u64 %d1, %d2, %r1, 3;",
    "popc.b64 %r1, %d1;",
    "set.lt.u32.f32 %r1, %f1, %f2;",
    "set.eq.ftz.f32.f32 %f1, %f1, %f2;",
    "setp.ne.f16x2 %p1|%p2, %r1, %hx2;",
    "slct.f32.s32 %f1, %f2, %f3, %r1;",
    "selp.b64 %fd1, %d1, %d2, %p1;",
    "ld.global.u8 %d1, [%d2];",
    "ld.global.f32 %d1, [%d2];",
    "ld.shared.v2.f32 {%f1, %r1}, [sh];",
    "st.global.u8 [%d1], %h1;",
    "ld.param.u64 %d1, [a];",
    "cvt.u64.u32 %d1, %d2;",
    "lop3.b32 %f1, %f2, %u1, %s1, 0x80;",
    "shfl.sync.bfly.b32 %f1|%p1, %f2, 1, 31, -1;",
    "vote.sync.ballot.b32 %r1, !%p1, -1;",
    "call f;",
    "call f, ();",
    "call (%r1), %d1, (%r2), proto;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);",
    "t: .branchtargets L;\nbrx.idx %r1, t;\nL:",
    "bar.sync 0;",
    "bar.red.popc.u32 %r1, 0, !%p1;",
    "atom.shared.add.f32 %f1, [sh], %f2;",
    "atom.global.gpu.acq_rel.add.f32 _, [%d1], %f2;",
    "atom.global.v2.f32.add {%f1, %f2}, [%d1], {%f1, %f2};",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];",
    "ld.global.L1::evict_last.L2::cache_hint.v4.b32 {%r1, %r2, %r3, %r4}, [%d1], %d2;",
    "ld.global.nc.L1::no_allocate.L2::128B.v2.f32 {%f1, %f2}, [%d1];",
    "cp.async.cg.shared.global.L2::128B [%r1], [%d1], 0x10, 0x10;",
    "cvt.rn.ftz.f32.s32 %f1, %r2;",
    "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    "cvt.rzi.u64.f32 %d1, %d2;",
    "fence.proxy.async.shared::cta;",
    "fence.mbarrier_init.release.cluster;",
    "add.f32 %f1, %f2, 1.5;",
    "selp.b32 %r1, 0f3F800000, 5, %p1;",
    "mov.b64 %d1, {%r1, %tid.x};",
    "add.u32 %r1, %r2, sh+4;",
    "mov.u64 %d1, a;",
    "bar.red.or.pred %p1, 0, 64, !%p2;",
    "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
    "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 150, %p2;",
    "set.lt.u32.f16x2 %r1, %hx1, %r2;",
    "mbarrier.arrive.expect_tx.shared.b64 _, [sh], 5;",
    "lop3.b32 %r1, %r2, %r3, %r4, 0x196;",
    "ld.local.u32 %r1, [4];",
    "ld.global.v2.u32 {_, %r1}, [%d1];",
    "cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f1}, %r2;",
    "mov.u32 %r1, %gridid;",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f1, %f2, %f3, %f1, %f2}, {%r1, %r2}, {%r3, %r4}, "
    "{%f1, %f2, %f3, %f1, %f2, %f3, %f1, %f2};",
)


@pytest.mark.parametrize("body", GOOD)
def test_good(body: str) -> None:
    assert said(body) == []


def test_good_file() -> None:
    assert verify(parse(COMPILED)) == ()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("add.s32 %r1, %r2;", "PTX_OPERANDS: expected 3 operands of add.s32, found 2"),
        ("ret %r1;", "PTX_OPERANDS: expected 0 operands of ret, found 1"),
        ("bra;", "PTX_OPERANDS: expected 1 operand of bra, found 0"),
        ("max.f32 %f1, %f2;", "PTX_OPERANDS: expected 3 to 4 operands of max.f32, found 2"),
        ("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4};", "PTX_OPERANDS: expected at least 2 operands of tex.1d.v4.f32.f32, found 1"),
        ("call;", "PTX_OPERANDS: expected the name of a function after call, found none"),
        ("add.s32 %r1, %d2, 1;", "PTX_TYPE: expected a .s32 register in add.s32, found %d2 of type .b64"),
        ("add.s32 %f1, %r1, 1;", "PTX_TYPE: expected a .s32 register in add.s32, found %f1 of type .f32"),
        ("add.f32 %f1, %u1, %f1;", "PTX_TYPE: expected a .f32 register in add.f32, found %u1 of type .u32"),
        ("mul.wide.s32 %r1, %r2, 3;", "PTX_TYPE: expected a .s64 register in mul.wide.s32, found %r1 of type .b32"),
        ("shl.b64 %d1, %d2, %d3;", "PTX_TYPE: expected a .u32 register in shl.b64, found %d3 of type .b64"),
        ("mov.b64 %d1, {%r1, %h1};", "PTX_TYPE: expected a vector of 64 bits in mov.b64, found one of 48 bits"),
        ("mov.b64 %d1, %v.x;", "PTX_TYPE: expected a .b64 register in mov.b64, found %v.x of type .b32"),
        ("ld.global.f32 %h1, [%d1];",
         "PTX_TYPE: expected a register of at least 32 bits in ld.global.f32, found %h1 of type .b16"),
        ("st.shared.v2.b64 [sh], {%d1, %r1};",
         "PTX_TYPE: expected a register of at least 64 bits in st.shared.v2.b64, found %r1 of type .b32"),
        ("setp.eq.s32 %r1, %r2, 3;", "PTX_TYPE: expected a .pred register in setp.eq.s32, found %r1 of type .b32"),
        ("setp.eq.s32 %p1|%r1, %r2, 3;", "PTX_TYPE: expected a .pred register in setp.eq.s32, found %r1 of type .b32"),
        ("selp.b32 %r1, %r2, %r3, %r4;", "PTX_TYPE: expected a .pred register in selp.b32, found %r4 of type .b32"),
        ("abs.u32 %r1, %r2;", "PTX_TYPE: expected .s32 or .f32 as the type of abs, found .u32"),
        ("rem.b32 %r1, %r2, 3;", "PTX_TYPE: expected .s32 or .u32 as the type of rem, found .b32"),
        ("popc.s32 %r1, %r2;", "PTX_TYPE: expected .b32 as the type of popc, found .s32"),
        ("@%r1 ret;", "PTX_GUARD: expected a predicate register as the guard, found %r1, a register of type .b32"),
        ("call g;", "PTX_NAME: expected a function of the module or a register after call, found 'g'"),
        ("bra NOWHERE;", "PTX_LABEL: expected a label of k after bra, found 'NOWHERE'"),
        ("t: .branchtargets NOWHERE;\nbrx.idx %r1, t;", "PTX_LABEL: expected a label of k after brx.idx, found 'NOWHERE'"),
        ("mov.u32 %r1, nothing;", "PTX_NAME: expected a declared name in mov.u32, nothing is not declared"),
        ("frobnicate.u32 %r1;", "PTX_UNKNOWN: expected an instruction of PTX ISA 9.1, found frobnicate.u32"),
    ],
)  # fmt: skip
def test_bad(body: str, expected: str) -> None:
    assert said(body) == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("shfl.sync.down.u32 %r1, %r2, %r3, %r4, %r5;", "PTX_TYPE: expected .b32 as the type of shfl, found .u32"),
        ("mul.u32 %r1, %r2, %r3;", "PTX_FORM: expected mul with modifiers that it has in PTX, found mul.u32"),
        ("add.b32 %r1, %r2, %r3;", "PTX_TYPE: expected .u32 or .s32 or .f32 as the type of add, found .b32"),
        ("add.lo.s32 %r1, %r2, %r3;", "PTX_FORM: expected add with modifiers that it has in PTX, found add.lo.s32"),
        ("add.sat.u32 %r1, %r2, %r3;", "PTX_FORM: expected add with modifiers that it has in PTX, found add.sat.u32"),
        ("fence.async.shared::cta;", "PTX_FORM: expected fence with modifiers that it has in PTX, found fence.async.shared::cta"),
        ("fence.acq_rel;", "PTX_FORM: expected fence with modifiers that it has in PTX, found fence.acq_rel"),
        ("cp.async::generic.wait_all;",
         "PTX_FORM: expected cp with modifiers that it has in PTX, found cp.async::generic.wait_all"),
        ("bar 0;", "PTX_FORM: expected bar with modifiers that it has in PTX, found bar"),
        ("bar.arrive 1, 5;", "PTX_VALUE: expected a multiple of 32 threads in bar.arrive, found 5"),
        ("cp.async.shared.global [%r1], [%d1], 4;",
         "PTX_FORM: expected cp with modifiers that it has in PTX, found cp.async.shared.global"),
        ("cvt.s32.f32 %r1, %f1;", "PTX_FORM: expected cvt with modifiers that it has in PTX, found cvt.s32.f32"),
        ("cvt.rzi.s32.s32 %r1, %r2;", "PTX_FORM: expected cvt with modifiers that it has in PTX, found cvt.rzi.s32.s32"),
        ("cvt.f64.f16 %r1, %h1;", "PTX_TYPE: expected a register of at least 64 bits in cvt.f64.f16, found %r1 of type .b32"),
        ("atom.global.add.f64 %d1, [%d2], %r1;",
         "PTX_TYPE: expected a .f64 register in atom.global.add.f64, found %r1 of type .b32"),
        ("add.f32 %f1, %f2, 5;", "PTX_VALUE: expected a constant of type .f32 in add.f32, found 5"),
        ("add.s32 %r1, %r2, 0f3F800000;", "PTX_VALUE: expected a constant of type .s32 in add.s32, found 0f3F800000"),
        ("and.b64 %d1, %d2, 0f3F800000;", "PTX_VALUE: expected a constant of type .b64 in and.b64, found 0f3F800000"),
        ("add.f16 %h1, %h2, 0f3F800000;", "PTX_VALUE: expected a constant of type .f16 in add.f16, found 0f3F800000"),
        ("add.f16 %h1, %h2, 5;", "PTX_VALUE: expected a constant of type .f16 in add.f16, found 5"),
        ("add.s32 %r1, %r2, %tid.x;", "PTX_OPERANDS: expected a register or a number in add.s32, found %tid.x"),
        ("add.s32 %r1, %r2, !%p1;", "PTX_OPERANDS: expected a register or a number in add.s32, found !%p1"),
        ("add.u64 %d1, %d2, sh;", "PTX_OPERANDS: expected a register or a number in add.u64, found sh"),
        ("mov.u32 %tid.x, %r1;", "PTX_OPERANDS: expected a register for the result of mov.u32, found %tid.x"),
        ("neg.s32 _, %r1;", "PTX_OPERANDS: expected a register for the result of neg.s32, found _"),
        ("mov.u64 %d1, %tid.x;", "PTX_OPERANDS: expected a register or a number in mov.u64, found %tid.x"),
        ("mov.u64 %d1, {%r1, %r2};", "PTX_TYPE: expected a type of bits such as .b64 in a mov of parts, found .u64"),
        ("ld.global.u32 %r1, [sh];",
         "PTX_SPACE: expected a variable in global memory in ld.global.u32, found sh in shared memory"),
        ("ld.u64 %d1, [a];",
         "PTX_SPACE: expected a variable in global, shared or local memory in ld.u64, found a in param memory"),
        ("ld.global.u32 %r1, [0f3F800000];", "PTX_OPERANDS: expected an address in ld.global.u32, found [0f3F800000]"),
        ("ld.global.u32 %r1, [%p1];", "PTX_OPERANDS: expected an address in ld.global.u32, found [%p1]"),
        ("ld.global.v2.u32 %r1, [%d1];", "PTX_OPERANDS: expected 2 elements in ld.global.v2.u32, found 1"),
        ("ld.global.u32 {%r1, %r2}, [%d1];", "PTX_OPERANDS: expected 1 elements in ld.global.u32, found 2"),
        ("setp.lt.and.s32 %p1, %r1, %r2;", "PTX_OPERANDS: expected 4 operands in setp.lt.and.s32, found 3"),
        ("setp.lt.f16 %p1|%p2, %h1, %h2;", "PTX_OPERANDS: expected one result of setp.lt.f16, found %p1|%p2"),
        ("lop3.or.b32 %r1, %r2, %r3, %r4, 150, %p1;",
         "PTX_OPERANDS: expected a predicate beside the result of lop3.or.b32, found %r1"),
        ("lop3.b32 %r1, %r2, %r3, %r4, %r5;", "PTX_OPERANDS: expected an integer constant in lop3.b32, found %r5"),
        ("cp.async.wait_group %r1;", "PTX_OPERANDS: expected an integer constant in cp.async.wait_group, found %r1"),
        ("ld.global.u32 %r1, %d1;", "PTX_OPERANDS: expected an address in brackets in ld.global.u32, found %d1"),
        ("add.s32 %r1, %r2, [%r3];", "PTX_OPERANDS: expected an operand without brackets in add.s32, found [%r3]"),
        ("add.s32 %r1, %r2, {%r3};", "PTX_OPERANDS: expected one register or number in add.s32, found {%r3}"),
        ("red.global.add.u32 [%d1], {%r3};", "PTX_OPERANDS: expected one register or number in red.global.add.u32, found {%r3}"),
        ("red.global.add.f32 [_], %f1;", "PTX_OPERANDS: expected an address in red.global.add.f32, found [_]"),
        ("prefetch.global.L2 [_];", "PTX_OPERANDS: expected an address in prefetch.global.L2, found [_]"),
        ("ld.shared.u32 %r1, [5];",
         "PTX_OPERANDS: expected a register or a variable as the address in ld.shared.u32, found [5]"),
        ("ld.global.u32 %r1, [%r2];", "PTX_TYPE: expected an address of 64 bits in ld.global.u32, found %r2 of type .b32"),
        ("ld.u32 %r1, [%r2];", "PTX_TYPE: expected an address of 64 bits in ld.u32, found %r2 of type .b32"),
        ("ld.global.u32 _, [%d1];", "PTX_OPERANDS: expected a register for the result in ld.global.u32, found _"),
        ("ld.global.v2.u32 {_, _}, [%d1];", "PTX_OPERANDS: expected a register for the result in ld.global.v2.u32, found {_, _}"),
        ("st.global.v2.f32 [%d1], {_, %f1};", "PTX_OPERANDS: expected a register or a number in st.global.v2.f32, found _"),
        ("atom.global.cas.b32 %r1, [%d1], %r2;", "PTX_OPERANDS: expected 4 operands in atom.global.cas.b32, found 3"),
        ("atom.global.add.u32 %r1, [%d1], %r2, %d2;", "PTX_OPERANDS: expected 3 operands in atom.global.add.u32, found 4"),
        ("ld.global.L2::cache_hint.u32 %r1, [%d1];",
         "PTX_OPERANDS: expected 3 operands in ld.global.L2::cache_hint.u32, found 2"),
        ("cvt.rn.f16x2.f32 %r1, %f1;", "PTX_OPERANDS: expected 3 operands in cvt.rn.f16x2.f32, found 2"),
        ("cvt.rn.satfinite.e4m3x2.f32 %r1, %f1, %f2;",
         "PTX_TYPE: expected a .e4m3x2 register in cvt.rn.satfinite.e4m3x2.f32, found %r1 of type .b32"),
        ("cvt.rn.f16x2.f32 %r1, %h1, %f2;",
         "PTX_TYPE: expected a register of at least 32 bits in cvt.rn.f16x2.f32, found %h1 of type .b16"),
        ("cvta.to.shared.u64 %d1, %r1;", "PTX_TYPE: expected a .u64 register in cvta.to.shared.u64, found %r1 of type .b32"),
        ("cvt.rn.e4m3x2.f32 %h1, %f1, %f2;", "PTX_FORM: expected cvt with modifiers that it has in PTX, found cvt.rn.e4m3x2.f32"),
        ("bar.sync 16;", "PTX_VALUE: expected a barrier of 0 to 15 in bar.sync, found 16"),
        ("barrier.red.popc.u32 %r1, 17, %p1;", "PTX_VALUE: expected a barrier of 0 to 15 in barrier.red.popc.u32, found 17"),
        ("bar.red.popc.u32 %r1, 1, 5, %p1;", "PTX_VALUE: expected a multiple of 32 threads in bar.red.popc.u32, found 5"),
        ("barrier.cluster.arrive.acquire;",
         "PTX_FORM: expected barrier with modifiers that it has in PTX, found barrier.cluster.arrive.acquire"),
        ("cp.async.ca.shared.global [%r1], [%d1], 5;",
         "PTX_VALUE: expected 4 or 8 or 16 bytes in cp.async.ca.shared.global, found 5"),
        ("cp.async.cg.shared.global [%r1], [%d1], 8;", "PTX_VALUE: expected 16 bytes in cp.async.cg.shared.global, found 8"),
        ("cp.async.ca.shared.global [%r1], [%d1], 4, 8;",
         "PTX_VALUE: expected 0 to 4 bytes that are copied in cp.async.ca.shared.global, found 8"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%r5];",
         "PTX_OPERANDS: expected a vector of 4 registers in ldmatrix.sync.aligned.m8n8.x4.shared.b16, found {%r1, %r2}"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r5];",
         "PTX_OPERANDS: expected a vector of 1 register in ldmatrix.sync.aligned.m8n8.x1.shared.b16, found %r1"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%h1};",
         "PTX_TYPE: expected a .b32 register in stmatrix.sync.aligned.m8n8.x1.shared.b16, found %h1 of type .b16"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, %r4}, {%f1, %f2, %f3, %f4};",
         "PTX_OPERANDS: expected a vector of 4 registers in mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, found {%r1, %r2}"),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%r1}, {%d1, %d2};",
         "PTX_TYPE: expected a .b64 register in mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64, found %r1 of type .b32"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4};",
         "PTX_FORM: expected mma with modifiers that it has in PTX, found mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1, %r2, %r3}, %d1, %d2, %p1, 1, 1, 0, 0;",
         "PTX_OPERANDS: expected a vector of 2 registers in wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16, "
         "found {%r1, %r2, %r3}"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r2}, %d2, %p1, 1, 1, 0;",
         "PTX_OPERANDS: expected a vector of 4 registers in wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16, found {%r1, %r2}"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %r2, %p1, 1, 1, 0, 0;",
         "PTX_TYPE: expected a .b64 register in wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16, found %r2 of type .b32"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %d2, %p1, 2, 1, 0, 0;",
         "PTX_VALUE: expected -1 or 1 as operand 4 in wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16, found 2"),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1, %f2, %f3, %f4}, %d1, %d2, %p1, 1, 1, 0, 0;",
         "PTX_OPERANDS: expected 6 operands in wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32, found 8"),
        ("shfl.down.b32 %r1, %r2, 1, 31;", "PTX_FORM: expected shfl.sync from PTX 6.4 and sm_70 on, found shfl.down.b32"),
        ("vote.ballot.b32 %r1, %p1;", "PTX_FORM: expected vote.sync from PTX 6.4 and sm_70 on, found vote.ballot.b32"),
    ],
)  # fmt: skip
def test_what_the_assembler_refuses(body: str, expected: str) -> None:
    assert said(body) == [expected]


def test_old_headers_have_lanes_without_a_mask_and_narrow_addresses() -> None:
    assert said("shfl.down.b32 %r1, %r2, 1, 31;", ".version 6.3\n.target sm_70\n") == []
    assert said("vote.all.pred %p1, %p2;", ".version 6.4\n.target sm_61\n") == []
    assert said("ld.global.u32 %r1, [%r2];", ".version 6.3\n.target sm_70\n") == []


def test_forms_of_a_newer_ptx_are_only_unusual() -> None:
    assert said("add.lo.s32 %r1, %r2, %r3;", ".version 9.9\n.target sm_90\n") == [
        "PTX_UNKNOWN: expected an instruction of PTX ISA 9.1, found add.lo.s32"
    ]


def test_newer_than_the_header_says() -> None:
    assert said("elect.sync _|%p1, -1;", ".version 7.0\n.target sm_80\n") == [
        "PTX_NEWER: expected .version 8.0 or later for elect.sync",
        "PTX_NEWER: expected .target sm_90 or later for elect.sync",
    ]  # fmt: skip
    assert said("elect.sync _|%p1, -1;", ".version 8.0\n.target sm_100f\n") == []


def test_header() -> None:
    assert said("ret;", "") == [
        "PTX_HEADER: expected .version at the start of the file, found none",
        "PTX_HEADER: expected .target at the start of the file, found none",
    ]  # fmt: skip


def test_function_twice() -> None:
    (found,) = verify(parse(HEADER + ".func f() { ret; }\n.func f();\n.func f() { ret; }\n", "a.ptx"))
    assert found.code == "PTX_DUPLICATE"
    assert (found.span.line, found.notes[0][1].line) == (5, 3)


def test_unknown_types_of_declarations() -> None:
    assert said(".reg .exit %e<2>;\nmov.u32 %e1, 0;") == [
        "PTX_TYPE: expected a type such as .b32 in the declaration, found .exit"
    ]  # fmt: skip
    (found,) = verify(parse(HEADER + "\n.global .u23 x;\n", "a.ptx"))
    assert (found.code, found.span.line, found.fix) == ("PTX_TYPE", 4, "Write .global .b32 NAME.")


def test_types_of_instructions() -> None:
    assert said("setp.lt.ftz %p1, %f3, %f1;") == ["PTX_TYPE: expected a type such as .b32 in setp.lt.ftz, found none"]
    assert said("cvt.s64.s64.u32 %d1, %r1;") == ["PTX_TYPE: expected two types in cvt.s64.s64.u32, found 3"]
    assert said("cvt.u32 %r1, %r2;") == ["PTX_TYPE: expected two types in cvt.u32, found 1"]
    assert said("cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, %r4;") == []


def test_everything_is_said_in_order() -> None:
    found = said("bra A;\nmov.u32 %r1, x;\nmov.u32 %r1, y;")
    assert [m.split()[-1] for m in found] == ["'A'", "declared", "declared"]


def test_warnings_are_told_apart() -> None:
    assert {"PTX_NEWER", "PTX_UNKNOWN"} == WARNINGS


COMPILED_BY = ("nvrtc", "kernelgen", "cub", "triton", "numba", "llvm", "warploom")


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILED_BY)
def test_no_alarm_on_what_compilers_emit(compiler: str) -> None:
    for name in names(compiler):
        assert verify(parse(text(name), name)) == (), name


def test_no_alarm_on_one_instruction_of_each_form() -> None:
    assert {line: said for line in assembler.seeds() if (said := assembler.refused_here(line))} == {}


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
def test_changed_instructions_against_the_assembler() -> None:
    endings: Counter[str] = Counter()
    assert [assembler.check(case, endings) for case in range(3)] == ["", "", ""]
    assert endings["refused, refused here"] > 8 * endings["refused, taken here"] > 0


@pytest.mark.parametrize("name", ["kernelgen/jacobi/guarded", "kernelgen/whispering/grid-stride", "llvm/switch/90"])
def test_no_alarm_on_a_few(name: str) -> None:
    assert verify(parse(text(name), name)) == ()
