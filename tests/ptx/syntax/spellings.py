"""PTX of every kind, written for the tests: what the ISA allows beyond what compilers usually emit."""

from __future__ import annotations

HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"

ITEMS: dict[str, str] = {
    "empty file": "",
    "only a comment": "// nothing",
    "zero byte at the end": HEADER + "\x00",
    "one line": ".version 9.0 .target sm_90, texmode_independent .address_size 64 .entry k { ret; }",
    "CRLF": (HEADER + ".entry k()\n{ // comment\n\tret;\n}\n").replace("\n", "\r\n"),
    "bytes that are not UTF-8": HEADER + '// \udcff\udc80 caf\udce9\n.file 1 "\udcfe.cu"\n',
    "comments anywhere": HEADER + "/* a */.global/**/.align/*x*/4/*y*/.b8 // z\n name /*1*/[ /*2*/ 3 ] = { 1, /*3*/ 2 };",
    "linkage": ".visible .global .b32 a; .extern .global .b32 b[]; .weak .global .b32 c; .common .global .b32 d;",
    "managed": HEADER + ".visible .global .attribute(.managed) .align 4 .b8 man[16];",
    "unified": HEADER + ".global .attribute(.unified(0xAB, 0xCD)) .b32 x; .func .attribute(.unified(1, 2)) f() { ret; }",
    "arrays": (
        ".global .u32 m[2][3] = {{1, 2, 3}, {4, 5, 0x6U}}; .const .f32 c[] = {0f3F800000, -0f3F800000, 1.5, -2.5e-3, 1.};"
    ),
    "scalars": ".global .s32 n = -5; .global .u64 big = 0xFFFFFFFFFFFFFFFF; .global .f64 d = 0d4000000000000000;",
    "addresses": (
        ".global .b32 a; .global .u64 p[4] = {a, a+4, generic(a), generic(a)+8}; .global .u8 q = 0xff(a); "
        ".global .u8 r = 0xFF00(a);"
    ),
    "octal and binary": ".global .u32 o[6] = {017, 0b101, 0B11U, 0xAbU, 0, 00};",
    "expressions": (
        ".global .s64 e[9] = {1+2*3, (1+2)*3, -(4), ~0, !0, 7/2, -7 % 4, 1<<4|1, (.u64)-1}; .global .s32 "
        "t[WARP_SZ] = {3 > 2 ? 4 : 5};"
    ),
    "samplers": (
        ".global .texref t; .global .surfref s; .global .samplerref p = { addr_mode_0 = clamp_to_edge, filter_mode = linear };"
    ),
    "tex space": ".tex .u32 t1; .tex .u64 t2;",
    "vectors": (
        ".global .v4 .f32 v[2]; .shared .v2 .u32 w; .entry k { .reg .v4 .f32 r; .reg .v2 .b32 q<3>; mov.f32 r.x, r.w; ret; }"
    ),
    "pointer parameters": (
        ".entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr .align 1 b, .param .u64 .ptr c, "
        ".param .align 8 .b8 s[24]) { ret; }"
    ),
    "register parameters": (
        ".func (.reg .b32 r) f(.reg .b32 a, .reg .f64 b) { ret; } .func g(.param .b32 n, .param .align 1 .b8 va[]) { ret; }"
    ),
    "forward declarations": (
        ".func (.param .b32 r) f(.param .b32 a) .noreturn; .extern .func g; .extern .func (.param .b32 r) "
        "vprintf (.param .b64 a, .param .b64 b);"
    ),
    "kernel directives": '.entry k() .maxntid 256, 1, 1 .minnctapersm 2 .maxnreg 64 .pragma "nounroll"; { ret; }',
    "cluster directives": (
        ".entry k() .explicitcluster .reqnctapercluster 2, 1, 1 .reqntid 128 { ret; } .entry l() "
        ".maxclusterrank 8 .blocksareclusters { ret; }"
    ),
    "function directives": ".func f(.param .b32 a) .abi_preserve 16 .abi_preserve_control 4 { ret; }",
    "alias": HEADER + ".func f() { ret; }\n.alias g, f;\n",
    "unknown directives": HEADER
    + ('.language "C++"\n.metadata { .id 1, (2; 3) }\n.future a, b;\n.entry k() .new_thing 3, "x" { .inside 5\n ret; }\n'),
    "files and lines": (
        '.file 1 "a b.cu"\n.file 2 "c\\"d.h", 1700000000, 3012\n.entry k { .loc 1 2 3\n .loc 2 4 5, '
        "function_name $L__info+0, inlined_at 1 6 7\n ret; }"
    ),
    "debug sections": (
        ".section .debug_str { \n$L_info: .b8 97, 98, 0 // a } in a comment\n.b32 $L_info+4\n.b64 "
        ".debug_abbrev\n .b8 1 /* } */\n}\n.section .debug_loc { }"
    ),
    "legacy debug lines": "@@DWARF .section .debug_info\n@@DWARF .byte 0x00\n.entry k { ret; }",
    "pragmas": HEADER + '.pragma "nounroll", "used_bytes_mask 0xff";\n.entry k { .pragma "enable_smem_spilling"; ret; }',
    "lone semicolons": HEADER + ";; .entry k { ; ret; ;}",
}
"""Name of a spelling and a whole file that has it."""

STATEMENTS: tuple[str, ...] = (
    "add.s32 %r1,%r2,-3;",
    "@%p1 bra L1;\nL1:",
    "@!%p1 ret;",
    "@ ! %p1 exit;",
    "ret;",
    "mov.u32 %r1, WARP_SZ;",
    "mov.u32 %r1, WARP_SZ-1;",
    "mov.u64 %rd1, shared_array+16;",
    "mov.u32 %r1, array[2];",
    "mov.b64 {%r1, %r2}, %rd1;",
    "mov.b64 {_, %r2}, %rd1;",
    "mov.b32 %r1, {%h1,%h2};",
    "mov.u64 %rd1, %clock64;",
    "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
    "setp.eq.f32 _|%p2, %f1, 0f7F800000;",
    "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x1U, %p2;",
    "ld.param.u64 %rd1, [k_param_0];",
    "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1+-16], %rd9;",
    "ld.volatile.shared.u32 %r1, [%r2+0x10];",
    "ld.global.u32 %r1, [4096];",
    "ld.shared.u32 %r1, [tile+4*8];",
    "ld.acquire.gpu.global.v2.b64 {%rd1,%rd2}, [%rd3];",
    "st.shared.v2.u32 [%r1-8], {%r2, 7};",
    "st.global.b32 [ %rd1 + 4 ] , %r1 ;",
    "prmt.b32 %r1, %r2, %r3, 0x5410U;",
    "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    "fma.rn.ftz.f32 %f1, %f2, 0f3F800000, 1.5;",
    "vadd.s32.u32.s32.sat %r1.b0, %r2.h1, %r3.b3, %r4;",
    "vset2.s32.u32.lt %r1.h10, %r2.h32, %r3.h10, %r4;",
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex_a, {%f5, %f6}];",
    "tex.1d.v4.s32.f32 {%r1,%r2,%r3,%r4}, [tex_a, smp, {%f5}];",
    "tex.a2d.v4.f32.f32 {%f1,%f2,%f3,%f4}|%p1, [%rd1, {%r1, %f1, %f2, %f3}], {%r2, %r3}, %f9;",
    "txq.width.b32 %r1, [tex_a];",
    "suld.b.2d.b32.trap {%r1}, [surf, {%r2, %r3}];",
    "sust.p.1d.v2.b32.zero [surf, {%r2}], {%r3, %r4};",
    "tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];",
    "call (retval0), f, (param0, param1);",
    "call.uni f, (1, %r1);",
    "call f;",
    "call.uni (r), %rd1, (a, b), proto;",
    "call\n(\nretval0\n)\n,\nf\n,\n(\n);",
    "brx.idx %r1, table;\nA: B: ret;\ntable: .branchtargets A, B;",
    "proto : .callprototype (.param .b32 _) _ (.param .b64 _, .param .b8 _[]) .noreturn;",
    "calls: .calltargets f, g;",
    "atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4;",
    "atom.add.noftz.bf16x2 _, [%rd1], %r1;",
    "red.global.v4.f32.add [%rd1], {%f1,%f2,%f3,%f4};",
    "bar.sync 0;",
    "barrier.cta.red.popc.aligned.u32 %r1, 1, 64, !%p1;",
    "bar.warp.sync 0xffffffff;",
    "membar.gl;",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
    "shfl.sync.idx.b32 %r1|%p1, %r2, 0x1f, 31, -1;",
    "vote.sync.ballot.b32 %r1, !%p1, -1;",
    "match.all.sync.b64 %r1|%p1, %rd1, %r2;",
    "elect.sync _|%p1, -1;",
    "activemask.b32 %r1;",
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};"),
    (
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 "
        "{%r1,%r2},{%r1,%r2,%r3,%r4},{%r1,%r2,%r3,%r4},{%r1,%r2},%r9,0x0;"
    ),
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, -1, 0, 1;",
    "wgmma.wait_group.sync.aligned 0;",
    "cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16, %r2;",
    ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], %r2, [%r3], %h1;"),
    "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
    (
        "cp.async.bulk.tensor.3d.im2col.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [tm, {0, "
        "%r2, %r3}], [%r4], {%h1};"
    ),
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [tensorMap, {%r1}], [%r2];",
    "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, 0x989680;",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r1], 1024;",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1,%r2,%r3,_}, %rq1;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;",
    "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r1,%r2}, [%r3], 2;",
    "tcgen05.wait::ld.sync.aligned;",
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4, %r5, %r6}, %p1;",
    "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r1], [%r2], %rd1, %r3, [%r4], [%r5], !%p1;",
    "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%rd1], %h1;",
    "setmaxnreg.inc.sync.aligned.u32 232;",
    "{ .reg .pred p; setp.ne.u32 p, %r1, 0; @p bra L2; }\n{ .reg .pred p; setp.ne.u32 p, %r1, 1; @p bra L2; }\nL2:",
    "$L__BB0_1: _x: %weird: add.u32 %r1, %r1, 1;",
    ".reg .b32 a, b<2>, c;",
    ".shared .align 8 .b8 buf[1 << 10];",
    ".extern .shared .b8 dyn[];",
    "frobnicate.v9.x::y %r1, [%r2, 3], {1, {2}}, (4, %r5), a[b[3]];",
    "add.s32 /* d */ %r1 /* , */ , // x\n %r2 /* y */ , /* ; */ 3 /* end */ ;",
)
"""Statements that parse in the body of a kernel; names are not checked."""

REGISTERS = (
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<10>; .reg .f32 %f<10>; .reg .b64 %rd<10>; .reg .b128 %rq<2>; "
    ".reg .pred p; .reg .b32 a; .reg .b32 b; .reg .b64 tensorMap, tm; .shared .b8 tile[256], array[64], shared_array[64]; L1: L2:"
)
"""Declares most names of the statements."""


def kernel(*statements: str) -> str:
    """A file with one kernel."""
    return HEADER + ".visible .entry k(.param .u64 k_param_0)\n{\n\t" + "\n\t".join(statements) + "\n}\n"
