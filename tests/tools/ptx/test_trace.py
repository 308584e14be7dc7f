"""The trace as text."""

import pytest
from tests.ptx import corpus

from warploom.core import UserError
from warploom.ptx.syntax import parse
from warploom.tools.ptx.trace import trace_text

SMALL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 add_param_0, .param .u64 add_param_1, .param .u32 add_param_2)
{
.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
ld.param.u64 %rd1, [add_param_0]; ld.param.u64 %rd2, [add_param_1]; ld.param.u32 %r1, [add_param_2];
mov.u32 %r2, %tid.x;
setp.ge.s32 %p1, %r2, %r1;
@%p1 bra END;
mul.wide.s32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
TOP:
ld.global.f32 %f1, [%rd4+12];
st.global.f32 [%rd5], %f1;
add.s32 %r2, %r2, 32;
add.s64 %rd4, %rd4, 128;
setp.lt.s32 %p1, %r2, %r1;
@%p1 bra TOP;
bar.sync 0;
END:
ret;
}
"""


def test_a_small_kernel() -> None:
    assert trace_text(parse(SMALL)) == (
        "kernel add\n"
        "  loop 2\n"
        "    %r2 += 0x20\n"
        "    %rd4 += 0x80\n"
        "    // if %tid.x <s load(param2) and (%tid.x + (iteration(2)[0:32] << 0x5)) <s load(param2)\n"
        "    LD: 0xc + load(param0) + (%tid.x << 0x2) + (iteration(2) << 0x7) // ld.global.f32, line 15\n"
        "    ST: load(param1) + (%tid.x << 0x2) // st.global.f32, line 16\n"
        "  // if %tid.x <s load(param2) and (%tid.x + (iteration(2)'after.2[0:32] << 0x5)) <s load(param2)\n"
        "  SYNC // bar.sync, line 21\n"
    )


def test_jacobi_reads_nine_words_and_writes_one() -> None:
    lines = trace_text(parse(corpus.text("kernelgen/jacobi/guarded"))).splitlines()
    words = [line.split(":")[0].strip() for line in lines if not line.strip().startswith("//")]
    assert words[0] == "kernel jacobi_kernel"
    assert (words.count("LD"), words.count("ST")) == (9, 1)
    assert all("%tid.x" in line and "load(param" in line for line in lines[2:])


def test_one_kernel_of_several() -> None:
    second = SMALL[SMALL.index(".visible") :].replace("add_param", "sub_param").replace(" add(", " sub(")
    module = parse(SMALL + second)
    assert [line for line in trace_text(module).splitlines() if line.startswith("kernel")] == ["kernel add", "kernel sub"]
    assert [line for line in trace_text(module, kernel="sub").splitlines() if line.startswith("kernel")] == ["kernel sub"]
    with pytest.raises(UserError, match="expected one of add, sub, got 'mul'"):
        trace_text(module, kernel="mul")
