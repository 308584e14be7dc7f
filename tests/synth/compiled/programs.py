"""PTX written by hand for these tests, their specs, and how to prove one from the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warploom.core import f32, i32
from warploom.ptx import lower, parse
from warploom.synth.compiled import Argument, ArrayArgument, CompiledProof, ScalarArgument, prove_launch, run_plain_spec

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"

SECOND_DIFFERENCE = (
    HEAD
    + """
.visible .entry difference(.param .u64 out, .param .u64 in, .param .u32 n)
{
	.reg .pred %p<9>;
	.reg .b32 %r<20>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	add.s32 %r6, %r1, -1;
	setp.lt.s32 %p1, %r5, 1;
	setp.ge.s32 %p2, %r5, %r6;
	or.pred %p3, %p1, %p2;
	@%p3 bra $done;
	mul.wide.s32 %rd3, %r5, 4;
	add.s64 %rd4, %rd2, %rd3;
	add.s64 %rd5, %rd1, %rd3;
	ld.global.nc.f32 %f1, [%rd4];
	activemask.b32 %r7;
	shfl.sync.up.b32 %f2|%p4, %f1, 1, 0, %r7;
	shfl.sync.down.b32 %f3|%p5, %f1, 1, 31, %r7;
	mov.u32 %r8, %laneid;
	add.s32 %r9, %r8, -1;
	shr.u32 %r10, %r7, %r9;
	and.b32 %r10, %r10, 1;
	setp.eq.s32 %p6, %r10, 1;
	setp.gt.s32 %p4, %r8, 0;
	and.pred %p4, %p4, %p6;
	add.s32 %r11, %r8, 1;
	shr.u32 %r12, %r7, %r11;
	and.b32 %r12, %r12, 1;
	setp.eq.s32 %p5, %r12, 1;
	@!%p4 ld.global.nc.f32 %f2, [%rd4+-4];
	@!%p5 ld.global.nc.f32 %f3, [%rd4+4];
	sub.f32 %f4, %f3, %f1;
	sub.f32 %f5, %f1, %f2;
	sub.f32 %f6, %f4, %f5;
	st.global.f32 [%rd5], %f6;
$done:
	ret;
}
"""
)
"""A stencil in the shape that shuffle synthesis gives it: activemask, shuffles, loads for lanes without a neighbour."""


def second_difference(out: Any, a: Any, n: int) -> None:
    for i in range(1, n - 1):
        out[i] = a[i - 1] - 2 * a[i] + a[i + 1]


TURNED_ROUND = (
    HEAD
    + """
.visible .entry turned(.param .u64 out, .param .u64 in, .param .f32 scale)
{
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	.shared .align 4 .b8 tile[256];
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	ld.param.f32 %f1, [scale];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	add.s64 %rd5, %rd1, %rd3;
	ld.global.f32 %f2, [%rd4];
	shl.b32 %r2, %r1, 2;
	mov.u32 %r3, tile;
	add.s32 %r4, %r3, %r2;
	st.shared.f32 [%r4], %f2;
	bar.sync 0;
	sub.s32 %r5, 252, %r2;
	add.s32 %r6, %r3, %r5;
	ld.shared.f32 %f3, [%r6];
	fma.rn.f32 %f4, %f3, %f1, %f2;
	st.global.f32 [%rd5], %f4;
	ret;
}
"""
)
"""Through shared memory, with a barrier: out[i] = in[63 - i] * scale + in[i]."""


def turned_round(out: Any, a: Any, scale: Any) -> None:
    for i in range(64):
        out[i] = a[63 - i] * scale + a[i]


def difference_arguments(n: int) -> tuple[Argument, ...]:
    return ArrayArgument("out", f32, (n,)), ArrayArgument("a", f32, (n,)), ScalarArgument("n", i32, n)


TURNED_ARGUMENTS: tuple[Argument, ...] = (
    ArrayArgument("out", f32, (64,)),
    ArrayArgument("a", f32, (64,)),
    ScalarArgument("scale", f32, None),
)


def proved(
    text: str, spec: Callable[..., Any], arguments: tuple[Argument, ...], blocks: int, threads: int, kernel: str | None = None
) -> CompiledProof:
    program = lower(parse(text, "test.ptx"))
    wanted = run_plain_spec(spec, arguments)
    return prove_launch(program, kernel, arguments, (blocks, 1, 1), (threads, 1, 1), wanted)


def line_of(text: str, part: str) -> int:
    """Line of the only place where `part` stands."""
    (line,) = [k for k, t in enumerate(text.splitlines(), 1) if part in t]
    return line


def planted(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def body(lines: str, parameters: str = ".param .u64 out, .param .u64 in", declarations: str = "") -> str:
    """A kernel that has the addresses of `out` and `in` for its thread in %rd1, %rd2, and %r1 = %tid.x; elements of 4 bytes."""
    return (
        HEAD
        + f""".visible .entry k({parameters})
{{
	.reg .pred %p<20>;
	.reg .b16 %h<20>;
	.reg .b32 %r<40>;
	.reg .f32 %f<20>;
	.reg .b64 %rd<20>;
	.reg .f64 %d<20>;
	{declarations}
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd1, %rd1, %rd3;
	add.s64 %rd2, %rd2, %rd3;
{lines}
	ret;
}}
"""
    )
