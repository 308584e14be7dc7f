"""A kernel in the layout of nvcc's output."""

from __future__ import annotations

from .spellings import HEADER

COMPILED = (
    HEADER
    + """
.visible .entry saxpy(
\t.param .f32 saxpy_param_0,
\t.param .u64 .ptr .align 1 saxpy_param_1,
\t.param .u32 saxpy_param_2
)
.maxntid 128, 1, 1
{
\t.reg .pred \t%p<2>;
\t.reg .b32 \t%r<6>;
\t.reg .b32 \t%f<5>;
\t.reg .b64 \t%rd<8>;
\tld.param.f32 \t%f1, [saxpy_param_0];
\tld.param.u64 \t%rd1, [saxpy_param_1];
\tld.param.u32 \t%r2, [saxpy_param_2];
\tmov.u32 \t%r3, %ctaid.x;
\tmov.u32 \t%r4, %ntid.x;
\tmov.u32 \t%r5, %tid.x;
\tmad.lo.s32 \t%r1, %r3, %r4, %r5;
\tsetp.ge.s32 \t%p1, %r1, %r2;
\t@%p1 bra \t$L__BB0_2;
\tcvta.to.global.u64 \t%rd3, %rd1;
\tmul.wide.s32 \t%rd4, %r1, 4;
\tadd.s64 \t%rd5, %rd3, %rd4;
\tld.global.nc.f32 \t%f2, [%rd5];
\tfma.rn.f32 \t%f4, %f1, %f2, 0f3F800000;
\tst.global.f32 \t[%rd5], %f4;
$L__BB0_2:
\tret;
}
"""
)
